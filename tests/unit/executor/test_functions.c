/* Functions of libraries in a real executor on a real store: results, errors, what is seen from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

#include <cmocka.h>

#include "base/id.h"
#include "contract/executor_page.h"
#include "data/arrow/arrow.h"
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

static granary_frame *
get_frame(granary_id id, granary_view *ret_view)
{
    granary_frame *frame;

    assert_int_equal(granary_object_get(test.client, id, 0, ret_view), GRANARY_OK);
    assert_int_equal(gr_arrow_read(ret_view->data, ret_view->data_size, ret_view->meta, ret_view->meta_size, &frame),
                     GRANARY_OK);
    return frame;
}

/* ---- frames, tensors, bytes ---- */

/* A new column by a function and by an operator of granary's own gives the same bytes. */
static void
a_new_column_is_as_a_kernel_makes_it(void **state)
{
    static char name[] = "half", text[] = "`fare` / 2";
    const granary_id fares = function_fares(&test);
    granary_id ids[2] = {granary_id_random(), granary_id_random()};
    Granary__ChunkOp *ops[2] = {call_good(&test, "halve"), op_new("assign")};
    granary_view views[2];
    Granary__Done *done;

    (void)state;
    op_attr(ops[1], gr_attr_new_map("columns", (char *[]){name}, (char *[]){text}, 1));
    for (int i = 0; i < 2; i++) {
        op_input(ops[i], fares);
        op_output(ops[i], &ids[i]);
    }
    done = function_run(&test, ops, 2, GRANARY_OK);
    assert_int_equal(done->n_outputs, 2);
    assert_int_equal(done->outputs[0]->rows, 3);
    assert_true(done->in_bytes > 0 && done->started_ns > 0 && done->peak_bytes > 0);
    assert_true(done->lease_ns + done->store_ns <= done->nanoseconds);
    assert_string_equal(done->log, "");
    granary__done__free_unpacked(done, NULL);
    assert_null(function_log(&test));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(granary_object_get(test.client, ids[i], 0, &views[i]), GRANARY_OK);
    }
    assert_int_equal(views[0].data_size, views[1].data_size);
    assert_memory_equal(views[0].data, views[1].data, views[1].data_size);
    assert_int_equal(views[0].meta_size, views[1].meta_size);
    assert_memory_equal(views[0].meta, views[1].meta, views[1].meta_size);
    granary_object_release_many(test.client, views, 2);
}

static void
columns_are_replaced_and_rows_chosen(void **state)
{
    static const int64_t fares_want[] = {2, 8};
    granary_id id = granary_id_random();
    Granary__ChunkOp *op = call_good(&test, "reshape");
    granary_frame *frame;
    granary_view view;
    const granary_column *names;

    (void)state;
    op_input(op, function_fares(&test));
    call_params(op, "least", "2.0", NULL);
    op_output(op, &id);
    granary__done__free_unpacked(function_run(&test, &op, 1, GRANARY_OK), NULL);
    frame = get_frame(id, &view);
    assert_int_equal(frame->rows, 2);
    assert_int_equal(frame->count, 2);
    assert_string_equal(frame->columns[0].view.name, "fare");
    assert_int_equal(frame->columns[0].view.dtype, GRANARY_INT64);
    assert_memory_equal(frame->columns[0].view.values, fares_want, sizeof fares_want);
    names = &frame->columns[1].view;
    assert_string_equal(names->name, "name");
    assert_int_equal(names->offsets[2], 3);
    assert_memory_equal(names->values,
                        "\xc3\xa9"
                        "c",
                        3);
    gr_frame_destroy(frame);
    granary_object_release(test.client, &view);
}

/* Frames come and go between operators of one subtask without becoming objects. */
static void
functions_stand_among_operators(void **state)
{
    static char name[] = "half";
    char *const names[] = {name};
    static const double want[] = {0.5, 1.25, 4};
    granary_id id = granary_id_random();
    Granary__ChunkOp *ops[4] = {op_new("concat"), call_good(&test, "halve"), op_new("select"),
                                call_good(&test, "sizes")};
    Granary__Done *done;
    granary_frame *frame;
    granary_view view;

    (void)state;
    op_input(ops[0], function_fares(&test));
    op_output(ops[0], NULL);
    op_input_local(ops[1], 0, 0);
    op_output(ops[1], NULL);
    op_attr(ops[2], gr_attr_new_strings("columns", names, 1));
    op_input_local(ops[2], 1, 0);
    op_output(ops[2], &id);
    op_input_local(ops[3], 2, 0);
    op_output(ops[3], NULL);
    done = function_run(&test, ops, 4, GRANARY_OK);
    assert_int_equal(done->n_outputs, 1);
    granary__done__free_unpacked(done, NULL);
    frame = get_frame(id, &view);
    assert_memory_equal(frame->columns[0].view.values, want, sizeof want);
    gr_frame_destroy(frame);
    granary_object_release(test.client, &view);
}

/* ... and what a function sealed is read by a later operator. */
static void
outputs_are_told_with_their_shape(void **state)
{
    granary_id ids[2] = {granary_id_random(), granary_id_random()};
    Granary__ChunkOp *ops[2] = {call_good(&test, "from_nothing"), op_new("map")};
    granary_id doubled = granary_id_random();
    granary_tensor tensor;
    Granary__Done *done;
    granary_view view;

    (void)state;
    op_output(ops[0], &ids[0]);
    op_output(ops[0], &ids[1]);
    op_attr(ops[1], gr_attr_new_string("function", "add"));
    op_input_local(ops[1], 0, 1);
    op_input_local(ops[1], 0, 1);
    op_output(ops[1], &doubled);
    done = function_run(&test, ops, 2, GRANARY_OK);
    assert_int_equal(done->n_outputs, 3);
    assert_int_equal(done->outputs[0]->n_shape + done->outputs[1]->n_shape, 2); /* in whatever order they were sealed */
    granary__done__free_unpacked(done, NULL);
    assert_int_equal(granary_object_get(test.client, doubled, 0, &view), GRANARY_OK);
    assert_int_equal(gr_npy_read(view.data, view.data_size, &tensor), GRANARY_OK);
    assert_int_equal(tensor.dims, 2);
    assert_int_equal(tensor.shape[1], 3);
    assert_true(((const double *)tensor.values)[5] == 10);
    granary_object_release(test.client, &view);
}

static void
frames_and_tensors_are_read_in_place(void **state)
{
    const int64_t count = 5, zero = 0;
    granary_id id = granary_id_random();
    Granary__ChunkOp *op = op_new("arange");

    (void)state;
    op_attr(op, gr_attr_new_int("start", 10));
    op_attr(op, gr_attr_new_int("step", 1));
    op_attr(op, gr_attr_new_ints("shape", &count, 1));
    op_attr(op, gr_attr_new_ints("offset", &zero, 1));
    op_attr(op, gr_attr_new_ints("size", &count, 1));
    op_output(op, &id);
    granary__done__free_unpacked(function_run(&test, &op, 1, GRANARY_OK), NULL);
    op = call_good(&test, "reads");
    op_input(op, function_fares(&test));
    op_input(op, id);
    function_expect(&test, op, "3 14");
}

static void
an_earlier_attempt_does_not_matter(void **state)
{
    granary_id ids[2] = {granary_id_random(), granary_id_random()};

    (void)state;
    for (int i = 0; i < 2; i++) {
        Granary__ChunkOp *op = call_good(&test, "from_nothing");
        Granary__Done *done;

        op_output(op, &ids[0]);
        op_output(op, &ids[1]);
        done = function_run(&test, &op, 1, GRANARY_OK);
        assert_int_equal(done->n_outputs, 2);
        granary__done__free_unpacked(done, NULL);
    }
}

static void
columns_the_graph_promises_are_checked(void **state)
{
    static char fare[] = "fare", half[] = "half", integers[] = "int64", reals[] = "float64";
    const granary_id fares = function_fares(&test);
    granary_id id = granary_id_random();
    granary_frame *frame;
    granary_view view;
    const struct {
        char *names[2], *dtypes[2];
        size_t count;
        const char *said; /* NULL: it is what was promised */
    } promises[] = {
        {{fare, half}, {reals, integers}, 2, "column 'half' of float64; the graph says int64"},
        {{fare, NULL}, {reals, NULL}, 1, "gives column 'half', which the graph does not tell of"},
        {{half, integers}, {reals, reals}, 2, "gives no column 'int64'"},
        {{half, NULL}, {reals, NULL}, 1, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof promises / sizeof promises[0]; i++) {
        Granary__ChunkOp *op = call_good(&test, "halve");

        op_input(op, fares);
        op_attr(op, gr_attr_new_map("columns", promises[i].names, promises[i].dtypes, promises[i].count));
        op_output(op, &id);
        if (promises[i].said != NULL) {
            function_expect_failure(&test, op, GRANARY_ETYPE, true, promises[i].said);
            assert_false(granary_object_contains(test.client, id));
        } else {
            granary__done__free_unpacked(function_run(&test, &op, 1, GRANARY_OK), NULL);
        }
    }
    frame = get_frame(id, &view);
    assert_int_equal(frame->count, 1);
    assert_true(((const double *)frame->columns[0].view.values)[2] == 4);
    gr_frame_destroy(frame);
    granary_object_release(test.client, &view);
}

static void
tensors_the_graph_promises_are_checked(void **state)
{
    static const int64_t shape[] = {2, 3}, other[] = {3, 2};

    (void)state;
    for (int i = 0; i < 2; i++) {
        Granary__ChunkOp *op = call_good(&test, "tensor");
        granary_id id = granary_id_random();

        op_attr(op, gr_attr_new_ints("shape", i == 0 ? shape : other, 2));
        op_attr(op, gr_attr_new_string("dtype", "float64"));
        op_output(op, &id);
        if (i == 0) {
            granary__done__free_unpacked(function_run(&test, &op, 1, GRANARY_OK), NULL);
        } else {
            function_expect_failure(&test, op, GRANARY_ETYPE, true, "no tensor of the shape and dtype");
        }
    }
}

/* Calls of an array that follow one another in a subtask. */
static void
operators_of_a_subtask_share_a_log(void **state)
{
    Granary__ChunkOp *ops[3] = {exec_new("echo one"), exec_new("true"), exec_new("echo two >&2")};
    Granary__Done *done;
    char *log;

    (void)state;
    done = function_run(&test, ops, 3, GRANARY_OK);
    granary__done__free_unpacked(done, NULL);
    log = function_log(&test);
    assert_string_equal(log, "one\ntwo\n");
    free(log);
}

static void
context_and_parameters_are_told(void **state)
{
    Granary__ChunkOp *op = call_good(&test, "describe");
    char want[128];

    (void)state;
    op_attr(op, gr_attr_new_int("index", 3));
    op_attr(op, gr_attr_new_int("count", 9));
    call_params(op, "n", "42", NULL);
    (void)snprintf(want, sizeof want, "1 default graph node describe %u 1 3/9 42 fallback", (unsigned)test.number + 1);
    function_expect(&test, op, want);
    op = call_good(&test, "describe");
    call_params(op, "n", "4x", NULL);
    op_output(op, &(granary_id){.bytes = {3}});
    function_expect_failure(&test, op, GRANARY_EINVAL, true, "parameter 'n' is '4x'");
}

static void
versions_live_side_by_side(void **state)
{
    static const char *const files[] = {"good", "good_2", "good_linked"};
    char versions[3][33];

    (void)state;
    for (int i = 0; i < 3; i++) {
        function_export(&test, "good", files[i], versions[i]);
    }
    for (int i = 0; i < 6; i++) {
        Granary__ChunkOp *op = call_new("good", versions[i % 3], "from_nothing");
        granary_id ids[2] = {granary_id_random(), granary_id_random()};
        granary_frame *frame;
        granary_view view;

        op_output(op, &ids[0]);
        op_output(op, &ids[1]);
        granary__done__free_unpacked(function_run(&test, &op, 1, GRANARY_OK), NULL);
        frame = get_frame(ids[0], &view);
        assert_int_equal(((const int64_t *)frame->columns[0].view.values)[1], i % 3 + 1);
        gr_frame_destroy(frame);
        granary_object_release(test.client, &view);
    }
}

/* ---- failures ---- */

static void
long_output_is_cut(void **state)
{
    Granary__ChunkOp *op = call_good(&test, "talks");
    Granary__Done *done;
    char *log;

    (void)state;
    call_params(op, "bytes", "20000000", NULL);
    op_output(op, &(granary_id){.bytes = {1}});
    done = function_run(&test, &op, 1, GRANARY_EINVAL); /* it asks for its output wrongly */
    assert_non_null(strstr(done->message, "the rest is not kept"));
    granary__done__free_unpacked(done, NULL);
    log = function_log(&test);
    assert_non_null(log);
    assert_true(strlen(log) <= 16 << 20);
    free(log);
}

static void
what_a_function_disturbs_is_put_back(void **state)
{
    char want[256];

    (void)state;
    function_expect(&test, call_good(&test, "disturbs"), "");
    function_expect(&test, call_good(&test, "leaves_threads"), "");
    function_expect(&test, call_good(&test, "forks"), "");
    (void)snprintf(want, sizeof want, "%s default ignored open umask 1", test.pool.store.directory);
    function_expect(&test, call_good(&test, "looks"), want);
}

/* ---- reusable variables ---- */

static void
reusable_variables_are_kept_and_put_in_order(void **state)
{
    Granary__ChunkOp *op;

    (void)state;
    function_expect(&test, call_good(&test, "counts"), "1 0 1");
    function_expect(&test, call_good(&test, "counts"), "1 1 2");
    op = call_good(&test, "counts");
    call_params(op, "spoil", "yes", NULL);
    function_expect(&test, op, "2 0 1");
    function_expect(&test, call_good(&test, "counts"), "2 1 2");
    op = call_good(&test, "asks");
    call_params(op, "which", "never", NULL);
    op_output(op, &(granary_id){.bytes = {1}});
    function_expect_failure(&test, op, GRANARY_EFAILED, true, "no such host");
    op = call_good(&test, "asks");
    call_params(op, "which", "nothing", NULL);
    op_output(op, &(granary_id){.bytes = {1}});
    function_expect_failure(&test, op, GRANARY_EFAILED, true, "declares no reusable variable 'nothing'");
}

/* ---- what is seen from outside ---- */

static void
the_page_tells_and_cancels(void **state)
{
    struct gr_executor_page *page = function_page(&test);
    Granary__ChunkOp *op = call_good(&test, "until_cancelled");
    Granary__Done *done;
    uint64_t number;

    (void)state;
    op_output(op, &(granary_id){.bytes = {1}});
    function_send(&test, &op, 1, 0);
    function_await(&page->progress, 250000000);
    number = atomic_load(&page->subtask);
    assert_int_equal((uint32_t)number, test.number);
    assert_int_equal(atomic_load(&page->phase), GR_PHASE_RUN);
    assert_true(strncmp(page->log, "graph/", 6) == 0);
    atomic_store(&page->cancel, number);
    done = function_done(&test, GRANARY_ECANCELLED);
    assert_false(done->user_failed);
    granary__done__free_unpacked(done, NULL);
    function_await(&page->subtask, 0);
    assert_int_equal(atomic_load(&page->phase), GR_PHASE_IDLE);
    (void)munmap(page, GR_EXECUTOR_PAGE_SIZE);
}

static void
the_page_tells_what_is_waited_for(void **state)
{
    struct gr_executor_page *page = function_page(&test);
    Granary__ChunkOp *op = call_good(&test, "waits");
    granary_id id = granary_id_random();
    char text[33];
    uint64_t words[2];
    granary_id out = granary_id_random();

    (void)state;
    granary_id_format(id, text);
    gr_id_words(id, words);
    call_params(op, "id", text, NULL);
    op_output(op, &out);
    function_send(&test, &op, 1, 0);
    function_await(&page->waits_for[0], words[0]);
    function_await(&page->waits_for[1], words[1]);
    assert_int_equal(granary_object_put(test.client, id, "here", 4, NULL, 0, 0), GRANARY_OK);
    granary__done__free_unpacked(function_done(&test, GRANARY_OK), NULL);
    assert_int_equal(atomic_load(&page->waits_for[0]), 0);
    (void)munmap(page, GR_EXECUTOR_PAGE_SIZE);
}

static void
a_subtask_does_not_wait_for_a_graph(void **state)
{
    Granary__ChunkOp *op = call_good(&test, "waits_for_graph");

    (void)state;
    op_output(op, &(granary_id){.bytes = {1}});
    function_expect_failure(&test, op, GRANARY_ESTATE, true, "granary_call_go_on()");
}

static void
a_function_finds_its_session(void **state)
{
    (void)state;
    assert_int_equal(granary_env_get(), GRANARY_ENV_CLIENT);
    function_expect(&test, call_good(&test, "connects"), "");
    assert_true(granary_object_contains(test.client, granary_id_from_name("x", "connects")));
}

static void
a_subtask_goes_on_as_a_graph(void **state)
{
    Granary__ChunkOp *op = call_good(&test, "goes_on");
    Granary__Done *done;

    (void)state;
    op_output(op, &(granary_id){.bytes = {1}});
    done = function_run(&test, &op, 1, GRANARY_OK);
    assert_non_null(done->go_on);
    assert_int_equal(done->go_on->n_nodes, 1);
    assert_int_equal(done->n_go_on_targets, 1);
    assert_string_equal(done->go_on_targets[0], "numbers");
    assert_int_equal(done->n_outputs, 0);
    granary__done__free_unpacked(done, NULL);
    op = call_good(&test, "goes_on");
    call_params(op, "twice", "yes", NULL);
    op_output(op, &(granary_id){.bytes = {1}});
    function_expect_failure(&test, op, GRANARY_EINVAL, true, "as many targets, not 2");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_column_is_as_a_kernel_makes_it),
        cmocka_unit_test(columns_are_replaced_and_rows_chosen),
        cmocka_unit_test(functions_stand_among_operators),
        cmocka_unit_test(outputs_are_told_with_their_shape),
        cmocka_unit_test(frames_and_tensors_are_read_in_place),
        cmocka_unit_test(an_earlier_attempt_does_not_matter),
        cmocka_unit_test(columns_the_graph_promises_are_checked),
        cmocka_unit_test(tensors_the_graph_promises_are_checked),
        cmocka_unit_test(operators_of_a_subtask_share_a_log),
        cmocka_unit_test(context_and_parameters_are_told),
        cmocka_unit_test(versions_live_side_by_side),
        cmocka_unit_test(long_output_is_cut),
        cmocka_unit_test(what_a_function_disturbs_is_put_back),
        cmocka_unit_test(reusable_variables_are_kept_and_put_in_order),
        cmocka_unit_test(the_page_tells_and_cancels),
        cmocka_unit_test(the_page_tells_what_is_waited_for),
        cmocka_unit_test(a_subtask_does_not_wait_for_a_graph),
        cmocka_unit_test(a_function_finds_its_session),
        cmocka_unit_test(a_subtask_goes_on_as_a_graph),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
