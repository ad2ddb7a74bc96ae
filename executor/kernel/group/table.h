/*
 * A table of groups: their keys, and the parts of a plan, one entry a group. A chunk of rows gives a table (map.c),
 * tables are merged into one (merge.c), written and read between (partial.c), and the last one gives a frame
 * (result.c, result_parts.h).
 */
#ifndef GROUP_TABLE_H
#define GROUP_TABLE_H

#include "contract/int128.h"
#include "kernel/exact_sum.h"
#include "kernel/group/plan.h"

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

/* ---- merge.c ---- */

/* count tables of the plan become one; theirs may be taken apart. Errors: EFULL · ENOMEM */
granary_err
group_merge(const struct group_plan *plan, struct group_table *tables, size_t count, struct group_table *ret_table);

/* ---- deal.c ---- */

/* Groups [begin, end) of a table, which must outlive them. Errors: ENOMEM · EFULL */
granary_err group_table_slice(const struct group_plan *plan, const struct group_table *table, size_t begin, size_t end,
                              struct group_table *ret_table);

/* ---- partial.c ---- */

/*
 * A table as bytes, 64-byte aligned, in a form of our own; *ret_bytes is to be freed.
 *
 * referred  by key: its dictionary is left out, for whoever reads has it, too; NULL: none is
 * Errors    ENOMEM · EFULL
 */
granary_err group_table_write(const struct group_plan *plan, const struct group_table *table, const bool *referred,
                              void **ret_bytes, uint64_t *ret_size);
/*
 * Read it back; bytes must outlive the table. The plan gets its dtypes from the first table that is read.
 *
 * reference  has the dictionaries that were left out, under the names of the keys; NULL: there are none
 * Errors     ECORRUPT · EVERSION · EINVAL it was made for other keys or aggregates · ETYPE for other dtypes · ENOMEM
 */
granary_err group_table_read(struct group_plan *plan, bool is_first, const void *bytes, uint64_t size,
                             const granary_frame *reference, struct group_table *ret_table);

/* ---- result.c ---- */

/* Errors: EFAILED a sum exceeds its dtype · EFULL · ENOMEM */
granary_err group_result(const struct group_plan *plan, const struct group_table *table, granary_frame **ret_frame);

/* Give a column of keys the form that a result has: dictionary-encoded or plain, whatever it was. Errors: ENOMEM ·
 * EFULL
 */
granary_err group_key_encode(struct gr_column *column);

/* ---- lists_prune.c ---- */

/* Only what a list's measure keeps: each value once, or the first n. Errors: ENOMEM · EFULL */
granary_err
group_list_prune(const struct group_part_spec *spec, granary_dtype dtype, size_t groups, struct group_part *list);

/* ---- shared ---- */

/* A hash of each row of keys: of their values, so that it is the same in every chunk and process (hashes.c). */
void group_keys_hashes(const granary_frame *keys, uint64_t *ret_hashes);

/* Below 0, 0 or above 0: row a against row b of a column without nulls and NaN; -0.0 is less than 0.0. */
int group_value_compare(const granary_column *column, int64_t a, int64_t b);

#endif
