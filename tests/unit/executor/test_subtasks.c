/* Subtasks run by a real executor on a real store: results, errors, retries, cancelling, freeing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/arrow/arrow.h"
#include "granary/store.h"
#include "unit/executor/pool_fixture.h"

static struct pool_test test;
static granary_client *client;

static int
start(void **state)
{
    granary_connect_options options = {0};

    (void)state;
    pool_test_start(&test, 1);
    options.instance = test.store.directory;
    assert_int_equal(granary_connect(&options, &client), GRANARY_OK);
    return 0;
}

static int
stop(void **state)
{
    (void)state;
    granary_disconnect(client);
    pool_test_stop(&test);
    return 0;
}

static granary_id
id_of(const char *name)
{
    return granary_id_from_name(NULL, name);
}

/* start, start + 1, ...: `count` int64 */
static Granary__ChunkOp *
arange(int64_t first, int64_t count, const granary_id *id)
{
    const int64_t zero = 0;
    Granary__ChunkOp *op = op_new("arange");

    op_attr(op, gr_attr_new_int("start", first));
    op_attr(op, gr_attr_new_int("step", 1));
    op_attr(op, gr_attr_new_ints("shape", &count, 1));
    op_attr(op, gr_attr_new_ints("offset", &zero, 1));
    op_attr(op, gr_attr_new_ints("size", &count, 1));
    op->node = strdup("numbers");
    op_output(op, id);
    return op;
}

static Granary__ChunkOp *
map(const char *function, const granary_id *id)
{
    Granary__ChunkOp *op = op_new("map");

    op_attr(op, gr_attr_new_string("function", function));
    op->node = strdup("changed");
    op_output(op, id);
    return op;
}

static Granary__Done *
next_done(uint64_t number, granary_err err)
{
    Granary__Done *done = pool_next_done(&test);

    assert_int_equal(done->number, number);
    if (done->err != err) {
        fail_msg("subtask %llu: %s: %s", (unsigned long long)number, granary_error_name(done->err), done->message);
    }
    return done;
}

static void
expect_done(uint64_t number, granary_err err)
{
    granary__done__free_unpacked(next_done(number, err), NULL);
}

static void
assert_ints(granary_id id, const int64_t *want, int64_t count)
{
    granary_view view;
    granary_tensor tensor;

    assert_int_equal(granary_object_get(client, id, 0, &view), GRANARY_OK);
    assert_int_equal(gr_npy_read(view.data, view.data_size, &tensor), GRANARY_OK);
    assert_int_equal(tensor.dtype, GRANARY_INT64);
    assert_int_equal(gr_tensor_elements(&tensor), count);
    assert_memory_equal(tensor.values, want, (size_t)count * sizeof *want);
    granary_object_release(client, &view);
}

static void
operators_pass_values_on(void **state)
{
    const granary_id doubled = id_of("doubled"), negated = id_of("negated");
    Granary__ChunkOp *ops[3] = {arange(5, 3, NULL), map("add", &doubled), map("negative", &negated)};
    Granary__ChunkOp *next[1];
    Granary__Done *done;

    (void)state;
    op_input_local(ops[1], 0, 0);
    op_input_local(ops[1], 0, 0);
    op_input_local(ops[2], 1, 0);
    pool_run(&test, 0, 1, ops, 3);
    done = next_done(1, GRANARY_OK);
    assert_int_equal(done->attempt, 3);
    assert_int_equal(done->n_outputs, 2);
    assert_memory_equal(done->outputs[0]->id.data, doubled.bytes, 16);
    assert_int_equal(done->outputs[0]->rows, -1);
    assert_int_equal(done->outputs[0]->n_shape, 1);
    assert_int_equal(done->outputs[0]->shape[0], 3);
    assert_true(done->outputs[0]->bytes > 3 * sizeof(int64_t));
    assert_true(done->nanoseconds > 0);
    granary__done__free_unpacked(done, NULL);
    assert_ints(doubled, (const int64_t[]){10, 12, 14}, 3);
    assert_ints(negated, (const int64_t[]){-10, -12, -14}, 3);

    /* Objects are inputs of later subtasks. */
    next[0] = map("subtract", &(granary_id){.bytes = {77}});
    op_input(next[0], doubled);
    op_input(next[0], negated);
    pool_run(&test, 0, 2, next, 1);
    expect_done(2, GRANARY_OK);
    assert_ints((granary_id){.bytes = {77}}, (const int64_t[]){20, 24, 28}, 3);
}

static void
a_frame_becomes_an_arrow_file(void **state)
{
    static char name[] = "n", dtype[] = "int64";
    char *const names[] = {name};
    char *const dtypes[] = {dtype};
    const int64_t position = 0;
    const granary_id id = id_of("frame");
    char *path = file_write("7\n\n8\n", 5);
    Granary__ChunkOp *op = op_new("csv_read");
    Granary__Done *done;
    granary_view view;
    granary_frame *frame;

    (void)state;
    op_attr(op, gr_attr_new_string("path", path));
    op_attr(op, gr_attr_new_int("offset", 0));
    op_attr(op, gr_attr_new_int("size", 5));
    op_attr(op, gr_attr_new_strings("columns", names, 1));
    op_attr(op, gr_attr_new_strings("dtypes", dtypes, 1));
    op_attr(op, gr_attr_new_ints("positions", &position, 1));
    op_output(op, &id);
    pool_run(&test, 0, 3, &op, 1);
    done = next_done(3, GRANARY_OK);
    assert_int_equal(done->outputs[0]->rows, 2);
    granary__done__free_unpacked(done, NULL);
    assert_int_equal(granary_object_get(client, id, 0, &view), GRANARY_OK);
    assert_memory_equal(view.data, "ARROW1", 6);
    assert_int_equal(gr_arrow_read(view.data, view.data_size, view.meta, view.meta_size, &frame), GRANARY_OK);
    assert_int_equal(((const int64_t *)frame->columns[0].view.values)[1], 8);
    gr_frame_destroy(frame);
    granary_object_release(client, &view);
    file_remove(path);
}

static void
answers_to_the_planner_come_back(void **state)
{
    char *path = file_write("a,b\n1,2\n", 8);
    Granary__ChunkOp *op = op_new("csv_infer");
    Granary__CsvTypes *types;
    Granary__Done *done;

    (void)state;
    op_attr(op, gr_attr_new_string("path", path));
    op_attr(op, gr_attr_new_int("offset", 0));
    op_attr(op, gr_attr_new_int("size", 8));
    op_attr(op, gr_attr_new_bool("header", true));
    pool_run(&test, 0, 4, &op, 1);
    done = next_done(4, GRANARY_OK);
    assert_int_equal(done->n_inlines, 1);
    types = granary__csv_types__unpack(NULL, done->inlines[0].len, done->inlines[0].data);
    assert_non_null(types);
    assert_int_equal(types->n_names, 2);
    granary__csv_types__free_unpacked(types, NULL);
    granary__done__free_unpacked(done, NULL);
    file_remove(path);
}

static void
a_second_attempt_finds_its_result_and_succeeds(void **state)
{
    const granary_id id = id_of("twice");

    (void)state;
    for (uint64_t number = 10; number < 12; number++) {
        Granary__ChunkOp *op = arange(1, 2, &id);

        pool_run(&test, 0, number, &op, 1);
        expect_done(number, GRANARY_OK);
    }
    assert_ints(id, (const int64_t[]){1, 2}, 2);
}

static void
inputs_that_are_gone_are_named(void **state)
{
    const granary_id here = id_of("here"), gone = id_of("gone");
    Granary__ChunkOp *op = arange(0, 1, &here);
    Granary__Done *done;

    (void)state;
    pool_run(&test, 0, 20, &op, 1);
    expect_done(20, GRANARY_OK);
    op = map("add", NULL);
    op_input(op, here);
    op_input(op, gone);
    pool_run(&test, 0, 21, &op, 1);
    done = next_done(21, GRANARY_ENOENT);
    assert_int_equal(done->n_lost, 1);
    assert_memory_equal(done->lost[0].data, gone.bytes, 16);
    assert_int_equal(done->n_outputs, 0);
    granary__done__free_unpacked(done, NULL);
}

static void
errors_name_the_node(void **state)
{
    const granary_id id = id_of("never");
    Granary__ChunkOp *ops[2] = {arange(0, 2, NULL), map("cube", &id)};
    Granary__Done *done;

    (void)state;
    op_input_local(ops[1], 0, 0);
    pool_run(&test, 0, 30, ops, 2);
    done = next_done(30, GRANARY_EINVAL);
    assert_string_equal(done->node, "changed");
    assert_string_equal(done->message, "node 'changed' (map): no function 'cube'");
    assert_false(granary_object_contains(client, id));
    granary__done__free_unpacked(done, NULL);

    ops[0] = op_new("no_such_operator");
    pool_run(&test, 0, 31, ops, 1);
    expect_done(31, GRANARY_EUNSUPPORTED);
}

static void
subtasks_that_make_no_sense_are_refused(void **state)
{
    Granary__ChunkOp *op = op_new("null");

    (void)state;
    op_input_local(op, 0, 0); /* itself */
    pool_run(&test, 0, 40, &op, 1);
    expect_done(40, GRANARY_EPROTO);
    op = op_new("null");
    op_input(op, id_of("x"));
    op->inputs[0]->object.len = 15;
    pool_run(&test, 0, 41, &op, 1);
    expect_done(41, GRANARY_EPROTO);
    op = op_new("null");
    op_output(op, &(granary_id){.bytes = {1}}); /* which gives no value */
    pool_run(&test, 0, 42, &op, 1);
    expect_done(42, GRANARY_EFAILED);
    pool_run(&test, 0, 43, NULL, 0); /* nothing to do is done */
    expect_done(43, GRANARY_OK);
}

/* Short answers travel together, in the order of the subtasks. */
static void
short_subtasks_are_answered_in_batches(void **state)
{
    enum { N = 1000 };
    Granary__Subtask subtasks[N];
    Granary__Subtask *run[N];
    Granary__ChunkOp op = GRANARY__CHUNK_OP__INIT;
    Granary__ChunkOp *ops[1] = {&op};
    Granary__ToExecutor message = GRANARY__TO_EXECUTOR__INIT;
    char name[] = "null";
    size_t before = test.messages;

    (void)state;
    op.op = name;
    for (int i = 0; i < N; i++) {
        granary__subtask__init(&subtasks[i]);
        subtasks[i].number = 1000 + (uint64_t)i;
        subtasks[i].ops = ops;
        subtasks[i].n_ops = 1;
        run[i] = &subtasks[i];
    }
    message.run = run;
    message.n_run = N;
    pool_send(&test, 0, &message);
    for (uint64_t i = 0; i < N; i++) {
        expect_done(1000 + i, GRANARY_OK);
    }
    assert_true(test.messages - before < N / 8);
}

static void
what_has_not_started_can_be_cancelled(void **state)
{
    Granary__Subtask subtasks[3];
    Granary__Subtask *run[3];
    Granary__ToExecutor message = GRANARY__TO_EXECUTOR__INIT;
    uint64_t cancelled[] = {2001, 9999};
    Granary__Done *done;
    int seen = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {
        granary__subtask__init(&subtasks[i]);
        subtasks[i].number = 2000 + (uint64_t)i;
        run[i] = &subtasks[i];
    }
    message.run = run;
    message.n_run = 3;
    message.cancel = cancelled;
    message.n_cancel = 2;
    pool_send(&test, 0, &message);
    for (int i = 0; i < 3; i++) {
        done = pool_next_done(&test);
        assert_int_equal(done->err, done->number == 2001 ? GRANARY_ECANCELLED : GRANARY_OK);
        seen |= 1 << (done->number - 2000);
        granary__done__free_unpacked(done, NULL);
    }
    assert_int_equal(seen, 7);
}

static void
freed_objects_are_deleted(void **state)
{
    const granary_id id = id_of("freed");
    granary_id gone = id_of("was never there");
    granary_id freed = id;
    ProtobufCBinaryData list[] = {{16, freed.bytes}, {16, gone.bytes}, {3, gone.bytes}};
    Granary__ToExecutor message = GRANARY__TO_EXECUTOR__INIT;
    Granary__ChunkOp *op = arange(0, 10, &id);
    char session[] = "default";

    (void)state;
    pool_run(&test, 0, 60, &op, 1);
    expect_done(60, GRANARY_OK);
    assert_true(granary_object_contains(client, id));
    message.free = list;
    message.n_free = 3;
    message.free_session = session;
    pool_send(&test, 0, &message);
    /* The store takes an executor's requests in order: a result that is there comes after the deletion. */
    op = arange(0, 1, &(granary_id){.bytes = {61}});
    pool_run(&test, 0, 61, &op, 1);
    expect_done(61, GRANARY_OK);
    assert_false(granary_object_contains(client, id));
}

static void
sessions_are_apart(void **state)
{
    Granary__Subtask subtask = GRANARY__SUBTASK__INIT;
    Granary__Subtask *run = &subtask;
    Granary__ToExecutor message = GRANARY__TO_EXECUTOR__INIT;
    const granary_id id = id_of("elsewhere");
    Granary__ChunkOp *op = arange(0, 4, &id);
    granary_connect_options options = {.instance = test.store.directory, .session = "other"};
    char session[] = "other";
    granary_client *other;

    (void)state;
    assert_int_equal(granary_connect(&options, &other), GRANARY_OK);
    subtask.number = 70;
    subtask.session = session;
    subtask.ops = &op;
    subtask.n_ops = 1;
    message.run = &run;
    message.n_run = 1;
    pool_send(&test, 0, &message);
    expect_done(70, GRANARY_OK);
    /* One that is not there is not made. */
    (void)memcpy(session, "nosuc", sizeof session);
    subtask.number = 71;
    pool_send(&test, 0, &message);
    granary__chunk_op__free_unpacked(op, NULL);
    expect_done(71, GRANARY_ENOENT);
    assert_false(granary_object_contains(client, id));
    assert_true(granary_object_contains(other, id));
    granary_disconnect(other);
}

/* Whoever ordered what nobody can read must not wait for it: who was ordered ends, the next one is asked again. */
static void
garbage_ends_who_cannot_read_it(void **state)
{
    size_t next;

    (void)state;
    assert_int_equal(gr_zmq_send(test.router, &test.executors[0].peer, "\xff\xff\xff garbage", 11), GRANARY_OK);
    do {
        next = pool_next_registration(&test);
    } while (next == 0);
    pool_run(&test, next, 50, NULL, 0);
    expect_done(50, GRANARY_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_pass_values_on),
        cmocka_unit_test(a_frame_becomes_an_arrow_file),
        cmocka_unit_test(answers_to_the_planner_come_back),
        cmocka_unit_test(a_second_attempt_finds_its_result_and_succeeds),
        cmocka_unit_test(inputs_that_are_gone_are_named),
        cmocka_unit_test(errors_name_the_node),
        cmocka_unit_test(subtasks_that_make_no_sense_are_refused),
        cmocka_unit_test(short_subtasks_are_answered_in_batches),
        cmocka_unit_test(what_has_not_started_can_be_cancelled),
        cmocka_unit_test(freed_objects_are_deleted),
        cmocka_unit_test(sessions_are_apart),
        cmocka_unit_test(garbage_ends_who_cannot_read_it),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
