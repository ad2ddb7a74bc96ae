#include "sched/keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

/* How long a change that nobody waits for, such as the end of a graph, may stay undurable. */
#define COMMIT_DELAY_NS 20000000

granary_err
keeper_open(struct keeper *keeper, const struct state_ops *state, const char *path)
{
    *keeper = (struct keeper){.state = state, .self = calloc(1, state->self_size), .commit_at_ns = INT64_MAX};
    return keeper->self == NULL ? gr_fail(GRANARY_ENOMEM, "scheduler: out of memory") : state->open(keeper->self, path);
}

/* ---- keeping ---- */

/* Apply one change to the state. */
static granary_err
change(struct keeper *keeper, const struct action *action)
{
    granary_err err;

    if (!gr_buf_ok(&action->bytes) || !gr_buf_ok(&action->entry_key)) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    if (action->kind == ACTION_FORGET) {
        err = keeper->state->delete (keeper->self, action->space, action->entry_key.bytes, action->entry_key.size);
        return err == GRANARY_ENOENT ? GRANARY_OK : err;
    }
    return keeper->state->put(keeper->self,
                              &(struct state_put){.space = action->space,
                                                  .key = action->entry_key.bytes,
                                                  .key_size = action->entry_key.size,
                                                  .value = action->bytes.bytes,
                                                  .value_size = action->bytes.size,
                                                  .expected = STATE_ANY},
                              NULL);
}

/* An earlier failure of the turn is passed on: what it changed so far is dropped. */
static granary_err
commit(struct keeper *keeper, granary_err err)
{
    char why[512];

    keeper->commit_at_ns = INT64_MAX;
    if (err != GRANARY_OK) {
        /* The commit drops the half-done turn; the reason is the first error. */
        (void)snprintf(why, sizeof why, "%s", granary_error_message());
        (void)keeper->state->commit(keeper->self);
        (void)gr_fail(err, "%s", why);
    } else {
        err = keeper->state->commit(keeper->self);
    }
    if (err != GRANARY_OK) {
        gr_log_error("STATE", "%s", granary_error_message());
    }
    return err;
}

granary_err
keeper_commit(struct keeper *keeper)
{
    return commit(keeper, GRANARY_OK);
}

granary_err
keeper_keep(struct keeper *keeper, const struct action *actions, size_t count)
{
    granary_err err = GRANARY_OK;
    bool changed = false;
    bool awaited = false;

    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        awaited = awaited || (actions[i].kind == ACTION_REPLY && actions[i].when_durable);
        if (actions[i].kind == ACTION_KEEP || actions[i].kind == ACTION_FORGET) {
            err = change(keeper, &actions[i]);
            changed = true;
        }
    }
    if (err != GRANARY_OK || awaited) {
        return commit(keeper, err);
    }
    if (changed && keeper->commit_at_ns == INT64_MAX) {
        keeper->commit_at_ns = gr_now_ns() + COMMIT_DELAY_NS;
    }
    return GRANARY_OK;
}

void
keeper_close(struct keeper *keeper)
{
    if (keeper->self != NULL) {
        if (keeper->commit_at_ns != INT64_MAX) {
            (void)keeper_commit(keeper);
        }
        keeper->state->close(keeper->self);
        free(keeper->self);
        keeper->self = NULL;
    }
}

/* ---- after a restart ---- */

/* The entry's key as text. Returns its length: shorter than the key when a NUL is in it. */
static size_t
key_text(const struct state_entry *entry, char text[static STATE_KEY_MAX + 1])
{
    memcpy(text, entry->key, entry->key_size);
    text[entry->key_size] = '\0';
    return strlen(text);
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

    (void)key_text(entry, key);
    manager_restore_graph(manager, key, entry->value, entry->value_size);
    return GRANARY_OK;
}

static granary_err
take_session(void *manager, const struct state_entry *entry)
{
    char name[STATE_KEY_MAX + 1];

    (void)key_text(entry, name);
    manager_restore_session(manager, name, entry->value, entry->value_size);
    return GRANARY_OK;
}

static granary_err
take_end(void *manager, const struct state_entry *entry)
{
    char key[STATE_KEY_MAX + 1];

    (void)key_text(entry, key);
    manager_restore_end(manager, key, entry->value, entry->value_size);
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

granary_err
keeper_restore(struct keeper *keeper, struct manager *manager)
{
    static const struct {
        const char *space;
        state_visit *take;
    } spaces[] = {{MANAGER_SESSIONS, take_session},
                  {MANAGER_FUNCTIONS, take_library},
                  {MANAGER_GRAPHS, take_graph},
                  {MANAGER_ENDS, take_end},
                  {MANAGER_RESULTS, take_result}};
    granary_err err = GRANARY_OK;
    size_t started;

    for (size_t i = 0; err == GRANARY_OK && i < sizeof spaces / sizeof spaces[0]; i++) {
        err =
            keeper->state->scan(keeper->self, &(struct state_range){.space = spaces[i].space}, spaces[i].take, manager);
    }
    if (err == GRANARY_OK) {
        started = manager_restore_start(manager);
        if (started > 0) {
            gr_log_info("RESUMED", "graphs=%zu", started);
        }
    }
    return err;
}
