/* A JSON list of records as lines of them. */
#ifndef DATA_TEXT_ARRAY_H
#define DATA_TEXT_ARRAY_H

#include <stdint.h>

#include "base/text/buf.h"

/* Zero is before the list. */
struct gr_array {
    bool begun;    /* behind the bracket that begins it */
    bool ended;    /* behind the one that ends it */
    bool wanted;   /* a comma was there: a record must follow */
    bool complete; /* a record is whole: a comma or the end must follow */
    bool in_text;  /* of a record, between quotes */
    bool escaped;  /* a backslash was there */
    bool within;   /* a record */
    int64_t depth; /* brackets within it that are open */
    uint64_t line; /* line feeds read */
    uint64_t told; /* line feeds written */
};

/* Whether a text is a list: it begins with a bracket. */
bool gr_array_is(const char *bytes, size_t size);

/*
 * Append the records, each on a line of its own: on the line where it begins, unless there is more than one. last: nothing
 * follows. Returns NULL, or what is wrong, in line array->line + 1.
 */
const char *gr_array_lines(struct gr_array *array, const char *bytes, size_t size, bool last, struct gr_buf *out);

#endif
