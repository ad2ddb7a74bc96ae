/* Text in columns. A sketch is the header, and a guess of the rows; whether the file is good is said when it is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "data/file/format.h"
#include "data/file/guess.h"
#include "data/print.h"
#include "data/text/unpack.h"
#include "data/value/utf8.h"

#define HEADER_MAX ((size_t)4 << 20)
#define ROW_BYTES  100 /* about */

/* One field from *at on, its quotes taken out into text. Returns what ended it: the delimiter, a line end, or 0. */
static char
next_field(const char **at, const char *end, char delimiter, char *text)
{
    const char *p = *at;
    char stop = 0;

    if (p < end && *p == '"') {
        for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
            *text++ = *p;
            p += *p == '"'; /* the other of two */
        }
        p += p < end;
    }
    while (p < end && *p != delimiter && *p != '\n' && *p != '\r') {
        *text++ = *p++;
    }
    if (p < end) {
        stop = *p++;
    }
    *text = '\0';
    *at = p;
    return stop;
}

static granary_err
tell_column(const char *path, size_t position, const char *text, struct gr_sketch *sketch)
{
    char number[32];

    if (utf8_first_invalid(text, strlen(text)) != NULL) { /* only text can stand in a statement */
        return gr_fail(GRANARY_EINVAL, "%s:1: %s", path, GR_DATA_NOT_UTF8);
    }
    (void)snprintf(number, sizeof number, "c%zu", position);
    return sketch->column(sketch, text[0] == '\0' ? number : text);
}

static granary_err
sketch_header(const char *path, const char *bytes, size_t size, bool whole, char delimiter, struct gr_sketch *sketch)
{
    const char *at = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? bytes + 3 : bytes;
    char *text = malloc(size + 1);
    char stop = delimiter;
    granary_err err = text == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    while (at < bytes + size && (*at == '\n' || *at == '\r')) { /* a line without a byte is no record */
        at++;
    }
    for (size_t position = 0; err == GRANARY_OK && stop == delimiter; position++) {
        stop = next_field(&at, bytes + size, delimiter, text);
        err = stop == '\0' && !whole
                  ? gr_fail(GRANARY_EINVAL, "%s:1: the header is longer than %zu MiB", path, HEADER_MAX >> 20)
                  : tell_column(path, position, text, sketch);
    }
    free(text);
    return err;
}

static granary_err
csv_sketch(const char *path, const char *delimiter, struct gr_sketch *sketch)
{
    enum { PACKED_RATIO = 4 };
    struct gr_unpack *unpack = NULL;
    struct stat info = {.st_size = 0};
    char *bytes = malloc(HEADER_MAX);
    size_t size = 0;
    granary_err err = bytes == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : gr_unpack_open(path, &unpack);

    err = err == GRANARY_OK ? gr_unpack_read(unpack, bytes, HEADER_MAX, &size) : err;
    if (err == GRANARY_OK && size == 0) {
        err = gr_fail(GRANARY_EINVAL, "%s: is empty: no header", path);
    } else if (err == GRANARY_OK && gr_data_guess(bytes, size) != NULL) {
        err = gr_fail(GRANARY_EINVAL, "%s: %s", path, gr_data_guess(bytes, size));
    } else if (err == GRANARY_OK) {
        (void)stat(path, &info);
        sketch->rows =
            (double)info.st_size * (gr_unpack_packing(unpack) == GR_PACKING_NONE ? 1 : PACKED_RATIO) / ROW_BYTES;
        err = sketch_header(path, bytes, size, size < HEADER_MAX, delimiter[0], sketch);
    }
    gr_unpack_close(unpack);
    free(bytes);
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
