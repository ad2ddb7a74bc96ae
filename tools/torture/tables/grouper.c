/*
 * A graph groups the rows of a snapshot by their writers' lives: how many appends each has, and the sum of their checks. So
 * it tells what a reader sees who looks at every row, and is judged as one. The sum of checks goes in two halves: all of it
 * would not fit into a column.
 */
#include "torture/tables/grouper.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "granary/graph.h"
#include "granary/read.h"
#include "torture/common/client.h"
#include "torture/common/random.h"

#define WAIT_MS 120000 /* for a graph, while everybody is killed */

struct grouper {
    const struct journal *journal;
    struct diary *diary;
    uint64_t seed;
    granary_client *client;
    granary_mutable *tables[JOURNAL_TABLES];
    struct sight sights[SIGHT_LIVES];
    struct sighting sighting;
};

static bool
failed(const struct grouper *grouper, granary_err err, const char *what)
{
    if (err != GRANARY_OK) {
        board_failed(grouper->journal->board, err, what);
    }
    return err != GRANARY_OK;
}

/* ---- the graph ---- */

/* Without a time it is for the moment of its submission, which nobody is told. */
static granary_graph *
make_graph(const char *table, int64_t time)
{
    static const char *const keys[] = {"life"};
    granary_graph *graph = granary_graph_create();
    granary_node rows = granary_graph_add(graph, NULL, "table", NULL, 0);
    granary_node told = granary_graph_add(graph, NULL, "assign", &rows, 1);
    granary_node lives = granary_graph_add(graph, "lives", "groupby", &told, 1);

    granary_node_set_string(graph, rows, "name", table);
    granary_node_set_int(graph, rows, "time", time);
    granary_node_set_entry(graph, told, "columns", "begins", "case when place < 4294967296 then 1 else 0 end");
    granary_node_set_entry(graph, told, "columns", "low", "check % 4294967296");
    granary_node_set_entry(graph, told, "columns", "high", "check // 4294967296");
    granary_node_set_strings(graph, lives, "keys", keys, 1);
    granary_node_set_entry(graph, lives, "aggregate", "appends", "sum(begins)");
    granary_node_set_entry(graph, lives, "aggregate", "low", "sum(low)");
    granary_node_set_entry(graph, lives, "aggregate", "high", "sum(high)");
    granary_graph_target(graph, lives);
    return graph;
}

/* ---- its result ---- */

static const uint64_t *
words_of(const granary_frame *frame, const char *name)
{
    const granary_column *column = granary_frame_column_named(frame, name);

    return column != NULL && (column->dtype == GRANARY_INT64 || column->dtype == GRANARY_UINT64) ? column->values
                                                                                                 : NULL;
}

/* What one chunk of the result tells of lives. */
static void
take_lives(struct grouper *grouper, const granary_frame *frame)
{
    struct sighting *sighting = &grouper->sighting;
    const granary_column *life = granary_frame_column_named(frame, "life");
    const uint64_t *appends = words_of(frame, "appends"), *low = words_of(frame, "low"),
                   *high = words_of(frame, "high");
    const int64_t rows = granary_frame_rows(frame);

    if (life == NULL || life->dtype != GRANARY_INT32 || appends == NULL || low == NULL || high == NULL) {
        sighting->flaw = FLAW_COLUMNS;
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        const uint32_t number = ((const uint32_t *)life->values)[i];

        if (number >= SIGHT_LIVES || sighting->count == SIGHT_LIVES) {
            sighting->flaw = FLAW_ROW;
            sighting->flaw_life = number;
            return;
        }
        sighting->sights[sighting->count++] =
            (struct sight){.life = number, .appends = (uint32_t)appends[i], .sum = low[i] + (high[i] << 32)};
    }
}

static granary_err
take_result(struct grouper *grouper, const char *key)
{
    const granary_read_options options = {.timeout_ms = WAIT_MS};
    granary_result result;
    granary_err err = granary_graph_result(grouper->client, key, "lives", &result);

    if (err != GRANARY_OK) {
        return err;
    }
    grouper->sighting = (struct sighting){.sights = grouper->sights};
    for (size_t i = 0; err == GRANARY_OK && i < result.chunk_count; i++) {
        const granary_chunk_request request = {.graph = key, .target = "lives", .chunk = i};
        granary_chunk chunk;

        err = granary_chunk_read_many(grouper->client, &request, 1, &options, &chunk);
        if (err == GRANARY_OK) {
            take_lives(grouper, chunk.frame);
            granary_chunk_release(grouper->client, &chunk, 1);
        }
    }
    granary_result_free(&result);
    return err;
}

/* ---- one look ---- */

/* The scheduler that is asked may be the one that was just killed. */
static bool
is_between(granary_err err)
{
    return err == GRANARY_EUNREACHABLE;
}

static granary_err
run_graph(struct grouper *grouper, uint32_t table, int64_t time)
{
    granary_graph *graph = make_graph(journal_table(table), time);
    char key[GRANARY_KEY_MAX] = "";
    granary_err err = granary_graph_run(grouper->client, graph, NULL, WAIT_MS, key, NULL);

    granary_graph_destroy(graph);
    err = err == GRANARY_OK ? take_result(grouper, key) : err;
    if (key[0] != '\0') {
        const granary_err deleted = granary_graph_delete(grouper->client, key);

        err = err != GRANARY_OK || deleted == GRANARY_ENOENT ? err : deleted;
    }
    return err;
}

static void
look(struct grouper *grouper)
{
    const uint32_t table = (uint32_t)(random_next(&grouper->seed) % JOURNAL_TABLES);
    struct read read = {
        .kind = READ_GRAPH, .table = (uint8_t)table, .acknowledged = journal_acknowledged(grouper->journal, table)};
    int64_t time = GRANARY_NOW;
    granary_err err;

    if (failed(grouper, granary_cut(&grouper->tables[table], 1, &time), "cut") || time == GRANARY_NOW) {
        return; /* or nobody has written to it yet */
    }
    board_answered(grouper->journal->board, table, time);
    read.from = read.time = time;
    err = run_graph(grouper, table, time);
    if (err == GRANARY_OK) {
        diary_note(grouper->diary, read, &grouper->sighting);
    } else if (!is_between(err)) {
        (void)failed(grouper, err, "graph");
    }
}

/* ---- a life ---- */

static bool
begin(struct grouper *grouper, const struct journal *journal, unsigned number, uint64_t seed)
{
    grouper->journal = journal;
    grouper->diary = journal->diaries[number];
    grouper->seed = seed;
    if (failed(grouper, client_connect(journal->board->instance, CLIENT_PATIENCE_MS, &grouper->client), "connect")) {
        return false;
    }
    for (uint32_t i = 0; i < JOURNAL_TABLES; i++) {
        if (failed(grouper, granary_mutable_open(grouper->client, journal_table(i), &grouper->tables[i]), "open")) {
            return false;
        }
    }
    return true;
}

void
grouper_run(const struct journal *journal, unsigned number, uint64_t seed)
{
    struct grouper *grouper = calloc(1, sizeof *grouper);
    int64_t turn_ns = gr_now_ns();

    if (grouper == NULL) {
        return; /* a crash of its own: others are told by the run */
    }
    if (begin(grouper, journal, number, seed)) {
        while (!atomic_load(&journal->board->stop)) {
            const int64_t now_ns = gr_now_ns();

            if (turn_ns > now_ns) { /* in short steps, for the end */
                (void)nanosleep(
                    &(struct timespec){.tv_nsec = turn_ns - now_ns < 20000000 ? turn_ns - now_ns : 20000000}, NULL);
                continue;
            }
            turn_ns = now_ns + GROUPER_SLOT_NS;
            look(grouper);
        }
    }
    for (uint32_t i = 0; i < JOURNAL_TABLES; i++) {
        granary_mutable_close(grouper->tables[i]);
    }
    granary_disconnect(grouper->client);
    free(grouper);
}
