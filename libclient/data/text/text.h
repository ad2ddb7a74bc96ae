/*
 * The text of a file of records as RFC 4180 and UTF-8 have it, whatever dialect and encoding it is in: quotes are ", a quote
 * within is doubled, and there are no comments. Line ends stay where they are, so that lines can be named.
 */
#ifndef DATA_TEXT_TEXT_H
#define DATA_TEXT_TEXT_H

#include "data/text/unpack.h"

enum gr_ragged { GR_RAGGED_REFUSE, GR_RAGGED_FILL, GR_RAGGED_CUT };

/* By the word of read_csv's parameter, "refuse" and so on; REFUSE for any other, which the parameter's rule refuses. */
enum gr_ragged gr_ragged_of(const char *word);
const char *gr_ragged_word(enum gr_ragged ragged);

struct gr_dialect {
    const char *delimiter; /* a byte or more */
    const char *quote;     /* a byte; "": none */
    const char *escape;    /* a byte behind which the next one is literal; "": none */
    const char *comment;   /* lines that begin with it are left out; "": none */
    bool comment_anywhere; /* also what follows it in a line with values, outside quotes */
    const char *encoding;  /* gr_encoding_known(); "": UTF-8, or UTF-16 if its mark says so */
    int64_t skip;          /* lines to be left out at the beginning */
    bool skip_spaces;      /* at the beginning of fields */
    bool tolerates;        /* quotes that do not end are left open: who reads on leaves that record out */
    enum gr_ragged ragged; /* FILL: missing fields at a record's end are null; CUT: and those too many are left out */
    const char *null;      /* what a null is written as */
};

#define GR_DIALECT_PLAIN                                                                                               \
    {                                                                                                                  \
        .delimiter = ",", .quote = "\"", .escape = "", .comment = "", .encoding = "", .ragged = GR_RAGGED_REFUSE,      \
        .null = ""                                                                                                     \
    }

/* Whether a text of the dialect is RFC 4180 as it is, if it is UTF-8. */
bool gr_dialect_is_plain(const struct gr_dialect *dialect);
/* The byte that stands for the delimiter in what is read. */
char gr_dialect_delimiter(const struct gr_dialect *dialect);
/* Errors: EINVAL; the message says which parameter is wrong */
granary_err gr_dialect_check(const struct gr_dialect *dialect);
/* Whether a file that begins so must be read by gr_text_read() although its dialect is plain: it is UTF-16. */
bool gr_text_is_marked(const char *bytes, size_t size);

struct gr_text;

/* dialect: borrowed; NULL: lines of JSON, or a list of records, which become lines. Errors: as gr_unpack_open() */
granary_err gr_text_open(const char *path, const struct gr_dialect *dialect, struct gr_text **ret_text);
void gr_text_close(struct gr_text *text); /* NULL is fine */
enum gr_packing gr_text_packing(const struct gr_text *text);

/*
 * Append more of the text, about as many bytes as are asked for.
 * *ret_more  false: that was all
 * Errors     as gr_unpack_read() · EINVAL quotes that do not end, half a character; the message has path and line
 */
granary_err gr_text_read(struct gr_text *text, size_t about, struct gr_buf *out, bool *ret_more);

#endif
