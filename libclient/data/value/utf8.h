/* UTF-8 of whole columns: checked, and as much of it as printing needs; a character: base/text.h. */
#ifndef DATA_VALUE_UTF8_H
#define DATA_VALUE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The first byte of the first thing that is no valid character, or NULL. */
const char *utf8_first_invalid(const char *text, size_t length);
/* Columns of a terminal it takes: 0 combining, 1, 2 East Asian wide and emoji. */
int utf8_width(uint32_t character);

#endif
