/*
 * Of each life of a writer and each table, acknowledged appends are sorted by time, with the sums of their checks up to
 * there. So what a read must have seen is one search away. A life ends with at most one append that was not
 * acknowledged: reads tell from when on it is there, and until when it is not.
 */
#include "torture/tables/verdict.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "torture/tables/row.h"

#define SHOWN 20u /* findings that are described */

/* An append that was acknowledged. */
struct written {
    uint32_t table;
    uint32_t life;
    int64_t time;
    uint64_t sum; /* of this one; later, of it and those before it */
};

/* A life's append that has no end, if it has one. */
struct pending {
    const struct append *append;
    uint64_t number;
    uint64_t sum;
    int64_t there; /* the earliest time of a read that saw it; INT64_MAX: none did */
    int64_t gone;  /* the latest time of a read that did not; INT64_MIN: none */
};

struct life {
    const struct hand *hand;
    struct pending pending;
    /* Its appends to each table, among the written. */
    size_t first[JOURNAL_TABLES], end[JOURNAL_TABLES];
};

struct verdict {
    const struct journal *journal;
    FILE *complaints;
    struct written *written;
    size_t count;
    struct life lives[SIGHT_LIVES];
    const struct sight *seen[SIGHT_LIVES]; /* by the read that is looked at */
    size_t findings;
};

/* Count a finding. Whether it is to be described. */
static bool
finding(struct verdict *verdict)
{
    return ++verdict->findings <= SHOWN;
}

static const char *
kind_name(uint8_t kind)
{
    static const char *const names[READ_KINDS] = {"fixed", "past", "cut", "now", "snapshot", "graph"};

    return names[kind];
}

/* ---- appends ---- */

static const char *
time_name(int64_t time, char *text, size_t size)
{
    (void)snprintf(text, size, "%" PRId64, time);
    return time == GRANARY_NOW ? "no time" : text;
}

static void
complain_append(const struct verdict *verdict, const struct hand *hand, const struct append *append, const char *what)
{
    char asked[32], after[32];

    (void)fprintf(verdict->complaints,
                  "table %s, life %u, append %td of %u rows: %s (asked for %s%s, begun when %s was final, written at "
                  "%" PRId64 ")\n",
                  journal_table(append->table), append->life, append - hand->appends, append->rows, what,
                  time_name(append->asked, asked, sizeof asked), append->forward ? " or later" : "",
                  time_name(append->after, after, sizeof after), append->time);
}

/* Whether the time of an append may be that. */
static bool
time_fits(const struct append *append, int64_t time)
{
    return append->asked == GRANARY_NOW || (append->forward ? time >= append->asked : time == append->asked);
}

static void
check_append(struct verdict *verdict, const struct hand *hand, const struct append *append)
{
    if (!time_fits(append, append->time) && finding(verdict)) {
        complain_append(verdict, hand, append, "it got another time than it was given");
    }
    if (append->time <= append->after && finding(verdict)) {
        complain_append(verdict, hand, append, "its time was final before it began");
    }
}

static void
take_append(struct verdict *verdict, const struct hand *hand, const struct append *append)
{
    struct life *life = &verdict->lives[append->life];
    const struct origin origin = hand_origin(hand, append);

    life->hand = hand;
    switch (atomic_load_explicit(&append->outcome, memory_order_acquire)) {
    case APPEND_DONE:
        check_append(verdict, hand, append);
        verdict->written[verdict->count++] = (struct written){
            .table = append->table, .life = append->life, .time = append->time, .sum = row_sum(&origin)};
        break;
    case APPEND_UNKNOWN:
        life->pending = (struct pending){
            .append = append, .number = origin.number, .sum = row_sum(&origin), .there = INT64_MAX, .gone = INT64_MIN};
        break;
    default:
        break;
    }
}

static int
by_place_and_time(const void *left, const void *right)
{
    const struct written *a = left, *b = right;

    if (a->table != b->table) {
        return a->table < b->table ? -1 : 1;
    }
    if (a->life != b->life) {
        return a->life < b->life ? -1 : 1;
    }
    return a->time < b->time ? -1 : a->time > b->time;
}

/* Where appends of each life begin and end, and sums up to each. */
static void
add_up(struct verdict *verdict)
{
    qsort(verdict->written, verdict->count, sizeof *verdict->written, by_place_and_time);
    for (size_t i = 0; i < verdict->count; i++) {
        struct written *written = &verdict->written[i];
        struct life *life = &verdict->lives[written->life];

        if (life->end[written->table] == 0) {
            life->first[written->table] = i;
        } else {
            written->sum += verdict->written[i - 1].sum;
        }
        life->end[written->table] = i + 1;
    }
}

static bool
take_appends(struct verdict *verdict)
{
    const struct journal *journal = verdict->journal;
    size_t most = 1;

    for (unsigned i = 0; i <= journal->writers; i++) {
        most += (size_t)atomic_load(&journal->hands[i]->count);
    }
    verdict->written = malloc(most * sizeof *verdict->written);
    if (verdict->written == NULL) {
        return false;
    }
    for (unsigned i = 0; i <= journal->writers; i++) {
        const struct hand *hand = journal->hands[i];

        for (uint64_t k = 0; k < atomic_load_explicit(&hand->count, memory_order_acquire); k++) {
            take_append(verdict, hand, &hand->appends[k]);
        }
    }
    add_up(verdict);
    return true;
}

/* ---- reads ---- */

/* What a life had written to a table at or before a time. */
static struct sight
expected(const struct verdict *verdict, uint32_t number, uint32_t table, int64_t time)
{
    const struct life *life = &verdict->lives[number];
    size_t low = life->first[table];
    size_t high = life->end[table];

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (verdict->written[middle].time <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (struct sight){.life = number,
                          .appends = (uint32_t)(low - life->first[table]),
                          .sum = low == life->first[table] ? 0 : verdict->written[low - 1].sum};
}

/* The append of a life that makes all the difference, and what it did. NULL: no single one does. */
static const struct append *
find_difference(const struct verdict *verdict, const struct read *read, const struct sight *want,
                const struct sight *seen, const char **ret_what)
{
    const struct hand *hand = verdict->lives[want->life].hand;

    for (uint64_t i = 0; hand != NULL && i < atomic_load(&hand->count); i++) {
        const struct append *append = &hand->appends[i];
        const struct origin origin = hand_origin(hand, append);
        uint8_t outcome = atomic_load(&append->outcome);
        bool was = outcome == APPEND_DONE && append->time <= read->time;

        if (append->life != want->life || append->table != read->table) {
            continue;
        }
        if (want->sum - seen->sum == row_sum(&origin) && was) {
            *ret_what = "it is missing";
            return append;
        }
        if (seen->sum - want->sum == row_sum(&origin) && !was) {
            *ret_what = outcome == APPEND_DONE ? "it is there before its time" : "it is there, and was refused";
            return append;
        }
    }
    return NULL;
}

static void
complain_sight(struct verdict *verdict, const struct read *read, const struct sight *want, const struct sight *seen)
{
    const char *what = NULL;
    const struct append *append;

    if (!finding(verdict)) {
        return;
    }
    append = find_difference(verdict, read, want, seen, &what);
    (void)fprintf(verdict->complaints,
                  "table %s, a read (%s) at %" PRId64 " (from %" PRId64 "): life %u has %u appends of sum %" PRIx64
                  ", and should have %u of %" PRIx64 "\n",
                  journal_table(read->table), kind_name(read->kind), read->time, read->from, want->life, seen->appends,
                  seen->sum, want->appends, want->sum);
    if (append != NULL) {
        complain_append(verdict, verdict->lives[want->life].hand, append, what);
    }
}

/* A life's append without an end may be there, or not. */
static bool
take_pending(struct pending *pending, const struct read *read, const struct sight *want, const struct sight *seen)
{
    bool there = seen->appends == want->appends + 1 && seen->sum - want->sum == pending->sum;

    if (there && read->time < pending->there) {
        pending->there = read->time;
    }
    if (!there && read->time > pending->gone) {
        pending->gone = read->time;
    }
    return there;
}

/* A read of a known time. */
static void
check_exact(struct verdict *verdict, const struct read *read, uint32_t number, const struct sight *seen)
{
    struct pending *pending = &verdict->lives[number].pending;
    struct sight want = expected(verdict, number, read->table, read->time);
    bool extra =
        pending->append != NULL && pending->append->table == read->table && take_pending(pending, read, &want, seen);

    if (!extra && (seen->appends != want.appends || seen->sum != want.sum)) {
        complain_sight(verdict, read, &want, seen);
    }
}

/* A read of a time between two: it has at least all of the first, and at most all of the second. */
static void
check_between(struct verdict *verdict, const struct read *read, uint32_t number, const struct sight *seen)
{
    const struct pending *pending = &verdict->lives[number].pending;
    struct sight least = expected(verdict, number, read->table, read->from);
    struct sight most = expected(verdict, number, read->table, read->time);
    bool extra = pending->append != NULL && pending->append->table == read->table;

    if (seen->appends < least.appends || seen->appends > most.appends + extra) {
        complain_sight(verdict, read, seen->appends < least.appends ? &least : &most, seen);
    }
}

static void
complain_read(const struct verdict *verdict, const struct read *read, const char *what)
{
    (void)fprintf(verdict->complaints,
                  "table %s, a read (%s) at %" PRId64 " (acknowledged before: %" PRId64
                  "): %s (life %u, append %" PRIu64 ")\n",
                  journal_table(read->table), kind_name(read->kind), read->time, read->acknowledged, what,
                  read->flaw_life, read->flaw_number);
}

static void
check_flaws(struct verdict *verdict, const struct read *read)
{
    static const char *const flaws[] = {[FLAW_COLUMNS] = "columns of another table",
                                        [FLAW_ROW] = "a row that nobody wrote",
                                        [FLAW_HALF] = "an append in part",
                                        [FLAW_ORDER] = "appends of one writer in another order"};

    if (read->flaw != FLAW_NONE && finding(verdict)) {
        complain_read(verdict, read, flaws[read->flaw]);
    }
    if (read->from < read->acknowledged && finding(verdict)) {
        complain_read(verdict, read, "it was for a time before what had been acknowledged");
    }
}

static void
check_read(struct verdict *verdict, const struct read *read)
{
    const uint32_t lives = atomic_load(&verdict->journal->board->lives);

    check_flaws(verdict, read);
    memset(verdict->seen, 0, sizeof verdict->seen);
    for (uint32_t i = 0; i < read->sight_count; i++) {
        verdict->seen[read->sights[i].life] = &read->sights[i];
    }
    for (uint32_t number = 0; number < SIGHT_LIVES; number++) {
        const struct sight nothing = {.life = number};
        const struct sight *seen = verdict->seen[number];

        if (number >= lives && seen == NULL) {
            continue;
        }
        if (read->from == read->time) {
            check_exact(verdict, read, number, seen == NULL ? &nothing : seen);
        } else {
            check_between(verdict, read, number, seen == NULL ? &nothing : seen);
        }
    }
}

/* ---- appends without an end ---- */

static void
check_pending(struct verdict *verdict, const struct life *life)
{
    const struct pending *pending = &life->pending;
    const struct append *append = pending->append;
    const char *what = NULL;

    if (append == NULL || pending->there == INT64_MAX) {
        return; /* there is none, or it never was */
    }
    if (pending->there <= pending->gone) {
        what = "nobody was told of it; one read has it, and one at that time or later has it not";
    } else if (pending->there <= append->after) {
        what = "nobody was told of it, and a read has it whose time was final before it began";
    } else if (append->asked != GRANARY_NOW &&
               (pending->there < append->asked || (!append->forward && pending->gone >= append->asked))) {
        what = "nobody was told of it, and it is there at another time than it was given";
    }
    if (what != NULL && finding(verdict)) {
        complain_append(verdict, life->hand, append, what);
        (void)fprintf(verdict->complaints, "  a read at %" PRId64 " has it, one at %" PRId64 " has it not\n",
                      pending->there, pending->gone);
    }
}

size_t
verdict_of(const struct journal *journal, FILE *complaints)
{
    struct verdict *verdict = calloc(1, sizeof *verdict);
    size_t findings = SIZE_MAX;

    if (verdict != NULL) {
        verdict->journal = journal;
        verdict->complaints = complaints;
        if (take_appends(verdict)) {
            for (unsigned i = 0; i <= journal->readers; i++) {
                const struct read *read = NULL;

                while ((read = diary_next(journal->diaries[i], read)) != NULL) {
                    check_read(verdict, read);
                }
            }
            for (uint32_t i = 0; i < SIGHT_LIVES; i++) {
                check_pending(verdict, &verdict->lives[i]);
            }
            findings = verdict->findings;
        }
        free(verdict->written);
    }
    free(verdict);
    return findings;
}
