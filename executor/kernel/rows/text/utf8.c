/*
 * Characters of UTF-8 read and written: overlong forms and broken ones are refused. What is a letter, and its cases,
 * the C library tells (locale C.UTF-8).
 */
#include "kernel/rows/text/utf8.h"

#include <pthread.h>

#include "base/text/text.h"

static locale_t unicode;
static pthread_once_t unicode_once = PTHREAD_ONCE_INIT;

static void
unicode_load(void)
{
    unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

locale_t
rows_unicode(void)
{
    (void)pthread_once(&unicode_once, unicode_load);
    return unicode;
}

int32_t
rows_utf8_decode(const char *text, size_t left, size_t *ret_size)
{
    static const int32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    size_t size = at[0] < 0x80 ? 1 : at[0] >> 5 == 6 ? 2 : at[0] >> 4 == 14 ? 3 : at[0] >> 3 == 30 ? 4 : 0;
    int32_t point = size == 1 ? at[0] : at[0] & (0x7f >> size);

    *ret_size = 1;
    if (size == 0 || size > left) {
        return -1;
    }
    for (size_t i = 1; i < size; i++) {
        if (at[i] >> 6 != 2) {
            return -1;
        }
        point = point << 6 | (at[i] & 0x3f);
    }
    if (size > 1 && point < least[size]) {
        return -1;
    }
    *ret_size = size;
    return point;
}

void
rows_utf8_add(struct gr_buf *out, uint32_t point)
{
    char bytes[4];

    gr_buf_add(out, bytes, gr_utf8_encode(point, bytes));
}

bool
rows_is_ascii(const struct rows_text *text)
{
    unsigned char all = 0;

    for (size_t i = 0; i < text->size; i++) {
        all |= (unsigned char)text->bytes[i];
    }
    return all < 0x80;
}

int64_t
rows_utf8_count(const struct rows_text *text)
{
    int64_t count = 0;

    for (size_t i = 0; i < text->size; i++) {
        count += ((unsigned char)text->bytes[i] & 0xc0) != 0x80;
    }
    return count;
}

size_t
rows_utf8_offset(const struct rows_text *text, int64_t n)
{
    size_t at = 0;

    if (n <= 0) {
        return 0;
    }
    for (; at < text->size; at++) {
        if (((unsigned char)text->bytes[at] & 0xc0) != 0x80 && n-- == 0) {
            break;
        }
    }
    return at;
}
