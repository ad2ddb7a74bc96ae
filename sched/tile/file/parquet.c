/* Parquet files, which are refused with the graph that names one. */
#include "base/error.h"
#include "data/file/format.h"
#include "tile/file/tiles.h"

static granary_err
parquet_look(struct gr_file *file, int fd)
{
    (void)fd;
    return gr_fail(GRANARY_EUNSUPPORTED, "%s: %s", file->path, gr_format_parquet.refusal);
}

const struct gr_source gr_source_parquet = {.look = parquet_look};

granary_err
tile_read_parquet(struct tiling *t, size_t i)
{
    (void)t;
    (void)i;
    return gr_fail(GRANARY_EUNSUPPORTED, "%s", gr_format_parquet.refusal);
}
