/* snapshot: parts of a table as it is at a time, for an object that is to contain them. */
#ifndef MUTABLE_SNAPSHOT_H
#define MUTABLE_SNAPSHOT_H

#include "mutable/frame/content.h"
#include "mutable/sealed.h"

/* One that is being made; the table is locked. */
struct snapshot {
    granary_mutable *table;
    struct content content; /* of a frame, while it is open */
    struct sealed_parts parts;
    granary_id *copies; /* parts that are ours until an object contains them */
    size_t copy_count;
};

/* How runs [first, ...) of a frame become a part; *ret_next is the first run behind it. */
typedef granary_err snapshot_take(struct snapshot *snapshot, size_t first, size_t *ret_next);

/*
 * Collect the parts of a table at a time that is final: those that `take` makes of a frame's runs, at least one; or what
 * tells a tensor's shape, then the chunks that were written. snapshot_end() follows, whatever is returned.
 *
 * Errors  those of take · as content_open(), tile_get() · ENOMEM
 */
granary_err snapshot_collect(struct snapshot *snapshot, granary_mutable *table, int64_t time, snapshot_take *take);
void snapshot_end(struct snapshot *snapshot);

/* Add runs [first, last) as a part, copied. Errors: as content_frame(), frame_store() */
granary_err snapshot_copy(struct snapshot *snapshot, size_t first, size_t last);

/* A snapshot as an object of that id. counted: it goes with its last reference; until the first one, with this client.
 *
 * Errors  EEXIST there is one · as granary_mutable_snapshot(); the message does not name the table
 */
granary_err snapshot_as(granary_mutable *table, int64_t time, granary_id id, bool counted);

#endif
