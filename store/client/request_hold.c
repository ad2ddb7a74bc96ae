/* Requests about what is said about objects: pins, references, leases, containers, aliases, names. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "granary/hold.h"
#include "store/client/request.h"
#include "store/flow/read/restore.h"
#include "store/object/alias.h"
#include "store/object/contain.h"
#include "store/object/hold.h"
#include "store/object/name.h"

#define MOST_RECORDS (GR_FRAME_MAX_BODY / sizeof(struct gr_ledger_record))
#define MOST_NAMES   (GR_FRAME_MAX_BODY / sizeof(struct gr_name))

static granary_id
id_from(const unsigned char bytes[GRANARY_ID_BYTES])
{
    granary_id id;

    memcpy(id.bytes, bytes, sizeof id.bytes);
    return id;
}

granary_err
on_lease(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_object_ref ref;

    memcpy(&ref, frame->body, sizeof ref);
    return request_answer(client, frame, hold_lease(client, id_from(ref.id), ref.serial, ref.request), NULL, 0);
}

granary_err
on_unlease(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_object_ref ref;

    memcpy(&ref, frame->body, sizeof ref);
    return request_answer(client, frame, hold_unlease(client, ref.request), NULL, 0);
}

/* What is held is the object, not an alias of it. Errors: EINVAL: no such scope, or the text is none */
static granary_err
read_hold(const struct client *client, const struct gr_frame_in *frame, uint32_t most_scope, struct gr_hold *ret_hold)
{
    memcpy(ret_hold, frame->body, sizeof *ret_hold);
    (void)request_resolve(client, ret_hold->id);
    return ret_hold->scope > most_scope ? gr_fail(GRANARY_EINVAL, "no scope %u", ret_hold->scope)
                                        : hold_check_text(ret_hold->text, "reason or owner");
}

granary_err
on_pin(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_hold_reply reply = {0};
    struct gr_slot *slot = NULL;
    struct gr_hold hold;
    granary_err err = read_hold(client, frame, GRANARY_PIN_PERSISTENT, &hold);

    if (err == GRANARY_OK) {
        restore_anew(client->session, id_from(hold.id));
        err = restore_request(client->session, id_from(hold.id), &slot);
    }
    if (err == GRANARY_OK && slot == NULL) {
        client->request = frame->head;
        client->waits = CLIENT_WAITS_PIN;
        client->pin = hold;
        return GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = hold_pin(client, slot, &hold, &reply.token);
    }
    return request_answer(client, frame, err, &reply, sizeof reply);
}

granary_err
on_unpin(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_hold hold;
    granary_err err = read_hold(client, frame, GRANARY_PIN_PERSISTENT, &hold);

    return request_answer(client, frame, err == GRANARY_OK ? hold_unpin(client, &hold) : err, NULL, 0);
}

granary_err
on_ref(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_hold_reply reply = {0};
    struct gr_hold hold;
    granary_err err = read_hold(client, frame, 1, &hold);

    if (err == GRANARY_OK) {
        err = hold_reference(client, &hold, &reply.token);
    }
    return request_answer(client, frame, err, &reply, sizeof reply);
}

granary_err
on_unref(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_hold hold;
    granary_err err = read_hold(client, frame, 1, &hold);

    return request_answer(client, frame, err == GRANARY_OK ? hold_unreference(client, &hold) : err, NULL, 0);
}

granary_err
on_contain(struct client *client, const struct gr_frame_in *frame)
{
    const unsigned char *ids = (const unsigned char *)frame->body + sizeof(struct gr_contain);
    struct gr_contain contain;
    granary_err err = GRANARY_OK;

    memcpy(&contain, frame->body, sizeof contain);
    if (frame->head.size != sizeof contain + contain.count * sizeof(granary_id)) {
        return gr_fail(GRANARY_EPROTO, "CONTAIN of %u ids in %u bytes", contain.count, frame->head.size);
    }
    if (contain.count == 0) {
        contain_forget(client, id_from(contain.parent));
    } else {
        err = contain_add(client, id_from(contain.parent), contain.first, ids, contain.count);
    }
    return request_answer(client, frame, err, NULL, 0);
}

granary_err
on_alias(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_alias alias;

    memcpy(&alias, frame->body, sizeof alias);
    return request_answer(client, frame, alias_add(client->session, id_from(alias.alias), id_from(alias.target)), NULL,
                          0);
}

granary_err
on_name_set(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_name name;
    granary_id previous;
    granary_err err;

    memcpy(&name, frame->body, sizeof name);
    (void)request_resolve(client, name.id);
    err = name_set(client, &name, &previous);
    if (err == GRANARY_OK) {
        memcpy(name.id, previous.bytes, sizeof name.id);
    }
    return request_answer(client, frame, err, &name, sizeof name);
}

granary_err
on_name_get(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_name name;
    granary_id id;
    granary_err err;

    memcpy(&name, frame->body, sizeof name);
    err = name_get(client->session, name.name, &id);
    if (err == GRANARY_OK) {
        memcpy(name.id, id.bytes, sizeof name.id);
    }
    return request_answer(client, frame, err, &name, sizeof name);
}

granary_err
on_name_list(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_name *names = malloc(MOST_NAMES * sizeof *names);
    struct gr_name after;
    size_t count = 0;
    granary_err err;

    memcpy(&after, frame->body, sizeof after);
    err = names == NULL                                         ? gr_fail(GRANARY_ENOMEM, "no memory to list names")
          : memchr(after.name, '\0', sizeof after.name) == NULL ? gr_fail(GRANARY_EINVAL, "name: it has no end")
                                                                : GRANARY_OK;
    if (err == GRANARY_OK) {
        count = name_list(client->session, after.name, names, MOST_NAMES);
    }
    err = request_answer(client, frame, err, names, count * sizeof *names);
    free(names);
    return err;
}

granary_err
on_holds(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_ledger_record *records = aligned_alloc(64, MOST_RECORDS * sizeof *records);
    struct gr_holds holds;
    size_t count = 0;
    granary_err err;

    memcpy(&holds, frame->body, sizeof holds);
    err = records == NULL ? gr_fail(GRANARY_ENOMEM, "no memory to list what holds objects") : GRANARY_OK;
    if (err == GRANARY_OK) {
        count = hold_list(client->session, request_resolve(client, holds.id), holds.after, records, MOST_RECORDS);
    }
    err = request_answer(client, frame, err, records, count * sizeof *records);
    free(records);
    return err;
}
