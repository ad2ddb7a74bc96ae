/* What dialect a text in columns is likely to be in. */
#ifndef DATA_TEXT_SNIFF_H
#define DATA_TEXT_SNIFF_H

#include "data/text/text.h"

/* What was found, as parameters. */
struct gr_sniffed {
    char delimiter[2];
    char quote[2];
    char escape[2];
    char comment[2];
    char decimal[2];
    char thousands[2];
    int64_t skip;
    bool skip_spaces;
    bool comment_anywhere;
};

/*
 * Look at the first 64 KiB. What says nothing else is RFC 4180 with commas.
 *
 * encoding  as of a dialect
 * Errors    as gr_text_open(), gr_text_read()
 */
granary_err gr_sniff(const char *path, const char *encoding, struct gr_sniffed *ret_sniffed);
/* The same of bytes; whole: they are all. Whether it is another dialect than the plain one. */
bool gr_sniff_bytes(const char *bytes, size_t size, bool whole, struct gr_sniffed *ret_sniffed);

#endif
