/*
 * What `granary bench frame` and `granary bench tensor` share: an instance of one's own, queries as graphs, and the
 * same questions asked of peers that are installed.
 */
#ifndef FRAME_ANALYTICS_H
#define FRAME_ANALYTICS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "bench/bench.h"
#include "granary/granary.h"

struct analytics_options {
    bool quick; /* a tenth of the rows, a single run */
    bool json;
    int runs;          /* of each query, after one that is not counted; the median is told */
    int64_t rows;      /* of the tables of db-benchmark */
    double scale;      /* of TPC-H */
    const char *suite; /* only this one; NULL: all */
    const char *query; /* only this one; NULL: all */
    const char *data;  /* directory for the tables, kept; NULL: one that is removed */
    const char *peers; /* directory whose node_modules has the npm peers; NULL: as node finds them */
    bool no_peers;
    const char *from;   /* ending of the files that are asked: "parquet"; NULL: tables in memory */
    bool floors;        /* of the questions of `granary bench frame` that have one */
    const char *memory; /* of the instance, as `granary up --memory` takes it; NULL: its default */
    const char *executors;
    int clients;                /* of the mix */
    int seconds;                /* ... how long they ask */
    const char *also_executors; /* ... the same with so many executors; NULL: not */
};

/* Options of both. */
extern const struct gr_option analytics_options[];
granary_err analytics_check(struct cli *cli); /* what was not said: less of it with --quick */

#define ANALYTICS_COMMAND(function)                                                                                    \
    {                                                                                                                  \
        .options = analytics_options, COMMAND_SELF(struct analytics_options, .executors = "2"), .alone = true,         \
        .check = analytics_check, .run = (function)                                                                    \
    }

/* ---- answers: one line an engine and query ---- */

struct answer {
    char engine[24];
    char suite[16];
    char key[24];
    double seconds;
    int64_t rows;  /* of the result; 0: not told */
    int64_t bytes; /* of the result's objects; 0: not told */
    double check;  /* sum of one of its columns; 0: not told */
};
struct answers {
    struct answer *lines;
    size_t count;
    size_t room;
};
void answers_add(struct answers *answers, const struct answer *answer);
void answers_free(struct answers *answers);
/* NULL: that engine did not answer it. Valid until one more is added. */
const struct answer *
answers_find(const struct answers *answers, const char *suite, const char *key, const char *engine);
/* A table with a row for each question and a column for each engine, and ours as a ratio to the best peer and to the
 * floor. False: some engines' answers differ, which is told. */
bool answers_print(const struct answers *answers, bool json);

/* ---- granary ---- */

struct analytics {
    const struct analytics_options *options;
    granary_client *client;
    char instance[64];         /* directory */
    const char *data;          /* directory of the tables, absolute */
    char own_data[64];         /* ... that is removed at the end; "": the user's */
    char given_data[PATH_MAX]; /* the user's */
    struct answers *answers;
    granary_err err; /* the first one; what follows does nothing */
};

/* A directory for the tables: the user's, or a fresh one. False: said on stderr. */
bool analytics_open_data(struct analytics *analytics);
void analytics_close_data(struct analytics *analytics);

/* Start an instance. False: said on stderr why not. */
bool analytics_start(struct analytics *analytics);
void analytics_stop(struct analytics *analytics);

/* Run a graph and keep it under a key. False: said on stderr. */
bool analytics_keep(struct analytics *analytics, const char *key, const char *graph);
void analytics_forget(struct analytics *analytics, const char *key);

/* A question to us: a graph whose only target is what the peers make, too. */
struct question {
    const char *key;
    const char *graph; /* JSON; NULL: sql */
    const char *sql;
    const char *column; /* of the result, whose sum is compared; NULL: none */
    bool is_written;    /* the result tells of a file: its rows are not compared */
};
/* Seconds from the submission until its result is there, which is deleted; below 0: it failed, said on stderr. */
double analytics_time(struct analytics *analytics, const struct question *question);
/* Run it options->runs times, deleting each result, and add the answer. One that fails is told, and the next goes on.
 */
void analytics_ask(struct analytics *analytics, const char *suite, const struct question *question);

/* ---- peers ---- */

/* Run a peer's program (of tools/bench/peers, built in) on a suite and take what it says. One that is not installed
 * says nothing. */
void peers_run(struct analytics *analytics, const char *suite, int runs);

#endif
