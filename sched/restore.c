/* What the state has, entry by entry, on its way to the manager. Entries that cannot be read are passed over. */
#include "sched/restore.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "sched/functions/libraries.h"

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

static granary_err
take_library(void *manager, const struct state_entry *entry)
{
    manager_restore_library(manager, entry->value, entry->value_size);
    return GRANARY_OK;
}

static granary_err
take_graph(void *manager, const struct state_entry *entry)
{
    char key[STATE_KEY_MAX + 1];

    if (key_name(entry, key)) {
        manager_restore_graph(manager, key, entry->value, entry->value_size);
    }
    return GRANARY_OK;
}

static granary_err
take_session(void *manager, const struct state_entry *entry)
{
    char name[STATE_KEY_MAX + 1];

    if (key_name(entry, name)) {
        manager_restore_session(manager, name, entry->value, entry->value_size);
    }
    return GRANARY_OK;
}

static granary_err
take_end(void *manager, const struct state_entry *entry)
{
    char key[STATE_KEY_MAX + 1];

    if (key_name(entry, key)) {
        manager_restore_end(manager, key, entry->value, entry->value_size);
    }
    return GRANARY_OK;
}

static granary_err
take_result(void *manager, const struct state_entry *entry)
{
    char key[STATE_KEY_MAX + 1];
    size_t length = key_text(entry, key); /* a NUL stands between the graph's key and the target */

    if (length < entry->key_size) {
        manager_restore_result(manager, key, key + length + 1, entry->value, entry->value_size);
    }
    return GRANARY_OK;
}

static granary_err
take_meta(void *manager, const struct state_entry *entry)
{
    char key[STATE_KEY_MAX + 1];

    if (key_name(entry, key)) {
        manager_restore_meta(manager, key, entry->value, entry->value_size);
    }
    return GRANARY_OK;
}

static granary_err
take_events(void *manager, const struct state_entry *entry)
{
    manager_restore_events(manager, entry->key, entry->key_size, entry->value, entry->value_size);
    return GRANARY_OK;
}

static granary_err
take_frees(void *manager, const struct state_entry *entry)
{
    manager_restore_frees(manager, entry->key, entry->key_size, entry->value, entry->value_size);
    return GRANARY_OK;
}

static granary_err
take_held(void *manager, const struct state_entry *entry)
{
    manager_restore_held(manager, entry->key, entry->key_size, entry->value, entry->value_size);
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
    static const struct {
        const char *space;
        state_visit *take;
    } spaces[] = {{MANAGER_METAS, take_meta},    {MANAGER_SESSIONS, take_session}, {MANAGER_FUNCTIONS, take_library},
                  {MANAGER_GRAPHS, take_graph},  {MANAGER_ENDS, take_end},         {MANAGER_RESULTS, take_result},
                  {MANAGER_EVENTS, take_events}, {MANAGER_FREES, take_frees},      {MANAGER_HELD, take_held}};
    granary_err err = GRANARY_OK;
    size_t started;

    for (size_t i = 0; err == GRANARY_OK && i < sizeof spaces / sizeof spaces[0]; i++) {
        err = keeper_read(keeper, spaces[i].space, spaces[i].take, manager);
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
