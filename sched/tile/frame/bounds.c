/* What the zone maps of stored tables, and files, tell of columns further up, before anything has run. */

#include "graph/dtype_class.h"
#include "graph/expr.h"
#include "tile/frame/group.h"
#include "tile/source/table.h"

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
        is_number = info->zone && (gr_dtype_is_signed(dtype) || dtype == GRANARY_DATE || dtype == GRANARY_BOOL);
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

/* One step down. false: it is made here. */
static bool
descend(const struct tiling *t, struct place *place)
{
    const struct gr_step *step = &t->steps->steps[place->step];
    struct gr_op_use use = gr_steps_use(t->steps, place->step);
    size_t input = 0;

    if (gr_operator(step->op)->origin == NULL ||
        !gr_operator(step->op)->origin(&use, place->name, &input, &place->name)) {
        return false;
    }
    place->step = step->inputs[input];
    return true;
}

const char *
tiling_source_column(const struct tiling *t, size_t i, const char *column)
{
    struct gr_op_use use = gr_steps_use(t->steps, i);

    return gr_columns_source(&use, column);
}

uint64_t
tiling_distinct(const struct tiling *t, size_t i, size_t k, const char *column)
{
    const struct gr_step *step = &t->steps->steps[i];
    bool groups = step->op == GR_TILE_groupby || step->op == GR_TILE_groupby_partial;
    struct place place = {step->inputs[k], groups ? tiling_source_column(t, i, column) : column};

    if (place.name == NULL) {
        return 0;
    }
    while (t->steps->steps[place.step].op != GR_TILE_table) {
        const struct gr_file *file = t->sources->files == NULL ? NULL : t->sources->files[place.step];

        if (file != NULL) {
            return t->sources->distinct(file, place.name);
        }
        if (!descend(t, &place)) {
            return 0;
        }
    }
    return table_distinct(t->sources->tables[place.step], place.name);
}
