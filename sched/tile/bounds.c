/* What the zone maps of stored tables tell of columns further up, before anything has run. */
#include <string.h>

#include "base/error.h"
#include "graph/expr.h"
#include "graph/join.h"
#include "tile/rules.h"

/* A column of a step. */
struct place {
    size_t step;
    const char *name;
};

/* Bound of a stored column: chunks may share values, so at most as many as all of them together. */
static uint64_t
table_distinct(const struct gr_table *table, const char *name)
{
    int at = gr_schema_find(&table->schema, name);
    uint64_t sum = 0;
    bool is_number = false;
    bool known = true;
    int64_t min = INT64_MAX;
    int64_t max = INT64_MIN;

    for (size_t p = 0; at >= 0 && p < table->count; p++) {
        const Granary__ColumnInfo *info = table->infos[p]->columns[at];
        granary_dtype dtype = (granary_dtype)info->dtype;

        if (table->infos[p]->rows == 0 || info->nulls == table->infos[p]->rows) {
            continue;
        }
        known = known && info->distinct > 0;
        sum += info->distinct;
        is_number = info->zone && (dtype == GRANARY_INT8 || dtype == GRANARY_INT16 || dtype == GRANARY_INT32 ||
                                   dtype == GRANARY_INT64 || dtype == GRANARY_DATE || dtype == GRANARY_BOOL);
        if (is_number) {
            min = (int64_t)info->min < min ? (int64_t)info->min : min;
            max = (int64_t)info->max > max ? (int64_t)info->max : max;
        }
    }
    if (is_number && min <= max && (uint64_t)max - (uint64_t)min < UINT64_MAX) {
        uint64_t range = (uint64_t)max - (uint64_t)min + 1;

        sum = known && sum < range ? sum : range;
        known = true;
    }
    return at >= 0 && known ? sum : 0;
}

/* The name an entry of a mapping hands through; NULL: it computes something. Unchanged when there is none of it. */
static const char *
through_map(const struct tiling *t, const struct gr_step *step, const char *name)
{
    const Granary__Attr *columns = gr_step_attr(step, "columns");
    const struct gr_schema *input = &t->steps->steps[step->inputs[0]].type->schema;
    const char *text = NULL;
    struct gr_expr *expr = NULL;
    int at = -1;

    for (size_t k = 0; columns != NULL && k < columns->n_keys; k++) {
        text = strcmp(columns->keys[k], name) == 0 ? columns->strings[k] : text;
    }
    if (text == NULL) {
        return name;
    }
    if (gr_expr_parse(text, &expr) == GRANARY_OK && expr->kind == GR_EXPR_COLUMN) {
        at = gr_schema_find(input, expr->column);
    }
    gr_expr_destroy(expr);
    return at < 0 ? NULL : input->fields[at].name;
}

/* Which input's column a join's is. */
static bool
through_join(const struct tiling *t, const struct gr_step *step, struct place *place)
{
    const struct gr_schema *left = &t->steps->steps[step->inputs[0]].type->schema;
    const struct gr_schema *right = &t->steps->steps[step->inputs[1]].type->schema;
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);
    struct gr_join_column *columns = NULL;
    struct gr_join join;
    size_t column_count = 0;
    bool found = false;

    if (gr_join_parse(attrs, count, &join) != GRANARY_OK ||
        gr_join_columns(&join, left, right, &columns, &column_count) != GRANARY_OK) {
        return false;
    }
    for (size_t c = 0; c < column_count && !found; c++) {
        if (strcmp(columns[c].name, place->name) != 0) {
            continue;
        }
        if (columns[c].left >= 0) {
            *place = (struct place){step->inputs[0], left->fields[columns[c].left].name};
        } else if (columns[c].right >= 0) {
            *place = (struct place){step->inputs[1], right->fields[columns[c].right].name};
        }
        found = columns[c].left >= 0 || columns[c].right >= 0;
        break;
    }
    gr_join_columns_free(columns, column_count);
    return found;
}

/* One step down. false: it is made here. */
static bool
descend(const struct tiling *t, struct place *place)
{
    const struct gr_step *step = &t->steps->steps[place->step];

    switch (step->op) {
    case GR_TILE_select:
    case GR_TILE_filter:
    case GR_TILE_sort:
    case GR_TILE_head:
        place->step = step->inputs[0];
        return true;
    case GR_TILE_assign:
    case GR_TILE_project:
        place->name = through_map(t, step, place->name);
        place->step = step->inputs[0];
        return place->name != NULL;
    case GR_TILE_groupby: {
        const Granary__Attr *keys = gr_step_attr(step, "keys");
        bool is_key = false;

        for (size_t k = 0; keys != NULL && k < keys->n_strings; k++) {
            is_key = is_key || strcmp(keys->strings[k], place->name) == 0;
        }
        place->name = is_key ? through_map(t, step, place->name) : NULL;
        place->step = step->inputs[0];
        return place->name != NULL;
    }
    case GR_TILE_join:
        return through_join(t, step, place);
    default:
        return false;
    }
}

const char *
tiling_source_column(const struct tiling *t, size_t i, const char *column)
{
    return through_map(t, &t->steps->steps[i], column);
}

uint64_t
tiling_distinct(const struct tiling *t, size_t i, size_t k, const char *column)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct place place = {step->inputs[k], step->op == GR_TILE_groupby ? through_map(t, step, column) : column};

    if (place.name == NULL) {
        return 0;
    }
    while (t->steps->steps[place.step].op != GR_TILE_table) {
        if (!descend(t, &place)) {
            return 0;
        }
    }
    return table_distinct(t->sources->tables[place.step], place.name);
}
