/* Characters of texts in expressions. Bytes that are no UTF-8 stand for themselves, one character each. */
#ifndef KERNEL_ROWS_UTF8_H
#define KERNEL_ROWS_UTF8_H

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "kernel/rows/rows.h"

/* The character at *at and its length in bytes; a byte that is no UTF-8: -1 and 1. */
int32_t rows_utf8_decode(const char *at, size_t left, size_t *ret_size);
void rows_utf8_add(struct gr_buf *out, uint32_t point);
bool rows_is_ascii(const struct rows_text *text);
/* How many characters; those begin where no continuation byte is. */
int64_t rows_utf8_count(const struct rows_text *text);
/* The byte where character n (from 0) begins, or the size. */
size_t rows_utf8_offset(const struct rows_text *text, int64_t n);
/* The same of characters as they are drawn, of which each may be several: a letter and its marks, a flag, a family. */
int64_t rows_drawn_count(const struct rows_text *text);
size_t rows_drawn_offset(const struct rows_text *text, int64_t n);
/* Unicode's letters whatever the user's locale; 0: the C library has none. Kept for the life of the process. */
locale_t rows_unicode(void);

#endif
