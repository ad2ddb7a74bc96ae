/* read: the times at which a table is looked at. The table is locked by the caller, but for read_numbers_of(). */
#ifndef MUTABLE_READ_H
#define MUTABLE_READ_H

#include "mutable/table.h"

/* Make a time final (GRANARY_NOW: that of the newest write), and learn all that was committed up to it. Errors: as
 * granary_cut(), index_update() */
granary_err table_cut(granary_mutable *table, int64_t *time);

/* Whether history was given up since the handle has looked; and whether that may be why a read failed. */
bool table_has_moved(const granary_mutable *table);
bool table_try_again(const granary_mutable *table, granary_err err);

/* Learn what was committed, behind the base. Errors: as index_update(), sealed_get() */
granary_err table_learn(granary_mutable *table, const uint64_t *counts, uint32_t lanes);

/* Learn all that was committed, whatever its time, without making anything final. Errors: as index_update() */
granary_err table_look(granary_mutable *table);

/*
 * The numbers of rows of a read.
 *
 * positions  of the rows, from 0, ascending; may be ret_numbers
 * Errors     as granary_mutable_numbers()
 */
granary_err
read_numbers_of(granary_mutable *table, int64_t time, const int64_t *positions, size_t count, int64_t *ret_numbers);

/* granary_mutable_watch() of several tables: any of them. Errors: the same */
granary_err gr_mutables_watch(granary_mutable *const *tables, size_t count, int64_t after, int timeout_ms);

#endif
