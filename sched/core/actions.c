/* Actions and replies. */

#include "sched/core/actions.h"

#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/memory/grow.h"
#include "contract/versions.h"
#include "sched/core/manager.h"
#include "sched/core/pack.h"

struct action *
action_add(struct manager *manager, enum action_kind kind)
{
    struct actions *actions = &manager->actions;

    if (!gr_grow(&actions->items, &actions->room, actions->count, sizeof *actions->items)) {
        gr_log_error("OUT-OF-MEMORY", "actions=%zu", actions->count);
        manager->exhausted = true;
        return NULL;
    }
    actions->items[actions->count] = (struct action){.kind = kind};
    return &actions->items[actions->count++];
}

struct action *
manager_actions(struct manager *manager, size_t *ret_count)
{
    *ret_count = manager->actions.count;
    return manager->actions.items;
}

bool
manager_exhausted(const struct manager *manager)
{
    const struct actions *actions = &manager->actions;
    bool exhausted = manager->exhausted;

    for (size_t i = 0; i < actions->count; i++) {
        exhausted = exhausted || !gr_buf_ok(&actions->items[i].bytes) || !gr_buf_ok(&actions->items[i].entry_key);
    }
    return exhausted;
}

void
manager_note_exhausted(struct manager *manager)
{
    manager->exhausted = true;
}

void
manager_actions_done(struct manager *manager, size_t count)
{
    struct actions *actions = &manager->actions;

    for (size_t i = 0; i < count; i++) {
        gr_buf_free(&actions->items[i].bytes);
        gr_buf_free(&actions->items[i].entry_key);
    }
    actions->count -= count;
    if (actions->count > 0) {
        memmove(actions->items, actions->items + count, actions->count * sizeof *actions->items);
    }
    manager->turn++;
}

static void
pack_message(struct gr_buf *bytes, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    void *room = size > 0 ? gr_buf_grow(bytes, size) : NULL;

    if (room != NULL) {
        (void)protobuf_c_message_pack(message, room);
    }
}

struct action *
entry_add(struct manager *manager, enum action_kind kind, const char *space, const void *key, size_t key_size)
{
    struct action *action = action_add(manager, kind);

    if (action != NULL) {
        action->space = space;
        gr_buf_add(&action->entry_key, key, key_size);
    }
    return action;
}

void
entry_key_number(struct gr_buf *key, uint64_t number, size_t size)
{
    while (size-- > 0) {
        gr_buf_add(key, &(unsigned char){(unsigned char)(number >> (8 * size))}, 1);
    }
}

struct action *
entry_add_number(struct manager *manager, enum action_kind kind, const char *space, uint64_t number, size_t size)
{
    struct action *action = entry_add(manager, kind, space, "", 0);

    if (action != NULL) {
        entry_key_number(&action->entry_key, number, size);
    }
    return action;
}

uint64_t
number_of_key(const void *key, size_t size)
{
    const unsigned char *bytes = key;
    uint64_t number = 0;

    for (size_t i = 0; i < size; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

struct action *
send_begin(struct manager *manager, uint32_t executor)
{
    struct action *action = action_add(manager, ACTION_SEND);

    if (action != NULL) {
        action->executor = executor;
        pack_begin(&action->bytes);
    }
    return action;
}

void
keep_message(struct manager *manager, const char *space, const void *key, size_t key_size,
             const ProtobufCMessage *message)
{
    struct action *action = entry_add(manager, ACTION_KEEP, space, key, key_size);

    if (action != NULL) {
        pack_message(&action->bytes, message);
    }
}

void
entry_forget(struct manager *manager, const char *space, const void *key, size_t key_size)
{
    (void)entry_add(manager, ACTION_FORGET, space, key, key_size);
}

void
log_forget(struct manager *manager, const char *graph_key)
{
    struct action *action = action_add(manager, ACTION_UNLOG);

    if (action != NULL) {
        gr_buf_add(&action->entry_key, graph_key, strlen(graph_key));
    }
}

/* ---- replies ---- */

struct action *
reply_message(struct manager *manager, uint64_t ticket, Granary__Reply *message)
{
    struct action *action = action_add(manager, ACTION_REPLY);

    message->version = GR_WIRE_OLDEST;
    if (action != NULL) {
        action->ticket = ticket;
        pack_message(&action->bytes, &message->base);
    }
    return action;
}

void
reply_error(struct manager *manager, uint64_t ticket, granary_err err, const char *message)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;

    answer.err = err;
    answer.message = (char *)(uintptr_t)message;
    (void)reply_message(manager, ticket, &answer);
}

void
reply_failure(struct manager *manager, uint64_t ticket, granary_err err)
{
    reply_error(manager, ticket, err, granary_error_message());
}

void
reply_no_memory(struct manager *manager, uint64_t ticket)
{
    reply_error(manager, ticket, GRANARY_ENOMEM, "scheduler: out of memory");
}

/* When what is kept before it is durable. */
static struct action *
reply_durable(struct manager *manager, uint64_t ticket, Granary__Reply *answer)
{
    struct action *action = reply_message(manager, ticket, answer);

    if (action != NULL) {
        action->when_durable = true;
    }
    return action;
}

void
reply_ok(struct manager *manager, uint64_t ticket)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;

    (void)reply_durable(manager, ticket, &answer);
}

void
reply_library(struct manager *manager, uint64_t ticket, const Granary__Library *library)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;

    answer.library = (Granary__Library *)(uintptr_t)library; /* packing only reads it */
    (void)reply_durable(manager, ticket, &answer);
}

void
reply_gone(struct manager *manager, uint64_t ticket, bool passing)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    struct action *action = reply_durable(manager, ticket, &answer);

    if (action != NULL) {
        action->unsynced = passing;
    }
}

void
reply_accepted(struct manager *manager, uint64_t ticket, const char *key, bool is_new, bool passing,
               const struct gr_buf *recalled)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    struct action *action;

    answer.key = (char *)(uintptr_t)key;
    answer.existed = !is_new;
    answer.recalled = (ProtobufCBinaryData){recalled->size, (uint8_t *)recalled->bytes};
    action = reply_durable(manager, ticket, &answer);
    if (action != NULL) {
        action->unsynced = passing;
    }
    if (action != NULL && is_new) {
        memcpy(action->accepted, key, strlen(key) + 1);
    }
}

void
reply_with_receipt(struct manager *manager, uint64_t ticket, Granary__Receipt *receipt)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;

    answer.receipt = receipt;
    (void)reply_durable(manager, ticket, &answer);
}

void
reply_text(struct manager *manager, uint64_t ticket, granary_err err, const struct gr_buf *text)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;

    if (err == GRANARY_OK && !gr_buf_ok(text)) {
        err = gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    if (err == GRANARY_OK) {
        answer.text = text->bytes != NULL ? text->bytes : (char *)(uintptr_t) "";
        (void)reply_message(manager, ticket, &answer);
    } else {
        reply_failure(manager, ticket, err);
    }
}
