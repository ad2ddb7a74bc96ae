/* Sizes as people write them. */
#ifndef BASE_TEXT_SIZE_H
#define BASE_TEXT_SIZE_H

#include <stdint.h>

#include "granary/types.h"

/*
 * "64M", "1.5G", "1GiB", "4096" as bytes, below 2^63; K M G T are powers of 1024.
 *
 * Errors  EINVAL, with a message that quotes the text
 */
granary_err gr_size_parse(const char *text, uint64_t *ret_bytes);

/* "59.1 MiB", "0 B": for people. Returns buffer. */
#define GR_SIZE_TEXT 32
char *gr_size_format(uint64_t bytes, char buffer[GR_SIZE_TEXT]);

#endif
