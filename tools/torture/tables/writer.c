/*
 * Dice choose table, rows and time. Times that are given lie around what is final and around what this writer wrote
 * last, a few nanoseconds off as often as milliseconds, so that writers and readers meet.
 */
#include "torture/tables/writer.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "torture/common/client.h"
#include "torture/common/random.h"
#include "torture/tables/row.h"

#define FAR_NS 50000000u /* how far back a time may be */

struct writer {
    const struct journal *journal;
    struct hand *hand;
    uint32_t life;
    uint64_t seed;
    granary_client *client;
    granary_mutable *tables[JOURNAL_TABLES];
    struct rows *rows;
    int64_t next_ns; /* the next append's turn */
};

static uint32_t
dice(struct writer *writer, uint32_t sides)
{
    return (uint32_t)(random_next(&writer->seed) % sides);
}

/* ---- one append ---- */

static int64_t
choose_time(struct writer *writer, uint32_t table)
{
    const struct board *board = writer->journal->board;
    uint32_t kind = dice(writer, 8);
    int64_t base = kind < 5   ? INT64_MIN
                   : kind < 7 ? atomic_load(&writer->hand->newest[table])
                              : atomic_load(&board->final[table]);

    if (base == INT64_MIN) {
        return GRANARY_NOW;
    }
    if (dice(writer, 16) == 0) {
        return base - dice(writer, FAR_NS);
    }
    /* Steps forward are short: all of them together stay behind the clock. */
    return base + (int64_t)dice(writer, 1u << dice(writer, 14)) * (dice(writer, 2) == 0 ? 1 : -1);
}

static uint32_t
choose_rows(struct writer *writer)
{
    uint32_t kind = dice(writer, 1024);

    return kind == 0 ? 1 + dice(writer, ROWS_MOST) : kind < 32 ? 2 + dice(writer, 30) : 1;
}

/* As the journal wants it. False: it failed as no append should. */
static bool
write_rows(struct writer *writer, uint32_t table, struct append *append)
{
    const granary_write_options options = {.time = append->asked, .forward = append->forward};
    const struct origin origin = hand_origin(writer->hand, append);
    int64_t time = 0;
    granary_err err = granary_mutable_append(writer->tables[table], rows_fill(writer->rows, &origin), ROW_COLUMNS,
                                             append->rows, &options, &time);

    if (err == GRANARY_OK) {
        hand_done(writer->hand, append, time);
        return true;
    }
    hand_refused(append);
    if (err == GRANARY_ESTATE && append->asked != GRANARY_NOW && !append->forward) {
        return true;
    }
    board_failed(writer->journal->board, err, "append");
    return err == GRANARY_EFULL;
}

static bool
append_once(struct writer *writer)
{
    const uint32_t table = dice(writer, JOURNAL_TABLES);
    struct append *append =
        hand_begin(writer->hand, (struct append){.asked = choose_time(writer, table),
                                                 .after = atomic_load(&writer->journal->board->final[table]),
                                                 .life = writer->life,
                                                 .rows = choose_rows(writer),
                                                 .table = (uint8_t)table,
                                                 .forward = dice(writer, 2) == 0});

    return append != NULL && write_rows(writer, table, append);
}

/* ---- a life ---- */

static bool
open_tables(struct writer *writer)
{
    for (uint32_t i = 0; i < JOURNAL_TABLES; i++) {
        granary_err err = granary_mutable_open(writer->client, journal_table(i), &writer->tables[i]);

        if (err != GRANARY_OK) {
            board_failed(writer->journal->board, err, "open");
            return false;
        }
    }
    return true;
}

static void
close_tables(struct writer *writer)
{
    for (uint32_t i = 0; i < JOURNAL_TABLES; i++) {
        granary_mutable_close(writer->tables[i]);
        writer->tables[i] = NULL;
    }
}

static bool
begin_life(struct writer *writer, const struct journal *journal, unsigned number)
{
    *writer = (struct writer){.journal = journal,
                              .hand = journal->hands[number],
                              .life = atomic_fetch_add(&journal->board->lives, 1),
                              .rows = rows_create()};
    if (writer->rows == NULL) {
        board_failed(journal->board, gr_fail(GRANARY_ENOMEM, "out of memory"), "writer");
    }
    return writer->rows != NULL && writer->life < SIGHT_LIVES;
}

static bool
begin_work(struct writer *writer)
{
    struct board *board = writer->journal->board;
    granary_err err = client_connect(board->instance, CLIENT_PATIENCE_MS, &writer->client);

    if (err != GRANARY_OK) {
        board_failed(board, err, "connect");
    }
    return err == GRANARY_OK && open_tables(writer);
}

/* Whether it has written its share of the round. */
static bool
has_done(const struct writer *writer)
{
    return atomic_load_explicit(&writer->hand->rows, memory_order_relaxed) >= writer->journal->share;
}

static void
await_turn(struct writer *writer)
{
    int64_t now = writer->journal->pace_ns > 0 ? gr_now_ns() : 0;

    if (has_done(writer)) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    } else if (writer->next_ns > now) {
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)(writer->next_ns - now) % 1000000000}, NULL);
    }
    if (writer->journal->pace_ns > 0) {
        writer->next_ns = (writer->next_ns > now ? writer->next_ns : now) + (int64_t)writer->journal->pace_ns;
    }
}

void
writer_run(const struct journal *journal, unsigned number, uint64_t seed)
{
    struct writer writer;
    bool works = begin_life(&writer, journal, number) && begin_work(&writer);

    writer.seed = seed;
    while (works && !atomic_load_explicit(&journal->board->stop, memory_order_relaxed)) {
        await_turn(&writer);
        works = has_done(&writer) || append_once(&writer);
        if (works && dice(&writer, 16384) == 0) {
            close_tables(&writer);
            works = open_tables(&writer);
        }
    }
    close_tables(&writer);
    granary_disconnect(writer.client);
    rows_destroy(writer.rows);
}

int64_t
writer_preload(const struct journal *journal, granary_mutable *table, uint32_t rows)
{
    struct writer writer;
    int64_t newest;
    bool works = begin_life(&writer, journal, journal->writers);

    writer.tables[0] = table;
    while (works && rows-- > 0) {
        struct append *append = hand_begin(
            writer.hand, (struct append){.asked = GRANARY_NOW, .after = INT64_MIN, .life = writer.life, .rows = 1});

        works = append != NULL && write_rows(&writer, 0, append);
    }
    newest = works ? atomic_load(&writer.hand->newest[0]) : INT64_MIN;
    rows_destroy(writer.rows);
    return newest;
}
