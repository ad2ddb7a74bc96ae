/* Holds: a record of the ledger comes first and the slot's count follows; what a crash leaves is counted again. */
#include "store/object/hold.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/id.h"
#include "base/log.h"
#include "base/text/text.h"
#include "store/core/events.h"
#include "store/object/alias.h"
#include "store/object/contain.h"
#include "store/object/counted.h"
#include "store/object/name.h"
#include "store/object/object.h"

/* Records that are worked off in one turn of the loop: a fraction of a millisecond. */
#define SLICE 256u

granary_err
hold_check_text(const char text[GR_LEDGER_TEXT], const char *what)
{
    size_t length = strnlen(text, GR_LEDGER_TEXT);

    if (length == GR_LEDGER_TEXT) {
        return gr_fail(GRANARY_EINVAL, "%s: longer than %u bytes", what, GR_LEDGER_TEXT - 1);
    }
    return gr_text_check(text, length, what);
}

static granary_id
id_of(const struct gr_ledger_record *record)
{
    return gr_id_from_words(record->id[0], record->id[1]);
}

static struct gr_ledger_record
fields_of(const struct client *client, granary_id id, uint64_t request)
{
    struct gr_ledger_record fields = {.client = client->number, .pid = (uint32_t)client->pid, .request = request};

    gr_id_words(id, fields.id);
    return fields;
}

static granary_id
id_in(const struct gr_hold *hold)
{
    granary_id id;

    memcpy(id.bytes, hold->id, sizeof id.bytes);
    return id;
}

/*
 * Whether the request is new (*ret_number is 0) or done already (its record). EINVAL: the number is another request's.
 */
static granary_err
find_done(const struct client *client, enum gr_ledger_kind kind, granary_id id, uint64_t request, uint32_t *ret_number)
{
    const struct ledger *ledger = &client->session->ledger;
    const struct gr_ledger_record *record;

    if (request == 0) {
        return gr_fail(GRANARY_EINVAL, "a request to hold an object has no number");
    }
    *ret_number = ledger_find_request(ledger, client->number, request);
    if (*ret_number == 0) {
        return GRANARY_OK;
    }
    record = ledger_record(ledger, *ret_number);
    if (record_kind(record) != kind || !gr_id_equal(id_of(record), id)) {
        return gr_fail(GRANARY_EINVAL, "request %llu is the number of another one", (unsigned long long)request);
    }
    return GRANARY_OK;
}

static granary_err
add(struct client *client, enum gr_ledger_kind kind, const struct gr_hold *hold, granary_id id, uint64_t *ret_token)
{
    struct ledger *ledger = &client->session->ledger;
    struct gr_ledger_record fields = fields_of(client, id, hold->request);
    uint32_t number;
    granary_err err;

    fields.scope = (uint16_t)hold->scope;
    memcpy(fields.text, hold->text, sizeof fields.text);
    err = ledger_add(ledger, kind, &fields, &number);
    if (err == GRANARY_OK) {
        *ret_token = record_token(ledger_record(ledger, number));
    }
    return err;
}

granary_err
hold_pin(struct client *client, struct gr_slot *slot, const struct gr_hold *hold, uint64_t *ret_token)
{
    granary_id id = slot_object(slot).id;
    uint32_t done;
    granary_err err = find_done(client, GR_LEDGER_PIN, id, hold->request, &done);

    if (err != GRANARY_OK) {
        return err;
    }
    if (done != 0) {
        *ret_token = record_token(ledger_record(&client->session->ledger, done));
        return GRANARY_OK;
    }
    if (GR_FLAGS_PINS(slot_flags(slot)) == GR_MAX_PINS) {
        return gr_fail(GRANARY_EFULL, "the object has %u pins already", GR_MAX_PINS);
    }
    err = add(client, GR_LEDGER_PIN, hold, id, ret_token);
    if (err == GRANARY_OK) {
        object_note_pin(client->session, slot);
        event_note(client->store, client->session, GR_EVENT_PIN, &id, *ret_token, hold->scope, client->number);
    }
    return err;
}

granary_err
hold_reference(struct client *client, const struct gr_hold *hold, uint64_t *ret_token)
{
    granary_id id = id_in(hold);
    uint32_t done;
    granary_err err = find_done(client, GR_LEDGER_REFERENCE, id, hold->request, &done);

    if (err != GRANARY_OK) {
        return err;
    }
    if (done != 0) {
        *ret_token = record_token(ledger_record(&client->session->ledger, done));
        return GRANARY_OK;
    }
    if (index_find(&client->session->index, id) == NULL) {
        return object_not_found(id);
    }
    err = add(client, GR_LEDGER_REFERENCE, hold, id, ret_token);
    if (err == GRANARY_OK) {
        hold_note_keeper(client->session, id);
    }
    return err;
}

static void
take_lease(struct session *session, uint64_t serial)
{
    struct map_entry *total = map_find(&session->leases, map_key_number(serial));

    total->value.numbers[0]--;
    if (total->value.numbers[0] == 0) {
        map_remove(&session->leases, total);
        session->recheck_deleting = true;
    }
}

/* Take a pin, reference or lease out, with what follows from it. */
static void
end_record(struct session *session, uint32_t number)
{
    const struct gr_ledger_record *record = ledger_record(&session->ledger, number);
    enum gr_ledger_kind kind = record_kind(record);
    granary_id id = id_of(record);
    uint64_t token = record_token(record);
    uint64_t serial = record->other[0];
    uint32_t client = record->client;
    uint16_t scope = record->scope;

    ledger_remove(&session->ledger, number);
    if (kind == GR_LEDGER_PIN) {
        event_note(session->store, session, GR_EVENT_UNPIN, &id, token, scope, client);
        object_note_unpin(session, index_find(&session->index, id));
    } else if (kind == GR_LEDGER_LEASE) {
        take_lease(session, serial);
    } else {
        hold_forget_keeper(session, id);
    }
}

void
hold_note_end(struct client *client, uint64_t request, uint32_t number)
{
    const struct gr_ledger_record *record = number == 0 ? NULL : ledger_record(&client->session->ledger, number);
    struct gr_client_record *note = client->record;

    if (request == 0) {
        return;
    }
    note->ended_token = record == NULL ? 0 : record_token(record);
    note->ended_id[0] = record == NULL ? 0 : record->id[0];
    note->ended_id[1] = record == NULL ? 0 : record->id[1];
    atomic_store_explicit(&note->ended_request, request, memory_order_release);
    FAULT_STEP(hold_end_noted);
}

bool
hold_was_noted(const struct client *client, uint64_t request, uint32_t *ret_number, granary_id *ret_id)
{
    const struct gr_client_record *note = client->record;

    if (request == 0 || atomic_load_explicit(&note->ended_request, memory_order_relaxed) != request) {
        return false;
    }
    *ret_number = note->ended_token == 0 ? 0 : ledger_find_token(&client->session->ledger, note->ended_token);
    *ret_id = gr_id_from_words(note->ended_id[0], note->ended_id[1]);
    return true;
}

/* A request, sent again: what it was to end ends, if it has not. */
static void
end_noted(struct session *session, enum gr_ledger_kind kind, uint32_t number)
{
    if (number != 0 && record_kind(ledger_record(&session->ledger, number)) == kind) {
        end_record(session, number);
    }
}

static granary_err
end_by_token(struct client *client, enum gr_ledger_kind kind, uint64_t token, uint64_t request)
{
    struct ledger *ledger = &client->session->ledger;
    uint32_t number = ledger_find_token(ledger, token);
    const struct gr_ledger_record *record = number == 0 ? NULL : ledger_record(ledger, number);
    const char *what = kind == GR_LEDGER_PIN ? "pin" : "reference";

    if (record == NULL || record_kind(record) != kind || (record->flags & GR_LEDGER_CREATOR) != 0) {
        return gr_fail(GRANARY_ENOENT, "%s %llu: there is none", what, (unsigned long long)token);
    }
    if (record->scope == 0 && record->client != client->number) {
        return gr_fail(GRANARY_EPERM, "%s %llu: belongs to client %u, and ends with it", what,
                       (unsigned long long)token, record->client);
    }
    hold_note_end(client, request, number);
    end_record(client->session, number);
    return GRANARY_OK;
}

static bool
is_meant(const struct client *client, const struct gr_ledger_record *record, enum gr_ledger_kind kind,
         const struct gr_hold *hold)
{
    return record_kind(record) == kind && record->scope == hold->scope &&
           (record->scope != 0 || record->client == client->number) && (record->flags & GR_LEDGER_CREATOR) == 0 &&
           (kind == GR_LEDGER_PIN || strncmp(record->text, hold->text, sizeof record->text) == 0);
}

static granary_err
end_hold(struct client *client, enum gr_ledger_kind kind, const struct gr_hold *hold)
{
    struct ledger *ledger = &client->session->ledger;
    char text[GRANARY_ID_TEXT + 1];
    uint32_t number;
    granary_id id;

    if (hold_was_noted(client, hold->request, &number, &id)) {
        end_noted(client->session, kind, number);
        return GRANARY_OK;
    }
    if (hold->token != 0) {
        return end_by_token(client, kind, hold->token, hold->request);
    }
    for (uint32_t at = ledger_first_of(ledger, id_in(hold)); at != 0; at = ledger_note(ledger, at)->id_next) {
        if (is_meant(client, ledger_record(ledger, at), kind, hold)) {
            hold_note_end(client, hold->request, at);
            end_record(client->session, at);
            return GRANARY_OK;
        }
    }
    if (index_find(&client->session->index, id_in(hold)) == NULL) {
        return object_not_found(id_in(hold));
    }
    granary_id_format(id_in(hold), text);
    return gr_fail(GRANARY_ENOENT, "object %s: no %s of this %s", text, kind == GR_LEDGER_PIN ? "pin" : "reference",
                   hold->scope == 0        ? "client"
                   : kind == GR_LEDGER_PIN ? "scope"
                                           : "owner");
}

granary_err
hold_unpin(struct client *client, const struct gr_hold *hold)
{
    return end_hold(client, GR_LEDGER_PIN, hold);
}

granary_err
hold_unreference(struct client *client, const struct gr_hold *hold)
{
    return end_hold(client, GR_LEDGER_REFERENCE, hold);
}

granary_err
hold_lease(struct client *client, granary_id id, uint64_t serial, uint64_t request)
{
    struct session *session = client->session;
    struct gr_slot *slot = index_find(&session->index, id);
    struct gr_ledger_record fields = fields_of(client, id, request);
    struct map_entry *total;
    uint32_t number;
    granary_err err = find_done(client, GR_LEDGER_LEASE, id, request, &number);

    if (err != GRANARY_OK || number != 0) {
        return err;
    }
    if (counted_has_ended(client, request)) {
        return gr_fail(GRANARY_ESTATE, "its client waits for the lease no longer");
    }
    if (slot == NULL || slot_word(slot) != GR_WORD(serial, GR_SLOT_SEALED)) {
        return gr_fail(GRANARY_ESTATE, "the object is not in memory any more under that serial");
    }
    total = map_add(&session->leases, map_key_number(serial));
    if (total == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to lease an object");
    }
    fields.other[0] = serial;
    err = ledger_add(&session->ledger, GR_LEDGER_LEASE, &fields, &number);
    if (err == GRANARY_OK) {
        total->value.numbers[0]++;
        session->store->holds->counted = true;
    } else if (total->value.numbers[0] == 0) {
        map_remove(&session->leases, total);
    }
    return err;
}

granary_err
hold_unlease(struct client *client, uint64_t request)
{
    struct ledger *ledger = &client->session->ledger;
    uint32_t number = request == 0 ? 0 : ledger_find_request(ledger, client->number, request);

    if (number == 0 || record_kind(ledger_record(ledger, number)) != GR_LEDGER_LEASE) {
        return gr_fail(GRANARY_ENOENT, "no such lease");
    }
    end_record(client->session, number);
    return GRANARY_OK;
}

granary_err
hold_creator(struct client *client, granary_id id)
{
    struct gr_ledger_record fields = fields_of(client, id, 0);
    uint32_t number;

    fields.flags = GR_LEDGER_CREATOR;
    return ledger_add(&client->session->ledger, GR_LEDGER_REFERENCE, &fields, &number);
}

void
hold_creator_undo(struct session *session, granary_id id)
{
    uint32_t creator = ledger_creator(&session->ledger, id);

    if (creator != 0) {
        ledger_remove(&session->ledger, creator);
    }
}

void
hold_note_keeper(struct session *session, granary_id id)
{
    hold_creator_undo(session, id);
}

void
hold_forget_keeper(struct session *session, granary_id id)
{
    struct gr_slot *slot;
    uint64_t flags;

    if (ledger_keepers(&session->ledger, id) != 0 || (slot = index_find(&session->index, id)) == NULL) {
        return;
    }
    flags = slot_flags(slot);
    if ((flags & GR_FLAG_DROPPED) != 0 ||
        ((flags & GR_FLAG_COUNTED) != 0 && ledger_creator(&session->ledger, id) == 0)) {
        object_end(session, slot);
    }
}

void
hold_object_ends(struct session *session, granary_id id)
{
    struct ledger *ledger = &session->ledger;
    uint32_t next;

    if (ledger->count == 0) {
        return;
    }
    for (uint32_t at = ledger_first_of(ledger, id); at != 0; at = next) {
        enum gr_ledger_kind kind = record_kind(ledger_record(ledger, at));

        next = ledger_note(ledger, at)->id_next;
        if (kind == GR_LEDGER_PIN || kind == GR_LEDGER_REFERENCE) {
            ledger_remove(ledger, at);
        }
    }
}

static int
by_token(const void *a, const void *b)
{
    uint64_t left = record_token(a);
    uint64_t right = record_token(b);

    return left < right ? -1 : left > right;
}

static void
copy_record(struct gr_ledger_record *to, const struct gr_ledger_record *from)
{
    memcpy((void *)to, (const void *)from, sizeof *to);
}

/* All records about an id behind a token; the first `most` of them by token. */
static size_t
list_of(const struct ledger *ledger, granary_id id, uint64_t after, struct gr_ledger_record *records, size_t most)
{
    size_t count = 0;

    for (uint32_t at = ledger_first_of(ledger, id); at != 0; at = ledger_note(ledger, at)->id_next) {
        const struct gr_ledger_record *record = ledger_record(ledger, at);

        if (record_token(record) <= after) {
            continue;
        }
        if (count < most) {
            copy_record(&records[count++], record);
            if (count == most) {
                qsort(records, count, sizeof *records, by_token);
            }
        } else if (record_token(record) < record_token(&records[most - 1])) {
            /* Full and in order: it takes the place of the last. */
            size_t to = most - 1;

            for (; to > 0 && record_token(&records[to - 1]) > record_token(record); to--) {
                copy_record(&records[to], &records[to - 1]);
            }
            copy_record(&records[to], record);
        }
    }
    if (count < most) {
        qsort(records, count, sizeof *records, by_token);
    }
    return count;
}

size_t
hold_list(const struct session *session, granary_id id, uint64_t after, struct gr_ledger_record *ret_records,
          size_t most)
{
    const struct ledger *ledger = &session->ledger;
    size_t count = 0;

    if (!gr_id_is_zero(id)) {
        return list_of(ledger, id, after, ret_records, most);
    }
    for (uint32_t at = ledger_after(ledger, after); at != 0 && count < most; count++) {
        copy_record(&ret_records[count], ledger_record(ledger, at));
        at = ledger_after(ledger, record_token(&ret_records[count]));
    }
    return count;
}

/* True: there is more. */
static bool
session_turn(struct session *session)
{
    unsigned left = SLICE;

    while (left > 0 && session->ledger.departed != 0) {
        end_record(session, session->ledger.departed);
        left--;
    }
    return contain_turn(session, left) || session->ledger.departed != 0;
}

void
hold_client_gone(struct client *client)
{
    ledger_depart(&client->session->ledger, client->number);
    contain_client_gone(client->session, client->number);
    /* Few records end here and now; the rest does not keep anybody waiting. */
    client->store->holds->end = session_turn(client->session) || client->store->holds->end;
}

bool
hold_turn(struct store *store, int64_t now_ns)
{
    (void)now_ns;
    if (!store->holds->end) {
        return false;
    }
    store->holds->end = false;
    list_each (struct session, session, &store->sessions.all, in_store) {
        if (session_turn(session)) {
            store->holds->end = true;
        }
    }
    return store->holds->end;
}

/* Count what a record that was found says. Errors: ENOENT it says nothing any more · ENOMEM */
static granary_err
adopt_record(struct session *session, uint32_t number, bool (*lives)(const struct store *store, uint32_t client))
{
    const struct gr_ledger_record *record = ledger_record(&session->ledger, number);
    enum gr_ledger_kind kind = record_kind(record);
    struct gr_slot *slot = index_find(&session->index, id_of(record));
    bool mine = (record->scope != 0 && kind != GR_LEDGER_LEASE) || lives(session->store, record->client);
    struct map_entry *total;

    switch (kind) {
    case GR_LEDGER_PIN:
        if (slot == NULL || !mine || GR_FLAGS_PINS(slot_flags(slot)) == GR_MAX_PINS) {
            return GRANARY_ENOENT;
        }
        object_note_pin(session, slot);
        return GRANARY_OK;
    case GR_LEDGER_REFERENCE:
        return slot != NULL && mine ? GRANARY_OK : GRANARY_ENOENT;
    case GR_LEDGER_LEASE:
        if (!mine || index_find_serial(&session->index, id_of(record), record->other[0]) == NULL) {
            return GRANARY_ENOENT;
        }
        if ((total = map_add(&session->leases, map_key_number(record->other[0]))) == NULL) {
            return gr_fail(GRANARY_ENOMEM, "no memory for the leases of a session");
        }
        total->value.numbers[0]++;
        session->store->holds->counted = true;
        return GRANARY_OK;
    case GR_LEDGER_NAME:
        return slot != NULL && name_adopt(session, number) ? GRANARY_OK : GRANARY_ENOENT;
    default:
        return slot != NULL ? contain_adopt(session, number) : GRANARY_ENOENT;
    }
}

/* What a store that died did not get to: objects that nobody keeps any more end. */
static void
adopt_slots(struct session *session)
{
    uint64_t position = 0;
    struct gr_slot *slot;

    while ((slot = index_next(&session->index, &position)) != NULL) {
        uint64_t flags = slot_flags(slot);
        granary_id id = slot_object(slot).id;

        if ((1u << slot_state(slot) & INDEX_PRESENT) == 0) {
            continue;
        }
        if ((flags & (GR_FLAG_DROPPED | GR_FLAG_COUNTED)) != 0) {
            hold_forget_keeper(session, id);
        }
    }
}

granary_err
hold_adopt(struct session *session, bool (*lives)(const struct store *store, uint32_t client))
{
    uint32_t position = 0;
    uint32_t number;

    while ((number = ledger_next(&session->ledger, &position)) != 0) {
        granary_err err = adopt_record(session, number, lives);

        if (err == GRANARY_ENOENT) {
            ledger_remove(&session->ledger, number);
        } else if (err != GRANARY_OK) {
            return err;
        }
    }
    contain_adopted(session, lives);
    if (alias_adopt(session) != GRANARY_OK) {
        gr_log_warn("ALIASES-UNLED", "session=%s why=%s", session->name, granary_error_message());
    }
    adopt_slots(session);
    return GRANARY_OK;
}
