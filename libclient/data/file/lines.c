/*
 * A line belongs to the range in which it begins: behind a line feed, or at the file's beginning. A range that begins
 * within a line leaves that out; its last line is read to its end, wherever that is.
 */
#include "data/file/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/file/paths/regular.h"
#include "data/text/text.h"

enum { PADDING = 16, WINDOW_FIRST = 1 << 20 };

static granary_err
fail_length(void)
{
    return gr_fail(GRANARY_EINVAL, "the line is longer than %zu MiB", GR_LINE_MAX >> 20);
}

/* Room for more bytes in the window. */
static granary_err
reserve(struct gr_lines *lines, size_t more)
{
    size_t room = lines->room;
    char *memory;

    while (room - lines->size < more) {
        room *= 2;
    }
    if (room == lines->room) {
        return GRANARY_OK;
    }
    memory = realloc(lines->window - PADDING, room + 2 * (size_t)PADDING);
    if (memory == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%s: no memory for a line", lines->path);
    }
    lines->window = memory + PADDING;
    lines->room = room;
    return GRANARY_OK;
}

static granary_err
fill_from_text(struct gr_lines *lines)
{
    struct gr_buf bytes = {0};
    bool more = true;
    granary_err err = gr_text_read(lines->text, WINDOW_FIRST, &bytes, &more);

    err = err == GRANARY_OK ? reserve(lines, bytes.size) : err;
    if (err == GRANARY_OK && bytes.size > 0) {
        memcpy(lines->window + lines->size, bytes.bytes, bytes.size);
        lines->size += bytes.size;
        memset(lines->window + lines->size, 0, PADDING);
    }
    lines->whole = !more;
    gr_buf_free(&bytes);
    return err;
}

/* Read more behind what is left of the window. */
static granary_err
fill_window(struct gr_lines *lines)
{
    ssize_t got;
    granary_err err;

    memmove(lines->window, lines->window + lines->next, lines->size - lines->next);
    lines->at += (int64_t)lines->next;
    lines->size -= lines->next;
    lines->next = 0;
    if (lines->size > GR_LINE_MAX) {
        return fail_length();
    }
    if (lines->text != NULL) {
        return fill_from_text(lines);
    }
    err = reserve(lines, 1);
    if (err != GRANARY_OK) {
        return err;
    }
    do {
        got = pread(lines->fd, lines->window + lines->size, lines->room - lines->size,
                    (off_t)(lines->at + (int64_t)lines->size));
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return gr_fail_errno("%s", lines->path);
    }
    lines->size += (size_t)got;
    lines->whole = got == 0;
    memset(lines->window + lines->size, 0, PADDING);
    return GRANARY_OK;
}

/* Find the end of the line at lines->next: NULL, it is the last, without a line feed. */
static granary_err
find_end(struct gr_lines *lines, const char **ret_end)
{
    size_t looked = 0;
    granary_err err = GRANARY_OK;

    *ret_end = NULL;
    while (err == GRANARY_OK) {
        const char *from = lines->window + lines->next + looked;

        *ret_end = memchr(from, '\n', lines->size - lines->next - looked);
        if (*ret_end != NULL || lines->whole) {
            break;
        }
        looked = lines->size - lines->next;
        err = fill_window(lines);
    }
    return err;
}

granary_err
gr_lines_next(struct gr_lines *lines, const char **ret_line, size_t *ret_size)
{
    const char *end;
    const char *line;
    granary_err err;

    *ret_line = NULL;
    *ret_size = 0;
    if (lines->at + (int64_t)lines->next >= lines->end) {
        return GRANARY_OK;
    }
    err = find_end(lines, &end);
    if (err == GRANARY_OK && end == NULL && lines->next == lines->size) {
        return GRANARY_OK;
    }
    lines->number++;
    if (err != GRANARY_OK) {
        return err;
    }
    line = lines->window + lines->next;
    *ret_size = (size_t)((end != NULL ? end : lines->window + lines->size) - line);
    if (lines->at + (int64_t)lines->next == 0 && *ret_size >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3;
        *ret_size -= 3;
    }
    lines->next = end != NULL ? (size_t)(end - lines->window) + 1 : lines->size;
    *ret_line = *ret_size > GR_LINE_MAX ? NULL : line;
    return *ret_size > GR_LINE_MAX ? fail_length() : GRANARY_OK;
}

/* Go behind the line that the window's first byte belongs to, or to the range's end if it is all in that line. */
static granary_err
skip_line(struct gr_lines *lines)
{
    const char *end = NULL;
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && end == NULL && !lines->whole && lines->at + (int64_t)lines->size < lines->end) {
        lines->next = lines->size;
        err = fill_window(lines);
        end = memchr(lines->window, '\n', lines->size);
    }
    lines->next = end != NULL ? (size_t)(end - lines->window) + 1 : lines->size;
    return err;
}

granary_err
gr_lines_open(struct gr_lines *lines, const char *path, int64_t offset, int64_t size)
{
    struct stat info;
    char *memory = calloc(1, WINDOW_FIRST + 2 * (size_t)PADDING);
    granary_err err;

    *lines = (struct gr_lines){.path = path,
                               .end = offset + size,
                               .at = offset > 0 ? offset - 1 : 0,
                               .window = memory == NULL ? NULL : memory + PADDING,
                               .room = WINDOW_FIRST};
    err = gr_regular_open(path, &lines->fd, &info);
    if (err == GRANARY_OK && memory == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "%s: no memory for its lines", path);
    } else if (err == GRANARY_OK && (offset < 0 || size < 0 || offset > info.st_size || size > info.st_size - offset)) {
        err = gr_fail(GRANARY_EIO, "%s: it is shorter than when the graph was submitted; submit again", path);
    } else if (err == GRANARY_OK && offset > 0) {
        err = skip_line(lines);
    }
    return err;
}

granary_err
gr_lines_open_text(struct gr_lines *lines, const char *path)
{
    char *memory = calloc(1, WINDOW_FIRST + 2 * (size_t)PADDING);

    *lines = (struct gr_lines){.path = path,
                               .fd = -1,
                               .end = INT64_MAX,
                               .window = memory == NULL ? NULL : memory + PADDING,
                               .room = WINDOW_FIRST};
    return memory == NULL ? gr_fail(GRANARY_ENOMEM, "%s: no memory for its lines", path)
                          : gr_text_open(path, NULL, &lines->text);
}

granary_err
gr_lines_open_bytes(struct gr_lines *lines, const char *path, int64_t offset, const void *bytes, size_t size)
{
    char *memory = malloc(size + 2 * (size_t)PADDING);

    *lines = (struct gr_lines){.path = path,
                               .fd = -1,
                               .end = offset + (int64_t)size,
                               .at = offset,
                               .window = memory == NULL ? NULL : memory + PADDING,
                               .room = size,
                               .size = size,
                               .whole = true};
    if (memory == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%s: no memory for its lines", path);
    }
    memset(memory, 0, PADDING);
    memcpy(lines->window, bytes, size);
    memset(lines->window + size, 0, PADDING);
    return GRANARY_OK;
}

void
gr_lines_close(struct gr_lines *lines)
{
    gr_text_close(lines->text);
    lines->text = NULL;
    gr_fd_close(&lines->fd);
    free(lines->window == NULL ? NULL : lines->window - PADDING);
    lines->window = NULL;
}
