/* Values that become others: replace, clip, where, mask, and text that becomes dates and numbers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/lower/private.h"

static void
add_replaced(struct gr_buf *text, const struct gr_field *field, const Granary__Attr *map)
{
    gr_buf_addf(text, "case");
    for (size_t k = 0; k < map->n_keys; k++) {
        gr_buf_addf(text, " when ");
        if (strcmp(map->keys[k], "null") == 0) {
            lower_add_missing(text, field);
        } else {
            lower_add_name(text, field->name);
            gr_buf_addf(text, " = (%s)", map->keys[k]);
        }
        gr_buf_addf(text, " then (%s)", map->strings[k]);
    }
    gr_buf_addf(text, " else ");
    lower_add_name(text, field->name);
    gr_buf_addf(text, " end");
}

static void
add_clipped(struct gr_buf *text, const struct gr_field *field, const Granary__Attr *bound, const char *sign)
{
    if (bound == NULL) {
        return;
    }
    gr_buf_addf(text, " when ");
    lower_add_name(text, field->name);
    if (bound->kind == GRANARY__ATTR__KIND__STRING) {
        gr_buf_addf(text, " %s %s^ then %s^", sign, bound->strings[0], bound->strings[0]);
    } else if (bound->kind == GRANARY__ATTR__KIND__INT) {
        gr_buf_addf(text, " %s %" PRId64 " then %" PRId64, sign, bound->ints[0], bound->ints[0]);
    } else {
        gr_buf_addf(text, " %s %.17g then %.17g", sign, bound->doubles[0], bound->doubles[0]);
    }
}

/* One expression for each column that is listed, or that can have one; what: added to text. */
static granary_err
lower_columns(const struct gr_lowering *source,
              void (*add)(struct gr_buf *, const struct gr_lowering *, const struct gr_field *),
              bool (*applies)(granary_dtype), struct gr_lowered *lowered)
{
    const Granary__Attr *columns = lower_param(source, "columns");
    struct misfit misfit = {.why = ""};
    struct entries entries = {0};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < source->input->count; i++) {
        const struct gr_field *field = &source->input->fields[i];
        struct gr_buf text = {0};
        char *made;

        if (!lower_is_listed(columns, field->name) || (columns == NULL && applies != NULL && !applies(field->dtype))) {
            continue;
        }
        add(&text, source, field);
        made = lower_take(&text);
        if (made != NULL && columns == NULL && !lower_fits(made, source->input, field, &misfit)) {
            free(made);
            continue;
        }
        entries_add(&entries, field->name, made);
    }
    if (entries.count == 0 && !entries.failed) {
        err = lower_fail_misfit(&misfit);
    }
    return entries_finish(&entries, err, "columns", GR_TILE_assign, lowered);
}

static void
make_replaced(struct gr_buf *text, const struct gr_lowering *source, const struct gr_field *field)
{
    add_replaced(text, field, lower_param(source, "values"));
}

static granary_err
lower_replace(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    return lower_columns(source, make_replaced, NULL, lowered);
}

const struct gr_operator gr_op_replace = {.lower = lower_replace};

static void
make_clipped(struct gr_buf *text, const struct gr_lowering *source, const struct gr_field *field)
{
    gr_buf_addf(text, "case");
    add_clipped(text, field, lower_param(source, "lower"), "<");
    add_clipped(text, field, lower_param(source, "upper"), ">");
    gr_buf_addf(text, " else ");
    lower_add_name(text, field->name);
    gr_buf_addf(text, " end");
}

static granary_err
lower_clip(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    return lower_columns(source, make_clipped, gr_dtype_is_number, lowered);
}

static granary_err
check_clip(const Granary__Node *node, enum gr_tile_op op)
{
    (void)op;
    return gr_attr_find(node->attrs, node->n_attrs, "lower") == NULL &&
                   gr_attr_find(node->attrs, node->n_attrs, "upper") == NULL
               ? gr_fail(GRANARY_EINVAL, "it needs 'lower' or 'upper'")
               : GRANARY_OK;
}

const struct gr_operator gr_op_clip_columns = {.check = check_clip, .lower = lower_clip};

static void
make_where(struct gr_buf *text, const struct gr_lowering *source, const struct gr_field *field)
{
    const char *condition = lower_string(source, "condition", "");
    const char *other = lower_string(source, "other", "null");

    gr_buf_addf(text, "case when (%s) then ", condition);
    if (source->op == GR_TILE_mask_columns) {
        gr_buf_addf(text, "(%s) else ", other);
        lower_add_name(text, field->name);
    } else {
        lower_add_name(text, field->name);
        gr_buf_addf(text, " else (%s)", other);
    }
    gr_buf_addf(text, " end");
}

static granary_err
lower_where(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    return lower_columns(source, make_where, NULL, lowered);
}

const struct gr_operator gr_op_where_columns = {.lower = lower_where};

const struct gr_operator gr_op_mask_columns = {.lower = lower_where};

static void
make_parsed(struct gr_buf *text, const struct gr_lowering *source, const struct gr_field *field)
{
    bool coerce = strcmp(lower_string(source, "errors", "raise"), "coerce") == 0;
    const char *format = lower_string(source, "format", NULL);

    if (format != NULL) {
        gr_buf_addf(text, "%sstrptime(", coerce ? "try_" : "");
        lower_add_name(text, field->name);
        gr_buf_addf(text, ", ");
        lower_add_quoted(text, format);
        gr_buf_addf(text, ")");
        return;
    }
    gr_buf_addf(text, "%scast(", coerce ? "try_" : "");
    lower_add_name(text, field->name);
    gr_buf_addf(text, source->op == GR_TILE_to_datetime ? " as timestamp)" : " as float64)");
}

static granary_err
lower_parsed(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    return lower_columns(source, make_parsed, NULL, lowered);
}

const struct gr_operator gr_op_to_datetime = {.lower = lower_parsed};

const struct gr_operator gr_op_to_numeric = {.lower = lower_parsed};
