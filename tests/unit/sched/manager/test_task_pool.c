/* Executors come and go: orders to the pool, those that ask for their work, and who is blamed when one is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manager_rig.h"

static granary_err
order(struct rig *rig, Granary__PoolOrder__Verb verb, uint32_t number, int64_t now_ns)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__PoolOrder pool = GRANARY__POOL_ORDER__INIT;
    bool adds = verb == GRANARY__POOL_ORDER__VERB__ADD;

    message.body_case = GRANARY__REQUEST__BODY_POOL;
    message.pool = &pool;
    pool.verb = verb;
    pool.node = -1;
    pool.count = adds ? number : 0;
    pool.executors = &number;
    pool.n_executors = !adds && number != 0;
    pool.timeout_ms = 1000;
    rig->replied[0] = '\0';
    manager_request(rig->manager, ++rig->ticket, &message, now_ns);
    turn(rig);
    return rig->replied[0] == '\0' ? GRANARY_OK : (granary_err)rig->last->err;
}

/* Answered when the executors of the new slots are here. */
static void
adding_waits_for_executors(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(order(rig, GRANARY__POOL_ORDER__VERB__ADD, 2, 0), GRANARY_EUNREACHABLE); /* no pool yet */
    manager_pool_slots(rig->manager, 1, 1, 1);
    assert_int_equal(order(rig, GRANARY__POOL_ORDER__VERB__ADD, 0, 0), GRANARY_EINVAL);
    assert_int_equal(order(rig, GRANARY__POOL_ORDER__VERB__ADD, 1024, 0), GRANARY_EINVAL);
    (void)order(rig, GRANARY__POOL_ORDER__VERB__ADD, 2, 0);
    assert_int_equal(rig->added, 2);
    assert_string_equal(rig->replied, "");
    manager_executor_joined(rig->manager, 2, 0, 2);
    turn(rig);
    assert_string_equal(rig->replied, "");
    manager_pool_slots(rig->manager, 1, 3, 1);
    turn(rig);
    assert_string_equal(rig->replied, "");
    manager_executor_joined(rig->manager, 3, 0, 3);
    turn(rig);
    assert_non_null(strstr(rig->replied, "=OK"));
    rig_destroy(rig);
}

/* A pool that died comes back with fewer slots than there were: it is asked for the others. */
static void
another_pool_is_asked_for_the_others(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    manager_pool_slots(rig->manager, 1, 1, 1);
    (void)order(rig, GRANARY__POOL_ORDER__VERB__ADD, 3, 0);
    manager_pool_slots(rig->manager, 1, 4, 1);
    turn(rig);
    assert_int_equal(rig->added, 3);
    rig->added = 0;
    manager_pool_slots(rig->manager, 2, 1, 1);
    turn(rig);
    assert_int_equal(rig->added, 3);
    manager_pool_slots(rig->manager, 2, 4, 1);
    manager_pool_slots(rig->manager, 2, 4, 1);
    turn(rig);
    assert_int_equal(rig->added, 3);
    rig_destroy(rig);
}

/* It finishes what it has, gets nothing more, and is then told to leave. */
static void
a_drained_one_finishes_first(void **state)
{
    struct rig *rig = rig_create(2);
    uint32_t busy;

    (void)state;
    manager_pool_slots(rig->manager, 1, 2, 1);
    assert_int_equal(submit(rig, "k", LINES("!a make", "!b make a")), GRANARY_OK);
    busy = given_to(rig, "a")->executor;
    (void)order(rig, GRANARY__POOL_ORDER__VERB__DRAIN, busy, 0);
    assert_string_equal(rig->dismissed, "");
    succeed(rig, "a");
    assert_int_equal(given_to(rig, "b")->executor, 3 - busy);
    assert_string_equal(rig->dismissed, busy == 1 ? "1 " : "2 ");
    assert_string_equal(rig->replied, "");
    manager_executor_died(rig->manager, busy);
    turn(rig);
    assert_non_null(strstr(rig->replied, "=OK"));
    succeed(rig, "b");
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(order(rig, GRANARY__POOL_ORDER__VERB__DRAIN, busy, 0), GRANARY_ENOENT);
    assert_int_equal(order(rig, GRANARY__POOL_ORDER__VERB__DRAIN, 0, 0), GRANARY_EINVAL); /* which? */
    rig_destroy(rig);
}

/* When the time is over the answer says who still runs what. */
static void
a_late_one_is_named(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    manager_pool_slots(rig->manager, 1, 1, 1);
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    (void)order(rig, GRANARY__POOL_ORDER__VERB__DRAIN, 1, 500);
    assert_true(manager_deadline(rig->manager) == 1000000500);
    manager_expire(rig->manager, 1000000500);
    turn(rig);
    assert_int_equal(rig->last->err, GRANARY_ETIMEDOUT);
    assert_non_null(strstr(rig->last->message, "executor 1 runs k/0"));
    assert_true(manager_deadline(rig->manager) == INT64_MAX);
    rig_destroy(rig);
}

/* Killed by order, it is not held against the subtask, however often. */
static void
killing_blames_nobody(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    manager_pool_slots(rig->manager, 1, 1, 1);
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    for (uint32_t i = 1; i <= 5; i++) {
        assert_int_equal(given_to(rig, "a")->executor, i);
        rig->asked[0] = '\0';
        (void)order(rig, GRANARY__POOL_ORDER__VERB__KILL, i, 0);
        assert_memory_equal(rig->asked, "kill ", 5);
        manager_executor_died(rig->manager, i);
        rig->count = 0;
        turn(rig);
        assert_string_equal(rig->replied, "");
        manager_executor_joined(rig->manager, i + 1, 0, 1);
        turn(rig);
        assert_non_null(strstr(rig->replied, "=OK"));
    }
    succeed(rig, "a");
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    rig_destroy(rig);
}

/* All of the pool; not what is embedded elsewhere. */
static void
recycling_replaces_all(void **state)
{
    struct rig *rig = rig_create(3);

    (void)state;
    manager_executor_pulls(rig->manager, 3, 0);
    manager_pool_slots(rig->manager, 1, 2, 1);
    (void)order(rig, GRANARY__POOL_ORDER__VERB__RECYCLE, 0, 0);
    assert_string_equal(rig->dismissed, "1+ 2+ ");
    manager_executor_died(rig->manager, 1);
    manager_executor_died(rig->manager, 2);
    manager_executor_joined(rig->manager, 4, 0, 4);
    turn(rig);
    assert_string_equal(rig->replied, "");
    manager_executor_joined(rig->manager, 5, 0, 5);
    turn(rig);
    assert_non_null(strstr(rig->replied, "=OK"));
    assert_int_equal(order(rig, GRANARY__POOL_ORDER__VERB__KILL, 3, 0), GRANARY_EINVAL); /* somebody's program */
    rig_destroy(rig);
}

/* One that asks gets no more than it asked for, and what it leaves behind is run elsewhere, without blame. */
static void
pulling_gets_what_it_asks_for(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    manager_executor_pulls(rig->manager, 1, 0);
    assert_int_equal(submit(rig, "k", LINES("!a make", "!b make", "!c make", "!d make", "!e make")), GRANARY_OK);
    assert_int_equal(rig->count, 0);
    manager_executor_pulls(rig->manager, 1, 1);
    turn(rig);
    assert_int_equal(rig->count, 1);
    succeed(rig, rig->given[0].node);
    assert_int_equal(rig->count, 0);
    manager_executor_pulls(rig->manager, 1, 3); /* now their kind is known: both in one message */
    turn(rig);
    assert_int_equal(rig->count, 2);
    for (int i = 0; i < 4; i++) { /* more often than a subtask may be deadly */
        manager_executor_left(rig->manager, (uint32_t)i + 1);
        rig->count = 0;
        manager_executor_joined(rig->manager, (uint32_t)i + 2, 0, 1);
        manager_executor_pulls(rig->manager, (uint32_t)i + 2, 2);
        turn(rig);
        assert_true(rig->count >= 1 && rig->count <= 2);
    }
    manager_executor_pulls(rig->manager, 5, 100);
    succeed_all(rig);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    rig_destroy(rig);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adding_waits_for_executors),
        cmocka_unit_test(a_drained_one_finishes_first),
        cmocka_unit_test(another_pool_is_asked_for_the_others),
        cmocka_unit_test(a_late_one_is_named),
        cmocka_unit_test(killing_blames_nobody),
        cmocka_unit_test(recycling_replaces_all),
        cmocka_unit_test(pulling_gets_what_it_asks_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
