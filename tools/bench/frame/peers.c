/* DuckDB and Polars through node, pandas and NumPy through Debian's Python: each in a process of its own, one after the
 * other. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/frame/analytics.h"
#include "bench/frame/from.h"
#include "bench/frame/include_file.h"

INCLUDE_FILE(bench_peer_duckdb, PEERS_DIRECTORY "/duckdb.js");
INCLUDE_FILE(bench_peer_polars, PEERS_DIRECTORY "/polars.js");
INCLUDE_FILE(bench_peer_python, PEERS_DIRECTORY "/numpy_pandas.py");

static const struct peer {
    const char *engine;
    const char *file;
    const char *command;
    const char *program;
    const char *suites; /* it knows */
    bool asks_files;
} peers[] = {
    {"duckdb", "duckdb.js", "node", bench_peer_duckdb, "groupby join tpch frame spilled mix", true},
    {"polars", "polars.js", "POLARS_MAX_THREADS=2 node", bench_peer_polars, "groupby join frame", false},
    {"pandas", "numpy_pandas.py", "OPENBLAS_NUM_THREADS=2 /usr/bin/python3", bench_peer_python, "groupby frame", false},
    {"numpy", "numpy_pandas.py", "OPENBLAS_NUM_THREADS=2 /usr/bin/python3", bench_peer_python, "tensor", false},
};

/* Beside the tables, so that node finds the modules where the user says they are. */
static bool
write_program(const struct analytics *analytics, const struct peer *peer, char path[PATH_MAX])
{
    FILE *file;
    bool good;

    (void)snprintf(path, PATH_MAX, "%s/%s", analytics->data, peer->file);
    file = fopen(path, "we");
    good = file != NULL && fputs(peer->program, file) >= 0;
    return (file == NULL || fclose(file) == 0) && good;
}

static void
run_peer(struct analytics *analytics, const struct peer *peer, const char *suite, int runs)
{
    const char *modules = analytics->options->peers;
    char path[PATH_MAX];
    char command[3 * PATH_MAX];
    char said[256];
    FILE *pipe;

    if (!write_program(analytics, peer, path)) {
        return;
    }
    (void)snprintf(
        command, sizeof command,
        "BENCH_FROM=%s MIX_CLIENTS=%d MIX_SECONDS=%d UV_THREADPOOL_SIZE=%d MIX_THREADS=%s %s%s%s %s '%s' %s '%s' %d %s "
        "2>/dev/null",
        analytics->options->from == NULL ? "" : analytics->options->from, analytics->options->clients,
        analytics->options->seconds, analytics->options->clients, analytics->options->executors,
        modules == NULL ? "" : "NODE_PATH='", modules == NULL ? "" : modules, modules == NULL ? "" : "/node_modules'",
        peer->command, path, suite, analytics->data, runs,
        analytics->options->memory == NULL ? "" : analytics->options->memory);
    pipe = popen(command, "re"); /* NOLINT(cert-env33-c): a program and folders of the benchmark's own */
    while (pipe != NULL && fgets(said, sizeof said, pipe) != NULL) {
        struct answer answer = {.seconds = 0};
        char rows[32] = "";
        char check[64] = "";

        if (sscanf(said, "%23s %lf %31s %63s", answer.key, &answer.seconds, rows, check) >= 2) {
            bool special = strncmp(answer.key, "numexpr_", 8) == 0; /* said by NumPy's program */

            answer.rows = strtoll(rows, NULL, 10);
            answer.check = strtod(check, NULL);
            (void)snprintf(answer.engine, sizeof answer.engine, "%s", special ? "numexpr" : peer->engine);
            (void)snprintf(answer.suite, sizeof answer.suite, "%s", suite);
            if (special) {
                memmove(answer.key, answer.key + 8, strlen(answer.key + 8) + 1);
            }
            answers_add(analytics->answers, &answer);
        }
    }
    if (pipe != NULL) {
        (void)pclose(pipe);
    }
}

void
peers_run(struct analytics *analytics, const char *suite, int runs)
{
    for (size_t i = 0; i < sizeof peers / sizeof peers[0] && !analytics->options->no_peers; i++) {
        if (strstr(peers[i].suites, suite) != NULL && (peers[i].asks_files || !from_files(analytics))) {
            run_peer(analytics, &peers[i], suite, runs);
        }
    }
}
