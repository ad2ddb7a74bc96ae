/*
 * Every function on every dtype that its rule allows: what the check lets through, a kernel computes, and gives the dtype
 * that the check has said. Which values are right, others test (tests/differ).
 */
#include "rows_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/expr.h"
#include "graph/operators/aggregate.h"
#include "graph/window.h"

/* A column a dtype, called like it, with a value and a null. */
static granary_frame *
every_dtype(void)
{
    return frame_text("int8:int8,int16:int16,int32:int32,int64:int64,uint8:uint8,uint16:uint16,uint32:uint32,"
                      "uint64:uint64,float32:float32,float64:float64,decimal:decimal(2),date:date,"
                      "timestamp:timestamp,duration:duration,bool:bool,string:string,"
                      "time:time,timestamptz:timestamptz,binary:binary",
                      "1,1,1,1,1,1,1,1,1,1,1,1,1,1,true,1,01:02:03,2020-01-02T03:04:05Z,\\x61\n,,,,,,,,,,,,,,,,,,\n");
}

enum { COLUMNS = 19, OPERANDS = COLUMNS + 12, OPERANDS_MOST = 3 };

/* What is put in for an operand. */
static const char *
operand_text(const granary_frame *frame, int i)
{
    static const char *const literals[] = {"null",
                                           "'abcd'", /* in base 16, and 64 */
                                           "'month'",
                                           "'UTC'",
                                           "interval '1 month'",
                                           "list_value(int64, null, 2)",
                                           "string_split(string, '')",
                                           "list_value(1, 2, 7, 11)",
                                           "list_value(bool)",
                                           "'a'", /* ascending */
                                           "2",
                                           "'[1,2,3]'"};

    return i < COLUMNS ? frame->columns[i].view.name : literals[i - COLUMNS];
}

struct seen {
    int lanes;  /* the check allows */
    int values; /* of them so many gave a value */
};

static void
assert_computed(const granary_frame *frame, const char *text, granary_dtype dtype, struct seen *seen)
{
    granary_frame *made = NULL;
    granary_err err = computed(text, frame, &made);

    seen->lanes++;
    if (err == GRANARY_EFAILED) { /* there is no such day, say */
        return;
    }
    if (err != GRANARY_OK) {
        fail_msg("%s: the check allows it, but: %s", text, granary_error_message());
    }
    if (made->columns[0].view.dtype != dtype) {
        fail_msg("%s: the check says %s", text, granary_dtype_name(dtype));
    }
    seen->values += made->columns[0].view.rows > 0 && !gr_is_null(&made->columns[0].view, 0);
    gr_frame_destroy(made);
}

/* Each operand as it is parsed. */
struct operands {
    struct gr_expr *all[OPERANDS];
};

static void
operands_parse(const granary_frame *frame, struct operands *ret_operands)
{
    for (int i = 0; i < OPERANDS; i++) {
        assert_int_equal(gr_expr_parse(operand_text(frame, i), &ret_operands->all[i]), GRANARY_OK);
    }
}

static void
operands_free(struct operands *operands)
{
    for (int i = 0; i < OPERANDS; i++) {
        gr_expr_destroy(operands->all[i]);
    }
}

static struct gr_expr *
make_call(const struct operands *operands, const struct gr_expr *like, const int *chosen, size_t count)
{
    struct gr_expr *parts[OPERANDS_MOST];
    struct gr_expr *expr = NULL;

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(gr_expr_copy(operands->all[chosen[i]], &parts[i]), GRANARY_OK);
    }
    assert_int_equal(gr_expr_call(like->op, parts, count, &expr), GRANARY_OK);
    expr->target = like->target;
    return expr;
}

static void
try_call(const granary_frame *frame, const struct gr_schema *schema, const struct operands *operands,
         const struct gr_expr *like, const int *chosen, size_t count, struct seen *seen)
{
    struct gr_expr *expr = make_call(operands, like, chosen, count);

    if (gr_expr_check(expr, schema) == GRANARY_OK) {
        struct gr_expr *plain = make_call(operands, like, chosen, count); /* the check has changed the other one */
        char *text = gr_expr_text(plain);

        assert_non_null(text);
        assert_computed(frame, text, expr->dtype, seen);
        free(text);
        gr_expr_destroy(plain);
    }
    gr_expr_destroy(expr);
}

/* All combinations of operands. */
static void
try_calls(const granary_frame *frame, const struct gr_schema *schema, const struct operands *operands,
          const struct gr_expr *like, size_t count, struct seen *seen)
{
    int chosen[OPERANDS_MOST] = {0};
    size_t at = 0;

    while (at < count) {
        try_call(frame, schema, operands, like, chosen, count, seen);
        for (at = 0; at < count && ++chosen[at] == OPERANDS; at++) {
            chosen[at] = 0;
        }
    }
}

/* Those with an operand that none of the texts here is: tests/differ asks them. */
static bool
needs_other_texts(enum gr_expr_op op)
{
    static const enum gr_expr_op ops[] = {GR_OP_ERROR,         GR_OP_FORMATTED,      GR_OP_READ_SIZE,
                                          GR_OP_LIST_FROM_KEY, GR_OP_LIST_TRANSFORM, GR_OP_LIST_FILTER,
                                          GR_OP_LIST_REDUCE,   GR_OP_LIST_FOLD,      GR_OP_JSON_EACH,
                                          GR_OP_JSON_TREE,     GR_OP_COLLATION_KEY};
    bool needs = false;

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        needs = needs || op == ops[i];
    }
    return needs;
}

static void
try_every_function(const granary_frame *frame)
{
    static const struct {
        enum gr_expr_op op;
        const char *text;
        int least;
        int most;
    } rows[] = {
#define EXPR_OP(id, text, least, most, ...) {GR_OP_##id, text, least, most},
#include "graph/expr/ops.def"
    };
    struct gr_schema schema = {0};
    struct operands operands;

    operands_parse(frame, &operands);
    for (int i = 0; i < COLUMNS; i++) {
        assert_int_equal(gr_schema_add(&schema, frame->columns[i].view.name, frame->columns[i].view.dtype), GRANARY_OK);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool casts = rows[i].op == GR_OP_CAST || rows[i].op == GR_OP_TRY_CAST;
        int most = rows[i].most < 0 ? rows[i].least : rows[i].most < OPERANDS_MOST ? rows[i].most : OPERANDS_MOST;
        struct seen seen = {0};

        if (rows[i].op == GR_OP_CONVERT || rows[i].op == GR_OP_ADD_INTERVAL) { /* the check makes them, of others */
            continue;
        }
        if (rows[i].least > OPERANDS_MOST) { /* too many combinations: tests/differ asks it */
            continue;
        }
        for (int count = rows[i].least; count <= most; count++) {
            for (int target = 0; target < (casts ? COLUMNS : 1); target++) {
                struct gr_expr like = {.op = rows[i].op, .target = frame->columns[target].view.dtype};

                try_calls(frame, &schema, &operands, &like, (size_t)count, &seen);
            }
        }
        if (seen.values == 0 && !needs_other_texts(rows[i].op)) {
            fail_msg("'%s' gives no value of any dtype (%d are allowed)", rows[i].text, seen.lanes);
        }
    }
    operands_free(&operands);
    gr_schema_free(&schema);
}

/* ---- aggregates ---- */

static void
assert_aggregated(const granary_frame *frame, const char *text, granary_dtype dtype)
{
    struct kernel_test map;
    struct kernel_test final;
    granary_frame *result;

    kernel_test_init(&map, "groupby_map");
    kernel_test_strings(&map, "keys", "");
    kernel_test_map(&map, "aggregate", text);
    kernel_test_frame(&map, frame);
    if (kernel_test_run(&map, run_groupby_map) != GRANARY_OK) {
        fail_msg("%s: the rule allows it, but: %s", text, granary_error_message());
    }
    kernel_test_init(&final, "groupby_final");
    kernel_test_strings(&final, "keys", "");
    kernel_test_map(&final, "aggregate", text);
    kernel_test_bytes(&final, &map.outputs[0]);
    result = kernel_test_to_frame(&final, run_groupby_final);
    kernel_test_fini(&map);
    if (result->columns[0].view.dtype != dtype) {
        fail_msg("%s: the rule says %s", text, granary_dtype_name(dtype));
    }
    gr_frame_destroy(result);
}

static void
try_every_aggregate(const granary_frame *frame)
{
#define NOTHING  ""
#define DDOF     ""
#define FRACTION ""
#define ARGUMENT ", int8"
#define ROWS     ", 1"
    static const struct {
        const char *text;
        const char *second;
    } rows[] = {
#define AGGREGATE(id, text, second, ...) {text, second},
#include "graph/operators/aggregates.def"
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int c = 0; c < COLUMNS; c++) {
            granary_dtype dtype;
            char text[80];

            if (gr_aggregate_dtype((enum gr_aggregate_function)i, frame->columns[c].view.dtype, &dtype) != GRANARY_OK) {
                continue;
            }
            (void)snprintf(text, sizeof text, "v=%s(%s%s)", rows[i].text, i > 0 ? frame->columns[c].view.name : "",
                           rows[i].second);
            assert_aggregated(frame, text, dtype);
        }
    }
}

/* ---- windows ---- */

/* "v=FUNCTION(column, literals)", with the literals that are needed. */
static void
window_text(const char *function, int value, const char *column, const char *literals, char ret_text[80])
{
    size_t used = (size_t)snprintf(ret_text, 80, "v=%s(%s", function, value > 0 ? column : "");

    for (const char *letter = literals; *letter != '\0' && *letter != '|'; letter++) {
        used += (size_t)snprintf(ret_text + used, 80 - used, "%s%s", value > 0 || letter > literals ? ", " : "",
                                 *letter == 'a' ? "0.5" : "1");
    }
    (void)snprintf(ret_text + used, 80 - used, ")");
}

static void
try_every_window(const granary_frame *frame)
{
    static const struct {
        const char *text;
        int value;
        const char *literals;
    } rows[] = {
#define WINDOW(id, text, value, literals, ...) {text, value, literals},
#include "graph/window/functions.def"
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int c = 0; c < (rows[i].value > 0 ? COLUMNS : 1); c++) {
            const char *column = frame->columns[c].view.name;
            struct gr_window window = {.function = (enum gr_window_function)i,
                                       .value = rows[i].value > 0 ? (char *)(uintptr_t)column : NULL};
            struct kernel_test test;
            granary_frame *result;
            granary_dtype dtype;
            char text[80];

            if (gr_window_dtype(&window, frame->columns[c].view.dtype, &dtype) != GRANARY_OK) {
                continue;
            }
            window_text(rows[i].text, rows[i].value, column, rows[i].literals, text);
            kernel_test_init(&test, "window");
            kernel_test_map(&test, "columns", text);
            kernel_test_strings(&test, "by", "int8");
            kernel_test_frame(&test, frame);
            result = kernel_test_to_frame(&test, run_window);
            if (result->columns[gr_frame_find(result, "v")].view.dtype != dtype) {
                fail_msg("%s: the rule says %s", text, granary_dtype_name(dtype));
            }
            gr_frame_destroy(result);
        }
    }
}

static void
every_function_has_its_kernels(void **state)
{
    granary_frame *frame = every_dtype();
    granary_frame *codes = encoded(frame); /* borrows from it */

    (void)state;
    try_every_function(frame);
    try_every_function(codes);
    gr_frame_destroy(codes);
    gr_frame_destroy(frame);
}

static void
every_aggregate_has_its_kernels(void **state)
{
    granary_frame *frame = every_dtype();

    (void)state;
    try_every_aggregate(frame);
    gr_frame_destroy(frame);
}

static void
every_window_has_its_kernels(void **state)
{
    granary_frame *frame = every_dtype();

    (void)state;
    try_every_window(frame);
    gr_frame_destroy(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_has_its_kernels),
        cmocka_unit_test(every_aggregate_has_its_kernels),
        cmocka_unit_test(every_window_has_its_kernels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
