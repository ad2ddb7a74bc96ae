/* Durations as people write them. */
#ifndef BASE_TEXT_DURATION_H
#define BASE_TEXT_DURATION_H

#include <stdint.h>

#include "granary/types.h"

/*
 * "1.5" and "1.5s" (seconds), "500ms", "20us", "100ns", "2m", "1h", "3d" as nanoseconds, below 2^63.
 *
 * Errors  EINVAL, with a message that quotes the text
 */
granary_err gr_duration_parse(const char *text, uint64_t *ret_ns);

/* EINVAL when a caller's timeout is none: negative, and not GRANARY_FOREVER. */
granary_err gr_timeout_check(int64_t timeout_ms);

#endif
