/*
 * SQLite as an engine: a database in WAL mode, one connection a handle, statements prepared once. The library is loaded
 * when it is asked for, so that other commands of granary start without it.
 */
#include <dlfcn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/mutable/engine.h"

#define LIBRARY "libsqlite3.so.0"

/* The functions of the library, by their names. */
#define SQLITE_FUNCTIONS(CALL)                                                                                         \
    CALL(open_v2)                                                                                                      \
    CALL(close)                                                                                                        \
    CALL(errmsg)                                                                                                       \
    CALL(busy_timeout)                                                                                                 \
    CALL(exec)                                                                                                         \
    CALL(prepare_v2)                                                                                                   \
    CALL(bind_int64)                                                                                                   \
    CALL(step)                                                                                                         \
    CALL(reset)                                                                                                        \
    CALL(finalize)                                                                                                     \
    CALL(column_int64)

static struct {
#define MEMBER(name) __typeof__(sqlite3_##name) *name;
    SQLITE_FUNCTIONS(MEMBER)
#undef MEMBER
} sqlite;

struct sqlite_handle {
    sqlite3 *db;
    sqlite3_stmt *insert[ENGINE_TABLES];
    sqlite3_stmt *newest[ENGINE_TABLES];
    sqlite3_stmt *select; /* the rows behind a number */
    struct engine_rows rows;
};

static bool
sqlite_is_there(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* stays until the process ends */

    if (library == NULL) {
        return false;
    }
#define FIND(name) *(void **)&sqlite.name = dlsym(library, "sqlite3_" #name);
    SQLITE_FUNCTIONS(FIND)
#undef FIND
#define FOUND(name) &&sqlite.name != NULL
    return true SQLITE_FUNCTIONS(FOUND);
#undef FOUND
}

/* Errors of a handle's calls. */
static bool
sqlite_good(const struct sqlite_handle *self, int code)
{
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
        (void)fprintf(stderr, "granary: bench: SQLite: %s\n", sqlite.errmsg(self->db));
        return false;
    }
    return true;
}

static bool
sqlite_do(const struct sqlite_handle *self, const char *text)
{
    return sqlite_good(self, sqlite.exec(self->db, text, NULL, NULL, NULL));
}

static bool
sqlite_prepare(const struct sqlite_handle *self, sqlite3_stmt **ret_statement, const char *text, unsigned table)
{
    char whole[160];

    (void)snprintf(whole, sizeof whole, text, table);
    return sqlite_good(self, sqlite.prepare_v2(self->db, whole, -1, ret_statement, NULL));
}

static void
sqlite_close(void *handle)
{
    struct sqlite_handle *self = handle;

    for (unsigned i = 0; i < ENGINE_TABLES; i++) {
        (void)sqlite.finalize(self->insert[i]);
        (void)sqlite.finalize(self->newest[i]);
    }
    (void)sqlite.finalize(self->select);
    (void)sqlite.close(self->db);
    engine_rows_free(&self->rows);
    free(self);
}

static bool
sqlite_set_up(struct sqlite_handle *self, const struct engine *engine)
{
    static const char *const modes[] = {
        [SYNC_OFF] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF",
        [SYNC_NORMAL] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
        [SYNC_FULL] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
    };
    bool good;

    (void)sqlite.busy_timeout(self->db, 10000); /* its writers take turns */
    good = sqlite_do(self, modes[engine->mode]);
    for (unsigned i = 0; good && i < ENGINE_TABLES; i++) {
        char text[128];

        (void)snprintf(text, sizeof text, "CREATE TABLE IF NOT EXISTS t%u (c0, c1, c2, c3, c4, c5, c6, c7)", i);
        good = sqlite_do(self, text) &&
               sqlite_prepare(self, &self->insert[i], "INSERT INTO t%u VALUES (?, ?, ?, ?, ?, ?, ?, ?)", i) &&
               sqlite_prepare(self, &self->newest[i], "SELECT max(rowid) FROM t%u", i);
    }
    return good && sqlite_prepare(self, &self->select, "SELECT * FROM t%u WHERE rowid > ? ORDER BY rowid", 0);
}

static void *
sqlite_open(const struct engine *engine)
{
    struct sqlite_handle *self = calloc(1, sizeof *self);
    char path[128];

    if (self == NULL) {
        return NULL;
    }
    (void)snprintf(path, sizeof path, "%s/db", engine->directory);
    if (!sqlite_good(self, sqlite.open_v2(path, &self->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL)) ||
        !sqlite_set_up(self, engine)) {
        sqlite_close(self);
        return NULL;
    }
    return self;
}

static bool
sqlite_step(const struct sqlite_handle *self, sqlite3_stmt *statement)
{
    bool good = sqlite_good(self, sqlite.step(statement));

    (void)sqlite.reset(statement);
    return good;
}

static bool
sqlite_append(void *handle, unsigned table, const int64_t *values, size_t rows)
{
    struct sqlite_handle *self = handle;
    bool good = rows == 1 || sqlite_do(self, "BEGIN IMMEDIATE");

    for (size_t row = 0; good && row < rows; row++) {
        for (unsigned i = 0; i < ENGINE_COLUMNS; i++) {
            (void)sqlite.bind_int64(self->insert[table], (int)i + 1, values[i * rows + row]);
        }
        good = sqlite_step(self, self->insert[table]);
    }
    return good && (rows == 1 || sqlite_do(self, "COMMIT"));
}

static bool
sqlite_read(void *handle, struct engine_copy *ret_copy)
{
    struct sqlite_handle *self = handle;
    int code;

    (void)sqlite.bind_int64(self->select, 1, (int64_t)self->rows.rows); /* rows are numbered from 1 on */
    while ((code = sqlite.step(self->select)) == SQLITE_ROW) {
        int64_t values[ENGINE_COLUMNS];

        for (unsigned i = 0; i < ENGINE_COLUMNS; i++) {
            values[i] = sqlite.column_int64(self->select, (int)i);
        }
        engine_rows_add(&self->rows, values);
    }
    (void)sqlite.reset(self->select);
    engine_rows_show(&self->rows, ret_copy);
    return sqlite_good(self, code);
}

/* A read transaction that has looked at each table. */
static bool
sqlite_cut(void *handle)
{
    struct sqlite_handle *self = handle;
    bool good = sqlite_do(self, "BEGIN");

    for (unsigned i = 0; good && i < ENGINE_TABLES; i++) {
        good = sqlite_step(self, self->newest[i]);
    }
    return good && sqlite_do(self, "COMMIT");
}

const struct engine_kind engine_sqlite = {.name = "SQLite",
                                          .looked_for = "SQLite (" LIBRARY ")",
                                          .is_there = sqlite_is_there,
                                          .open = sqlite_open,
                                          .close = sqlite_close,
                                          .append = sqlite_append,
                                          .read = sqlite_read,
                                          .cut = sqlite_cut};
