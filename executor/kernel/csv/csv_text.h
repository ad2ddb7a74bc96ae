/*
 * A range of a CSV file, and its records field by field. One reader at a time; the text is a copy, so a file that
 * shrinks meanwhile is an error and no SIGBUS.
 */
#ifndef KERNEL_CSV_CSV_TEXT_H
#define KERNEL_CSV_CSV_TEXT_H

#include <stdbool.h>
#include <string.h>

#include "kernel/core/call.h"
#include "kernel/simd/csv.h"

/* How values are written (csv_style.h). */
struct csv_style {
    bool is_other; /* than most are */
    char decimal;
    char thousands;          /* '\0': none */
    const char *date_format; /* borrowed from the operator; NULL: as ISO 8601 */
    const char *timestamp_format;
};

struct csv_text {
    const char *path; /* borrowed from the operator */
    char delimiter;
    struct csv_style style;
    char *memory;           /* of owned, with CSV_PADDING bytes before and behind the text */
    char *owned;            /* the bytes read, a '\n' behind them */
    const char *begin;      /* behind a byte order mark */
    const char *end;        /* *end == '\n' */
    size_t behind;          /* bytes of the file behind the text that were read as well, the first of them replaced */
    char end_byte;          /* what was at end */
    struct csv_looks looks; /* from owned to end */
    bool is_first;          /* it begins with the file */
    size_t mark_bytes;      /* of the byte order mark at the file's start: 0 or 3 */
    char *const *nulls;     /* texts that mean null */
    size_t null_count;
    uint64_t null_sizes;   /* bit n: some null text has n bytes (63: 63 or more) */
    bool null_firsts[256]; /* bytes with which one begins */
    /* reading */
    const char *at;
    const char *record;    /* where the record began */
    struct gr_buf scratch; /* a field whose quotes had to be taken out */
    bool stops[256];       /* ends a field without quotes */
};

/* Read the range an operator names, and as many bytes behind it as it says; of a packed file its input. Errors: EINVAL no
 * regular file, bad delimiter · ENOENT, EPERM, EIO, ENOMEM · ETYPE the input is something else */
granary_err csv_text_open(const struct gr_kernel_call *call, const struct gr_csv_params *params, int64_t behind,
                          struct csv_text *ret_text);
void csv_text_close(struct csv_text *text);

/* Line feeds between the range's first byte and a place in it. */
uint64_t csv_text_line(const struct csv_text *text, const char *place);
/* What is said then, and what to do. */
/* The first byte that is not UTF-8, or NULL. */
const char *csv_text_not_utf8(const struct csv_text *text);

struct csv_field {
    const char *bytes; /* valid until the next field is read; 16 bytes behind them may be read */
    size_t size;
    bool last;      /* of its record */
    bool quoted;    /* it began with a quote */
    bool unclosed;  /* its quotes do not end; it is the last of all */
    bool no_memory; /* as unclosed */
};

/* Go to the next record: false when there is none. */
bool csv_record_next(struct csv_text *text);

/* The next field when it begins with a quote. */
void csv_field_quoted(struct csv_text *text, struct csv_field *ret_field);

/* Step behind what ends a field at place: a delimiter, a line end, the end of the text. */
static inline void
csv_field_end(struct csv_text *text, const char *place, struct csv_field *field)
{
    field->last = place == text->end || *place != text->delimiter;
    if (place < text->end && *place == '\r' && place + 1 < text->end && place[1] == '\n') {
        place++;
    }
    text->at = place < text->end ? place + 1 : place;
}

/* The next field of the record. */
static inline void
csv_field_next(struct csv_text *text, struct csv_field *ret_field)
{
    const char *p = text->at;

    ret_field->unclosed = false;
    ret_field->no_memory = false;
    ret_field->quoted = *p == '"' && p < text->end;
    if (ret_field->quoted) {
        csv_field_quoted(text, ret_field);
        return;
    }
    while (!text->stops[(unsigned char)*p]) { /* the '\n' at end stops it */
        p++;
    }
    ret_field->bytes = text->at;
    ret_field->size = (size_t)(p - text->at);
    csv_field_end(text, p, ret_field);
}

enum { CSV_LINE_BYTES = 64 };

/* What stands behind a file's name for a line. from: the byte from which lines are counted; 0: from the first. Returns text. */
const char *csv_print_line(uint64_t line, int64_t from, char text[CSV_LINE_BYTES]);

/* Whether a field's text means null. */
static inline bool
csv_is_null(const struct csv_text *text, const char *bytes, size_t size)
{
    if ((text->null_sizes >> (size < 63 ? size : 63) & 1) == 0 ||
        (size > 0 && !text->null_firsts[(unsigned char)bytes[0]])) {
        return false;
    }
    for (size_t i = 0; i < text->null_count; i++) {
        if (strlen(text->nulls[i]) == size && memcmp(text->nulls[i], bytes, size) == 0) {
            return true;
        }
    }
    return false;
}

#endif
