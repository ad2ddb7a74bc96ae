/*
 * replay: the pieces of a durable table, in order, and what they tell put in place: the objects to which its logs lead, and
 * the lanes. Part of restore.c's work: the page is nobody else's until that is done.
 */
#ifndef MUTABLE_DURABLE_REPLAY_H
#define MUTABLE_DURABLE_REPLAY_H

#include "mutable/core/page.h"
#include "mutable/durable/joined.h"

struct replay;

/* Begin with an empty page of a table with these columns (of a tensor: whatever tells its shape). Errors: ENOMEM */
granary_err replay_begin(granary_client *client, granary_id table, struct gr_mutable *page, const granary_frame *schema,
                         struct replay **ret_replay);

/* Take the entries of a piece. What was told before counts once. Errors: ECORRUPT · ENOMEM · as granary_object_create_with() */
granary_err replay_piece(struct replay *replay, const void *bytes, uint64_t size);

/* All pieces were taken: what the lanes have last comes to its place, and the page's counts. Errors: as replay_piece() */
granary_err replay_end(struct replay *replay);
/* NULL is fine. */
void replay_free(struct replay *replay);

#endif
