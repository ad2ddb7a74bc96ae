/*
 * `granary bench frame`: db-benchmark's groupby and join, TPC-H, and single operations on frames; `granary bench
 * spilled`: TPC-H with memory for an eighth of its tables.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/frame/analytics.h"
#include "bench/frame/data.h"
#include "bench/frame/floors.h"
#include "bench/frame/from.h"
#include "bench/frame/questions.h"
#include "bench/frame/tpch.h"

/* ---- tables ---- */

/* Whether a table is there, of an earlier run in a directory of the user's, or could be made. */
static bool
table_there(const struct analytics *analytics, const char *name)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/%s.csv", analytics->data, name);
    return access(path, R_OK) == 0;
}

static bool
make_groupby(struct analytics *analytics)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/groupby.csv", analytics->data);
    return table_there(analytics, "groupby") || data_groupby(path, analytics->options->rows);
}

/* Random int64, of which nothing is in order. */
static bool
put_numbers(struct analytics *analytics, int64_t rows)
{
    char graph[512];

    (void)snprintf(
        graph, sizeof graph,
        "{\"nodes\": {\"r\": {\"op\": \"random\", \"shape\": [%lld], \"seed\": 1}, \"f\": {\"op\": \"from_tensor\", "
        "\"input\": \"r\", \"columns\": [\"u\"]}, \"i\": {\"op\": \"assign\", \"input\": \"f\", \"columns\": {\"a\": "
        "\"cast((u - 0.5) * "
        "18000000000000000000.0 as int64)\"}}, \"answer\": {\"op\": \"select\", \"input\": \"i\", \"columns\": "
        "[\"a\"]}}, \"targets\": "
        "[\"answer\"]}",
        (long long)rows);
    return analytics_keep(analytics, "numbers", graph);
}

/* ---- suites ---- */

/* Floors are of tables in memory, and writing is of files. */
static void
ask_beside(struct analytics *analytics, const char *suite, const char *table)
{
    if (from_files(analytics)) {
        from_ask_write(analytics, suite, table);
    } else {
        floors_measure(analytics, suite);
    }
}

static void
suite_groupby(struct analytics *analytics)
{
    static const char *const table = "groupby";

    if (make_groupby(analytics) && analytics_start(analytics)) {
        if (from_provide(analytics, table)) {
            questions_ask(analytics, "groupby", "groupby");
            ask_beside(analytics, "groupby", table);
        }
        analytics_stop(analytics);
    }
}

static void
suite_join(struct analytics *analytics)
{
    static const char *const tables[] = {"join_x", "join_small", "join_medium", "join_big"};
    bool fine = table_there(analytics, "join_big") || data_join(analytics->data, analytics->options->rows);

    if (fine && analytics_start(analytics)) {
        for (size_t i = 0; i < sizeof tables / sizeof tables[0] && fine; i++) {
            fine = from_provide(analytics, tables[i]);
        }
        if (fine) {
            questions_ask(analytics, "join", "join");
            ask_beside(analytics, "join", tables[0]);
        }
        analytics_stop(analytics);
    }
}

static void
suite_frame(struct analytics *analytics)
{
    char graph[2 * PATH_MAX];

    if (make_groupby(analytics) && analytics_start(analytics)) {
        if (questions_load(analytics, "groupby")) {
            questions_ask(analytics, "frame", "frame");
            analytics_forget(analytics, "groupby");
            questions_csv_graph(analytics, "groupby", false, graph, sizeof graph);
            analytics_ask(analytics, "frame", &(struct question){.key = "read_csv", .graph = graph, .column = "v3"});
        }
        if (put_numbers(analytics, analytics->options->rows)) {
            questions_ask(analytics, "sort", "frame");
        }
        analytics_stop(analytics);
    }
}

/* All of TPC-H, as the suite of this name. The tables are there. */
static void
ask_tpch(struct analytics *analytics, const char *suite)
{
    struct answer loaded = {.engine = "granary", .key = "load"};
    int64_t began = bench_now_ns();
    bool fine;

    if (!analytics_start(analytics)) {
        return;
    }
    fine = tpch_load(analytics) && (!from_files(analytics) || from_enter(analytics));
    if (fine && strcmp(suite, "spilled") == 0) {
        loaded.seconds = (double)(bench_now_ns() - began) / 1e9;
        (void)snprintf(loaded.suite, sizeof loaded.suite, "%s", suite);
        answers_add(analytics->answers, &loaded);
    }
    for (int q = 1; q <= TPCH_QUERIES && fine; q++) {
        analytics_ask(analytics, suite,
                      &(struct question){.key = tpch_query_name(q),
                                         .sql = tpch_query(q),
                                         .column = floors_column(suite, tpch_query_name(q))});
    }
    if (fine) {
        ask_beside(analytics, suite, "lineitem");
    }
    analytics_stop(analytics);
}

static void
suite_tpch(struct analytics *analytics)
{
    if (tpch_make(analytics->data, analytics->options->scale)) {
        ask_tpch(analytics, "tpch");
    }
}

static void
suite_spilled(struct analytics *analytics)
{
    ask_tpch(analytics, "spilled");
}

/* ---- all ---- */

static bool
wanted(const struct analytics_options *options, const char *suite)
{
    const bool text = options->from != NULL && strcmp(options->from, "parquet") != 0;

    if (options->from != NULL && (strcmp(suite, "frame") == 0 || (text && strcmp(suite, "tpch") == 0))) {
        return false; /* of tables in memory alone; or dtypes that its text does not tell */
    }
    return options->suite == NULL || strcmp(options->suite, suite) == 0;
}

struct suite {
    const char *name;
    void (*run)(struct analytics *analytics);
};

/* A directory for the tables, each suite that is wanted, then the peers' turn at it, and what all said. prepare: what
 * the options still need once the directory is there, false when it has failed; may be NULL */
static int
run_suites(struct analytics_options *options, const struct suite *suites, size_t count,
           bool (*prepare)(struct analytics_options *options, const char *directory))
{
    struct answers answers = {.count = 0};
    struct analytics analytics = {.options = options, .answers = &answers};
    bool agreed = true;

    if (!analytics_open_data(&analytics)) {
        return 1;
    }
    if (prepare != NULL && !prepare(options, analytics.data)) {
        analytics.err = GRANARY_EIO;
    }
    for (size_t i = 0; i < count && analytics.err == GRANARY_OK; i++) {
        if (wanted(options, suites[i].name)) {
            suites[i].run(&analytics);
            /* After the instance is gone: they get the machine for themselves, as it did. */
            peers_run(&analytics, suites[i].name, options->runs);
        }
    }
    agreed = answers_print(&answers, options->json);
    answers_free(&answers);
    analytics_close_data(&analytics);
    return analytics.err != GRANARY_OK ? granary_error_exit_status(analytics.err) : agreed ? 0 : 1;
}

static int
run_frame(struct cli *cli)
{
    static const struct suite suites[] = {
        {"groupby", suite_groupby}, {"join", suite_join}, {"tpch", suite_tpch}, {"frame", suite_frame}};

    return run_suites(cli->self, suites, sizeof suites / sizeof suites[0], NULL);
}

const struct command bench_frame = ANALYTICS_COMMAND(run_frame);

/* ---- more than memory ---- */

#define MEMORY_PART  8 /* of the tables' files */
#define LEAST_MEMORY ((uint64_t)64 << 20)

/* Make the tables, and find how much memory an eighth of them is. */
static bool
prepare_spilled(struct analytics_options *options, const char *directory)
{
    static char memory[32];
    uint64_t bytes = 0;

    if (!tpch_make(directory, options->scale)) {
        return false;
    }
    for (int t = 0; t < TPCH_TABLES; t++) {
        char path[PATH_MAX];
        struct stat st;

        (void)snprintf(path, sizeof path, "%s/%s.csv", directory, tpch_table(t));
        bytes += stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
    }
    if (options->memory == NULL) {
        bytes = bytes / MEMORY_PART < LEAST_MEMORY ? LEAST_MEMORY : bytes / MEMORY_PART;
        (void)snprintf(memory, sizeof memory, "%lluM", (unsigned long long)(bytes >> 20));
        options->memory = memory;
    }
    if (!options->json) {
        (void)printf("TPC-H, scale %g; each engine has %s of memory\n", options->scale, options->memory);
        (void)fflush(stdout); /* or children print it again */
    }
    return true;
}

static int
run_spilled(struct cli *cli)
{
    static const struct suite suites[] = {{"spilled", suite_spilled}};

    return run_suites(cli->self, suites, 1, prepare_spilled);
}

const struct command bench_spilled = ANALYTICS_COMMAND(run_spilled);
