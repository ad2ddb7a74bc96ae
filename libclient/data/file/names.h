/* Names of columns as a header has them, each made another one. */
#ifndef DATA_FILE_NAMES_H
#define DATA_FILE_NAMES_H

#include "data/texts.h"

/*
 * The name of the column at a position. Zero bytes, and spaces around it, are left out. An empty one is "c" and the position; one that is taken gets "_1", "_2", ... behind it.
 *
 * taken       names of the columns before; this one is added
 * *ret_name   to be freed
 * Errors      ENOMEM
 */
granary_err gr_column_name(struct gr_texts *taken, size_t position, const char *text, size_t size, char **ret_name);

#endif
