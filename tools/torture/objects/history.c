/* An array in shared memory, in which each client has a part of its own and counts what it has noted. */
#include "torture/objects/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "torture/common/shared.h"

static size_t
history_size(uint64_t room)
{
    return sizeof(struct history) + room * sizeof(struct op);
}

struct history *
history_create(const char *directory, uint64_t room)
{
    struct history *history = shared_map(directory, history_size(room));

    if (history != NULL) {
        history->room = room;
    }
    return history;
}

void
history_destroy(struct history *history)
{
    if (history != NULL) {
        shared_unmap(history, history_size(history->room));
    }
}

void
history_forget(struct history *history)
{
    uint64_t count = atomic_load(&history->count);

    history->forgotten += count;
    memset(history->ops, 0, count * sizeof *history->ops);
    atomic_store(&history->count, 0);
}

struct op *
history_begin(struct history *history, enum op_kind kind, enum op_way way, uint32_t object)
{
    uint64_t count = atomic_load_explicit(&history->count, memory_order_relaxed);
    struct op *op = &history->ops[count];

    if (count == history->room) {
        return NULL;
    }
    op->kind = (uint8_t)kind;
    op->way = (uint8_t)way;
    op->object = object;
    op->began_ns = gr_now_ns();
    atomic_store_explicit(&history->count, count + 1, memory_order_release);
    return op;
}

uint64_t
history_value(const struct history *history, unsigned writer, const struct op *op)
{
    return (uint64_t)(writer + 1) << 40 | (history->forgotten + (uint64_t)(op - history->ops));
}

void
history_answer(struct op *op, enum op_outcome outcome, uint64_t value)
{
    if (op->kind == OP_GET) {
        op->value = value;
    }
    op->outcome = (uint8_t)outcome;
    atomic_store_explicit(&op->ended_ns, gr_now_ns(), memory_order_release);
}
