/*
 * The lines of a file, or those that begin in a range of it, through a window of bounded size. A file cut into ranges
 * that follow one another has each line once.
 */
#ifndef DATA_FILE_LINES_H
#define DATA_FILE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/types.h"

#define GR_LINE_MAX ((size_t)16 << 20) /* a longer one is an error */

struct gr_text;

struct gr_lines {
    const char *path;     /* borrowed */
    struct gr_text *text; /* what is read comes from here; NULL: from the file */
    int fd;
    int64_t end;  /* of the range, in the file */
    int64_t at;   /* in the file, of the window's first byte */
    char *window; /* in memory that has some bytes before and behind it; see gr_lines_next() */
    size_t room;
    size_t size;     /* bytes that were read */
    size_t next;     /* of them, where the next line begins */
    bool whole;      /* the file's last byte was read */
    uint64_t number; /* of the last line that was asked for: 1 is the first that begins in the range */
};

/* Open [offset, offset + size) of a file. Errors: ENOENT, EPERM · EINVAL no regular file · EIO it has fewer bytes ·
 * ENOMEM */
granary_err gr_lines_open(struct gr_lines *lines, const char *path, int64_t offset, int64_t size);
/* Open all of a file, which may be packed, or a list of records. Errors: as gr_text_open() */
granary_err gr_lines_open_text(struct gr_lines *lines, const char *path);
/* Open bytes, copied: whole lines of a text, so many bytes behind its beginning. Errors: ENOMEM */
granary_err
gr_lines_open_bytes(struct gr_lines *lines, const char *path, int64_t offset, const void *bytes, size_t size);
void gr_lines_close(struct gr_lines *lines); /* also of one that was all zero, but for fd -1 */

/*
 * The next line, without its line feed, until the next call; 16 bytes before and behind it may be read. A mark of UTF-8
 * at the file's beginning is no part of it. *ret_line NULL: there is none.
 * Errors: EINVAL longer than GR_LINE_MAX; the message has no place · EIO, ENOMEM
 */
granary_err gr_lines_next(struct gr_lines *lines, const char **ret_line, size_t *ret_size);

#endif
