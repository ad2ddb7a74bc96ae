/* Aliases: those that lead to an id are found by the ledger, and led on when it becomes one itself. */
#include "store/object/alias.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "store/object/object.h"

/* That lead to one id: when it becomes an alias itself, all of them are led on in one go. */
#define ALIASES_MOST 4096u

/* The aliases of one id. */
struct aliases {
    size_t count;
    size_t room;
    granary_id ids[];
};

/* Room for so many more aliases of an id, or NULL. */
static struct aliases *
aliases_expect(struct session *session, granary_id target, size_t more)
{
    struct map_entry *entry = map_add(&session->aliases, map_key_id(target));
    struct aliases *aliases = entry == NULL ? NULL : entry->value.pointer;
    size_t count = aliases == NULL ? 0 : aliases->count;
    size_t room = aliases == NULL || aliases->room == 0 ? 1 : aliases->room;
    struct aliases *larger;

    if (entry == NULL || (aliases != NULL && count + more <= aliases->room)) {
        return aliases;
    }
    while (room < count + more) {
        room *= 2;
    }
    larger = realloc(aliases, sizeof *larger + room * sizeof larger->ids[0]);
    if (larger == NULL) {
        if (aliases == NULL) {
            map_remove(&session->aliases, entry);
        }
        return NULL;
    }
    larger->count = count;
    larger->room = room;
    entry->value.pointer = larger;
    return larger;
}

/* Forget the list of an id if nothing leads there. */
static void
aliases_settle(struct session *session, granary_id target)
{
    struct map_entry *entry = map_find(&session->aliases, map_key_id(target));
    struct aliases *aliases = entry == NULL ? NULL : entry->value.pointer;

    if (aliases != NULL && aliases->count == 0) {
        map_remove(&session->aliases, entry);
        free(aliases);
    }
}

static struct aliases *
aliases_of(const struct session *session, granary_id target)
{
    struct map_entry *entry = map_find(&session->aliases, map_key_id(target));

    return entry == NULL ? NULL : entry->value.pointer;
}

/*
 * What leads to `from`, which is an alias now, leads to `to`; there is room for all of it. What cannot be led on leads
 * over `from`, as readers know how to follow.
 */
static granary_err
lead_on(struct session *session, granary_id from, granary_id to)
{
    struct aliases *before = aliases_of(session, from);
    struct aliases *after = aliases_of(session, to);
    granary_err err = GRANARY_OK;

    while (before != NULL && before->count > 0 && err == GRANARY_OK) {
        granary_id alias = before->ids[before->count - 1];

        err = index_repoint_alias(&session->index, alias, to, root_serial(&session->store->root));
        if (err == GRANARY_OK) {
            before->count--;
            after->ids[after->count++] = alias;
        }
    }
    aliases_settle(session, from);
    return err;
}

granary_err
alias_add(struct session *session, granary_id alias, granary_id target)
{
    struct store *store = session->store;
    granary_id last = index_resolve(&session->index, target);
    struct gr_slot *slot = index_find_alias(&session->index, alias);
    struct aliases *pending = aliases_of(session, alias);
    size_t more = 1 + (pending == NULL ? 0 : pending->count);
    struct aliases *aliases = aliases_of(session, last);
    granary_err err;

    if (gr_id_is_zero(alias) || gr_id_is_zero(target)) {
        return gr_fail(GRANARY_EINVAL, "object id: all zero names no object");
    }
    if (slot != NULL && gr_id_equal(index_alias_target(slot), last)) {
        return GRANARY_OK;
    }
    if (slot != NULL || index_find(&session->index, alias) != NULL) {
        return gr_fail(GRANARY_EEXIST, "the alias exists already, as an object or as an alias of another");
    }
    if (gr_id_equal(last, alias)) {
        return gr_fail(GRANARY_EINVAL, "the alias would stand for itself");
    }
    if (more + (aliases == NULL ? 0 : aliases->count) > ALIASES_MOST) {
        return gr_fail(GRANARY_EFULL, "%u aliases lead to one object at most: let the alias lead to a copy of it",
                       ALIASES_MOST);
    }
    aliases = aliases_expect(session, last, more);
    if (aliases == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for one more alias");
    }
    err = index_insert_alias(&session->index, alias, last, root_serial(&store->root),
                             root_stamp(&store->root, gr_wall_ms()), &slot);
    if (err == GRANARY_OK) {
        aliases->ids[aliases->count++] = alias;
        (void)lead_on(session, alias, last);
        /* Whoever waits for it, or over it, looks again and then waits for the last. */
        session_touch(session, alias);
        store_flush_touched(store);
    }
    aliases_settle(session, last);
    return err;
}

bool
alias_remove(struct session *session, granary_id alias)
{
    struct gr_slot *slot = index_find_alias(&session->index, alias);
    struct aliases *aliases;
    granary_id target;

    if (slot == NULL) {
        return false;
    }
    target = index_alias_target(slot);
    index_remove(&session->index, slot);
    aliases = aliases_of(session, target);
    for (size_t i = 0; aliases != NULL && i < aliases->count; i++) {
        if (gr_id_equal(aliases->ids[i], alias)) {
            aliases->ids[i] = aliases->ids[--aliases->count];
            break;
        }
    }
    aliases_settle(session, target);
    return true;
}

granary_err
alias_adopt(struct session *session)
{
    struct index *index = &session->index;
    uint64_t position = 0;
    struct gr_slot *slot;
    struct map_entry *entry;
    size_t place = 0;
    granary_err err = GRANARY_OK;

    while ((slot = index_next(index, &position)) != NULL) {
        struct aliases *aliases;

        if (GR_WORD_STATE(slot_word(slot)) != GR_SLOT_ALIAS) {
            continue;
        }
        aliases = aliases_expect(session, index_alias_target(slot), 1);
        if (aliases == NULL) {
            return gr_fail(GRANARY_ENOMEM, "no memory for the aliases of a session");
        }
        aliases->ids[aliases->count++] = slot_object(slot).id;
    }
    /* A store that died while it led aliases on has left chains. */
    while (err == GRANARY_OK && (entry = map_next(&session->aliases, &place)) != NULL) {
        granary_id target = gr_id_from_words(entry->key.words[0], entry->key.words[1]);
        granary_id last = index_resolve(index, target);
        struct aliases *aliases = entry->value.pointer;

        if (!gr_id_equal(target, last)) {
            err = aliases_expect(session, last, aliases->count) == NULL
                      ? gr_fail(GRANARY_ENOMEM, "no memory for the aliases of a session")
                      : lead_on(session, target, last);
            place = 0; /* the map has changed */
        }
    }
    return err;
}

void
alias_fini(struct session *session)
{
    struct map_entry *entry;
    size_t position = 0;

    while ((entry = map_next(&session->aliases, &position)) != NULL) {
        free(entry->value.pointer);
    }
    map_free(&session->aliases);
}
