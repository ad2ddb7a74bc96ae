/*
 * granary: facts of the scheduler as tables: executors, schedulers, bands, graphs, subtasks, chunks, functions ...
 * include/contract/subjects.def lists the subjects and their fields. docs/operations.md explains them.
 */
#ifndef GRANARY_INFO_H
#define GRANARY_INFO_H

#include "granary/store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct granary_query {
    const char *subject;     /* "executors", "graphs", ... */
    const char *const *keys; /* which rows; NULL: all */
    size_t key_count;
    const char *const *fields; /* which columns, in this order; NULL: all */
    size_t field_count;
    uint64_t cursor;     /* 0: the first page; then granary_table_cursor() of the page before */
    uint32_t limit;      /* rows of a page; 0: 1000 */
    bool ignore_missing; /* keys that are not there are left out, instead of ENOENT */
    /* Wait until the subject's version is higher than this, so that no change is missed between two calls; 0: at once.
     */
    uint64_t since_version;
    int timeout_ms; /* for that; GRANARY_FOREVER */
} granary_query;

/* A page of rows, and the caller's. It does not change, so any thread may read it. */
typedef struct granary_table granary_table;

/*
 * Ask the scheduler for a table, or wait for a change of it. Any thread may ask.
 *
 * ret_table  to be freed by granary_table_free(); needs the client no more
 * Errors     EINVAL an unknown subject or field (the message names those there are) · ENOENT a key is not there (it
 *            names which) · ETIMEDOUT nothing changed · EUNREACHABLE
 */
GRANARY_API granary_err granary_info(granary_client *client, const granary_query *query, granary_table **ret_table);
/* table may be NULL. */
GRANARY_API void granary_table_free(granary_table *table);

/* How many rows the page has. */
GRANARY_API size_t granary_table_rows(const granary_table *table);
/* How many fields each of them has. */
GRANARY_API size_t granary_table_fields(const granary_table *table);
/* A field's name, valid as long as the table. */
GRANARY_API const char *granary_table_field(const granary_table *table, size_t field);
/* Where the next page begins, for granary_query; 0: there is none. */
GRANARY_API uint64_t granary_table_cursor(const granary_table *table);
/* Of the subject, for since_version. */
GRANARY_API uint64_t granary_table_version(const granary_table *table);

typedef enum granary_cell_kind { GRANARY_CELL_INT = 1, GRANARY_CELL_REAL = 2, GRANARY_CELL_TEXT = 3 } granary_cell_kind;
typedef struct granary_cell_value {
    granary_cell_kind kind;
    int64_t integer;
    double real;
    const char *text;
} granary_cell_value;
/* A cell; its text is valid as long as the table. Out of range: an empty text. */
GRANARY_API granary_cell_value granary_table_cell(const granary_table *table, size_t row, size_t field);
/* A whole number by its field's name; 0 when there is none. */
GRANARY_API int64_t granary_table_int(const granary_table *table, size_t row, const char *field);
/* A number by its field's name; 0 when there is none. */
GRANARY_API double granary_table_real(const granary_table *table, size_t row, const char *field);
/* A text by its field's name; "" when there is none. Valid as long as the table. */
GRANARY_API const char *granary_table_text(const granary_table *table, size_t row, const char *field);

/* Rows of a subject, by its keys or all: how many executors, schedulers, ... there are. Errors: as granary_info() */
GRANARY_API granary_err granary_count(granary_client *client, const char *subject, uint64_t *ret_count);

/*
 * Explain as text why something waits. There is one line for each link of the chain: what it waits for, the holder,
 * and since when.
 *
 * subject   a graph's key, KEY/SUBTASK, or an object's id
 * ret_text  to be freed with free()
 * Errors    ENOENT there is no such thing · EUNREACHABLE · ENOMEM
 */
GRANARY_API granary_err granary_why(granary_client *client, const char *subject, char **ret_text);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_info,
                (granary_client * client, const granary_query *query, granary_table **ret_table),
                (client, query, ret_table), granary_query);

#ifdef __cplusplus
}
#endif
#endif
