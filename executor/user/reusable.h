/* Reusable variables: what functions keep in an executor from one subtask to the next. */
#ifndef EXECUTOR_USER_REUSABLE_H
#define EXECUTOR_USER_REUSABLE_H

#include "executor/user/library.h"

struct reusable {
    const struct library *library;
    const granary_reusable_info *info;
    void *value;
    uint64_t turn; /* the run of a function that asked for it last */
    struct reusable *next;
};

/* The newest first: later ones may stand on earlier ones, and go before them. */
struct reusables {
    struct reusable *first;
};

/* Fini of those of a session; NULL: of all. */
void reusables_forget(struct reusables *reusables, const char *session);

/*
 * A variable, ready to be used: made when it is not there, else put in order once a run.
 *
 * turn     of the run that asks: another number for each
 * Errors   ENOENT neither the library nor another one of the session has it · what init returned: with its message, or
 *          the call's · ENOMEM
 */
granary_err reusable_get(struct reusables *reusables, const struct libraries *libraries, struct library *library,
                         granary_call *call, uint64_t turn, const char *name, void **ret_value);

#endif
