/* Recall in the manager: who has what of whom, what is freed when, and what the next scheduler is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "manager_rig.h"
#include "sched/core/manager.h"
#include "sched/recall/recalls.h"

static struct rig *
recalling(void)
{
    struct rig *rig = rig_create(1);

    rig->recalls = true;
    rig->manager->options.memory_bytes = (uint64_t)1 << 30;
    return rig;
}

/* A graph of this key and number is computed. */
static void
compute(struct rig *rig, const char *key, const char *line)
{
    assert_int_equal(submit(rig, key, LINES(line)), GRANARY_OK);
    assert_int_equal(state_of(rig, key), GRANARY_GRAPH_RUNNING);
    succeed_all(rig);
    assert_int_equal(state_of(rig, key), GRANARY_GRAPH_SUCCEEDED);
}

static void
the_same_graph_ends_at_once(void **state)
{
    struct rig *rig = recalling();

    (void)state;
    compute(rig, "a", "!x make n=1");
    assert_int_equal(submit(rig, "b", LINES("!other make n=1")), GRANARY_OK);
    assert_int_equal(state_of(rig, "b"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(rig->count, 0);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "b", "other"), GRANARY_OK);
    assert_int_equal(rig->last->result->n_chunks, 1);
    assert_memory_equal(rig->last->result->chunks[0]->id.data, fake_plan_object("a", 0).bytes, GRANARY_ID_BYTES);
    compute(rig, "c", "!x make n=2");
    rig_destroy(rig);
}

/* Nobody waits for another one that computes the same; what the last one yields is its own alone. */
static void
two_compute_the_same_at_once(void **state)
{
    struct rig *rig = recalling();

    (void)state;
    assert_int_equal(submit(rig, "a", LINES("!x make n=1")), GRANARY_OK);
    assert_int_equal(submit(rig, "b", LINES("!x make n=1")), GRANARY_OK);
    succeed_all(rig);
    assert_int_equal(state_of(rig, "a"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(state_of(rig, "b"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(rig->manager->recalls->count, 1);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "a", NULL), GRANARY_OK);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "b", NULL), GRANARY_OK);
    assert_int_equal(freed(rig, "a", 0) + freed(rig, "b", 0), 1);
    rig_destroy(rig);
}

static void
results_stay_while_somebody_may_want_them(void **state)
{
    struct rig *rig = recalling();

    (void)state;
    compute(rig, "a", "!x make n=1");
    assert_int_equal(submit(rig, "b", LINES("!x make n=1")), GRANARY_OK);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "a", NULL), GRANARY_OK);
    assert_false(freed(rig, "a", 0));
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "b", NULL), GRANARY_OK);
    assert_false(freed(rig, "a", 0)); /* nobody has it, and the next one gets it */
    assert_int_equal(submit(rig, "c", LINES("!x make n=1")), GRANARY_OK);
    assert_int_equal(state_of(rig, "c"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(recalls_clear(rig->manager, NULL), 1);
    turn(rig);
    assert_false(freed(rig, "a", 0)); /* c has it */
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "c", NULL), GRANARY_OK);
    assert_true(freed(rig, "a", 0));
    assert_int_equal(submit(rig, "d", LINES("!x make n=1")), GRANARY_OK);
    assert_int_equal(state_of(rig, "d"), GRANARY_GRAPH_RUNNING);
    rig_destroy(rig);
}

static void
a_key_that_comes_again_has_other_objects(void **state)
{
    struct rig *rig = recalling();
    granary_id first = fake_plan_object("a", 0);

    (void)state;
    compute(rig, "a", "!x make n=1");
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "a", NULL), GRANARY_OK);
    for (int i = 0; i < 300; i++) { /* so many deletions that nobody remembers the first one's key */
        char key[16];

        (void)snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(submit(rig, key, LINES("!x call")), GRANARY_OK);
        succeed_all(rig);
        assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, key, NULL), GRANARY_OK);
    }
    compute(rig, "a", "!x make n=2");
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "a", "x"), GRANARY_OK);
    assert_memory_not_equal(rig->last->result->chunks[0]->id.data, first.bytes, GRANARY_ID_BYTES);
    rig_destroy(rig);
}

/* Somebody has deleted the objects: the client submits again, and says so. */
static void
what_is_gone_is_computed_again(void **state)
{
    struct rig *rig = recalling();
    Granary__Submit again = GRANARY__SUBMIT__INIT;

    (void)state;
    compute(rig, "a", "!x make n=1");
    assert_int_equal(submit(rig, "b", LINES("!x make n=1")), GRANARY_OK);
    assert_int_equal(rig->last->recalled.len, GRANARY_ID_BYTES);
    again.key = (char *)(uintptr_t) "b";
    again.session = (char *)(uintptr_t) "s";
    again.recall = 2;
    assert_int_equal(submit_body(rig, &again, LINES("!x make n=1")), GRANARY_OK);
    assert_int_equal(state_of(rig, "b"), GRANARY_GRAPH_RUNNING);
    succeed_all(rig);
    assert_int_equal(submit(rig, "c", LINES("!x make n=1")), GRANARY_OK);
    assert_int_equal(state_of(rig, "c"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "c", "x"), GRANARY_OK);
    assert_memory_not_equal(rig->last->result->chunks[0]->id.data, fake_plan_object("a", 0).bytes, GRANARY_ID_BYTES);
    rig_destroy(rig);
}

static void
others_are_not_recalled(void **state)
{
    struct rig *rig = recalling();
    Granary__Submit off = GRANARY__SUBMIT__INIT;
    Granary__Submit going = GRANARY__SUBMIT__INIT;

    (void)state;
    compute(rig, "a", "!x make n=1");
    off.key = (char *)(uintptr_t) "off";
    off.session = (char *)(uintptr_t) "s";
    off.recall = 1;
    assert_int_equal(submit_body(rig, &off, LINES("!x make n=1")), GRANARY_OK);
    assert_int_equal(state_of(rig, "off"), GRANARY_GRAPH_RUNNING);
    going.key = (char *)(uintptr_t) "going";
    going.session = (char *)(uintptr_t) "s";
    going.keep_going = true;
    assert_int_equal(submit_body(rig, &going, LINES("!x make n=1")), GRANARY_OK);
    assert_int_equal(state_of(rig, "going"), GRANARY_GRAPH_RUNNING);
    assert_int_equal(submit(rig, "both", LINES("!x make n=1", "!y make n=2")), GRANARY_OK); /* one of two is known */
    assert_int_equal(state_of(rig, "both"), GRANARY_GRAPH_RUNNING);
    assert_int_equal(submit(rig, "u", LINES("!x map_chunk")), GRANARY_OK);
    assert_int_equal(submit(rig, "v", LINES("!x map_chunk")), GRANARY_OK);
    succeed_all(rig);
    assert_int_equal(submit(rig, "w", LINES("!x map_chunk")), GRANARY_OK);
    assert_int_equal(state_of(rig, "w"), GRANARY_GRAPH_RUNNING);
    recalls_switch(rig->manager, true);
    assert_int_equal(submit(rig, "z", LINES("!x make n=1")), GRANARY_OK);
    assert_int_equal(state_of(rig, "z"), GRANARY_GRAPH_RUNNING);
    rig_destroy(rig);
}

/* Of results that take too much memory the least worthy go first. */
static void
the_least_worthy_go_first(void **state)
{
    struct rig *rig = recalling();

    (void)state;
    rig->manager->options.memory_bytes = 3400; /* four results of 100 bytes */
    for (int i = 0; i < 5; i++) {
        char key[] = {(char)('a' + i), '\0'};
        char line[32];

        (void)snprintf(line, sizeof line, "!x make n=%d", i);
        rig->nanoseconds = i == 2 ? 10 : 1000000; /* the third one is soon computed again */
        compute(rig, key, line);
        assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, key, NULL), GRANARY_OK);
    }
    assert_int_equal(rig->manager->recalls->count, 4);
    assert_true(freed(rig, "c", 0));
    assert_false(freed(rig, "a", 0));
    assert_false(freed(rig, "e", 0));
    rig_destroy(rig);
}

static void
a_graph_that_failed_is_none(void **state)
{
    struct rig *rig = recalling();

    (void)state;
    assert_int_equal(submit(rig, "a", LINES("!x make n=1")), GRANARY_OK);
    report(rig, "x", GRANARY_EFAILED, "it broke", NULL);
    assert_int_equal(state_of(rig, "a"), GRANARY_GRAPH_FAILED);
    assert_int_equal(submit(rig, "b", LINES("!x make n=1")), GRANARY_OK);
    assert_int_equal(state_of(rig, "b"), GRANARY_GRAPH_RUNNING);
    rig_destroy(rig);
}

/* Entries of what is deleted or taken are kept, and go with what they tell of. */
static void
the_next_scheduler_is_told(void **state)
{
    struct rig *rig = recalling();

    (void)state;
    compute(rig, "a", "!x make n=1");
    rig->kept[0] = '\0';
    assert_int_equal(submit(rig, "b", LINES("!x make n=1")), GRANARY_OK);
    assert_non_null(strstr(rig->kept, "+recalls/"));
    rig->kept[0] = '\0';
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "a", NULL), GRANARY_OK);
    assert_non_null(strstr(rig->kept, "+recalls/"));
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "b", NULL), GRANARY_OK);
    assert_null(strstr(rig->kept, "-recalls/"));
    assert_int_equal(recalls_clear(rig->manager, "s"), 1);
    turn(rig);
    assert_non_null(strstr(rig->kept, "-recalls/"));
    assert_int_equal(recalls_clear(rig->manager, "s"), 0);
    rig_destroy(rig);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_graph_ends_at_once),
        cmocka_unit_test(two_compute_the_same_at_once),
        cmocka_unit_test(results_stay_while_somebody_may_want_them),
        cmocka_unit_test(a_key_that_comes_again_has_other_objects),
        cmocka_unit_test(what_is_gone_is_computed_again),
        cmocka_unit_test(others_are_not_recalled),
        cmocka_unit_test(the_least_worthy_go_first),
        cmocka_unit_test(a_graph_that_failed_is_none),
        cmocka_unit_test(the_next_scheduler_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
