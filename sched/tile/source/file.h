/*
 * Files other than CSV. Files that are read tell at once what they hold: Arrow files their schema and batches, NPY
 * files dtype and shape. Files that are to be written are known to be possible.
 */
#ifndef TILE_SOURCE_FILE_H
#define TILE_SOURCE_FILE_H

#include "graph/graph.h"
#include "tile/source/csv.h"

/* Record batches that become a chunk. */
struct gr_file_part {
    size_t first;
    size_t count;
    int64_t rows;
    uint64_t bytes;
};

struct gr_file {
    char *path; /* absolute */
    int64_t file_bytes;
    int64_t modified_ns;
    struct gr_node_type type;   /* what it holds; not known: it is written */
    struct gr_file_part *parts; /* frames */
    size_t part_count;
    uint64_t values_at; /* tensors: where the elements begin */
};

/* Whether an operator is on a file of this kind, and whether it reads it. */
bool gr_file_is(enum gr_tile_op op);

/*
 * Look at the file of a node.
 * Errors: ENOENT, EPERM, EIO · EINVAL no regular file, too short, columns of one name; the folder is none · as
 * gr_arrow_file_open() and gr_npy_head(); ENOMEM. The message names node and file
 */
granary_err
gr_file_create(const struct gr_graph_node *node, const struct gr_csv_options *options, struct gr_file **ret_file);
void gr_file_destroy(struct gr_file *file); /* NULL is fine */

#endif
