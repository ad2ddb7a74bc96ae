/* Times of tables that change, on the command line: nanoseconds since 1970, or a timestamp in UTC. */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H

#include "granary/types.h"

/* "1767225600000000000", "2026-01-01", "2026-01-01T00:00:00.123456789Z". Errors: EINVAL */
granary_err moment_parse(const char *text, int64_t *ret_time);

/* The same as an option's value, into an int64_t. */
granary_err moment_take(void *time, char *text);

#endif
