/* The pool's life: executors that die are replaced, and none outlives it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "contract/executor_page.h"
#include "unit/executor/pool_fixture.h"

static struct pool_test test;

static void
every_slot_registers_once(void **state)
{
    unsigned slots = 0;

    (void)state;
    pool_test_start(&test, 4);
    for (size_t i = 0; i < test.count; i++) {
        slots |= 1u << test.executors[i].slot;
    }
    assert_int_equal(test.count, 4);
    assert_int_equal(slots, 15);
    pool_test_stop(&test);
}

static void
a_killed_executor_is_replaced(void **state)
{
    (void)state;
    pool_test_start(&test, 2);
    for (int round = 0; round < 5; round++) { /* in a row, so the pause between begins to grow */
        size_t victim = test.count - 1;
        size_t next;

        assert_int_equal(kill(test.executors[victim].pid, SIGKILL), 0);
        next = pool_next_registration(&test);
        assert_int_equal(test.executors[next].slot, test.executors[victim].slot);
        assert_int_not_equal(test.executors[next].pid, test.executors[victim].pid);
        pool_run(&test, next, (uint64_t)round, NULL, 0);
        granary__done__free_unpacked(pool_next_done(&test), NULL);
    }
    pool_test_stop(&test);
}

/* It works all the same. What the log says of it was written before it registered. */
static void
an_executor_without_a_page_says_why(void **state)
{
    char path[160], text[20000] = "";
    int log = memfd_create("log", MFD_CLOEXEC);
    int saved = dup(STDERR_FILENO);
    int fd;

    (void)state;
    assert_int_equal(dup2(log, STDERR_FILENO), STDERR_FILENO);
    (void)setenv("GRANARY_LOG", "warn", 1);
    pool_test_start(&test, 1);
    (void)unsetenv("GRANARY_LOG");
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    (void)snprintf(path, sizeof path, "%s/" GR_EXECUTOR_PAGES, test.instance.runtime);
    gr_remove_tree(path);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(kill(test.executors[0].pid, SIGKILL), 0);
    pool_run(&test, pool_next_registration(&test), 3, NULL, 0);
    granary__done__free_unpacked(pool_next_done(&test), NULL);
    assert_true(pread(log, text, sizeof text - 1, 0) > 0);
    assert_non_null(strstr(text, "EXECUTOR-PAGE slot=0"));
    assert_non_null(strstr(text, "/" GR_EXECUTOR_PAGES ": not a directory"));
    gr_fd_close(&fd);
    gr_fd_close(&saved);
    gr_fd_close(&log);
    pool_test_stop(&test);
}

static void
executors_die_with_a_killed_pool(void **state)
{
    (void)state;
    pool_test_start(&test, 3);
    assert_int_equal(kill(test.pool, SIGKILL), 0);
    assert_int_equal(waitpid(test.pool, NULL, 0), test.pool);
    test.pool = 0;
    for (size_t i = 0; i < test.count; i++) {
        pool_wait_gone(test.executors[i].pid);
    }
    pool_test_stop(&test);
}

/* Also one that does not react to SIGTERM, because it is stopped. */
static void
a_stopped_executor_is_no_obstacle(void **state)
{
    (void)state;
    pool_test_start(&test, 2);
    assert_int_equal(kill(test.executors[1].pid, SIGSTOP), 0);
    pool_test_stop(&test);
}

static void
told_to_die_it_leaves_and_stays_away(void **state)
{
    Granary__ToExecutor message = GRANARY__TO_EXECUTOR__INIT;

    (void)state;
    pool_test_start(&test, 2);
    message.die = true;
    pool_send(&test, 0, &message);
    pool_wait_gone(test.executors[0].pid);
    /* The other one works on. */
    pool_run(&test, 1, 7, NULL, 0);
    granary__done__free_unpacked(pool_next_done(&test), NULL);
    assert_int_equal(test.count, 2);
    pool_test_stop(&test);
}

/* The endpoint is bound anew, as by a scheduler that was killed and started again. */
static void
executors_register_with_a_new_scheduler(void **state)
{
    (void)state;
    pool_test_start(&test, 2);
    pool_rebind(&test);
    (void)pool_next_registration(&test);
    (void)pool_next_registration(&test);
    assert_true(test.executors[2].pid == test.executors[0].pid || test.executors[2].pid == test.executors[1].pid);
    pool_run(&test, 3, 8, NULL, 0);
    granary__done__free_unpacked(pool_next_done(&test), NULL);
    test.count = 2; /* the same processes */
    pool_test_stop(&test);
}

/* As a scheduler does whose process that is. */
static void
lock_as(pid_t pid)
{
    char path[160];
    FILE *lock;

    (void)snprintf(path, sizeof path, "%s/sched.lock", test.instance.runtime);
    lock = fopen(path, "we");
    assert_non_null(lock);
    (void)fprintf(lock, "%d %llu\n", (int)pid, (unsigned long long)gr_process_start_time(pid));
    assert_int_equal(fclose(lock), 0);
}

/* Each thread of it comes to that by itself. */
static void
stop_wholly(pid_t pid)
{
    char path[64];
    bool whole;

    assert_int_equal(kill(pid, SIGSTOP), 0);
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    do {
        DIR *threads = opendir(path);
        const struct dirent *thread;

        assert_non_null(threads);
        whole = true;
        while ((thread = readdir(threads)) != NULL) {
            char stat[400] = "";
            FILE *file;

            (void)snprintf(stat, sizeof stat, "%s/%s/stat", path, thread->d_name);
            file = thread->d_name[0] == '.' ? NULL : fopen(stat, "re");
            if (file != NULL) {
                whole = fgets(stat, sizeof stat, file) != NULL && strstr(stat, ") T ") != NULL && whole;
                (void)fclose(file);
            }
        }
        (void)closedir(threads);
    } while (!whole);
}

/* The next scheduler does not wait for ever: what was not claimed it has given to others. */
static void
who_was_stopped_does_not_do_a_dead_schedulers_work(void **state)
{
    Granary__Done *done;
    pid_t scheduler = fork();

    (void)state;
    if (scheduler == 0) {
        _exit(pause());
    }
    pool_test_start(&test, 1);
    lock_as(scheduler);
    pool_rebind(&test); /* who registers looks who that is */
    assert_int_equal(pool_next_registration(&test), 1);
    stop_wholly(test.executors[1].pid);
    pool_run(&test, 1, 8, NULL, 0);
    (void)nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 200000000}, NULL); /* WORKER_AWAY_NS, and some */
    assert_int_equal(kill(scheduler, SIGKILL), 0);
    assert_int_equal(waitpid(scheduler, NULL, 0), scheduler);
    pool_rebind(&test);
    lock_as(getpid());
    assert_int_equal(kill(test.executors[1].pid, SIGCONT), 0);
    pool_run(&test, pool_next_registration(&test), 9, NULL, 0);
    done = pool_next_done(&test);
    assert_int_equal(done->number, 9);
    granary__done__free_unpacked(done, NULL);
    test.count = 1; /* the same process */
    pool_test_stop(&test);
}

/* It is answered by one scheduler, and finds the answer when another one has bound the endpoint. */
static void
a_late_answer_is_no_registration_with_the_next_scheduler(void **state)
{
    (void)state;
    pool_test_start(&test, 1);
    test.stop_registering = true;
    assert_int_equal(kill(test.executors[0].pid, SIGKILL), 0);
    (void)pool_next_registration(&test);
    pool_await_deaths(&test, 1);
    test.stop_registering = false;
    pool_rebind(&test);
    assert_int_equal(kill(test.executors[1].pid, SIGCONT), 0);
    assert_int_equal(test.executors[pool_next_registration(&test)].pid, test.executors[1].pid);
    pool_run(&test, 2, 8, NULL, 0);
    granary__done__free_unpacked(pool_next_done(&test), NULL);
    test.count = 2; /* the same process */
    pool_test_stop(&test);
}

/* How each process ended; all of it again to a scheduler that comes later. */
static void
the_pool_tells_of_each_death(void **state)
{
    Granary__ToExecutor message = GRANARY__TO_EXECUTOR__INIT;

    (void)state;
    pool_test_start(&test, 2);
    pool_await_slots(&test, 2);
    assert_int_equal(kill(test.executors[0].pid, SIGABRT), 0);
    pool_await_deaths(&test, 1);
    assert_int_equal(test.deaths[0].pid, test.executors[0].pid);
    assert_int_equal(test.deaths[0].signal, SIGABRT);
    (void)pool_next_registration(&test);
    message.die = true;
    pool_send(&test, 1, &message);
    pool_await_deaths(&test, 2);
    assert_int_equal(test.deaths[1].pid, test.executors[1].pid);
    assert_int_equal(test.deaths[1].signal, 0);
    assert_int_equal(test.deaths[1].status, 0);
    pool_await_slots(&test, 1); /* that slot is gone */
    pool_rebind(&test);
    test.slots = 0;
    pool_await_deaths(&test, 4);
    assert_int_equal(test.deaths[2].pid, test.executors[0].pid);
    assert_int_equal(test.deaths[3].pid, test.executors[1].pid);
    assert_int_equal(test.slots, 1);
    (void)pool_next_registration(&test);
    test.count = 3; /* the last one is the same process */
    pool_test_stop(&test);
}

/* Slots come and go; an executor told to make room for another one is replaced; an older scheduler is not obeyed. */
static void
slots_are_added_and_executors_replaced(void **state)
{
    Granary__ToExecutor message = GRANARY__TO_EXECUTOR__INIT;
    Granary__PoolOrder add = GRANARY__POOL_ORDER__INIT;
    size_t next;

    (void)state;
    pool_test_start(&test, 1);
    pool_await_slots(&test, 1);
    add.verb = GRANARY__POOL_ORDER__VERB__ADD;
    add.count = 2;
    add.node = -1;
    pool_order(&test, &add, 5);
    pool_await_slots(&test, 3);
    (void)pool_next_registration(&test);
    (void)pool_next_registration(&test);
    pool_order(&test, &add, 4); /* of one that was replaced */
    message.die = true;
    message.replace = true;
    pool_send(&test, 1, &message);
    next = pool_next_registration(&test);
    assert_int_equal(test.executors[next].slot, test.executors[1].slot);
    assert_int_equal(test.deaths[0].status, 75);
    message.replace = false;
    pool_send(&test, next, &message);
    pool_await_slots(&test, 2);
    add.count = 1;
    pool_order(&test, &add, 5); /* takes the place that became free */
    assert_int_equal(test.executors[pool_next_registration(&test)].slot, test.executors[next].slot);
    assert_int_equal(test.slots, 3);
    pool_test_stop(&test);
}

static void
a_pool_of_nobody_is_ready(void **state)
{
    (void)state;
    pool_test_start(&test, 0);
    pool_await_slots(&test, 0);
    pool_test_stop(&test);
}

/* Executors that never become ready are given up, with pauses between them, and then the pool is. */
static void
another_version_is_refused_and_given_up(void **state)
{
    int status;

    (void)state;
    pool_test_start(&test, 1);
    test.refuse = true;
    assert_int_equal(kill(test.executors[0].pid, SIGKILL), 0);
    for (int i = 0; i < 10; i++) {
        size_t next = pool_next_registration(&test);

        assert_int_not_equal(test.executors[next].pid, test.executors[next - 1].pid);
    }
    assert_int_equal(waitpid(test.pool, &status, 0), test.pool);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    test.pool = 0;
    pool_test_stop(&test);
}

static void
without_a_store_the_pool_says_why(void **state)
{
    char directory[] = "/tmp/granary-test-XXXXXX";
    char line[1200];
    int status;
    int fd;
    pid_t pid;

    (void)state;
    assert_non_null(mkdtemp(directory));
    pid = pool_spawn(directory, 2, false, &fd);
    pool_said(fd, line);
    (void)close(fd);
    assert_memory_equal(line, "ERROR 3 ", 8);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    assert_int_equal(rmdir(directory), 0);
}

/* The pool's parent dies at once: the pool leaves, and its executors with it. */
static void
the_pool_leaves_with_its_parent(void **state)
{
    pid_t pids[3];
    pid_t middle;
    int ends[2];

    (void)state;
    pool_test_start(&test, 1);
    assert_int_equal(pipe(ends), 0);
    middle = fork();
    if (middle == 0) {
        int fd;
        pid_t pool = pool_spawn(test.store.directory, 1, true, &fd);

        _exit(write(ends[1], &pool, sizeof pool) == (ssize_t)sizeof pool && pause() == 0);
    }
    assert_int_equal(read(ends[0], &pids[0], sizeof pids[0]), sizeof pids[0]);
    (void)pool_next_registration(&test);
    assert_int_equal(kill(middle, SIGKILL), 0);
    assert_int_equal(waitpid(middle, NULL, 0), middle);
    pool_wait_gone(pids[0]);
    pool_wait_gone(test.executors[1].pid);
    (void)close(ends[0]);
    (void)close(ends[1]);
    pool_test_stop(&test);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_slot_registers_once),
        cmocka_unit_test(a_killed_executor_is_replaced),
        cmocka_unit_test(an_executor_without_a_page_says_why),
        cmocka_unit_test(executors_die_with_a_killed_pool),
        cmocka_unit_test(a_stopped_executor_is_no_obstacle),
        cmocka_unit_test(told_to_die_it_leaves_and_stays_away),
        cmocka_unit_test(executors_register_with_a_new_scheduler),
        cmocka_unit_test(who_was_stopped_does_not_do_a_dead_schedulers_work),
        cmocka_unit_test(a_late_answer_is_no_registration_with_the_next_scheduler),
        cmocka_unit_test(the_pool_tells_of_each_death),
        cmocka_unit_test(slots_are_added_and_executors_replaced),
        cmocka_unit_test(a_pool_of_nobody_is_ready),
        cmocka_unit_test(another_version_is_refused_and_given_up),
        cmocka_unit_test(without_a_store_the_pool_says_why),
        cmocka_unit_test(the_pool_leaves_with_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
