/*
 * `granary bench scale`: what one more costs (a row, a chunk, a subtask, an object, an executor) at four powers of ten.
 * Each figure stands beside the least of the smaller powers: a ratio above 1 is a bend.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench/frame/analytics.h"
#include "bench/run.h"

#define POWERS 4
#define FIRST  ((uint64_t)1 << 20)

struct scale {
    struct results *results;
    struct analytics analytics; /* an instance: rows, chunks, subtasks */
    struct run run;             /* a store alone: objects */
    uint64_t objects;           /* that it has */
    bool failed;
};

/* What one of so many costs, in ns; 0: it could not be measured, said on stderr. */
typedef double cost(struct scale *scale, uint64_t count);

struct thing {
    const char *key, *note;
    cost *measure;
    int first, first_quick; /* powers of ten */
};

static void
measure_thing(struct scale *scale, const struct thing *thing, bool quick)
{
    const struct result *least = NULL;
    int first = quick ? thing->first_quick : thing->first;
    uint64_t count = 1;

    for (int power = 0; power < first + POWERS && !scale->failed; power++, count *= 10) {
        char key[40];
        double ns = power < first ? 0 : thing->measure(scale, count);

        if (power >= first) {
            (void)snprintf(key, sizeof key, "%s_1e%d_ns", thing->key, power);
            results_add_value(scale->results, key, "ns", least == NULL ? NULL : least->key, thing->note, ns);
            least = least == NULL || ns < least->value ? results_last(scale->results) : least;
            scale->failed = ns <= 0;
        }
    }
}

/* ---- on an instance ---- */

#define RUNS    3
#define LONG_NS 5000000000 /* what takes longer is run once, and is warm soon enough */

/* The median of some runs, after one that is not counted; by so many. */
static double
ask(struct scale *scale, const char *graph, uint64_t count)
{
    const struct question question = {.key = "scale", .graph = graph};
    struct samples samples = {.values = NULL};
    double seconds = 0;

    for (int i = 0; i <= RUNS && seconds >= 0 && seconds * 1e9 < LONG_NS; i++) {
        seconds = analytics_time(&scale->analytics, &question);
        if (seconds >= 0 && (i > 0 || seconds * 1e9 >= LONG_NS)) {
            samples_add(&samples, seconds);
        }
    }
    seconds = seconds < 0 ? 0 : samples_quantile(&samples, 0.5);
    samples_free(&samples);
    return seconds * 1e9 / (double)count;
}

/* A table of a key of 100 values and a number; asked by a groupby with these keys. */
static double
ask_rows(struct scale *scale, uint64_t rows, const char *keys)
{
    char table[512];
    char graph[256];
    double ns;

    (void)snprintf(table, sizeof table,
                   "{\"nodes\": {\"r\": {\"op\": \"random\", \"shape\": [%llu]}, \"f\": {\"op\": \"from_tensor\", "
                   "\"input\": \"r\", \"columns\": [\"v\"]}, \"answer\": {\"op\": \"assign\", \"input\": \"f\", "
                   "\"columns\": {\"k\": \"cast(v * 100.0 as int32)\"}}}, \"targets\": [\"answer\"]}",
                   (unsigned long long)rows);
    (void)snprintf(graph, sizeof graph,
                   "{\"nodes\": {\"x\": {\"op\": \"table\", \"name\": \"rows\"}, \"answer\": {\"op\": \"groupby\", "
                   "\"input\": \"x\", \"sort\": false, \"keys\": [%s], \"aggregate\": {\"v\": \"sum(v)\"}}}, "
                   "\"targets\": [\"answer\"]}",
                   keys);
    if (!analytics_keep(&scale->analytics, "rows", table)) {
        return 0;
    }
    ns = ask(scale, graph, rows);
    analytics_forget(&scale->analytics, "rows");
    return ns;
}

static double
row_groupby(struct scale *scale, uint64_t count)
{
    return ask_rows(scale, count, "\"k\"");
}

static double
row_sum(struct scale *scale, uint64_t count)
{
    return ask_rows(scale, count, "");
}

/* A tensor in so many chunks of a few numbers. */
static double
chunk(struct scale *scale, uint64_t count)
{
    char graph[256];

    (void)snprintf(graph, sizeof graph,
                   "{\"nodes\": {\"answer\": {\"op\": \"random\", \"shape\": [%llu], \"chunk\": [8]}}, "
                   "\"targets\": [\"answer\"]}",
                   (unsigned long long)count * 8);
    return ask(scale, graph, count);
}

static double
subtask(struct scale *scale, uint64_t count)
{
    granary_graph *graph = bench_null_graph(count, false);
    struct samples samples = {.values = NULL};
    double ns;

    for (int i = 0; i <= RUNS && scale->analytics.err == GRANARY_OK; i++) {
        char key[GRANARY_KEY_MAX];
        int64_t began = bench_now_ns();

        scale->analytics.err = granary_graph_run(scale->analytics.client, graph, NULL, GRANARY_FOREVER, key, NULL);
        if (i > 0) {
            samples_add(&samples, (double)(bench_now_ns() - began) / (double)count);
        }
        if (scale->analytics.err != GRANARY_OK || granary_graph_delete(scale->analytics.client, key) != GRANARY_OK) {
            (void)fprintf(stderr, "granary: bench: subtasks: %s\n", granary_error_message());
        }
    }
    ns = scale->analytics.err == GRANARY_OK ? samples_quantile(&samples, 0.5) : 0;
    samples_free(&samples);
    granary_graph_destroy(graph);
    return ns;
}

/* ---- in a store ---- */

/* So many objects of 64 bytes: the store grows from the power before. */
static double
object_put(struct scale *scale, uint64_t count)
{
    uint64_t more = count - scale->objects;
    int64_t began = bench_now_ns();

    run_fill(&scale->run, FIRST + scale->objects, more, 64);
    scale->objects = count;
    return scale->run.failed ? 0 : (double)(bench_now_ns() - began) / (double)more;
}

static double
object_get(struct scale *scale, uint64_t count)
{
    struct samples samples = {.values = NULL};
    double ns;

    (void)object_put(scale, count);
    run_time_gets(&scale->run, FIRST, count, 100, 200, &samples); /* warms up */
    samples_free(&samples);
    run_time_gets(&scale->run, FIRST, count, 100, 2000, &samples);
    ns = samples_quantile(&samples, 0.5);
    samples_free(&samples);
    return ns;
}

static double
object_list(struct scale *scale, uint64_t count)
{
    struct samples samples = {.values = NULL};
    double ns;

    (void)object_put(scale, count);
    for (int i = 0; i <= RUNS && !scale->run.failed; i++) {
        granary_object_info *infos = NULL;
        size_t listed = 0;
        int64_t began = bench_now_ns();

        if (run_good(&scale->run, granary_object_list(scale->run.client, &infos, &listed)) && listed != count) {
            (void)fprintf(stderr, "granary: bench: %zu objects are listed instead of %llu\n", listed,
                          (unsigned long long)count);
            scale->run.failed = true;
        }
        if (i > 0) {
            samples_add(&samples, (double)(bench_now_ns() - began) / (double)count);
        }
        free(infos);
    }
    ns = scale->run.failed ? 0 : samples_quantile(&samples, 0.5);
    samples_free(&samples);
    return ns;
}

/* ---- in the simulator ---- */

/* Each executor is given one subtask that takes a millisecond of virtual time. */
static double
executor(struct scale *scale, uint64_t count)
{
    const char *directory = scale->run.daemon->directory;
    char programs[PATH_MAX];
    char command[2 * PATH_MAX];
    char line[1024] = "";
    const char *seconds;
    FILE *said;

    if (!bench_programs(programs)) {
        return 0;
    }
    /* An array's subtask has 1024 of its nulls. */
    (void)snprintf(command, sizeof command,
                   "cd '%s' && echo 'n 1ms' >durations && echo '{\"nodes\": {\"n\": {\"op\": \"null\", \"count\": "
                   "%llu}}, \"targets\": [\"n\"]}' >graph.json && exec '%s/granary' simulate --json --faults none "
                   "--executors %llu --durations durations graph.json",
                   directory, (unsigned long long)count * 1024, programs, (unsigned long long)count);
    said = popen(command, "re"); /* NOLINT(cert-env33-c): a program of ours */
    if (said == NULL || fgets(line, sizeof line, said) == NULL) {
        line[0] = '\0';
    }
    if (said != NULL) {
        (void)pclose(said);
    }
    seconds = strstr(line, "\"seconds\": ");
    if (seconds == NULL) {
        (void)fprintf(stderr, "granary: bench: `granary simulate` does not tell how long it took\n");
        return 0;
    }
    return strtod(seconds + strlen("\"seconds\": "), NULL) * 1e9 / (double)count;
}

/* ---- all of it ---- */

static const struct thing on_instance[] = {
    {"row_groupby", "a row, groupby with 100 groups", row_groupby, 5, 2},
    {"row_sum", "a row, a sum", row_sum, 5, 2},
    {"chunk", "a chunk of 8 numbers, an object each", chunk, 3, 0},
    {"subtask", "a null subtask, submit to all done", subtask, 3, 0},
};
static const struct thing in_store[] = {
    {"object_put", "a put of 64 bytes, one after another", object_put, 3, 1},
    {"object_get", "get + release, random among as many", object_get, 3, 1},
    {"object_list", "an object of a listing", object_list, 3, 1},
    {"executor", "an executor that gets a subtask, in the simulator", executor, 2, 0},
};

static void
measure_in_instance(struct scale *scale, bool quick)
{
    if (analytics_start(&scale->analytics)) {
        for (size_t i = 0; i < sizeof on_instance / sizeof on_instance[0]; i++) {
            measure_thing(scale, &on_instance[i], quick);
        }
    }
    analytics_stop(&scale->analytics);
    scale->failed = scale->failed || scale->analytics.err != GRANARY_OK;
}

/* In a fresh one: an index that has grown stays as large. */
static void
measure_in_store(struct scale *scale, const struct thing *thing, bool quick)
{
    struct spawned daemon;
    granary_connect_options options = {.instance = daemon.directory, .tag = "bench"};

    if (!spawn_start(&daemon, NULL)) {
        scale->failed = true;
        return;
    }
    scale->objects = 0;
    scale->run = (struct run){.results = scale->results, .daemon = &daemon};
    if (run_good(&scale->run, granary_connect(&options, &scale->run.client))) {
        measure_thing(scale, thing, quick);
        granary_disconnect(scale->run.client);
    }
    scale->failed = scale->failed || scale->run.failed;
    (void)spawn_stop(&daemon);
}

static int
run_scale(struct cli *cli)
{
    const struct bench_options *options = cli->self;
    const struct analytics_options defaults = {.executors = "2"};
    struct results results = {.count = 0};
    struct answers answers = {.count = 0};
    struct scale scale = {.results = &results, .analytics = {.options = &defaults, .answers = &answers}};

    measure_in_instance(&scale, options->quick);
    for (size_t i = 0; i < sizeof in_store / sizeof in_store[0] && !scale.failed; i++) {
        measure_in_store(&scale, &in_store[i], options->quick);
    }
    if (scale.failed) {
        return scale.analytics.err != GRANARY_OK ? granary_error_exit_status(scale.analytics.err) : 1;
    }
    results_print(&results, options->json, stdout);
    return 0;
}

const struct command bench_scale = {
    .options = bench_options, COMMAND_ZERO(struct bench_options), .alone = true, .run = run_scale};
