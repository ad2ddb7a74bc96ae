/* LMDB as an engine: a database a table, whose keys are the numbers of its rows. Present when granary was built with
 * it. */
#include "bench/bench.h"
#include "bench/mutable/engine.h"

#if GRANARY_BENCH_LMDB
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

#define MAP_SIZE ((size_t)16 << 30) /* of address space: what the file may grow to */

struct lmdb_handle {
    MDB_env *env;
    MDB_dbi tables[ENGINE_TABLES];
    MDB_txn *reader; /* renewed for each read */
    struct engine_rows rows;
};

static bool
lmdb_is_there(void)
{
    return true;
}

static bool
lmdb_good(int status)
{
    if (status != 0) {
        (void)fprintf(stderr, "granary: bench: LMDB: %s\n", mdb_strerror(status));
    }
    return status == 0;
}

static void
lmdb_close(void *handle)
{
    struct lmdb_handle *self = handle;

    if (self->reader != NULL) {
        mdb_txn_abort(self->reader);
    }
    if (self->env != NULL) {
        mdb_env_close(self->env);
    }
    engine_rows_free(&self->rows);
    free(self);
}

static int
lmdb_open_tables(struct lmdb_handle *self)
{
    MDB_txn *txn;
    int status = mdb_txn_begin(self->env, NULL, 0, &txn);

    if (status != 0) {
        return status;
    }
    for (unsigned i = 0; status == 0 && i < ENGINE_TABLES; i++) {
        char name[8];

        (void)snprintf(name, sizeof name, "t%u", i);
        status = mdb_dbi_open(txn, name, MDB_CREATE | MDB_INTEGERKEY, &self->tables[i]);
    }
    if (status != 0) {
        mdb_txn_abort(txn);
        return status;
    }
    status = mdb_txn_commit(txn);
    if (status == 0) {
        status = mdb_txn_begin(self->env, NULL, MDB_RDONLY, &self->reader);
    }
    if (status == 0) {
        mdb_txn_reset(self->reader);
    }
    return status;
}

static void *
lmdb_open(const struct engine *engine)
{
    const unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | (engine->mode == LMDB_NOSYNC ? MDB_NOSYNC : 0);
    struct lmdb_handle *self = calloc(1, sizeof *self);
    char path[128];
    int status;

    if (self == NULL) {
        return NULL;
    }
    (void)snprintf(path, sizeof path, "%s/db", engine->directory);
    status = mdb_env_create(&self->env);
    status = status == 0 ? mdb_env_set_mapsize(self->env, MAP_SIZE) : status;
    status = status == 0 ? mdb_env_set_maxdbs(self->env, ENGINE_TABLES) : status;
    status = status == 0 ? mdb_env_open(self->env, path, flags, 0600) : status;
    status = status == 0 ? lmdb_open_tables(self) : status;
    if (!lmdb_good(status)) {
        lmdb_close(self);
        return NULL;
    }
    return self;
}

/* The number of a table's newest row; 0: it has none. */
static int
lmdb_newest(MDB_cursor *cursor, uint64_t *ret_number)
{
    MDB_val key, value;
    int status = mdb_cursor_get(cursor, &key, &value, MDB_LAST);

    *ret_number = 0;
    if (status == 0) {
        memcpy(ret_number, key.mv_data, sizeof *ret_number);
    }
    return status == MDB_NOTFOUND ? 0 : status;
}

static int
lmdb_put_rows(MDB_cursor *cursor, const int64_t *values, size_t rows)
{
    uint64_t number;
    int status = lmdb_newest(cursor, &number);

    for (size_t row = 0; status == 0 && row < rows; row++) {
        MDB_val key = {sizeof number, &number};
        MDB_val value = {ENGINE_COLUMNS * sizeof(int64_t), NULL};

        number++;
        status = mdb_cursor_put(cursor, &key, &value, MDB_APPEND | MDB_RESERVE);
        for (unsigned i = 0; status == 0 && i < ENGINE_COLUMNS; i++) {
            memcpy((char *)value.mv_data + i * sizeof(int64_t), &values[i * rows + row], sizeof(int64_t));
        }
    }
    return status;
}

static bool
lmdb_append(void *handle, unsigned table, const int64_t *values, size_t rows)
{
    struct lmdb_handle *self = handle;
    MDB_cursor *cursor;
    MDB_txn *txn;
    int status = mdb_txn_begin(self->env, NULL, 0, &txn);

    if (!lmdb_good(status)) {
        return false;
    }
    status = mdb_cursor_open(txn, self->tables[table], &cursor);
    if (status == 0) {
        status = lmdb_put_rows(cursor, values, rows);
        mdb_cursor_close(cursor);
    }
    if (status != 0) {
        mdb_txn_abort(txn);
        return lmdb_good(status);
    }
    return lmdb_good(mdb_txn_commit(txn));
}

/* The rows behind those that were read. */
static int
lmdb_take_rows(struct lmdb_handle *self, MDB_cursor *cursor)
{
    uint64_t number = self->rows.rows + 1;
    MDB_val key = {sizeof number, &number};
    MDB_val value;
    int status = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);

    while (status == 0) {
        int64_t values[ENGINE_COLUMNS];

        memcpy(values, value.mv_data, sizeof values);
        engine_rows_add(&self->rows, values);
        status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    return status == MDB_NOTFOUND ? 0 : status;
}

static bool
lmdb_read(void *handle, struct engine_copy *ret_copy)
{
    struct lmdb_handle *self = handle;
    MDB_cursor *cursor;
    int status = mdb_txn_renew(self->reader);

    if (status == 0) {
        status = mdb_cursor_open(self->reader, self->tables[0], &cursor);
        if (status == 0) {
            status = lmdb_take_rows(self, cursor);
            mdb_cursor_close(cursor);
        }
        mdb_txn_reset(self->reader);
    }
    engine_rows_show(&self->rows, ret_copy);
    return lmdb_good(status);
}

/* A read transaction that has looked at each table. */
static bool
lmdb_cut(void *handle)
{
    struct lmdb_handle *self = handle;
    int status = mdb_txn_renew(self->reader);

    if (status != 0) {
        return lmdb_good(status);
    }
    for (unsigned i = 0; status == 0 && i < ENGINE_TABLES; i++) {
        MDB_cursor *cursor;
        uint64_t number;

        status = mdb_cursor_open(self->reader, self->tables[i], &cursor);
        if (status == 0) {
            status = lmdb_newest(cursor, &number);
            mdb_cursor_close(cursor);
        }
    }
    mdb_txn_reset(self->reader);
    return lmdb_good(status);
}

const struct engine_kind engine_lmdb = {.name = "LMDB",
                                        .looked_for = LMDB_PEER,
                                        .is_there = lmdb_is_there,
                                        .open = lmdb_open,
                                        .close = lmdb_close,
                                        .append = lmdb_append,
                                        .read = lmdb_read,
                                        .cut = lmdb_cut};
#else
static bool
lmdb_is_there(void)
{
    return false;
}

const struct engine_kind engine_lmdb = {.name = "LMDB", .looked_for = LMDB_PEER, .is_there = lmdb_is_there};
#endif
