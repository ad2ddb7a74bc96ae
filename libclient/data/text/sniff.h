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
    bool lines; /* no delimiter makes a table: each line is a value, by a delimiter that is not in the text */
};

/* What may be found beside a table all of whose records fit. */
enum gr_sniff {
    GR_SNIFF_ANY,   /* lines that are values */
    GR_SNIFF_TABLE, /* none: a file that is no table, as others are, is a mistake */
    GR_SNIFF_LOOSE, /* records that do not fit are left out: so quotes that do not end stay quotes */
};

/*
 * Look at the first 64 KiB. What says nothing else is RFC 4180 with commas.
 *
 * encoding  as of a dialect
 * Errors    as gr_text_open(), gr_text_read()
 */
granary_err gr_sniff(const char *path, const char *encoding, enum gr_sniff how, struct gr_sniffed *ret_sniffed);
/* The same of bytes; whole: they are all. Whether it is another dialect than the plain one. */
bool gr_sniff_bytes(const char *bytes, size_t size, bool whole, enum gr_sniff how, struct gr_sniffed *ret_sniffed);

#endif
