/* Growing buffers: they double, and an error sticks until they are freed. */
#include "base/text/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *
gr_buf_grow(struct gr_buf *buf, size_t size)
{
    void *at;

    if (buf->failed) {
        return NULL;
    }
    if (buf->room - buf->size <= size || buf->room == 0) {
        size_t room = buf->room < 64 ? 64 : buf->room * 2;
        char *bytes;

        if (size > (size_t)-1 / 4) {
            buf->failed = true;
            return NULL;
        }
        while (room - buf->size <= size) {
            room *= 2;
        }
        bytes = realloc(buf->bytes, room);
        if (bytes == NULL) {
            buf->failed = true;
            return NULL;
        }
        buf->bytes = bytes;
        buf->room = room;
    }
    at = buf->bytes + buf->size;
    buf->size += size;
    buf->bytes[buf->size] = '\0';
    return at;
}

void
gr_buf_add(struct gr_buf *buf, const void *bytes, size_t size)
{
    void *at = gr_buf_grow(buf, size);

    if (at != NULL && size > 0) {
        memcpy(at, bytes, size);
    }
}

void
gr_buf_addf(struct gr_buf *buf, const char *format, ...)
{
    char text[256];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < (int)sizeof text) {
        gr_buf_add(buf, text, (size_t)length);
        return;
    }
    if (gr_buf_grow(buf, (size_t)length) != NULL) {
        va_start(args, format);
        (void)vsnprintf(buf->bytes + buf->size - (size_t)length, (size_t)length + 1, format, args);
        va_end(args);
    }
}

char *
gr_buf_take(struct gr_buf *buf)
{
    char *bytes = NULL;

    if (gr_buf_grow(buf, 0) != NULL) {
        bytes = buf->bytes;
        buf->bytes = NULL;
    }
    gr_buf_free(buf);
    return bytes;
}

void
gr_buf_free(struct gr_buf *buf)
{
    free(buf->bytes);
    *buf = (struct gr_buf){0};
}
