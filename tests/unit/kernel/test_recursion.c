/* recurse: rounds by hand, bodies that nobody should run, every allocation failing once, and being stopped. */
#include "rows_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "support/allocations.h"

#define OPS_MAX 4

/* A body by hand: each operator has a mapping or a text, and inputs. */
struct body {
    Granary__ChunkOp ops[OPS_MAX];
    Granary__ChunkOp *list[OPS_MAX];
    Granary__Attr *attrs[OPS_MAX];
    Granary__Operand operands[OPS_MAX][2];
    Granary__Operand *inputs[OPS_MAX][2];
    ProtobufCBinaryData outputs[OPS_MAX];
    size_t count;
};

/* outer > 0: that one; else operator `from` of the body. */
static void
body_add(struct body *body, const char *op, Granary__Attr *attr, uint32_t outer, uint32_t from)
{
    size_t at = body->count++;

    granary__chunk_op__init(&body->ops[at]);
    granary__operand__init(&body->operands[at][0]);
    body->operands[at][0].outer = outer;
    body->operands[at][0].op = from;
    body->inputs[at][0] = &body->operands[at][0];
    body->attrs[at] = attr;
    body->ops[at].op = (char *)(uintptr_t)op;
    body->ops[at].node = (char *)(uintptr_t) "inner";
    body->ops[at].inputs = body->inputs[at];
    body->ops[at].n_inputs = 1;
    body->ops[at].attrs = &body->attrs[at];
    body->ops[at].n_attrs = attr != NULL;
    body->ops[at].outputs = &body->outputs[at];
    body->ops[at].n_outputs = 1;
    body->list[at] = &body->ops[at];
}

static void
body_fini(struct body *body)
{
    for (size_t i = 0; i < body->count; i++) {
        granary__attr__free_unpacked(body->attrs[i], NULL);
    }
    *body = (struct body){.count = 0};
}

static Granary__Attr *
mapping(const char *name, const char *text)
{
    char *keys[1] = {(char *)(uintptr_t)name};
    char *texts[1] = {(char *)(uintptr_t)text};

    return gr_attr_new_map("columns", keys, texts, 1);
}

/* Rows whose n is below 5 make one with n + 1. */
static void
count_to_five(struct body *body)
{
    body_add(body, "filter", gr_attr_new_string("where", "n < 5"), 1, 0);
    body_add(body, "project", mapping("n", "n + 1"), 0, 0);
}

static void
begin(struct kernel_test *test, struct body *body, const granary_frame *first)
{
    kernel_test_init(test, "recurse");
    kernel_test_attr(test, gr_attr_new_int("body", 0));
    kernel_test_frame(test, first);
    test->op.body = body->list;
    test->op.n_body = body->count;
}

/* The body is the test's, not the message's. */
static void
end(struct kernel_test *test, struct body *body)
{
    test->op.body = NULL;
    test->op.n_body = 0;
    body_fini(body);
}

static void
rounds_run(void **state)
{
    granary_frame *first = frame_text("n:int64", "1\n4\n");
    granary_frame *frame;
    struct body body = {.count = 0};
    struct kernel_test test;

    (void)state;
    count_to_five(&body);
    begin(&test, &body, first);
    frame = kernel_test_to_frame(&test, run_recurse);
    assert_frame(frame, "n\n1\n4\n2\n5\n3\n4\n5\n");
    gr_frame_destroy(frame);
    end(&test, &body);
    count_to_five(&body);
    begin(&test, &body, first);
    kernel_test_attr(&test, gr_attr_new_bool("distinct", true));
    frame = kernel_test_to_frame(&test, run_recurse);
    assert_frame(frame, "n\n1\n4\n2\n5\n3\n");
    gr_frame_destroy(frame);
    end(&test, &body);
    count_to_five(&body);
    begin(&test, &body, first);
    kernel_test_attr(&test, gr_attr_new_int("limit", 3));
    frame = kernel_test_to_frame(&test, run_recurse);
    assert_frame(frame, "n\n1\n4\n2\n5\n");
    gr_frame_destroy(frame);
    end(&test, &body);
    count_to_five(&body);
    begin(&test, &body, first);
    kernel_test_attr(&test, gr_attr_new_int("most", 20));
    kernel_test_fails(&test, run_recurse, GRANARY_EFULL, "after 0 rounds its 2 rows");
    end(&test, &body);
    gr_frame_destroy(first);
}

/* A message can say anything. */
static void
bodies_are_checked(void **state)
{
    granary_frame *first = frame_text("n:int64", "1\n");
    static uint8_t id[16] = {1};

    (void)state;
    for (int wrong = 0; wrong < 8; wrong++) {
        struct body body = {.count = 0};
        struct kernel_test test;

        count_to_five(&body);
        body.ops[0].op = (char *)(uintptr_t)(wrong == 0 ? "call" : "filter");
        body.operands[1][0].op = wrong == 1 ? 1 : wrong == 2 ? 7 : 0;
        body.operands[1][0].output = wrong == 3;
        body.operands[0][0].outer = wrong == 4 ? 3 : 1;
        body.outputs[1] = wrong == 5 ? (ProtobufCBinaryData){.len = sizeof id, .data = id} : (ProtobufCBinaryData){0};
        body.operands[0][0].object =
            wrong == 6 ? (ProtobufCBinaryData){.len = sizeof id, .data = id} : (ProtobufCBinaryData){0};
        begin(&test, &body, first);
        test.op.n_body = wrong == 7 ? 0 : test.op.n_body;
        kernel_test_fails(&test, run_recurse, GRANARY_EPROTO, "body");
        end(&test, &body);
    }
    gr_frame_destroy(first);
}

/* Whatever fails within, nothing is kept. */
/* Every allocation fails once. */
static void
fail_each(struct kernel_test *test)
{
    granary_err err = GRANARY_ENOMEM;
    long n;

    for (n = 0; err != GRANARY_OK; n++) {
        allocations_left = n;
        err = kernel_test_run(test, run_recurse);
        if (err == GRANARY_OK && allocations_left < 0) {
            fail_msg("allocation %ld failed, and nobody said so", n);
        }
        allocations_left = -1;
        if (err != GRANARY_OK && err != GRANARY_ENOMEM) {
            fail_msg("allocation %ld: %s", n, granary_error_message());
        }
        if (err != GRANARY_OK) {
            gr_value_free(&test->outputs[0]);
        }
        assert_true(n < 100000);
    }
    assert_true(n > 100);
}

static void
memory_may_end(void **state)
{
    granary_frame *first = frame_text("n:float64,s:string", "1,a\n2,\n,b\n");
    struct body body = {.count = 0};
    struct kernel_test test;

    (void)state;
    body_add(&body, "filter", gr_attr_new_string("where", "n < 40"), 1, 0);
    body_add(&body, "assign", mapping("n", "n + 1"), 0, 0);
    begin(&test, &body, first);
    kernel_test_attr(&test, gr_attr_new_bool("distinct", true));
    fail_each(&test);
    assert_int_equal(test.outputs[0].frame->rows, 3 + 39 + 38);
    end(&test, &body);
    kernel_test_fini(&test);
    gr_frame_destroy(first);
}

static Granary__Attr *
names(const char *name, const char *text)
{
    char *texts[1] = {(char *)(uintptr_t)text};

    return gr_attr_new_strings(name, texts, 1);
}

/* Rows with keys: the last one of each is left, and rounds are given all of them. */
static void
keys_are_replaced(void **state)
{
    granary_frame *first = frame_text("s:string,n:int64,f:int64", "a,1,0\nb,5,0\na,2,7\n,3,0\n");
    struct body body = {.count = 0};
    struct kernel_test test;
    const granary_frame *all;

    (void)state;
    body_add(&body, "filter", gr_attr_new_string("where", "f = 1 and n < 9"), 1, 0);
    body_add(&body, "assign", mapping("n", "n + 1"), 0, 0);
    begin(&test, &body, first);
    kernel_test_attr(&test, gr_attr_new_bool("distinct", true));
    kernel_test_attr(&test, gr_attr_new_string("fresh", "f"));
    kernel_test_attr(&test, names("keys", "s"));
    fail_each(&test);
    all = test.outputs[0].frame;
    assert_int_equal(all->rows, 3);
    for (int64_t row = 0; row < 3; row++) {
        assert_int_equal(((const int64_t *)all->columns[1].view.values)[row], 9);
        assert_int_equal(((const int64_t *)all->columns[2].view.values)[row], 0);
    }
    assert_true(gr_is_null(&all->columns[0].view, 2));
    end(&test, &body);
    kernel_test_fini(&test);

    body_add(&body, "project", mapping("n", "n"), 1, 0);
    begin(&test, &body, first);
    kernel_test_attr(&test, gr_attr_new_string("fresh", "g"));
    kernel_test_fails(&test, run_recurse, GRANARY_EPROTO, "'g' is no column of int64");
    end(&test, &body);
    kernel_test_fini(&test);

    body_add(&body, "project", mapping("n", "n"), 1, 0);
    begin(&test, &body, first);
    kernel_test_attr(&test, gr_attr_new_string("fresh", "f"));
    kernel_test_attr(&test, names("keys", "t"));
    kernel_test_fails(&test, run_recurse, GRANARY_EPROTO, "there is no column 't'");
    end(&test, &body);
    kernel_test_fini(&test);
    gr_frame_destroy(first);
}

static bool
is_stopped(const struct gr_kernel_call *call)
{
    int *left;

    memcpy(&left, &call->stopping, sizeof left);
    return (*left)-- == 0;
}

static void
it_can_be_stopped(void **state)
{
    granary_frame *first = frame_text("n:int64", "1\n");
    struct body body = {.count = 0};
    struct kernel_test test;
    int left = 1000;

    (void)state;
    body_add(&body, "project", mapping("n", "n % 7 + 1"), 1, 0);
    begin(&test, &body, first);
    test.stopped = is_stopped;
    test.stopping = &left;
    kernel_test_fails(&test, run_recurse, GRANARY_ECANCELLED, "in round 1000, with 1001 rows");
    end(&test, &body);
    gr_frame_destroy(first);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_run),        cmocka_unit_test(bodies_are_checked), cmocka_unit_test(memory_may_end),
        cmocka_unit_test(keys_are_replaced), cmocka_unit_test(it_can_be_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
