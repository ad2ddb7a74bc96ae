#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sched/dispatch/reservations.h"

static size_t
candidates(struct reservations *r, bool idle_only)
{
    size_t count;

    (void)reservations_candidates(r, idle_only, false, &count);
    return count;
}

static uint32_t
grant(struct reservations *r, uint32_t executor, uint64_t first, uint32_t count, uint64_t bytes, bool alone)
{
    uint64_t numbers[RESERVATIONS_BATCH];

    for (uint32_t i = 0; i < count; i++) {
        numbers[i] = first + i;
    }
    return reservations_grant(r, executor, numbers, count, bytes, alone, NULL);
}

/* Two messages an executor; the slot comes back with the last subtask of a message, in whatever order they end. */
static void
credit_is_given_and_returned_once(void **state)
{
    struct reservations *r = reservations_create(0, 0);
    uint32_t first;
    uint32_t second;

    (void)state;
    assert_int_equal(candidates(r, false), 0);
    assert_true(reservations_join(r, 7, 0));
    first = grant(r, 7, 100, 3, 10, false);
    second = grant(r, 7, 200, 1, 5, false);
    assert_int_equal(candidates(r, false), 0);
    assert_int_equal(reservations_in_flight(r, 7), 2);
    assert_int_equal(reservations_bytes(r), 15);
    assert_int_equal(reservations_holder(r, first), 7);

    assert_false(reservations_settle(r, first, 101));
    assert_false(reservations_settle(r, first, 100));
    assert_true(reservations_settle(r, first, 102));
    assert_int_equal(candidates(r, false), 1);
    assert_int_equal(candidates(r, true), 0);
    assert_int_equal(reservations_holder(r, first), 0);
    assert_true(reservations_settle(r, second, 200));
    assert_int_equal(candidates(r, true), 1);
    assert_int_equal(reservations_bytes(r), 0);
    assert_int_equal(reservations_granted(r), 0);
    reservations_destroy(r);
}

static void
alone_keeps_others_away(void **state)
{
    struct reservations *r = reservations_create(0, 0);
    uint32_t token;

    (void)state;
    assert_true(reservations_join(r, 1, 0));
    assert_true(reservations_join(r, 2, 0));
    token = grant(r, 1, 10, 1, 0, true);
    assert_int_equal(candidates(r, false), 1);
    (void)grant(r, 2, 20, 1, 0, false);
    assert_int_equal(candidates(r, false), 1);
    assert_int_equal(candidates(r, true), 0);
    assert_true(reservations_settle(r, token, 10));
    assert_int_equal(candidates(r, false), 2);
    reservations_destroy(r);
}

/* What does not fit waits, unless nothing else has memory: nobody waits for ever. */
static void
memory_is_admitted_without_deadlock(void **state)
{
    struct reservations *r = reservations_create(100, 0);
    uint32_t token;

    (void)state;
    assert_true(reservations_join(r, 1, 0));
    assert_true(reservations_fit(r, 0, 1000));
    assert_false(reservations_fit(r, 1, 1000));
    assert_true(reservations_fit(r, 60, 40));
    assert_false(reservations_fit(r, 60, 41));
    assert_false(reservations_fit(r, 60, UINT64_MAX));
    token = grant(r, 1, 10, 1, 1000, false); /* larger than all memory: runs by itself */
    assert_false(reservations_fit(r, 0, 1));
    assert_true(reservations_fit(r, 0, 0));
    assert_true(reservations_settle(r, token, 10));
    assert_true(reservations_fit(r, 0, 100));
    reservations_destroy(r);
}

/* Operators run at as many executors as there are cores; user code, and what is asked for, runs at any. */
static void
cores_are_not_shared(void **state)
{
    struct reservations *r = reservations_create(0, 2);
    struct reservation_ask code = {.need = NEED_NONE, .user_code = true};
    const struct gr_place_candidate *found;
    uint32_t first, second;
    size_t count;

    (void)state;
    for (uint32_t i = 1; i <= 4; i++) {
        assert_true(reservations_join(r, i, 0));
    }
    reservations_limit(r, 4, 5);
    (void)reservations_grant(r, 1, &(uint64_t){10}, 1, 0, true, &code);
    first = grant(r, 1, 11, 1, 0, false);
    assert_false(reservations_cores_taken(r));
    assert_int_equal(candidates(r, true), 3);
    second = grant(r, 2, 20, 1, 0, true);
    assert_true(reservations_cores_taken(r));
    found = reservations_candidates(r, false, false, &count); /* not 3 */
    assert_int_equal(count, 1);
    assert_int_equal(found[0].executor, 4);
    (void)reservations_candidates(r, false, true, &count);
    assert_int_equal(count, 2);
    assert_true(reservations_any_free(r, false));
    (void)grant(r, 4, 40, 5, 0, false);
    assert_true(reservations_cores_taken(r));
    assert_false(reservations_any_free(r, false));
    assert_true(reservations_any_free(r, true));
    assert_true(reservations_settle(r, second, 20));
    assert_false(reservations_cores_taken(r));
    assert_int_equal(candidates(r, true), 2);
    assert_true(reservations_settle(r, first, 11));
    (void)grant(r, 2, 21, 1, 0, false);
    (void)grant(r, 3, 30, 1, 0, false); /* a core has room for one more behind what it runs */
    assert_int_equal(candidates(r, false), 2);
    reservations_destroy(r);
}

struct seen {
    char text[128];
};

static void
note(void *context, uint64_t number, bool first)
{
    struct seen *seen = context;
    size_t length = strlen(seen->text);

    (void)snprintf(seen->text + length, sizeof seen->text - length, "%d%s ", (int)number, first ? "!" : "");
}

static void
note_graph(void *context, uint32_t executor, const uint64_t *numbers, size_t count)
{
    struct seen *seen = context;

    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(seen->text);

        (void)snprintf(seen->text + length, sizeof seen->text - length, "%u:%d ", executor, (int)(uint32_t)numbers[i]);
    }
}

/* A dead executor's subtasks come back in order; the first not settled was at work. Others keep theirs. */
static void
death_returns_everything(void **state)
{
    struct reservations *r = reservations_create(100, 0);
    struct seen seen = {""};
    uint32_t token;

    (void)state;
    assert_true(reservations_join(r, 1, 0));
    assert_true(reservations_join(r, 2, 0));
    token = grant(r, 1, 10, 3, 40, false);
    (void)grant(r, 1, 20, 2, 20, false);
    (void)grant(r, 2, 30, 1, 30, false);
    assert_false(reservations_settle(r, token, 10));
    reservations_leave(r, 1, note, &seen);
    assert_string_equal(seen.text, "11! 12 20 21 ");
    assert_int_equal(reservations_bytes(r), 30);
    assert_int_equal(reservations_granted(r), 1);
    assert_int_equal(reservations_executors(r), 1);
    reservations_leave(r, 1, note, &seen); /* it is gone already */
    assert_int_equal(reservations_granted(r), 1);
    assert_int_equal(reservations_in_flight(r, 1), 0);
    reservations_destroy(r);
}

static void
running_subtasks_of_a_graph_are_found(void **state)
{
    struct reservations *r = reservations_create(0, 0);
    const uint64_t mixed[] = {1ull << 32 | 5, 2ull << 32 | 5, 1ull << 32 | 6};
    struct seen seen = {""};
    uint32_t token;

    (void)state;
    assert_true(reservations_join(r, 9, 0));
    token = reservations_grant(r, 9, mixed, 3, 0, false, NULL);
    reservations_of_graph(r, 1, note_graph, &seen);
    assert_string_equal(seen.text, "9:5 9:6 ");
    assert_false(reservations_settle(r, token, mixed[0]));
    seen.text[0] = '\0';
    reservations_of_graph(r, 1, note_graph, &seen);
    assert_string_equal(seen.text, "9:6 ");
    seen.text[0] = '\0';
    reservations_of_graph(r, 3, note_graph, &seen);
    assert_string_equal(seen.text, "");
    reservations_destroy(r);
}

/* Tokens are used again; a thousand executors come and go. */
static void
tokens_are_recycled(void **state)
{
    struct reservations *r = reservations_create(0, 0);
    uint32_t highest = 0;

    (void)state;
    for (uint32_t i = 1; i <= 1000; i++) {
        uint32_t token;

        assert_true(reservations_join(r, i, (int32_t)(i % 4)));
        token = grant(r, i, i, 1, 1, false);
        highest = token > highest ? token : highest;
        if (i % 2 == 0) {
            assert_true(reservations_settle(r, token, i));
        }
        reservations_leave(r, i, note, &(struct seen){""});
    }
    assert_int_equal(highest, 0);
    assert_int_equal(reservations_executors(r), 0);
    assert_int_equal(reservations_bytes(r), 0);
    reservations_destroy(r);
}

/* Held for somebody who needs an idle executor: the one that will be idle soon, not the one that runs long. */
static void
the_next_idle_executor_is_held(void **state)
{
    struct reservations *r = reservations_create(0, 0);

    (void)state;
    assert_true(reservations_join(r, 1, 0));
    assert_true(reservations_join(r, 2, 0));
    assert_true(reservations_join(r, 3, 0));
    (void)grant(r, 1, 100, 1, 0, true);
    (void)grant(r, 2, 200, 1, 0, false);
    (void)grant(r, 3, 300, 1, 0, false);
    assert_int_equal(candidates(r, false), 2);
    reservations_hold(r);
    assert_int_equal(candidates(r, false), 1);
    assert_true(reservations_any_free(r, true));
    reservations_hold(r);
    assert_false(reservations_any_free(r, true));
    reservations_unhold(r);
    assert_int_equal(candidates(r, false), 2);
    reservations_destroy(r);
}

static void
claims_go_first_when_passed_over_often(void **state)
{
    const struct resource_amount amounts[] = {{"gpu", 2}};
    struct resources *resources = resources_create(amounts, 1);
    struct reservations *r = reservations_create(100, 0);
    uint32_t one = NEED_NONE;
    uint32_t two = NEED_NONE;
    struct reservation_ask large = {.number = 900, .bytes = 80};
    struct reservation_ask small = {.number = 901, .bytes = 10};
    struct reservation_ask gpus;
    uint32_t token;

    (void)state;
    reservations_use(r, resources);
    assert_int_equal(resources_need(resources, &(struct resource_amount){"gpu", 1}, 1, 0, 0, &one), GRANARY_OK);
    assert_int_equal(resources_need(resources, &(struct resource_amount){"gpu", 2}, 1, 0, 0, &two), GRANARY_OK);
    assert_true(reservations_join(r, 1, 0));
    assert_true(reservations_join(r, 2, 0));
    token = reservations_grant(r, 2, &(uint64_t){500}, 1, 30, false, &(struct reservation_ask){.need = one});
    gpus = (struct reservation_ask){.number = 902, .need = two, .bytes = 10};
    assert_false(reservations_allow(r, &gpus)); /* one of two is taken */
    reservations_refused(r, &gpus, false);
    reservations_refused(r, &large, true);
    for (uint64_t i = 0; i < CLAIM_PATIENCE; i++) {
        assert_true(reservations_allow(r, &small));
        assert_true(reservations_settle(
            r, reservations_grant(r, 1, &(uint64_t){600 + i}, 1, 10, false, &(struct reservation_ask){.need = one}),
            600 + i));
    }
    assert_false(reservations_allow(r, &small));
    assert_true(reservations_allow(r, &large)); /* whether it fits is another question */
    assert_true(reservations_allow(r, &(struct reservation_ask){.number = 903, .bytes = 10, .rank = 1}));
    assert_true(reservations_allow(r, &(struct reservation_ask){.number = 904}));
    assert_false(reservations_allow(r, &(struct reservation_ask){.number = 905, .need = one}));
    /* Those with claims do not wait for one another. */
    assert_true(reservations_settle(r, token, 500));
    token = reservations_grant(r, 2, &(uint64_t){501}, 1, 30, false, NULL);
    assert_true(reservations_allow(r, &gpus));
    (void)reservations_grant(r, 1, &(uint64_t){902}, 1, 10, false, &gpus);
    assert_int_equal(reservations_claimant(r, false), 0);
    assert_int_equal(reservations_claimant(r, true), 900);
    reservations_claim_drop(r, true);
    assert_true(reservations_allow(r, &small));
    reservations_destroy(r);
    resources_destroy(resources);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credit_is_given_and_returned_once),
        cmocka_unit_test(alone_keeps_others_away),
        cmocka_unit_test(memory_is_admitted_without_deadlock),
        cmocka_unit_test(cores_are_not_shared),
        cmocka_unit_test(death_returns_everything),
        cmocka_unit_test(running_subtasks_of_a_graph_are_found),
        cmocka_unit_test(tokens_are_recycled),
        cmocka_unit_test(the_next_idle_executor_is_held),
        cmocka_unit_test(claims_go_first_when_passed_over_often),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
