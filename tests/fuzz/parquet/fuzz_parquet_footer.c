/* Any bytes as what a Parquet file tells of itself: a footer, a page header, a page index. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "parquet/parquet.h"

/* Chunks are within the file, and bounds are in order. */
static void
check_groups(const struct gr_parquet *file, int64_t file_size)
{
    size_t groups;
    size_t leaves;
    const struct gr_parquet_group *group = gr_parquet_groups(file, &groups);
    const struct gr_parquet_leaf *leaf = gr_parquet_leaves(file, &leaves);

    for (size_t g = 0; g < groups; g++) {
        for (size_t l = 0; l < leaves; l++) {
            const struct gr_parquet_chunk *chunk = &group[g].chunks[l];
            struct gr_parquet_bounds bounds = gr_parquet_bounds(&leaf[l], &chunk->stats, group[g].rows);

            must(chunk->encrypted || chunk->elsewhere ||
                 (chunk->at >= 0 && chunk->size >= 0 && chunk->at + chunk->size <= file_size));
            must(bounds.nulls <= group[g].rows);
            must(!bounds.known || leaf[l].form != GR_PARQUET_INTEGER || bounds.min.integer <= bounds.max.integer);
        }
    }
}

static void
read_footer(const uint8_t *bytes, size_t size)
{
    struct gr_parquet *file = NULL;
    uint8_t *copy = malloc(size + 1);

    must(copy != NULL);
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    if (gr_parquet_parse(copy, size, 1 << 20, &file) != GRANARY_OK) {
        must(granary_error_message()[0] != '\0');
        return;
    }
    check_groups(file, 1 << 20);
    (void)gr_parquet_check(file, NULL);
    gr_parquet_close(file);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct gr_parquet_chunk chunk = {.at = 4, .size = 1 << 20};
    struct gr_parquet_place *places = NULL;
    struct gr_parquet_stats *stats = NULL;
    struct gr_parquet_page page;
    bool *all_null = NULL;
    size_t count = 0;

    read_footer(bytes, size);
    if (gr_parquet_page_read(bytes, size, &page) == GRANARY_OK) {
        must(page.head <= size && page.size <= size - page.head);
    }
    if (gr_parquet_offset_index(bytes, size, &chunk, 1000000, &places, &count) == GRANARY_OK) {
        must(count > 0 && places[count - 1].at + places[count - 1].size <= chunk.at + chunk.size);
        free(places);
    }
    if (gr_parquet_column_index(bytes, size, 3, &stats, &all_null) == GRANARY_OK) {
        must(stats[2].min.size <= size && stats[2].max.size <= size);
        free(stats);
        free(all_null);
    }
    return 0;
}
