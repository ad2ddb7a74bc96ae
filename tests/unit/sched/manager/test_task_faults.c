/* What becomes of graphs when their subtasks fail, executors die, objects are lost and memory is short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/id.h"
#include "graph/graph.h"
#include "manager_rig.h"
#include "unit/sched/build.h"

#define SECOND INT64_C(1000000000)

static void
a_user_error_fails_the_graph(void **state)
{
    struct rig *rig = rig_create(2);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("a make", "b make", "!c make a b")), GRANARY_OK);
    (void)wait_for(rig, "k", -1, 0);
    succeed(rig, "a");
    report(rig, "b", GRANARY_ETYPE, "no number", NULL);
    assert_string_equal(rig->replied, "1=OK 2=ETYPE ");
    assert_string_equal(rig->last->message, "node 'b': no number");
    assert_int_equal(rig->last->status->state, GRANARY_GRAPH_FAILED);
    assert_true(freed(rig, "k", 0));
    assert_int_equal(rig->count, 0);
    /* It is told again, and to those who come later. */
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_ETYPE);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "k", "c"), GRANARY_ESTATE);
    rig_destroy(rig);
}

/* An error number nobody knows is a failure, and the executor's own "node ..." is not repeated. */
static void
strange_errors_are_failures(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    report(rig, "a", (granary_err)-999, "node 'a': what", NULL);
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_EFAILED);
    assert_string_equal(rig->last->message, "node 'a': what");
    assert_int_equal(submit(rig, "l", LINES("!b make")), GRANARY_OK);
    report(rig, "b", (granary_err)1, "", NULL);
    assert_int_equal(wait_for(rig, "l", -1, 0), GRANARY_EFAILED);
    assert_string_equal(rig->last->message, "node 'b': the work failed");
    rig_destroy(rig);
}

/* A dead executor's subtasks run elsewhere; what it reports later is not believed. */
static void
a_dead_executor(void **state)
{
    struct rig *rig = rig_create(1);
    Granary__Done done = GRANARY__DONE__INIT;

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    done.number = rig->given[0].number;
    done.attempt = 1;
    manager_executor_died(rig->manager, 1);
    rig->count = 0;
    turn(rig);
    assert_int_equal(rig->count, 0);
    manager_executor_joined(rig->manager, 2, 0, 77);
    turn(rig);
    assert_int_equal(rig->count, 1);
    assert_int_equal(rig->given[0].attempt, 2);
    manager_done(rig->manager, 1, &done); /* unknown executor */
    manager_done(rig->manager, 2, &done); /* old attempt */
    done.attempt = 2;
    done.number = 99ull << 32;
    manager_done(rig->manager, 2, &done); /* no such graph */
    done.number = 1ull << 32 | 99;
    manager_done(rig->manager, 2, &done); /* no such subtask */
    turn(rig);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_RUNNING);
    succeed(rig, "a");
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(rig->last->status->retries, 1);
    manager_executor_died(rig->manager, 1);
    manager_executor_died(rig->manager, 55);
    rig_destroy(rig);
}

/*
 * Its connection broke, and it registers with the same scheduler again, as another number: what it has at hand it may
 * be running, and nobody else is given that.
 */
static void
who_connects_anew_keeps_its_work(void **state)
{
    struct rig *rig = rig_create(2);
    Granary__Register registration = GRANARY__REGISTER__INIT;
    uint64_t number;
    uint32_t attempt = 1;

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make", "!b make")), GRANARY_OK);
    assert_int_equal(given_to(rig, "a")->executor, 1);
    number = given_to(rig, "a")->number;
    registration.queued = &number;
    registration.attempts = &attempt;
    registration.n_queued = registration.n_attempts = 1;
    manager_executor_left(rig->manager, 1);
    manager_executor_joined(rig->manager, 3, 0, 1001);
    manager_executor_claims(rig->manager, 3, &registration);
    turn(rig);
    assert_int_equal(rig->count, 2);
    assert_string_equal(rig->cancelled, "");
    given_to(rig, "a")->executor = 3;
    succeed(rig, "a");
    succeed(rig, "b");
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    /* An attempt that nobody gave is no claim. */
    assert_int_equal(submit(rig, "l", LINES("!a make")), GRANARY_OK);
    number = given_to(rig, "a")->number;
    attempt = 2;
    manager_executor_left(rig->manager, given_to(rig, "a")->executor);
    rig->count = 0;
    manager_executor_joined(rig->manager, 4, 0, 1001);
    manager_executor_claims(rig->manager, 4, &registration);
    turn(rig);
    assert_string_equal(rig->cancelled, "4:1 ");
    assert_int_equal(given_to(rig, "a")->attempt, 2);
    succeed(rig, "a");
    assert_int_equal(state_of(rig, "l"), GRANARY_GRAPH_SUCCEEDED);
    rig_destroy(rig);
}

/* A report of a subtask's first attempt, which nobody waits for any more; node "a" is number 0. */
static void
report_late(struct rig *rig, uint64_t graph, uint32_t number, const char *session)
{
    granary_id id = fake_plan_object("k", number);
    Granary__Output output = GRANARY__OUTPUT__INIT;
    Granary__Done done = GRANARY__DONE__INIT;

    output.id = (ProtobufCBinaryData){.len = 16, .data = id.bytes};
    done.number = graph << 32 | number;
    done.attempt = 1;
    done.n_outputs = 1;
    done.outputs = (Granary__Output *[]){&output};
    done.session = (char *)(uintptr_t)session;
    rig->freed[0] = '\0';
    manager_done(rig->manager, 2, &done);
    turn(rig);
}

/* Who stood still while others did its work makes again what was freed: it is freed again, unless somebody needs it. */
static void
what_comes_too_late_is_freed(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("a make", "b make a", "!c make b")), GRANARY_OK);
    manager_executor_died(rig->manager, 1);
    rig->count = 0;
    manager_executor_joined(rig->manager, 2, 0, 77);
    turn(rig);
    report_late(rig, 1, 0, "");
    assert_false(freed(rig, "k", 0)); /* the other attempt is under way */
    succeed(rig, "a");
    report_late(rig, 1, 0, "");
    assert_false(freed(rig, "k", 0)); /* it is to be read */
    succeed(rig, "b");
    report_late(rig, 1, 0, "");
    assert_true(freed(rig, "k", 0));
    succeed(rig, "c");
    report_late(rig, 1, 0, "");
    assert_true(freed(rig, "k", 0));
    report_late(rig, 1, 2, "s");
    assert_false(freed(rig, "k", 2)); /* it is the result */
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "k", ""), GRANARY_OK);
    report_late(rig, 1, 2, "s");
    assert_true(freed(rig, "k", 2));
    report_late(rig, 1, 2, ""); /* of nobody knows which session */
    report_late(rig, 1, 2, "no\nname");
    assert_string_equal(rig->freed, "");
    rig_destroy(rig);
}

/* What an earlier scheduler gave, and nobody told of: it may have been made, and goes with its graph. */
static void
what_was_given_before_goes_with_its_graph(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    restore(rig, "l", "l~7", 7, LINES("!a make"));
    assert_int_equal(manager_restore_start(rig->manager), 1);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "l", ""), GRANARY_OK);
    manager_claims_end(rig->manager);
    turn(rig);
    assert_int_equal(rig->count, 0);
    assert_true(freed(rig, "l~7", 0));
    rig_destroy(rig);
}

/* An executor that was told to free objects and died may not have done so: the next one is told again. */
static void
frees_are_not_lost_with_an_executor(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("a make", "!b make a", "!c make b")), GRANARY_OK);
    succeed(rig, "a");
    succeed(rig, "b"); /* now a is freed */
    assert_true(freed(rig, "k", 0));
    rig->freed[0] = '\0';
    manager_executor_died(rig->manager, 1);
    rig->count = 0;
    manager_executor_joined(rig->manager, 2, 0, 1);
    turn(rig);
    assert_true(freed(rig, "k", 0));
    rig->freed[0] = '\0';
    /* It has answered what it was sent behind the free: that is done. */
    succeed(rig, "c");
    manager_executor_died(rig->manager, 2);
    manager_executor_joined(rig->manager, 3, 0, 1);
    turn(rig);
    assert_string_equal(rig->freed, "");
    rig_destroy(rig);
}

/* Three executors die at one subtask: its graph fails and names it, the others' do not. */
static void
poison_is_named(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make", "b make", "!c make b")), GRANARY_OK);
    succeed(rig, "a");
    assert_int_equal(submit(rig, "l", LINES("!z make")), GRANARY_OK);
    for (uint32_t i = 1; i <= 3; i++) {
        while (given_to(rig, "b") == NULL) {
            assert_true(rig->count > 0);
            succeed(rig, rig->given[0].node);
        }
        manager_executor_died(rig->manager, given_to(rig, "b")->executor);
        rig->count = 0;
        manager_executor_joined(rig->manager, 1 + i, 0, 1);
        turn(rig);
    }
    succeed_all(rig);
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_ELOST);
    assert_string_equal(rig->last->message, "node 'b': 3 executors died running it");
    assert_int_equal(state_of(rig, "l"), GRANARY_GRAPH_SUCCEEDED);
    rig_destroy(rig);
}

/* In a batch only the one at work is blamed, and after a death each runs alone until it is known to be harmless. */
static void
a_batch_is_not_blamed_for_one(void **state)
{
    struct rig *rig = rig_create(1);
    char names[20][8];
    char text[20][32];
    const char *lines[20];
    uint32_t executor = 1;

    (void)state;
    for (int i = 0; i < 20; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%d", i);
        (void)snprintf(text[i], sizeof text[i], "n%d null", i);
        lines[i] = text[i];
    }
    assert_int_equal(submit(rig, "k", lines, 20), GRANARY_OK);
    succeed(rig, "n0"); /* now it is known to be short: the rest comes in one message */
    assert_int_equal(rig->count, 19);
    assert_int_equal(rig->messages, 2);
    /* n5 kills every executor, at the moment it is at work. */
    for (int deaths = 0; deaths < 3;) {
        if (rig->count > 0 && strcmp(rig->given[0].node, "n5") != 0) {
            succeed(rig, rig->given[0].node);
            continue;
        }
        assert_non_null(given_to(rig, "n5"));
        manager_executor_died(rig->manager, executor);
        rig->count = 0;
        deaths++;
        manager_executor_joined(rig->manager, ++executor, 0, 1);
        turn(rig);
    }
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_ELOST);
    assert_string_equal(rig->last->message, "node 'n5': 3 executors died running it");
    rig_destroy(rig);
}

static void
no_room_waits_for_others(void **state)
{
    struct rig *rig = rig_create(2);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make", "!b make")), GRANARY_OK);
    report(rig, "b", GRANARY_EFULL, "memory full", NULL);
    assert_null(given_to(rig, "b"));
    succeed(rig, "a");
    assert_non_null(given_to(rig, "b"));
    /* Alone, and still no room: each try has waited, so two are enough. */
    for (int i = 0; i < 2; i++) {
        assert_non_null(given_to(rig, "b"));
        report(rig, "b", GRANARY_EFULL, "memory full", NULL);
    }
    assert_null(given_to(rig, "b"));
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_EFULL);
    assert_string_equal(rig->last->message, "node 'b': memory full");
    rig_destroy(rig);
}

/* The next one that somebody has finds no room. */
static void
report_full(struct rig *rig, int64_t now_ns)
{
    assert_int_not_equal(rig->count, 0);
    manager_expire(rig->manager, now_ns);
    report(rig, rig->given[0].node, GRANARY_EFULL, "memory full", NULL);
}

/* All wait for room that only others could make: the graph fails, and not after as many waits as it has subtasks. */
static void
no_room_ends_when_nobody_makes_any(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make", "!b make", "!c make", "!d make", "!e make", "!f make")),
                     GRANARY_OK);
    succeed(rig, rig->given[0].node);
    report_full(rig, 0);
    report_full(rig, 0); /* nobody has waited yet, and others stand behind it */
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_RUNNING);
    succeed(rig, rig->given[0].node); /* which made room */
    report_full(rig, 60 * SECOND);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_RUNNING);
    report_full(rig, 90 * SECOND);
    assert_int_equal(wait_for(rig, "k", -1, 90 * SECOND), GRANARY_EFULL);
    assert_non_null(strstr(rig->last->message, "memory full"));
    rig_destroy(rig);
}

/* The same beside another executor, which is at work. */
static void
no_room_waits_while_others_work(void **state)
{
    struct rig *rig = rig_create(2);
    uint32_t full;

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make", "!b make", "!c make", "!d make", "!e make")), GRANARY_OK);
    full = rig->given[0].executor;
    for (int64_t minute = 1; minute <= 3; minute++) {
        assert_int_equal(rig->given[0].executor, full);
        report_full(rig, minute * 60 * SECOND);
        for (size_t i = 0; i < rig->count && rig->given[0].executor != full; i++) { /* its next one */
            const struct given first = rig->given[0];

            memmove(rig->given, rig->given + 1, (rig->count - 1) * sizeof first);
            rig->given[rig->count - 1] = first;
        }
    }
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_RUNNING);
    succeed_all(rig);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    rig_destroy(rig);
}

static void
inputs_larger_than_memory_fail_at_once(void **state)
{
    struct rig *rig = rig_create(2);
    char lines[13][64] = {"a0 make"};
    const char *pointers[13];

    (void)state;
    /* Memory is 1000 bytes, and every output has 100: ten of them may be inputs at once, eleven may not. */
    for (int i = 0; i < 11; i++) {
        (void)snprintf(lines[i], sizeof lines[i], "a%d make", i);
    }
    (void)snprintf(lines[11], sizeof lines[11], "!ten make a0 a1 a2 a3 a4 a5 a6 a7 a8 a9");
    (void)snprintf(lines[12], sizeof lines[12], "!all make a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 a10");
    for (int i = 0; i < 13; i++) {
        pointers[i] = lines[i];
    }
    assert_int_equal(submit(rig, "ten", pointers, 12), GRANARY_OK);
    succeed_all(rig);
    assert_int_equal(state_of(rig, "ten"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(submit(rig, "k", pointers, 13), GRANARY_OK);
    succeed_all(rig);
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_EFULL);
    assert_non_null(strstr(rig->last->message, "node 'all': needs inputs of 1100 bytes"));
    for (uint64_t i = 0; i < 11; i++) {
        assert_true(freed(rig, "k", i));
    }
    assert_false(freed(rig, "k", 11)); /* a target that is there stays until the graph is deleted */
    assert_int_equal(submit(rig, "m", LINES("!a make")), GRANARY_OK);
    succeed_all(rig);
    assert_int_equal(state_of(rig, "m"), GRANARY_GRAPH_SUCCEEDED);
    rig_destroy(rig);
}

static void
lost_inputs_are_made_again(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("a make", "b make a", "!c make b")), GRANARY_OK);
    succeed(rig, "a");
    succeed(rig, "b");
    report(rig, "c", GRANARY_ENOENT, "", "b");
    assert_non_null(given_to(rig, "a")); /* b's input was freed */
    succeed(rig, "a");
    succeed(rig, "b");
    succeed(rig, "c");
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    /* A missing file is an error, not a loss; neither is an object of somebody else. */
    assert_int_equal(submit(rig, "m", LINES("!a make")), GRANARY_OK);
    report(rig, "a", GRANARY_ENOENT, "no file", NULL);
    assert_int_equal(wait_for(rig, "m", -1, 0), GRANARY_ENOENT);
    assert_string_equal(rig->last->message, "node 'a': no file");
    assert_int_equal(submit(rig, "n", LINES("!a make")), GRANARY_OK);
    report(rig, "a", GRANARY_ENOENT, "", "z");
    assert_int_equal(wait_for(rig, "n", -1, 0), GRANARY_ENOENT);
    rig_destroy(rig);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_error_fails_the_graph),
        cmocka_unit_test(strange_errors_are_failures),
        cmocka_unit_test(a_dead_executor),
        cmocka_unit_test(who_connects_anew_keeps_its_work),
        cmocka_unit_test(what_comes_too_late_is_freed),
        cmocka_unit_test(what_was_given_before_goes_with_its_graph),
        cmocka_unit_test(frees_are_not_lost_with_an_executor),
        cmocka_unit_test(poison_is_named),
        cmocka_unit_test(a_batch_is_not_blamed_for_one),
        cmocka_unit_test(no_room_waits_for_others),
        cmocka_unit_test(no_room_ends_when_nobody_makes_any),
        cmocka_unit_test(no_room_waits_while_others_work),
        cmocka_unit_test(inputs_larger_than_memory_fail_at_once),
        cmocka_unit_test(lost_inputs_are_made_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
