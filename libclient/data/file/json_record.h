/*
 * A record of JSON lines (RFC 8259, an object on a line): its values one after another, under dotted names. Objects
 * within it have no values of their own; a list is one value, its text. Numbers stay as they are written, so none loses
 * a digit.
 */
#ifndef DATA_FILE_JSON_RECORD_H
#define DATA_FILE_JSON_RECORD_H

#include "base/text/buf.h"
#include "data/texts.h"

#define GR_JSON_NAMES_MAX 16384 /* different ones in all records */

enum gr_json_kind { GR_JSON_NULL, GR_JSON_BOOL, GR_JSON_NUMBER, GR_JSON_STRING, GR_JSON_LIST };

struct gr_json_value {
    uint32_t name; /* its number in gr_json_records.names */
    enum gr_json_kind kind;
    const char
        *bytes; /* its text: of a string without quotes and escapes. 16 bytes around it may be read if they may be
                        * around the line. Valid until the next value */
    size_t size;
};

/* The records of a text. All zero: none yet. */
struct gr_json_records {
    struct gr_texts names; /* "a", "a.b": of values and of objects, as they were first seen */
    uint64_t *seen;        /* by name: the record that last had it */
    size_t seen_room;
    uint64_t count;
    struct gr_buf path;    /* the name that is being read */
    struct gr_buf scratch; /* a string whose escapes had to be taken out */
};

typedef granary_err gr_json_take(void *to, const struct gr_json_value *value);

void gr_json_records_free(struct gr_json_records *records);

/*
 * Read a line, and hand each of its values to `take`. A blank line has none and is no record.
 * Errors: EINVAL no object, not UTF-8, not JSON, a name twice, more than GR_JSON_NAMES_MAX names, nested too deep; the
 * message tells the byte · ENOMEM · those of take
 */
granary_err gr_json_record(struct gr_json_records *records, const char *line, size_t size, gr_json_take *take, void *to,
                           bool *ret_is_record);

/*
 * The items of a list, whose text this is: as take() got it. An object or a list in it is GR_JSON_LIST, its text; names
 * are GR_TEXTS_NONE. May be called by take(). Errors: as gr_json_record()
 */
granary_err
gr_json_items(struct gr_json_records *records, const char *bytes, size_t size, gr_json_take *take, void *to);

/* Flag the names under which others lie: "a" and "a.b" of "a.b.c". A column of such a name that is never more than null
 * is none. */
void gr_json_mark_objects(const struct gr_texts *names, bool *ret_flags);

#endif
