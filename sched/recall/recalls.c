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

static void
recalled_destroy(struct recalled *recalled)
{
    for (size_t i = 0; i < recalled->count; i++) {
        free(recalled->targets[i].name);
        free(recalled->targets[i].packed);
    }
    free(recalled->targets);
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
    recalls->owned_bytes -= recalled->owned ? recalled->bytes : 0;
    recalled_destroy(recalled);
}

void
recalls_fini(struct recalls *recalls)
{
    while (!TAILQ_EMPTY(&recalls->list)) {
        recalls_remove(recalls, TAILQ_FIRST(&recalls->list));
    }
}

/* ---- finding ---- */

struct recalled *
recalls_find(const struct recalls *recalls, const char *session, granary_id key,
             const struct recalled_target **ret_target)
{
    struct recalled *recalled;

    if (recalls->off) {
        return NULL;
    }
    TAILQ_FOREACH(recalled, &recalls->list, link)
    {
        for (size_t i = 0; i < recalled->count && !recalled->broken; i++) {
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
        if (recalled->serial == serial) {
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
recalls_add(struct recalls *recalls, uint32_t serial, const char *session, const char *id_key)
{
    struct recalled *recalled = calloc(1, sizeof *recalled);
    struct recalled *before = TAILQ_LAST(&recalls->list, recalled_list);

    if (recalled == NULL) {
        return NULL;
    }
    recalled->serial = serial;
    recalled->session = strdup(session);
    recalled->id_key = strdup(id_key);
    if (recalled->session == NULL || recalled->id_key == NULL) {
        recalled_destroy(recalled);
        return NULL;
    }
    while (before != NULL && before->serial > serial) {
        before = TAILQ_PREV(before, recalled_list, link);
    }
    if (before != NULL) {
        TAILQ_INSERT_AFTER(&recalls->list, before, recalled, link);
    } else {
        TAILQ_INSERT_HEAD(&recalls->list, recalled, link);
    }
    recalls->count++;
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
    return true;
}

/* ---- keeping ---- */

/* It is kept for the next scheduler, as it is now. */
static void
recalled_keep(struct manager *manager, struct recalled *recalled)
{
    struct action *action =
        entry_add_number(manager, ACTION_KEEP, MANAGER_RECALLS, recalled->serial, sizeof recalled->serial);
    Granary__Recall message = GRANARY__RECALL__INIT;
    Granary__RecallTarget *targets = calloc(recalled->count, sizeof *targets);
    Granary__RecallTarget **pointers = calloc(recalled->count, sizeof *pointers);
    void *room;

    if (action == NULL || targets == NULL || pointers == NULL) {
        manager_note_exhausted(manager);
        goto out;
    }
    for (size_t i = 0; i < recalled->count; i++) {
        pointers[i] = &targets[i];
        granary__recall_target__init(&targets[i]);
        targets[i].key = (ProtobufCBinaryData){GRANARY_ID_BYTES, recalled->targets[i].key.bytes};
        targets[i].name = recalled->targets[i].name;
        targets[i].result = (ProtobufCBinaryData){recalled->targets[i].packed_size, recalled->targets[i].packed};
    }
    message.session = recalled->session;
    message.id_key = recalled->id_key;
    message.owned = recalled->owned;
    message.broken = recalled->broken;
    message.cost_ns = recalled->cost_ns;
    message.bytes = recalled->bytes;
    message.ids = (ProtobufCBinaryData){recalled->id_count * sizeof *recalled->ids, (uint8_t *)recalled->ids};
    message.targets = pointers;
    message.n_targets = recalled->count;
    room = gr_buf_grow(&action->bytes, granary__recall__get_packed_size(&message));
    if (room != NULL) { /* else the action says that there was no memory */
        (void)granary__recall__pack(&message, room);
    }
    recalled->kept = true;
out:
    free(targets);
    free(pointers);
}

void
recalled_own(struct manager *manager, struct recalled *recalled, granary_id *ids, size_t count)
{
    recalled->owned = true;
    recalled->ids = ids;
    recalled->id_count = count;
    manager->recalls->owned_bytes += recalled->bytes;
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
        (void)entry_add_number(manager, ACTION_FORGET, MANAGER_RECALLS, recalled->serial, sizeof recalled->serial);
    }
    info_changed(manager, INFO_BIT(recalls));
    recalls_remove(manager->recalls, recalled);
}

/* Nobody has it; nor does a graph still read it as a table of the deleted one. */
static bool
is_free(const struct manager *manager, const struct recalled *recalled)
{
    return recalled->refs == 0 &&
           (!recalled->owned || graph_of_number(manager, WIRE_NUMBER(recalled->serial, 0)) == NULL);
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

bool
recalls_have_room(const struct manager *manager, uint64_t bytes)
{
    return !manager->recalls->off && bytes <= limit_of(manager) / ENTRY_PART;
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
            if (is_free(manager, recalled) && (!full || recalled->owned) &&
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

/* ---- across a scheduler's death ---- */

static bool
take_message(struct manager *manager, uint32_t serial, const Granary__Recall *message)
{
    struct recalled *recalled = recalls_add(manager->recalls, serial, message->session, message->id_key);
    bool good = recalled != NULL && message->ids.len % sizeof *recalled->ids == 0;

    for (size_t i = 0; good && i < message->n_targets; i++) {
        const Granary__RecallTarget *target = message->targets[i];
        granary_id key = {{0}};

        good = target->key.len == sizeof key.bytes;
        if (good) {
            memcpy(key.bytes, target->key.data, sizeof key.bytes);
            good = recalled_add_target(recalled, key, target->name, target->result.data, target->result.len);
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
    recalled->used_ns = manager->now_ns;
    manager->recalls->owned_bytes += recalled->owned ? recalled->bytes : 0;
    return true;
}

void
manager_restore_recall(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size)
{
    Granary__Recall *message = granary__recall__unpack(NULL, size, value);
    uint32_t serial = key_size == sizeof serial ? (uint32_t)number_of_key(key, key_size) : 0;

    if (message == NULL || serial == 0 || session_check(message->session) != GRANARY_OK || message->n_targets == 0 ||
        recalls_of(manager->recalls, serial) != NULL || !take_message(manager, serial, message)) {
        gr_log_warn("STATE-ENTRY", "recall=%u the entry cannot be read, and was passed over", serial);
    }
    granary__recall__free_unpacked(message, NULL);
}
