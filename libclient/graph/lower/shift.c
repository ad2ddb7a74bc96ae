/* shift_columns: the window function of that name for each column. */
#include <inttypes.h>

#include "graph/lower/private.h"

static granary_err
lower_shift(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = lower_param(source, "columns");
    const Granary__Attr *keys = lower_param(source, "keys");
    int64_t periods = gr_attr_int(source->attrs, source->count, "periods", 1);
    struct entries entries = {0};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < source->input->count; i++) {
        const char *name = source->input->fields[i].name;
        struct gr_buf text = {0};

        if (columns != NULL ? !lower_is_listed(columns, name) : keys != NULL && lower_is_listed(keys, name)) {
            continue;
        }
        gr_buf_addf(&text, "shift(");
        lower_add_name(&text, name);
        gr_buf_addf(&text, ", %" PRId64 ")", periods);
        entries_add(&entries, name, lower_take(&text));
    }
    if (entries.count == 0 && !entries.failed) {
        err = gr_fail(GRANARY_EINVAL, "every column is a key: none is left to move");
    }
    err = entries_finish(&entries, err, "columns", GR_TILE_window, lowered);
    return err == GRANARY_OK && keys != NULL
               ? lowered_add(lowered, gr_attr_new_strings("partition", keys->strings, keys->n_strings))
               : err;
}

const struct gr_operator gr_op_shift_columns = {.lower = lower_shift};
