/* See sqlite.h: SQLite's library is in this file alone. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "sqlite/sqlite.h"

#define BUSY_MS         2000
#define STEPS           1000000 /* of SQLite's machine, between looks at how many there were */
#define STEPS_MOST      20000   /* looks, of a view: some ten minutes */
#define STEPS_RECURSIVE 50      /* ... that is recursive: some seconds, or some million rows */
#define LISTED_MOST     20
#define MARGIN          16

struct gr_sqlite {
    sqlite3 *db;
    char *path;
    sqlite3_stmt *rows;
    bool ranged;
    bool is_view;
    bool recursive; /* a query that was prepared since gr_sqlite_begin() is */
    unsigned looks;
    int64_t number; /* of the current row, from 1 */
    char *text;     /* of the current values, each with its margins */
    size_t text_room;
    size_t columns;
    struct gr_sqlite_value *values;
};

/* ---- errors ---- */

static granary_err
fail(struct gr_sqlite *database, int status)
{
    const char *path = database->path;

    switch (status & 0xff) {
    case SQLITE_NOMEM:
        return gr_fail(GRANARY_ENOMEM, "%s: out of memory", path);
    case SQLITE_NOTADB:
        return gr_fail(GRANARY_EINVAL, "%s: is no SQLite database, or is encrypted", path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return gr_fail(GRANARY_EIO, "%s: a writer has locked it for more than %d s: read it when that is done", path,
                       BUSY_MS / 1000);
    case SQLITE_CORRUPT:
        return gr_fail(GRANARY_ECORRUPT, "%s: is damaged: %s", path, sqlite3_errmsg(database->db));
    case SQLITE_INTERRUPT:
        return gr_fail(GRANARY_EINVAL,
                       "%s: a view's query does not end soon: make a table of it, or read what it reads", path);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
        return gr_fail(GRANARY_EIO,
                       "%s: cannot be read by SQLite: %s; where a writer has died, open it once with sqlite3, in a "
                       "folder that can be written",
                       path, sqlite3_errmsg(database->db));
    case SQLITE_IOERR:
        return gr_fail(GRANARY_EIO, "%s: %s", path, sqlite3_errmsg(database->db));
    default:
        return gr_fail(GRANARY_EINVAL, "%s: %s", path, sqlite3_errmsg(database->db));
    }
}

/* ---- nothing is trusted ---- */

/* What a statement, or a view that it names, wants to do. */
static int
authorize(void *own, int action, const char *what, const char *name, const char *of, const char *by)
{
    struct gr_sqlite *database = own;

    (void)of;
    (void)by;
    switch (action) {
    case SQLITE_RECURSIVE:
        database->recursive = true;
        return SQLITE_OK;
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_TRANSACTION:
        return SQLITE_OK;
    case SQLITE_PRAGMA: /* what pragma_table_list asks when it is read */
        return what != NULL && strcasecmp(what, "table_list") == 0 ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
        return name != NULL && strcasecmp(name, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

static int
look(void *own)
{
    struct gr_sqlite *database = own;

    database->looks++;
    return database->is_view && database->looks > (database->recursive ? STEPS_RECURSIVE : STEPS_MOST);
}

static void
harden(struct gr_sqlite *database)
{
    (void)sqlite3_db_config(database->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(database->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(database->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    (void)sqlite3_limit(database->db, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_limit(database->db, SQLITE_LIMIT_WORKER_THREADS, 0);
    (void)sqlite3_exec(database->db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL);
    (void)sqlite3_busy_timeout(database->db, BUSY_MS);
    sqlite3_progress_handler(database->db, STEPS, look, database);
    (void)sqlite3_set_authorizer(database->db, authorize, database);
}

granary_err
gr_sqlite_open(const char *path, struct gr_sqlite **ret_database)
{
    struct gr_sqlite *database = calloc(1, sizeof *database);
    uint64_t stamp;
    granary_err err = gr_sqlite_stamp(path, &stamp);
    int status;

    if (err == GRANARY_OK && (database == NULL || (database->path = strdup(path)) == NULL)) {
        err = gr_fail(GRANARY_ENOMEM, "%s: out of memory", path);
    }
    if (err == GRANARY_OK) {
        status = sqlite3_open_v2(path, &database->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
        if (status == SQLITE_OK) {
            harden(database);
            status = sqlite3_exec(database->db, "SELECT 1 FROM sqlite_schema LIMIT 0", NULL, NULL, NULL);
        }
        err = status == SQLITE_OK ? GRANARY_OK : fail(database, status);
    }
    if (err != GRANARY_OK) {
        gr_sqlite_close(database);
        return err;
    }
    *ret_database = database;
    return GRANARY_OK;
}

void
gr_sqlite_close(struct gr_sqlite *database)
{
    if (database != NULL) {
        gr_sqlite_end(database);
        (void)sqlite3_close(database->db);
        free(database->path);
        free(database);
    }
}

/* ---- tables ---- */

/* A statement on the list of tables, which is ours, and asks for more than those of others may. */
static granary_err
prepare_list(struct gr_sqlite *database, const char *text, sqlite3_stmt **ret_statement)
{
    int status;

    *ret_statement = NULL;
    (void)sqlite3_set_authorizer(database->db, NULL, NULL);
    status = sqlite3_prepare_v2(database->db, text, -1, ret_statement, NULL);
    (void)sqlite3_set_authorizer(database->db, authorize, database);
    return status == SQLITE_OK ? GRANARY_OK : fail(database, status);
}

/* A statement. format: as sqlite3_mprintf() has it, with one name */
static granary_err
prepare(struct gr_sqlite *database, const char *format, const char *name, sqlite3_stmt **ret_statement)
{
    char *text = sqlite3_mprintf(format, name);
    int status;

    *ret_statement = NULL;
    if (text == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%s: out of memory", database->path);
    }
    status = sqlite3_prepare_v2(database->db, text, -1, ret_statement, NULL);
    sqlite3_free(text);
    return status == SQLITE_OK ? GRANARY_OK : fail(database, status);
}

static granary_err
no_table(struct gr_sqlite *database, const char *wanted, const struct gr_buf *names)
{
    if (wanted != NULL) {
        return gr_fail(GRANARY_ENOENT, "%s: has no table '%.100s'; it has: %.*s", database->path, wanted,
                       (int)names->size, names->size == 0 ? "" : names->bytes);
    }
    return names->size == 0 ? gr_fail(GRANARY_EINVAL, "%s: has no table", database->path)
                            : gr_fail(GRANARY_EINVAL, "%s: parameter 'table' must say which one; it has: %.*s",
                                      database->path, (int)names->size, names->bytes);
}

#define TABLES                                                                                                         \
    "SELECT name, type = 'view' FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view', "           \
    "'virtual') "                                                                                                      \
    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type = 'view', name COLLATE BINARY"

granary_err
gr_sqlite_find(struct gr_sqlite *database, const char *wanted, char **ret_table)
{
    sqlite3_stmt *statement = NULL;
    struct gr_buf names = {0};
    char *found = NULL;
    size_t counts[2] = {0, 0}; /* tables, views */
    int status = SQLITE_DONE;
    granary_err err = prepare_list(database, TABLES, &statement);

    while (err == GRANARY_OK && (status = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        bool is_view = sqlite3_column_int(statement, 1) != 0;
        bool is_it = name != NULL && (wanted != NULL ? strcasecmp(name, wanted) == 0 : counts[0] == 0 && !is_view);

        is_it = is_it || (wanted == NULL && is_view && counts[0] + counts[1] == 0);
        counts[is_view]++;
        if (is_it) {
            free(found);
            found = strdup(name);
            database->is_view = is_view;
        }
        if (counts[0] + counts[1] <= LISTED_MOST && name != NULL) {
            gr_buf_addf(&names, "%s%s", names.size == 0 ? "" : ", ", name);
        } else if (counts[0] + counts[1] == LISTED_MOST + 1) {
            gr_buf_addf(&names, ", ...");
        }
    }
    err = err == GRANARY_OK && status != SQLITE_DONE ? fail(database, status) : err;
    (void)sqlite3_finalize(statement);
    if (err == GRANARY_OK &&
        (found == NULL || (wanted == NULL && (counts[0] > 1 || (counts[0] == 0 && counts[1] > 1))))) {
        err = no_table(database, wanted, &names);
    }
    gr_buf_free(&names);
    if (err != GRANARY_OK) {
        free(found);
        return err;
    }
    *ret_table = found;
    return GRANARY_OK;
}

granary_err
gr_sqlite_columns(struct gr_sqlite *database, const char *table, struct gr_sqlite_column **ret_columns,
                  size_t *ret_count)
{
    sqlite3_stmt *statement = NULL;
    struct gr_sqlite_column *columns = NULL;
    size_t count = 0;
    granary_err err = prepare(database, "SELECT * FROM \"%w\" LIMIT 0", table, &statement);

    if (err == GRANARY_OK) {
        count = (size_t)sqlite3_column_count(statement);
        columns = calloc(count + 1, sizeof *columns);
        err = columns == NULL ? gr_fail(GRANARY_ENOMEM, "%s: out of memory", database->path) : GRANARY_OK;
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        const char *type = sqlite3_column_decltype(statement, (int)i);

        columns[i].name = strdup(sqlite3_column_name(statement, (int)i));
        columns[i].type = strdup(type == NULL ? "" : type);
        if (columns[i].name == NULL || columns[i].type == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "%s: out of memory", database->path);
        }
    }
    (void)sqlite3_finalize(statement);
    if (err != GRANARY_OK) {
        gr_sqlite_columns_free(columns, columns == NULL ? 0 : count);
        return err;
    }
    *ret_columns = columns;
    *ret_count = count;
    return GRANARY_OK;
}

void
gr_sqlite_columns_free(struct gr_sqlite_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(columns[i].name);
        free(columns[i].type);
    }
    free(columns);
}

enum gr_sqlite_affinity
gr_sqlite_affinity(const char *type)
{
    static const struct {
        const char *word;
        enum gr_sqlite_affinity affinity;
    } words[] = {
        /* the first that is found, as SQLite looks for them; before these, what other engines mean by a type */
        {"BOOL", GR_SQLITE_BOOL}, {"DATE", GR_SQLITE_DATE}, {"TIMESTAMP", GR_SQLITE_DATE}, {"INT", GR_SQLITE_INTEGER},
        {"CHAR", GR_SQLITE_TEXT}, {"CLOB", GR_SQLITE_TEXT}, {"TEXT", GR_SQLITE_TEXT},      {"REAL", GR_SQLITE_REAL},
        {"FLOA", GR_SQLITE_REAL}, {"DOUB", GR_SQLITE_REAL}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasestr(type, words[i].word) != NULL) {
            return words[i].affinity;
        }
    }
    return GR_SQLITE_ANY;
}

/* Whether rows have numbers, under a name that no column has. */
static granary_err
has_rowid(struct gr_sqlite *database, const char *table, bool *ret_has)
{
    sqlite3_stmt *statement = NULL;
    int status = SQLITE_DONE;
    granary_err err = prepare_list(
        database,
        "SELECT 1 FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND wr = 0 AND name = ?1 "
        "COLLATE NOCASE",
        &statement);

    *ret_has = false;
    if (err == GRANARY_OK) {
        (void)sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
        status = sqlite3_step(statement);
        *ret_has = status == SQLITE_ROW;
        err = status == SQLITE_ROW || status == SQLITE_DONE ? GRANARY_OK : fail(database, status);
    }
    (void)sqlite3_finalize(statement);
    return err;
}

/* Which of its names no column has; NULL: each is one's. */
static const char *
name_of_rowid(const struct gr_sqlite_column *columns, size_t count)
{
    static const char *const names[] = {"_rowid_", "rowid", "oid"};
    const char *found = NULL;

    for (size_t n = 0; n < 3 && found == NULL; n++) {
        found = names[n];
        for (size_t i = 0; i < count && found != NULL; i++) {
            found = strcasecmp(columns[i].name, names[n]) == 0 ? NULL : found;
        }
    }
    return found;
}

static granary_err
find_rowid(struct gr_sqlite *database, const char *table, const char **ret_name)
{
    struct gr_sqlite_column *columns = NULL;
    size_t count = 0;
    bool has = false;
    granary_err err = has_rowid(database, table, &has);

    err = err == GRANARY_OK ? gr_sqlite_columns(database, table, &columns, &count) : err;
    *ret_name = err == GRANARY_OK && has ? name_of_rowid(columns, count) : NULL;
    gr_sqlite_columns_free(columns, count);
    return err;
}

granary_err
gr_sqlite_extent(struct gr_sqlite *database, const char *table, bool *ret_ranged, int64_t *ret_least, int64_t *ret_most)
{
    sqlite3_stmt *statement = NULL;
    const char *name = NULL;
    char format[128];
    int status;
    granary_err err = find_rowid(database, table, &name);

    *ret_ranged = false;
    if (err != GRANARY_OK || name == NULL) {
        return err;
    }
    for (int end = 0; end < 2 && err == GRANARY_OK; end++) {
        (void)snprintf(format, sizeof format, "SELECT %s(%s) FROM \"%%w\"", end == 0 ? "min" : "max", name);
        err = prepare(database, format, table, &statement);
        status = err == GRANARY_OK ? sqlite3_step(statement) : SQLITE_DONE;
        if (err == GRANARY_OK && status != SQLITE_ROW) {
            err = fail(database, status);
        } else if (err == GRANARY_OK) {
            *ret_ranged = sqlite3_column_type(statement, 0) == SQLITE_INTEGER;
            *(end == 0 ? ret_least : ret_most) = sqlite3_column_int64(statement, 0);
        }
        (void)sqlite3_finalize(statement);
        statement = NULL;
    }
    return err;
}

/* ---- rows ---- */

static void
print_query(struct gr_buf *out, const char *table, char *const *columns, size_t count, const char *rowid, bool ranged)
{
    char *name;

    gr_buf_addf(out, "SELECT %s", rowid != NULL ? rowid : "0");
    for (size_t i = 0; i < count; i++) {
        name = sqlite3_mprintf(", \"%w\"", columns[i]);
        gr_buf_addf(out, "%s", name == NULL ? "" : name);
        sqlite3_free(name);
    }
    name = sqlite3_mprintf(" FROM \"%w\"", table);
    gr_buf_addf(out, "%s", name == NULL ? "" : name);
    sqlite3_free(name);
    if (ranged) {
        gr_buf_addf(out, " WHERE %s BETWEEN ?1 AND ?2", rowid);
    }
    if (rowid != NULL) {
        gr_buf_addf(out, " ORDER BY %s", rowid);
    }
}

granary_err
gr_sqlite_begin(struct gr_sqlite *database, const char *table, char *const *columns, size_t count,
                const struct gr_sqlite_range *range)
{
    const char *rowid = NULL;
    struct gr_buf text = {0};
    int status;
    granary_err err = find_rowid(database, table, &rowid);

    gr_sqlite_end(database);
    if (err != GRANARY_OK) {
        return err;
    }
    if (range->ranged && rowid == NULL) {
        return gr_fail(GRANARY_EIO, "%s: '%s' is other than when the graph was submitted; submit again", database->path,
                       table);
    }
    database->recursive = false;
    database->looks = 0;
    database->number = 0;
    database->ranged = rowid != NULL;
    database->columns = count;
    database->values = calloc(count + 1, sizeof *database->values);
    print_query(&text, table, columns, count, rowid, range->ranged);
    if (database->values == NULL || !gr_buf_ok(&text)) {
        err = gr_fail(GRANARY_ENOMEM, "%s: out of memory", database->path);
    } else {
        status = sqlite3_prepare_v2(database->db, text.bytes, (int)text.size, &database->rows, NULL);
        if (status == SQLITE_OK && range->ranged) {
            (void)sqlite3_bind_int64(database->rows, 1, range->from);
            (void)sqlite3_bind_int64(database->rows, 2, range->to);
        }
        err = status == SQLITE_OK ? GRANARY_OK : fail(database, status);
    }
    gr_buf_free(&text);
    return err;
}

/* Room for all texts of a row, with what may be read around each. */
static bool
has_room(struct gr_sqlite *database)
{
    size_t need = MARGIN;

    for (size_t i = 0; i < database->columns; i++) {
        int type = sqlite3_column_type(database->rows, (int)i + 1);

        need += type == SQLITE_TEXT || type == SQLITE_BLOB
                    ? (size_t)sqlite3_column_bytes(database->rows, (int)i + 1) + MARGIN
                    : 0;
    }
    if (need > database->text_room) {
        char *grown = realloc(database->text, 2 * need);

        if (grown == NULL) {
            return false;
        }
        database->text = grown;
        database->text_room = 2 * need;
    }
    return true;
}

static void
take_values(struct gr_sqlite *database)
{
    char *at = database->text + MARGIN;

    for (size_t i = 0; i < database->columns; i++) {
        struct gr_sqlite_value *value = &database->values[i];
        const void *bytes;

        switch (sqlite3_column_type(database->rows, (int)i + 1)) {
        case SQLITE_INTEGER:
            *value = (struct gr_sqlite_value){.kind = GR_SQLITE_INT64,
                                              .integer = sqlite3_column_int64(database->rows, (int)i + 1)};
            break;
        case SQLITE_FLOAT:
            *value = (struct gr_sqlite_value){.kind = GR_SQLITE_FLOAT64,
                                              .real = sqlite3_column_double(database->rows, (int)i + 1)};
            break;
        case SQLITE_TEXT:
        case SQLITE_BLOB:
            value->kind =
                sqlite3_column_type(database->rows, (int)i + 1) == SQLITE_TEXT ? GR_SQLITE_STRING : GR_SQLITE_BLOB;
            bytes = sqlite3_column_blob(database->rows, (int)i + 1);
            value->size = (size_t)sqlite3_column_bytes(database->rows, (int)i + 1);
            if (value->size > 0) {
                memcpy(at, bytes, value->size);
            }
            value->bytes = at;
            at += value->size + MARGIN;
            break;
        default:
            *value = (struct gr_sqlite_value){.kind = GR_SQLITE_NULL};
        }
    }
}

granary_err
gr_sqlite_next(struct gr_sqlite *database, bool *ret_row)
{
    int status = sqlite3_step(database->rows);

    *ret_row = status == SQLITE_ROW;
    if (status != SQLITE_ROW) {
        return status == SQLITE_DONE ? GRANARY_OK : fail(database, status);
    }
    database->number++;
    if (!has_room(database)) {
        return gr_fail(GRANARY_ENOMEM, "%s: out of memory", database->path);
    }
    take_values(database);
    return GRANARY_OK;
}

struct gr_sqlite_value
gr_sqlite_value(const struct gr_sqlite *database, size_t column)
{
    return database->values[column];
}

const char *
gr_sqlite_place(const struct gr_sqlite *database, char text[40])
{
    long long number = database->ranged ? sqlite3_column_int64(database->rows, 0) : database->number;

    (void)snprintf(text, 40, "%s %lld", database->ranged ? "rowid" : "row", number);
    return text;
}

void
gr_sqlite_end(struct gr_sqlite *database)
{
    (void)sqlite3_finalize(database->rows);
    database->rows = NULL;
    free(database->values);
    free(database->text);
    database->values = NULL;
    database->text = NULL;
    database->text_room = 0;
}
