/* Within the room: how a Parquet file is cut, and what of it nobody wants. */
#ifndef TILE_FILE_PARQUET_CUTS_H
#define TILE_FILE_PARQUET_CUTS_H

#include "parquet/parquet.h"
#include "tile/core/rules.h"
#include "tile/file/file.h"

/* Rows of row groups that follow one another. */
struct cut {
    size_t first; /* row group */
    size_t count;
    int64_t from;
    int64_t rows;
    double bytes; /* that they have unpacked */
};

/* Rows [from, to) of a row group. */
struct span {
    int64_t from;
    int64_t to;
};

/* Those that somebody may want. */
struct spans {
    struct span *spans; /* in the region of the tiling's scratch */
    size_t count;
};

struct cuts {
    const struct gr_file *file;
    const struct gr_step *step;
    const struct gr_parquet_column *columns;
    const struct gr_parquet_leaf *leaves;
    const struct gr_parquet_group *groups;
    size_t group_count;
    size_t first; /* row group that is read, and the one behind the last */
    size_t end;
    int64_t from;         /* row of the first at which the part begins */
    int64_t to;           /* ... of the last at which it ends */
    struct spans *wanted; /* by row group; none: it is left out */
    struct cut *cuts;
    size_t count;
    size_t room;
};

/* Which rows of each row group readers may want, by the statistics of row groups, then by those of pages. Errors: ENOMEM
 */
granary_err parquet_want(struct tiling *t, size_t i, struct cuts *cuts);

#endif
