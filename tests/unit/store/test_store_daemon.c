/* granary-store as a process: starting, refusing to start, stopping, dying, and starting after that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "live.h"

struct daemon {
    pid_t pid;
    char said[1300]; /* to its ready-fd */
};

static void
daemon_exec(const struct live *live, const char *memory, int ready, bool die_with_parent)
{
    const char *bin = getenv("GRANARY_BIN");
    char program[512], fd[16];

    (void)snprintf(program, sizeof program, "%s/granary-store", bin);
    (void)snprintf(fd, sizeof fd, "%d", ready);
    (void)setenv("GRANARY_LOG", "error", 1);
    (void)execl(program, "granary-store", "--instance", live->instance, "--memory", memory, "--spill-dir", live->spill,
                "--ready-fd", fd, die_with_parent ? "--die-with-parent" : NULL, NULL);
    _exit(127);
}

/* Start one and read what it says. */
static void
daemon_start(struct daemon *daemon, const struct live *live, const char *memory)
{
    size_t size = 0;
    ssize_t n;
    int ready[2];

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    daemon->pid = fork();
    if (daemon->pid == 0) {
        (void)fcntl(ready[1], F_SETFD, 0);
        daemon_exec(live, memory, ready[1], false);
    }
    (void)close(ready[1]);
    while ((n = read(ready[0], daemon->said + size, sizeof daemon->said - 1 - size)) > 0) {
        size += (size_t)n;
    }
    daemon->said[size] = '\0';
    (void)close(ready[0]);
}

static int
daemon_wait(const struct daemon *daemon)
{
    int status = 0;

    assert_int_equal(waitpid(daemon->pid, &status, 0), daemon->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void
stops_and_leaves_nothing(void **state)
{
    struct daemon daemon;
    granary_client *client;
    struct live live;

    (void)state;
    live_init(&live);
    daemon_start(&daemon, &live, "4M");
    assert_string_equal(daemon.said, "READY\n");
    client = live_connect(&live, NULL);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(live_put(client, i, 1 << 20), GRANARY_OK);
    }
    assert_int_equal(live_verify(client, 0, 1 << 20), GRANARY_OK);
    (void)kill(daemon.pid, SIGTERM);
    assert_int_equal(daemon_wait(&daemon), 0);
    assert_int_equal(live_shm_files(&live), 0);
    assert_int_not_equal(access(live.instance, F_OK), 0);
    granary_disconnect(client);
    live_fini(&live);
}

static void
second_store_is_refused(void **state)
{
    struct daemon first, second;
    struct live live;

    (void)state;
    live_init(&live);
    daemon_start(&first, &live, "4M");
    daemon_start(&second, &live, "4M");
    assert_int_equal(strncmp(second.said, "ERROR 1 ", 8), 0);
    assert_non_null(strstr(second.said, live.instance));
    assert_int_equal(daemon_wait(&second), 1);
    granary_disconnect(live_connect(&live, NULL));
    (void)kill(first.pid, SIGINT);
    assert_int_equal(daemon_wait(&first), 0);
    live_fini(&live);
}

static void
too_large_a_budget_is_refused(void **state)
{
    struct daemon daemon;
    struct live live;

    (void)state;
    live_init(&live);
    daemon_start(&daemon, &live, "9999G");
    assert_int_equal(strncmp(daemon.said, "ERROR 5 ", 8), 0);
    assert_non_null(strstr(daemon.said, "--memory"));
    assert_non_null(strstr(daemon.said, "remount"));
    assert_non_null(strstr(daemon.said, "10736344498176"));
    assert_int_equal(daemon_wait(&daemon), 5);
    daemon_start(&daemon, &live, "1000");
    assert_int_equal(strncmp(daemon.said, "ERROR 2 ", 8), 0);
    assert_int_equal(daemon_wait(&daemon), 2);
    live_fini(&live);
}

/* kill -9 loses nothing: the next store of the instance has every object, in memory and on disk. */
static void
the_next_store_adopts_what_a_killed_one_had(void **state)
{
    struct daemon daemon;
    granary_client *client;
    struct live live;

    (void)state;
    live_init(&live);
    daemon_start(&daemon, &live, "4M");
    client = live_connect(&live, NULL);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(live_put(client, i, 1 << 20), GRANARY_OK);
    }
    (void)kill(daemon.pid, SIGKILL);
    assert_int_equal(daemon_wait(&daemon), 128 + SIGKILL);
    granary_disconnect(client);
    assert_true(live_shm_files(&live) > 0);
    daemon_start(&daemon, &live, "4M");
    assert_string_equal(daemon.said, "READY\n");
    client = live_connect(&live, NULL);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(live_verify(client, i, 1 << 20), GRANARY_OK);
    }
    assert_int_equal(live_put(client, 1, 1000), GRANARY_EEXIST);
    assert_int_equal(live_put(client, 20, 1000), GRANARY_OK);
    granary_disconnect(client);
    (void)kill(daemon.pid, SIGTERM);
    assert_int_equal(daemon_wait(&daemon), 0);
    live_fini(&live);
}

/* --die-with-parent: when the process that started it is killed, the store stops in order. */
static void
dies_with_its_parent(void **state)
{
    struct live live;
    pid_t parent;
    char byte;
    int ready[2];

    (void)state;
    live_init(&live);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    parent = fork();
    if (parent == 0) {
        if (fork() == 0) {
            (void)fcntl(ready[1], F_SETFD, 0);
            daemon_exec(&live, "4M", ready[1], true);
        }
        for (;;) {
            (void)pause();
        }
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    {
        int status;

        assert_true(wait(&status) > 0); /* the orphaned store came to us */
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_not_equal(access(live.instance, F_OK), 0);
    live_fini(&live);
}

/* Clients in great number, all there at once. */
static void
a_thousand_clients(void **state)
{
    enum { CLIENTS = 1000 };
    granary_client **clients = calloc(CLIENTS, sizeof(granary_client *));
    struct daemon daemon;
    struct live live;

    (void)state;
    live_init(&live);
    daemon_start(&daemon, &live, "64M");
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = live_connect(&live, NULL);
    }
    for (unsigned i = 0; i < CLIENTS; i += 50) {
        assert_int_equal(live_put(clients[i], i, 1000), GRANARY_OK);
        assert_int_equal(live_verify(clients[CLIENTS - 1 - i], i, 1000), GRANARY_OK);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        granary_disconnect(clients[i]);
    }
    (void)kill(daemon.pid, SIGTERM);
    assert_int_equal(daemon_wait(&daemon), 0);
    free(clients);
    live_fini(&live);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_and_leaves_nothing),      cmocka_unit_test(second_store_is_refused),
        cmocka_unit_test(too_large_a_budget_is_refused), cmocka_unit_test(the_next_store_adopts_what_a_killed_one_had),
        cmocka_unit_test(dies_with_its_parent),          cmocka_unit_test(a_thousand_clients),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
