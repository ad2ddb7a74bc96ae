/* What an executor has around its subtasks, for as long as the process lives. One a process; one thread uses it. */
#ifndef EXECUTOR_USER_HOST_H
#define EXECUTOR_USER_HOST_H

#include <sys/types.h>

#include "base/instance.h"
#include "executor/user/capture.h"
#include "executor/user/guard.h"
#include "executor/user/library.h"
#include "executor/user/page.h"
#include "executor/user/parts.h"
#include "executor/user/reusable.h"

struct host {
    struct gr_instance instance;
    struct page page;
    struct capture capture;
    struct guard guard;
    struct libraries libraries;
    struct reusables reusables;
    struct parts parts;
    pid_t pid;
    bool embedded; /* in another program, of which nothing is changed: no capture, no guard */
    int node;
    int cpus;
    uint32_t number; /* the scheduler's for this executor */
    uint32_t loaded; /* libraries */
    uint64_t turns;  /* runs of user functions so far */
    bool worn_out;   /* the process should leave after this subtask, for another in its place: why is in the log */
};

/* Errors: EINVAL a bad instance · ENOMEM · errno's */
granary_err host_create(struct host *host, const char *instance, int node, int slot, bool embedded);
/* What was kept for a session goes; its client still works. */
void host_session_ended(void *host, const char *session);
/* Calls the fini functions of reusable variables. One that is all zero is fine. */
void host_destroy(struct host *host);

#endif
