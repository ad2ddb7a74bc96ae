/* Each process has a part of its own and counts what it has noted; all see the board. */
#include "torture/tables/journal.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "torture/common/shared.h"
#include "torture/tables/row.h"

#define SLACK      65536u                /* appends of a writer beyond two for each row of its share */
#define DIARY_ROOM ((uint64_t)256 << 20) /* bytes; what is not used takes nothing */

/* ---- made and cleared ---- */

static size_t
hand_size(uint64_t room)
{
    return sizeof(struct hand) + room * sizeof(struct append);
}

static struct hand *
hand_create(const char *directory, uint64_t room)
{
    struct hand *hand = shared_map(directory, hand_size(room));

    if (hand != NULL) {
        hand->room = room;
    }
    return hand;
}

static struct diary *
diary_create(const char *directory)
{
    struct diary *diary = shared_map(directory, sizeof(struct diary) + DIARY_ROOM);

    if (diary != NULL) {
        diary->room = DIARY_ROOM;
    }
    return diary;
}

bool
journal_create(struct journal *journal, const char *directory, const char *instance, unsigned writers, unsigned readers,
               uint64_t share)
{
    bool made;

    *journal = (struct journal){.writers = writers, .readers = readers, .share = share};
    journal->board = shared_map(directory, sizeof *journal->board);
    made = journal->board != NULL;
    for (unsigned i = 0; made && i <= writers; i++) {
        journal->hands[i] = hand_create(directory, 2 * share + SLACK);
        made = journal->hands[i] != NULL;
    }
    for (unsigned i = 0; made && i <= readers; i++) {
        journal->diaries[i] = diary_create(directory);
        made = journal->diaries[i] != NULL;
    }
    if (made) {
        (void)snprintf(journal->board->instance, sizeof journal->board->instance, "%s", instance);
        journal_clear(journal);
    }
    return made;
}

void
journal_destroy(struct journal *journal)
{
    for (unsigned i = 0; i < JOURNAL_HANDS; i++) {
        struct hand *hand = journal->hands[i];

        shared_unmap(hand, hand == NULL ? 0 : hand_size(hand->room));
        shared_unmap(journal->diaries[i], sizeof(struct diary) + DIARY_ROOM);
    }
    shared_unmap(journal->board, sizeof *journal->board);
}

void
journal_clear(struct journal *journal)
{
    struct board *board = journal->board;

    for (unsigned i = 0; i <= journal->writers; i++) {
        struct hand *hand = journal->hands[i];

        memset(hand->appends, 0, atomic_load(&hand->count) * sizeof *hand->appends);
        atomic_store(&hand->count, 0);
        atomic_store(&hand->rows, 0);
        for (uint32_t table = 0; table < JOURNAL_TABLES; table++) {
            atomic_store(&hand->newest[table], INT64_MIN);
        }
    }
    for (unsigned i = 0; i <= journal->readers; i++) {
        atomic_store(&journal->diaries[i]->used, 0);
    }
    for (uint32_t table = 0; table < JOURNAL_TABLES; table++) {
        atomic_store(&board->final[table], INT64_MIN);
        atomic_store(&board->past_count[table], 0);
        memset(board->past[table], 0, sizeof board->past[table]);
    }
    atomic_store(&board->lives, 0);
    atomic_store(&board->stop, false);
}

/* ---- appends ---- */

struct append *
hand_begin(struct hand *hand, struct append append)
{
    uint64_t count = atomic_load_explicit(&hand->count, memory_order_relaxed);

    if (count == hand->room) {
        return NULL;
    }
    hand->appends[count] = append;
    atomic_store_explicit(&hand->count, count + 1, memory_order_release);
    return &hand->appends[count];
}

void
hand_done(struct hand *hand, struct append *append, int64_t time)
{
    append->time = time;
    atomic_store_explicit(&append->outcome, APPEND_DONE, memory_order_release);
    atomic_fetch_add_explicit(&hand->rows, append->rows, memory_order_relaxed);
    if (time > atomic_load_explicit(&hand->newest[append->table], memory_order_relaxed)) {
        atomic_store_explicit(&hand->newest[append->table], time, memory_order_release);
    }
}

void
hand_refused(struct append *append)
{
    atomic_store_explicit(&append->outcome, APPEND_REFUSED, memory_order_release);
}

struct origin
hand_origin(const struct hand *hand, const struct append *append)
{
    return (struct origin){.table = append->table,
                           .life = append->life,
                           .number = (uint64_t)(append - hand->appends),
                           .asked = append->asked,
                           .rows = append->rows};
}

/* ---- reads ---- */

int64_t
journal_acknowledged(const struct journal *journal, uint32_t table)
{
    int64_t latest = INT64_MIN;

    for (unsigned i = 0; i <= journal->writers; i++) {
        int64_t newest = atomic_load_explicit(&journal->hands[i]->newest[table], memory_order_acquire);

        latest = newest > latest ? newest : latest;
    }
    return latest;
}

void
diary_note(struct diary *diary, struct read read, const struct sighting *sighting)
{
    uint64_t used = atomic_load_explicit(&diary->used, memory_order_relaxed);
    struct read *to = (struct read *)(void *)(diary->bytes + used);

    read.size = (uint32_t)(sizeof read + sighting->count * sizeof *sighting->sights);
    read.sight_count = sighting->count;
    read.flaw = (uint8_t)sighting->flaw;
    read.flaw_life = sighting->flaw_life;
    read.flaw_number = sighting->flaw_number;
    if (read.size <= diary->room - used) {
        memcpy(to, &read, sizeof read);
        memcpy(to->sights, sighting->sights, sighting->count * sizeof *sighting->sights);
        atomic_store_explicit(&diary->used, used + read.size, memory_order_release);
    }
}

const struct read *
diary_next(const struct diary *diary, const struct read *read)
{
    const char *at = read == NULL ? diary->bytes : (const char *)read + read->size;

    return at == diary->bytes + atomic_load_explicit(&diary->used, memory_order_acquire)
               ? NULL
               : (const struct read *)(const void *)at;
}

/* ---- the board ---- */

void
board_answered(struct board *board, uint32_t table, int64_t time)
{
    int64_t final = atomic_load(&board->final[table]);

    while (final < time && !atomic_compare_exchange_weak(&board->final[table], &final, time)) {
    }
    atomic_store(&board->past[table][atomic_fetch_add(&board->past_count[table], 1) % JOURNAL_PAST], time);
}

void
board_failed(struct board *board, granary_err err, const char *what)
{
    if (err == GRANARY_EFULL) {
        atomic_fetch_add(&board->full, 1);
    } else if (err == GRANARY_EUNREACHABLE && board->outages) {
        atomic_fetch_add(&board->away, 1);
    } else {
        (void)fprintf(stderr, "torture: %s: %s\n", what, granary_error_message());
        atomic_fetch_add(&board->failed, 1);
    }
}

const char *
journal_table(uint32_t table)
{
    static const char *const names[JOURNAL_TABLES] = {"readings", "events", "scores"};

    return names[table];
}
