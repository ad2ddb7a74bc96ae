/* User code that fails, cannot be used, or breaks its process: what is told, what is lost, who takes the place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elf.h>
#include <signal.h>

#include <cmocka.h>

#include "unit/executor/function_fixture.h"

static struct function_test test;

static int
start(void **state)
{
    (void)state;
    return function_test_start_good(&test);
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
    function_export(&test, "good", "good", test.good);
}

/* ---- faults that cost the process ---- */

static void
a_write_over_an_input_is_a_crash_that_says_so(void **state)
{
    Granary__ChunkOp *op = call_good(&test, "overwrites");
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
        Granary__ChunkOp *op = call_good(&test, "dies");
        char *log;

        call_params(op, "how", deaths[i].how, NULL);
        op_output(op, &(granary_id){.bytes = {1}});
        function_expect_death(&test, op, deaths[i].signal, deaths[i].status);
        log = function_log(&test);
        assert_non_null(log);
        assert_true(strncmp(log, "last words", 10) == 0);
        assert_non_null(strstr(log, deaths[i].said));
        if (deaths[i].signal != 0) { /* where it happened is told first: a place in the library */
            const char *first = strstr(log, "the stack, innermost first:\n");

            assert_non_null(first);
            assert_non_null(strstr(first, deaths[i].signal == SIGABRT ? "libc.so" : "/proc/self/fd/"));
        }
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
    Granary__ChunkOp *op = call_good(&test, "once");

    (void)state;
    op_output(op, &id);
    granary__done__free_unpacked(function_run(&test, &op, 1, GRANARY_OK), NULL);
    pool_await_deaths(&test.pool, deaths + 1);
    assert_int_equal(test.pool.deaths[deaths].status, 75);
    assert_int_equal(test.pool.deaths[deaths].pid, pid);
    test.executor = pool_next_registration(&test.pool);
    export_again();
    function_expect(&test, call_good(&test, "disturbs"), "");
}

/* What the process stands on is gone: however it ends, another one takes its place. */
static void
closed_descriptors_cost_the_process(void **state)
{
    size_t deaths = test.pool.death_count;
    Granary__ChunkOp *op = call_good(&test, "dies");

    (void)state;
    call_params(op, "how", "descriptors", NULL);
    op_output(op, &(granary_id){.bytes = {1}});
    function_send(&test, &op, 1, 0);
    pool_await_deaths(&test.pool, deaths + 1);
    assert_true(test.pool.deaths[deaths].signal != 0 || test.pool.deaths[deaths].status != 0);
    test.executor = pool_next_registration(&test.pool);
    export_again();
    function_expect(&test, call_good(&test, "disturbs"), "");
}

static void
failures_say_what_and_what_was_printed_last(void **state)
{
    Granary__ChunkOp *op = call_good(&test, "fails");
    Granary__Done *done;
    char *log;

    (void)state;
    op_output(op, &(granary_id){.bytes = {1}});
    done = function_run(&test, &op, 1, GRANARY_EBUSY);
    assert_string_equal(done->message, "node 'node' (call): gave up after 3\nlast output:\nit is printed\nand told\n");
    assert_true(done->user_failed);
    log = function_log(&test);
    assert_string_equal(log, "it is printed\nand told\n");
    free(log);
    granary__done__free_unpacked(done, NULL);

    op = call_good(&test, "returns");
    call_params(op, "err", "-7", NULL);
    op_output(op, &(granary_id){.bytes = {1}});
    function_expect_failure(&test, op, GRANARY_EPERM, true, "function 'returns' returned EPERM");
    op = call_good(&test, "returns");
    call_params(op, "err", "12", NULL);
    op_output(op, &(granary_id){.bytes = {1}});
    function_expect_failure(&test, op, GRANARY_EFAILED, true, "function 'returns' returned 12");
    op = call_good(&test, "gives_nothing");
    op_output(op, &(granary_id){.bytes = {1}});
    function_expect_failure(&test, op, GRANARY_EFAILED, true, "gave no output 0");
    op = call_good(&test, "halve");
    op_output(op, &(granary_id){.bytes = {1}});
    function_expect_failure(&test, op, GRANARY_EINVAL, true, "takes 1 to 1 inputs, not 0");
    op = call_good(&test, "sizes");
    function_expect_failure(&test, op, GRANARY_EINVAL, true, "has 1 outputs, not 0");
}

static void
libraries_that_cannot_be_used_are_told(void **state)
{
    char version[33];
    size_t size;
    char *bytes = function_file("bad", &size);

    (void)state;
    function_export_bytes(&test, "bad", bytes, size, version);
    function_expect_failure(&test, call_new("bad", version, "missing"), GRANARY_ENOENT, true,
                            "library 'bad' has no function 'missing'");
    function_expect_failure(&test, call_new("bad", version, "plain"), GRANARY_EINVAL, true,
                            "does not declare it: define it with GRANARY_FUNCTION(plain)");
    function_expect_failure(&test, call_new("bad", version, "future"), GRANARY_EVERSION, true, "version 99");
    function_expect_failure(&test, call_new("bad", test.good, "fine"), GRANARY_ENOENT, false, "not exported");

    ((Elf64_Ehdr *)(uintptr_t)bytes)->e_machine = EM_68K;
    function_export_bytes(&test, "bad", bytes, size, version);
    function_expect_failure(&test, call_new("bad", version, "fine"), GRANARY_EINVAL, true, "cannot be loaded");
    function_export_bytes(&test, "bad", bytes, 100, version);
    function_expect_failure(&test, call_new("bad", version, "fine"), GRANARY_EINVAL, true, "cannot be loaded");
    free(bytes);
    function_export(&test, "bad", "bad_symbol", version);
    function_expect_failure(&test, call_new("bad", version, "fine"), GRANARY_EINVAL, true, "nobody_has_this");
}

static void
subtasks_that_make_no_sense_are_refused(void **state)
{
    const int64_t number = 7;
    char name[] = "a=b", value[] = "c", shell[] = "sh";
    char *command[] = {shell};
    granary_id id = granary_id_random();
    Granary__ChunkOp *op = op_new("call");

    (void)state;
    op->node = strdup("node");
    function_expect_failure(&test, op, GRANARY_ENOENT, false, "not exported");
    op = op_new("call");
    op->node = strdup("node");
    op_attr(op, gr_attr_new_int("library", 1));
    op_attr(op, gr_attr_new_ints("params", &number, 1));
    function_expect_failure(&test, op, GRANARY_ENOENT, false, "not exported");
    op = op_new("exec");
    op->node = strdup("node");
    op_attr(op, gr_attr_new_int("command", 1));
    function_expect_failure(&test, op, GRANARY_EINVAL, true, "no command");
    op = exec_new("true");
    op_attr(op, gr_attr_new_map("params", (char *[]){name}, (char *[]){value}, 1));
    function_expect_failure(&test, op, GRANARY_EINVAL, true, "no name for a variable");
    op = op_new("exec");
    op->node = strdup("node");
    op_attr(op, gr_attr_new_strings("command", command, 1));
    op_output(op, &id);
    op_output(op, &id);
    function_expect_failure(&test, op, GRANARY_EINVAL, true, "one output");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_say_what_and_what_was_printed_last),
        cmocka_unit_test(libraries_that_cannot_be_used_are_told),
        cmocka_unit_test(subtasks_that_make_no_sense_are_refused),
        cmocka_unit_test(a_write_over_an_input_is_a_crash_that_says_so),
        cmocka_unit_test(crashes_leave_their_last_words),
        cmocka_unit_test(closed_descriptors_cost_the_process),
        cmocka_unit_test(an_executor_leaves_after_as_many_calls_as_a_function_says),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
