/* A growing run of bytes. Zero is an empty one. Out of memory sticks: later calls do nothing and gr_buf_ok() is false.
 */
#ifndef BASE_TEXT_BUF_H
#define BASE_TEXT_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct gr_buf {
    char *bytes; /* size bytes and a NUL, once anything was added */
    size_t size;
    size_t room;
    bool failed;
};

void gr_buf_add(struct gr_buf *buf, const void *bytes, size_t size);
void gr_buf_addf(struct gr_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Room for size more bytes at the end, to be written by the caller; NULL when out of memory. Counts at once. */
void *gr_buf_grow(struct gr_buf *buf, size_t size);
static inline bool
gr_buf_ok(const struct gr_buf *buf)
{
    return !buf->failed;
}
/* Gives the bytes (NUL-terminated, to be freed; NULL when out of memory) and leaves an empty one. */
char *gr_buf_take(struct gr_buf *buf);
void gr_buf_free(struct gr_buf *buf);

#endif
