/* Programs run by an executor: what they are given, what becomes of their output and their processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "contract/executor_page.h"
#include "unit/executor/function_fixture.h"

static struct function_test test;

static int
start(void **state)
{
    (void)state;
    (void)function_test_start(&test);
    return 0;
}

static int
stop(void **state)
{
    (void)state;
    return function_test_stop(&test);
}

static void
put_text(granary_id id, const char *text)
{
    assert_int_equal(granary_object_put(test.client, id, text, strlen(text), NULL, 0, 0), GRANARY_OK);
}

static void
a_program_reads_its_inputs_and_gives_its_output(void **state)
{
    granary_id first = granary_id_random(), second = granary_id_random();
    Granary__ChunkOp *op = exec_new("cat; cat <&4; cat <&3; echo x >&4 || true; cat /dev/fd/4");
    char want[256];

    (void)state;
    put_text(first, "one\n");
    put_text(second, "two\n");
    op_input(op, first);
    op_input(op, second);
    function_expect(&test, op, "one\ntwo\none\ntwo\n");
    op =
        exec_new("echo $GRANARY_SESSION $GRANARY_GRAPH $GRANARY_INDEX $GRANARY_COUNT $GRANARY_ATTEMPT $word; pwd; cat");
    op_attr(op, gr_attr_new_int("index", 1));
    op_attr(op, gr_attr_new_int("count", 2));
    call_params(op, "word", "hello there", NULL);
    (void)snprintf(want, sizeof want, "default graph 1 2 1 hello there\n%s\n", test.pool.store.directory);
    function_expect(&test, op, want);
}

static void
a_large_output_grows(void **state)
{
    Granary__ChunkOp *op = exec_new("head -c 3000000 /dev/zero");
    granary_id id = granary_id_random();
    Granary__Done *done;

    (void)state;
    op_output(op, &id);
    done = function_run(&test, &op, 1, GRANARY_OK);
    assert_int_equal(done->outputs[0]->bytes, 3000000);
    granary__done__free_unpacked(done, NULL);
}

static void
a_program_that_fails_says_how(void **state)
{
    Granary__ChunkOp *op = exec_new("echo result; echo why >&2; exit 3");
    granary_id id = granary_id_random();
    char program[] = "no-such-program-here";
    char *missing[] = {program};
    Granary__Done *done;

    (void)state;
    op_output(op, &id);
    done = function_run(&test, &op, 1, GRANARY_EFAILED);
    assert_string_equal(done->message,
                        "node 'node' (exec): program 'sh' ended with exit status 3\nlast output:\nwhy\n");
    assert_true(done->user_failed);
    granary__done__free_unpacked(done, NULL);
    assert_false(granary_object_contains(test.client, id));
    op = exec_new("printf 'a\\033[31m\\000\\377\\303\\251' >&2; exit 1");
    op_output(op, &id);
    function_expect_failure(&test, op, GRANARY_EFAILED, true, "last output:\na?[31m??\xc3\xa9");
    op = exec_new("kill -9 $$");
    op_output(op, &id);
    function_expect_failure(&test, op, GRANARY_EFAILED, true, "ended by signal 9");
    op = op_new("exec");
    op->node = strdup("node");
    op_attr(op, gr_attr_new_strings("command", missing, 1));
    op_output(op, &id);
    function_expect_failure(&test, op, GRANARY_ENOENT, true, "program 'no-such-program-here': not found");
    op = op_new("exec");
    op->node = strdup("node");
    op_output(op, &id);
    function_expect_failure(&test, op, GRANARY_EINVAL, true, "no command");
}

/* The whole process group goes, whatever of it holds the pipes open. */
static void
a_program_is_stopped_in_time(void **state)
{
    struct gr_executor_page *page = function_page(&test);
    Granary__ChunkOp *op = exec_new("sleep 100 & echo $!; wait");
    granary_id id = granary_id_random();
    Granary__Done *done;

    (void)state;
    op_output(op, &id);
    function_send(&test, &op, 1, 100);
    done = function_done(&test, GRANARY_ETIMEDOUT);
    granary__done__free_unpacked(done, NULL);
    op = exec_new("sleep 100");
    op_output(op, &id);
    function_send(&test, &op, 1, 0);
    function_await(&page->subtask, ((uint64_t)1 << 32) | test.number);
    atomic_store(&page->cancel, ((uint64_t)1 << 32) | test.number);
    granary__done__free_unpacked(function_done(&test, GRANARY_ECANCELLED), NULL);
    /* One it leaves behind does not hold its result up. */
    op = exec_new("sleep 100 & echo done");
    function_expect(&test, op, "done\n");
    op = exec_new("setsid sh -c 'while kill -0 $$; do echo x; done' >&2 & echo done"); /* it has got away */
    function_expect(&test, op, "done\n");
    (void)munmap(page, GR_EXECUTOR_PAGE_SIZE);
}

static void
a_program_dies_with_its_executor(void **state)
{
    size_t deaths = test.pool.death_count;
    Granary__ChunkOp *op = exec_new("sleep 100 & echo $$ $! > pid.new && mv pid.new pid && wait");
    char path[128];
    char *text = NULL;
    size_t size;
    int program, child;

    (void)state;
    (void)snprintf(path, sizeof path, "%s/pid", test.pool.store.directory);
    op_output(op, &(granary_id){.bytes = {1}});
    function_send(&test, &op, 1, 0);
    for (int64_t deadline = gr_deadline_ns(60000); gr_file_read(path, 100, &text, &size) != GRANARY_OK;
         (void)usleep(1000)) {
        assert_true(gr_now_ns() < deadline);
    }
    assert_int_equal(sscanf(text, "%d %d", &program, &child), 2);
    free(text);
    assert_int_equal(kill(test.pool.executors[test.executor].pid, SIGKILL), 0);
    pool_wait_gone(program);
    pool_wait_gone(child);
    pool_await_deaths(&test.pool, deaths + 1);
    test.executor = pool_next_registration(&test.pool);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_reads_its_inputs_and_gives_its_output),
        cmocka_unit_test(a_large_output_grows),
        cmocka_unit_test(a_program_that_fails_says_how),
        cmocka_unit_test(a_program_is_stopped_in_time),
        cmocka_unit_test(a_program_dies_with_its_executor),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
