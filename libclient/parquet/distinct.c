/* How many different values a column has at most, as far as a file tells without its values. */
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "parquet/private.h"

#define HEAD_MOST   256  /* bytes of the head of a dictionary's page */
#define GROUPS_MOST 1024 /* whose dictionaries are looked at */

/* -1: nobody knows. */
static int32_t
entries_of(int fd, const struct gr_parquet_chunk *chunk)
{
    uint8_t bytes[HEAD_MOST];
    size_t size = chunk->size < HEAD_MOST ? (size_t)chunk->size : HEAD_MOST;
    struct gr_parquet_page page;

    return chunk->has_dictionary && chunk->is_coded && !chunk->encrypted && !chunk->elsewhere &&
                   gr_pread_all(fd, bytes, size, chunk->at) == GRANARY_OK &&
                   parquet_page_head(bytes, size, (size_t)chunk->size, &page) == GRANARY_OK &&
                   page.type == GR_PARQUET_PAGE_DICTIONARY
               ? (int32_t)page.values
               : 0;
}

static bool
is_same(const struct gr_parquet_bytes *one, const struct gr_parquet_bytes *other)
{
    return one->bytes != NULL && other->bytes != NULL && one->size == other->size &&
           memcmp(one->bytes, other->bytes, one->size) == 0;
}

/* The sum over row groups. Dictionaries of one size, least and greatest value are taken for the same. 0: nobody knows. */
static uint64_t
by_dictionaries(struct gr_parquet *file, int fd, size_t leaf)
{
    const struct gr_parquet_chunk *first = NULL;
    uint64_t sum = 0;
    bool same = true;

    for (size_t g = 0; g < file->group_count && file->group_count <= GROUPS_MOST; g++) {
        struct gr_parquet_chunk *chunk = &file->groups[g].chunks[leaf];

        if (chunk->stats.nulls == chunk->values) {
            continue;
        }
        if (chunk->entries < 0) {
            chunk->entries = entries_of(fd, chunk);
        }
        if (chunk->entries == 0) {
            return 0;
        }
        first = first == NULL ? chunk : first;
        same = same && chunk->entries == first->entries && is_same(&chunk->stats.min, &first->stats.min) &&
               is_same(&chunk->stats.max, &first->stats.max);
        sum += (uint64_t)chunk->entries;
    }
    return first != NULL && same ? (uint64_t)first->entries : sum;
}

/* The integers that there are between the bounds. 0: nobody knows. */
static uint64_t
by_bounds(const struct gr_parquet *file, size_t leaf)
{
    const struct gr_parquet_leaf *of = &file->leaves[leaf];
    bool known = of->form == GR_PARQUET_BOOL || (of->form == GR_PARQUET_INTEGER && of->dtype != GRANARY_UINT64);
    int64_t min = INT64_MAX;
    int64_t max = INT64_MIN;

    for (size_t g = 0; g < file->group_count && known; g++) {
        const struct gr_parquet_chunk *chunk = &file->groups[g].chunks[leaf];
        struct gr_parquet_bounds bounds = gr_parquet_bounds(of, &chunk->stats, chunk->values);

        if (chunk->stats.nulls == chunk->values) {
            continue;
        }
        known = bounds.known;
        min = bounds.min.integer < min ? bounds.min.integer : min;
        max = bounds.max.integer > max ? bounds.max.integer : max;
    }
    return known && min <= max && (uint64_t)max - (uint64_t)min < UINT64_MAX ? (uint64_t)max - (uint64_t)min + 1 : 0;
}

uint64_t
gr_parquet_distinct(struct gr_parquet *file, int fd, const char *column)
{
    uint64_t range;
    uint64_t sum;
    size_t c = 0;

    while (c < file->column_count && strcmp(file->columns[c].name, column) != 0) {
        c++;
    }
    if (c == file->column_count || !file->columns[c].readable || file->leaves[file->columns[c].leaf].repeats > 0) {
        return 0;
    }
    range = by_bounds(file, file->columns[c].leaf);
    sum = by_dictionaries(file, fd, file->columns[c].leaf);
    return sum == 0 || (range > 0 && range < sum) ? range : sum;
}
