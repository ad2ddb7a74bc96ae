/* Inside rows: patterns made ready (like.c). */
#ifndef KERNEL_ROWS_PATTERN_H
#define KERNEL_ROWS_PATTERN_H

#include <regex.h>

#include "kernel/rows/node.h"

/* flags: of regcomp(). NULL: out of memory */
struct pattern *pattern_of_regex(const struct rows_text *text, int flags);
/* NULL: the expression is broken. */
const regex_t *pattern_regex(const struct pattern *pattern);

#endif
