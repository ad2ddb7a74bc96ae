/*
 * flush: what was committed to a durable table comes to disk. One process at a time walks the logs from where they are
 * durable to where they are committed, and puts what it finds as pieces. So one flush serves all who wait for it.
 */
#ifndef MUTABLE_DURABLE_FLUSH_H
#define MUTABLE_DURABLE_FLUSH_H

#include "mutable/table.h"

static inline bool
table_is_durable(const granary_mutable *table)
{
    return table->page.page != NULL && table->page.page->durability != GR_DURABLE_NONE;
}

/* Whether something was committed that is not on disk. */
bool flush_is_behind(const granary_mutable *table);

/*
 * All that was committed when this is called is on disk when it returns. The table need not be locked.
 *
 * Errors  as piece_put() · ECORRUPT what writers left makes no sense
 */
granary_err table_flush(granary_mutable *table);

/* The same of a lane, up to the slot of a position. */
granary_err table_flush_lane(granary_mutable *table, uint32_t lane, uint64_t position);

/* The same, and that history was given up to a time. */
granary_err table_flush_horizon(granary_mutable *table, int64_t horizon);

#endif
