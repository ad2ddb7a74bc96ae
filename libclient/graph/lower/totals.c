/* Rows chosen, and all of them in one: nlargest, tail, aggregate, quantile, count_rows. */
#include <string.h>

#include "graph/lower/private.h"

static granary_err
lower_extremes(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = lower_param(source, "columns");
    bool descending = source->op == GR_TILE_nlargest;
    granary_err err;

    lowered->op = GR_TILE_sort;
    lowered->limit = gr_attr_int(source->attrs, source->count, "rows", 0);
    err = lowered_add(lowered, gr_attr_new_strings("by", columns->strings, columns->n_strings));
    return err == GRANARY_OK ? lowered_add(lowered, gr_attr_new_bools("descending", &descending, 1)) : err;
}

const struct gr_operator gr_op_nlargest = {.lower = lower_extremes};

const struct gr_operator gr_op_nsmallest = {.lower = lower_extremes};

static granary_err
lower_aggregate(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    granary_err err;

    lowered->op = GR_TILE_groupby;
    err = lowered_add(lowered, gr_attr_new_strings("keys", NULL, 0));
    return err == GRANARY_OK ? lowered_add(lowered, gr_attr_copy(lower_param(source, "aggregate"))) : err;
}

const struct gr_operator gr_op_aggregate = {.lower = lower_aggregate};

static granary_err
lower_tail(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    int64_t rows = gr_attr_int(source->attrs, source->count, "rows", 0);

    lowered->op = GR_TILE_slice;
    return lowered_add(lowered, rows > 0 ? gr_attr_new_int("start", -rows) : gr_attr_new_int("stop", 0));
}

const struct gr_operator gr_op_tail = {.lower = lower_tail};

/* A groupby of all rows; *takes* the aggregates. */
static granary_err
finish_total(struct entries *entries, granary_err err, struct gr_lowered *lowered)
{
    err = entries_finish(entries, err, "aggregate", GR_TILE_groupby, lowered);
    return err == GRANARY_OK ? lowered_add(lowered, gr_attr_new_strings("keys", NULL, 0)) : err;
}

static granary_err
lower_quantile(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = lower_param(source, "columns");
    struct entries entries = {0};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < (columns != NULL ? columns->n_strings : source->input->count); i++) {
        const struct gr_field *field = columns == NULL ? &source->input->fields[i] : NULL;
        const char *name = columns != NULL ? columns->strings[i] : field->name;
        struct gr_buf text = {0};

        if (columns != NULL || gr_dtype_is_number(field->dtype)) {
            gr_buf_addf(&text, "quantile(");
            lower_add_name(&text, name);
            gr_buf_addf(&text, ", %.17g)", gr_attr_double(source->attrs, source->count, "q", 0.5));
            entries_add(&entries, name, lower_take(&text));
        }
    }
    if (entries.count == 0 && !entries.failed) {
        err = gr_fail(GRANARY_ETYPE, "no column has numbers");
    }
    return finish_total(&entries, err, lowered);
}

const struct gr_operator gr_op_quantile = {.lower = lower_quantile};

static granary_err
lower_count_rows(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    struct entries entries = {0};

    entries_add(&entries, lower_string(source, "name", "rows"), strdup("size"));
    return finish_total(&entries, GRANARY_OK, lowered);
}

const struct gr_operator gr_op_count_rows = {.lower = lower_count_rows};
