/* What folders KEY=VALUE tell of files: columns with dtypes and values, and which files a condition on them excludes. */
#ifndef GRAPH_FOLDERS_PARTITION_H
#define GRAPH_FOLDERS_PARTITION_H

#include "data/file/paths/hive.h"
#include "graph/folders/constant.h"
#include "graph/params.h"

struct gr_partition {
    struct gr_hive hive;       /* no keys: folders are no columns */
    granary_dtype *dtypes;     /* of the keys */
    struct gr_expr **literals; /* values, as those of hive */
};

/*
 * The columns that folders of the files are.
 *
 * says    as parameter `hive`
 * dtypes  parameter of that name; or NULL
 * Errors  as gr_hive_read(); EINVAL a value is not of its dtype; the message has the file
 */
granary_err gr_partition_read(char *const *names, size_t count, const char *says, const Granary__Attr *dtypes,
                              struct gr_partition *ret_partition);
void gr_partition_free(struct gr_partition *partition);

/* Whether a condition is true in no row of a file. keys: as it calls them; NULL: as they are called */
bool gr_partition_excludes(const struct gr_partition *partition, size_t file, const char *const *keys,
                           const struct gr_expr *where);

#endif
