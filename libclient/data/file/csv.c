/* Text in columns. A sketch is the header, and a guess of the rows; whether the file is good is said when it is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "contract/ops/csv_list.h"
#include "data/file/format.h"
#include "data/file/guess.h"
#include "data/file/names.h"
#include "data/print/print.h"
#include "data/text/header.h"
#include "data/text/sniff.h"
#include "data/value/utf8.h"

#define HEADER_MAX ((size_t)4 << 20)
#define ROW_BYTES  100 /* about */
#define SNIFF      ((size_t)64 << 10)

static bool
ends_field(const char *p, const char *end, char delimiter)
{
    return p == end || *p == delimiter || *p == '\n' || *p == '\r';
}

/* One field from *at on, its quotes taken out into text. Returns what ended it: the delimiter, a line end, or 0. */
static char
next_field(const char **at, const char *end, char delimiter, char *text)
{
    const char *p = *at;
    char *begin = text;
    char stop = 0;

    if (p < end && *p == '"') {
        for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
            *text = *p;
            text += *p != '\0';
            p += *p == '"'; /* the other of two */
        }
        p += p < end;
        while (!ends_field(p, end, delimiter) && *p == ' ') {
            p++;
        }
        if (!ends_field(p, end, delimiter)) { /* with text behind its quotes it is as it stands */
            text = begin;
            for (const char *from = *at; from < p; from++) {
                *text = *from;
                text += *from != '\0';
            }
        }
    }
    while (!ends_field(p, end, delimiter)) {
        *text = *p;
        text += *p++ != '\0';
    }
    if (p < end) {
        stop = *p++;
    }
    *text = '\0';
    *at = p;
    return stop;
}

/* As the scheduler will find it (tile/file/csv.c). */
static bool
has_header(const char *bytes, size_t size, const struct gr_dialect *dialect, const struct gr_sniffed *sniffed,
           const struct gr_sketch *sketch)
{
    struct gr_header_style style = {.decimal = '.'};

    if (sketch->style != NULL) {
        style = *sketch->style;
    }
    style.delimiter = gr_dialect_delimiter(dialect);
    if (sketch->sniffed && style.decimal == '.' && style.thousands == '\0') {
        style.decimal = sniffed->decimal[0];
        style.thousands = sniffed->thousands[0];
    }
    return sketch->header == GR_HEADER_YES ||
           (sketch->header == GR_HEADER_GUESS && gr_header_guess(bytes, size, &style, NULL) != GR_GUESS_NONE);
}

static granary_err
tell_column(const char *path, size_t position, const char *text, struct gr_texts *names, struct gr_sketch *sketch)
{
    char *name = NULL;
    granary_err err;

    if (utf8_first_invalid(text, strlen(text)) != NULL) { /* only text can stand in a statement */
        return gr_fail(GRANARY_EINVAL, "%s:1: %s", path, GR_CSV_NOT_UTF8);
    }
    err = gr_column_name(names, position, text, strlen(text), &name);
    err = err == GRANARY_OK ? sketch->column(sketch, name) : err;
    free(name);
    return err;
}

static granary_err
sketch_list(struct gr_sketch *sketch)
{
    granary_err err = GRANARY_OK;

#define COLUMN(name, dtype) err = err == GRANARY_OK ? sketch->column(sketch, #name) : err;
    GR_CSV_LIST(COLUMN)
#undef COLUMN
    return err;
}

static granary_err
sketch_header(const char *path, const char *bytes, size_t size, bool whole, char delimiter, struct gr_sketch *sketch)
{
    const char *at = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? bytes + 3 : bytes;
    char *text = malloc(size + 1);
    struct gr_texts names = {0};
    char stop = sketch->lists ? '\0' : delimiter;
    granary_err err = sketch->lists  ? sketch_list(sketch)
                      : text == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory")
                                     : GRANARY_OK;

    while (at < bytes + size && (*at == '\n' || *at == '\r')) { /* a line without a byte is no record */
        at++;
    }
    for (size_t position = 0; err == GRANARY_OK && stop == delimiter; position++) {
        stop = next_field(&at, bytes + size, delimiter, text);
        err = stop == '\0' && !whole
                  ? gr_fail(GRANARY_EINVAL, "%s:1: the header is longer than %zu MiB", path, HEADER_MAX >> 20)
                  : tell_column(path, position, sketch->is_numbered ? "" : text, &names, sketch);
    }
    gr_texts_free(&names);
    free(text);
    return err;
}

/* By commas it is no table, but by something else; where a name's ending tells another delimiter, by that one. */
static bool
is_other(const char *path, const char *delimiter, enum gr_sniff how, struct gr_sniffed *sniffed)
{
    struct gr_dialect plain = GR_DIALECT_PLAIN;
    struct gr_text *text;
    struct gr_buf bytes = {0};
    bool more = true;
    bool other = false;

    if (gr_text_open(path, &plain, &text) == GRANARY_OK) {
        if (gr_text_read(text, SNIFF, &bytes, &more) == GRANARY_OK && bytes.size > 0) {
            other = gr_data_guess(bytes.bytes, bytes.size) == NULL &&
                    gr_sniff_bytes(bytes.bytes, bytes.size, !more, how, sniffed) &&
                    (strcmp(delimiter, ",") == 0 || strcmp(delimiter, sniffed->delimiter) == 0 || sniffed->lines);
        }
        gr_text_close(text);
        gr_buf_free(&bytes);
    }
    return other;
}

bool
gr_csv_is_other(const char *path, const char *delimiter, enum gr_sniff how)
{
    struct gr_sniffed sniffed;

    return is_other(path, delimiter, how, &sniffed);
}

/* What the sketch says, or its delimiter, or what is found. */
static struct gr_dialect
dialect_of(const char *path, const char *delimiter, struct gr_sniffed *sniffed, struct gr_sketch *sketch)
{
    struct gr_dialect dialect = GR_DIALECT_PLAIN;

    if (sketch->dialect != NULL) {
        return *sketch->dialect;
    }
    dialect.delimiter = delimiter;
    sketch->sniffed = is_other(path, delimiter, sketch->how, sniffed);
    if (sketch->sniffed) {
        dialect.delimiter = sniffed->delimiter;
        dialect.quote = sniffed->quote;
        dialect.escape = sniffed->escape;
        dialect.comment = sniffed->comment;
        dialect.skip = sniffed->skip;
        dialect.skip_spaces = sniffed->skip_spaces;
        dialect.comment_anywhere = sniffed->comment_anywhere;
    }
    return dialect;
}

static granary_err
csv_sketch(const char *path, const char *delimiter, struct gr_sketch *sketch)
{
    enum { PACKED_RATIO = 4 };
    struct gr_sniffed sniffed;
    struct gr_dialect dialect = dialect_of(path, delimiter, &sniffed, sketch);
    struct gr_text *text = NULL;
    struct stat info = {.st_size = 0};
    struct gr_buf bytes = {0};
    bool more = true;
    granary_err err = gr_text_open(path, &dialect, &text);

    err = err == GRANARY_OK ? gr_text_read(text, HEADER_MAX, &bytes, &more) : err;
    if (err == GRANARY_OK && bytes.size == 0 && sketch->header == GR_HEADER_YES) {
        err = gr_fail(GRANARY_EINVAL, "%s: is empty: no header", path);
    } else if (err == GRANARY_OK && bytes.size == 0) {
        sketch->is_numbered = true;
        err = sketch_header(path, "", 0, true, ',', sketch);
    } else if (err == GRANARY_OK && gr_data_guess(bytes.bytes, bytes.size) != NULL) {
        err = gr_fail(GRANARY_EINVAL, "%s: %s", path, gr_data_guess(bytes.bytes, bytes.size));
    } else if (err == GRANARY_OK) {
        (void)stat(path, &info);
        sketch->rows = (double)info.st_size * (gr_text_packing(text) == GR_PACKING_NONE ? 1 : PACKED_RATIO) / ROW_BYTES;
        sketch->is_numbered = !has_header(bytes.bytes, bytes.size, &dialect, &sniffed, sketch);
        err = sketch_header(path, bytes.bytes, bytes.size, !more, gr_dialect_delimiter(&dialect), sketch);
    }
    gr_text_close(text);
    gr_buf_free(&bytes);
    return err;
}

const struct gr_format gr_format_csv = {
    .name = "csv",
    .what = "a CSV file",
    .endings = {{.text = ".csv", .delimiter = ","},
                {.text = ".tsv", .delimiter = "\t"},
                {.text = ".txt", .delimiter = ",", .is_vague = true}},
    .is_text = true,
    .sketch = csv_sketch,
    .print_frame = gr_print_csv,
};
