/* The log's entries written and applied: varints, each number told from the one before it. */
#include "sched/execution/event_log.h"

#include <string.h>

#include "base/error.h"
#include "base/fault/fault.h"

/* A log is begun anew with a snapshot when it has grown by this and to twice what the last snapshot took. */
#define SNAPSHOT_BYTES (256u * 1024)

/* The low bits of an entry's first number; a subtask's number, told from the one before, is in the others. */
enum entry_kind {
    ENTRY_PLANNED, /* digest (8 bytes), subtasks */
    ENTRY_DONE,    /* first attempt; (bytes, rows) of each output */
    ENTRY_RAN,     /* attempt; (bytes, rows) of each output */
    ENTRY_FED,     /* attempt, node, size and bytes of the report; (bytes, rows) of each output */
    ENTRY_NODE,    /* instead of a subtask's: where outputs of the entries behind lie */
    ENTRY_TRIED,   /* attempt, deaths, rooms, losses, suspect, failures of user code */
    ENTRY_LOST,    /* objects; their places */
    ENTRY_PLANS,   /* plans; their numbers, 8 bytes each. Only the first of a record */
    ENTRY_KINDS
};
#define KIND_BITS 3

void
event_log_free(struct event_log *log)
{
    gr_buf_free(&log->plans);
    gr_buf_free(&log->known);
    gr_buf_free(&log->pending);
    gr_buf_free(&log->planner);
}

/* ---- plans ---- */

static bool
has_plan(const struct gr_buf *plans, uint64_t plan)
{
    for (size_t at = 0; at < plans->size; at += sizeof plan) {
        if (memcmp(plans->bytes + at, &plan, sizeof plan) == 0) {
            return true;
        }
    }
    return false;
}

void
event_log_note_plan(struct event_log *log, uint64_t plan)
{
    if (!has_plan(&log->plans, plan)) {
        gr_buf_add(&log->plans, &plan, sizeof plan);
        log->fresh = log->fresh || !has_plan(&log->known, plan);
        log->urgent = log->urgent || log->fresh; /* else, what it makes would stay if all processes died now */
    }
}

static void
know_plans(struct event_log *log, const struct gr_buf *plans)
{
    for (size_t at = 0; at < plans->size; at += sizeof(uint64_t)) {
        uint64_t plan;

        memcpy(&plan, plans->bytes + at, sizeof plan);
        if (!has_plan(&log->known, plan)) {
            gr_buf_add(&log->known, &plan, sizeof plan);
        }
    }
}

void
event_log_restart(struct event_log *log)
{
    struct gr_buf known;

    know_plans(log, &log->plans);
    known = log->known;
    log->known = (struct gr_buf){0};
    event_log_free(log);
    *log = (struct event_log){.known = known};
    log->fresh = log->urgent = log->fed = known.size > 0; /* until the next record, nothing else tells of them */
}

bool
event_log_dropped(const struct event_log *log, size_t *at, uint64_t *ret_plan)
{
    while (*at < log->known.size) {
        memcpy(ret_plan, log->known.bytes + *at, sizeof *ret_plan);
        *at += sizeof *ret_plan;
        if (!has_plan(&log->plans, *ret_plan)) {
            return true;
        }
    }
    return false;
}

/* ---- writing ---- */

static void
put(struct gr_buf *out, uint64_t value)
{
    unsigned char bytes[10];
    size_t size = 0;

    while (value >= 0x80) {
        bytes[size++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    bytes[size++] = (unsigned char)value;
    gr_buf_add(out, bytes, size);
}

static uint64_t
zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static void
put_head(struct gr_buf *out, enum entry_kind kind, uint64_t rest)
{
    put(out, rest << KIND_BITS | kind);
}

static void
put_number(struct event_log *log, struct gr_buf *out, enum entry_kind kind, uint32_t number)
{
    put_head(out, kind, zigzag((int64_t)number - (int64_t)log->last_number));
    log->last_number = number;
}

static void
put_outputs(struct gr_buf *out, const struct execution_graph *execution, uint32_t number)
{
    int64_t rows;
    uint64_t bytes;

    for (uint32_t i = 0; execution_graph_output(execution, number, i, &rows, &bytes, NULL); i++) {
        put(out, bytes);
        put(out, zigzag(rows));
    }
}

static void
put_node(struct event_log *log, struct gr_buf *out, int32_t node)
{
    if (node != log->node) {
        put_head(out, ENTRY_NODE, zigzag(node));
        log->node = node;
    }
}

static void
put_success(struct event_log *log, struct gr_buf *out, struct execution_graph *execution, uint32_t number)
{
    uint32_t attempt = execution_graph_subtask(execution, number)->attempt;

    put_number(log, out, attempt == 1 ? ENTRY_DONE : ENTRY_RAN, number);
    if (attempt != 1) {
        put(out, attempt);
    }
    put_outputs(out, execution, number);
}

static void
put_tried(struct event_log *log, struct gr_buf *out, struct execution_graph *execution, uint32_t number)
{
    const struct subtask *subtask = execution_graph_subtask(execution, number);
    const struct user_code *code = execution_graph_user_code(execution, number);

    put_number(log, out, ENTRY_TRIED, number);
    put(out, subtask->attempt);
    put(out, subtask->deaths);
    put(out, subtask->rooms);
    put(out, subtask->losses);
    put(out, subtask->suspect);
    put(out, code == NULL ? 0 : code->failures);
}

void
event_log_planned(struct event_log *log, const struct execution_graph *execution, uint64_t plan)
{
    uint64_t digest = plan ^ execution_graph_digest(execution);
    struct gr_buf entry = {0};

    put_head(&entry, ENTRY_PLANNED, 0);
    log->fed = log->fed || log->told;
    gr_buf_add(&entry, &digest, sizeof digest);
    put(&entry, execution_graph_counts(execution)->total);
    gr_buf_add(&log->pending, entry.bytes, entry.size);
    gr_buf_add(&log->planner, entry.bytes, entry.size);
    gr_buf_free(&entry);
}

void
event_log_succeeded(struct event_log *log, struct execution_graph *execution, uint32_t number, int32_t node,
                    const Granary__Done *done)
{
    struct subtask *subtask = execution_graph_subtask(execution, number);
    struct gr_buf entry = {0};
    size_t size;
    void *room;

    log->urgent = true;
    if (done == NULL) {
        put_node(log, &log->pending, node);
        put_success(log, &log->pending, execution, number);
        return;
    }
    subtask->fed = true;
    log->told = true;
    size = granary__done__get_packed_size(done);
    put_head(&entry, ENTRY_FED, zigzag(number));
    put(&entry, subtask->attempt);
    put(&entry, zigzag(node));
    put(&entry, size);
    room = size > 0 ? gr_buf_grow(&entry, size) : NULL;
    if (room != NULL) {
        (void)granary__done__pack(done, room);
    }
    put_outputs(&entry, execution, number);
    gr_buf_add(&log->pending, entry.bytes, entry.size);
    gr_buf_add(&log->planner, entry.bytes, entry.size);
    log->planner.failed = log->planner.failed || entry.failed;
    log->pending.failed = log->pending.failed || entry.failed;
    gr_buf_free(&entry);
}

void
event_log_tried(struct event_log *log, struct execution_graph *execution, uint32_t number)
{
    log->urgent = true;
    execution_graph_subtask(execution, number)->tried = true;
    put_tried(log, &log->pending, execution, number);
}

void
event_log_lost(struct event_log *log, const struct execution_graph *execution, const ProtobufCBinaryData *lost,
               size_t count)
{
    log->urgent = true;
    put_head(&log->pending, ENTRY_LOST, count);
    for (size_t i = 0; i < count; i++) {
        put(&log->pending, execution_graph_position(execution, lost[i]));
    }
}

static void
put_plans(struct event_log *log, struct gr_buf *out)
{
    know_plans(log, &log->plans);
    put_head(out, ENTRY_PLANS, log->known.size / sizeof(uint64_t));
    gr_buf_add(out, log->known.bytes, log->known.size);
    out->failed = out->failed || log->known.failed;
    log->fresh = false;
}

/* Everything as it is now. */
static void
put_snapshot(struct event_log *log, struct execution_graph *execution, struct gr_buf *out)
{
    uint64_t total = execution_graph_counts(execution)->total;

    log->last_number = 0;
    log->node = 0;
    gr_buf_add(out, log->planner.bytes, log->planner.size);
    out->failed = out->failed || log->planner.failed;
    for (uint32_t number = 0; number < total; number++) {
        const struct subtask *subtask = execution_graph_subtask(execution, number);
        int32_t node = log->node;

        if (subtask->state == SUBTASK_SUCCEEDED && !subtask->fed) {
            (void)execution_graph_output(execution, number, 0, &(int64_t){0}, &(uint64_t){0}, &node);
            put_node(log, out, node);
            put_success(log, out, execution, number);
        } else if (subtask->state != SUBTASK_SUCCEEDED && subtask->tried) {
            put_tried(log, out, execution, number);
        }
    }
}

bool
event_log_take(struct event_log *log, struct execution_graph *execution, struct gr_buf *ret_record,
               uint64_t *ret_number, bool *ret_snapshot, bool *ret_fed)
{
    if (!log->urgent) {
        return false;
    }
    *ret_number = log->records++;
    *ret_snapshot = log->bytes + log->pending.size > SNAPSHOT_BYTES + 2 * log->snapshot_bytes;
    if (log->fresh || *ret_snapshot) {
        put_plans(log, ret_record);
    }
    if (*ret_snapshot) {
        put_snapshot(log, execution, ret_record);
        log->snapshot_bytes = ret_record->size;
        log->bytes = 0;
    } else {
        gr_buf_add(ret_record, log->pending.bytes, log->pending.size);
        ret_record->failed = ret_record->failed || log->pending.failed;
        log->bytes += ret_record->size;
    }
    gr_buf_free(&log->pending);
    *ret_fed = log->fed;
    log->fed = false;
    log->urgent = false;
    log->last_number = 0;
    log->node = 0;
    return true;
}

/* ---- applying ---- */

struct cursor {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t
get(struct cursor *cursor)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
        unsigned char byte = *cursor->at++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    cursor->bad = true;
    return 0;
}

static int64_t
unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static const unsigned char *
get_bytes(struct cursor *cursor, uint64_t size)
{
    const unsigned char *bytes = cursor->at;

    if (size > (uint64_t)(cursor->end - cursor->at)) {
        cursor->bad = true;
        return NULL;
    }
    cursor->at += size;
    return bytes;
}

/* The subtask succeeds, as far as the execution graph goes. */
static void
apply_success(struct cursor *cursor, struct execution_graph *execution, uint32_t number, uint64_t attempt, int32_t node)
{
    if (cursor->bad || attempt == 0 || attempt > UINT32_MAX ||
        !execution_graph_claim(execution, number, (uint32_t)attempt)) {
        cursor->bad = true;
        return;
    }
    for (uint32_t i = 0; execution_graph_output(execution, number, i, &(int64_t){0}, &(uint64_t){0}, NULL); i++) {
        uint64_t bytes = get(cursor);

        execution_graph_output_set(execution, number, i, unzigzag(get(cursor)), bytes);
    }
    execution_graph_succeeded(execution, number, node);
}

static granary_err
apply_fed(struct cursor *cursor, const struct event_log_replay *replay, uint32_t number)
{
    uint64_t attempt = get(cursor);
    int32_t node = (int32_t)unzigzag(get(cursor));
    uint64_t size = get(cursor);
    const unsigned char *packed = get_bytes(cursor, size);
    struct subtask *subtask = execution_graph_subtask(replay->execution, number);
    Granary__Done *done = cursor->bad ? NULL : granary__done__unpack(NULL, size, packed);
    granary_err err = GRANARY_OK;

    if (done == NULL || subtask == NULL) {
        cursor->bad = true;
    } else {
        apply_success(cursor, replay->execution, number, attempt, node);
        subtask->feeds = false;
        subtask->fed = true;
        err = cursor->bad ? GRANARY_OK : replay->feed(replay->context, number, done);
    }
    granary__done__free_unpacked(done, NULL);
    return err;
}

static void
apply_planned(struct cursor *cursor, const struct event_log_replay *replay)
{
    const unsigned char *bytes = get_bytes(cursor, sizeof(uint64_t));
    uint64_t total = get(cursor);
    uint64_t digest = 0;

    if (!cursor->bad) {
        memcpy(&digest, bytes, sizeof digest);
        cursor->bad = total != execution_graph_counts(replay->execution)->total ||
                      digest != (replay->plan(replay->context) ^ execution_graph_digest(replay->execution));
    }
}

static void
apply_tried(struct cursor *cursor, struct execution_graph *execution, uint32_t number)
{
    struct subtask *subtask = execution_graph_subtask(execution, number);
    struct user_code *code = subtask == NULL ? NULL : execution_graph_user_code(execution, number);
    uint64_t failures;

    if (subtask == NULL) {
        cursor->bad = true;
        return;
    }
    subtask->attempt = (uint32_t)get(cursor);
    subtask->deaths = (uint32_t)get(cursor);
    subtask->rooms = (uint32_t)get(cursor);
    subtask->losses = (uint32_t)get(cursor);
    subtask->suspect = get(cursor) != 0;
    subtask->tried = true;
    failures = get(cursor);
    if (code != NULL) {
        code->failures = (uint32_t)failures;
    }
}

static void
apply_lost(struct cursor *cursor, struct execution_graph *execution, uint64_t count)
{
    for (uint64_t i = 0; i < count && !cursor->bad; i++) {
        uint64_t position = get(cursor);

        cursor->bad = cursor->bad || position > UINT32_MAX || !execution_graph_vanish(execution, (uint32_t)position);
    }
}

/* Its first entry, if that is what it is. */
static void
learn_plans(struct event_log *log, struct cursor *cursor, uint64_t count)
{
    const unsigned char *bytes = get_bytes(cursor, count > SIZE_MAX / 8 ? SIZE_MAX : count * sizeof(uint64_t));

    if (bytes != NULL) {
        know_plans(log, &(const struct gr_buf){.bytes = (char *)(uintptr_t)bytes, .size = count * sizeof(uint64_t)});
    }
}

void
event_log_learn(struct event_log *log, const void *record, size_t size)
{
    struct cursor cursor = {.at = record, .end = (const unsigned char *)record + size};
    uint64_t head = get(&cursor);

    if (!cursor.bad && (head & ((1u << KIND_BITS) - 1)) == ENTRY_PLANS) {
        learn_plans(log, &cursor, head >> KIND_BITS);
    }
}

granary_err
event_log_apply(struct event_log *log, const struct event_log_replay *replay, const void *record, size_t size)
{
    struct cursor cursor = {.at = record, .end = (const unsigned char *)record + size};
    granary_err err = GRANARY_OK;
    int64_t number = 0;
    int32_t node = 0;

    if (FAULT_FAILS(events_read)) {
        return gr_fail_errno("the log of its events");
    }
    while (err == GRANARY_OK && !cursor.bad && cursor.at < cursor.end) {
        const unsigned char *begin = cursor.at;
        uint64_t head = get(&cursor);
        enum entry_kind kind = (enum entry_kind)(head & ((1u << KIND_BITS) - 1));
        int64_t rest = unzigzag(head >> KIND_BITS);

        if (kind == ENTRY_DONE || kind == ENTRY_RAN || kind == ENTRY_TRIED) {
            number += rest;
            cursor.bad = cursor.bad || number < 0 || number >= SUBTASK_NONE;
        } else if (kind == ENTRY_FED) {
            cursor.bad = cursor.bad || rest < 0 || rest >= SUBTASK_NONE;
        }
        if (cursor.bad) {
            break;
        }
        switch (kind) {
        case ENTRY_PLANNED:
            apply_planned(&cursor, replay);
            break;
        case ENTRY_DONE:
            apply_success(&cursor, replay->execution, (uint32_t)number, 1, node);
            break;
        case ENTRY_RAN:
            apply_success(&cursor, replay->execution, (uint32_t)number, get(&cursor), node);
            break;
        case ENTRY_FED:
            err = apply_fed(&cursor, replay, (uint32_t)rest);
            break;
        case ENTRY_NODE:
            node = (int32_t)rest;
            break;
        case ENTRY_TRIED:
            apply_tried(&cursor, replay->execution, (uint32_t)number);
            break;
        case ENTRY_LOST:
            apply_lost(&cursor, replay->execution, head >> KIND_BITS);
            break;
        case ENTRY_PLANS:
            learn_plans(log, &cursor, head >> KIND_BITS);
            break;
        default:
            cursor.bad = true;
            break;
        }
        log->told = log->told || kind == ENTRY_FED;
        if (kind == ENTRY_PLANNED || kind == ENTRY_FED) {
            gr_buf_add(&log->planner, begin, (size_t)(cursor.at - begin));
        }
    }
    log->bytes += size;
    return err == GRANARY_OK && cursor.bad
               ? gr_fail(GRANARY_ESTATE, "the log of its events is of another plan, or damaged")
               : err;
}
