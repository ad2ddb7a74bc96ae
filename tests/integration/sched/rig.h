/* A scheduler of one's own, fake executors, and a client that speaks the protocol by hand. */
#ifndef RIG_H
#define RIG_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/instance.h"
#include "message/zmq.h"
#include "schema/granary.pb-c.h"

#define RIG_EXECUTORS 4

struct rig {
    char directory[64];
    struct gr_instance instance;
    pid_t sched;
    pid_t executors[RIG_EXECUTORS]; /* 0: none */
    struct gr_zmq_context *context;
    struct gr_zmq_socket *client;
    uint64_t seq;
    char said[1200]; /* what the scheduler wrote to its ready descriptor */
};

/* A directory, and nothing running. */
void rig_init(struct rig *rig);
/* Kills what still runs and removes everything. */
void rig_fini(struct rig *rig);

/* Start granary-sched; true when it said READY. A client is connected. */
bool rig_start(struct rig *rig, const char *state);
/* End it by a signal and wait for it; returns its exit status, or 128 + the signal. */
int rig_stop(struct rig *rig, int signal);

/* Start the fake executor of a slot (see fake_executor.c); returns when the scheduler knows it. */
void rig_executor_start(struct rig *rig, int slot);
void rig_executor_kill(struct rig *rig, int slot);

/* Send a request. */
void rig_send(struct rig *rig, Granary__Request *request);
/* The next reply within 10 s, to be freed; fails the test when there is none. */
Granary__Reply *rig_receive(struct rig *rig);
/* Whether a reply comes within timeout_ms; it is dropped. */
bool rig_hears(struct rig *rig, int timeout_ms);
/* Both. */
Granary__Reply *rig_call(struct rig *rig, Granary__Request *request);

/* Submit null nodes "name input input"; the reply's error. */
granary_err rig_submit(struct rig *rig, const char *key, const char *const *lines, size_t count);
/* Wait at most 10 s for its end; the reply's error, and its message in ret_message (may be NULL) of 256 bytes. */
granary_err rig_wait(struct rig *rig, const char *key, char *ret_message);
granary_err rig_ref(struct rig *rig, Granary__Request__BodyCase which, const char *key);
/* Executors the scheduler knows. */
size_t rig_executor_count(struct rig *rig);
uint64_t rig_running(struct rig *rig); /* subtasks */

#endif
