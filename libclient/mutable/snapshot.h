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

/* Room to hold so many copies. Errors: ENOMEM */
granary_err snapshot_begin(struct snapshot *snapshot, granary_mutable *table, size_t copies);
void snapshot_end(struct snapshot *snapshot);

/* Add runs [first, last) of the content as a part, copied. Errors: as content_frame(), frame_store() */
granary_err snapshot_copy(struct snapshot *snapshot, size_t first, size_t last);
/* Begin, and add what tells a tensor's shape and the chunks that were written up to a time. Errors: as tile_get() */
granary_err snapshot_tiles(struct snapshot *snapshot, granary_mutable *table, int64_t time);

#endif
