/*
 * granary bench: figures with their physical limit or peer beside them, measured in the same run. Public API only.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/command/command.h"
#include "spawn/spawn.h"

/* The benchmarks by name, for `granary bench`. */
extern const struct command_row bench_rows[];
extern const struct command bench_store, bench_sched, bench_mutable, bench_channel, bench_frame, bench_spilled,
    bench_tensor, bench_scale, bench_mix, bench_python, bench_cluster;

struct bench_options {
    bool quick; /* a tenth of the samples */
    bool json;
};
/* --quick and --json, of a self that is those alone. */
extern const struct gr_option bench_options[];

/* ---- samples ---- */

/* A set of measurements of one thing. Zero is an empty one. */
struct samples {
    double *values;
    size_t count;
    size_t room;
};
/* Ends the process when out of memory: a benchmark has nothing to save. */
void samples_add(struct samples *samples, double value);
/* 0 ≤ quantile ≤ 1; sorts the samples. 0 when there are none. */
double samples_quantile(struct samples *samples, double quantile);
void samples_free(struct samples *samples);

/* ---- results ---- */

struct result {
    char key[40];
    const char *unit;
    const char *note; /* for the table: what was done, and how many a sample */
    const char *peer; /* key of the line to compare with, or NULL; it may be that line's own */
    bool has_p99;     /* else value alone */
    double value;     /* p50 when has_p99 */
    double p99;
};

struct results {
    struct result lines[96];
    size_t count;
    const char *not_installed[4]; /* peers, and what was looked for */
    size_t not_installed_count;
};
/* Record p50 and p99 of samples, and free them. The key is copied; unit, note and peer are kept by pointer. */
void results_add(struct results *results, const char *key, const char *unit, const char *peer, const char *note,
                 struct samples *samples);
void results_add_value(struct results *results, const char *key, const char *unit, const char *peer, const char *note,
                       double value);
/* The line that was added last; and the key of a line, as a peer that stays: NULL: there is none of that key. */
const struct result *results_last(const struct results *results);
const char *results_key(const struct results *results, const char *key);
/* A peer that could not be measured; kept by pointer, once. */
void results_not_installed(struct results *results, const char *peer);
/*
 * A table for humans, or one JSON object: key → {"p50", "p99", "unit"} or {"value", "unit"}, with {"beside", "ratio"}
 * where the line has a peer, and "not_installed" → [text].
 */
void results_print(const struct results *results, bool json, FILE *out);

/* A graph of null subtasks: each a node of its own; in a chain each waits for the one before. */
struct granary_graph *bench_null_graph(size_t count, bool chain);

/* Monotonic. */
int64_t bench_now_ns(void);

/* ---- peers (peers.c, pools.c, redis.c): each adds its line, or none when it is not there ---- */

void bench_unix_rtt(struct results *results, size_t rounds);
void bench_futex_rtt(struct results *results, size_t rounds);
/* Copy between two buffers of bytes that are warm; records memcpy_gib_s and returns it. */
double bench_memcpy(struct results *results, size_t bytes, size_t rounds);
#define LMDB_PEER "LMDB (liblmdb, when granary was built)"
/* directory: where it may put its files. objects of 64 bytes, random gets; key: static. */
void bench_lmdb(struct results *results, const char *directory, const char *key, size_t objects);
void bench_redis(struct results *results, const char *directory, size_t rounds);
/* A figure that another program says, as "KEY VALUE" on a line; peer: a key, or NULL. */
struct bench_line {
    const char *key;
    const char *unit;
    const char *peer;
    const char *note;
};
/* Run a command and take what it says of count lines. */
void bench_take_lines(struct results *results, const char *command, const struct bench_line *lines, size_t count);
/* Run a program's text with the Python package, and print what it says of the lines. needs: for the message. Returns the exit status. */
int bench_python_program(const struct bench_options *options, const char *text, const struct bench_line *lines,
                         size_t count, const char *needs);
/* Where this program and those that lie beside it are: false: it cannot be told. */
bool bench_programs(char ret_directory[PATH_MAX]);
/* Dask, ProcessPoolExecutor and StarPU. */
void bench_pools(struct results *results, bool quick);

#endif
