/* Inside rows: patterns made ready (like.c). */
#ifndef KERNEL_ROWS_PATTERN_H
#define KERNEL_ROWS_PATTERN_H

#include "kernel/rows/node.h"
#include "kernel/rows/text/regex.h"

/* often: regex_create(). NULL: out of memory */
struct pattern *pattern_of_regex(const struct rows_text *text, bool often);
/* NULL: the expression is broken. */
struct regex *pattern_regex(const struct pattern *pattern);

#endif
