/* Columns piece after piece, and summed up over all pieces. */
#include "tile/core/measured.h"

#include <string.h>

#include "data/frame.h"

struct gr_measured *
gr_measured_create(struct gr_region *memory, size_t count, const struct gr_schema *schema)
{
    struct gr_measured *m = gr_region_alloc(memory, sizeof *m);

    if (m == NULL) {
        return NULL;
    }
    *m = (struct gr_measured){.count = count,
                              .schema = schema,
                              .rows = gr_region_alloc(memory, count * sizeof *m->rows),
                              .bytes = gr_region_zalloc(memory, count, sizeof *m->bytes),
                              .columns = gr_region_zalloc(memory, count * schema->count, sizeof *m->columns),
                              .all = gr_region_zalloc(memory, schema->count, sizeof *m->all)};
    if (m->rows == NULL || m->bytes == NULL || m->columns == NULL || m->all == NULL) {
        return NULL;
    }
    for (size_t p = 0; p < count; p++) {
        m->rows[p] = -1;
    }
    for (size_t c = 0; c < count * schema->count; c++) {
        m->columns[c].nulls = -1;
    }
    return m;
}

/* Orders bounds of one dtype. */
static int
compare(granary_dtype dtype, const union gr_bound *a, const union gr_bound *b)
{
    switch (dtype) {
    case GRANARY_STRING:
    case GRANARY_BINARY:
        return memcmp(a->text, b->text, sizeof a->text);
    case GRANARY_FLOAT64:
    case GRANARY_FLOAT32:
        return a->real < b->real ? -1 : a->real > b->real;
    default:
        return a->integer < b->integer ? -1 : a->integer > b->integer;
    }
}

/* The zone of a piece widens that of all; a piece of nulls alone has none and widens nothing. */
static void
widen(granary_dtype dtype, const struct gr_measured_column *piece, bool *any, struct gr_measured_column *all)
{
    all->has_nan = all->has_nan || piece->has_nan;
    if (!*any || compare(dtype, &piece->min, &all->min) < 0) {
        all->min = piece->min;
    }
    if (!*any || compare(dtype, &piece->max, &all->max) > 0) {
        all->max = piece->max;
    }
    *any = true;
}

static bool
is_integer(granary_dtype dtype)
{
    granary_dtype kind = gr_dtype_kind(dtype);

    return kind != GRANARY_FLOAT32 && kind != GRANARY_FLOAT64 && !gr_dtype_is_text(kind) && kind != GRANARY_DECIMAL;
}

/*
 * About how many values all pieces have. Those of pieces whose zones lie apart add up; pieces over the same range may
 * all have the same. most: of the piece that has most.
 */
static uint64_t
estimate_distinct(const struct gr_measured *m, size_t c, uint64_t most)
{
    const struct gr_measured_column *all = &m->all[c];
    double sum = 0;
    double covered = 0;
    double range = (double)all->max.integer - (double)all->min.integer + 1;

    if (!all->has_zone || !is_integer(m->schema->fields[c].dtype)) {
        return most;
    }
    for (size_t p = 0; p < m->count; p++) {
        const struct gr_measured_column *piece = &m->columns[p * m->schema->count + c];

        sum += (double)piece->distinct;
        covered += piece->has_zone ? (double)piece->max.integer - (double)piece->min.integer + 1 : 0;
    }
    sum /= covered > range ? covered / range : 1;
    return sum > (double)most && sum < 1e18 ? (uint64_t)sum : most;
}

static void
total_column(struct gr_measured *m, size_t c)
{
    struct gr_measured_column *all = &m->all[c];
    size_t width = m->schema->count;
    bool known = m->count > 0;
    bool any = false;
    bool counted = m->count > 0;

    *all = (struct gr_measured_column){.nulls = 0};
    for (size_t p = 0; p < m->count; p++) {
        const struct gr_measured_column *piece = &m->columns[p * width + c];
        bool empty = m->rows[p] >= 0 && piece->nulls == m->rows[p];

        all->nulls = piece->nulls < 0 || all->nulls < 0 ? -1 : all->nulls + piece->nulls;
        if (piece->has_zone) {
            widen(m->schema->fields[c].dtype, piece, &any, all);
        }
        known = known && (piece->has_zone || empty);
        counted = counted && (piece->distinct > 0 || empty);
        all->distinct = piece->distinct > all->distinct ? piece->distinct : all->distinct;
    }
    all->has_zone = known && any;
    all->distinct = counted ? estimate_distinct(m, c, all->distinct) : 0;
}

void
gr_measured_total(struct gr_measured *m)
{
    m->all_rows = 0;
    m->all_bytes = 0;
    for (size_t p = 0; p < m->count; p++) {
        m->all_rows = m->rows[p] < 0 || m->all_rows < 0 ? -1 : m->all_rows + m->rows[p];
        m->all_bytes += m->bytes[p];
    }
    for (size_t c = 0; c < m->schema->count; c++) {
        total_column(m, c);
    }
}

const struct gr_measured_column *
gr_measured_column(const struct gr_measured *m, size_t p, const char *name)
{
    int at = gr_schema_find(m->schema, name);

    return at < 0 ? NULL : &m->columns[p * m->schema->count + (size_t)at];
}

const struct gr_measured_column *
gr_measured_all(const struct gr_measured *m, const char *name)
{
    int at = gr_schema_find(m->schema, name);

    return at < 0 ? NULL : &m->all[at];
}
