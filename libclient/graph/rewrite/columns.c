/* Columns chosen, named, numbered and moved: drop, rename, astype_columns, reset_index, shift_columns. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/rewrite/private.h"

static struct gr_node *
rewrite_drop(struct rewrite *x)
{
    const struct gr_schema *schema = rewrite_schema(x);
    const char **names = calloc(schema->count + 1, sizeof *names);
    Granary__Attr *columns;
    size_t count = 0;

    if (names == NULL) {
        return rewrite_no_memory(x);
    }
    for (size_t i = 0; i < schema->count; i++) {
        if (!rewrite_is_listed(x, "columns", schema->fields[i].name)) {
            names[count++] = schema->fields[i].name;
        }
    }
    if (count == 0) {
        free(names);
        return rewrite_fail(x, "parameter 'columns' names all columns: none would be left");
    }
    columns = rewrite_strings(x, "columns", names, count);
    free(names);
    return rewrite_add(x, GR_TILE_select, rewrite_input(x, 0), NULL, columns, NULL);
}

const struct gr_operator gr_op_drop = {.rewrite = rewrite_drop};

static struct gr_node *
rewrite_rename(struct rewrite *x)
{
    const Granary__Attr *columns = rewrite_param(x, "columns");
    const struct gr_schema *schema = rewrite_schema(x);

    for (size_t i = 0; i < schema->count; i++) {
        const char *name = schema->fields[i].name;
        const char *renamed = name;

        for (size_t k = 0; k < columns->n_keys; k++) {
            renamed = strcmp(columns->keys[k], name) == 0 ? columns->strings[k] : renamed;
        }
        for (size_t k = 0; k < x->map.count; k++) {
            if (strcmp(x->map.keys[k], renamed) == 0) {
                return rewrite_fail(x, "parameter 'columns': two columns would be called '%.100s'", renamed);
            }
        }
        rewrite_entry(x, renamed, rewrite_name(x, name));
    }
    return rewrite_columns(x, GR_TILE_project);
}

const struct gr_operator gr_op_rename = {.rewrite = rewrite_rename};

static struct gr_node *
rewrite_astype_columns(struct rewrite *x)
{
    const Granary__Attr *columns = rewrite_param(x, "columns");
    const char *cast = rewrite_param_is(x, "errors", "coerce") ? "try_cast" : "cast";

    for (size_t k = 0; k < columns->n_keys; k++) {
        rewrite_entry(x, columns->keys[k],
                      rewrite_text(x, "%s(%s as %s)", cast, rewrite_name(x, columns->keys[k]), columns->strings[k]));
    }
    return rewrite_columns(x, GR_TILE_assign);
}

const struct gr_operator gr_op_astype_columns = {.rewrite = rewrite_astype_columns};

static struct gr_node *
rewrite_reset_index(struct rewrite *x)
{
    const char *name = rewrite_param_text(x, "name");

    if (gr_schema_find(rewrite_schema(x), name) >= 0) {
        return rewrite_fail(x, "there is a column '%.100s' already: choose another 'name'", name);
    }
    rewrite_entry(x, name, "cumcount()");
    return rewrite_columns(x, GR_TILE_window);
}

const struct gr_operator gr_op_reset_index = {.rewrite = rewrite_reset_index};

/* The window function of that name for each column. */
static struct gr_node *
rewrite_shift_columns(struct rewrite *x)
{
    const struct gr_schema *schema = rewrite_schema(x);
    bool is_keyed = rewrite_param(x, "keys") != NULL;

    for (size_t i = 0; i < schema->count; i++) {
        const char *name = schema->fields[i].name;

        if (rewrite_param(x, "columns") != NULL ? rewrite_is_listed(x, "columns", name)
                                                : !is_keyed || !rewrite_is_listed(x, "keys", name)) {
            rewrite_entry(
                x, name,
                rewrite_text(x, "shift(%s, %" PRId64 ")", rewrite_name(x, name), rewrite_param_int(x, "periods")));
        }
    }
    if (x->map.count == 0) {
        return rewrite_fail(x, "every column is a key: none is left to move");
    }
    rewrite_set(x, rewrite_map(x, "columns"));
    rewrite_hand_on(x, "keys", "partition");
    return rewrite_unary(x, GR_TILE_window, rewrite_input(x, 0));
}

const struct gr_operator gr_op_shift_columns = {.rewrite = rewrite_shift_columns};
