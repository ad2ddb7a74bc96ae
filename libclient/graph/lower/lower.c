/* What is made of an operator: attributes, a mapping of columns to expressions, and pieces of their text. */
#include "graph/lower/lower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/lower/private.h"

void
gr_lowered_free(struct gr_lowered *lowered)
{
    for (size_t i = 0; i < lowered->count; i++) {
        granary__attr__free_unpacked(lowered->attrs[i], NULL);
    }
    free(lowered->attrs);
    *lowered = (struct gr_lowered){0};
}

/* *Takes* the attribute; NULL fails. */
granary_err
lowered_add(struct gr_lowered *lowered, Granary__Attr *attr)
{
    Granary__Attr **attrs =
        attr == NULL ? NULL : realloc(lowered->attrs, (lowered->count + 1) * sizeof *lowered->attrs);

    if (attrs == NULL) {
        if (attr != NULL) {
            granary__attr__free_unpacked(attr, NULL);
        }
        return lower_no_memory();
    }
    lowered->attrs = attrs;
    lowered->attrs[lowered->count++] = attr;
    return GRANARY_OK;
}

/* *Takes* text; NULL, or a buffer that failed before it, is out of memory. */
void
entries_add(struct entries *entries, const char *key, char *text)
{
    char **keys = realloc(entries->keys, (entries->count + 1) * sizeof *keys);
    char **texts = keys == NULL ? NULL : realloc(entries->texts, (entries->count + 1) * sizeof *texts);
    char *copy = strdup(key);

    entries->keys = keys != NULL ? keys : entries->keys;
    entries->texts = texts != NULL ? texts : entries->texts;
    if (keys == NULL || texts == NULL || copy == NULL || text == NULL) {
        entries->failed = true;
        free(copy);
        free(text);
        return;
    }
    entries->keys[entries->count] = copy;
    entries->texts[entries->count++] = text;
}

/* The text of a buffer, which is then empty. */
char *
lower_take(struct gr_buf *buffer)
{
    char *text = gr_buf_ok(buffer) && buffer->bytes != NULL ? strdup(buffer->bytes) : NULL;

    gr_buf_free(buffer);
    *buffer = (struct gr_buf){0};
    return text;
}

/* End with an operator that has the entries as its parameter `name`, or with an error from before. */
granary_err
entries_finish(struct entries *entries, granary_err err, const char *name, enum gr_tile_op op,
               struct gr_lowered *lowered)
{
    if (err == GRANARY_OK && entries->failed) {
        err = lower_no_memory();
    }
    if (err == GRANARY_OK) {
        lowered->op = op;
        err = lowered_add(lowered, gr_attr_new_map(name, entries->keys, entries->texts, entries->count));
    }
    for (size_t i = 0; i < entries->count; i++) {
        free(entries->keys[i]);
        free(entries->texts[i]);
    }
    free(entries->keys);
    free(entries->texts);
    return err;
}

void
lower_add_name(struct gr_buf *buffer, const char *name)
{
    gr_expr_print_name(name, buffer);
}

void
lower_add_quoted(struct gr_buf *text, const char *value)
{
    gr_buf_addf(text, "'");
    for (const char *c = value; *c != '\0'; c++) {
        gr_buf_addf(text, *c == '\'' ? "''" : "%c", *c);
    }
    gr_buf_addf(text, "'");
}

/* Whether a list has the name; no list has all. */
bool
lower_is_listed(const Granary__Attr *names, const char *name)
{
    for (size_t i = 0; names != NULL && i < names->n_strings; i++) {
        if (strcmp(names->strings[i], name) == 0) {
            return true;
        }
    }
    return names == NULL;
}

/* "name is null", of floats "(name is null or isnan(name))". */
void
lower_add_missing(struct gr_buf *buffer, const struct gr_field *field)
{
    gr_buf_addf(buffer, gr_dtype_is_float(field->dtype) ? "(" : "");
    lower_add_name(buffer, field->name);
    gr_buf_addf(buffer, " is null");
    if (gr_dtype_is_float(field->dtype)) {
        gr_buf_addf(buffer, " or isnan(");
        lower_add_name(buffer, field->name);
        gr_buf_addf(buffer, "))");
    }
}

/* Whether an expression can be put in where this column has no value, as far as dtypes go: a text beside dates must be
 * a date. Only asked when nobody named the column; what cannot be parsed is told later. */
bool
lower_fits(const char *text, const struct gr_schema *input, const struct gr_field *field, struct misfit *misfit)
{
    struct gr_expr *expr = NULL;
    granary_err err = gr_expr_parse(text, &expr);
    bool good = err != GRANARY_OK || (err = gr_expr_check(expr, input), err != GRANARY_ETYPE && err != GRANARY_EINVAL);

    if (!good && err == GRANARY_EINVAL && misfit->why[0] == '\0') {
        (void)snprintf(misfit->why, sizeof misfit->why, "column '%.100s': expression `%.240s`, %.240s", field->name,
                       text, granary_error_message());
    }
    gr_expr_destroy(expr);
    return good;
}

/* Nobody's dtype alone is to blame when the expression is wrong by itself. */
granary_err
lower_fail_misfit(const struct misfit *misfit)
{
    return misfit->why[0] != '\0' ? gr_fail(GRANARY_EINVAL, "%s", misfit->why)
                                  : gr_fail(GRANARY_ETYPE, "no column has a dtype that the value fits");
}

granary_err
gr_lower(enum gr_tile_op op, Granary__Attr *const *attrs, size_t count, const struct gr_schema *input,
         struct gr_lowered *ret_lowered)
{
    struct gr_lowering source = {.op = op, .attrs = attrs, .count = count, .input = input};
    struct gr_lowered lowered = {.op = op, .limit = -1};
    granary_err err = gr_operator(op)->lower(&source, &lowered);

    if (err != GRANARY_OK) {
        gr_lowered_free(&lowered);
        return err;
    }
    *ret_lowered = lowered;
    return GRANARY_OK;
}
