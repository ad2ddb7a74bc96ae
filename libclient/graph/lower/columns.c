/* Columns chosen, named and given another dtype: drop, rename, astype_columns, reset_index. */
#include <stdlib.h>
#include <string.h>

#include "graph/lower/private.h"

static granary_err
lower_drop(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = lower_param(source, "columns");
    char **names = calloc(source->input->count + 1, sizeof *names);
    size_t count = 0;
    granary_err err = names == NULL ? lower_no_memory() : GRANARY_OK;

    for (size_t i = 0; i < source->input->count && err == GRANARY_OK; i++) {
        if (!lower_is_listed(columns, source->input->fields[i].name)) {
            names[count++] = source->input->fields[i].name;
        }
    }
    if (err == GRANARY_OK && count == 0) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'columns' names all columns: none would be left");
    }
    if (err == GRANARY_OK) {
        lowered->op = GR_TILE_select;
        err = lowered_add(lowered, gr_attr_new_strings("columns", names, count));
    }
    free(names);
    return err;
}

const struct gr_operator gr_op_drop = {.lower = lower_drop};

static granary_err
lower_rename(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = lower_param(source, "columns");
    struct entries entries = {0};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < source->input->count; i++) {
        const char *name = source->input->fields[i].name;
        const char *renamed = name;
        struct gr_buf text = {0};

        for (size_t k = 0; k < columns->n_keys; k++) {
            renamed = strcmp(columns->keys[k], name) == 0 ? columns->strings[k] : renamed;
        }
        for (size_t k = 0; k < entries.count && err == GRANARY_OK; k++) {
            if (strcmp(entries.keys[k], renamed) == 0) {
                err = gr_fail(GRANARY_EINVAL, "parameter 'columns': two columns would be called '%.100s'", renamed);
            }
        }
        lower_add_name(&text, name);
        entries_add(&entries, renamed, lower_take(&text));
    }
    return entries_finish(&entries, err, "columns", GR_TILE_project, lowered);
}

const struct gr_operator gr_op_rename = {.lower = lower_rename};

static granary_err
lower_astype(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = lower_param(source, "columns");
    bool coerce = strcmp(lower_string(source, "errors", "raise"), "coerce") == 0;
    struct entries entries = {0};

    for (size_t k = 0; k < columns->n_keys; k++) {
        struct gr_buf text = {0};

        gr_buf_addf(&text, "%scast(", coerce ? "try_" : "");
        lower_add_name(&text, columns->keys[k]);
        gr_buf_addf(&text, " as %s)", columns->strings[k]);
        entries_add(&entries, columns->keys[k], lower_take(&text));
    }
    return entries_finish(&entries, GRANARY_OK, "columns", GR_TILE_assign, lowered);
}

const struct gr_operator gr_op_astype_columns = {.lower = lower_astype};

static granary_err
lower_reset_index(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    const char *name = lower_string(source, "name", "index");
    struct entries entries = {0};

    if (gr_schema_find(source->input, name) >= 0) {
        return gr_fail(GRANARY_EINVAL, "there is a column '%.100s' already: choose another 'name'", name);
    }
    entries_add(&entries, name, strdup("cumcount()"));
    return entries_finish(&entries, GRANARY_OK, "columns", GR_TILE_window, lowered);
}

const struct gr_operator gr_op_reset_index = {.lower = lower_reset_index};
