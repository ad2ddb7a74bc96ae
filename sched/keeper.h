/*
 * What the scheduler keeps across restarts: the manager's KEEP and FORGET actions become changes of the state, durable
 * at once when somebody waits for that, else a little later; and after a restart the manager gets them back.
 */
#ifndef SCHED_KEEPER_H
#define SCHED_KEEPER_H

#include "sched/task_manager.h"
#include "state/state.h"

struct keeper {
    const struct state_ops *state;
    void *self;           /* the state's; NULL: not open */
    int64_t commit_at_ns; /* changes wait to be committed; INT64_MAX: there are none */
};

/* Open the state. Errors: the state's, ENOMEM; what is left is for keeper_close() then, too. */
granary_err keeper_open(struct keeper *keeper, const struct state_ops *state, const char *path);

/* Give the manager what was kept and start it; its actions are then to be performed. Errors: the state's */
granary_err keeper_restore(struct keeper *keeper, struct manager *manager);

/*
 * Apply a turn's actions in order. When a reply among them waits for it, everything is durable on return; else it is by
 * commit_at_ns, if keeper_commit() is then called.
 *
 * Errors  ENOMEM, the state's, logged: nothing of the turn was kept
 */
granary_err keeper_keep(struct keeper *keeper, const struct action *actions, size_t count);

/* Everything changed so far is durable when this returns OK. Errors: the state's, logged */
granary_err keeper_commit(struct keeper *keeper);

/* Commit what waits, and close. A zeroed one is fine. */
void keeper_close(struct keeper *keeper);

#endif
