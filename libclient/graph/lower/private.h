/* Within the folder: what is made of an operator. */
#ifndef GRAPH_LOWER_PRIVATE_H
#define GRAPH_LOWER_PRIVATE_H

#include "base/error.h"
#include "base/text/buf.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"
#include "graph/lower/lower.h"
#include "graph/operator.h"

/* What is being rewritten. */
struct gr_lowering {
    enum gr_tile_op op;
    Granary__Attr *const *attrs;
    size_t count;
    const struct gr_schema *input;
};

/* A mapping of columns to expressions being made. Out of memory sticks. */
struct entries {
    char **keys;
    char **texts;
    size_t count;
    bool failed;
};

/* What is wrong for the first column that an expression does not fit for more than its dtype; "": nothing is. */
struct misfit {
    char why[640];
};

static inline granary_err
lower_no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

static inline const Granary__Attr *
lower_param(const struct gr_lowering *source, const char *name)
{
    return gr_attr_find(source->attrs, source->count, name);
}

static inline const char *
lower_string(const struct gr_lowering *source, const char *name, const char *fallback)
{
    return gr_attr_string(source->attrs, source->count, name, fallback);
}

/* *Takes* the attribute; NULL fails. */
granary_err lowered_add(struct gr_lowered *lowered, Granary__Attr *attr);

/* *Takes* text; NULL, or a buffer that failed before it, is out of memory. */
void entries_add(struct entries *entries, const char *key, char *text);
/* End with an operator that has the entries as its parameter `name`, or with an error from before. */
granary_err entries_finish(struct entries *entries, granary_err err, const char *name, enum gr_tile_op op,
                           struct gr_lowered *lowered);

/* The text of a buffer, which is then empty. */
char *lower_take(struct gr_buf *buffer);
void lower_add_name(struct gr_buf *buffer, const char *name);
void lower_add_quoted(struct gr_buf *text, const char *value);
/* "name is null", of floats "(name is null or isnan(name))". */
void lower_add_missing(struct gr_buf *buffer, const struct gr_field *field);

/* Whether a list has the name; no list has all. */
bool lower_is_listed(const Granary__Attr *names, const char *name);

/* Whether an expression can be put in where this column has no value, as far as dtypes go: a text beside dates must be
 * a date. Only asked when nobody named the column; what cannot be parsed is told later. */
bool lower_fits(const char *text, const struct gr_schema *input, const struct gr_field *field, struct misfit *misfit);
/* Nobody's dtype alone is to blame when the expression is wrong by itself. */
granary_err lower_fail_misfit(const struct misfit *misfit);

#endif
