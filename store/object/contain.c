/* Families of contained objects, and their ends in slices without recursion. */
#include "store/object/contain.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "store/object/hold.h"
#include "store/object/object.h"

struct family {
    struct list in_queue; /* session->families_pending, _settling or _ending */
    granary_id parent;
    uint32_t client; /* while it is prepared */
    uint32_t first;  /* of its records, newest first */
    uint32_t count;
    uint32_t settle; /* the next record that is to be CONTAINS */
    bool sealed;
    /* contain_find(): */
    uint64_t walk; /* the last that came here */
    uint32_t at;   /* the record it looks at next */
    struct family *above;
};

static struct family *
family_find(const struct session *session, granary_id parent)
{
    struct map_entry *entry = map_find(&session->families, map_key_id(parent));

    return entry == NULL ? NULL : entry->value.pointer;
}

static struct family *
family_create(struct session *session, granary_id parent, uint32_t client)
{
    struct family *family = calloc(1, sizeof *family);
    struct map_entry *entry = family == NULL ? NULL : map_add(&session->families, map_key_id(parent));

    if (entry == NULL) {
        free(family);
        return NULL;
    }
    family->parent = parent;
    family->client = client;
    list_init(&family->in_queue);
    list_append(&session->families_pending, &family->in_queue);
    entry->value.pointer = family;
    return family;
}

static void
family_join(struct session *session, struct family *family, uint32_t number)
{
    struct ledger_note *note = ledger_note(&session->ledger, number);

    note->of_parent.next = family->first;
    note->of_parent.prev = 0;
    if (family->first != 0) {
        ledger_note(&session->ledger, family->first)->of_parent.prev = number;
    }
    family->first = number;
    family->count++;
}

static granary_id
child_of(const struct session *session, uint32_t number)
{
    const struct gr_ledger_record *record = ledger_record(&session->ledger, number);

    return gr_id_from_words(record->id[0], record->id[1]);
}

/* The newest record of a family ends. */
static void
family_pop(struct session *session, struct family *family)
{
    uint32_t number = family->first;
    granary_id child = child_of(session, number);

    family->first = ledger_note(&session->ledger, number)->of_parent.next;
    family->count--;
    ledger_remove(&session->ledger, number);
    hold_forget_keeper(session, child);
}

/* The object that an id of the request means. */
static granary_id
id_at(const struct session *session, const unsigned char *ids, uint32_t at)
{
    granary_id id;

    memcpy(id.bytes, ids + (size_t)at * sizeof id.bytes, sizeof id.bytes);
    return index_resolve(&session->index, id);
}

static granary_err
check_children(const struct session *session, granary_id parent, const unsigned char *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        granary_id child = id_at(session, ids, i);

        if (gr_id_equal(child, parent)) {
            return gr_fail(GRANARY_EINVAL, "an object cannot contain itself");
        }
        if (index_find(&session->index, child) == NULL) {
            return object_not_found(child);
        }
    }
    return GRANARY_OK;
}

static granary_err
add_children(struct client *client, struct family *family, const unsigned char *ids, uint32_t count)
{
    struct session *session = client->session;
    struct gr_ledger_record fields = {.client = client->number, .pid = (uint32_t)client->pid};
    uint32_t before = family->count;

    gr_id_words(family->parent, fields.other);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number;
        granary_err err;

        gr_id_words(id_at(session, ids, i), fields.id);
        err = ledger_add(&session->ledger, GR_LEDGER_PENDING, &fields, &number);
        if (err != GRANARY_OK) {
            while (family->count > before) {
                family_pop(session, family);
            }
            return err;
        }
        family_join(session, family, number);
    }
    return GRANARY_OK;
}

granary_err
contain_add(struct client *client, granary_id parent, uint32_t first, const unsigned char *ids, uint32_t count)
{
    struct session *session = client->session;
    struct family *family = family_find(session, parent);
    uint32_t noted = family == NULL ? 0 : family->count;
    uint32_t done;
    granary_err err;

    if (gr_id_is_zero(parent)) {
        return gr_fail(GRANARY_EINVAL, "object id: all zero names no object");
    }
    if (index_find(&session->index, parent) != NULL || index_find_alias(&session->index, parent) != NULL) {
        return gr_fail(GRANARY_EEXIST, "the object that is to contain others exists already");
    }
    if (family != NULL && family->client != client->number) {
        return gr_fail(GRANARY_EBUSY, "the object that is to contain others is being made by client %u",
                       family->client);
    }
    if (noted < first || noted - first > count) {
        return gr_fail(GRANARY_EINVAL, "%u contained objects were noted, not %u", noted, first);
    }
    done = noted - first;
    ids += (size_t)done * sizeof parent.bytes;
    count -= done;
    err = check_children(session, parent, ids, count);
    if (err != GRANARY_OK || count == 0) {
        return err;
    }
    if (family == NULL && (family = family_create(session, parent, client->number)) == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for an object that contains others");
    }
    err = add_children(client, family, ids, count);
    if (family->count == 0) {
        contain_end(session, contain_leave(session, parent));
    }
    return err;
}

void
contain_forget(struct client *client, granary_id parent)
{
    if (contain_pending(client, parent) != NULL) {
        contain_end(client->session, contain_leave(client->session, parent));
    }
}

struct family *
contain_pending(const struct client *client, granary_id parent)
{
    struct family *family = family_find(client->session, parent);

    return family != NULL && !family->sealed && family->client == client->number ? family : NULL;
}

void
contain_sealed(struct session *session, struct family *family)
{
    family->sealed = true;
    family->client = 0;
    family->settle = family->first;
    list_append(&session->families_settling, &family->in_queue);
    session->store->holds->end = true;
}

/* Go on with a family, and then with the one above. One that the walk has been in is not walked again. */
static struct family *
walk_into(struct family *family, struct family *above, uint64_t walk)
{
    if (family == NULL || family->walk == walk) {
        return above;
    }
    family->walk = walk;
    family->at = family->first;
    family->above = above;
    return family;
}

bool
contain_find(struct session *session, granary_id parent, bool (*wanted)(const struct gr_slot *slot), granary_id *ret_id)
{
    uint64_t walk = ++session->families_walks;
    struct family *family = walk_into(family_find(session, parent), NULL, walk);

    while (family != NULL) {
        const struct gr_slot *slot;
        granary_id child;

        if (family->at == 0) {
            family = family->above;
            continue;
        }
        child = child_of(session, family->at);
        family->at = ledger_note(&session->ledger, family->at)->of_parent.next;
        slot = index_find(&session->index, child);
        if (slot != NULL && wanted(slot)) {
            *ret_id = child;
            return true;
        }
        if (slot != NULL && (slot_flags(slot) & GR_FLAG_PARENT) != 0) {
            family = walk_into(family_find(session, child), family, walk);
        }
    }
    return false;
}

struct family *
contain_leave(struct session *session, granary_id parent)
{
    struct map_entry *entry = map_find(&session->families, map_key_id(parent));
    struct family *family = entry == NULL ? NULL : entry->value.pointer;

    if (entry != NULL) {
        map_remove(&session->families, entry);
        list_remove(&family->in_queue);
    }
    return family;
}

void
contain_end(struct session *session, struct family *family)
{
    if (family != NULL) {
        list_append(&session->families_ending, &family->in_queue);
        session->store->holds->end = true;
    }
}

void
contain_client_gone(struct session *session, uint32_t client)
{
    list_each (struct family, family, &session->families_pending, in_queue) {
        if (family->client == client) {
            contain_end(session, contain_leave(session, family->parent));
        }
    }
}

/* What counts as CONTAINS already is written so. Returns what is left of `most`. */
static unsigned
settle(struct session *session, unsigned most)
{
    while (most > 0 && !list_empty(&session->families_settling)) {
        struct family *family = list_owner(session->families_settling.next, struct family, in_queue);

        for (; most > 0 && family->settle != 0; most--) {
            uint32_t number = family->settle;

            family->settle = ledger_note(&session->ledger, number)->of_parent.next;
            ledger_settle(&session->ledger, number);
            hold_note_keeper(session, child_of(session, number));
        }
        if (family->settle == 0) {
            list_remove(&family->in_queue);
        }
    }
    return most;
}

bool
contain_turn(struct session *session, unsigned most)
{
    most = settle(session, most);
    while (most > 0 && !list_empty(&session->families_ending)) {
        struct family *family = list_owner(session->families_ending.next, struct family, in_queue);

        for (; most > 0 && family->count > 0; most--) {
            family_pop(session, family);
        }
        if (family->count == 0) {
            list_remove(&family->in_queue);
            free(family);
        }
    }
    return !list_empty(&session->families_settling) || !list_empty(&session->families_ending);
}

granary_err
contain_adopt(struct session *session, uint32_t number)
{
    const struct gr_ledger_record *record = ledger_record(&session->ledger, number);
    granary_id parent = gr_id_from_words(record->other[0], record->other[1]);
    struct family *family = family_find(session, parent);

    if (family == NULL) {
        family = family_create(session, parent, 0);
    }
    if (family == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for what objects contain");
    }
    if (record_kind(record) == GR_LEDGER_PENDING) {
        family->client = record->client;
    }
    family_join(session, family, number);
    return GRANARY_OK;
}

/* The deleted object of that id that is still leased, and whose family nobody has, or NULL. */
static struct deleting *
deleting_of(const struct session *session, granary_id id)
{
    for (size_t i = 0; i < session->deleting_count; i++) {
        if (session->deleting[i].family == NULL && gr_id_equal(session->deleting[i].id, id)) {
            return &session->deleting[i];
        }
    }
    return NULL;
}

void
contain_adopted(struct session *session, bool (*lives)(const struct store *store, uint32_t client))
{
    list_each (struct family, family, &session->families_pending, in_queue) {
        struct gr_slot *slot = index_find(&session->index, family->parent);
        struct deleting *deleting = deleting_of(session, family->parent);

        if (slot != NULL && (slot_flags(slot) & GR_FLAG_PARENT) != 0) {
            contain_sealed(session, family);
        } else if (deleting != NULL) {
            deleting->family = contain_leave(session, family->parent);
        } else if (family->client == 0 || !lives(session->store, family->client)) {
            contain_end(session, contain_leave(session, family->parent));
        }
    }
}

void
contain_fini(struct session *session)
{
    struct list *queues[] = {&session->families_pending, &session->families_settling, &session->families_ending};
    struct map_entry *entry;
    size_t position = 0;

    /* Sealed families are in no queue; those that end are in no map. */
    while ((entry = map_next(&session->families, &position)) != NULL) {
        struct family *family = entry->value.pointer;

        list_remove(&family->in_queue);
        free(family);
    }
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        list_each (struct family, family, queues[i], in_queue) {
            free(family);
        }
        list_init(queues[i]);
    }
    map_free(&session->families);
}
