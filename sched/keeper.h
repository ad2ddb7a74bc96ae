/*
 * What the scheduler keeps across restarts: the manager's KEEP and FORGET actions become changes of the state. They are
 * collected and committed together: at once and durably when somebody waits for that, else a little later, safe then
 * from the end of this process. Until it is known to be kept, nothing is acknowledged to executors: they tell it again.
 *
 * When the state cannot be written, the changes wait: what was accepted goes on, what is new is refused by whoever
 * waits for the commit, and each later commit tries all of them again.
 *
 * The lock "scheduler" of the state has a fence, this scheduler's epoch. Each commit looks whether it is still the last
 * one; else another scheduler is active, and this one commits nothing any more.
 */
#ifndef SCHED_KEEPER_H
#define SCHED_KEEPER_H

#include "sched/links.h"
#include "sched/task_manager.h"
#include "state/state.h"

struct keeper {
    const struct state_ops *state;
    void *self;             /* the state's; NULL: not open */
    uint64_t epoch;         /* higher than any before */
    struct action *changes; /* not committed yet, in order */
    size_t change_count, change_room;
    int64_t commit_at_ns; /* they wait to be committed; INT64_MAX: there are none */
    bool failing;         /* the last commit failed */
    bool fenced;          /* there is a scheduler with a higher epoch: stop */
};

/* Open the state and begin a new epoch. Errors: the state's, ENOMEM; what is left is for keeper_close() then, too. */
granary_err keeper_open(struct keeper *keeper, const struct state_ops *state, const char *path);

/* Give the manager and the links what was kept and start it; its actions are then to be performed. Errors: the state's
 */
granary_err keeper_restore(struct keeper *keeper, struct manager *manager, struct links *links);

/*
 * Take a turn's changes, in order; their bytes are moved. When a reply among the actions waits for it, everything is
 * durable on return; else it is kept by commit_at_ns, if keeper_commit() is then called.
 *
 * Errors  ENOMEM, the state's, logged: nothing of this turn is kept yet; who was to be told so must be told otherwise
 */
granary_err keeper_keep(struct keeper *keeper, struct action *actions, size_t count);

/* Everything taken so far is kept when this returns OK. Errors: the state's, logged; it is to be tried again by
 * commit_at_ns · ESTATE fenced */
granary_err keeper_commit(struct keeper *keeper, bool durable);

/* Whether this is still the last scheduler to be active. Errors: ESTATE it is not: fenced · the state's */
granary_err keeper_check(struct keeper *keeper);

/* Whether everything taken so far is kept. */
bool keeper_idle(const struct keeper *keeper);

/* Commit what waits, and close. A zeroed one is fine. */
void keeper_close(struct keeper *keeper);

#endif
