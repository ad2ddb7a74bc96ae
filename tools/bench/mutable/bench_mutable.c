/*
 * `granary bench mutable`: tables that many processes append to, beside databases and streams that are used for it.
 *
 * A figure is asked of one engine after the other. Each starts with empty tables, and is measured for so many seconds:
 * a database that waits for its disk takes as long as one that does not.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/mutable/engine.h"
#include "bench/mutable/tensor.h"
#include "bench/mutable/writers.h"
#include "granary/mutable.h"

#define SAMPLE 100u /* appends that are timed together: the clock takes a tenth as long as one */

enum figure { APPEND = 1, WRITERS = 2, BATCH = 4, READ = 8, CUT = 16 };

static const struct engine engine_list[] = {
    {&engine_granary, "", "", 0, APPEND | WRITERS | BATCH | READ | CUT, false, "", 0},
    {&engine_granary, "durable_interval", "granary, durable every 100 ms: loses the last 100 ms",
     GRANARY_DURABLE_INTERVAL, APPEND | WRITERS | BATCH, true, "", 0},
    {&engine_granary, "durable_commit", "granary, durable on commit: survives the machine", GRANARY_DURABLE_COMMIT,
     APPEND | WRITERS | BATCH, true, "", 0},
    {&engine_sqlite, "sqlite_off", "SQLite WAL, synchronous=OFF: survives processes, not the machine", SYNC_OFF,
     APPEND | WRITERS | BATCH | READ | CUT, false, "", 0},
    {&engine_sqlite, "sqlite_normal", "SQLite WAL, synchronous=NORMAL: loses what is behind a checkpoint", SYNC_NORMAL,
     APPEND | BATCH, true, "", 0},
    {&engine_sqlite, "sqlite_full", "SQLite WAL, synchronous=FULL: survives the machine", SYNC_FULL,
     APPEND | WRITERS | BATCH, true, "", 0},
    {&engine_lmdb, "lmdb_nosync", "LMDB, MDB_NOSYNC: survives processes, not the machine", LMDB_NOSYNC,
     APPEND | WRITERS | BATCH | READ | CUT, false, "", 0},
    {&engine_lmdb, "lmdb_sync", "LMDB, synchronous: survives the machine", 0, APPEND | WRITERS | BATCH, true, "", 0},
    {&engine_redis, "redis", "Redis stream, nothing kept: ends with the server", 0,
     APPEND | WRITERS | BATCH | READ | CUT, false, "", 0},
    {&engine_redis, "redis_pipelined", "Redis stream, nothing kept, 100 appends sent together", REDIS_PIPELINED,
     APPEND | WRITERS, false, "", 0},
    {&engine_redis, "redis_everysec", "Redis stream, appendfsync everysec: loses the last second", REDIS_EVERYSEC,
     APPEND | BATCH, true, "", 0},
    {&engine_redis, "redis_everysec_pipelined", "Redis stream, appendfsync everysec, 100 appends sent together",
     REDIS_EVERYSEC | REDIS_PIPELINED, APPEND, true, "", 0},
};

struct mutable_run {
    struct results *results;
    const char *instance;
    int64_t budget; /* ns that a figure of an engine may take */
    size_t rows;    /* of the table that is read */
    const char *rows_text;
    bool failed; /* granary did */
};

/* ---- lines ---- */

/* granary's line has the figure's key; a peer's is PEER_FIGURE, and beside granary's. Returns what it is beside. */
static const char *
line_of(const struct engine *engine, const char *figure, char ret_key[40])
{
    const bool is_peer = engine->key[0] != '\0';

    (void)snprintf(ret_key, 40, "%s%s%s", engine->key, is_peer ? "_" : "", figure);
    return is_peer ? figure : NULL;
}

/* Nothing but true when it is good: then the line of one engine is there. Frees the samples. */
static bool
add_samples(struct mutable_run *run, const struct engine *engine, const char *figure, const char *unit,
            const char *what, bool good, struct samples *samples)
{
    char key[40];
    const char *ours = line_of(engine, figure, key);

    if (good) {
        results_add(run->results, key, unit, ours, ours == NULL ? what : engine->durability, samples);
    }
    samples_free(samples);
    return good;
}

/* ---- the limit of the machine ---- */

/* What an append does at least that has a time, and that others see when it returns. */
static void
bench_append_floor(struct mutable_run *run)
{
    static char bytes[1 << 20];
    static _Atomic uint64_t word;
    const char row[64] = "granary";
    struct samples samples = {.values = NULL};

    for (size_t i = 0; i < 10000; i++) {
        int64_t began = bench_now_ns();

        for (size_t j = 0; j < SAMPLE; j++) {
            memcpy(bytes + (i * SAMPLE + j) * sizeof row % sizeof bytes, row, sizeof row);
            __asm__ __volatile__("" : : "r"(bytes) : "memory");
            (void)atomic_exchange(&word, (uint64_t)bench_now_ns());
            (void)atomic_exchange(&word, j);
        }
        samples_add(&samples, (double)(bench_now_ns() - began) / SAMPLE);
    }
    results_add(run->results, "append_floor_ns", "ns", NULL, "copy 64 bytes, exchange a word twice, read the clock",
                &samples);
}

static void
close_handle(const struct engine *engine, void *handle)
{
    if (handle != NULL) {
        engine->kind->close(handle);
    }
}

/* ---- figures: each adds the lines of one engine, which has started; false: it failed ---- */

static bool
flush_rows(const struct engine *engine, void *handle)
{
    return engine->kind->flush == NULL || engine->kind->flush(handle);
}

static bool
measure_append(struct mutable_run *run, const struct engine *engine)
{
    struct samples samples = {.values = NULL};
    int64_t values[ENGINE_COLUMNS] = {0};
    void *handle = engine->kind->open(engine);
    bool good = handle != NULL;
    int64_t now = bench_now_ns();
    const int64_t end = now + run->budget;

    while (good && now < end) {
        int64_t began = now;

        for (unsigned i = 0; good && i < SAMPLE; i++) {
            values[0]++;
            good = engine->kind->append(handle, 0, values, 1);
        }
        good = good && flush_rows(engine, handle);
        now = bench_now_ns();
        samples_add(&samples, (double)(now - began) / SAMPLE);
    }
    close_handle(engine, handle);
    return add_samples(run, engine, "append_ns", "ns", "a row of 64 bytes; durability: none; 100 a sample", good,
                       &samples);
}

static bool
measure_writers(struct mutable_run *run, const struct engine *engine)
{
    static const struct {
        unsigned count;
        const char *key, *what;
    } steps[] = {{1, "writers_1_per_s", "rows that a process appends, one by one"},
                 {2, "writers_2_per_s", "... two processes, to one table"},
                 {4, "writers_4_per_s", "... four processes"}};
    bool good = true;

    for (size_t i = 0; good && i < sizeof steps / sizeof steps[0]; i++) {
        double rate = writers_measure(engine, steps[i].count, run->budget);
        char key[40];
        const char *ours = line_of(engine, steps[i].key, key);

        good = rate > 0;
        if (good) {
            results_add_value(run->results, key, "1/s", ours, ours == NULL ? steps[i].what : engine->durability, rate);
        }
    }
    return good;
}

/* Row r has the values 8 r to 8 r + 7. */
static bool
append_rows(const struct engine *engine, void *handle, size_t first)
{
    static int64_t values[ENGINE_COLUMNS * ENGINE_ROWS];

    for (size_t i = 0; i < ENGINE_COLUMNS; i++) {
        for (size_t row = 0; row < ENGINE_ROWS; row++) {
            values[i * ENGINE_ROWS + row] = (int64_t)((first + row) * ENGINE_COLUMNS + i);
        }
    }
    return engine->kind->append(handle, 0, values, ENGINE_ROWS) && flush_rows(engine, handle);
}

static bool
measure_batch(struct mutable_run *run, const struct engine *engine)
{
    struct samples samples = {.values = NULL};
    void *handle = engine->kind->open(engine);
    bool good = handle != NULL;
    const int64_t end = bench_now_ns() + run->budget;

    for (size_t rows = 0; good && bench_now_ns() < end; rows += ENGINE_ROWS) {
        int64_t began = bench_now_ns();

        good = append_rows(engine, handle, rows);
        samples_add(&samples, (double)(bench_now_ns() - began) / 1e3);
    }
    close_handle(engine, handle);
    return add_samples(run, engine, "append_1000_us", "us", "1000 rows in one atomic write", good, &samples);
}

/* Whether all rows are there, in order. */
static bool
check_copy(const struct engine *engine, const struct engine_copy *copy, size_t rows)
{
    bool good = copy->rows == rows;

    for (size_t i = 0; good && i < ENGINE_COLUMNS; i++) {
        for (size_t row = 0; good && row < rows; row++) {
            good = copy->column[i][row] == (int64_t)(row * ENGINE_COLUMNS + i);
        }
    }
    if (!good) {
        (void)fprintf(stderr, "granary: bench: %s did not read what was written\n", engine->kind->name);
    }
    return good;
}

static bool
time_read(const struct engine *engine, void *reader, size_t rows, struct samples *samples)
{
    struct engine_copy copy;
    int64_t began = bench_now_ns();
    bool good = engine->kind->read(reader, &copy);

    samples_add(samples, (double)(bench_now_ns() - began) / 1e6);
    return good && check_copy(engine, &copy, rows);
}

/* A reader that is new, and one that comes again. */
static bool
measure_read(struct mutable_run *run, const struct engine *engine)
{
    enum { FIRST = 3, MORE = 10 };
    struct samples first = {.values = NULL}, more = {.values = NULL};
    void *writer = engine->kind->open(engine), *reader = NULL;
    bool good = writer != NULL;
    size_t rows = 0;

    for (; good && rows < run->rows; rows += ENGINE_ROWS) {
        good = append_rows(engine, writer, rows);
    }
    for (unsigned i = 0; good && i < FIRST; i++) {
        close_handle(engine, reader);
        reader = engine->kind->open(engine);
        good = reader != NULL && time_read(engine, reader, rows, &first);
    }
    for (unsigned i = 0; good && i < MORE; i++, rows += ENGINE_ROWS) {
        good = append_rows(engine, writer, rows) && time_read(engine, reader, rows + ENGINE_ROWS, &more);
    }
    close_handle(engine, reader);
    close_handle(engine, writer);
    good = add_samples(run, engine, "read_first_ms", "ms", run->rows_text, good, &first);
    return add_samples(run, engine, "read_more_ms", "ms", "the same reader again, after 1000 more rows", good, &more);
}

static bool
measure_cut(struct mutable_run *run, const struct engine *engine)
{
    struct samples samples = {.values = NULL};
    void *handle = engine->kind->open(engine);
    bool good = handle != NULL;
    int64_t values[ENGINE_COLUMNS] = {0};
    const int64_t end = bench_now_ns() + run->budget;

    while (good && bench_now_ns() < end) {
        int64_t began;

        for (unsigned i = 0; good && i < ENGINE_TABLES; i++) {
            good = engine->kind->append(handle, i, values, 1);
        }
        began = bench_now_ns();
        good = good && engine->kind->cut(handle);
        samples_add(&samples, (double)(bench_now_ns() - began));
    }
    close_handle(engine, handle);
    return add_samples(run, engine, "cut_4_ns", "ns", "a moment of four tables, after a row in each", good, &samples);
}

/* ---- all of it ---- */

static const struct {
    enum figure figure;
    bool (*measure)(struct mutable_run *run, const struct engine *engine);
} figures[] = {{APPEND, measure_append},
               {WRITERS, measure_writers},
               {BATCH, measure_batch},
               {READ, measure_read},
               {CUT, measure_cut}};

/* Start an engine, whose files get a directory of their own; a peer without sync in memory. */
static bool
engine_start(const struct mutable_run *run, struct engine *engine)
{
    if (engine->kind == &engine_granary) {
        (void)snprintf(engine->directory, sizeof engine->directory, "%s", run->instance);
        return true;
    }
    (void)snprintf(engine->directory, sizeof engine->directory, "%s/granary-bench-XXXXXX",
                   engine->is_synchronized ? "/var/tmp" : "/dev/shm");
    if (mkdtemp(engine->directory) == NULL) {
        perror("granary: bench");
        return false;
    }
    if (engine->kind->start != NULL && !engine->kind->start(engine)) {
        spawn_remove_directory(engine->directory);
        return false;
    }
    return true;
}

static void
engine_stop(struct engine *engine)
{
    if (engine->kind->stop != NULL) {
        engine->kind->stop(engine);
    }
    if (engine->kind != &engine_granary) {
        spawn_remove_directory(engine->directory);
    }
}

static void
run_figures(struct mutable_run *run)
{
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        for (size_t j = 0; j < sizeof engine_list / sizeof engine_list[0]; j++) {
            struct engine engine = engine_list[j];
            bool good;

            if ((engine.figures & figures[i].figure) == 0) {
                continue;
            }
            if (!engine.kind->is_there()) {
                results_not_installed(run->results, engine.kind->looked_for);
                continue;
            }
            good = engine_start(run, &engine);
            if (good) {
                good = figures[i].measure(run, &engine);
                engine_stop(&engine);
            }
            run->failed = run->failed || (!good && engine.kind == &engine_granary);
        }
    }
}

static int
run_mutable(struct cli *cli)
{
    const struct bench_options *options = cli->self;
    struct results results = {.count = 0};
    struct mutable_run run = {.results = &results,
                              .budget = options->quick ? 50000000 : 1000000000,
                              .rows = options->quick ? 100000 : 1000000,
                              .rows_text = options->quick ? "100000 rows" : "1000000 rows"};
    struct spawned daemon = {.directory = "/var/tmp/granary-own-XXXXXX"}; /* on a disk, as synchronized peers */

    if (mkdtemp(daemon.directory) == NULL || !spawn_again(&daemon)) {
        spawn_remove_directory(daemon.directory);
        return 3;
    }
    run.instance = daemon.directory;
    bench_append_floor(&run);
    bench_unix_rtt(&results, 20000 / (options->quick ? 10 : 1));
    run_figures(&run);
    run.failed = !tensor_measure(&results, run.instance, options->quick ? 100000 : 1000000) || run.failed;
    (void)spawn_stop(&daemon);
    results_print(&results, options->json, stdout);
    return run.failed ? 1 : 0;
}

const struct command bench_mutable = {
    .options = bench_options, COMMAND_ZERO(struct bench_options), .alone = true, .run = run_mutable};
