/*
 * source: tables as graphs read and write them. Who submits a graph fixes the time; an executor makes a snapshot, and
 * appends results.
 */
#ifndef MUTABLE_SOURCE_H
#define MUTABLE_SOURCE_H

#include "mutable/table.h"

/* What a graph reads of a table. */
struct source {
    const char *name;
    int64_t time;
    granary_id table;    /* that has the name; all zero: whichever has */
    granary_id snapshot; /* the object that keeps its parts */
};

/*
 * The frames of a table at a time, at least one. The snapshot is made, unless it is there already: it is to be deleted
 * when nobody reads them any more.
 *
 * ret_parts  to be freed with free()
 * Errors     ENOENT no such table, or another one has the name · ESTATE it was sealed since · ETYPE it is no frame · as
 *            granary_mutable_snapshot()
 */
granary_err
source_parts(granary_client *client, const struct source *source, granary_id **ret_parts, size_t *ret_count);

/*
 * Append the rows of some frames, in order, as one write. Columns are found by their names.
 *
 * ret_time  may be NULL
 * Errors    ETYPE names a column that a frame has too many, lacks, or has with another dtype · as
 *           granary_mutable_append()
 */
granary_err source_append(granary_mutable *table, const granary_frame *const *frames, size_t count,
                          const granary_write_options *options, int64_t *ret_time);

#endif
