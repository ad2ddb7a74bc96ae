/* An instance for questions on frames and tensors: its options, its life, and the same questions for others. */
#include "bench/frame/analytics.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "bench/frame/from.h"
#include "contract/int128.h"
#include "granary/sql.h"

#define DATA_TEMPLATE "/tmp/granary-bench-data-XXXXXX"

static granary_err
take_scale(void *target, char *text)
{
    struct analytics_options *options = target;
    char *end;

    options->scale = strtod(text, &end);
    return end != text && *end == '\0' && options->scale > 0
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "'%s' is no number above 0", text);
}

granary_err
analytics_check(struct cli *cli)
{
    struct analytics_options *options = cli->self;
    bool quick = options->quick;

    options->runs = options->runs != 0 ? options->runs : quick ? 1 : 5;
    options->rows = options->rows != 0 ? options->rows : quick ? 1000000 : 10000000;
    options->clients = options->clients != 0 ? options->clients : 16;
    options->seconds = options->seconds != 0 ? options->seconds : quick ? 2 : 60;
    options->scale = options->scale > 0 ? options->scale : quick ? 0.1 : 1;
    return GRANARY_OK;
}

const struct gr_option analytics_options[] = {
    {"quick", 0, NULL, "use a tenth of the data, and run each question once",
     GR_OPTION_FLAG(struct analytics_options, quick)},
    {"json", 0, NULL, "print JSON", GR_OPTION_FLAG(struct analytics_options, json)},
    {"runs", 0, "N", "run each question N times, and print the median; default: 5",
     GR_OPTION_NUMBER(struct analytics_options, runs, 1, INT_MAX)},
    {"rows", 0, "N", "make the tables of db-benchmark with N rows; default: 10000000",
     GR_OPTION_NUMBER(struct analytics_options, rows, 1, INT64_MAX)},
    {"scale", 0, "F", "make the tables of TPC-H with this scale factor; default: 1", GR_OPTION_TAKE(take_scale)},
    {"suite", 0, "NAME", "ask only this suite: groupby, join, tpch, frame, tensor",
     GR_OPTION_TEXT(struct analytics_options, suite)},
    {"query", 0, "NAME", "ask only this question", GR_OPTION_TEXT(struct analytics_options, query)},
    {"data", 0, "DIR", "keep the tables in DIR, and use those that are there",
     GR_OPTION_TEXT(struct analytics_options, data)},
    {"peers", 0, "DIR", "find the engines that npm installed in DIR/node_modules",
     GR_OPTION_TEXT(struct analytics_options, peers)},
    {"floors", 0, NULL, "of groupby, join and TPC-H's Q1 and Q6: measure what loops in C need for the same data",
     GR_OPTION_FLAG(struct analytics_options, floors)},
    {"from", 0, "ENDING",
     "ask files that end so: parquet, csv, csv.gz, csv.zst; of groupby and join, with parquet of tpch and spilled, too",
     GR_OPTION_CHOICE(struct analytics_options, from, "parquet|csv|csv.gz|csv.zst")},
    {"no-peers", 0, NULL, "ask no other engine", GR_OPTION_FLAG(struct analytics_options, no_peers)},
    {"memory", 0, "SIZE", "give the instance this much memory", GR_OPTION_SIZE(struct analytics_options, memory, 1),
     .as_text = true},
    {"executors", 0, "N", "start N executors; default: 2",
     GR_OPTION_NUMBER(struct analytics_options, executors, 1, 1024), .as_text = true},
    {"also-executors", 0, "N", "of the mix: measure it with N executors, too",
     GR_OPTION_NUMBER(struct analytics_options, also_executors, 1, 1024), .as_text = true},
    {"clients", 0, "N", "of the mix: so many at once; default: 16",
     GR_OPTION_NUMBER(struct analytics_options, clients, 1, 256)},
    {"seconds", 0, "N", "of the mix: ask for so long; default: 60",
     GR_OPTION_NUMBER(struct analytics_options, seconds, 1, 86400)},
    {0}};

/* ---- the instance ---- */

static bool
good(struct analytics *analytics, granary_err err, const char *what)
{
    if (err != GRANARY_OK) {
        (void)fprintf(stderr, "granary: bench: %s: %s\n", what, granary_error_message());
        if (analytics->err == GRANARY_OK) {
            analytics->err = err;
        }
    }
    return err == GRANARY_OK;
}

bool
analytics_open_data(struct analytics *analytics)
{
    const char *given = analytics->options->data;

    (void)snprintf(analytics->own_data, sizeof analytics->own_data, "%s", given == NULL ? DATA_TEMPLATE : "");
    if (given == NULL) {
        analytics->data = mkdtemp(analytics->own_data);
    } else if (mkdir(given, 0777) == 0 || errno == EEXIST) {
        analytics->data = realpath(given, analytics->given_data);
    }
    if (analytics->data == NULL) {
        (void)fprintf(stderr, "granary: bench: %s: %s\n", given != NULL ? given : DATA_TEMPLATE, strerror(errno));
        analytics->own_data[0] = '\0';
        return false;
    }
    return true;
}

void
analytics_close_data(struct analytics *analytics)
{
    if (analytics->own_data[0] != '\0') {
        spawn_remove_directory(analytics->own_data);
    }
}

bool
analytics_start(struct analytics *analytics)
{
    const struct analytics_options *options = analytics->options;
    const char *up[16] = {"up", "--instance", analytics->instance, "--executors", options->executors};
    size_t count = 5;

    (void)snprintf(analytics->instance, sizeof analytics->instance, "/tmp/granary-bench-XXXXXX");
    if (options->memory != NULL) {
        up[count++] = "--memory";
        up[count++] = options->memory;
    }
    if (mkdtemp(analytics->instance) == NULL || !spawn_granary(up)) {
        (void)fprintf(stderr, "granary: bench: the instance did not start\n");
        analytics->err = GRANARY_EUNREACHABLE;
        return false;
    }
    return good(analytics,
                granary_connect(&(granary_connect_options){.instance = analytics->instance, .tag = "bench"},
                                &analytics->client),
                "connect");
}

void
analytics_stop(struct analytics *analytics)
{
    granary_disconnect(analytics->client);
    analytics->client = NULL;
    if (spawn_granary((const char *const[]){"down", "--instance", analytics->instance, NULL})) {
        spawn_remove_directory(analytics->instance);
    } else {
        (void)fprintf(stderr, "granary: bench: the instance did not stop: see %s\n", analytics->instance);
    }
}

bool
analytics_keep(struct analytics *analytics, const char *key, const char *graph)
{
    char kept[GRANARY_KEY_MAX];
    granary_graph_options options = {.key = key};

    return analytics->err == GRANARY_OK &&
           good(analytics, granary_graph_submit_json(analytics->client, graph, strlen(graph), &options, kept), key) &&
           good(analytics, granary_graph_wait(analytics->client, kept, GRANARY_FOREVER, NULL), key);
}

void
analytics_forget(struct analytics *analytics, const char *key)
{
    if (analytics->err == GRANARY_OK) {
        (void)good(analytics, granary_graph_delete(analytics->client, key), key);
    }
}

/* ---- questions ---- */

static double
value_at(const granary_column *column, int64_t row)
{
    if (column->validity != NULL && (column->validity[row >> 3] >> (row & 7) & 1) == 0) {
        return 0;
    }
    switch (column->dtype & 0xff) {
    case GRANARY_INT64:
        return (double)((const int64_t *)column->values)[row];
    case GRANARY_INT32:
        return (double)((const int32_t *)column->values)[row];
    case GRANARY_FLOAT64:
        return ((const double *)column->values)[row];
    case GRANARY_DECIMAL:
        return (double)((const gr_int128 *)column->values)[row] / pow(10, column->dtype >> 8);
    default:
        return 0;
    }
}

/* Rows of the result's chunks, and the sum of a column. */
static bool
look_at(struct analytics *analytics, const char *key, const struct question *question, struct answer *answer)
{
    granary_result result;
    bool fine = good(
        analytics,
        granary_graph_result(analytics->client, key, question->sql != NULL ? GRANARY_SQL_TARGET : "answer", &result),
        question->key);

    for (size_t i = 0; fine && !result.is_tensor && i < result.chunk_count; i++) {
        granary_view view;
        granary_frame *frame = NULL;
        const granary_column *column;

        fine = good(analytics, granary_object_get(analytics->client, result.chunks[i], GRANARY_FOREVER, &view),
                    question->key);
        if (!fine) {
            break;
        }
        fine = good(analytics, granary_frame_open(&view, &frame), question->key);
        column = fine && question->column != NULL ? granary_frame_column_named(frame, question->column) : NULL;
        answer->bytes += (int64_t)view.data_size;
        answer->rows += fine && !question->is_written ? granary_frame_rows(frame) : 0;
        for (int64_t row = 0; column != NULL && row < column->rows; row++) {
            answer->check += value_at(column, row);
        }
        granary_frame_close(frame);
        granary_object_release(analytics->client, &view);
    }
    granary_result_free(&result);
    return fine;
}

/* Seconds from the submission until the result is there; below 0: it failed, said on stderr. */
static double
run_once(struct analytics *analytics, const struct question *question, char key[GRANARY_KEY_MAX])
{
    int64_t began = bench_now_ns();
    granary_graph *graph = NULL;
    granary_err err;

    key[0] = '\0';
    if (question->sql != NULL) {
        err = granary_sql_graph(from_files(analytics) ? NULL : analytics->client, question->sql, strlen(question->sql),
                                &graph);
        if (err == GRANARY_OK) {
            err = granary_graph_run(analytics->client, graph, NULL, GRANARY_FOREVER, key, NULL);
        }
        granary_graph_destroy(graph);
    } else {
        err = granary_graph_submit_json(analytics->client, question->graph, strlen(question->graph), NULL, key);
        if (err == GRANARY_OK) {
            err = granary_graph_wait(analytics->client, key, GRANARY_FOREVER, NULL);
        }
    }
    if (err != GRANARY_OK) {
        (void)fprintf(stderr, "granary: bench: %s: %s\n", question->key, granary_error_message());
        return -1;
    }
    return (double)(bench_now_ns() - began) / 1e9;
}

double
analytics_time(struct analytics *analytics, const struct question *question)
{
    char key[GRANARY_KEY_MAX];
    double seconds = run_once(analytics, question, key);

    if (seconds >= 0) {
        (void)granary_graph_delete(analytics->client, key);
    }
    return seconds;
}

void
analytics_ask(struct analytics *analytics, const char *suite, const struct question *question)
{
    struct samples samples = {.count = 0};
    struct answer answer = {.engine = "granary"};
    const char *only = analytics->options->query;
    bool fine = analytics->err == GRANARY_OK && (only == NULL || strcmp(only, question->key) == 0);

    /* The first run warms memory and caches up, and is not counted. */
    for (int i = 0; i <= analytics->options->runs && fine; i++) {
        char key[GRANARY_KEY_MAX];
        double seconds = run_once(analytics, question, key);

        fine = seconds >= 0;
        if (fine && i > 0) {
            samples_add(&samples, seconds);
        }
        if (fine && i == analytics->options->runs) {
            fine = look_at(analytics, key, question, &answer);
        }
        if (seconds >= 0) {
            (void)granary_graph_delete(analytics->client, key);
        }
    }
    if (fine) {
        answer.seconds = samples_quantile(&samples, 0.5);
        (void)snprintf(answer.suite, sizeof answer.suite, "%s", suite);
        (void)snprintf(answer.key, sizeof answer.key, "%s", question->key);
        answers_add(analytics->answers, &answer);
    }
    samples_free(&samples);
}
