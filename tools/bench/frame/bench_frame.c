/* `granary bench frame`: db-benchmark's groupby and join, TPC-H, and single operations on frames. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/frame/analytics.h"
#include "bench/frame/data.h"
#include "bench/frame/tpch.h"

#define OVER(table, rest)                                                                                              \
    "{\"nodes\": {\"x\": {\"op\": \"table\", \"name\": \"" table "\"}, " rest "}, \"targets\": [\"answer\"]}"
#define GROUPBY(keys, aggregate)                                                                                       \
    OVER("groupby", "\"answer\": {\"op\": \"groupby\", \"input\": \"x\", \"sort\": false, \"keys\": [" keys            \
                    "], \"aggregate\": {" aggregate "}}")

static const struct question groupby[] = {
    {"q1", GROUPBY("\"id1\"", "\"v1\": \"sum(v1)\""), NULL, "v1"},
    {"q2", GROUPBY("\"id1\", \"id2\"", "\"v1\": \"sum(v1)\""), NULL, "v1"},
    {"q3", GROUPBY("\"id3\"", "\"v1\": \"sum(v1)\", \"v3\": \"mean(v3)\""), NULL, "v3"},
    {"q4", GROUPBY("\"id4\"", "\"v1\": \"mean(v1)\", \"v2\": \"mean(v2)\", \"v3\": \"mean(v3)\""), NULL, "v3"},
    {"q5", GROUPBY("\"id6\"", "\"v1\": \"sum(v1)\", \"v2\": \"sum(v2)\", \"v3\": \"sum(v3)\""), NULL, "v3"},
    {"q6", GROUPBY("\"id4\", \"id5\"", "\"m\": \"median(v3)\", \"s\": \"std(v3)\""), NULL, "m"},
    {"q7",
     OVER("groupby",
          "\"g\": {\"op\": \"groupby\", \"input\": \"x\", \"sort\": false, \"keys\": [\"id3\"], \"aggregate\": {\"a\": "
          "\"max(v1)\", \"b\": \"min(v2)\"}}, \"r\": {\"op\": \"assign\", \"input\": \"g\", \"columns\": {\"r\": \"a - "
          "b\"}}, "
          "\"answer\": {\"op\": \"select\", \"input\": \"r\", \"columns\": [\"id3\", \"r\"]}"),
     NULL, "r"},
    {"q8", GROUPBY("\"id6\"", "\"v3\": \"largest(v3, 2)\""), NULL, "v3"},
    {"q9",
     OVER(
         "groupby",
         "\"g\": {\"op\": \"groupby\", \"input\": \"x\", \"sort\": false, \"keys\": [\"id2\", \"id4\"], \"aggregate\": "
         "{\"r\": \"corr(v1, v2)\"}}, \"answer\": {\"op\": \"assign\", \"input\": \"g\", \"columns\": {\"r2\": \"r * "
         "r\"}}"),
     NULL, "r2"},
    {"q10", GROUPBY("\"id1\", \"id2\", \"id3\", \"id4\", \"id5\", \"id6\"", "\"v3\": \"sum(v3)\", \"n\": \"size\""),
     NULL, "v3"},
};

#define JOIN_ALL(right, key, how)                                                                                      \
    "{\"nodes\": {\"x\": {\"op\": \"table\", \"name\": \"join_x\"}, \"y\": {\"op\": \"table\", \"name\": "             \
    "\"join_" right "\"}, \"answer\": {\"op\": \"join\", \"inputs\": [\"x\", \"y\"], \"on\": [\"" key                  \
    "\"], \"how\": \"" how "\", \"order\": \"any\"}}, \"targets\": [\"answer\"]}"
#define JOIN_INTS(rest)                                                                                                \
    "{\"nodes\": {\"a\": {\"op\": \"table\", \"name\": \"join_x\"}, \"x\": {\"op\": \"select\", \"input\": \"a\", "    \
    "\"columns\": [\"id3\", "                                                                                          \
    "\"v1\"]}, \"b\": {\"op\": \"table\", \"name\": \"join_big\"}, \"y\": {\"op\": \"select\", \"input\": \"b\", "     \
    "\"columns\": [\"id3\", "                                                                                          \
    "\"v2\"]}, " rest "}, \"targets\": [\"answer\"]}"

static const struct question join[] = {
    {"q1", JOIN_ALL("small", "id1", "inner"), NULL, "v2"},
    {"q2", JOIN_ALL("medium", "id2", "inner"), NULL, "v2"},
    {"q3", JOIN_ALL("medium", "id2", "left"), NULL, "v2"},
    {"q4", JOIN_ALL("medium", "id5", "inner"), NULL, "v2"},
    {"q5", JOIN_ALL("big", "id3", "inner"), NULL, "v2"},
    {"q5sum",
     JOIN_INTS(
         "\"j\": {\"op\": \"join\", \"inputs\": [\"x\", \"y\"], \"on\": [\"id3\"], \"order\": \"any\"}, \"answer\": "
         "{\"op\": "
         "\"groupby\", \"input\": \"j\", \"keys\": [], \"aggregate\": {\"v1\": \"sum(v1)\", \"v2\": \"sum(v2)\"}}"),
     NULL, "v2"},
    {"q5ints",
     JOIN_INTS("\"answer\": {\"op\": \"join\", \"inputs\": [\"x\", \"y\"], \"on\": [\"id3\"], \"order\": \"any\"}"),
     NULL, "v2"},
};

#define WHERE "\"f\": {\"op\": \"filter\", \"input\": \"x\", \"where\": \"v3 > 50 and id4 < 50\"}, "

static const struct question frame[] = {
    {"filter_sum",
     OVER(
         "groupby", WHERE
         "\"answer\": {\"op\": \"groupby\", \"input\": \"f\", \"keys\": [], \"aggregate\": {\"s\": \"sum(v1 * v3)\"}}"),
     NULL, "s"},
    {"filter",
     OVER("groupby",
          WHERE "\"answer\": {\"op\": \"select\", \"input\": \"f\", \"columns\": [\"id4\", \"v1\", \"v3\"]}"),
     NULL, "v3"},
    {"expression",
     OVER("groupby",
          "\"e\": {\"op\": \"assign\", \"input\": \"x\", \"columns\": {\"e\": \"v1 * v3 + v2\"}}, \"answer\": {\"op\": "
          "\"select\", \"input\": \"e\", \"columns\": [\"e\"]}"),
     NULL, "e"},
    {"top_100",
     OVER("groupby", "\"s\": {\"op\": \"sort\", \"input\": \"x\", \"by\": [\"v3\"], \"descending\": true}, \"answer\": "
                     "{\"op\": \"head\", "
                     "\"input\": \"s\", \"rows\": 100}"),
     NULL, "v3"},
    {"distinct",
     OVER("groupby", "\"c\": {\"op\": \"select\", \"input\": \"x\", \"columns\": [\"id2\", \"id4\"]}, \"answer\": "
                     "{\"op\": \"distinct\", "
                     "\"input\": \"c\"}"),
     NULL, "id4"},
    {"nunique",
     OVER(
         "groupby",
         "\"answer\": {\"op\": \"groupby\", \"input\": \"x\", \"keys\": [], \"aggregate\": {\"n\": \"nunique(id6)\"}}"),
     NULL, "n"},
    {"cumsum",
     OVER("groupby",
          "\"w\": {\"op\": \"window\", \"input\": \"x\", \"columns\": {\"r\": \"cumsum(v3)\"}}, \"answer\": {\"op\": "
          "\"select\", \"input\": \"w\", \"columns\": [\"r\"]}"),
     NULL, "r"},
    {"rolling",
     OVER("groupby", "\"w\": {\"op\": \"window\", \"input\": \"x\", \"columns\": {\"r\": \"rolling_mean(v3, 100, "
                     "1)\"}}, \"answer\": {\"op\": "
                     "\"select\", \"input\": \"w\", \"columns\": [\"r\"]}"),
     NULL, "r"},
    {"sort_2_keys", OVER("groupby", "\"answer\": {\"op\": \"sort\", \"input\": \"x\", \"by\": [\"id6\", \"v3\"]}"),
     NULL, "v3"},
};
static const struct question sort = {
    "sort_1e7", OVER("numbers", "\"answer\": {\"op\": \"sort\", \"input\": \"x\", \"by\": [\"a\"]}"), NULL, NULL};

/* ---- tables ---- */

#define INTS_OF_GROUPBY                                                                                                \
    "{\"id4\": \"int32\", \"id5\": \"int32\", \"id6\": \"int32\", \"v1\": \"int32\", \"v2\": \"int32\", \"v3\": "      \
    "\"float64\"}"

/* What `granary load` does when kept; else the file alone. */
static void
csv_graph(const struct analytics *analytics, const char *file, const char *dtypes, bool kept, char *graph, size_t size)
{
    (void)snprintf(graph, size,
                   "{\"nodes\": {\"%s\": {\"op\": \"read_csv\", \"path\": \"%s/%s.csv\", \"dtypes\": %s}%s}, "
                   "\"targets\": [\"answer\"]}",
                   kept ? "rows" : "answer", analytics->data, file, dtypes,
                   kept ? ", \"answer\": {\"op\": \"encode\", \"input\": \"rows\"}" : "");
}

static bool
load(struct analytics *analytics, const char *name, const char *dtypes)
{
    char graph[2 * PATH_MAX];

    csv_graph(analytics, name, dtypes, true, graph, sizeof graph);
    return analytics_keep(analytics, name, graph);
}

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

static void
ask_all(struct analytics *analytics, const char *suite, const struct question *questions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        analytics_ask(analytics, suite, &questions[i]);
    }
}
#define ASK(analytics, suite) ask_all(analytics, #suite, suite, sizeof suite / sizeof suite[0])

/* ---- suites ---- */

static void
suite_groupby(struct analytics *analytics)
{
    if (make_groupby(analytics) && analytics_start(analytics)) {
        if (load(analytics, "groupby", INTS_OF_GROUPBY)) {
            ASK(analytics, groupby);
        }
        analytics_stop(analytics);
    }
}

static void
suite_join(struct analytics *analytics)
{
    static const char *const tables[][2] = {
        {"join_x", "{\"id1\": \"int32\", \"id2\": \"int32\", \"id3\": \"int32\", \"v1\": \"float64\"}"},
        {"join_small", "{\"id1\": \"int32\", \"v2\": \"float64\"}"},
        {"join_medium", "{\"id1\": \"int32\", \"id2\": \"int32\", \"v2\": \"float64\"}"},
        {"join_big", "{\"id1\": \"int32\", \"id2\": \"int32\", \"id3\": \"int32\", \"v2\": \"float64\"}"},
    };
    bool fine = table_there(analytics, "join_big") || data_join(analytics->data, analytics->options->rows);

    if (fine && analytics_start(analytics)) {
        for (size_t i = 0; i < sizeof tables / sizeof tables[0] && fine; i++) {
            fine = load(analytics, tables[i][0], tables[i][1]);
        }
        if (fine) {
            ASK(analytics, join);
        }
        analytics_stop(analytics);
    }
}

static void
suite_frame(struct analytics *analytics)
{
    char graph[2 * PATH_MAX];

    if (make_groupby(analytics) && analytics_start(analytics)) {
        if (load(analytics, "groupby", INTS_OF_GROUPBY)) {
            ASK(analytics, frame);
            analytics_forget(analytics, "groupby");
            csv_graph(analytics, "groupby", INTS_OF_GROUPBY, false, graph, sizeof graph);
            analytics_ask(analytics, "frame", &(struct question){.key = "read_csv", .graph = graph, .column = "v3"});
        }
        if (put_numbers(analytics, analytics->options->rows)) {
            analytics_ask(analytics, "frame", &sort);
        }
        analytics_stop(analytics);
    }
}

static void
suite_tpch(struct analytics *analytics)
{
    bool fine = tpch_make(analytics->data, analytics->options->scale);

    if (fine && analytics_start(analytics)) {
        for (int t = 0; t < TPCH_TABLES && fine; t++) {
            fine = load(analytics, tpch_table(t), tpch_dtypes(t));
        }
        for (int q = 1; q <= TPCH_QUERIES && fine; q++) {
            analytics_ask(analytics, "tpch", &(struct question){.key = tpch_query_name(q), .sql = tpch_query(q)});
        }
        analytics_stop(analytics);
    }
}

/* ---- all ---- */

static bool
wanted(const struct analytics_options *options, const char *suite)
{
    return options->suite == NULL || strcmp(options->suite, suite) == 0;
}

int
bench_frame(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(struct analytics *analytics);
    } suites[] = {{"groupby", suite_groupby}, {"join", suite_join}, {"tpch", suite_tpch}, {"frame", suite_frame}};
    struct analytics_options options;
    struct answers answers = {.count = 0};
    char own[] = "/tmp/granary-bench-data-XXXXXX";
    struct analytics analytics = {.options = &options, .answers = &answers};
    bool agreed = true;

    analytics_options(argc, argv, &options);
    analytics.data = options.data != NULL ? options.data : mkdtemp(own);
    if (analytics.data == NULL || (mkdir(analytics.data, 0777) != 0 && errno != EEXIST)) {
        (void)fprintf(stderr, "granary: bench: %s: %s\n", options.data == NULL ? own : options.data, strerror(errno));
        return 1;
    }
    for (size_t i = 0; i < sizeof suites / sizeof suites[0] && analytics.err == GRANARY_OK; i++) {
        if (wanted(&options, suites[i].name)) {
            suites[i].run(&analytics);
            /* After the instance is gone: they get the machine for themselves, as it did. */
            peers_run(&analytics, suites[i].name, options.runs);
        }
    }
    agreed = answers_print(&answers, options.json);
    answers_free(&answers);
    if (options.data == NULL) {
        spawn_remove_directory(own);
    }
    return analytics.err != GRANARY_OK ? granary_error_exit_status(analytics.err) : agreed ? 0 : 1;
}
