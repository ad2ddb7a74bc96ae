/* A real store, a real pool of executors, and a scheduler played by the test. */
#ifndef TEST_POOL_FIXTURE_H
#define TEST_POOL_FIXTURE_H

#include "base/instance.h"
#include "message/zmq.h"
#include "support/daemon.h"
#include "unit/executor/op.h"

#define EXECUTORS_MAX 16

struct test_executor {
    struct gr_zmq_peer peer;
    pid_t pid;
    uint32_t slot;
};

struct test_death {
    pid_t pid;
    int signal;
    int status;
};

struct pool_test {
    struct daemon store;
    struct gr_instance instance;
    struct gr_zmq_context *zmq;
    struct gr_zmq_socket *router;
    pid_t pool;
    int ready_fd;
    struct test_executor executors[EXECUTORS_MAX]; /* in the order they registered */
    size_t count;
    size_t seen;               /* of them, by pool_next_registration() */
    Granary__Done *done[4096]; /* received, not yet taken */
    size_t done_count;
    size_t messages; /* with answers */
    struct gr_zmq_peer supervisor;
    uint32_t slots; /* as the pool said last */
    uint32_t slots_of_node[16];
    struct test_death deaths[64]; /* told by the pool, again when it was told again */
    size_t death_count;
    bool refuse;           /* answer registrations in another version */
    bool stop_registering; /* SIGSTOP before the answer */
};

/* Everything is up and `executors` are registered. Fails the test otherwise. */
void pool_test_start(struct pool_test *test, int executors);
/* Stop the pool with SIGTERM, if it runs, and the store; nothing is left, no process either. */
void pool_test_stop(struct pool_test *test);

/* Start granary-executor --pool; *ret_ready_fd is where it says that it is ready. */
pid_t pool_spawn(const char *instance, int executors, bool die_with_parent, int *ret_ready_fd);
/* The line it says, "" when it closed without one. Waits. */
void pool_said(int ready_fd, char line[1200]);

/* The endpoint is closed and bound anew, as by a scheduler that was killed and started again. */
void pool_rebind(struct pool_test *test);

/* The position of the next executor that has registered (it was answered). Waits. */
size_t pool_next_registration(struct pool_test *test);
/* The next answer, whoever it is from; to be freed. Waits; fails the test after 20 s. */
Granary__Done *pool_next_done(struct pool_test *test);
/* Wait until the pool has told of so many deaths, or so many slots. */
void pool_await_deaths(struct pool_test *test, size_t count);
void pool_await_slots(struct pool_test *test, uint32_t slots);
void pool_order(struct pool_test *test, Granary__PoolOrder *order, uint64_t epoch);
void pool_send(struct pool_test *test, size_t executor, Granary__ToExecutor *message);
/* Send one subtask of these operators, which are freed. */
void pool_run(struct pool_test *test, size_t executor, uint64_t number, Granary__ChunkOp **ops, size_t count);
/* Wait until a process that is our descendant has ended, and reap it when it is ours. */
void pool_wait_gone(pid_t pid);

#endif
