/* See recalls.h. Worth: time saved for a byte, halved with each hour that nobody asked (as caches of results weigh it). */
#include "sched/recall/recalls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/log.h"
#include "sched/core/actions.h"
#include "sched/core/pack.h"

enum {
    ENTRIES_MAX = 1024,
    MEMORY_PART = 8, /* of the store's memory, for objects that are entries' own */
    ENTRY_PART = 4,  /* of that, for one */
};
#define MEMORY_UNKNOWN ((uint64_t)256 << 20)
#define OBJECT_COST    4096.0 /* bytes that an object takes beside its own */
#define HALF_LIFE_NS   3.6e12

void
recalls_init(struct recalls *recalls)
{
    TAILQ_INIT(&recalls->list);
}

static size_t
place_of(granary_id key)
{
    uint64_t words[2];

    gr_id_words(key, words);
    return (size_t)(words[0] % RECALLS_PLACES);
}

static void
recalled_destroy(struct recalled *recalled)
{
    for (size_t i = 0; i < recalled->count; i++) {
        recalled->recalls->keys_at[place_of(recalled->targets[i].key)]--;
        free(recalled->targets[i].name);
        free(recalled->targets[i].packed);
        for (size_t c = 0; c < recalled->targets[i].column_count; c++) {
            free(recalled->targets[i].columns[c]);
        }
        free(recalled->targets[i].columns);
    }
    free(recalled->targets);
    free(recalled->view);
    free(recalled->ids);
    free(recalled->session);
    free(recalled->id_key);
    free(recalled);
}

void
recalls_remove(struct recalls *recalls, struct recalled *recalled)
{
    TAILQ_REMOVE(&recalls->list, recalled, link);
    recalls->count--;
    recalls->parts -= recalled->part > 0;
    recalls->owned_bytes -= recalled->owned && !recalled->saved ? recalled->bytes : 0;
    recalls->unwritten = recalls->unwritten || recalled->saved;
    recalled_destroy(recalled);
}

void
recalls_fini(struct recalls *recalls)
{
    while (!TAILQ_EMPTY(&recalls->list)) {
        recalls_remove(recalls, TAILQ_FIRST(&recalls->list));
    }
    recall_memory_destroy(recalls->memory);
}

/* ---- finding ---- */

struct recalled *
recalls_find(const struct recalls *recalls, const char *session, granary_id key,
             const struct recalled_target **ret_target)
{
    struct recalled *recalled;

    if (recalls->off || recalls->keys_at[place_of(key)] == 0) {
        return NULL;
    }
    TAILQ_FOREACH(recalled, &recalls->list, link)
    {
        for (size_t i = 0; i < recalled->count && !recalled->broken && recalled->part == 0; i++) {
            if (gr_id_equal(recalled->targets[i].key, key) && strcmp(recalled->session, session) == 0) {
                *ret_target = &recalled->targets[i];
                return recalled;
            }
        }
    }
    return NULL;
}

struct recalled *
recalls_of(const struct recalls *recalls, uint32_t serial)
{
    struct recalled *recalled;

    TAILQ_FOREACH(recalled, &recalls->list, link)
    {
        if (recalled->serial == serial && recalled->part == 0) {
            return recalled;
        }
    }
    return NULL;
}

struct recalled *
recalls_find_part(const struct recalls *recalls, const char *session, granary_id key)
{
    struct recalled *recalled;

    if (recalls->keys_at[place_of(key)] == 0) {
        return NULL;
    }
    TAILQ_FOREACH(recalled, &recalls->list, link)
    {
        if (recalled->part > 0 && recalled->count == 1 && !recalled->broken && !recalls->off &&
            gr_id_equal(recalled->targets[0].key, key) && strcmp(recalled->session, session) == 0) {
            return recalled;
        }
    }
    return NULL;
}

bool
recalls_have_key(const struct recalls *recalls, const char *id_key)
{
    const struct recalled *recalled;

    TAILQ_FOREACH(recalled, &recalls->list, link)
    {
        if (strcmp(recalled->id_key, id_key) == 0) {
            return true;
        }
    }
    return false;
}

bool
recalls_own(const struct recalls *recalls, granary_id id)
{
    const struct recalled *recalled;

    TAILQ_FOREACH(recalled, &recalls->list, link)
    {
        for (size_t i = 0; i < recalled->id_count; i++) {
            if (gr_id_equal(recalled->ids[i], id)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- making ---- */

struct recalled *
recalls_add(struct recalls *recalls, uint32_t serial, uint32_t part, const char *session, const char *id_key)
{
    struct recalled *recalled = calloc(1, sizeof *recalled);
    struct recalled *before = TAILQ_LAST(&recalls->list, recalled_list);

    if (recalled == NULL) {
        return NULL;
    }
    recalled->recalls = recalls;
    recalled->serial = serial;
    recalled->part = part;
    recalled->stamp = granary_id_random();
    recalled->session = strdup(session);
    recalled->id_key = strdup(id_key);
    if (recalled->session == NULL || recalled->id_key == NULL) {
        recalled_destroy(recalled);
        return NULL;
    }
    while (before != NULL && (before->serial > serial || (before->serial == serial && before->part > part))) {
        before = TAILQ_PREV(before, recalled_list, link);
    }
    if (before != NULL) {
        TAILQ_INSERT_AFTER(&recalls->list, before, recalled, link);
    } else {
        TAILQ_INSERT_HEAD(&recalls->list, recalled, link);
    }
    recalls->count++;
    recalls->parts += part > 0;
    return recalled;
}

bool
recalled_add_target(struct recalled *recalled, granary_id key, const char *name, const void *packed, size_t size)
{
    struct recalled_target *grown = reallocarray(recalled->targets, recalled->count + 1, sizeof *grown);
    struct recalled_target *target;

    if (grown == NULL) {
        return false;
    }
    recalled->targets = grown;
    target = &grown[recalled->count];
    *target =
        (struct recalled_target){.key = key, .name = strdup(name), .packed = malloc(size + 1), .packed_size = size};
    if (target->name == NULL || target->packed == NULL) {
        free(target->name);
        free(target->packed);
        return false;
    }
    memcpy(target->packed, packed, size);
    recalled->count++;
    recalled->recalls->keys_at[place_of(key)]++;
    return true;
}

bool
recalled_set_columns(struct recalled *recalled, const char *const *columns, size_t count)
{
    struct recalled_target *target = &recalled->targets[0];

    target->columns = calloc(count + 1, sizeof *target->columns);
    for (size_t c = 0; target->columns != NULL && c < count; c++) {
        target->columns[c] = strdup(columns[c]);
        if (target->columns[c] == NULL) {
            return false;
        }
        target->column_count++;
    }
    return target->columns != NULL;
}

/* ---- keeping ---- */

void
recalled_own(struct manager *manager, struct recalled *recalled, granary_id *ids, size_t count)
{
    recalled->owned = true;
    recalled->ids = ids;
    recalled->id_count = count;
    manager->recalls->owned_bytes += recalled->saved ? 0 : recalled->bytes;
    for (size_t i = 0; recalled->part == 0 && i < count; i++) { /* a step's are so from the beginning */
        struct session *session = session_get(manager, recalled->session);

        if (session != NULL) {
            pack_spare(&session->frees, ids[i]);
        }
    }
    recalled_make_view(recalled);
    recalled_keep(manager, recalled);
}

/* Its objects go with it, if they are its own. */
static void
drop(struct manager *manager, struct recalled *recalled)
{
    struct session *session = recalled->id_count == 0 ? NULL : session_get(manager, recalled->session);

    for (size_t i = 0; i < recalled->id_count && session != NULL; i++) {
        pack_free(&session->frees, recalled->ids[i]);
    }
    if (recalled->id_count > 0 && session == NULL) {
        manager_note_exhausted(manager);
    }
    if (recalled->kept) {
        recalled_forget(manager, recalled);
    }
    info_changed(manager, INFO_BIT(recalls));
    recalls_remove(manager->recalls, recalled);
}

/* Nobody has it; nor does a graph still read it as a table of the deleted one. */
static bool
is_free(const struct manager *manager, const struct recalled *recalled)
{
    return recalled->refs == 0 && (!recalled->owned || recalled->part > 0 ||
                                   graph_of_number(manager, WIRE_NUMBER(recalled->serial, 0)) == NULL);
}

void
recalled_give_up(struct manager *manager, struct recalled *recalled)
{
    recalled->broken = true;
    if (is_free(manager, recalled)) {
        drop(manager, recalled);
    } else if (recalled->kept) {
        recalled_keep(manager, recalled);
    }
}

void
recalled_take(struct manager *manager, struct recalled *recalled)
{
    recalled->refs++;
    recalled->uses++;
    recalled->used_ns = manager->now_ns;
    info_changed(manager, INFO_BIT(recalls));
    if (!recalled->kept) { /* who takes it is known to the next scheduler, too */
        recalled_keep(manager, recalled);
    }
}

void
recalled_release(struct manager *manager, struct recalled *recalled)
{
    recalled->refs--;
    if (recalled->broken && is_free(manager, recalled)) {
        drop(manager, recalled);
    }
}

/* ---- limits ---- */

static uint64_t
limit_of(const struct manager *manager)
{
    uint64_t memory = manager->options.memory_bytes;

    return memory == 0 ? MEMORY_UNKNOWN : memory / MEMORY_PART;
}

uint64_t
recalls_room(const struct manager *manager)
{
    return manager->recalls->off ? 0 : limit_of(manager) / ENTRY_PART;
}

bool
recalls_have_room(const struct manager *manager, uint64_t bytes)
{
    return bytes > 0 && bytes <= recalls_room(manager);
}

static double
worth_of(const struct recalled *recalled, int64_t now_ns)
{
    double age = (double)(now_ns - recalled->used_ns) / HALF_LIFE_NS;
    double bytes = (double)recalled->bytes + OBJECT_COST * (double)(recalled->id_count + 1);

    return (double)recalled->cost_ns * (double)(recalled->uses + 1) / bytes * exp2(-age);
}

void
recalls_shrink(struct manager *manager)
{
    struct recalls *recalls = manager->recalls;
    struct recalled *least;

    TAILQ_FOREACH(least, &recalls->list, link)
    {
        if (least->broken && is_free(manager, least)) {
            drop(manager, least);
            break; /* the others the next time */
        }
    }
    do {
        bool full = recalls->owned_bytes > limit_of(manager);
        struct recalled *recalled;

        least = NULL;
        TAILQ_FOREACH(recalled, &recalls->list, link)
        {
            if (is_free(manager, recalled) && !recalled->saved && (!full || recalled->owned) &&
                (least == NULL || worth_of(recalled, manager->now_ns) < worth_of(least, manager->now_ns))) {
                least = recalled;
            }
        }
        if (least != NULL && (full || recalls->count > ENTRIES_MAX)) {
            drop(manager, least);
        } else {
            least = NULL;
        }
    } while (least != NULL);
}

size_t
recalls_clear(struct manager *manager, const char *session)
{
    struct recalled *recalled = TAILQ_FIRST(&manager->recalls->list);
    size_t count = 0;

    while (recalled != NULL) {
        struct recalled *next = TAILQ_NEXT(recalled, link);

        if (session == NULL || strcmp(recalled->session, session) == 0) {
            count++;
            recalled_give_up(manager, recalled);
        }
        recalled = next;
    }
    return count;
}

void
recalls_switch(struct manager *manager, bool off)
{
    static const char name[] = META_RECALL;
    struct action *action = entry_add(manager, off ? ACTION_KEEP : ACTION_FORGET, MANAGER_METAS, name, sizeof name - 1);

    if (action != NULL && off) {
        gr_buf_add(&action->bytes, "off", 3);
    }
    manager->recalls->off = off;
    if (off) {
        (void)recalls_clear(manager, NULL);
    }
}
