/* What rewrites are made with: parameters read and made, texts of expressions, shorthands for common nodes. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "base/text/buf.h"
#include "data/frame.h"
#include "graph/expr.h"
#include "graph/rewrite/private.h"
#include "graph/tensor/types.h"

/* ---- what is there ---- */

struct gr_node *
rewrite_input(const struct rewrite *x, size_t k)
{
    return x->node->inputs[k];
}

size_t
rewrite_inputs(const struct rewrite *x)
{
    return x->node->input_count;
}

const struct gr_schema *
rewrite_schema(const struct rewrite *x)
{
    return &x->node->inputs[0]->type.schema;
}

const Granary__Attr *
rewrite_param(const struct rewrite *x, const char *name)
{
    return gr_attr_find(x->params.attrs, x->params.count, name);
}

int64_t
rewrite_param_int(const struct rewrite *x, const char *name)
{
    return gr_param_int(&x->params, name);
}

double
rewrite_param_number(const struct rewrite *x, const char *name)
{
    return gr_param_number(&x->params, name);
}

bool
rewrite_param_bool(const struct rewrite *x, const char *name)
{
    return gr_param_bool(&x->params, name);
}

const char *
rewrite_param_text(const struct rewrite *x, const char *name)
{
    return gr_param_text(&x->params, name);
}

bool
rewrite_param_is(const struct rewrite *x, const char *name, const char *word)
{
    return strcmp(rewrite_param_text(x, name), word) == 0;
}

size_t
rewrite_param_names(const struct rewrite *x, const char *name, char *const **ret_names)
{
    const Granary__Attr *attr = rewrite_param(x, name);

    *ret_names = attr == NULL ? NULL : attr->strings;
    return attr == NULL ? 0 : attr->n_strings;
}

bool
rewrite_is_listed(const struct rewrite *x, const char *name, const char *column)
{
    const Granary__Attr *names = rewrite_param(x, name);
    bool found = names == NULL;

    for (size_t i = 0; !found && i < names->n_strings; i++) {
        found = strcmp(names->strings[i], column) == 0;
    }
    return found;
}

int
rewrite_axis(struct rewrite *x, const char *name, int dims)
{
    int64_t axis = rewrite_param_int(x, name);

    if (axis < -dims || axis >= dims) {
        (void)rewrite_fail(x, "parameter '%s': there is no axis %lld in a tensor of %d dimension%s", name,
                           (long long)axis, dims, dims == 1 ? "" : "s");
        return 0;
    }
    return (int)(axis < 0 ? axis + dims : axis);
}

int
rewrite_axis_or_all(struct rewrite *x, const struct gr_node *a)
{
    return rewrite_param(x, "axis") == NULL ? -1 : rewrite_axis(x, "axis", a->type.dims);
}

/* ---- texts ---- */

/* *Takes* text; NULL is out of memory. */
static const char *
keep_text(struct rewrite *x, char *text)
{
    if (text == NULL || !gr_grow(&x->texts, &x->text_room, x->text_count, sizeof *x->texts)) {
        free(text);
        (void)rewrite_no_memory(x);
        return "";
    }
    return x->texts[x->text_count++] = text;
}

const char *
rewrite_text(struct rewrite *x, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int size;

    va_start(args, format);
    size = vasprintf(&text, format, args);
    va_end(args);
    return keep_text(x, size < 0 ? NULL : text);
}

const char *
rewrite_name(struct rewrite *x, const char *column)
{
    struct gr_buf text = {0};

    gr_expr_print_name(column, &text);
    return keep_text(x, gr_buf_take(&text));
}

const char *
rewrite_quote(struct rewrite *x, const char *text)
{
    struct gr_buf quoted = {0};

    gr_buf_addf(&quoted, "'");
    for (; *text != '\0'; text++) {
        gr_buf_addf(&quoted, *text == '\'' ? "''" : "%c", *text);
    }
    gr_buf_addf(&quoted, "'");
    return keep_text(x, gr_buf_take(&quoted));
}

const char *
rewrite_missing(struct rewrite *x, const struct gr_field *field)
{
    const char *name = rewrite_name(x, field->name);

    return gr_dtype_is_float(field->dtype) ? rewrite_text(x, "(%s is null or isnan(%s))", name, name)
                                           : rewrite_text(x, "%s is null", name);
}

/* ---- parameters of nodes ---- */

static Granary__Attr *
attr_made(struct rewrite *x, Granary__Attr *attr)
{
    if (attr == NULL) {
        (void)rewrite_no_memory(x);
    }
    return attr;
}

#define REWRITE_ATTR(kind, made, ...)                                                                                  \
    Granary__Attr *rewrite_##kind(struct rewrite *x, const char *name, __VA_ARGS__)                                    \
    {                                                                                                                  \
        return attr_made(x, made);                                                                                     \
    }

REWRITE_ATTR(int, gr_attr_new_int(name, value), int64_t value)
REWRITE_ATTR(ints, gr_attr_new_ints(name, values, count), const int64_t *values, size_t count)
REWRITE_ATTR(number, gr_attr_new_double(name, value), double value)
REWRITE_ATTR(bool, gr_attr_new_bool(name, value), bool value)
REWRITE_ATTR(bools, gr_attr_new_bools(name, values, count), const bool *values, size_t count)
REWRITE_ATTR(string, gr_attr_new_string(name, value), const char *value)
REWRITE_ATTR(strings, gr_attr_new_strings(name, (char *const *)(uintptr_t)values, count), const char *const *values,
             size_t count)

void
rewrite_entry(struct rewrite *x, const char *key, const char *value)
{
    if (!gr_grow(&x->map.keys, &x->map.key_room, x->map.count, sizeof(char *)) ||
        !gr_grow(&x->map.values, &x->map.value_room, x->map.count, sizeof(char *))) {
        (void)rewrite_no_memory(x);
        return;
    }
    x->map.keys[x->map.count] = (char *)(uintptr_t)key; /* only read */
    x->map.values[x->map.count++] = (char *)(uintptr_t)value;
}

Granary__Attr *
rewrite_map(struct rewrite *x, const char *name)
{
    size_t count = x->map.count;

    x->map.count = 0;
    return attr_made(x, gr_attr_new_map(name, x->map.keys, x->map.values, count));
}

void
rewrite_set(struct rewrite *x, Granary__Attr *attr)
{
    if (attr != NULL && !attrs_add(&x->set, attr)) {
        (void)rewrite_no_memory(x);
    }
}

void
rewrite_hand_on(struct rewrite *x, const char *name, const char *as)
{
    const Granary__Attr *given = rewrite_param(x, name);
    Granary__Attr *copy = given == NULL ? NULL : attr_made(x, gr_attr_copy(given));
    char *called = copy == NULL ? NULL : strdup(as);

    if (copy != NULL && called == NULL) {
        granary__attr__free_unpacked(copy, NULL);
        (void)rewrite_no_memory(x);
        return;
    }
    if (copy != NULL) {
        free(copy->name);
        copy->name = called;
    }
    rewrite_set(x, copy);
}

/* ---- nodes ---- */

struct gr_node *
rewrite_columns(struct rewrite *x, enum gr_tile_op op)
{
    return rewrite_add(x, op, rewrite_input(x, 0), NULL, rewrite_map(x, "columns"), NULL);
}

struct gr_node *
rewrite_unary(struct rewrite *x, enum gr_tile_op op, struct gr_node *a)
{
    return rewrite_add(x, op, a, NULL, NULL, NULL);
}

struct gr_node *
rewrite_binary(struct rewrite *x, enum gr_tile_op op, struct gr_node *a, struct gr_node *b)
{
    return rewrite_add(x, op, a, b, NULL, NULL);
}

struct gr_node *
rewrite_value(struct rewrite *x, enum gr_tile_op op, struct gr_node *a, double value)
{
    int64_t whole = value >= -1e15 && value <= 1e15 ? (int64_t)value : 0;

    return rewrite_add(x, op, a, NULL,
                       (double)whole == value ? rewrite_int(x, "value", whole) : rewrite_number(x, "value", value),
                       NULL);
}

struct gr_node *
rewrite_reshape(struct rewrite *x, struct gr_node *a, const int64_t *shape, size_t dims)
{
    return rewrite_add(x, GR_TILE_reshape, a, NULL, rewrite_ints(x, "shape", shape, dims), NULL);
}

struct gr_node *
rewrite_flat(struct rewrite *x, struct gr_node *a)
{
    return a->type.dims == 1 ? a : rewrite_unary(x, GR_TILE_ravel, a);
}

struct gr_node *
rewrite_transpose(struct rewrite *x, struct gr_node *a, const int64_t *axes, size_t dims)
{
    bool same = true;

    for (size_t d = 0; d < dims; d++) {
        same = same && axes[d] == (int64_t)d;
    }
    return same ? a : rewrite_add(x, GR_TILE_transpose, a, NULL, rewrite_ints(x, "axes", axes, dims), NULL);
}

struct gr_node *
rewrite_astype(struct rewrite *x, struct gr_node *a, granary_dtype dtype)
{
    return a->type.dtype == dtype
               ? a
               : rewrite_add(x, GR_TILE_astype, a, NULL, rewrite_string(x, "dtype", granary_dtype_name(dtype)), NULL);
}

struct gr_node *
rewrite_reduce(struct rewrite *x, enum gr_tile_op op, struct gr_node *a, int axis, bool keep)
{
    int64_t axes = axis;

    return rewrite_add(x, op, a, NULL, axis < 0 ? NULL : rewrite_ints(x, "axes", &axes, 1),
                       rewrite_bool(x, "keepdims", keep));
}

struct gr_node *
rewrite_full(struct rewrite *x, const int64_t *shape, int dims, const Granary__Attr *value, granary_dtype dtype)
{
    rewrite_set(x, rewrite_ints(x, "shape", shape, (size_t)dims));
    rewrite_set(x, value == NULL ? rewrite_int(x, "value", 0) : attr_made(x, gr_attr_copy(value)));
    return rewrite_add(x, GR_TILE_full, NULL, NULL, rewrite_string(x, "dtype", granary_dtype_name(dtype)), NULL);
}

struct gr_node *
rewrite_range(struct rewrite *x, int64_t count)
{
    return rewrite_add(x, GR_TILE_arange, NULL, NULL, rewrite_int(x, "stop", count), NULL);
}
