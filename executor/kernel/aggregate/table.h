/*
 * A table of groups: their keys, and the parts of a plan, one entry a group. A chunk of rows gives a table (map.c),
 * what becomes of tables is in kernel/group/tables.h.
 */
#ifndef KERNEL_AGGREGATE_TABLE_H
#define KERNEL_AGGREGATE_TABLE_H

#include "contract/int128.h"
#include "kernel/aggregate/plan.h"
#include "kernel/core/exact_sum.h"

/* Which members are set is decided by the kind. Owned, unless they lie in bytes that were read. */
struct group_part {
    int64_t *counts;  /* COUNT */
    gr_int128 *ints;  /* INT; REAL: in units of 2^unit */
    int unit;         /* REAL */
    uint32_t *others; /* REAL: groups that have more beside ints, ascending, and what */
    struct exact_sum *more;
    size_t other_count;
    struct gr_column values; /* VALUE: a row a group; LIST: a row an entry */
    uint32_t *starts;        /* LIST: where the entries of each group begin, in the order of their rows, and the end */
    bool borrowed;           /* counts, ints, starts */
};

struct group_table {
    size_t groups;
    granary_frame *keys; /* a row a group */
    size_t part_count;
    struct group_part *parts;
    bool ordered;          /* groups stand as in the result */
    bool coded;            /* keys keep their dictionaries, even if these are no less than the strings */
    granary_frame **files; /* what columns borrow from */
    size_t file_count;
};

void group_table_fini(struct group_table *table);

/* ---- map.c ---- */

/*
 * The groups of all rows of some frames, in the order of the frames. The plan gets its dtypes.
 *
 * where, columns  as of rows_spec
 * parts           at least 1: the groups are dealt to so many parts, each of them a range of the keys' hashes
 * coded           keys that are strings keep the one dictionary that all frames have
 * ret_starts      parts + 1 entries: where each part begins, and the end; to be freed. NULL when parts is 1
 * Errors          as rows_open(), rows_next() · ETYPE · EFULL · ENOMEM
 */
granary_err
group_map(struct group_plan *plan, const granary_frame *const *frames, size_t count, const char *where,
          const Granary__Attr *columns, size_t parts, bool coded, struct group_table *ret_table, size_t **ret_starts);

/* The same of one frame of the arguments, as columns named by their texts, whose rows are numbered already: from 1 to
 * groups, each of which has a row. The table has no keys. */
granary_err group_map_numbered(struct group_plan *plan, const granary_frame *frame, const uint32_t *numbers,
                               uint32_t groups, struct group_table *ret_table);

/* ---- lists_prune.c ---- */

/* Only what a list's measure keeps: each value once, or the first n. Errors: ENOMEM · EFULL */
granary_err
group_list_prune(const struct group_part_spec *spec, granary_dtype dtype, size_t groups, struct group_part *list);

#endif
