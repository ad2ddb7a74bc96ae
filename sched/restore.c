/* What the state has, entry by entry, on its way to the manager. Entries that cannot be read are passed over. */
#include "sched/restore.h"
#include "sched/recall/recalls.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "sched/functions/libraries.h"
#include "sched/graphs/leftovers.h"

/* The entry's key as text. Returns its length: shorter than the key when a NUL is in it. */
static size_t
key_text(const struct state_entry *entry, char text[static STATE_KEY_MAX + 1])
{
    memcpy(text, entry->key, entry->key_size);
    text[entry->key_size] = '\0';
    return strlen(text);
}

/* Whether the key is a name. One with a NUL in it was not kept by a scheduler, and would be taken for another. */
static bool
key_name(const struct state_entry *entry, char name[static STATE_KEY_MAX + 1])
{
    bool whole = key_text(entry, name) == entry->key_size;

    if (!whole) {
        gr_log_warn("STATE-ENTRY", "a key of %zu bytes has a NUL in it: the entry was passed over", entry->key_size);
    }
    return whole;
}

static void
restore_library(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size)
{
    (void)key;
    (void)key_size;
    manager_restore_library(manager, value, size);
}

/* A NUL stands between the graph's key and the target. */
static void
restore_result(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size)
{
    char text[STATE_KEY_MAX + 1];
    size_t length;

    memcpy(text, key, key_size);
    text[key_size] = '\0';
    length = strlen(text);
    if (length < key_size) {
        manager_restore_result(manager, text, text + length + 1, value, size);
    }
}

/* Each space in its turn, and who takes its entries: under a name, or under a key of any bytes. */
static const struct space {
    const char *name;
    void (*by_name)(struct manager *manager, const char *key, const void *value, size_t size);
    void (*by_key)(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size);
} spaces[] = {{MANAGER_METAS, manager_restore_meta, NULL},    {MANAGER_SESSIONS, manager_restore_session, NULL},
              {MANAGER_FUNCTIONS, NULL, restore_library},     {MANAGER_GRAPHS, manager_restore_graph, NULL},
              {MANAGER_ENDS, manager_restore_end, NULL},      {MANAGER_RESULTS, NULL, restore_result},
              {MANAGER_EVENTS, NULL, manager_restore_events}, {MANAGER_FREES, NULL, manager_restore_frees},
              {MANAGER_HELD, NULL, manager_restore_held},     {MANAGER_LEFT, NULL, manager_restore_left},
              {MANAGER_RECALLS, NULL, manager_restore_recall}};

struct restoring {
    struct manager *manager;
    const struct space *space;
};

static granary_err
take_entry(void *context, const struct state_entry *entry)
{
    const struct restoring *restoring = context;
    char name[STATE_KEY_MAX + 1];

    if (restoring->space->by_key != NULL) {
        restoring->space->by_key(restoring->manager, entry->key, entry->key_size, entry->value, entry->value_size);
    } else if (key_name(entry, name)) {
        restoring->space->by_name(restoring->manager, name, entry->value, entry->value_size);
    }
    return GRANARY_OK;
}

static granary_err
take_executor(void *links, const struct state_entry *entry)
{
    char key[STATE_KEY_MAX + 1];
    long long pid;
    unsigned long long start_time;
    unsigned slot;

    (void)key_text(entry, key);
    if (sscanf(key, "%lld.%llu.%u", &pid, &start_time, &slot) == 3) {
        links_expect(links, pid, start_time, slot);
    }
    return GRANARY_OK;
}

granary_err
restore_all(struct keeper *keeper, struct manager *manager, struct links *links)
{
    granary_err err = GRANARY_OK;
    size_t started;

    for (size_t i = 0; err == GRANARY_OK && i < sizeof spaces / sizeof spaces[0]; i++) {
        err = keeper_read(keeper, spaces[i].name, take_entry, &(struct restoring){manager, &spaces[i]});
    }
    if (err == GRANARY_OK) {
        err = keeper_read(keeper, MANAGER_EXECUTORS, take_executor, links);
    }
    if (err == GRANARY_OK) {
        started = manager_restore_start(manager);
        if (started > 0) {
            gr_log_info("RESUMED", "graphs=%zu", started);
        }
    }
    return err;
}
