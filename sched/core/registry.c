/* The graphs there are: a hash table by key, and an array by serial. */

#include "sched/core/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "sched/core/manager.h"

#define SERIAL_MAX (1u << 28)

void
registry_init(struct registry *registry)
{
    registry->serial_count = 1; /* 0 names no graph */
}

void
registry_fini(struct registry *registry)
{
    free(registry->by_serial);
}

/* ---- finding ---- */

static size_t
bucket_of(const char *key)
{
    return gr_hash64(key, strlen(key)) % KEY_BUCKETS;
}

struct task_graph *
graph_find(struct manager *manager, const char *key)
{
    struct task_graph *graph;

    LIST_FOREACH(graph, &manager->registry.buckets[bucket_of(key)], bucket_link)
    {
        if (strcmp(graph->key, key) == 0) {
            return graph;
        }
    }
    return NULL;
}

granary_err
graph_missing(const char *key)
{
    return gr_fail(GRANARY_ENOENT, "graph '%.80s': not found: `granary graphs` lists them", key);
}

void
graph_rekey(struct manager *manager, struct task_graph *graph, const char *key)
{
    LIST_REMOVE(graph, bucket_link);
    if (key == NULL) {
        graph->nameless = true;
        LIST_INSERT_HEAD(&manager->registry.nameless, graph, bucket_link);
    } else {
        (void)snprintf(graph->key, sizeof graph->key, "%s", key);
        LIST_INSERT_HEAD(&manager->registry.buckets[bucket_of(key)], graph, bucket_link);
    }
    info_changed(manager, INFO_WORK);
}

struct task_graph *
graph_of_number(const struct manager *manager, uint64_t wire_number)
{
    const struct registry *registry = &manager->registry;
    uint64_t serial = wire_number >> 32;

    return serial > 0 && serial < registry->serial_count ? registry->by_serial[serial] : NULL;
}

struct subtask *
subtask_of_number(const struct manager *manager, uint64_t wire_number, struct task_graph **ret_graph)
{
    struct task_graph *graph = graph_of_number(manager, wire_number);

    *ret_graph = graph;
    return graph == NULL || graph->execution == NULL ? NULL
                                                     : execution_graph_subtask(graph->execution, (uint32_t)wire_number);
}

struct task_graph *
graph_from(const struct manager *manager, uint64_t serial)
{
    const struct registry *registry = &manager->registry;

    serial = serial == 0 ? 1 : serial; /* before the first graph there is no table to look into */
    while (serial < registry->serial_count && registry->by_serial[serial] == NULL) {
        serial++;
    }
    return serial < registry->serial_count ? registry->by_serial[serial] : NULL;
}

/* ---- coming and going ---- */

bool
serial_reserve(struct manager *manager, uint32_t serial)
{
    struct registry *registry = &manager->registry;

    if (serial == 0 || serial > SERIAL_MAX ||
        (serial < registry->serial_count && registry->by_serial[serial] != NULL)) {
        return false;
    }
    if (serial >= registry->serial_room) {
        uint32_t room = serial * 2 + 64;
        struct task_graph **grown = reallocarray(registry->by_serial, room, sizeof(struct task_graph *));

        if (grown == NULL) {
            return false;
        }
        memset(grown + registry->serial_room, 0, (room - registry->serial_room) * sizeof(struct task_graph *));
        registry->by_serial = grown;
        registry->serial_room = room;
    }
    registry->serial_count = serial < registry->serial_count ? registry->serial_count : serial + 1;
    return true;
}

void
graph_link(struct manager *manager, struct task_graph *graph, uint32_t serial)
{
    LIST_INSERT_HEAD(&manager->registry.buckets[bucket_of(graph->key)], graph, bucket_link);
    graph->serial = serial;
    manager->registry.by_serial[serial] = graph;
    graph->session->graphs++;
}

void
graph_unlink(struct manager *manager, struct task_graph *graph)
{
    LIST_REMOVE(graph, bucket_link);
    manager->registry.by_serial[graph->serial] = NULL;
    graph->session->graphs--;
}

/* ---- keys of deleted ones ---- */

void
key_note_deleted(struct registry *registry, const char *key)
{
    (void)snprintf(registry->deleted[registry->deleted_count++ % DELETED_KEYS], GRANARY_KEY_MAX, "%s", key);
}

bool
key_deleted_lately(const struct registry *registry, const char *key)
{
    size_t count = registry->deleted_count < DELETED_KEYS ? registry->deleted_count : DELETED_KEYS;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(registry->deleted[i], key) == 0) {
            return true;
        }
    }
    return false;
}
