/* What the next scheduler is told of results that may be recalled: an entry of the state for each, as a packed message. */
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/log.h"
#include "optimize/steps.h"
#include "sched/core/actions.h"
#include "sched/recall/recalls.h"

static void
entry_key(const struct recalled *recalled, uint64_t *ret_number, size_t *ret_size)
{
    *ret_number = recalled->part == 0 ? recalled->serial : (uint64_t)recalled->part << 32 | recalled->serial;
    *ret_size = recalled->part == 0 ? sizeof(uint32_t) : sizeof(uint64_t);
}

bool
recalled_pack(const struct recalled *recalled, bool as_owned, const granary_id *ids, size_t count, struct gr_buf *out)
{
    Granary__Recall message = GRANARY__RECALL__INIT;
    Granary__RecallTarget *targets = calloc(recalled->count, sizeof *targets);
    Granary__RecallTarget **pointers = calloc(recalled->count, sizeof *pointers);
    uint32_t size;
    void *room = NULL;

    if (targets == NULL || pointers == NULL) {
        goto out;
    }
    for (size_t i = 0; i < recalled->count; i++) {
        pointers[i] = &targets[i];
        granary__recall_target__init(&targets[i]);
        targets[i].key = (ProtobufCBinaryData){GRANARY_ID_BYTES, recalled->targets[i].key.bytes};
        targets[i].name = recalled->targets[i].name;
        targets[i].columns = recalled->targets[i].columns;
        targets[i].n_columns = recalled->targets[i].column_count;
        targets[i].result = (ProtobufCBinaryData){recalled->targets[i].packed_size, recalled->targets[i].packed};
    }
    message.session = recalled->session;
    message.id_key = recalled->id_key;
    message.owned = recalled->owned || as_owned;
    message.broken = recalled->broken;
    message.part = recalled->part;
    message.saved = recalled->saved;
    message.stamp = (ProtobufCBinaryData){GRANARY_ID_BYTES, (uint8_t *)(uintptr_t)recalled->stamp.bytes};
    message.cost_ns = recalled->cost_ns;
    message.bytes = recalled->bytes;
    message.ids = (ProtobufCBinaryData){count * sizeof *ids, (uint8_t *)(uintptr_t)ids};
    message.targets = pointers;
    message.n_targets = recalled->count;
    size = (uint32_t)granary__recall__get_packed_size(&message);
    if (as_owned) { /* one of several */
        gr_buf_add(out, &size, sizeof size);
    }
    room = gr_buf_grow(out, size);
    if (room != NULL) {
        (void)granary__recall__pack(&message, room);
    }
out:
    free(targets);
    free(pointers);
    return room != NULL;
}

void
recalled_keep(struct manager *manager, struct recalled *recalled)
{
    uint64_t number;
    size_t size;
    struct action *action;

    entry_key(recalled, &number, &size);
    action = entry_add_number(manager, ACTION_KEEP, MANAGER_RECALLS, number, size);
    if (action == NULL || !recalled_pack(recalled, false, recalled->ids, recalled->id_count, &action->bytes)) {
        manager_note_exhausted(manager);
    }
    recalled->kept = true;
}

void
recalled_forget(struct manager *manager, const struct recalled *recalled)
{
    uint64_t number;
    size_t size;

    entry_key(recalled, &number, &size);
    (void)entry_add_number(manager, ACTION_FORGET, MANAGER_RECALLS, number, size);
}

void
recalled_make_view(struct recalled *recalled)
{
    if (recalled->part == 0 || (recalled->view = malloc(sizeof *recalled->view)) == NULL) {
        return;
    }
    *recalled->view = (struct gr_recalled){.by = recalled->id_key,
                                           .columns = (const char *const *)recalled->targets[0].columns,
                                           .column_count = recalled->targets[0].column_count,
                                           .ids = recalled->ids,
                                           .id_count = recalled->id_count};
}

bool
recalled_unpack(struct manager *manager, uint32_t serial, const Granary__Recall *message)
{
    struct recalled *recalled = recalls_add(manager->recalls, serial, message->part, message->session, message->id_key);
    bool good = recalled != NULL && message->ids.len % sizeof *recalled->ids == 0 &&
                (message->part == 0 || (message->owned && message->n_targets == 1 && message->ids.len > 0));

    for (size_t i = 0; good && i < message->n_targets; i++) {
        const Granary__RecallTarget *target = message->targets[i];
        granary_id key = {{0}};

        good = target->key.len == sizeof key.bytes;
        if (good) {
            memcpy(key.bytes, target->key.data, sizeof key.bytes);
            good = recalled_add_target(recalled, key, target->name, target->result.data, target->result.len);
        }
        if (good && message->part > 0) {
            good = recalled_set_columns(recalled, (const char *const *)target->columns, target->n_columns);
        }
    }
    good = good && (message->ids.len == 0 || (recalled->ids = malloc(message->ids.len)) != NULL);
    if (!good) {
        if (recalled != NULL) {
            recalls_remove(manager->recalls, recalled);
        }
        return false;
    }
    if (message->ids.len > 0) {
        memcpy(recalled->ids, message->ids.data, message->ids.len);
    }
    recalled->id_count = message->ids.len / sizeof *recalled->ids;
    recalled->bytes = message->bytes;
    recalled->cost_ns = message->cost_ns;
    recalled->owned = message->owned;
    recalled->broken = message->broken;
    recalled->kept = true;
    recalled->saved = message->saved;
    if (recalled->saved) { /* its graph may be of an earlier instance: no other one has its serial */
        (void)serial_reserve(manager, serial);
    }
    if (message->stamp.len == sizeof recalled->stamp.bytes) {
        memcpy(recalled->stamp.bytes, message->stamp.data, sizeof recalled->stamp.bytes);
    }
    recalled->used_ns = manager->now_ns;
    recalled_make_view(recalled);
    manager->recalls->owned_bytes += recalled->owned && !recalled->saved ? recalled->bytes : 0;
    return true;
}

void
manager_restore_recall(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size)
{
    Granary__Recall *message = granary__recall__unpack(NULL, size, value);
    uint64_t number = key_size == sizeof(uint32_t) || key_size == sizeof number ? number_of_key(key, key_size) : 0;
    uint32_t serial = (uint32_t)number;

    if (message == NULL || serial == 0 || session_check(message->session) != GRANARY_OK || message->n_targets == 0 ||
        message->part != number >> 32 || (message->part == 0 && recalls_of(manager->recalls, serial) != NULL) ||
        !recalled_unpack(manager, serial, message)) {
        gr_log_warn("STATE-ENTRY", "recall=%u the entry cannot be read, and was passed over", serial);
    }
    granary__recall__free_unpacked(message, NULL);
}
