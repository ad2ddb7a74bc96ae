/*
 * source: tables as graphs read and write them. Who submits a graph makes a snapshot, which goes with that client until
 * the graph keeps it; an executor tells its parts, and appends results. For a graph without one an executor makes it.
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

/* A snapshot for a graph. It goes with the client, unless somebody keeps it. Errors: as granary_mutable_snapshot() */
granary_err source_snapshot(granary_mutable *table, int64_t time, granary_id *ret_snapshot);
/* A graph keeps the snapshot from now on, whatever becomes of its maker. Errors: ENOENT it is gone */
granary_err source_keep(granary_client *client, granary_id snapshot);
/* The graph has ended, or never began. Errors: as granary_object_delete(); that it is gone is none */
granary_err source_end(granary_client *client, granary_id snapshot);

/*
 * The frames of a table at a time, at least one, kept for the graph. The snapshot is made, unless it is there already.
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
