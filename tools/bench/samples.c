/* What all benchmarks share: options, samples, results and how they are printed. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory/grow.h"
#include "bench/bench.h"

int64_t
bench_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void
samples_add(struct samples *samples, double value)
{
    if (!gr_grow(&samples->values, &samples->room, samples->count, sizeof *samples->values)) {
        perror("granary: bench");
        exit(5);
    }
    samples->values[samples->count++] = value;
}

static int
by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

double
samples_quantile(struct samples *samples, double quantile)
{
    if (samples->count == 0) {
        return 0;
    }
    qsort(samples->values, samples->count, sizeof *samples->values, by_value);
    return samples->values[(size_t)(quantile * (double)(samples->count - 1) + 0.5)];
}

void
samples_free(struct samples *samples)
{
    free(samples->values);
    *samples = (struct samples){.values = NULL};
}

static struct result *
results_line(struct results *results, const char *key, const char *unit, const char *peer, const char *note)
{
    struct result *line = &results->lines[results->count];

    if (results->count == sizeof results->lines / sizeof results->lines[0]) {
        abort();
    }
    results->count++;
    (void)snprintf(line->key, sizeof line->key, "%s", key);
    line->unit = unit;
    line->peer = peer;
    line->note = note;
    return line;
}

void
results_add(struct results *results, const char *key, const char *unit, const char *peer, const char *note,
            struct samples *samples)
{
    struct result *line = results_line(results, key, unit, peer, note);

    line->has_p99 = true;
    line->value = samples_quantile(samples, 0.5);
    line->p99 = samples_quantile(samples, 0.99);
    samples_free(samples);
}

void
results_add_value(struct results *results, const char *key, const char *unit, const char *peer, const char *note,
                  double value)
{
    results_line(results, key, unit, peer, note)->value = value;
}

const struct result *
results_last(const struct results *results)
{
    return &results->lines[results->count - 1];
}

void
results_not_installed(struct results *results, const char *peer)
{
    for (size_t i = 0; i < results->not_installed_count; i++) {
        if (strcmp(results->not_installed[i], peer) == 0) {
            return;
        }
    }
    if (results->not_installed_count == sizeof results->not_installed / sizeof results->not_installed[0]) {
        abort();
    }
    results->not_installed[results->not_installed_count++] = peer;
}

static const struct result *
results_find(const struct results *results, const char *key)
{
    for (size_t i = 0; key != NULL && i < results->count; i++) {
        if (strcmp(results->lines[i].key, key) == 0) {
            return &results->lines[i];
        }
    }
    return NULL;
}

const char *
results_key(const struct results *results, const char *key)
{
    const struct result *line = results_find(results, key);

    return line != NULL ? line->key : NULL;
}

static void
print_json(const struct results *results, FILE *out)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct result *line = &results->lines[i];
        const struct result *peer = results_find(results, line->peer);

        (void)fprintf(out, "%s\n  \"%s\": {", i == 0 ? "{" : ",", line->key);
        if (line->has_p99) {
            (void)fprintf(out, "\"p50\": %.6g, \"p99\": %.6g", line->value, line->p99);
        } else {
            (void)fprintf(out, "\"value\": %.6g", line->value);
        }
        (void)fprintf(out, ", \"unit\": \"%s\"", line->unit);
        if (peer != NULL && peer->value > 0) {
            (void)fprintf(out, ", \"beside\": \"%s\", \"ratio\": %.4g", peer->key, line->value / peer->value);
        }
        (void)fputs("}", out);
    }
    (void)fputs(",\n  \"not_installed\": [", out);
    for (size_t i = 0; i < results->not_installed_count; i++) {
        (void)fprintf(out, "%s\"%s\"", i == 0 ? "" : ", ", results->not_installed[i]);
    }
    (void)fputs("]\n}\n", out);
}

static void
print_table(const struct results *results, FILE *out)
{
    (void)fprintf(out, "%-34s %10s %10s %-6s %8s  %-16s %s\n", "what", "p50", "p99", "unit", "ratio", "to", "how");
    for (size_t i = 0; i < results->count; i++) {
        const struct result *line = &results->lines[i];
        const struct result *peer = results_find(results, line->peer);
        char ratio[16] = "";
        char p99[16] = "";

        if (peer != NULL && peer->value > 0) {
            (void)snprintf(ratio, sizeof ratio, "%.3g", line->value / peer->value);
        }
        if (line->has_p99) {
            (void)snprintf(p99, sizeof p99, "%.4g", line->p99);
        }
        (void)fprintf(out, "%-34s %10.4g %10s %-6s %8s  %-16s %s\n", line->key, line->value, p99, line->unit, ratio,
                      peer == NULL ? "" : peer->key, line->note);
    }
    for (size_t i = 0; i < results->not_installed_count; i++) {
        (void)fprintf(out, "not installed, not measured: %s\n", results->not_installed[i]);
    }
}

void
results_print(const struct results *results, bool json, FILE *out)
{
    if (json) {
        print_json(results, out);
    } else {
        print_table(results, out);
    }
}

const struct gr_option bench_options[] = {
    {"quick", 0, NULL, "take a tenth of the samples", GR_OPTION_FLAG(struct bench_options, quick)},
    {"json", 0, NULL, "print JSON", GR_OPTION_FLAG(struct bench_options, json)},
    {0}};

#define WITH_PEERS                                                                                                     \
    "Ask an instance of its own, and the engines that are installed, the same questions, and compare.\v"               \
    "DuckDB and Polars are found through node, pandas and NumPy through Python."

const struct command_row bench_rows[] = {
    {"store", NULL, "objects: get, put, delete, spill and restart, beside LMDB and Redis",
     "Measure the store on an instance of its own, beside LMDB, Redis and the limits of the machine.", &bench_store},
    {"sched", NULL, "graphs: subtasks a second, and from a submission to its result",
     "Measure the scheduler on an instance of its own, beside Dask, StarPU and ProcessPoolExecutor.", &bench_sched},
    {"mutable", NULL, "tables that change: append, read and cut, beside SQLite, LMDB and Redis",
     "Measure mutable tables on an instance of its own, beside SQLite, LMDB and Redis streams.\v"
     "Each figure of a peer names its durability. Databases that are synchronized lie in /var/tmp, others in /dev/shm.",
     &bench_mutable},
    {"channel", NULL, "messages from process to process, beside a pipe, a socket, ZeroMQ and Redis",
     "Measure channels on an instance of its own, beside a pipe, a Unix socket, ZeroMQ over ipc, and a list of Redis.",
     &bench_channel},
    {"python", NULL, "arrays, calls and plans in Python, beside its own pools, joblib and Dask",
     "Measure the Python package on an instance of its own, beside ProcessPoolExecutor, shared_memory, joblib and "
     "Dask.",
     &bench_python},
    {"cluster", NULL, "fragments on workers of Dask, beside Dask's own tasks; transfers beside sockets",
     "Measure what empty fragments cost on two workers of Dask, and transfers from store to store, beside their "
     "limits.",
     &bench_cluster},
    {"frame", NULL, "queries on tables: groupby, join, TPC-H and single operations", WITH_PEERS, &bench_frame},
    {"spilled", NULL, "TPC-H with memory for an eighth of its tables, beside DuckDB",
     "Ask all questions of TPC-H with memory for an eighth of the tables' files, beside DuckDB with the same limit.\v"
     "DuckDB is found through node. Both spill to files; the machine may cache these.",
     &bench_spilled},
    {"tensor", NULL, "queries on dense arrays", WITH_PEERS, &bench_tensor},
    {"mix", NULL, "sixteen clients ask TPC-H and small questions at once, beside DuckDB",
     "Let clients ask the questions of TPC-H, and small ones between, for some time, beside DuckDB.\v"
     "Every client is a process, and of DuckDB a connection. The small questions are asked alone before.",
     &bench_mix},
    {"scale", NULL, "what one more row, chunk, subtask, object and executor costs, at four powers of ten",
     "Measure what one more row, chunk, subtask, object and executor costs, at four powers of ten.\v"
     "The ratio is that to the least of the smaller powers: above 1 the cost bends. With --quick the powers are "
     "smaller.",
     &bench_scale},
    {0}};
