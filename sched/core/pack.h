/*
 * Messages, ToExecutor above all, written by hand in protobuf's encoding: a subtask was packed once, when it was
 * planned, and is copied with its number and attempt in front. A buffer holds one message; its fields may come in any
 * order.
 */
#ifndef SCHED_CORE_PACK_H
#define SCHED_CORE_PACK_H

#include "base/text/buf.h"
#include "granary/types.h"
#include "schema/granary.pb-c.h"

/* One field of any message; signed numbers (sint64) are to be given zigzag. */
void pack_varint(struct gr_buf *message, int field, uint64_t value);
void pack_bytes(struct gr_buf *message, int field, const void *content, size_t size);

void pack_begin(struct gr_buf *message); /* version */
void pack_run(struct gr_buf *message, uint64_t number, uint32_t attempt, const uint8_t *packed, size_t size);
void pack_free(struct gr_buf *message, granary_id id);
void pack_free_plan(struct gr_buf *message, uint64_t plan);
void pack_end_snapshot(struct gr_buf *message, granary_id id);
void pack_spare(struct gr_buf *message, granary_id id);
/* Before any free in the same message: errors are stored first. */
void pack_error(struct gr_buf *message, granary_id id, granary_err err, const char *text);
void pack_free_session(struct gr_buf *message, const char *session, uint64_t order);
void pack_cancel(struct gr_buf *message, const uint64_t *numbers, size_t count);
void pack_dismissal(struct gr_buf *message, bool replace);
void pack_unknown(struct gr_buf *message);
void pack_pool_order(struct gr_buf *message, const Granary__PoolOrder *order);
void pack_export(struct gr_buf *message, const Granary__Library *library);
void pack_registered(struct gr_buf *message, uint32_t number);
void pack_acknowledged(struct gr_buf *message, uint64_t sequence);
void pack_epoch(struct gr_buf *message, uint64_t epoch);

/* The sequence number of a packed Reply. */
void pack_reply_seq(struct gr_buf *message, uint64_t seq);

#endif
