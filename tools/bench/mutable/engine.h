/*
 * engine: what appends rows to tables and reads them again, as granary and its peers do it. All of them do the same
 * work: rows of eight integers, and writes that become visible as a whole.
 */
#ifndef BENCH_MUTABLE_ENGINE_H
#define BENCH_MUTABLE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ENGINE_COLUMNS 8u
#define ENGINE_TABLES  4u
#define ENGINE_ROWS    1000u /* of one append at most */

/* A table's rows, column by column. */
struct engine_copy {
    const int64_t *column[ENGINE_COLUMNS];
    size_t rows;
};

struct engine_kind;

/* An engine with the settings it is measured at. */
struct engine {
    const struct engine_kind *kind;
    const char *key;        /* for its lines: append_KEY_ns */
    const char *durability; /* what it promises when an append has returned */
    unsigned mode;          /* for the kind */
    unsigned figures;       /* which of them it takes part in */
    bool is_synchronized;   /* its files belong on a disk */
    char directory[96];     /* empty when it starts, and its own; granary's: the instance */
    pid_t server;
};

/* Functions say on stderr why they returned false. Handles have all tables open, and are one thread's. */
struct engine_kind {
    const char *name;
    const char *looked_for; /* when it is not installed */
    bool (*is_there)(void);
    /* Before the first open() and after the last close(); NULL: nothing is to be done. */
    bool (*start)(struct engine *engine);
    void (*stop)(struct engine *engine);
    /* Open the tables, which the first one makes. NULL: failed */
    void *(*open)(const struct engine *engine);
    void (*close)(void *handle);
    /* Append rows in one atomic write. Values lie column by column: rows of them, then those of the next column. */
    bool (*append)(void *handle, unsigned table, const int64_t *values, size_t rows);
    /* Rows that append() kept back become visible; NULL: it keeps none. */
    bool (*flush)(void *handle);
    /* All rows of the first table so far. Handles remember those they have read, if that helps. Valid until the next
     * call. */
    bool (*read)(void *handle, struct engine_copy *ret_copy);
    /* One moment of all tables, at which they could be read now. */
    bool (*cut)(void *handle);
};

extern const struct engine_kind engine_granary, engine_sqlite, engine_lmdb, engine_redis;

/* How they differ: engine.mode of a kind. granary's is a granary_durability. */
enum { SYNC_OFF, SYNC_NORMAL, SYNC_FULL };
enum { LMDB_NOSYNC = 1 };
enum { REDIS_PIPELINED = 1, REDIS_EVERYSEC = 2 };

/* Rows that a peer has copied so far; zero is none. */
struct engine_rows {
    int64_t *column[ENGINE_COLUMNS];
    size_t rows;
    size_t room;
};
/* Ends the process when out of memory. */
void engine_rows_add(struct engine_rows *rows, const int64_t values[ENGINE_COLUMNS]);
void engine_rows_show(const struct engine_rows *rows, struct engine_copy *ret_copy);
void engine_rows_free(struct engine_rows *rows);

#endif
