/*
 * A string column being read, dictionary-encoded on the way. Is there too little to gain (more than a quarter as many
 * different strings as rows), it goes on, or ends, as a plain column. Which of the two depends on the rows alone.
 */
#ifndef KERNEL_CSV_CSV_STRINGS_H
#define KERNEL_CSV_CSV_STRINGS_H

#include "data/frame.h"

struct csv_strings;

/* rows_max: more will not come; text_guess: bytes of text they may have. Errors: ENOMEM */
granary_err csv_strings_create(int64_t rows_max, size_t text_guess, struct csv_strings **ret_strings);
/* NULL is fine. */
void csv_strings_destroy(struct csv_strings *strings);

/* A field of a text in which 16 bytes before and behind may be read. */
struct csv_string {
    const char *bytes; /* NULL: null */
    size_t size;
};

/* Append count strings. Errors: EFULL over 2 GiB of text, ENOMEM */
granary_err csv_strings_add(struct csv_strings *strings, const struct csv_string *values, size_t count);

/* The column; validity has a bit for every row that is not null. *Takes* validity (NULL: no nulls), in any case.
 * The strings are only to be destroyed then. Errors: ENOMEM, EFULL */
granary_err csv_strings_finish(struct csv_strings *strings, uint8_t *validity, struct gr_column *ret_column);

#endif
