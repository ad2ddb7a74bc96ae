/* Within the room: what FROM names. */
#ifndef SQL_TABLE_H
#define SQL_TABLE_H

#include "sql/block.h"

struct sql_table {
    const char *name;
    bool has_time;
    int64_t time;
    const struct sql_file *file; /* as it is read; or NULL */
    bool is_part;                /* a condition has left out files of it */
    granary_node node;
    double rows;
    const char **columns;
    size_t count;
    bool numbered;         /* they are c0, c1, ... of text without a header */
    struct sql_with *view; /* it is one, and has none of these; or NULL */
    struct sql_table *next;
};

/* ---- table.c ---- */

bool sql_table_add_column(struct sql_statement *q, struct sql_table *table, const char *name);

/* ---- table_file.c ---- */

/* Whether the name's ending tells that it is a file with rows, which can be read or not; or it is that of many files. */
bool sql_is_file(const char *name);
bool sql_is_folder(const char *name);
/* Fail: a path whose ending does not tell what is in the file. */
bool sql_no_format(struct sql_statement *q, const struct sql_from *from);

/*
 * Files as a table. Of a folder whose folders are columns, files are not opened whose rows all fail a condition on these.
 *
 * alias  what names of columns may have before them; NULL: nothing
 * where  what all rows of the table must pass that are to be there; or NULL
 */
bool sql_open_file(struct sql_statement *q, const struct sql_from *from, const char *alias, struct sql_expr *where,
                   struct sql_table *table);

#endif
