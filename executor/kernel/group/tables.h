/* Tables of groups are merged into one (merge.c), cut (deal.c), written and read between (partial.c), and the last one
 * gives a frame (result.c, result_parts.h). */
#ifndef KERNEL_GROUP_TABLES_H
#define KERNEL_GROUP_TABLES_H

#include "kernel/aggregate/table.h"

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

#endif
