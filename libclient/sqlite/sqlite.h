/*
 * SQLite databases that others have made, read through SQLite's library. A database is opened for reading alone, and nothing
 * in it is trusted: no extension is loaded, no file is attached, functions with effects cannot be called by a view, and a
 * view whose query does not end is given up.
 */
#ifndef SQLITE_SQLITE_H
#define SQLITE_SQLITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

struct gr_sqlite;

/*
 * What a database is told by: sizes and times of the file and of its log (-wal), which has what was committed last. A log
 * without a byte is none. Errors: ENOENT, EPERM, ...; EINVAL no regular file
 */
granary_err gr_sqlite_stamp(const char *path, uint64_t *ret_stamp);

/* One thread at a time. Errors: as gr_sqlite_stamp() · EINVAL it is no database, or encrypted · ECORRUPT · EIO · ENOMEM;
 * the message has the path */
granary_err gr_sqlite_open(const char *path, struct gr_sqlite **ret_database);
void gr_sqlite_close(struct gr_sqlite *database); /* NULL is fine */

/*
 * The table of that name. wanted NULL: the only one, or where there is none, the only view.
 * Errors: ENOENT there is none of that name; EINVAL there are several, or none; the message lists them
 */
granary_err gr_sqlite_find(struct gr_sqlite *database, const char *wanted, char **ret_table);

/* Names of the columns in their order, and their types as declared ("" without); to be freed with gr_sqlite_columns_free() */
struct gr_sqlite_column {
    char *name;
    char *type;
};
granary_err gr_sqlite_columns(struct gr_sqlite *database, const char *table, struct gr_sqlite_column **ret_columns,
                              size_t *ret_count);
void gr_sqlite_columns_free(struct gr_sqlite_column *columns, size_t count);

/* How values of a column are, as its type says. */
enum gr_sqlite_affinity {
    GR_SQLITE_ANY, /* the values decide */
    GR_SQLITE_INTEGER,
    GR_SQLITE_REAL,
    GR_SQLITE_TEXT,
    GR_SQLITE_DATE, /* the values decide: texts may be dates and timestamps */
    GR_SQLITE_BOOL, /* the values decide: 0 and 1 may be bools */
};
enum gr_sqlite_affinity gr_sqlite_affinity(const char *type);

/* The least and the greatest rowid. *ret_ranged false: it has none (views, WITHOUT ROWID), or no row */
granary_err gr_sqlite_extent(struct gr_sqlite *database, const char *table, bool *ret_ranged, int64_t *ret_least,
                             int64_t *ret_most);

/* ---- rows ---- */

enum gr_sqlite_kind { GR_SQLITE_NULL, GR_SQLITE_INT64, GR_SQLITE_FLOAT64, GR_SQLITE_STRING, GR_SQLITE_BLOB };

/* A value of the current row; bytes are good until the next one. */
struct gr_sqlite_value {
    enum gr_sqlite_kind kind;
    int64_t integer;
    double real;
    const char *bytes; /* of STRING and BLOB; 16 bytes before and behind them can be read */
    size_t size;
};

/* Which rows. */
struct gr_sqlite_range {
    bool ranged;
    int64_t from; /* rowid */
    int64_t to;   /* the last one */
};

/* Begin to read columns of rows, in the order of rowid. Until the end nobody changes what is read. count 0: only rows */
granary_err gr_sqlite_begin(struct gr_sqlite *database, const char *table, char *const *columns, size_t count,
                            const struct gr_sqlite_range *range);
/* The next row. *ret_row: there is one */
granary_err gr_sqlite_next(struct gr_sqlite *database, bool *ret_row);
struct gr_sqlite_value gr_sqlite_value(const struct gr_sqlite *database, size_t column);
/* "row 7", or "rowid 7", into text. Returns it. */
const char *gr_sqlite_place(const struct gr_sqlite *database, char text[40]);
void gr_sqlite_end(struct gr_sqlite *database);

#endif
