/* Names: bound and unbound by records of the ledger, compared before they are swapped. */
#include "store/object/name.h"

#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "store/core/events.h"
#include "store/object/hold.h"
#include "store/object/object.h"

static struct tree_links *
links_by_name(const void *context, uint32_t node)
{
    return &ledger_note(context, node)->by_name;
}

static int
compare_names(const void *context, const void *key, uint32_t node)
{
    return strncmp(key, ledger_record(context, node)->text, GR_LEDGER_TEXT);
}

const struct tree_kind name_order = {links_by_name, compare_names};

static granary_id
bound_to(const struct session *session, uint32_t number)
{
    const struct gr_ledger_record *record;

    if (number == 0) {
        return (granary_id){{0}};
    }
    record = ledger_record(&session->ledger, number);
    return gr_id_from_words(record->id[0], record->id[1]);
}

static granary_err
check_name(const char name[GR_LEDGER_TEXT])
{
    return name[0] == '\0' ? gr_fail(GRANARY_EINVAL, "name: it is empty") : hold_check_text(name, "name");
}

static granary_err
check_expected(const struct gr_name *request, uint32_t bound, granary_id now)
{
    switch (request->expect) {
    case GR_NAME_ANY:
        return GRANARY_OK;
    case GR_NAME_NEW:
        return bound == 0 ? GRANARY_OK : gr_fail(GRANARY_EEXIST, "name '%s': is bound already", request->name);
    case GR_NAME_ID:
        return bound != 0 && memcmp(now.bytes, request->expected, sizeof now.bytes) == 0
                   ? GRANARY_OK
                   : gr_fail(GRANARY_ESTATE, "name '%s': is bound to another object, or to none", request->name);
    default:
        return gr_fail(GRANARY_EINVAL, "name '%s': no such expectation: %u", request->name, request->expect);
    }
}

/* The record of a name ends; the object it named may. */
static void
unbind(struct session *session, uint32_t number)
{
    granary_id id = bound_to(session, number);

    tree_remove(&session->names, ledger_record(&session->ledger, number)->text);
    ledger_remove(&session->ledger, number);
    hold_forget_keeper(session, id);
}

/* The new record first: whoever looks after a crash finds both, and the higher token counts. */
static granary_err
bind(struct client *client, const struct gr_name *request, granary_id id, uint32_t bound)
{
    struct session *session = client->session;
    granary_id previous = bound_to(session, bound);
    struct gr_ledger_record fields = {
        .client = client->number, .pid = (uint32_t)client->pid, .scope = 1, .request = request->request};
    uint32_t number;
    granary_err err;

    gr_id_words(id, fields.id);
    gr_id_words(previous, fields.other);
    memcpy(fields.text, request->name, sizeof fields.text);
    err = ledger_add(&session->ledger, GR_LEDGER_NAME, &fields, &number);
    if (err != GRANARY_OK) {
        return err;
    }
    hold_note_keeper(session, id);
    if (bound != 0) {
        unbind(session, bound);
    }
    tree_insert(&session->names, fields.text, number);
    event_note(session->store, session, GR_EVENT_NAME, &id, record_token(ledger_record(&session->ledger, number)), 0,
               client->number);
    return GRANARY_OK;
}

/* Whether the client sent this request before, and what the answer was; what it had not got to is done. */
static bool
was_done(struct client *client, const struct gr_name *request, granary_id *ret_previous)
{
    const struct ledger *ledger = &client->session->ledger;
    uint32_t done = ledger_find_request(ledger, client->number, request->request);
    const struct gr_ledger_record *record = done == 0 ? NULL : ledger_record(ledger, done);
    uint32_t number;

    if (hold_was_noted(client, request->request, &number, ret_previous)) {
        if (number != 0 && record_kind(ledger_record(ledger, number)) == GR_LEDGER_NAME) {
            unbind(client->session, number);
        }
        return true;
    }
    if (record == NULL || record_kind(record) != GR_LEDGER_NAME ||
        strncmp(record->text, request->name, sizeof record->text) != 0) {
        return false;
    }
    *ret_previous = gr_id_from_words(record->other[0], record->other[1]);
    return true;
}

granary_err
name_set(struct client *client, const struct gr_name *request, granary_id *ret_previous)
{
    struct session *session = client->session;
    granary_err err = check_name(request->name);
    granary_id id, now;
    uint32_t bound;

    if (err != GRANARY_OK) {
        return err;
    }
    if (request->request == 0) {
        return gr_fail(GRANARY_EINVAL, "name '%s': the request has no number", request->name);
    }
    if (was_done(client, request, ret_previous)) {
        return GRANARY_OK;
    }
    if (ledger_find_request(&session->ledger, client->number, request->request) != 0) {
        return gr_fail(GRANARY_EINVAL, "request %llu is the number of another one",
                       (unsigned long long)request->request);
    }
    bound = tree_find(&session->names, request->name);
    now = bound_to(session, bound);
    err = check_expected(request, bound, now);
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(id.bytes, request->id, sizeof id.bytes);
    if (!gr_id_is_zero(id)) {
        if (index_find(&session->index, id) == NULL) {
            return object_not_found(id);
        }
        err = bind(client, request, id, bound);
        if (err == GRANARY_OK) {
            session_touch(session, gr_id_of_name(request->name));
        }
    } else {
        hold_note_end(client, request->request, bound);
        if (bound != 0) {
            unbind(session, bound);
        }
    }
    if (err == GRANARY_OK) {
        *ret_previous = now;
    }
    return err;
}

granary_err
name_get(const struct session *session, const char name[GR_LEDGER_TEXT], granary_id *ret_id)
{
    granary_err err = check_name(name);
    uint32_t bound;

    if (err != GRANARY_OK) {
        return err;
    }
    bound = tree_find(&session->names, name);
    if (bound == 0) {
        return gr_fail(GRANARY_ENOENT, "name '%s': not found: `granary names` lists them", name);
    }
    *ret_id = bound_to(session, bound);
    return GRANARY_OK;
}

size_t
name_list(const struct session *session, const char after[GR_LEDGER_TEXT], struct gr_name *ret_names, size_t most)
{
    const char *name = after;
    size_t count = 0;

    while (count < most) {
        uint32_t number = tree_after(&session->names, name);
        granary_id id;

        if (number == 0) {
            break;
        }
        id = bound_to(session, number);
        name = ledger_record(&session->ledger, number)->text;
        ret_names[count] = (struct gr_name){.expect = GR_NAME_ANY};
        memcpy(ret_names[count].id, id.bytes, sizeof id.bytes);
        memcpy(ret_names[count].name, name, sizeof ret_names[count].name);
        count++;
    }
    return count;
}

bool
name_adopt(struct session *session, uint32_t number)
{
    const char *name = ledger_record(&session->ledger, number)->text;
    uint32_t other = tree_find(&session->names, name);

    if (other != 0) {
        if (record_token(ledger_record(&session->ledger, other)) >
            record_token(ledger_record(&session->ledger, number))) {
            return false;
        }
        tree_remove(&session->names, name);
        ledger_remove(&session->ledger, other);
    }
    tree_insert(&session->names, name, number);
    return true;
}
