/* Any bytes as a Parquet file: each column that can be read is read whole, in two parts, and some rows alone. That gives
 * the same rows, which are frames that can be checked and printed, or an error with a message. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "kernel/parquet/codec.h"
#include "parquet_rows.h"

#define ROWS_MAX 20000 /* a run of nulls has any length; more would only take time */

static void
read_chunk(const struct gr_parquet_leaf *leaf, const struct gr_parquet_chunk *chunk, const uint8_t *file, int64_t rows)
{
    uint8_t *bytes = calloc(1, (size_t)chunk->size + PAGE_SLACK);
    const struct pages pages = {.bytes = bytes, .size = (size_t)chunk->size, .codec = chunk->codec};

    must(bytes != NULL);
    memcpy(bytes, file + chunk->at, (size_t)chunk->size);
    rows_check(leaf, &pages, rows);
    free(bytes);
}

static void
read_file(const struct gr_parquet *file, const uint8_t *bytes)
{
    size_t columns;
    size_t groups;
    size_t leaves;
    const struct gr_parquet_column *column = gr_parquet_columns(file, &columns);
    const struct gr_parquet_group *group = gr_parquet_groups(file, &groups);
    const struct gr_parquet_leaf *leaf = gr_parquet_leaves(file, &leaves);

    for (size_t g = 0; g < groups && g < 8; g++) {
        for (size_t c = 0; c < columns && c < 32; c++) {
            const struct gr_parquet_chunk *chunk = &group[g].chunks[column[c].leaf];

            (void)gr_parquet_bounds(&leaf[column[c].leaf], &chunk->stats, group[g].rows);
            if (column[c].readable && leaf[column[c].leaf].form != GR_PARQUET_NULLS && !chunk->encrypted &&
                !chunk->elsewhere && group[g].rows <= ROWS_MAX && codec_check(chunk->codec) == GRANARY_OK) {
                read_chunk(&leaf[column[c].leaf], chunk, bytes, group[g].rows);
            }
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct gr_parquet *file = NULL;
    int fd = memfd_create("fuzz_parquet", MFD_CLOEXEC);

    if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size && gr_parquet_open(fd, size, "fuzz", &file) == GRANARY_OK) {
        read_file(file, bytes);
    } else {
        must(granary_error_message()[0] != '\0');
    }
    gr_parquet_close(file);
    if (fd >= 0) {
        (void)close(fd);
    }
    return 0;
}
