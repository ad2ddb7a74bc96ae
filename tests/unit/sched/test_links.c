/* The executors' connections: who is held to be gone. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/instance.h"
#include "drive.h"
#include "sched/links/links.h"
#include "schema/granary.pb-c.h"

#define POOL_PID 1

struct fixture {
    struct rig *rig;
    struct gr_instance instance;
    struct links *links;
    struct gr_zmq_context *zmq;
    struct gr_zmq_socket *socket;
};

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    char runtime[] = "/tmp/granary-links-XXXXXX";
    granary_err err;

    assert_non_null(mkdtemp(runtime));
    assert_int_equal(gr_instance_resolve(runtime, &f->instance), GRANARY_OK);
    f->rig = rig_create(0, 0);
    f->links = links_create(f->rig->manager, &f->instance, 1);
    f->zmq = gr_zmq_context_create(1);
    f->socket = gr_zmq_router(f->zmq, f->instance.pool_socket, &err);
    assert_non_null(f->socket);
    links_open(f->links, f->socket);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    gr_zmq_close(f->socket);
    gr_zmq_context_destroy(f->zmq);
    links_destroy(f->links);
    rig_destroy(f->rig);
    (void)unlink(f->instance.pool_socket);
    (void)rmdir(f->instance.runtime);
    free(f);
    return 0;
}

/* A process that does nothing. */
static pid_t
start(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
        for (;;) {
            (void)pause();
        }
    }
    assert_true(pid > 0);
    return pid;
}

static void
end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static struct gr_zmq_peer
peer_of(pid_t pid)
{
    struct gr_zmq_peer peer = {.size = sizeof pid};

    memcpy(peer.bytes, &pid, sizeof pid);
    return peer;
}

static void
join(struct fixture *f, pid_t pid)
{
    Granary__Register registration = GRANARY__REGISTER__INIT;
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    struct gr_zmq_peer peer = peer_of(pid);

    registration.pid = pid;
    registration.start_time = gr_process_start_time(pid);
    message.register_ = &registration;
    links_message(f->links, &peer, pid, &message);
}

/* The pool says that it has a slot and, unless dead is 0, that this process has ended. */
static void
pool_says(struct fixture *f, pid_t dead, uint64_t start_time)
{
    Granary__Pool pool = GRANARY__POOL__INIT;
    Granary__Death death = GRANARY__DEATH__INIT;
    Granary__Death *deaths[] = {&death};
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    struct gr_zmq_peer peer = peer_of(POOL_PID);

    pool.pid = POOL_PID;
    pool.slots = 1;
    death.pid = dead;
    death.start_time = start_time;
    death.signal = SIGKILL;
    pool.deaths = deaths;
    pool.n_deaths = dead != 0;
    message.pool = &pool;
    links_message(f->links, &peer, POOL_PID, &message);
}

/*
 * While the scheduler sleeps an executor ends, the pool says so, and the next one comes: its descriptor may get the
 * number of the one that was found readable. It has not ended.
 */
static void
a_descriptor_may_be_another_ones_by_now(void **state)
{
    struct fixture *f = *state;
    pid_t old = start();
    uint64_t start_time = gr_process_start_time(old);
    pid_t new;
    int readable;
    int fd;

    pool_says(f, 0, 0);
    join(f, old);
    assert_int_equal(links_fds(f->links, &readable, 1), 1);
    end(old);
    pool_says(f, old, start_time);
    assert_int_equal(links_fds(f->links, NULL, 0), 0);
    new = start();
    join(f, new);
    assert_int_equal(links_fds(f->links, &fd, 1), 1);
    assert_int_equal(fd, readable);
    links_process_ended(f->links, readable);
    assert_int_equal(links_deadline(f->links), INT64_MAX);
    assert_int_equal(links_fds(f->links, &fd, 1), 1);
    assert_int_equal(fd, readable);
    end(new);
    links_process_ended(f->links, readable);
    assert_int_equal(links_fds(f->links, &fd, 1), 1);
    assert_int_equal(fd, -1); /* why is waited for */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_descriptor_may_be_another_ones_by_now, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
