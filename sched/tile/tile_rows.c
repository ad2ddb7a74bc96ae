/* Frames: rows and values of columns, chunk by chunk. */
#include "base/error.h"
#include "graph/lower.h"
#include "tile/rules.h"

granary_err
tile_project(struct tiling *t, size_t i)
{
    return tile_rows(t, i, GR_CHUNK_project, tiling_attrs(t, i, (const char *const[]){"columns"}, 1), true);
}

/* The optimiser has written them as others. */
#define LOWERED(lowered)                                                                                               \
    granary_err tile_##lowered(struct tiling *t, size_t i)                                                             \
    {                                                                                                                  \
        return gr_fail(GRANARY_EINVAL, "'%s' was not lowered", t->steps->steps[i].origin->name);                       \
    }
GR_LOWERED_OPS(LOWERED)
#undef LOWERED
