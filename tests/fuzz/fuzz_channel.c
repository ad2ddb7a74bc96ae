/*
 * Any bytes as what a hostile process has written into a channel's page and a ring: each message that is taken lies in the ring,
 * sweeps tell of objects that lie in it, and every call ends.
 */
#include <string.h>

#include "channel/cursor.h"
#include "fuzz.h"

#define RING   4096u
#define TURNS  64u
#define WORDS  40u /* of the page, that an input changes at most */
#define MEMBER 1u

static const struct ring *looked_at;
static volatile uint64_t touched; /* somewhere to put what is read */

static void
touch(const unsigned char *at, size_t size)
{
    must(at >= looked_at->bytes && size <= looked_at->size &&
         (size_t)(at - looked_at->bytes) <= looked_at->size - size);
    for (size_t i = 0; i < size; i++) {
        touched += at[i];
    }
}

static void
passed(void *context, const unsigned char *id)
{
    (void)context;
    touched += id[0] + id[GR_CHANNEL_UNIT - 1];
}

/* A hostile client writes any word of the page at any moment. */
static void
spoil(struct gr_channel *page, const uint8_t **bytes, size_t *size)
{
    uint16_t where;
    uint64_t word;

    if (*size < sizeof where + sizeof word) {
        *size = 0;
        return;
    }
    memcpy(&where, *bytes, sizeof where);
    memcpy(&word, *bytes + sizeof where, sizeof word);
    *bytes += sizeof where + sizeof word;
    *size -= sizeof where + sizeof word;
    if (where % 2 == 0) { /* a lane's head or what a group has taken, near the ring's beginning, is met more often */
        _Atomic uint64_t *const near[] = {&page->lane[0].head, &page->group[0].taken[0], &page->lane[0].swept,
                                          &page->member[2].claim, &page->member[MEMBER].claim};

        atomic_store(near[where / 2 % 5], word & (((uint64_t)1 << 30) - 1));
    } else {
        memcpy((unsigned char *)page + where % (sizeof *page / sizeof word) * sizeof word, &word, sizeof word);
    }
}

static void
take(const struct cursor *cursor, const struct ring *ring)
{
    struct place place;
    uint64_t taken, head;

    for (unsigned turn = 0; turn < TURNS && cursor_has(cursor, 0, &taken, &head); turn++) {
        switch (cursor_take(cursor, 0, taken, head, ring, &place)) {
        case TAKE_DONE:
            touch(place.data, place.size);
            must(place.end > place.position && place.end <= head);
            cursor_done(cursor);
            break;
        case TAKE_WRONG:
            must(cursor_skip(cursor, 0, taken, head));
            break;
        default:
            break;
        }
    }
}

static void
mourn(const struct cursor *cursor, const struct ring *ring)
{
    uint64_t position;
    uint32_t lane;
    struct place place;

    for (uint32_t dead = 0; dead < 4; dead++) {
        if (dead != MEMBER && cursor_mourn(cursor, dead, &lane, &position)) {
            must(lane < GR_CHANNEL_LANES);
            if (place_at(ring, position, channel_head(cursor->page, lane), &place)) {
                touch(place.data, place.size);
            }
            cursor_done(cursor);
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct gr_channel page;
    unsigned char *bytes_of_ring = calloc(1, RING); /* alone, so that what is beyond is found */
    const struct ring ring = {.bytes = bytes_of_ring, .size = RING};
    const struct cursor cursor = {.page = &page, .member = MEMBER};
    const size_t put = size < RING / 2 ? size / 2 : RING / 2;

    must(bytes_of_ring != NULL);
    looked_at = &ring;
    channel_page_init(&page);
    channel_show(&page.lanes, 1);
    channel_show(&page.members, 4);
    group_begin(&page, 0, "", false, true);
    memcpy(bytes_of_ring, bytes, put);
    atomic_store(&page.lane[0].head, GR_HEAD(put / GR_CHANNEL_UNIT, 0));
    bytes += put;
    size -= put;
    for (unsigned i = 0; i == 0 || (size > 0 && i < WORDS); i++) {
        if (i > 0) {
            spoil(&page, &bytes, &size);
        }
        take(&cursor, &ring);
        mourn(&cursor, &ring);
        for (unsigned turn = 0; turn < TURNS && !channel_sweep(&page, 0, &ring, passed, NULL); turn++) {
        }
        (void)cursor_is_drained(&cursor);
        (void)channel_has_readers(&page);
    }
    free(bytes_of_ring);
    return 0;
}
