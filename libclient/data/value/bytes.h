/* Bytes as text: \x and hexadecimal digits, as PostgreSQL writes them; with those of ASCII as they are; and base64. */
#ifndef DATA_VALUE_BYTES_H
#define DATA_VALUE_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/buf.h"

/* "\x00ff" */
void gr_bytes_format(const char *bytes, size_t size, struct gr_buf *out);
/* "ab\x00\xFF", as DuckDB writes them: characters of ASCII stand for themselves, but not a quote or a backslash. What
 * would read as the digits of gr_bytes_format() has its second byte in digits, too. */
void gr_bytes_write(const char *bytes, size_t size, struct gr_buf *out);
/* Two digits a byte, without anything before them. */
void gr_hex_format(const char *bytes, size_t size, bool capitals, struct gr_buf *out);
/* The value of such a digit; -1: it is none. */
int gr_hex_digit(char digit);
/* The byte of two such digits; -1: they are none. */
int gr_hex_byte(const char *text);
/* Bytes of such digits; blanks are none. false: it is none, and out may have some of it. */
bool gr_hex_parse(const char *text, size_t size, struct gr_buf *out);
/*
 * What stands for bytes: "\x" and hexadecimal digits; or a text whose bytes they are, in which "\\" is a backslash and
 * "\x" with two digits a byte. false: a backslash with something else, and out may have some of it.
 */
bool gr_bytes_parse(const char *text, size_t size, struct gr_buf *out);

/* RFC 4648, with padding. */
void gr_base64_format(const char *bytes, size_t size, struct gr_buf *out);
bool gr_base64_parse(const char *text, size_t size, struct gr_buf *out);

#endif
