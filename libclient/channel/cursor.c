/* The protocol of contract/channel.h, readers' side and sweeps. tests/model/channel.pml searches it. */
#include "channel/cursor.h"

#include <stddef.h>
#include <string.h>

#include "base/futex.h"

#define NOBODY GR_CHANNEL_MEMBERS

void
channel_page_init(struct gr_channel *page)
{
    memset((char *)page + sizeof page->id, 0, sizeof *page - sizeof page->id);
    page->kind = GR_PAGE_CHANNEL;
}

/* ---- counts ---- */

static uint32_t
bounded(const _Atomic uint32_t *count, uint32_t most)
{
    const uint32_t there = atomic_load_explicit(count, memory_order_acquire);

    return there < most ? there : most;
}

uint32_t
channel_lanes(const struct gr_channel *page)
{
    return bounded(&page->lanes, GR_CHANNEL_LANES);
}

uint32_t
channel_groups(const struct gr_channel *page)
{
    return bounded(&page->groups, GR_CHANNEL_GROUPS);
}

uint32_t
channel_members(const struct gr_channel *page)
{
    return bounded(&page->members, GR_CHANNEL_MEMBERS);
}

void
channel_show(_Atomic uint32_t *count, uint32_t least)
{
    uint32_t there = atomic_load(count);

    while (there < least && !atomic_compare_exchange_weak(count, &there, least)) {
    }
}

uint64_t
channel_head(const struct gr_channel *page, uint32_t lane)
{
    return GR_HEAD_POSITION(atomic_load(&page->lane[lane].head));
}

uint64_t
channel_swept(const struct gr_channel *page, uint32_t lane)
{
    return GR_SWEPT_POSITION(atomic_load_explicit(&page->lane[lane].swept, memory_order_acquire));
}

bool
channel_is_sealed(const struct gr_channel *page)
{
    return atomic_load(&page->sealed) != 0;
}

bool
channel_has_readers(const struct gr_channel *page)
{
    const uint32_t groups = channel_groups(page);
    uint32_t group = 0;

    while (group < groups && atomic_load(&page->group[group].state) == GR_GROUP_FREE) {
        group++;
    }
    return group < groups;
}

/* ---- entries ---- */

/* An entry's first word, and what of the ring is left behind its head: false: its end is beyond that. */
static bool
entry_read(const struct ring *ring, uint64_t offset, uint32_t *ret_word, const struct gr_channel_entry **ret_entry)
{
    const struct gr_channel_entry *entry = (const void *)(ring->bytes + offset);
    /* Relaxed: what was read while it was written over counts for nothing, which an exchange shows later. */
    const uint32_t word = atomic_load_explicit(&entry->kind_size, memory_order_relaxed);

    *ret_word = word;
    *ret_entry = entry;
    return GR_ENTRY_SIZE(word) <= ring->size - offset - sizeof *entry;
}

static uint64_t
units(uint64_t bytes)
{
    return (bytes + GR_CHANNEL_UNIT - 1) / GR_CHANNEL_UNIT;
}

bool
place_at(const struct ring *ring, uint64_t position, uint64_t until, struct place *ret_place)
{
    const struct gr_channel_entry *entry;
    uint64_t at = position, offset;
    uint32_t word;

    if (position < ring->base || until <= position || until - position > ring->size / GR_CHANNEL_UNIT) {
        return false;
    }
    offset = (at - ring->base) * GR_CHANNEL_UNIT & (ring->size - 1);
    if (!entry_read(ring, offset, &word, &entry)) {
        return false;
    }
    if (GR_ENTRY_KIND(word) == GR_ENTRY_PAD) {
        if (GR_ENTRY_SIZE(word) != ring->size - offset - sizeof *entry) {
            return false;
        }
        at += (ring->size - offset) / GR_CHANNEL_UNIT;
        if (!entry_read(ring, 0, &word, &entry)) {
            return false;
        }
    }
    *ret_place = (struct place){.position = position,
                                .end = at + 1 + units(GR_ENTRY_SIZE(word)),
                                .number = atomic_load_explicit(&entry->number, memory_order_relaxed),
                                .kind = GR_ENTRY_KIND(word),
                                .size = GR_ENTRY_SIZE(word),
                                .data = (const unsigned char *)(entry + 1)};
    return ret_place->end <= until && (ret_place->kind == GR_ENTRY_BYTES ||
                                       (ret_place->kind == GR_ENTRY_OBJECT && ret_place->size == GR_CHANNEL_UNIT));
}

/* ---- take ---- */

static const _Atomic uint64_t *
taken_of(const struct cursor *cursor, uint32_t lane)
{
    return &cursor->page->group[cursor->group].taken[lane];
}

static _Atomic uint64_t *
claim_of(const struct cursor *cursor)
{
    return &cursor->page->member[cursor->member].claim;
}

bool
cursor_has(const struct cursor *cursor, uint32_t lane, uint64_t *ret_taken, uint64_t *ret_head)
{
    /* First what was taken: a head that is read later is no earlier. */
    *ret_taken = atomic_load(taken_of(cursor, lane));
    *ret_head = channel_head(cursor->page, lane);
    return GR_TAKEN_POSITION(*ret_taken) < *ret_head;
}

/*
 * The one who took last cannot tell any more that it was it, once another one has taken: so say it in its stead. When its
 * claim is still tentative and lies before what was taken, its exchange had succeeded.
 */
static void
help(const struct cursor *cursor, uint32_t lane, uint64_t taken)
{
    const uint32_t last = GR_TAKEN_MEMBER(taken);
    _Atomic uint64_t *theirs;
    uint64_t claim;

    if (last == cursor->member || last >= GR_CHANNEL_MEMBERS) {
        return;
    }
    theirs = &cursor->page->member[last].claim;
    claim = atomic_load(theirs);
    if (GR_CLAIM_POSITION(claim) < GR_TAKEN_POSITION(taken) &&
        claim == GR_CLAIM(GR_CLAIM_POSITION(claim), cursor->group, lane, GR_CLAIM_TENTATIVE)) {
        (void)atomic_compare_exchange_strong(theirs, &claim,
                                             GR_CLAIM(GR_CLAIM_POSITION(claim), cursor->group, lane, GR_CLAIM_OWNED));
    }
}

enum take
cursor_take(const struct cursor *cursor, uint32_t lane, uint64_t taken, uint64_t head, const struct ring *ring,
            struct place *ret_place)
{
    _Atomic uint64_t *place = &cursor->page->group[cursor->group].taken[lane];
    const uint64_t position = GR_TAKEN_POSITION(taken);

    if (!place_at(ring, position, head, ret_place)) {
        return atomic_load(place) == taken ? TAKE_WRONG : TAKE_AGAIN;
    }
    help(cursor, lane, taken);
    /* Release, by the exchange behind it: who sweeps and sees the exchange sees the claim. */
    atomic_store_explicit(claim_of(cursor), GR_CLAIM(position, cursor->group, lane, GR_CLAIM_TENTATIVE),
                          memory_order_relaxed);
    if (atomic_compare_exchange_strong(place, &taken, GR_TAKEN(ret_place->end, cursor->member))) {
        return TAKE_DONE;
    }
    atomic_store_explicit(claim_of(cursor), GR_CLAIM_NONE, memory_order_release);
    return TAKE_AGAIN;
}

void
cursor_done(const struct cursor *cursor)
{
    /* An exchange: a full fence between that and the look at who waits. */
    (void)atomic_exchange(claim_of(cursor), GR_CLAIM_NONE);
}

bool
cursor_skip(const struct cursor *cursor, uint32_t lane, uint64_t taken, uint64_t head)
{
    return atomic_compare_exchange_strong(&cursor->page->group[cursor->group].taken[lane], &taken,
                                          GR_TAKEN(head, NOBODY));
}

static bool
claims_in(uint64_t claim, uint32_t group)
{
    return GR_CLAIM_STATE(claim) != GR_CLAIM_NONE &&
           GR_CLAIM_WHERE(claim) % (GR_CHANNEL_LANES * GR_CHANNEL_GROUPS) / GR_CHANNEL_LANES == group;
}

bool
cursor_is_drained(const struct cursor *cursor)
{
    const uint32_t lanes = channel_lanes(cursor->page), members = channel_members(cursor->page);
    uint64_t taken, head;

    for (uint32_t i = 0; i < lanes; i++) {
        if (cursor_has(cursor, i, &taken, &head)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < members; i++) {
        if (i != cursor->member && claims_in(atomic_load(&cursor->page->member[i].claim), cursor->group)) {
            return false;
        }
    }
    return true;
}

/* ---- the dead ---- */

/* Who has looked at what is swept so far sweeps no more. Returns how far that is. */
static uint64_t
sweeps_stop(struct gr_channel *page, uint32_t lane)
{
    _Atomic uint64_t *place = &page->lane[lane].swept;
    uint64_t swept = atomic_load(place);

    while (!atomic_compare_exchange_weak(place, &swept, GR_SWEPT(GR_SWEPT_POSITION(swept), swept + 1))) {
    }
    return GR_SWEPT_POSITION(swept);
}

bool
member_claims(const struct gr_channel *page, uint32_t member)
{
    return GR_CLAIM_STATE(atomic_load(&page->member[member].claim)) != GR_CLAIM_NONE;
}

bool
cursor_mourn(const struct cursor *cursor, uint32_t dead, uint32_t *ret_lane, uint64_t *ret_position)
{
    struct gr_channel *page = cursor->page;
    const uint64_t first = atomic_load(&page->member[dead].claim), ours = atomic_load(claim_of(cursor));
    const uint32_t lane = (uint32_t)(GR_CLAIM_WHERE(first) % GR_CHANNEL_LANES);
    const uint64_t position = GR_CLAIM_POSITION(first);
    uint64_t taken, claim;

    if (!claims_in(first, cursor->group)) {
        return false;
    }
    if (GR_CLAIM_STATE(ours) != GR_CLAIM_NONE) {
        if (GR_CLAIM_WHERE(ours) == GR_CLAIM_WHERE(first)) {
            atomic_store(&page->member[dead].claim, GR_CLAIM_NONE);
        }
        return false;
    }
    taken = atomic_load(taken_of(cursor, lane));
    /* Read behind that: who took after the dead one had said before that this one is its. */
    claim = atomic_load(&page->member[dead].claim);
    if (GR_CLAIM_STATE(claim) != GR_CLAIM_OWNED &&
        (GR_TAKEN_MEMBER(taken) != dead || GR_TAKEN_POSITION(taken) <= position)) {
        atomic_store(&page->member[dead].claim, GR_CLAIM_NONE);
        return false;
    }
    /* First it is ours, so that it is claimed all the time; who dies in between leaves two equal claims, both of dead. A
     * sweep that had looked at our claim before, and looks at the dead one's later, is in vain. */
    atomic_store(claim_of(cursor), GR_CLAIM(position, cursor->group, lane, GR_CLAIM_OWNED));
    (void)sweeps_stop(page, lane);
    atomic_store(&page->member[dead].claim, GR_CLAIM_NONE);
    *ret_lane = lane;
    *ret_position = position;
    return true;
}

/* ---- sweep ---- */

/* From what is swept already: claims before that are of takes that will fail. */
static uint64_t
limit_from(const struct gr_channel *page, uint32_t lane, uint64_t swept)
{
    const uint32_t groups = channel_groups(page), members = channel_members(page);
    uint64_t limit = channel_head(page, lane);

    for (uint32_t i = 0; i < groups; i++) {
        const struct gr_channel_group *group = &page->group[i];

        if (atomic_load(&group->state) != GR_GROUP_FREE) {
            const uint64_t position = GR_TAKEN_POSITION(atomic_load(&group->taken[lane]));

            limit = position < limit ? position : limit;
        }
    }
    /* Behind the groups: who has taken beyond a message had claimed it before. */
    for (uint32_t i = 0; i < members; i++) {
        const uint64_t claim = atomic_load(&page->member[i].claim);
        const uint64_t position = GR_CLAIM_POSITION(claim);

        if (GR_CLAIM_STATE(claim) != GR_CLAIM_NONE && GR_CLAIM_WHERE(claim) % GR_CHANNEL_LANES == lane &&
            position >= swept && position < limit) {
            limit = position;
        }
    }
    return limit > swept ? limit : swept;
}

uint64_t
channel_limit(const struct gr_channel *page, uint32_t lane)
{
    return limit_from(page, lane, channel_swept(page, lane));
}

bool
channel_sweep(struct gr_channel *page, uint32_t lane, const struct ring *ring,
              void (*passed)(void *context, const unsigned char *id), void *context)
{
    _Atomic uint64_t *place = &page->lane[lane].swept;
    uint64_t swept = atomic_load(place);
    const uint64_t limit = limit_from(page, lane, GR_SWEPT_POSITION(swept));
    uint64_t at = GR_SWEPT_POSITION(swept);

    while (at < limit) {
        unsigned char id[GR_CHANNEL_UNIT];
        struct place entry;

        if (!place_at(ring, at, limit, &entry)) {
            return atomic_load(place) != swept; /* somebody else has swept that */
        }
        at = entry.end;
        if (entry.kind == GR_ENTRY_OBJECT) {
            memcpy(id, entry.data, sizeof id);
        } else if (at < limit) {
            continue;
        }
        if (!atomic_compare_exchange_strong(place, &swept, GR_SWEPT(at, swept))) {
            return true;
        }
        swept = GR_SWEPT(at, swept);
        if (entry.kind == GR_ENTRY_OBJECT) {
            passed(context, id);
        }
    }
    return true;
}

void
channel_tell_room(struct gr_channel *page, uint32_t lane)
{
    struct gr_channel_lane *of = &page->lane[lane];

    if (atomic_load(&of->room.waited) != 0 && channel_limit(page, lane) >= atomic_load(&of->room_at)) {
        gr_bell_ring(&of->room);
    }
}

/* ---- groups ---- */

void
group_begin(struct gr_channel *page, uint32_t group, const char *name, bool is_named, bool oldest)
{
    struct gr_channel_group *of = &page->group[group];

    for (uint32_t i = 0; i < GR_CHANNEL_LANES; i++) {
        atomic_store(&of->taken[i], GR_TAKEN(0, NOBODY));
    }
    memset(of->name, 0, sizeof of->name);
    memcpy(of->name, name, strnlen(name, sizeof of->name - 1));
    of->is_named = is_named;
    atomic_store(&of->state, GR_GROUP_JOINING);
    channel_show(&page->groups, group + 1);
    for (uint32_t i = 0; i < GR_CHANNEL_LANES; i++) {
        /* Who looks from now on sees this group at 0. */
        const uint64_t swept = sweeps_stop(page, i);

        atomic_store(&of->taken[i], GR_TAKEN(oldest ? swept : channel_head(page, i), NOBODY));
    }
    atomic_store(&of->state, GR_GROUP_READY);
}

void
group_end(struct gr_channel *page, uint32_t group)
{
    atomic_store(&page->group[group].state, GR_GROUP_FREE);
    for (uint32_t i = 0; i < channel_lanes(page); i++) {
        gr_bell_ring(&page->lane[i].room);
    }
}
