/*
 * What the scheduler keeps across restarts: the manager's KEEP and FORGET actions become changes of the state. They are
 * collected and committed together: at once when somebody waits for that, else a little later, safe then from the end
 * of this process. A thread makes them safe from the end of the machine's power, too, and a reply that promises that
 * waits for it; the loop does not. Until it is known to be kept, nothing is acknowledged to executors: they tell it
 * again.
 *
 * When the state cannot be written, the changes wait. Accepted work goes on. New requests are refused by whoever
 * waits for the commit. Each later commit tries all of them again.
 *
 * The lock "scheduler" of the state has a fence, this scheduler's epoch. Each commit looks whether it is still the last
 * one; else another scheduler is active, and this one commits nothing any more.
 */
#ifndef SCHED_DURABLE_KEEPER_H
#define SCHED_DURABLE_KEEPER_H

#include "sched/core/actions.h"
#include "state/state.h"

struct keeper {
    const struct state_ops *state;
    void *self;             /* the state's; NULL: not open */
    struct syncer *syncer;  /* NULL: there is nothing to sync */
    uint64_t epoch;         /* higher than any before */
    struct action *changes; /* not committed yet, in order */
    size_t change_count, change_room;
    int64_t commit_at_ns; /* they wait to be committed; INT64_MAX: there are none */
    int64_t sync_at_ns;   /* what was committed waits to be synced */
    bool failing;         /* the last commit failed */
    bool exhausted;       /* a change could not be noted for want of memory: the state lacks it */
    bool fenced;          /* there is a scheduler with a higher epoch: stop */
};

/* Open the state and begin a new epoch. Errors: the state's, ENOMEM; what is left is for keeper_close() then, too. */
granary_err keeper_open(struct keeper *keeper, const struct state_ops *state, const char *path);

/* Give the entries of a space to take(), in the order of their keys. Errors: the state's, take()'s, ENOMEM */
granary_err keeper_read(struct keeper *keeper, const char *space, state_visit *take, void *context);

/*
 * Take a turn's changes, in order; their bytes are moved. When an action waits for that, they are committed on return,
 * else soon, by keeper_expire().
 *
 * ret_number  what to wait for (keeper_synced()) before replies are sent that say something is durable; 0: nothing
 * Errors      ENOMEM, the state's, logged: nothing of this turn is kept yet; who was to be told so must be told
 *             otherwise
 */
granary_err keeper_keep(struct keeper *keeper, struct action *actions, size_t count, uint64_t *ret_number);

/* When keeper_expire() is due; INT64_MAX: never. It commits and syncs what has waited long enough. */
int64_t keeper_deadline(const struct keeper *keeper);
void keeper_expire(struct keeper *keeper, int64_t now_ns);

/* Readable when something was synced; -1: there is nothing to wait for. */
int keeper_fd(const struct keeper *keeper);
/* Up to which number everything is durable, or was tried: *ret_err, and its message. */
uint64_t keeper_synced(struct keeper *keeper, granary_err *ret_err, char ret_message[256]);

/* Whether this is still the last scheduler to be active. Errors: ESTATE it is not: fenced · the state's */
granary_err keeper_check(struct keeper *keeper);

/* Whether everything taken so far is kept. */
bool keeper_idle(const struct keeper *keeper);

/* Commit what waits, and close. A zeroed one is fine. */
void keeper_close(struct keeper *keeper);

#endif
