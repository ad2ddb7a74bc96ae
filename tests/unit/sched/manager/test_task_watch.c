/* Kinds of failure: what takes too long or too much, kills its executor, or fails by itself. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manager_rig.h"
#include "unit/sched/build.h"

#define SECOND 1000000000ll
#define MIB    (1ull << 20)

/* Executor 1 is seen at the node's subtask. */
static void
see(struct rig *rig, const char *node, int64_t running_ns, uint64_t private_bytes, int64_t now_ns)
{
    const struct given *given = given_to(rig, node);

    assert_non_null(given);
    manager_watch(rig->manager, given->executor,
                  &(struct manager_seen){.subtask = given->number,
                                         .attempt = given->attempt,
                                         .running_ns = running_ns,
                                         .private_bytes = private_bytes},
                  now_ns);
    turn(rig);
}

struct death {
    uint64_t subtask;
    uint32_t attempt;
    int signal;
    const char *log;
};

/* The executor is gone, and another one is there. death may be NULL. */
static void
die(struct rig *rig, uint32_t number, const struct death *death)
{
    if (death != NULL) {
        manager_executor_death(rig->manager, number, death->signal, 0);
        manager_executor_was_at(rig->manager, number, death->subtask, death->attempt, death->log);
    }
    for (size_t i = 0; i < rig->count;) {
        if (rig->given[i].executor == number) {
            rig->given[i] = rig->given[--rig->count];
        } else {
            i++;
        }
    }
    manager_executor_died(rig->manager, number);
    manager_executor_joined(rig->manager, number + 10, 0, 2000 + number);
    turn(rig);
}

/* Asked first, killed two seconds later: the subtask fails with its limit, and what was behind it runs elsewhere. */
static void
too_long_is_asked_then_killed(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_false(manager_watching(rig->manager));
    assert_int_equal(submit(rig, "k", LINES("!a user library=lib function=f timeout_ms=1000")), GRANARY_OK);
    assert_true(manager_watching(rig->manager));
    see(rig, "a", SECOND, 0, 0);
    assert_string_equal(rig->asked, "");
    see(rig, "a", 3 * SECOND / 2, 0, 0);
    assert_string_equal(rig->asked, "cancel 1:0 ");
    see(rig, "a", 3 * SECOND, 0, 2 * SECOND - 1);
    assert_string_equal(rig->asked, "cancel 1:0 ");
    see(rig, "a", 4 * SECOND, 0, 2 * SECOND);
    see(rig, "a", 4 * SECOND, 0, 2 * SECOND);
    assert_string_equal(rig->asked, "cancel 1:0 kill 1 ");
    die(rig, 1, NULL);
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_ETIMEDOUT);
    assert_string_equal(rig->last->message, "node 'a': function 'lib:f' ran 1.5 s, its limit is 1 s");
    assert_false(manager_watching(rig->manager));
    rig_destroy(rig);
}

/* A function that stops when it is asked costs no executor; its own error is not what is told. */
static void
who_stops_when_asked_is_not_killed(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a user function=f timeout_ms=1000 retries=1")), GRANARY_OK);
    see(rig, "a", 2 * SECOND, 0, 0);
    report(rig, "a", GRANARY_ECANCELLED, "stopped", NULL);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_RUNNING); /* it has a retry left */
    assert_int_equal(given_to(rig, "a")->attempt, 2);
    see(rig, "a", 10, 0, SECOND);
    assert_string_equal(rig->asked, "cancel 1:0 ");
    see(rig, "a", 2 * SECOND, 0, 3 * SECOND);
    report(rig, "a", GRANARY_ECANCELLED, "stopped", NULL);
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_ETIMEDOUT);
    assert_string_equal(rig->asked, "cancel 1:0 cancel 1:0 ");
    rig_destroy(rig);
}

/* One that is idle while it should be at work does not hear us, or we do not hear it. */
static void
who_never_begins_is_killed(void **state)
{
    struct rig *rig = rig_create(1);
    const struct manager_seen idle = {.idle = true, .running_ns = -1};

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a user function=f", "!b user function=f")), GRANARY_OK);
    manager_watch(rig->manager, 1, &idle, 0);
    manager_watch(rig->manager, 1, &idle, 14 * SECOND);
    report(rig, "a", GRANARY_OK, "", NULL); /* it has only been slow */
    manager_watch(rig->manager, 1, &idle, 15 * SECOND);
    manager_watch(rig->manager, 1, &idle, 30 * SECOND - 1);
    turn(rig);
    assert_string_equal(rig->asked, "");
    manager_watch(rig->manager, 1, &idle, 30 * SECOND);
    manager_watch(rig->manager, 1, &idle, 31 * SECOND);
    turn(rig);
    assert_string_equal(rig->asked, "kill 1 ");
    die(rig, 1, NULL);
    assert_int_equal(given_to(rig, "b")->executor, 11);
    rig_destroy(rig);
}

static void
too_much_memory_is_killed_at_once(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a user function=f memory=1048576")), GRANARY_OK);
    see(rig, "a", 1, MIB, 0);
    assert_string_equal(rig->asked, "");
    see(rig, "a", 1, 5 * MIB / 2, 0);
    assert_string_equal(rig->asked, "kill 1 ");
    die(rig, 1, NULL);
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_EFULL);
    assert_string_equal(rig->last->message,
                        "node 'a': function 'f' used 2.5 MiB of private memory, its limit is 1.0 MiB");
    rig_destroy(rig);
}

/* A graph has failed, and a function of it does not stop when it is asked: it does not keep its executor for ever. An
 * operator of our own is waited for. */
static void
what_a_failed_graph_left_is_ended(void **state)
{
    struct rig *rig = rig_create(3);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("a make", "b user function=f", "c make")), GRANARY_OK);
    report(rig, "a", GRANARY_ETYPE, "no", NULL);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_FAILED);
    assert_true(manager_watching(rig->manager));
    for (int64_t now = 0; now <= 10; now += 5) {
        see(rig, "b", SECOND, 0, now * SECOND);
        see(rig, "c", SECOND, 0, now * SECOND);
    }
    assert_string_equal(rig->asked, "cancel 2:1 cancel 3:2 kill 2 ");
    rig_destroy(rig);
}

/* An operator of our own has no limits: nobody looks. And what was reported meanwhile is not given up. */
static void
only_what_runs_is_judged(void **state)
{
    struct rig *rig = rig_create(1);
    struct manager_seen seen = {.running_ns = 5 * SECOND};

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("a user function=f timeout_ms=1", "!b make a")), GRANARY_OK);
    seen.subtask = given_to(rig, "a")->number;
    seen.attempt = 7;
    manager_watch(rig->manager, 1, &seen, 0);
    manager_watch(rig->manager, 9, &seen, 0);
    seen.attempt = 1;
    succeed(rig, "a");
    manager_watch(rig->manager, 1, &seen, 0);
    assert_false(manager_watching(rig->manager));
    see(rig, "b", 3600 * SECOND, 1ull << 40, 0);
    seen.subtask = UINT64_MAX;
    manager_watch(rig->manager, 1, &seen, 0);
    turn(rig);
    assert_string_equal(rig->asked, "");
    rig_destroy(rig);
}

/* User code says that it failed: at once, or after the retries it was given. */
static void
failing_by_itself(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a user function=f retries=2")), GRANARY_OK);
    for (uint32_t attempt = 1; attempt <= 3; attempt++) {
        assert_int_equal(given_to(rig, "a")->attempt, attempt);
        rig->user_failed = true;
        report(rig, "a", GRANARY_EFULL, "no", NULL); /* its word, not the store's */
    }
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_EFULL);
    assert_string_equal(rig->last->message, "node 'a': no");
    assert_int_equal(rig->last->status->retries, 2);
    rig_destroy(rig);
}

/* The page tells which of several was at work; why the process died, and what it printed last, are in the message. */
static void
the_one_at_work_is_blamed(void **state)
{
    struct rig *rig = rig_create(1);
    struct death death = {.attempt = 1, .signal = SIGSEGV, .log = "oops"};

    (void)state;
    /* Short ones share a message: a, b and c are at the executor together. */
    assert_int_equal(submit(rig, "k", LINES("n null", "a null n", "b null n", "c null n")), GRANARY_OK);
    succeed(rig, "n");
    assert_int_equal(rig->count, 3);
    for (int i = 0; i < 3; i++) {
        const struct given *b;

        while ((b = given_to(rig, "b")) == NULL) { /* they run alone from now on, in their order */
            succeed(rig, rig->given[0].node);
        }
        death.subtask = b->number;
        death.attempt = b->attempt;
        die(rig, b->executor, &death);
    }
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_ELOST);
    assert_string_equal(rig->last->message,
                        "node 'b': 3 executors died running it, the last killed by SIGSEGV; its output ends: oops");
    rig_destroy(rig);
}

/* A function that kills its executor in three different subtasks is given up, although none of them died three times;
 * but not when it is killed from outside, and not when it succeeds in between. */
static void
a_poisonous_function_is_named(void **state)
{
    const char *const nodes[] = {"a", "b", "c"};
    struct death death = {.signal = SIGSEGV};

    (void)state;
    for (int variant = 0; variant < 3; variant++) {
        struct rig *rig = rig_create(4);

        assert_int_equal(submit(rig, "k",
                                LINES("a user library=l function=f", "b user library=l function=f",
                                      "c user library=l function=f", "d user library=l function=f")),
                         GRANARY_OK);
        death.signal = variant == 1 ? SIGKILL : SIGSEGV;
        for (size_t i = 0; i < 3; i++) {
            const struct given *given = given_to(rig, nodes[i]);

            death.subtask = given->number;
            death.attempt = given->attempt;
            die(rig, given->executor, &death);
            if (variant == 2 && i == 1) {
                succeed(rig, "d");
            }
        }
        assert_int_equal(state_of(rig, "k"), variant == 0 ? GRANARY_GRAPH_FAILED : GRANARY_GRAPH_RUNNING);
        if (variant == 0) {
            assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_ELOST);
            assert_non_null(
                strstr(rig->last->message, "3 executors died running function 'l:f' in different subtasks"));
        }
        rig_destroy(rig);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_long_is_asked_then_killed),
        cmocka_unit_test(who_stops_when_asked_is_not_killed),
        cmocka_unit_test(who_never_begins_is_killed),
        cmocka_unit_test(too_much_memory_is_killed_at_once),
        cmocka_unit_test(only_what_runs_is_judged),
        cmocka_unit_test(what_a_failed_graph_left_is_ended),
        cmocka_unit_test(failing_by_itself),
        cmocka_unit_test(the_one_at_work_is_blamed),
        cmocka_unit_test(a_poisonous_function_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
