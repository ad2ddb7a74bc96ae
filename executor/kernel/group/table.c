#include "kernel/group/table.h"
#include "contract/int128.h"

#include <stdlib.h>
#include <string.h>

static void
group_part_fini(struct group_part *part)
{
    for (size_t i = 0; part->more != NULL && i < part->other_count; i++) {
        exact_sum_fini(&part->more[i]);
    }
    if (!part->borrowed) {
        free(part->counts);
        free(part->ints);
        free(part->starts);
    }
    free(part->others);
    free(part->more);
    gr_column_free(&part->values);
    *part = (struct group_part){0};
}

void
group_table_fini(struct group_table *table)
{
    for (size_t p = 0; table->parts != NULL && p < table->part_count; p++) {
        group_part_fini(&table->parts[p]);
    }
    free(table->parts);
    gr_frame_destroy(table->keys);
    for (size_t i = 0; i < table->file_count; i++) {
        gr_frame_destroy(table->files[i]);
    }
    free(table->files);
    *table = (struct group_table){0};
}

static double
real_at(const granary_column *column, int64_t i)
{
    return column->dtype == GRANARY_FLOAT32 ? (double)((const float *)column->values)[i]
                                            : ((const double *)column->values)[i];
}

static int
text_compare(const granary_column *column, int64_t a, int64_t b)
{
    const int32_t *offsets = column->offsets;
    size_t size_a = (size_t)(offsets[a + 1] - offsets[a]);
    size_t size_b = (size_t)(offsets[b + 1] - offsets[b]);
    size_t size = size_a < size_b ? size_a : size_b;
    const char *bytes = column->values;
    int order = size > 0 ? memcmp(bytes + offsets[a], bytes + offsets[b], size) : 0;

    return order != 0 ? order : (size_a > size_b) - (size_a < size_b);
}

static bool
is_unsigned(granary_dtype dtype)
{
    return dtype == GRANARY_UINT64 || dtype == GRANARY_UINT32 || dtype == GRANARY_UINT16 || dtype == GRANARY_UINT8;
}

int
group_value_compare(const granary_column *column, int64_t a, int64_t b)
{
    size_t size = gr_dtype_size(column->dtype);
    int64_t x = 0;
    int64_t y = 0;

    if (column->dtype == GRANARY_STRING) {
        return text_compare(column, a, b);
    }
    if (column->dtype == GRANARY_BOOL) {
        return (int)gr_bit(column->values, a) - (int)gr_bit(column->values, b);
    }
    if (size == 16) {
        const gr_int128 *wide = column->values;

        return (wide[a] > wide[b]) - (wide[a] < wide[b]);
    }
    if (group_is_real(column->dtype)) {
        double v = real_at(column, a);
        double w = real_at(column, b);

        memcpy(&x, &v, sizeof x);
        memcpy(&y, &w, sizeof y);
        x ^= (int64_t)((uint64_t)(x >> 63) >> 1); /* integers that compare as the doubles do */
        y ^= (int64_t)((uint64_t)(y >> 63) >> 1);
        return (x > y) - (x < y);
    }
    memcpy(&x, (const char *)column->values + (size_t)a * size, size);
    memcpy(&y, (const char *)column->values + (size_t)b * size, size);
    if (is_unsigned(column->dtype)) {
        return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
    }
    x = (int64_t)((uint64_t)x << (64 - 8 * size)) >> (64 - 8 * size);
    y = (int64_t)((uint64_t)y << (64 - 8 * size)) >> (64 - 8 * size);
    return (x > y) - (x < y);
}
