/* Pins, references, containers, aliases, and what holds an object. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/sized.h"
#include "granary/hold.h"
#include "object/client.h"

/* A text as the store takes it. Errors: EINVAL it is too long */
static granary_err
text_copy(char ret_text[GR_LEDGER_TEXT], const char *text, const char *what)
{
    if (text != NULL && strlen(text) > GRANARY_TEXT_MAX) {
        return gr_fail(GRANARY_EINVAL, "%s '%.32s...': longer than %d bytes", what, text, GRANARY_TEXT_MAX);
    }
    (void)snprintf(ret_text, GR_LEDGER_TEXT, "%s", text == NULL ? "" : text);
    return GRANARY_OK;
}

static granary_err
hold_ask(granary_client *client, enum gr_store_op op, granary_id id, struct gr_hold *hold, uint64_t *ret_token)
{
    struct gr_hold_reply reply = {0};
    granary_err err;

    memcpy(hold->id, id.bytes, sizeof hold->id);
    hold->request = request_next(client);
    err = socket_request(client, op, hold, sizeof *hold, &reply);
    if (err == GRANARY_OK && ret_token != NULL) {
        *ret_token = reply.token;
    }
    return err;
}

static granary_err
check_scope(granary_id id, granary_pin_scope scope)
{
    return scope == GRANARY_PIN_CLIENT || scope == GRANARY_PIN_SESSION || scope == GRANARY_PIN_PERSISTENT
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "object %s: no such pin scope: %d", id_text(id), (int)scope);
}

granary_err
granary_pin(granary_client *client, granary_id id, granary_pin_scope scope, const char *reason, uint64_t *ret_token)
{
    struct gr_hold hold = {.scope = (uint32_t)scope};
    granary_err err = gr_client_check(client);
    struct lease lease;

    if (err != GRANARY_OK || (err = check_scope(id, scope)) != GRANARY_OK ||
        (err = text_copy(hold.text, reason, "reason")) != GRANARY_OK) {
        return err;
    }
    if (scope == GRANARY_PIN_PERSISTENT &&
        (err = granary_object_move(client, id, GRANARY_LEVEL_DISK, 0, PERSIST_WAIT_MS)) != GRANARY_OK) {
        return err;
    }
    /* Under a lease the object is in memory and stays: the store answers at once, and others may use the socket. */
    err = lease_wait(client, id, 0, 0, &lease);
    if (err != GRANARY_OK) {
        return err;
    }
    err = hold_ask(client, GR_STORE_PIN, id, &hold, ret_token);
    lease_end(client, lease.serial, lease.handle);
    return err;
}

granary_err
granary_object_pin(granary_client *client, granary_id id, granary_pin_scope scope)
{
    return granary_pin(client, id, scope, NULL, NULL);
}

granary_err
granary_object_unpin(granary_client *client, granary_id id, granary_pin_scope scope)
{
    struct gr_hold hold = {.scope = (uint32_t)scope};
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK || (err = check_scope(id, scope)) != GRANARY_OK) {
        return err;
    }
    return hold_ask(client, GR_STORE_UNPIN, id, &hold, NULL);
}

granary_err
granary_unpin(granary_client *client, uint64_t token)
{
    struct gr_hold hold = {.token = token};
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    return token == 0 ? gr_fail(GRANARY_ENOENT, "pin 0: there is none")
                      : hold_ask(client, GR_STORE_UNPIN, (granary_id){{0}}, &hold, NULL);
}

/* An owner by name lasts; without one the owner is this client. */
static granary_err
owner_hold(granary_client *client, const char *owner, struct gr_hold *ret_hold)
{
    granary_err err = gr_client_check(client);

    *ret_hold = (struct gr_hold){.scope = owner != NULL};
    if (err == GRANARY_OK && owner != NULL && owner[0] == '\0') {
        err = gr_fail(GRANARY_EINVAL, "owner: it is empty");
    }
    return err == GRANARY_OK ? text_copy(ret_hold->text, owner, "owner") : err;
}

granary_err
granary_reference(granary_client *client, granary_id id, const char *owner, uint64_t *ret_token)
{
    struct gr_hold hold;
    granary_err err = owner_hold(client, owner, &hold);

    return err == GRANARY_OK ? hold_ask(client, GR_STORE_REF, id, &hold, ret_token) : err;
}

granary_err
granary_unreference(granary_client *client, granary_id id, const char *owner)
{
    struct gr_hold hold;
    granary_err err = owner_hold(client, owner, &hold);

    return err == GRANARY_OK ? hold_ask(client, GR_STORE_UNREF, id, &hold, NULL) : err;
}

granary_err
contain_send(granary_client *client, granary_id parent, const granary_id *ids, size_t count)
{
    size_t most = count < GR_CONTAIN_MOST ? count : GR_CONTAIN_MOST;
    struct gr_contain *contain = malloc(sizeof *contain + most * sizeof *ids);
    granary_err err = GRANARY_OK;

    if (contain == NULL) {
        return gr_fail(GRANARY_ENOMEM, "object %s: out of memory", id_text(parent));
    }
    memcpy(contain->parent, parent.bytes, sizeof contain->parent);
    for (size_t first = 0; first < count && err == GRANARY_OK; first += most) {
        most = count - first < GR_CONTAIN_MOST ? count - first : GR_CONTAIN_MOST;
        contain->count = (uint32_t)most;
        contain->first = (uint32_t)first;
        memcpy(contain + 1, ids + first, most * sizeof *ids);
        err = socket_request(client, GR_STORE_CONTAIN, contain, sizeof *contain + most * sizeof *ids, NULL);
    }
    free(contain);
    if (err != GRANARY_OK) {
        contain_cancel(client, parent);
        err = gr_fail_in(err, "object %s", id_text(parent));
    }
    return err;
}

void
contain_cancel(granary_client *client, granary_id parent)
{
    struct gr_contain contain = {.count = 0};

    memcpy(contain.parent, parent.bytes, sizeof contain.parent);
    (void)socket_request(client, GR_STORE_CONTAIN, &contain, sizeof contain, NULL);
}

granary_err
granary_alias(granary_client *client, granary_id alias, granary_id target)
{
    struct gr_alias request;
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(request.alias, alias.bytes, sizeof request.alias);
    memcpy(request.target, target.bytes, sizeof request.target);
    err = socket_request(client, GR_STORE_ALIAS, &request, sizeof request, NULL);
    return err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "alias %s", id_text(alias));
}

static granary_hold
hold_of(const struct gr_ledger_record *record)
{
    enum gr_ledger_kind kind = (enum gr_ledger_kind)(atomic_load_explicit(&record->word, memory_order_relaxed) & 0xff);
    granary_hold hold = {
        .kind = kind == GR_LEDGER_PENDING ? GRANARY_HOLD_CONTAINER : (granary_hold_kind)kind,
        .id = gr_id_from_words(record->id[0], record->id[1]),
        .token = atomic_load_explicit(&record->word, memory_order_relaxed) >> 8,
        .scope = (granary_pin_scope)record->scope,
        .client = record->client,
        .pid = record->pid,
        .since_ms = (int64_t)record->since_ms,
    };

    if (hold.kind == GRANARY_HOLD_CONTAINER) {
        hold.container = gr_id_from_words(record->other[0], record->other[1]);
    }
    memcpy(hold.text, record->text, sizeof hold.text);
    hold.text[sizeof hold.text - 1] = '\0';
    return hold;
}

granary_err
holds_page(granary_client *client, struct gr_holds *request, granary_hold **holds, size_t *count, bool *ret_more)
{
    struct gr_ledger_record record;
    struct gr_frame_in frame = {.fd_count = 0};
    granary_hold *more;
    size_t got;
    granary_err err;

    socket_take(client);
    err = socket_ask(client, GR_STORE_HOLDS, request, sizeof *request, REQUEST_TIMEOUT_MS, &frame);
    got = err == GRANARY_OK ? frame.head.size / sizeof record : 0;
    more = got == 0 ? NULL : realloc(*holds, (*count + got) * sizeof *more);
    if (got > 0 && more == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "%zu holds: out of memory", *count + got);
    }
    for (size_t i = 0; more != NULL && i < got; i++) {
        memcpy((void *)&record, (const char *)frame.body + i * sizeof record, sizeof record);
        more[*count + i] = hold_of(&record);
        request->after = more[*count + i].token;
    }
    if (more != NULL) {
        *holds = more;
        *count += got;
    }
    *ret_more = got > 0;
    gr_frame_in_reset(&frame);
    socket_give(client);
    return err;
}

granary_err
granary_holds_sized(granary_client *client, const granary_id *id, granary_hold **ret_holds, size_t *ret_count,
                    size_t hold_size)
{
    struct gr_holds request = {.after = 0};
    granary_err err = gr_client_check(client);
    granary_hold *holds = NULL;
    size_t count = 0;

    if (id != NULL) {
        memcpy(request.id, id->bytes, sizeof request.id);
    }
    for (bool more = true; err == GRANARY_OK && more;) {
        err = holds_page(client, &request, &holds, &count, &more);
    }
    return gr_sized_give_list(err, holds, sizeof *holds, count, ret_holds, hold_size, ret_count);
}
