/*
 * The text is read in pieces, each looked at while it is in the cache: for UTF-8 and for what the automaton makes of
 * it. Records are then read field by field; a field with quotes inside is put together in a buffer.
 */
#include "kernel/csv/csv_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/file/paths/regular.h"
#include "data/print/print.h"
#include "data/value/utf8.h"
#include "kernel/core/scratch.h"
#include "kernel/csv/csv_style.h"
#include "kernel/csv/find/csv_scan.h"
#include "kernel/simd/csv.h"

#define PIECE ((size_t)256 << 10)

static char null_empty[] = "";
static char null_postgres[] = GR_CSV_NULL;
static char *const default_nulls[] = {null_empty, null_postgres};

static granary_err
read_options(const struct gr_csv_params *params, struct csv_text *text)
{
    const char *delimiter = params->delimiter;
    const Granary__Attr *nulls = params->null_values;

    text->path = params->path;
    if (strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0]) != NULL) {
        return gr_fail(GRANARY_EINVAL, "delimiter '%s': one byte, and neither a quote nor a line end", delimiter);
    }
    text->delimiter = delimiter[0];
    text->nulls = nulls == NULL ? default_nulls : nulls->strings;
    text->null_count = nulls == NULL ? 2 : nulls->n_strings;
    for (size_t i = 0; i < text->null_count; i++) {
        size_t size = strlen(text->nulls[i]);

        text->null_sizes |= (uint64_t)1 << (size < 63 ? size : 63);
        text->null_firsts[(unsigned char)text->nulls[i][0]] = true;
    }
    text->stops[(unsigned char)text->delimiter] = true;
    text->stops['\n'] = true;
    text->stops['\r'] = true;
    return csv_style_init(params, &text->style);
}

/* Each piece is looked at while it is in the cache. */
static granary_err
read_pieces(struct csv_text *text, int fd, size_t size, int64_t offset)
{
    granary_err err = GRANARY_OK;

    for (size_t at = 0; err == GRANARY_OK && at < size; at += PIECE) {
        size_t now = size - at < PIECE ? size - at : PIECE;

        err = gr_pread_all(fd, text->owned + at, now, offset + (int64_t)at);
        if (err == GRANARY_OK) {
            SIMD_CALL(csv_look)(text->owned + at, now, &text->looks);
        }
    }
    return err;
}

static granary_err
make_room(struct csv_text *text, size_t size)
{
    text->memory = scratch_alloc(size + 1 + 2 * (size_t)CSV_PADDING);
    if (text->memory == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%s: no memory for %zu bytes", text->path, size);
    }
    text->owned = text->memory + CSV_PADDING;
    memset(text->memory, 0, CSV_PADDING);
    memset(text->owned + size, 0, CSV_PADDING + 1);
    return GRANARY_OK;
}

/* Of a packed file: it was unpacked before. */
static granary_err
copy_piece(struct csv_text *text, const struct gr_value *piece, int64_t size)
{
    granary_err err = piece->kind != GR_VALUE_BYTES || size < 0 || piece->bytes_size != (uint64_t)size
                          ? gr_fail(GRANARY_ETYPE, "%s: its text is not as it was unpacked", text->path)
                          : make_room(text, (size_t)size);

    for (size_t at = 0; err == GRANARY_OK && at < (size_t)size; at += PIECE) {
        size_t now = (size_t)size - at < PIECE ? (size_t)size - at : PIECE;

        memcpy(text->owned + at, (const char *)piece->bytes + at, now);
        SIMD_CALL(csv_look)(text->owned + at, now, &text->looks);
    }
    return err;
}

static granary_err
read_range(struct csv_text *text, int64_t offset, int64_t size, int64_t behind, int64_t inode)
{
    struct stat stat;
    granary_err err = GRANARY_OK;
    /* Without waiting: the name may have become that of a pipe. */
    int fd = open(text->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 || fstat(fd, &stat) < 0) {
        err = gr_fail_errno("%s", text->path);
    } else if (!S_ISREG(stat.st_mode)) {
        err = gr_fail(GRANARY_EINVAL, "%s: not a regular file", text->path);
    } else if ((err = gr_regular_check(text->path, &stat, inode)) != GRANARY_OK) {
        /* its bytes are others */
    } else if (offset < 0 || size < 0 || behind < 0 || offset > stat.st_size || size > stat.st_size - offset ||
               behind > stat.st_size - offset - size) {
        err = gr_fail(GRANARY_EIO, "%s: has %lld bytes now, it was longer when the graph was submitted; submit again",
                      text->path, (long long)stat.st_size);
    } else if ((err = make_room(text, (size_t)(size + behind))) == GRANARY_OK) {
        err = read_pieces(text, fd, (size_t)size, offset);
        if (err == GRANARY_OK && behind > 0) {
            err = gr_pread_all(fd, text->owned + size, (size_t)behind, offset + size);
        }
        if (err != GRANARY_OK) {
            err = gr_fail_in(err, "%s", text->path);
        }
    }
    gr_fd_close(&fd);
    return err;
}

granary_err
csv_text_open(const struct gr_kernel_call *call, const struct gr_csv_params *params, int64_t behind,
              struct csv_text *ret_text)
{
    int64_t offset = params->offset;
    int64_t size = params->size;
    struct csv_text text = {0};
    granary_err err = read_options(params, &text);

    if (err == GRANARY_OK) {
        err = call->input_count == 1 ? copy_piece(&text, &call->inputs[0], size)
                                     : read_range(&text, offset, size, behind, params->inode);
    }
    if (err != GRANARY_OK) {
        scratch_free(text.memory);
        return err;
    }
    text.is_first = offset == 0;
    text.behind = (size_t)behind;
    text.end_byte = text.owned[size];
    text.owned[size] = '\n';
    if (offset == 0 && size >= 3 && memcmp(text.owned, "\xef\xbb\xbf", 3) == 0) {
        text.mark_bytes = 3;
    }
    text.begin = text.owned + text.mark_bytes;
    text.end = text.owned + size;
    text.at = text.begin;
    text.record = text.begin;
    *ret_text = text;
    return GRANARY_OK;
}

void
csv_text_close(struct csv_text *text)
{
    scratch_free(text->memory);
    text->memory = text->owned = NULL;
    gr_buf_free(&text->scratch);
}

uint64_t
csv_text_line(const struct csv_text *text, const char *place)
{
    return csv_count_lines(text->owned, (size_t)(place - text->owned));
}

const char *
csv_text_not_utf8(const struct csv_text *text)
{
    return !text->looks.wide ? NULL : utf8_first_invalid(text->begin, (size_t)(text->end - text->begin));
}

bool
csv_record_next(struct csv_text *text)
{
    while (text->at < text->end && (*text->at == '\n' || *text->at == '\r')) {
        text->at++;
    }
    text->record = text->at;
    return text->at < text->end;
}

/* A field with quotes inside: what is between, put together. With text behind its closing quote it is as it stands. */
static void
collect(struct csv_text *text, struct csv_field *field)
{
    static const char behind[16] = "";
    const char *p = text->at + 1; /* between quotes */
    const char *quote;

    text->scratch.size = 0;
    while ((quote = memchr(p, '"', (size_t)(text->end - p))) != NULL) {
        gr_buf_add(&text->scratch, p, (size_t)(quote - p));
        p = quote + 1;
        if (p == text->end || *p != '"') {
            break;
        }
        gr_buf_add(&text->scratch, p, 1);
        p++;
    }
    if (quote == NULL) {
        field->unclosed = true;
        return;
    }
    while (*p == ' ' && !text->stops[' ']) {
        p++;
    }
    if (text->stops[(unsigned char)*p]) {
        field->size = text->scratch.size;
        gr_buf_add(&text->scratch, behind, sizeof behind);
        field->no_memory = !gr_buf_ok(&text->scratch);
        field->bytes = text->scratch.bytes;
    } else {
        while (!text->stops[(unsigned char)*p]) {
            p++;
        }
        field->bytes = text->at;
        field->size = (size_t)(p - text->at);
    }
    csv_field_end(text, p, field);
}

void
csv_field_quoted(struct csv_text *text, struct csv_field *ret_field)
{
    const char *begin = text->at + 1;
    const char *quote = memchr(begin, '"', (size_t)(text->end - begin));

    ret_field->bytes = begin;
    ret_field->size = 0;
    ret_field->last = true;
    if (quote == NULL) {
        ret_field->unclosed = true;
    } else if (text->stops[(unsigned char)quote[1]]) {
        ret_field->size = (size_t)(quote - begin);
        csv_field_end(text, quote + 1, ret_field);
    } else {
        collect(text, ret_field);
    }
    if (ret_field->unclosed || ret_field->no_memory) {
        ret_field->last = true;
        text->at = text->end;
    }
}

const char *
csv_print_line(uint64_t line, int64_t from, char text[CSV_LINE_BYTES])
{
    if (from > 0) {
        (void)snprintf(text, CSV_LINE_BYTES, ", line %" PRIu64 " from byte %" PRId64 " on", line, from);
    } else {
        (void)snprintf(text, CSV_LINE_BYTES, ":%" PRIu64, line);
    }
    return text;
}
