/* Changes are collected, committed in one transaction that looks at the fence, and synced by a thread (syncer.h). */

#include "sched/durable/keeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory/grow.h"
#include "sched/core/manager.h"
#include "sched/durable/syncer.h"

/* How long a change that nobody waits for, such as the end of a graph, may stay undurable. */
#define COMMIT_DELAY_NS 20000000
/* How long after a commit that failed the next is tried, when nobody waits for one. */
#define RETRY_NS 1000000000

#define LOCK_NAME "scheduler"

granary_err
keeper_open(struct keeper *keeper, const struct state_ops *state, const char *path)
{
    char owner[64];
    granary_err err;

    *keeper = (struct keeper){
        .state = state, .self = calloc(1, state->self_size), .commit_at_ns = INT64_MAX, .sync_at_ns = INT64_MAX};
    if (keeper->self == NULL) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    (void)snprintf(owner, sizeof owner, "process %d", (int)getpid());
    err = state->open(keeper->self, path);
    if (err == GRANARY_OK) {
        err = state_lock(state, keeper->self, LOCK_NAME, owner, (uint64_t)gr_wall_ms(), &keeper->epoch);
    }
    if (err == GRANARY_OK && state->sync != NULL) {
        keeper->syncer = syncer_create(state->sync, keeper->self);
        err = keeper->syncer == NULL ? gr_fail(GRANARY_ENOMEM, "scheduler: no thread") : GRANARY_OK;
    }
    return err;
}

/* ---- keeping ---- */

static granary_err
apply(const struct keeper *keeper, const struct action *change)
{
    const void *key = change->entry_key.bytes;
    size_t key_size = change->entry_key.size;
    granary_err err;

    switch (change->kind) {
    case ACTION_FORGET:
        err = keeper->state->delete (keeper->self, change->space, key, key_size);
        return err == GRANARY_ENOENT ? GRANARY_OK : err;
    case ACTION_FORGET_ALL:
        return keeper->state->delete_all(keeper->self, change->space, key, key_size);
    case ACTION_MOVE: /* one that is not there was moved by a commit that failed later */
        err = keeper->state->mv(keeper->self, change->space, key, key_size, change->space, change->bytes.bytes,
                                change->bytes.size);
        return err == GRANARY_ENOENT ? GRANARY_OK : err;
    default:
        return keeper->state->put(keeper->self,
                                  &(struct state_put){.space = change->space,
                                                      .key = key,
                                                      .key_size = key_size,
                                                      .value = change->bytes.bytes,
                                                      .value_size = change->bytes.size,
                                                      .expected = STATE_ANY},
                                  NULL);
    }
}

granary_err
keeper_check(struct keeper *keeper)
{
    uint64_t fence = 0;
    granary_err err = state_fence(keeper->state, keeper->self, LOCK_NAME, &fence);

    if (err == GRANARY_OK && fence != keeper->epoch) {
        keeper->fenced = true;
        err = gr_fail(GRANARY_ESTATE, "state: another scheduler is active (epoch %llu, this one has %llu): it stops",
                      (unsigned long long)fence, (unsigned long long)keeper->epoch);
    }
    return err;
}

static void
changes_drop(struct keeper *keeper)
{
    for (size_t i = 0; i < keeper->change_count; i++) {
        gr_buf_free(&keeper->changes[i].entry_key);
        gr_buf_free(&keeper->changes[i].bytes);
    }
    keeper->change_count = 0;
}

/* The half-done transaction goes; the changes stay, to be tried again. */
static void
commit_failed(struct keeper *keeper, granary_err err)
{
    char why[512];

    (void)snprintf(why, sizeof why, "%s", granary_error_message());
    if (!keeper->fenced) {
        (void)keeper->state->rollback(keeper->self);
        keeper->commit_at_ns = gr_now_ns() + RETRY_NS;
    }
    if (!keeper->failing) {
        gr_log_error("STATE", "%s; submissions are refused until it works again", why);
    }
    keeper->failing = true;
    (void)gr_fail(err, "%s", why);
}

/* Everything taken so far is kept when this returns OK; else it is to be tried again by commit_at_ns, unless fenced. */
static granary_err
commit(struct keeper *keeper)
{
    granary_err err = GRANARY_OK;

    if (keeper->fenced) {
        return gr_fail(GRANARY_ESTATE, "state: another scheduler is active");
    }
    for (size_t i = 0; err == GRANARY_OK && i < keeper->change_count; i++) {
        err = apply(keeper, &keeper->changes[i]);
        if (err ==
            GRANARY_EINVAL) { /* a key or value that no state takes: trying it for ever would keep nothing else */
            gr_log_error("STATE-ENTRY", "%s: it is not kept", granary_error_message());
            err = GRANARY_OK;
        }
    }
    if (err == GRANARY_OK && keeper->change_count > 0) {
        err = keeper_check(keeper); /* in the transaction: nobody takes the lock between this and the commit */
    }
    if (err == GRANARY_OK) {
        err = keeper->state->commit(keeper->self);
    }
    if (err != GRANARY_OK) {
        commit_failed(keeper, err);
        return err;
    }
    if (keeper->failing) {
        gr_log_info("STATE", "it can be written again, and is complete");
        keeper->failing = false;
    }
    changes_drop(keeper);
    keeper->commit_at_ns = INT64_MAX;
    if (keeper->syncer != NULL && keeper->sync_at_ns == INT64_MAX) {
        keeper->sync_at_ns = gr_now_ns() + COMMIT_DELAY_NS;
    }
    return GRANARY_OK;
}

static uint64_t
ask_sync(struct keeper *keeper)
{
    keeper->sync_at_ns = INT64_MAX;
    return keeper->syncer == NULL ? 0 : syncer_ask(keeper->syncer);
}

/* Takes its buffers. */
static granary_err
change_add(struct keeper *keeper, struct action *action)
{
    if (!gr_buf_ok(&action->bytes) || !gr_buf_ok(&action->entry_key)) {
        keeper->exhausted = true;
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    if (!gr_grow(&keeper->changes, &keeper->change_room, keeper->change_count, sizeof *keeper->changes)) {
        keeper->exhausted = true;
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    keeper->changes[keeper->change_count++] = *action;
    action->bytes = action->entry_key = (struct gr_buf){0};
    return GRANARY_OK;
}

granary_err
keeper_keep(struct keeper *keeper, struct action *actions, size_t count, uint64_t *ret_number)
{
    granary_err err = GRANARY_OK;
    bool awaited = false;
    bool durable = false;

    *ret_number = 0;
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        awaited = awaited || actions[i].before_sends;
        switch (actions[i].kind) {
        case ACTION_REPLY:
            durable = durable || (actions[i].when_durable && !actions[i].unsynced);
            awaited = awaited || actions[i].unsynced;
            break;
        case ACTION_ACCEPT:
            awaited = true;
            break;
        case ACTION_KEEP:
        case ACTION_MOVE:
        case ACTION_FORGET:
        case ACTION_FORGET_ALL:
            err = change_add(keeper, &actions[i]);
            break;
        default:
            break;
        }
    }
    if (err == GRANARY_OK && (awaited || durable)) {
        err = commit(keeper);
    } else if (keeper->change_count > 0 && keeper->commit_at_ns == INT64_MAX) {
        keeper->commit_at_ns = gr_now_ns() + COMMIT_DELAY_NS;
    }
    if (err == GRANARY_OK && durable) {
        *ret_number = ask_sync(keeper);
    }
    return err;
}

int64_t
keeper_deadline(const struct keeper *keeper)
{
    return keeper->commit_at_ns < keeper->sync_at_ns ? keeper->commit_at_ns : keeper->sync_at_ns;
}

void
keeper_expire(struct keeper *keeper, int64_t now_ns)
{
    if (keeper->commit_at_ns <= now_ns) {
        (void)commit(keeper);
    }
    if (keeper->sync_at_ns <= now_ns) {
        (void)ask_sync(keeper);
    }
}

int
keeper_fd(const struct keeper *keeper)
{
    return keeper->syncer == NULL ? -1 : syncer_fd(keeper->syncer);
}

uint64_t
keeper_synced(struct keeper *keeper, granary_err *ret_err, char ret_message[256])
{
    return syncer_done(keeper->syncer, ret_err, ret_message);
}

bool
keeper_idle(const struct keeper *keeper)
{
    return keeper->change_count == 0;
}

void
keeper_close(struct keeper *keeper)
{
    if (keeper->self != NULL) {
        syncer_destroy(keeper->syncer);
        keeper->syncer = NULL;
        if (keeper->change_count > 0) {
            (void)commit(keeper);
        }
        if (keeper->epoch > 0 && keeper->state->sync != NULL) {
            (void)keeper->state->sync(keeper->self);
        }
        keeper->state->close(keeper->self);
        free(keeper->self);
        keeper->self = NULL;
    }
    changes_drop(keeper);
    free(keeper->changes);
    keeper->changes = NULL;
}

/* ---- after a restart ---- */

struct taking {
    state_visit *take;
    void *context;
};

/* Entries that cannot be read are passed over, but not those for which there was no memory: the next one reads them. */
static granary_err
take_entry(void *context, const struct state_entry *entry)
{
    const struct taking *taking = context;
    granary_err err;

    errno = 0;
    err = taking->take(taking->context, entry);
    return err == GRANARY_OK && errno == ENOMEM ? gr_fail(GRANARY_ENOMEM, "state: out of memory while it was read")
                                                : err;
}

granary_err
keeper_read(struct keeper *keeper, const char *space, state_visit *take, void *context)
{
    struct taking taking = {take, context};

    return keeper->state->scan(keeper->self, &(struct state_range){.space = space}, take_entry, &taking);
}
