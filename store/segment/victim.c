/* Victims: CLOCK (Corbato, 1968) over segments listed by rank, a bounded number of looks a time. */
#include "store/segment/victim.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/core/core.h"
#include "store/segment/segment.h"

#define WORDS           (VICTIM_RANKS / 64)
#define USE_LEVELS      16u
#define TICK_SHARE      16u   /* ticks while the capacity is filled once */
#define SPARE_TICKS     4     /* used so lately: spared in the first pass */
#define SPARE_LARGE     2     /* ... what is larger than ... */
#define LARGE_SHARE     64u   /* ... the capacity divided by this */
#define SPARED_MOST     4096u /* in one pass: when everything is in use, it is no reason */
#define CLIENTS_A_LOOK  32u
#define SAMPLED_CLIENTS 8u /* at a time */

/* One kind's segments by rank, and how far the hunt is. */
struct ranks {
    struct list lists[VICTIM_RANKS];
    uint64_t filled[WORDS];
    uint64_t words_filled;
    uint32_t pass;
    unsigned rank;   /* that the pass is over */
    unsigned fresh;  /* the lowest that something came to since the hunt began; VICTIM_NEVER: none */
    unsigned spared; /* in this pass */
    unsigned taken;
    bool merciless;
    bool running; /* a pass */
};
_Static_assert(WORDS == 64, "one word tells which words are not 0");

struct victims {
    struct ranks kinds[VICTIM_KINDS];
    uint64_t ticking; /* bytes since the last tick */
    uint8_t clock;
    bool due; /* it is time to sample */
};

void
victim_session_init(struct session *session)
{
    memset(session->seen, (uint8_t)(victim_clock(session->store) - 128), sizeof session->seen);
}

granary_err
victims_create(struct victims **ret_victims)
{
    struct victims *victims = calloc(1, sizeof *victims);

    if (victims == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for the order of eviction");
    }
    for (int kind = 0; kind < VICTIM_KINDS; kind++) {
        for (unsigned rank = 0; rank < VICTIM_RANKS; rank++) {
            list_init(&victims->kinds[kind].lists[rank]);
        }
    }
    *ret_victims = victims;
    return GRANARY_OK;
}

void
victims_destroy(struct victims *victims)
{
    free(victims);
}

static unsigned
victim_rank(uint64_t flags)
{
    unsigned importance = GR_FLAGS_IMPORTANCE(flags);
    unsigned next_use = GR_FLAGS_NEXT_USE(flags);
    unsigned level;

    if ((flags & GR_FLAG_SLICE) != 0) {
        return 0;
    }
    if (importance == 255) {
        return VICTIM_NEVER;
    }
    if (next_use == 255) { /* of no use to anybody, however important it was */
        return 0;
    }
    level = next_use == 0 ? USE_LEVELS / 2 : 1 + (254 - next_use) * (USE_LEVELS - 1) / 254;
    return importance * USE_LEVELS + level;
}

/* ---- segments in their lists ---- */

static void
unlist(struct ranks *ranks, struct victim_place *place)
{
    unsigned rank = place->rank;

    if (!place->listed) {
        return;
    }
    list_remove(&place->in_rank);
    place->listed = false;
    if (list_empty(&ranks->lists[rank])) {
        ranks->filled[rank / 64] &= ~(1ull << rank % 64);
        if (ranks->filled[rank / 64] == 0) {
            ranks->words_filled &= ~(1ull << rank / 64);
        }
    }
}

static void
enlist(struct ranks *ranks, struct victim_place *place, unsigned rank)
{
    unlist(ranks, place);
    place->rank = (uint16_t)rank;
    place->next_rank = VICTIM_NEVER;
    place->cursor = 0;
    place->listed = true;
    list_append(&ranks->lists[rank], &place->in_rank);
    ranks->filled[rank / 64] |= 1ull << rank % 64;
    ranks->words_filled |= 1ull << rank / 64;
}

/* The first rank from `from` on that has segments; VICTIM_NEVER: none. */
static unsigned
first_rank(const struct ranks *ranks, unsigned from)
{
    unsigned word = from / 64;
    uint64_t bits, words;

    if (from >= VICTIM_RANKS) {
        return VICTIM_NEVER;
    }
    bits = ranks->filled[word] & ~0ull << from % 64;
    if (bits == 0) {
        words = word == 63 ? 0 : ranks->words_filled & ~0ull << (word + 1);
        if (words == 0) {
            return VICTIM_NEVER;
        }
        word = (unsigned)__builtin_ctzll(words);
        bits = ranks->filled[word];
    }
    return word * 64 + (unsigned)__builtin_ctzll(bits);
}

void
victim_segment_init(struct segment *segment)
{
    for (int kind = 0; kind < VICTIM_KINDS; kind++) {
        segment->victim[kind] = (struct victim_place){.listed = false};
        list_init(&segment->victim[kind].in_rank);
    }
}

void
victim_segment_gone(struct store *store, struct segment *segment)
{
    for (int kind = 0; kind < VICTIM_KINDS; kind++) {
        unlist(&store->victims->kinds[kind], &segment->victim[kind]);
    }
}

static enum victim_kind
kind_of(uint64_t flags)
{
    return (flags & GR_FLAG_CLEAN) != 0 ? VICTIM_CLEAN : VICTIM_DIRTY;
}

void
victim_note(struct store *store, struct segment *segment, const struct gr_slot *slot)
{
    uint64_t flags = slot_flags(slot);
    struct ranks *ranks = &store->victims->kinds[kind_of(flags)];
    struct victim_place *place = &segment->victim[kind_of(flags)];
    unsigned rank = victim_rank(flags);

    if (rank == VICTIM_NEVER || GR_FLAGS_PINS(flags) > 0 || session_is_closed(segment->session)) {
        return;
    }
    if (!place->listed || rank < place->rank) {
        enlist(ranks, place, rank);
        ranks->fresh = rank < ranks->fresh ? rank : ranks->fresh;
    } else if (rank < place->next_rank) {
        place->next_rank = (uint16_t)rank;
    }
}

/* ---- recency ---- */

unsigned
victim_clock(const struct store *store)
{
    return store->victims->clock;
}

void
victim_tick(struct store *store, uint64_t bytes)
{
    struct victims *victims = store->victims;
    uint64_t tick = store->account.bytes[GR_ACCOUNT_CAPACITY] / TICK_SHARE;

    victims->ticking += bytes;
    if (victims->ticking >= tick) {
        victims->ticking = 0;
        victims->clock++;
        victims->due = true;
    }
}

static void
sample_client(struct client *client, uint8_t clock)
{
    struct session *session = client->session;

    for (unsigned i = 0; i < GR_USED_BYTES; i++) {
        if (atomic_load_explicit(&client->page->used[i], memory_order_relaxed) != 0) {
            atomic_store_explicit(&client->page->used[i], 0, memory_order_relaxed);
            session->seen[i] = clock;
        }
    }
}

static void
sample(struct store *store)
{
    unsigned sampled = 0;

    list_each (struct client, client, &store->clients.all, in_store) {
        if (client->session != NULL) {
            sample_client(client, store->victims->clock);
        }
        /* The list is in no order that matters: who was looked at goes to its end. */
        list_append(&store->clients.all, &client->in_store);
        if (++sampled == SAMPLED_CLIENTS || sampled == store->clients.count) {
            return;
        }
    }
}

void
victim_turn(struct store *store)
{
    if (store->victims->due) {
        store->victims->due = false;
        sample(store);
    }
}

void
victim_watch(struct session *session, uint64_t serial, unsigned clock)
{
    session->seen[serial % GR_USED_BYTES] = (uint8_t)(clock - 1);
    list_each (const struct client, client, &session->clients, in_session) {
        atomic_store_explicit(&client->page->used[serial % GR_USED_BYTES], 0, memory_order_relaxed);
    }
}

bool
victim_was_used(const struct session *session, const struct gr_slot *slot)
{
    unsigned at = (unsigned)(GR_WORD_SERIAL(slot_word(slot)) % GR_USED_BYTES);
    uint8_t clock = session->store->victims->clock;
    bool used = (uint8_t)(clock - session->seen[at]) <= (uint8_t)(clock - GR_FLAGS_AGE(slot_flags(slot)));

    list_each (const struct client, client, &session->clients, in_session) {
        if (used) {
            break;
        }
        used = atomic_load_explicit(&client->page->used[at], memory_order_relaxed) != 0;
    }
    return used;
}

/* Whether it was leased, or came, only a few ticks ago; its age is brought up to date. */
static bool
used_lately(struct store *store, const struct session *session, struct gr_slot *slot)
{
    uint64_t flags = slot_flags(slot);
    unsigned at = (unsigned)(GR_WORD_SERIAL(slot_word(slot)) % GR_USED_BYTES);
    uint8_t clock = store->victims->clock;
    uint8_t age = (uint8_t)(clock - GR_FLAGS_AGE(flags));
    bool large = slot_footprint(slot) > store->account.bytes[GR_ACCOUNT_CAPACITY] / LARGE_SHARE;

    if ((uint8_t)(clock - session->seen[at]) < age) {
        age = (uint8_t)(clock - session->seen[at]);
        flags &= ~((uint64_t)0xff << GR_FLAGS_AGE_SHIFT);
        slot_set_flags(slot, flags | (uint64_t)session->seen[at] << GR_FLAGS_AGE_SHIFT);
    }
    return age < (large ? SPARE_LARGE : SPARE_TICKS);
}

/* ---- the hunt ---- */

enum scan_result { SCAN_DONE, SCAN_LOOKS, SCAN_ENOUGH };

/* Look at a segment's objects from its cursor on. */
static enum scan_result
scan(struct store *store, enum victim_kind kind, struct victim_hunt *hunt, struct segment *segment, unsigned *looks)
{
    struct ranks *ranks = &store->victims->kinds[kind];
    struct victim_place *place = &segment->victim[kind];
    enum scan_result result = SCAN_DONE;

    while (place->cursor < segment->entry_count && result == SCAN_DONE) {
        struct gr_slot *slot;
        enum victim_verdict verdict = VICTIM_HELD;
        unsigned rank, cost;

        if (*looks == 0) {
            return SCAN_LOOKS;
        }
        /* Taking one means a look at each client's leases. */
        cost = 1 + segment->session->client_count / CLIENTS_A_LOOK;
        *looks -= cost < *looks ? cost : *looks;
        slot = segment_entry_slot(segment, &segment->entries[place->cursor++], 1u << GR_SLOT_SEALED);
        rank = slot == NULL || GR_FLAGS_PINS(slot_flags(slot)) > 0 || kind_of(slot_flags(slot)) != kind
                   ? VICTIM_NEVER
                   : victim_rank(slot_flags(slot));
        if (rank == VICTIM_NEVER) {
            continue;
        }
        if (rank <= ranks->rank) {
            if (!ranks->merciless && ranks->spared < SPARED_MOST && used_lately(store, segment->session, slot)) {
                ranks->spared++;
            } else {
                verdict = hunt->take(hunt, segment, slot);
            }
        }
        if (verdict == VICTIM_HELD) {
            place->next_rank = rank < place->next_rank ? (uint16_t)rank : place->next_rank;
        } else {
            ranks->taken++;
        }
        result = verdict == VICTIM_ENOUGH ? SCAN_ENOUGH : SCAN_DONE;
    }
    return result;
}

static void
pass_begin(struct ranks *ranks, unsigned rank, bool merciless)
{
    ranks->running = true;
    ranks->rank = rank;
    ranks->merciless = merciless;
    ranks->spared = ranks->taken = 0;
    ranks->pass++;
}

/* The next segment of the pass, or NULL. */
static struct segment *
pass_next(struct ranks *ranks, enum victim_kind kind)
{
    struct list *first = ranks->lists[ranks->rank].next;
    struct segment *segment;

    if (first == &ranks->lists[ranks->rank]) {
        return NULL;
    }
    segment = list_owner(first, struct segment, victim[kind].in_rank);
    return segment->victim[kind].pass == ranks->pass ? NULL : segment;
}

/* Every segment of the rank was looked at, and nothing taken. False: the hunt ends, as there are some it has to spare.
 */
static bool
pass_end(struct ranks *ranks, const struct victim_hunt *hunt)
{
    if (ranks->spared > 0 && !ranks->merciless) {
        ranks->running = hunt->merciless;
        if (hunt->merciless) {
            pass_begin(ranks, ranks->rank, true);
        }
        return hunt->merciless;
    }
    pass_begin(ranks, first_rank(ranks, ranks->rank + 1), false);
    ranks->running = ranks->rank != VICTIM_NEVER;
    return true;
}

unsigned
victim_least(const struct store *store, enum victim_kind kind)
{
    return first_rank(&store->victims->kinds[kind], 0);
}

unsigned
victim_reached(const struct store *store, enum victim_kind kind)
{
    return store->victims->kinds[kind].rank;
}

enum victim_result
victim_hunt(struct store *store, enum victim_kind kind, struct victim_hunt *hunt, unsigned looks)
{
    struct ranks *ranks = &store->victims->kinds[kind];

    if (!ranks->running) {
        sample(store);
        pass_begin(ranks, first_rank(ranks, 0), false);
        ranks->running = ranks->rank != VICTIM_NEVER;
        ranks->fresh = VICTIM_NEVER;
    } else if (ranks->fresh < ranks->rank) {
        /* Somebody less worthy came meanwhile. Those who were looked at and stayed do not count: a hunt that went back
         * to them each time would never end. */
        pass_begin(ranks, ranks->fresh, false);
        ranks->fresh = VICTIM_NEVER;
    }
    while (ranks->running) {
        struct segment *segment = pass_next(ranks, kind);
        struct victim_place *place;
        enum scan_result result;

        if (ranks->rank > hunt->most_rank && !hunt->merciless) {
            ranks->running = false;
            return VICTIM_SPARED;
        }
        if (segment == NULL && ranks->taken > 0) {
            ranks->running = false;
            return VICTIM_ROUND;
        }
        if (segment == NULL) {
            if (!pass_end(ranks, hunt)) {
                return VICTIM_SPARED;
            }
            continue;
        }
        place = &segment->victim[kind];
        if (looks == 0) {
            return VICTIM_MORE;
        }
        looks--;
        if (!hunt->wants(hunt, segment)) {
            place->pass = ranks->pass;
            list_append(&ranks->lists[ranks->rank], &place->in_rank);
            continue;
        }
        result = scan(store, kind, hunt, segment, &looks);
        if (place->cursor >= segment->entry_count) {
            unsigned left = place->next_rank;

            unlist(ranks, place);
            if (left != VICTIM_NEVER) {
                enlist(ranks, place, left);
                place->pass = ranks->pass;
            }
        }
        hunt->leave(hunt, segment);
        if (result != SCAN_DONE) {
            return result == SCAN_ENOUGH ? VICTIM_SATISFIED : VICTIM_MORE;
        }
    }
    return VICTIM_NOTHING;
}
