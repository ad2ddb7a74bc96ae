/* Fields written by hand in protobuf's encoding, so that a subtask's packed bytes are copied and never parsed. */

#include "sched/core/pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "contract/versions.h"

enum wire_type { VARINT = 0, BYTES = 2 };
/* Numbers of the fields, as in granary.proto. */
enum {
    TO_VERSION = 1,
    TO_RUN = 2,
    TO_FREE = 3,
    TO_FREE_SESSION = 4,
    TO_CANCEL = 5,
    TO_DIE = 6,
    TO_REGISTERED = 7,
    TO_EPOCH = 8,
    TO_ACKNOWLEDGED = 9,
    TO_EXPORTS = 10,
    TO_ERRORS = 12,
    TO_POOL = 13,
    TO_REPLACE = 14,
    TO_FREE_ORDER = 15,
    TO_UNKNOWN = 16,
    TO_END_SNAPSHOT = 17,
    TO_SPARE = 18,
    TO_FREE_PLANS = 19,
};
enum { ERROR_ID = 1, ERROR_ERR = 2, ERROR_MESSAGE = 3 };
enum { SUBTASK_NUMBER = 1, SUBTASK_ATTEMPT = 2 };
enum { REPLY_SEQ = 2 };

#define TAG(field, type) ((unsigned char)((field) << 3 | (type)))
#define VARINT_MAX       10

static size_t
varint(unsigned char *bytes, uint64_t value)
{
    size_t size = 0;

    while (value >= 0x80) {
        bytes[size++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    bytes[size++] = (unsigned char)value;
    return size;
}

void
pack_varint(struct gr_buf *message, int field, uint64_t value)
{
    unsigned char bytes[2 * VARINT_MAX];
    size_t tag = varint(bytes, (uint64_t)field << 3 | VARINT);

    gr_buf_add(message, bytes, tag + varint(bytes + tag, value));
}

void
pack_bytes(struct gr_buf *message, int field, const void *content, size_t size)
{
    unsigned char bytes[2 * VARINT_MAX];
    size_t tag = varint(bytes, (uint64_t)field << 3 | BYTES);

    gr_buf_add(message, bytes, tag + varint(bytes + tag, size));
    gr_buf_add(message, content, size);
}

void
pack_begin(struct gr_buf *message)
{
    pack_varint(message, TO_VERSION, GR_WIRE_OLDEST);
}

void
pack_run(struct gr_buf *message, uint64_t number, uint32_t attempt, const uint8_t *packed, size_t size)
{
    unsigned char front[2 * (1 + VARINT_MAX)];
    unsigned char head[1 + VARINT_MAX] = {TAG(TO_RUN, BYTES)};
    size_t front_size = 0;
    size_t head_size = 1;
    char *room;

    front[front_size++] = TAG(SUBTASK_NUMBER, VARINT);
    front_size += varint(front + front_size, number);
    front[front_size++] = TAG(SUBTASK_ATTEMPT, VARINT);
    front_size += varint(front + front_size, attempt);
    head_size += varint(head + 1, front_size + size);
    room = gr_buf_grow(message, head_size + front_size + size);
    if (room != NULL) {
        memcpy(room, head, head_size);
        memcpy(room + head_size, front, front_size);
        memcpy(room + head_size + front_size, packed, size);
    }
}

void
pack_free(struct gr_buf *message, granary_id id)
{
    pack_bytes(message, TO_FREE, id.bytes, sizeof id.bytes);
}

void
pack_free_plan(struct gr_buf *message, uint64_t plan)
{
    pack_varint(message, TO_FREE_PLANS, plan);
}

void
pack_end_snapshot(struct gr_buf *message, granary_id id)
{
    pack_bytes(message, TO_END_SNAPSHOT, id.bytes, sizeof id.bytes);
}

void
pack_spare(struct gr_buf *message, granary_id id)
{
    pack_bytes(message, TO_SPARE, id.bytes, sizeof id.bytes);
}

void
pack_error(struct gr_buf *message, granary_id id, granary_err err, const char *text)
{
    struct gr_buf error = {0};

    pack_bytes(&error, ERROR_ID, id.bytes, sizeof id.bytes);
    pack_varint(&error, ERROR_ERR, err < 0 ? ((uint64_t) - (int64_t)err << 1) - 1 : (uint64_t)err << 1); /* zigzag */
    pack_bytes(&error, ERROR_MESSAGE, text, strlen(text));
    message->failed = message->failed || error.failed;
    pack_bytes(message, TO_ERRORS, error.bytes, error.size);
    gr_buf_free(&error);
}

void
pack_free_session(struct gr_buf *message, const char *session, uint64_t order)
{
    pack_varint(message, TO_FREE_ORDER, order);
    pack_bytes(message, TO_FREE_SESSION, session, strlen(session));
}

void
pack_cancel(struct gr_buf *message, const uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pack_varint(message, TO_CANCEL, numbers[i]); /* unpacked repeated: every reader takes both forms */
    }
}

void
pack_dismissal(struct gr_buf *message, bool replace)
{
    pack_varint(message, TO_DIE, 1);
    if (replace) {
        pack_varint(message, TO_REPLACE, 1);
    }
}

void
pack_unknown(struct gr_buf *message)
{
    pack_varint(message, TO_UNKNOWN, 1);
}

void
pack_export(struct gr_buf *message, const Granary__Library *library)
{
    size_t size = granary__library__get_packed_size(library);
    unsigned char head[1 + VARINT_MAX] = {TAG(TO_EXPORTS, BYTES)};
    size_t head_size = 1 + varint(head + 1, size);
    char *room = gr_buf_grow(message, head_size + size);

    if (room != NULL) {
        memcpy(room, head, head_size);
        (void)granary__library__pack(library, (uint8_t *)room + head_size);
    }
}

void
pack_pool_order(struct gr_buf *message, const Granary__PoolOrder *order)
{
    uint8_t bytes[64]; /* an order to the pool names no executors */
    size_t size = granary__pool_order__get_packed_size(order);

    assert(size <= sizeof bytes);
    (void)granary__pool_order__pack(order, bytes);
    pack_bytes(message, TO_POOL, bytes, size);
}

void
pack_registered(struct gr_buf *message, uint32_t number)
{
    pack_varint(message, TO_REGISTERED, number);
}

void
pack_acknowledged(struct gr_buf *message, uint64_t sequence)
{
    pack_varint(message, TO_ACKNOWLEDGED, sequence);
}

void
pack_epoch(struct gr_buf *message, uint64_t epoch)
{
    pack_varint(message, TO_EPOCH, epoch);
}

void
pack_reply_seq(struct gr_buf *message, uint64_t seq)
{
    pack_varint(message, REPLY_SEQ, seq);
}
