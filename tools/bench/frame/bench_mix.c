/*
 * `granary bench mix`: clients in processes of their own ask the questions of TPC-H and small ones, all at once, for some
 * time. Beside it: the small ones asked alone, the same with another number of executors, and DuckDB with as many
 * connections.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/frame/analytics.h"
#include "bench/frame/from.h"
#include "bench/frame/tpch.h"

#define CLIENTS_MOST  256
#define SMALL_MOST    100000 /* small questions of a client whose times are kept */
#define SMALL_BETWEEN 4      /* two questions of TPC-H */
#define SMALL_IDLE    200    /* asked alone */

/* What is measured of an engine; duckdb.js says lines with these keys. */
enum figure { PER_S, SMALL_PER_S, IDLE_P50, IDLE_P99, SMALL_P50, SMALL_P99, LEAST, MOST, FIGURES };
static const struct {
    const char *key, *unit, *note;
    enum figure beside; /* of the same engine; itself: DuckDB's figure and that of other executors stand beside ours */
} figures[FIGURES] = {
    [PER_S] = {"questions_per_s", "1/s", "questions of TPC-H finished, by all clients", PER_S},
    [SMALL_PER_S] = {"small_per_s", "1/s", "small questions between them, four for each", SMALL_PER_S},
    [IDLE_P50] = {"idle_small_p50_ms", "ms", "a small question when nothing else is asked", IDLE_P50},
    [IDLE_P99] = {"idle_small_p99_ms", "ms", "... one in a hundred takes longer", IDLE_P99},
    [SMALL_P50] = {"small_p50_ms", "ms", "a small question in the mix", IDLE_P50},
    [SMALL_P99] = {"small_p99_ms", "ms", "... one in a hundred takes longer", IDLE_P99},
    [LEAST] = {"client_least", "", "questions of TPC-H that the slowest client finished", MOST},
    [MOST] = {"client_most", "", "... and the fastest", MOST},
};

/* What a client tells, in memory that it shares with the parent. */
struct told {
    uint64_t questions;
    uint64_t small;
    bool failed;
    float ms[SMALL_MOST];
};
struct shared {
    _Atomic int ready;
    _Atomic int64_t end_ns; /* 0: not begun */
    struct told told[];
};

/* The same statements as in duckdb.js: a point lookup and a tiny aggregate in turns. */
static const char *
small_text(char text[128], uint64_t client, uint64_t i)
{
    uint64_t key = client * 7919 + i * 104729;

    if (i % 2 == 0) {
        (void)snprintf(text, 128, "SELECT * FROM orders WHERE o_orderkey = %llu", (unsigned long long)(key % 5000 + 1));
    } else {
        (void)snprintf(text, 128, "SELECT count(*), sum(s_acctbal) FROM supplier WHERE s_nationkey = %llu",
                       (unsigned long long)(key % 25));
    }
    return text;
}

/* ms; below 0: it failed. */
static double
ask_small(struct analytics *analytics, uint64_t client, uint64_t i)
{
    char text[128];

    return analytics_time(analytics, &(struct question){.key = "small", .sql = small_text(text, client, i)}) * 1e3;
}

/* ---- a client ---- */

/* What ends behind the end does not count. */
static void
ask_all(struct analytics *analytics, int client, const struct shared *shared, struct told *told)
{
    uint64_t small = 0;

    for (int i = client; bench_now_ns() < shared->end_ns; i++) {
        int number = i % TPCH_QUERIES + 1;
        const struct question question = {.key = tpch_query_name(number), .sql = tpch_query(number)};

        for (int k = 0; k < SMALL_BETWEEN && bench_now_ns() < shared->end_ns; k++) {
            double ms = ask_small(analytics, (uint64_t)client, small++);

            told->failed = told->failed || ms < 0;
            if (told->small < SMALL_MOST && bench_now_ns() < shared->end_ns) {
                told->ms[told->small++] = (float)ms;
            }
        }
        told->failed = told->failed || analytics_time(analytics, &question) < 0;
        told->questions += bench_now_ns() < shared->end_ns;
    }
}

static _Noreturn void
be_client(const struct analytics *analytics, int number, struct shared *shared)
{
    struct analytics own = {.options = analytics->options};
    struct told *told = &shared->told[number];

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    told->failed = granary_connect(&(granary_connect_options){.instance = analytics->instance, .tag = "bench client"},
                                   &own.client) != GRANARY_OK;
    atomic_fetch_add(&shared->ready, 1);
    while (shared->end_ns == 0) {
        (void)usleep(1000);
    }
    if (!told->failed) {
        ask_all(&own, number, shared, told);
        granary_disconnect(own.client);
    }
    _exit(0);
}

/* ---- all of them ---- */

static double
seconds_of(const struct analytics *analytics)
{
    return (double)analytics->options->seconds;
}

static bool
add_up(const struct analytics *analytics, struct shared *shared, double found[FIGURES])
{
    struct samples small = {.values = NULL};
    bool fine = true;
    uint64_t questions = 0;

    for (int c = 0; c < analytics->options->clients; c++) {
        const struct told *told = &shared->told[c];
        double own = (double)told->questions;

        fine = fine && !told->failed;
        questions += told->questions;
        found[LEAST] = c == 0 || own < found[LEAST] ? own : found[LEAST];
        found[MOST] = own > found[MOST] ? own : found[MOST];
        for (uint64_t i = 0; i < told->small; i++) {
            samples_add(&small, told->ms[i]);
        }
    }
    found[PER_S] = (double)questions / seconds_of(analytics);
    found[SMALL_PER_S] = (double)small.count / seconds_of(analytics);
    found[SMALL_P50] = samples_quantile(&small, 0.5);
    found[SMALL_P99] = samples_quantile(&small, 0.99);
    samples_free(&small);
    return fine;
}

/* Clients begin when all are there, and end on their own. */
static bool
run_clients(const struct analytics *analytics, double found[FIGURES])
{
    const int clients = analytics->options->clients;
    const size_t bytes = sizeof(struct shared) + (size_t)clients * sizeof(struct told);
    struct shared *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[CLIENTS_MOST];
    bool fine = shared != MAP_FAILED;
    int started = 0;

    while (fine && started < clients) {
        pids[started] = fork();
        if (pids[started] == 0) {
            be_client(analytics, started, shared);
        }
        fine = pids[started] > 0;
        started += fine;
    }
    while (fine && atomic_load(&shared->ready) < clients) {
        (void)usleep(1000);
    }
    if (shared != MAP_FAILED) {
        atomic_store(&shared->end_ns, bench_now_ns() + (fine ? (int64_t)analytics->options->seconds * 1000000000 : 0));
    }
    while (started > 0) {
        int status = -1;

        (void)waitpid(pids[--started], &status, 0);
        fine = fine && status == 0;
    }
    fine = fine && add_up(analytics, shared, found);
    if (shared != MAP_FAILED) {
        (void)munmap(shared, bytes);
    }
    return fine;
}

static bool
ask_idle(struct analytics *analytics, double found[FIGURES])
{
    struct samples small = {.values = NULL};
    double ms = 0;

    for (uint64_t i = 0; i < SMALL_IDLE && ms >= 0; i++) {
        ms = ask_small(analytics, 0, i);
        if (i >= SMALL_IDLE / 10) { /* the first ones warm up */
            samples_add(&small, ms);
        }
    }
    found[IDLE_P50] = samples_quantile(&small, 0.5);
    found[IDLE_P99] = samples_quantile(&small, 0.99);
    samples_free(&small);
    return ms >= 0;
}

/* An instance with so many executors: each question of TPC-H once, then small ones alone, then the mix. */
static bool
measure_instance(struct analytics *analytics, double found[FIGURES])
{
    bool fine = analytics_start(analytics) && tpch_load(analytics);

    for (int q = 1; q <= TPCH_QUERIES && fine; q++) {
        fine = analytics_time(analytics, &(struct question){.key = tpch_query_name(q), .sql = tpch_query(q)}) >= 0;
    }
    fine = fine && ask_idle(analytics, found) && run_clients(analytics, found);
    analytics_stop(analytics);
    return fine;
}

/* ---- results ---- */

/* prefix: of an engine that stands beside ours; "": ours */
static void
add_lines(struct results *results, const char *prefix, const double found[FIGURES])
{
    for (int f = 0; f < FIGURES; f++) {
        char key[40];
        char beside[40];
        bool own = (int)figures[f].beside == f;

        (void)snprintf(key, sizeof key, "%s%s", prefix, figures[f].key);
        (void)snprintf(beside, sizeof beside, "%s%s", own ? "" : prefix, figures[figures[f].beside].key);
        results_add_value(results, key, figures[f].unit, strcmp(key, beside) == 0 ? NULL : results_key(results, beside),
                          figures[f].note, found[f]);
    }
}

/* What duckdb.js has said; false: nothing. */
static bool
duckdb_found(const struct answers *answers, double found[FIGURES])
{
    bool all = true;

    for (int f = 0; f < FIGURES; f++) {
        const struct answer *line = answers_find(answers, "mix", figures[f].key, "duckdb");

        found[f] = line != NULL ? line->seconds : 0;
        all = all && line != NULL;
    }
    return all;
}

static bool
measure_all(struct analytics *analytics, struct results *results)
{
    struct analytics_options also = *analytics->options;
    double found[FIGURES] = {0};
    double others[FIGURES] = {0};
    char prefix[16];

    if (!tpch_make(analytics->data, analytics->options->scale) || !measure_instance(analytics, found)) {
        return false;
    }
    add_lines(results, "", found);
    if (also.also_executors != NULL) {
        struct analytics second = {.options = &also, .answers = analytics->answers, .data = analytics->data};

        also.executors = also.also_executors;
        (void)snprintf(prefix, sizeof prefix, "e%s_", also.executors);
        if (!measure_instance(&second, others)) {
            return false;
        }
        add_lines(results, prefix, others);
    }
    peers_run(analytics, "mix", analytics->options->runs);
    if (duckdb_found(analytics->answers, others)) {
        add_lines(results, "duckdb_", others);
    } else if (!analytics->options->no_peers) {
        results_not_installed(results, "DuckDB (npm package @duckdb/node-api)");
    }
    return true;
}

static int
run_mix(struct cli *cli)
{
    const struct analytics_options *options = cli->self;
    struct results results = {.count = 0};
    struct answers answers = {.count = 0};
    struct analytics analytics = {.options = options, .answers = &answers};
    bool fine;

    if (from_refuse(options) != 0) {
        return 2;
    }
    fine = analytics_open_data(&analytics) && measure_all(&analytics, &results);
    analytics_close_data(&analytics);
    if (fine) {
        results_print(&results, options->json, stdout);
    } else {
        (void)fprintf(stderr, "granary: bench: the mix was not measured\n");
    }
    answers_free(&answers);
    return fine ? 0 : analytics.err != GRANARY_OK ? granary_error_exit_status(analytics.err) : 1;
}

const struct command bench_mix = ANALYTICS_COMMAND(run_mix);
