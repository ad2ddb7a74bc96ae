/* Directory and pages of an index, and that each slot is where a reader looks for it. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "base/order.h"
#include "inspect/check/check.h"

#define NOBODY UINT32_MAX

/* ---- directory and records ---- */

static bool
record_fits(struct check *check, uint32_t session, const struct index *index, uint32_t page)
{
    const struct page_copy *record = &index->records[page];
    unsigned depth = GR_PAGE_DEPTH(record->word);

    if (GR_PAGE_STATE(record->word) > GR_PAGE_DEAD) {
        check_found(check, GRANARY_FINDING_DAMAGE, "page-state", session, NULL, page,
                    "s%u.index: page %u is in state %u, which does not exist", session, page,
                    GR_PAGE_STATE(record->word));
        return false;
    }
    if (GR_PAGE_STATE(record->word) != GR_PAGE_LIVE && GR_PAGE_STATE(record->word) != GR_PAGE_BUILDING) {
        return false;
    }
    if (depth > index->depth || record->prefix >= (uint64_t)1 << depth) {
        check_found(check, GRANARY_FINDING_DAMAGE, "page-depth", session, NULL, page,
                    "s%u.index: page %u has depth %u and prefix %llu, the directory depth %u", session, page, depth,
                    (unsigned long long)record->prefix, index->depth);
        return false;
    }
    return true;
}

/* Mark the entries a page covers as its own; the first page that has one already keeps it. */
static uint32_t
claim(uint32_t *owners, const struct index *index, uint32_t page)
{
    uint64_t word = index->records[page].word;
    uint32_t other = NOBODY;

    for (size_t i = index->records[page].prefix; i < (size_t)1 << index->depth; i += (size_t)1 << GR_PAGE_DEPTH(word)) {
        if (owners[i] != NOBODY) {
            other = owners[i];
        } else {
            owners[i] = page;
        }
    }
    return other;
}

static void
check_entry(struct check *check, uint32_t session, const struct index *index, size_t entry, uint32_t owner)
{
    uint64_t value = index->directory[entry];
    uint32_t page = (uint32_t)value;
    unsigned state = page < GR_INDEX_MAX_PAGES ? GR_PAGE_STATE(index->records[page].word) : GR_PAGE_FREE;
    /* A split that its store did not live to finish leaves entries that lead to the other side of it. */
    bool splitting = (state == GR_PAGE_BUILDING || state == GR_PAGE_DEAD) &&
                     GR_PAGE_GENERATION(index->records[page].word) == (uint32_t)(value >> 32);

    if (owner == NOBODY) {
        check_found(check, GRANARY_FINDING_DAMAGE, "directory-hole", session, NULL, entry,
                    "s%u.index: entry %zu of the directory is covered by no page; it says page %u", session, entry,
                    page);
    } else if (value != ((uint64_t)GR_PAGE_GENERATION(index->records[owner].word) << 32 | owner)) {
        check_found(
            check, splitting ? check_torn(check) : GRANARY_FINDING_DAMAGE, "directory-entry", session, NULL, entry,
            "s%u.index: entry %zu of the directory says page %u, generation %u; it is page %u's, generation %u",
            session, entry, page, (uint32_t)(value >> 32), owner, GR_PAGE_GENERATION(index->records[owner].word));
    }
}

/* Every entry belongs to one page, and leads to it. */
static void
check_directory(struct check *check, uint32_t session, const struct index *index)
{
    size_t entries = (size_t)1 << index->depth;
    uint32_t *owners = malloc(entries * sizeof *owners);

    if (owners == NULL) {
        check->err = gr_fail(GRANARY_ENOMEM, "no memory to check a directory");
        return;
    }
    memset(owners, 0xff, entries * sizeof *owners);
    for (uint32_t page = 0; page < GR_INDEX_MAX_PAGES; page++) {
        uint32_t other = NOBODY;

        if (record_fits(check, session, index, page) && GR_PAGE_STATE(index->records[page].word) == GR_PAGE_LIVE) {
            other = claim(owners, index, page);
        }
        if (other != NOBODY) {
            check_found(check, GRANARY_FINDING_DAMAGE, "page-overlap", session, NULL, page,
                        "s%u.index: pages %u and %u are both for prefix %llu", session, other, page,
                        (unsigned long long)index->records[page].prefix);
        }
    }
    /* What no live page covers is the new pages' of a split that counts. */
    for (uint32_t page = 0; page < GR_INDEX_MAX_PAGES; page++) {
        uint64_t word = index->records[page].word;

        if (GR_PAGE_STATE(word) == GR_PAGE_BUILDING && GR_PAGE_DEPTH(word) <= index->depth &&
            index->records[page].prefix < (uint64_t)1 << GR_PAGE_DEPTH(word) &&
            owners[index->records[page].prefix] == NOBODY) {
            (void)claim(owners, index, page);
        }
    }
    for (size_t i = 0; i < entries; i++) {
        check_entry(check, session, index, i, owners[i]);
    }
    free(owners);
}

/* ---- slots ---- */

static bool
is_live(const struct slot_copy *slot)
{
    switch (GR_WORD_STATE(slot->word)) {
    case GR_SLOT_SEALED:
    case GR_SLOT_RETIRING:
    case GR_SLOT_SPILLED:
    case GR_SLOT_BETWEEN:
    case GR_SLOT_ALIAS:
        return true;
    default:
        return false;
    }
}

/* Whether a reader that probes from the id's home comes to the slot. */
static bool
is_reachable(const struct slot_copy *slots, uint64_t hash, uint32_t at)
{
    for (uint32_t probe = gr_page_home(hash); probe != at; probe = (probe + 1) % GR_PAGE_SLOTS) {
        if (GR_WORD_STATE(slots[probe].word) == GR_SLOT_EMPTY) {
            return false;
        }
    }
    return true;
}

static void
check_slot(struct check *check, uint32_t session, const struct index_page *page, const struct slot_copy *slots,
           uint32_t at)
{
    const struct slot_copy *slot = &slots[at];
    uint64_t hash = gr_slot_hash(slot->id[0], slot->id[1]);
    enum gr_slot_state state = GR_WORD_STATE(slot->word);
    char id[GRANARY_ID_TEXT + 1];
    uint64_t footprint;

    (void)check_id(slot->id, id);
    if (state > GR_SLOT_ALIAS || state == GR_SLOT_MOVED) {
        check_found(check, state == GR_SLOT_MOVED ? check_torn(check) : GRANARY_FINDING_DAMAGE, "slot-state", session,
                    slot->id, page->page, "object %s: s%u.index, page %u, slot %u: state %u %s", id, session,
                    page->page, at, (unsigned)state,
                    state == GR_SLOT_MOVED ? "in a page that is in use" : "does not exist");
        return;
    }
    if ((gr_index_prefix(hash) & ((1u << page->depth) - 1)) != page->prefix) {
        check_found(check, GRANARY_FINDING_DAMAGE, "slot-misplaced", session, slot->id, page->page,
                    "object %s: s%u.index, page %u, slot %u: its hash belongs to another page", id, session, page->page,
                    at);
    } else if (!is_reachable(slots, hash, at)) {
        check_found(check, GRANARY_FINDING_DAMAGE, "slot-unreachable", session, slot->id, page->page,
                    "object %s: s%u.index, page %u, slot %u: an empty slot hides it from readers", id, session,
                    page->page, at);
    }
    if (GR_WORD_SERIAL(slot->word) == 0 || GR_WORD_SERIAL(slot->word) >= check->info.serial_limit) {
        check_found(check, GRANARY_FINDING_DAMAGE, "serial-limit", session, slot->id, GR_WORD_SERIAL(slot->word),
                    "object %s: serial %llu was not given yet: the limit is %llu", id,
                    (unsigned long long)GR_WORD_SERIAL(slot->word), (unsigned long long)check->info.serial_limit);
    }
    if (slot->stamp >= check->info.stamp_limit) {
        check_found(check, GRANARY_FINDING_DAMAGE, "stamp-limit", session, slot->id, slot->stamp,
                    "object %s: stamp %llu was not given yet: the limit is %llu", id, (unsigned long long)slot->stamp,
                    (unsigned long long)check->info.stamp_limit);
    }
    if (state != GR_SLOT_ALIAS && !slot_footprint(slot, &footprint)) {
        check_found(check, GRANARY_FINDING_DAMAGE, "object-size", session, slot->id, 0,
                    "object %s: %llu bytes of data and %llu of metadata cannot be", id,
                    (unsigned long long)slot->data_size, (unsigned long long)(slot->where_meta & UINT32_MAX));
    }
}

static int
by_id(const void *left, const void *right)
{
    const struct slot_copy *a = *(const struct slot_copy *const *)left;
    const struct slot_copy *b = *(const struct slot_copy *const *)right;

    return memcmp(a->id, b->id, sizeof a->id);
}

/* An id's hash leads to one page, so two of them would be side by side here. */
static void
check_twice(struct check *check, uint32_t session, const struct index_page *page, const struct slot_copy *slots)
{
    const struct slot_copy *live[GR_PAGE_SLOTS];
    size_t count = 0;

    for (uint32_t at = 0; at < GR_PAGE_SLOTS; at++) {
        if (is_live(&slots[at])) {
            live[count++] = &slots[at];
        }
    }
    qsort(live, count, sizeof *live, by_id);
    for (size_t i = 1; i < count; i++) {
        char id[GRANARY_ID_TEXT + 1];

        if (memcmp(live[i - 1]->id, live[i]->id, sizeof live[i]->id) == 0) {
            check_found(check, GRANARY_FINDING_DAMAGE, "id-twice", session, live[i]->id, page->page,
                        "object %s: two live slots, %u and %u, in page %u of s%u.index", check_id(live[i]->id, id),
                        (unsigned)(live[i - 1] - slots), (unsigned)(live[i] - slots), page->page, session);
        }
    }
}

static bool
room_for_object(struct check *check)
{
    size_t room = check->object_room;
    bool good = gr_grow(&check->objects, &check->object_room, check->object_count, sizeof *check->objects);

    if (check->object_room != room) {
        gr_order_expect(check->objects, check->object_room * sizeof *check->objects);
    }
    return good;
}

static void
check_page(struct check *check, uint32_t session, const struct index_page *page, const struct slot_copy *slots)
{
    for (uint32_t at = 0; at < GR_PAGE_SLOTS && check->err == GRANARY_OK; at++) {
        enum gr_slot_state state = GR_WORD_STATE(slots[at].word);

        if (state == GR_SLOT_EMPTY || state == GR_SLOT_TOMB) {
            continue;
        }
        check_slot(check, session, page, slots, at);
        if (state == GR_SLOT_MOVED || state > GR_SLOT_ALIAS) {
            continue;
        }
        if (!room_for_object(check)) {
            check->err = gr_fail(GRANARY_ENOMEM, "no memory to check %zu objects", check->object_count);
            return;
        }
        check->objects[check->object_count++] = (struct check_object){.slot = slots[at], .session = session};
    }
    check_twice(check, session, page, slots);
}

void
check_index(struct check *check, uint32_t session)
{
    struct slot_copy *slots = NULL;
    struct index index;
    granary_err err = index_read(check->inspector, session, &index);

    if (err == GRANARY_ENOMEM) {
        check->err = err;
        return;
    }
    if (err != GRANARY_OK) {
        check_found(check, err == GRANARY_ENOENT ? check_torn(check) : GRANARY_FINDING_DAMAGE, "index", session, NULL,
                    0, "%s", granary_error_message());
        return;
    }
    check_directory(check, session, &index);
    slots = malloc(GR_PAGE_BYTES);
    if (slots == NULL) {
        check->err = gr_fail(GRANARY_ENOMEM, "no memory for a page of the index");
    }
    for (size_t i = 0; i < index.page_count && check->err == GRANARY_OK; i++) {
        check->summary.pages++;
        err = index_read_page(&index, index.pages[i].page, slots);
        if (err != GRANARY_OK) {
            check_found(check, GRANARY_FINDING_DAMAGE, "page-unreadable", session, NULL, index.pages[i].page,
                        "s%u.index: page %u: %s", session, index.pages[i].page, granary_error_message());
        } else {
            check_page(check, session, &index.pages[i], slots);
        }
    }
    free(slots);
    index_release(&index);
}
