/* Bytes of other encodings as UTF-8. */
#ifndef DATA_TEXT_ENCODING_H
#define DATA_TEXT_ENCODING_H

#include "base/text/buf.h"
#include "granary/types.h"

enum gr_encoding { GR_UTF_8, GR_LATIN_1, GR_WINDOWS_1252, GR_UTF_16LE, GR_UTF_16BE, GR_UTF_16 };

/* "utf-8", "latin-1", "windows-1252", "utf-16le", "utf-16be", "utf-16"; and what else they are called. */
bool gr_encoding_parse(const char *name, enum gr_encoding *ret_encoding);

/*
 * Append bytes as UTF-8; what is not a whole character at their end is left.
 *
 * *ret_used  bytes that were read: with false those before the one that is wrong
 * Returns    false: half of a pair of UTF-16 stands alone, or (last) the bytes end within a character
 */
bool gr_encoding_decode(enum gr_encoding encoding, const char *bytes, size_t size, bool last, struct gr_buf *out,
                        size_t *ret_used);

#endif
