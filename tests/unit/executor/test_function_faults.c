/* User code that breaks its process: what is told, what is lost, who takes the place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>

#include <cmocka.h>

#include "unit/executor/function_fixture.h"

static struct function_test test;
static char good[33];

static int
start(void **state)
{
    (void)state;
    (void)function_test_start(&test);
    function_export(&test, "good", "good", good);
    return 0;
}

static int
stop(void **state)
{
    (void)state;
    return function_test_stop(&test);
}

/* A new executor is told of everything again. */
static void
export_again(void)
{
    function_export(&test, "good", "good", good);
}

static Granary__ChunkOp *
call_good(const char *function)
{
    return call_new("good", good, function);
}

/* ---- faults that cost the process ---- */

static void
a_write_over_an_input_is_a_crash_that_says_so(void **state)
{
    Granary__ChunkOp *op = call_good("overwrites");
    granary_id fares = function_fares(&test); /* made by the executor itself, in its own room */
    granary_view view;
    char *log;

    (void)state;
    op_input(op, fares);
    op_output(op, &(granary_id){.bytes = {1}});
    function_expect_death(&test, op, SIGSEGV, 0);
    log = function_log(&test);
    assert_non_null(strstr(log, "function 'overwrites' wrote over its input 0, which is read-only: SIGSEGV"));
    free(log);
    assert_int_equal(granary_object_get(test.client, fares, 0, &view), GRANARY_OK);
    assert_memory_equal(view.data, "ARROW1", 6);
    granary_object_release(test.client, &view);
    export_again();
}

static void
crashes_leave_their_last_words(void **state)
{
    static const struct {
        const char *how, *said;
        int signal, status;
    } deaths[] = {{"crash", "crashed: SIGSEGV at address 0x10", SIGSEGV, 0},
                  {"abort", "aborted: SIGABRT", SIGABRT, 0},
                  {"stack", "crashed: SIGSEGV", SIGSEGV, 0},
                  {"exit", "called exit()", 0, 75},
                  {"_exit", "last words", 0, 75}};

    (void)state;
    for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++) {
        Granary__ChunkOp *op = call_good("dies");
        char *log;

        call_params(op, "how", deaths[i].how, NULL);
        op_output(op, &(granary_id){.bytes = {1}});
        function_expect_death(&test, op, deaths[i].signal, deaths[i].status);
        log = function_log(&test);
        assert_non_null(log);
        assert_true(strncmp(log, "last words", 10) == 0);
        assert_non_null(strstr(log, deaths[i].said));
        free(log);
        export_again();
    }
}

static void
an_executor_leaves_after_as_many_calls_as_a_function_says(void **state)
{
    size_t deaths = test.pool.death_count;
    pid_t pid = test.pool.executors[test.executor].pid;
    granary_id id = granary_id_random();
    Granary__ChunkOp *op = call_good("once");

    (void)state;
    op_output(op, &id);
    granary__done__free_unpacked(function_run(&test, &op, 1, GRANARY_OK), NULL);
    pool_await_deaths(&test.pool, deaths + 1);
    assert_int_equal(test.pool.deaths[deaths].status, 75);
    assert_int_equal(test.pool.deaths[deaths].pid, pid);
    test.executor = pool_next_registration(&test.pool);
    export_again();
    function_expect(&test, call_good("disturbs"), "");
}

/* What the process stands on is gone: however it ends, another one takes its place. */
static void
closed_descriptors_cost_the_process(void **state)
{
    size_t deaths = test.pool.death_count;
    Granary__ChunkOp *op = call_good("dies");

    (void)state;
    call_params(op, "how", "descriptors", NULL);
    op_output(op, &(granary_id){.bytes = {1}});
    function_send(&test, &op, 1, 0);
    pool_await_deaths(&test.pool, deaths + 1);
    assert_true(test.pool.deaths[deaths].signal != 0 || test.pool.deaths[deaths].status != 0);
    test.executor = pool_next_registration(&test.pool);
    export_again();
    function_expect(&test, call_good("disturbs"), "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_over_an_input_is_a_crash_that_says_so),
        cmocka_unit_test(crashes_leave_their_last_words),
        cmocka_unit_test(closed_descriptors_cost_the_process),
        cmocka_unit_test(an_executor_leaves_after_as_many_calls_as_a_function_says),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
