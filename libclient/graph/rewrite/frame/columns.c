/* Columns chosen, named, numbered and moved: drop, select_dtypes, rename, astype_columns, reset_index, shift_columns. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/rewrite/private.h"

/* The columns that are kept, in their order. none: what is wrong when there is none. */
static struct gr_node *
select_kept(struct rewrite *x, bool (*is_kept)(struct rewrite *x, const struct gr_field *field), const char *none)
{
    const struct gr_schema *schema = rewrite_schema(x);
    const char **names = calloc(schema->count + 1, sizeof *names);
    Granary__Attr *columns;
    size_t count = 0;

    if (names == NULL) {
        return rewrite_no_memory(x);
    }
    for (size_t i = 0; i < schema->count; i++) {
        names[count] = schema->fields[i].name;
        count += is_kept(x, &schema->fields[i]);
    }
    columns = count == 0 ? NULL : rewrite_strings(x, "columns", names, count);
    free(names);
    return count == 0 ? rewrite_fail(x, "%s", none)
                      : rewrite_add(x, GR_TILE_select, rewrite_input(x, 0), NULL, columns, NULL);
}

static bool
is_not_dropped(struct rewrite *x, const struct gr_field *field)
{
    return !rewrite_is_listed(x, "columns", field->name);
}

static struct gr_node *
rewrite_drop(struct rewrite *x)
{
    return select_kept(x, is_not_dropped, "parameter 'columns' names all columns: none would be left");
}

const struct gr_operator gr_op_drop = {.rewrite = rewrite_drop};

/* ---- columns by dtype ---- */

static const struct {
    const char *word;
    unsigned classes;
} dtype_words[] = {
    {"number", 1U << GR_CLASS_SIGNED | 1U << GR_CLASS_UNSIGNED | 1U << GR_CLASS_REAL | 1U << GR_CLASS_DECIMAL},
    {"integer", 1U << GR_CLASS_SIGNED | 1U << GR_CLASS_UNSIGNED},
    {"float", 1U << GR_CLASS_REAL},
    {"decimal", 1U << GR_CLASS_DECIMAL},
    {"temporal", 1U << GR_CLASS_MOMENT | 1U << GR_CLASS_DURATION},
    {"list", 1U << GR_CLASS_LIST}};

/* The classes that a word stands for; 0: it is the name of a dtype, or nothing. */
static unsigned
classes_of(const char *word)
{
    for (size_t i = 0; i < sizeof dtype_words / sizeof dtype_words[0]; i++) {
        if (strcmp(word, dtype_words[i].word) == 0) {
            return dtype_words[i].classes;
        }
    }
    return 0;
}

/* Words that mean nothing would choose nothing, in silence. */
static granary_err
check_select_dtypes(const Granary__Node *node, enum gr_tile_op op)
{
    static const char *const parameters[] = {"include", "exclude"};
    size_t given = 0;

    (void)op;
    for (size_t p = 0; p < 2; p++) {
        const Granary__Attr *words = gr_attr_find(node->attrs, node->n_attrs, parameters[p]);

        given += words != NULL;
        for (size_t i = 0; words != NULL && i < words->n_strings; i++) {
            if (classes_of(words->strings[i]) == 0 && gr_dtype_parse(words->strings[i]) == GRANARY_NULLTYPE) {
                return gr_fail(GRANARY_EINVAL, "parameter '%s': there is no dtype '%.100s'", parameters[p],
                               words->strings[i]);
            }
        }
    }
    return given > 0 ? GRANARY_OK : gr_fail(GRANARY_EINVAL, "it needs 'include' or 'exclude'");
}

static bool
is_of_words(struct rewrite *x, const char *parameter, granary_dtype dtype)
{
    char *const *words;
    size_t count = rewrite_param_names(x, parameter, &words);
    bool found = false;

    for (size_t i = 0; i < count && !found; i++) {
        unsigned classes = classes_of(words[i]);

        found = classes != 0 ? (classes >> gr_dtype_class(dtype) & 1U) != 0 : gr_dtype_parse(words[i]) == dtype;
    }
    return found;
}

static bool
is_of_dtypes(struct rewrite *x, const struct gr_field *field)
{
    return (rewrite_param(x, "include") == NULL || is_of_words(x, "include", field->dtype)) &&
           !is_of_words(x, "exclude", field->dtype);
}

static struct gr_node *
rewrite_select_dtypes(struct rewrite *x)
{
    return select_kept(x, is_of_dtypes, "no column has such a dtype: at least one must be left");
}

const struct gr_operator gr_op_select_dtypes = {.check = check_select_dtypes, .rewrite = rewrite_select_dtypes};

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

/* Whether shift_columns moves a column. */
static bool
moves(struct rewrite *x, const char *name)
{
    return rewrite_param(x, "columns") != NULL
               ? rewrite_is_listed(x, "columns", name)
               : rewrite_param(x, "keys") == NULL || !rewrite_is_listed(x, "keys", name);
}

/* "NAME moved", or the value that is filled in where there is no row to take it from. */
static struct gr_node *
fill_moved(struct rewrite *x)
{
    static const char *const own[] = {"#place", "#size"};
    const struct gr_schema *schema = rewrite_schema(x);
    const char *fill = rewrite_param_text(x, "fill_value");
    int64_t periods = rewrite_param_int(x, "periods");
    const char **names = calloc(schema->count + 2, sizeof *names);
    size_t count = 0;
    struct gr_node *rows;
    Granary__Attr *dropped;

    if (names == NULL) {
        return rewrite_no_memory(x);
    }
    for (size_t i = 0; i < schema->count; i++) {
        const char *name = schema->fields[i].name;

        names[count] = name;
        count += moves(x, name);
    }
    for (size_t i = 0; i < count; i++) {
        rewrite_entry(x, rewrite_text(x, "#moved %zu", i),
                      rewrite_text(x, "shift(%s, %" PRId64 ")", rewrite_name(x, names[i]), periods));
    }
    rewrite_entry(x, own[0], "cumcount()");
    rewrite_entry(x, own[1], "size()");
    rewrite_set(x, rewrite_map(x, "columns"));
    rewrite_hand_on(x, "keys", "partition");
    rows = rewrite_part(x, "moved", GR_TILE_window, rewrite_input(x, 0), NULL, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        rewrite_entry(x, names[i],
                      rewrite_text(x, "case when `#place` %s %" PRId64 " then `#moved %zu` else (%s) end",
                                   periods >= 0 ? ">=" : "< `#size` +", periods, i, fill));
    }
    rows = rewrite_part(x, "filled", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
    for (size_t i = 0; i < count; i++) {
        names[i] = rewrite_text(x, "#moved %zu", i);
    }
    names[count] = own[0];
    names[count + 1] = own[1];
    dropped = rewrite_strings(x, "columns", names, count + 2);
    free(names);
    return rewrite_add(x, GR_TILE_drop, rows, NULL, dropped, NULL);
}

static struct gr_node *
rewrite_shift_columns(struct rewrite *x)
{
    const struct gr_schema *schema = rewrite_schema(x);
    size_t count = 0;

    for (size_t i = 0; i < schema->count; i++) {
        count += moves(x, schema->fields[i].name);
    }
    if (count == 0) {
        return rewrite_fail(x, "every column is a key: none is left to move");
    }
    if (rewrite_param(x, "fill_value") != NULL) {
        return fill_moved(x);
    }
    for (size_t i = 0; i < schema->count; i++) {
        const char *name = schema->fields[i].name;

        if (moves(x, name)) {
            rewrite_entry(
                x, name,
                rewrite_text(x, "shift(%s, %" PRId64 ")", rewrite_name(x, name), rewrite_param_int(x, "periods")));
        }
    }
    rewrite_set(x, rewrite_map(x, "columns"));
    rewrite_hand_on(x, "keys", "partition");
    return rewrite_unary(x, GR_TILE_window, rewrite_input(x, 0));
}

const struct gr_operator gr_op_shift_columns = {.rewrite = rewrite_shift_columns};

/* ---- columns one below the other, row by row ---- */

static struct gr_node *
rewrite_stack_columns(struct rewrite *x)
{
    const struct gr_schema *schema = rewrite_schema(x);
    const char *const made[] = {rewrite_param_text(x, "var_name"), rewrite_param_text(x, "value_name")};
    const struct gr_field *first = NULL;
    const char *names = "", *values = "";
    char *const *ids;
    size_t id_count = rewrite_param_names(x, "id_vars", &ids);
    struct gr_node *rows;

    for (size_t i = 0; i < id_count; i++) {
        rewrite_entry(x, ids[i], rewrite_name(x, ids[i]));
        if (strcmp(ids[i], made[0]) == 0 || strcmp(ids[i], made[1]) == 0) {
            return rewrite_fail(x, "two columns would be called '%.100s': choose another 'var_name' or 'value_name'",
                                ids[i]);
        }
    }
    for (size_t i = 0; i < schema->count; i++) {
        const struct gr_field *field = &schema->fields[i];

        if (rewrite_param(x, "value_vars") != NULL ? !rewrite_is_listed(x, "value_vars", field->name)
                                                   : id_count > 0 && rewrite_is_listed(x, "id_vars", field->name)) {
            continue;
        }
        first = first == NULL ? field : first;
        if (field->dtype != first->dtype) {
            return rewrite_fail(x, "column '%.100s' is %s, but '%.100s' is %s: astype_columns gives them one dtype",
                                field->name, granary_dtype_name(field->dtype), first->name,
                                granary_dtype_name(first->dtype));
        }
        names = rewrite_text(x, "%s%s%s", names, names[0] == '\0' ? "" : ", ", rewrite_quote(x, field->name));
        values = rewrite_text(x, "%s%s%s", values, values[0] == '\0' ? "" : ", ", rewrite_name(x, field->name));
    }
    if (first == NULL || strcmp(made[0], made[1]) == 0) {
        return rewrite_fail(x, first == NULL ? "no column is left to become rows"
                                             : "'var_name' and 'value_name' are the same");
    }
    rewrite_entry(x, made[0], rewrite_text(x, "list_value(%s)", names));
    rewrite_entry(x, made[1], rewrite_text(x, "list_value(%s)", values));
    rows = rewrite_part(x, "lists", GR_TILE_project, rewrite_input(x, 0), NULL, rewrite_map(x, "columns"), NULL);
    rows = rewrite_part(x, "rows", GR_TILE_explode, rows, NULL, rewrite_strings(x, "columns", made, 2), NULL);
    if (!rewrite_param_bool(x, "dropna")) {
        return rows;
    }
    return rewrite_add(
        x, GR_TILE_filter, rows, NULL,
        rewrite_string(x, "where",
                       rewrite_text(x, "not (%s)",
                                    rewrite_missing(x, &(struct gr_field){.name = (char *)(uintptr_t)made[1],
                                                                          .dtype = first->dtype}))),
        NULL);
}

const struct gr_operator gr_op_stack_columns = {.rewrite = rewrite_stack_columns};
