/*
 * Listings: rows of one struct, as a table for people or as JSON for programs. A table of columns says what both print:
 *
 *      static const struct column columns[] = {
 *          {"client", "client", 6, COLUMN(granary_client_info, number)},
 *          {"since_ms", "age", 8, COLUMN(granary_client_info, since_ms), .as = COLUMN_AS_AGE},
 *          {NULL, "state", 0, .show = client_state},
 *          {0}};
 */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include <stddef.h>

#include "cli/print/json.h"
#include "cli/print/show.h"

enum column_kind {
    COLUMN_TEXT = 1,
    COLUMN_POINTER,
    COLUMN_BOOL,
    COLUMN_UNSIGNED,
    COLUMN_SIGNED,
    COLUMN_REAL,
    COLUMN_ID
};

/* How people see a number; programs see it as it is. */
enum column_as { COLUMN_AS_IT_IS, COLUMN_AS_AGE, COLUMN_AS_TIME, COLUMN_AS_SIZE };

struct column {
    const char *key;     /* of a member in JSON; NULL: it is for people alone */
    const char *heading; /* in a table, or "" in one without headings; NULL: it is for programs alone */
    int width;           /* of the table's column; negative: to the left. 0: it is the last one */
    enum column_kind kind;
    size_t offset, size; /* of the field */
    enum column_as as;
    const char *const *words; /* what the field's value is called; NULL: nothing */
    size_t word_count;
    /* Instead of the field: the text of a row. It is buffer, or lives as long as the row. */
    const char *(*show)(const void *row, char buffer[SHOW_TEXT]);
    /* Instead of a member: what a row has in JSON, if anything. */
    void (*write)(const void *row, struct json *json);
};

#define COLUMN_KIND(type, member)                                                                                      \
    _Generic(((type *)NULL)->member,                                                                                       \
             bool: COLUMN_BOOL,                                                                                        \
             float: COLUMN_REAL,                                                                                       \
             double: COLUMN_REAL,                                                                                      \
             unsigned char: COLUMN_UNSIGNED,                                                                           \
             unsigned short: COLUMN_UNSIGNED,                                                                          \
             unsigned: COLUMN_UNSIGNED,                                                                                \
             unsigned long: COLUMN_UNSIGNED,                                                                           \
             int: COLUMN_SIGNED,                                                                                       \
             long: COLUMN_SIGNED,                                                                                      \
             char *: COLUMN_TEXT,                                                                                      \
             const char *: COLUMN_POINTER,                                                                             \
             granary_id: COLUMN_ID)
/* A field: its type is its kind. A text is an array of characters or a const char *. */
#define COLUMN(type, member)                                                                                           \
    .kind = COLUMN_KIND(type, member), .offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)

/* An enumeration's names by value; a value without one is "?". */
#define COLUMN_WORDS(names) .words = (names), .word_count = sizeof(names) / sizeof(names)[0]

struct listing {
    const struct column *columns;
    bool is_json;
    struct json json;
};

/* The heading, or the beginning of an array. Zero is the state before. */
void listing_begin(struct listing *listing, const struct column *columns, bool is_json);
void listing_row(struct listing *listing, const void *row);
void listing_end(struct listing *listing);
/* A row alone on a line, without a heading; or as an object in JSON, on a line, too. */
void listing_one(const struct column *columns, bool is_json, const void *row);
/* A row as an object: a member of what is open. */
void listing_object(struct json *json, const char *key, const struct column *columns, const void *row);
/* Its members alone, into the object that is open. */
void listing_members(struct json *json, const struct column *columns, const void *row);
/* An array of structs as a member. */
void listing_array(struct json *json, const char *key, const struct column *columns, const void *rows, size_t count,
                   size_t row_size);
/* All of an array of structs. */
void listing_print(const struct column *columns, bool is_json, const void *rows, size_t count, size_t row_size);

#endif
