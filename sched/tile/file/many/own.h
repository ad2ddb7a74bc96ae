/* Within the room: what is known of many files. */
#ifndef TILE_FILE_MANY_OWN_H
#define TILE_FILE_MANY_OWN_H

#include "data/file/paths/paths.h"
#include "graph/folders/partition.h"
#include "tile/file/file.h"

/* A column of the table. */
struct many_column {
    size_t file; /* whose dtype it has */
    uint32_t kinds;
    int key;      /* of hive, whose value it has; -1: of the files */
    bool is_name; /* it has the files' names */
};

/* One of the files that may be wanted. */
struct many_part {
    struct gr_file *file;
    size_t number; /* among the paths */
    size_t *to;    /* by column of the file: that of the table */
};

/* gr_file.own */
struct many {
    const struct gr_source *source; /* of the format */
    struct gr_paths paths;
    struct gr_partition partition;
    struct many_part *parts;
    size_t count;
    size_t *stage; /* parts that were asked last, in order; room for all */
    size_t stage_count;
    struct many_column *columns; /* as many as the table has */
};

/* Small files that follow one another are looked at, and read, in one subtask. */
struct many_group {
    size_t count; /* of files */
    uint64_t bytes;
};
#define MANY_GROUP_FILES 24          /* read, projected and put together they are no more than a subtask may have */
#define MANY_GROUP_BYTES (256 << 10) /* about what is read in the time that a few subtasks cost */

/* Whether the next file, of so many pieces, goes with those before it. */
static inline bool
many_group_takes(struct many_group *group, size_t pieces, uint64_t bytes)
{
    bool takes =
        pieces == 1 && group->count > 0 && group->count < MANY_GROUP_FILES && group->bytes + bytes <= MANY_GROUP_BYTES;

    group->bytes = takes ? group->bytes + bytes : bytes;
    group->count = takes ? group->count + 1 : pieces == 1;
    return takes;
}

/* columns.c: all files are known, so is the table. Errors: as many_look() */
granary_err many_settle(struct gr_file *file);

/* wanted.c: flags for the paths that filters above the node do not exclude. Errors: ENOMEM */
granary_err
many_wanted(const struct many *many, const struct gr_node *node, const struct gr_graph *graph, bool *wanted);

/* tile.c */
granary_err
many_tile(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step, struct gr_tiled *out);

#endif
