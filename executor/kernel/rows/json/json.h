/* Inside rows: JSON in texts, read where it lies. In this folder only. */
#ifndef KERNEL_ROWS_JSON_H
#define KERNEL_ROWS_JSON_H

#include "base/text/buf.h"
#include "kernel/rows/rows.h"

enum json_checked { JSON_GOOD, JSON_BROKEN, JSON_DEEP };

/* Whether a text is one value, as RFC 8259 has it and DuckDB reads it: a comma before the end of an array or object, inf
 * and nan are fine. JSON_DEEP: it may be, but is nested deeper than JSON_DEPTH_MOST. */
enum { JSON_DEPTH_MOST = 16384 };
enum json_checked json_check(const struct rows_text *text);

/* A path as written; or, without a text, an item. */
struct json_path {
    struct rows_text text;
    bool is_index;
    int64_t index; /* negative: from the end */
};

/* Whether it is a path to one value. */
bool json_path_check(const struct json_path *path);

/* What the next functions read has passed json_check(). */

/* Where the value of a path begins; *ret_size: its bytes. NULL: it is not there. */
const char *json_find(const struct rows_text *text, const struct json_path *path, size_t *ret_size);

/* The items of an array, or members of an object, one by one: *at is where it begins, and then where the next one does.
 * ret_key: its member's name in quotes. false: there are no more. */
struct json_walk {
    const char *at;
    const char *end;
    bool is_object;
};
struct json_walk json_walk_begin(const char *value, size_t size);
bool json_walk_next(struct json_walk *walk, struct rows_text *ret_key, struct rows_text *ret_value);

/* What json_type() says. */
const char *json_type_of(const char *value, size_t size);

/* A string in quotes as the text that it says. */
void json_add_said(const char *string, size_t size, struct gr_buf *out);
/* A value of a column of strings, bools or numbers. */
void json_add_cell(const granary_column *column, int64_t i, struct gr_buf *out);
/* A value without blanks, its strings and numbers in one form each. */
void json_add_value(const char *value, size_t size, struct gr_buf *out);

#endif
