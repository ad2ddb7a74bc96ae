/* What a file is that was taken for text in columns. */
#ifndef DATA_GUESS_H
#define DATA_GUESS_H

#include <stddef.h>

/* As the beginning of a file tells: "not text in columns but WHAT: what to do", or NULL: it may be such text. */
const char *gr_data_guess(const char *bytes, size_t size);

#endif
