/* Blocks of a lane's log: a writer's first one is short, and the next ones are longer and longer. */
#include "mutable/core/log.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "mutable/core/lane.h"

#define FIRST_SLOTS 64u

static uint64_t
block_of(uint64_t position)
{
    return position / GR_LOG_SLOTS;
}

/* A block behind the slots so far. */
static granary_err
block_begin(struct log_writer *log, uint32_t slots)
{
    const uint32_t number = atomic_load_explicit(&log->shared->blocks, memory_order_relaxed);
    const struct gr_mutable_slot head = {
        .time = log->next == 0 ? 0 : (int64_t)((log->next - 1) % GR_LOG_SLOTS + 1),
        .what = log->next == 0 ? 0 : block_of(log->next - 1),
    };
    granary_buffer buffer;
    struct kept block;
    granary_err err;

    if (!gr_grow(&log->before, &log->before_room, log->before_count, sizeof *log->before)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    atomic_store_explicit(&log->shared->blocks, number + 1, memory_order_relaxed);
    atomic_store_explicit(&log->shared->open[GR_MUTABLE_LOG], number + 1, memory_order_relaxed);
    err = kept_create(log->client, kept_id(log->table, GR_MUTABLE_LOG, log->lane, number), slots * sizeof head, 0,
                      log->timeout_ms, &buffer);
    if (err != GRANARY_OK) {
        return err;
    }
    *(struct gr_mutable_slot *)buffer.data = head;
    err = kept_seal(log->client, log->table, &buffer, &block);
    if (err == GRANARY_OK) {
        if (log->block.is_open) {
            log->before[log->before_count++] = log->block;
        }
        log->block = block;
        log->room = slots;
        log->next = (uint64_t)number * GR_LOG_SLOTS + 1;
    }
    return err;
}

granary_err
log_begin(struct log_writer *log, granary_client *client, granary_id table, struct gr_lane *shared, uint32_t lane,
          int timeout_ms)
{
    granary_err err;

    *log = (struct log_writer){.client = client,
                               .table = table,
                               .shared = shared,
                               .lane = lane,
                               .next = lane_enter(shared),
                               .timeout_ms = timeout_ms};
    err = block_begin(log, FIRST_SLOTS);
    if (err != GRANARY_OK) {
        log_end(log);
    }
    return err;
}

void
log_end(struct log_writer *log)
{
    log_settle(log);
    kept_close(&log->block);
    free(log->before);
    log->before = NULL;
    log->before_room = 0;
}

void
log_settle(struct log_writer *log)
{
    while (log->before_count > 0) {
        kept_close(&log->before[--log->before_count]);
    }
}

granary_err
log_put(struct log_writer *log, struct gr_mutable_slot slot, struct gr_mutable_slot **ret_at)
{
    const uint64_t at = log->next % GR_LOG_SLOTS;
    granary_err err = GRANARY_OK;

    if (at == 0 || at == log->room) {
        err = block_begin(log, log->room < GR_LOG_SLOTS / 4 ? log->room * 4 : GR_LOG_SLOTS);
    }
    if (err == GRANARY_OK) {
        *ret_at = (struct gr_mutable_slot *)log->block.data + log->next++ % GR_LOG_SLOTS;
        **ret_at = slot;
    }
    return err;
}

/* ---- reading ---- */

/* A part of the log: slots [from, end) of a block. */
struct part {
    uint64_t number;
    uint64_t from;
    uint64_t end;
};

struct log_reader {
    granary_client *client;
    granary_id table;
    uint32_t lane;
    uint64_t after;
    struct part *parts; /* the last one first */
    size_t count;
    size_t room;
};

static granary_err
reader_add(struct log_reader *reader, struct part part)
{
    if (!gr_grow(&reader->parts, &reader->room, reader->count, sizeof part)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    reader->parts[reader->count++] = part;
    return GRANARY_OK;
}

/* A block that has all slots of a part, leased. */
static granary_err
part_get(const struct log_reader *reader, struct part part, granary_view *ret_view)
{
    const granary_id id = kept_id(reader->table, GR_MUTABLE_LOG, reader->lane, part.number);
    granary_err err = granary_object_get(reader->client, id, 0, ret_view);

    if (err == GRANARY_ENOENT) { /* who committed there had sealed it before */
        return gr_fail(GRANARY_ECORRUPT, "block %llu of lane %u is gone", (unsigned long long)part.number,
                       reader->lane);
    }
    if (err == GRANARY_OK && (part.end == 0 || part.end > ret_view->data_size / sizeof(struct gr_mutable_slot))) {
        granary_object_release(reader->client, ret_view);
        return gr_fail(GRANARY_ECORRUPT, "block %llu of lane %u does not have %llu slots",
                       (unsigned long long)part.number, reader->lane, (unsigned long long)part.end);
    }
    return err;
}

/* The part before a part, from the head of its block; number of the same block: there is none. */
static granary_err
part_before(const struct log_reader *reader, struct part part, struct part *ret_part)
{
    struct gr_mutable_slot head;
    granary_view view;
    granary_err err = part_get(reader, part, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    head = *(const struct gr_mutable_slot *)view.data;
    granary_object_release(reader->client, &view);
    if (head.time == 0) {
        *ret_part = part;
        return GRANARY_OK;
    }
    if (head.what >= part.number || head.time < 0) { /* it leads back, or nowhere */
        return gr_fail(GRANARY_ECORRUPT, "block %llu of lane %u leads to block %llu", (unsigned long long)part.number,
                       reader->lane, (unsigned long long)head.what);
    }
    *ret_part = (struct part){head.what, 1, (uint64_t)head.time};
    return GRANARY_OK;
}

/* The parts of the log up to a slot, back to the one behind `after`. */
static granary_err
parts_collect(struct log_reader *reader, uint64_t last)
{
    struct part part = {block_of(last), 1, last % GR_LOG_SLOTS + 1};

    for (;;) {
        const bool is_first = reader->after != 0 && part.number == block_of(reader->after);
        struct part before = part;
        granary_err err = GRANARY_OK;

        if (is_first) {
            part.from = reader->after % GR_LOG_SLOTS + 1;
        } else {
            err = part_before(reader, part, &before);
        }
        err = err == GRANARY_OK ? reader_add(reader, part) : err;
        if (err != GRANARY_OK || before.number == part.number) {
            return err;
        }
        part = before;
    }
}

static granary_err
part_walk(const struct log_reader *reader, struct part part, log_take *take, void *context)
{
    granary_view view;
    granary_err err = part_get(reader, part, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    for (uint64_t i = part.from; err == GRANARY_OK && i < part.end; i++) {
        err = take(context, part.number * GR_LOG_SLOTS + i, (const struct gr_mutable_slot *)view.data + i);
    }
    granary_object_release(reader->client, &view);
    return err;
}

granary_err
log_walk(granary_client *client, granary_id table, uint32_t lane, uint64_t after, uint64_t last, log_take *take,
         void *context)
{
    struct log_reader reader = {.client = client, .table = table, .lane = lane, .after = after};
    granary_err err = last <= after ? GRANARY_OK : parts_collect(&reader, last);

    while (err == GRANARY_OK && reader.count > 0) {
        err = part_walk(&reader, reader.parts[--reader.count], take, context);
    }
    free(reader.parts);
    return err;
}
