/* Columns that an operator means when nobody names them: those that its values fit. */
#ifndef GRAPH_REWRITE_TENSOR_FIT_H
#define GRAPH_REWRITE_TENSOR_FIT_H

#include "graph/rewrite/private.h"

/* What is wrong for the first column that an expression does not fit for more than its dtype; "": nothing is. */
struct misfit {
    char why[640];
};

/* Whether an expression can be put in where this column has no value, as far as dtypes go: a text beside dates must be
 * a date. What cannot be parsed is told later. */
bool fits(struct rewrite *x, const char *text, const struct gr_field *field, struct misfit *misfit);
/* Nobody's dtype alone is to blame when the expression is wrong by itself. */
struct gr_node *fail_misfit(struct rewrite *x, const struct misfit *misfit);

#endif
