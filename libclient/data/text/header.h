/* Whether a text in columns begins with the names of its columns. */
#ifndef DATA_TEXT_HEADER_H
#define DATA_TEXT_HEADER_H

#include "data/text/text.h"

/* How fields are written; the text is as gr_text_read() has it. */
struct gr_header_style {
    char delimiter;
    char decimal;
    char thousands;     /* '\0': none */
    char *const *nulls; /* texts that mean null; NULL: those of read_csv */
    size_t null_count;
};

/*
 * A guess by the first GR_HEADER_LOOK bytes: everybody who looks at the same bytes guesses alike. Names are text above
 * values that are none; and where all is text, the first record has the names.
 */
#define GR_HEADER_LOOK ((size_t)64 << 10)
enum gr_guess {
    GR_GUESS_NONE, /* the first record has values */
    GR_GUESS_TEXT, /* names, or text as all behind it */
    GR_GUESS_SURE, /* names */
};
/* *ret_fields (or NULL): of the first record */
enum gr_guess gr_header_guess(const char *bytes, size_t size, const struct gr_header_style *style, size_t *ret_fields);

/* The same of a file. An empty one has none. Errors: as gr_text_open(), gr_text_read() */
granary_err gr_header_of_file(const char *path, const struct gr_dialect *dialect, const struct gr_header_style *style,
                              bool *ret_has, size_t *ret_fields);

#endif
