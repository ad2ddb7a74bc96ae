#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/buf.h"
#include "graph/expr.h"
#include "support.h"

/* a, b int64; x float64; s string; d date; t timestamp; ok bool; n without values; and odd names */
static const struct gr_schema *
columns(void)
{
    static struct gr_field fields[] = {
        {(char *)(uintptr_t) "a", GRANARY_INT64},
        {(char *)(uintptr_t) "b", GRANARY_INT64},
        {(char *)(uintptr_t) "x", GRANARY_FLOAT64},
        {(char *)(uintptr_t) "s", GRANARY_STRING},
        {(char *)(uintptr_t) "d", GRANARY_DATE},
        {(char *)(uintptr_t) "t", GRANARY_TIMESTAMP},
        {(char *)(uintptr_t) "ok", GRANARY_BOOL},
        {(char *)(uintptr_t) "n", GRANARY_NULLTYPE},
        {(char *)(uintptr_t) "Cost Total $", GRANARY_INT64},
        {(char *)(uintptr_t) "back`tick", GRANARY_INT64},
        {(char *)(uintptr_t) "date", GRANARY_DATE},
        {(char *)(uintptr_t) "année", GRANARY_INT64},
    };
    static const struct gr_schema schema = {.count = sizeof fields / sizeof fields[0], .fields = fields};

    return &schema;
}

/* A tree as text: (+ a 1) */
static void
write_tree(const struct gr_expr *expr, struct gr_buf *out)
{
    switch (expr->kind) {
    case GR_EXPR_COLUMN:
        gr_buf_addf(out, "%s", expr->column);
        break;
    case GR_EXPR_LITERAL:
        if (expr->is_null) {
            gr_buf_addf(out, "null:%s", granary_dtype_name(expr->dtype));
        } else if (expr->dtype == GRANARY_FLOAT64) {
            gr_buf_addf(out, "%.17gf", expr->value.d);
        } else if (expr->dtype == GRANARY_STRING) {
            gr_buf_addf(out, "'%s'", expr->text);
        } else {
            gr_buf_addf(out, "%lld%s", (long long)expr->value.i,
                        expr->dtype == GRANARY_BOOL        ? "b"
                        : expr->dtype == GRANARY_DATE      ? "d"
                        : expr->dtype == GRANARY_TIMESTAMP ? "t"
                                                           : "");
        }
        break;
    case GR_EXPR_CALL:
        gr_buf_addf(out, "(%s", gr_expr_op_text(expr->op));
        for (size_t i = 0; i < expr->operand_count; i++) {
            gr_buf_addf(out, " ");
            write_tree(expr->operands[i], out);
        }
        gr_buf_addf(out, ")");
        break;
    }
}

struct tree {
    const char *text;
    const char *want;
};

static void
assert_trees(const struct tree *cases, size_t count, bool checked)
{
    for (size_t i = 0; i < count; i++) {
        struct gr_expr *expr = NULL;
        struct gr_buf out = {0};

        assert_succeeds(gr_expr_parse(cases[i].text, &expr));
        if (checked) {
            assert_succeeds(gr_expr_check(expr, columns()));
            gr_buf_addf(&out, "%s ", granary_dtype_name(expr->dtype));
        }
        write_tree(expr, &out);
        assert_string_equal(out.bytes, cases[i].want);
        gr_buf_free(&out);
        gr_expr_destroy(expr);
    }
}

static void
operators_bind_as_told(void **state)
{
    static const struct tree cases[] = {
        {"a", "a"},
        {" a\t+\n1 ", "(+ a 1)"},
        {"a + b * 2", "(+ a (* b 2))"},
        {"(a + b) * 2", "(* (+ a b) 2)"},
        {"a - b - 1", "(- (- a b) 1)"},
        {"a / b % 2", "(% (/ a b) 2)"},
        {"-a * b", "(* (- a) b)"},
        {"- - a", "(- (- a))"},
        {"a - -1", "(- a -1)"},
        {"a-1", "(- a 1)"},
        {"a > 1 and b > 2 or ok", "(or (and (> a 1) (> b 2)) ok)"},
        {"a > 1 or b > 2 and ok", "(or (> a 1) (and (> b 2) ok))"},
        {"a > 1 & b > 2 | ok", "(or (and (> a 1) (> b 2)) ok)"},
        {"a > 1 && b > 2 || ~ok", "(or (and (> a 1) (> b 2)) (not ok))"},
        {"not a = 1", "(not (= a 1))"},
        {"NOT Not !ok", "(not (not (not ok)))"},
        {"a + 1 == b", "(= (+ a 1) b)"},
        {"a <> b", "(!= a b)"},
        {"a <= b", "(<= a b)"},
        {"a>=b", "(>= a b)"},
        {"a>=^b and a =^ b", "(and (>=^ a b) (=^ a b))"},
        {"a is null", "(is null a)"},
        {"a + 1 IS NOT NULL and ok", "(and (is not null (+ a 1)) ok)"},
        {"isnull(a)", "(is null a)"},
        {"Year(d) = 2020", "(= (year d) 2020)"},
        {"length(lower(s))", "(length (lower s))"},
        {"date = date '1970-01-02'", "(= date 1d)"},
        {"timestamp '1970-01-01 00:00:01'", "1000000t"},
        {"date + year", "(+ date year)"},
    };

    (void)state;
    assert_trees(cases, sizeof cases / sizeof cases[0], false);
}

static void
literals_and_names_are_read(void **state)
{
    static const struct tree cases[] = {
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"1.5", "1.5f"},
        {".5", "0.5f"},
        {"2.", "2f"},
        {"1e3", "1000f"},
        {"-1.5E-1", "-0.14999999999999999f"},
        {"1.5^", "15"},
        {"-.50^", "-50"},
        {"2^", "2"},
        {"-0.0^", "0"},
        {"0.123456789012345678901234567890123456789^", "0.12345678901234568f"},
        {"true", "1b"},
        {"FALSE", "0b"},
        {"null", "null:null"},
        {"'it''s'", "'it's'"},
        {"\"say \"\"so\"\"\"", "'say \"so\"'"},
        {"''", "''"},
        {"'a\\n'", "'a\\n'"},
        {"`Cost Total $` / 1000 + 1", "(+ (/ Cost Total $ 1000) 1)"},
        {"`back``tick`", "back`tick"},
        {"`and`", "and"},
        {"année", "année"},
        {"_a1", "_a1"},
        {"trueish", "trueish"},
        {"date '2000-02-29'", "11016d"},
        {"date '0001-01-01'", "-719162d"},
        {"date '9999-12-31'", "2932896d"},
    };

    (void)state;
    assert_trees(cases, sizeof cases / sizeof cases[0], false);
}

static void
broken_text_names_its_place(void **state)
{
    static const struct tree cases[] = {
        {"", "position 1: a column, a value or '(' is missing before the end"},
        {"a +", "position 4: a column, a value or '(' is missing before the end"},
        {"a + * b", "position 5: a column, a value or '(' is missing before '*'"},
        {"(a", "position 3: ')' is missing before the end"},
        {"a)", "position 2: an operator is missing before ')'"},
        {"a b", "position 3: an operator is missing before 'b'"},
        {"a < b < 3", "position 7: comparisons do not chain"},
        {"a is nothing", "position 6: 'null' is missing before 'nothing'"},
        {"'open", "position 1: the text begun here does not end"},
        {"1 + `open", "position 5: the name begun here does not end"},
        {"``", "position 1: a column name is missing between the backquotes"},
        {"a $ b", "position 3: '$' has no meaning here"},
        {"a \x01 b", "position 3: a control character"},
        {"é + $", "position 5: '$'"},
        {"100000000000000000000000000000000000000", "position 1: the integer has more than 38 digits"},
        {"-100000000000000000000000000000000000000", "position 2: the integer has more than 38 digits"},
        {"cast(a as decimal(39, 2))", "position 23: a decimal has 1 to 38 digits"},
        {"cast(a as decimal(2, 3))", "no more of them behind the point: not decimal(2, 3)"},
        {"1e999", "too large for a float64"},
        {"2nd", "'2n...' is no number"},
        {"1.2.3", "is no number"},
        {"abss(a)", "position 1: no function 'abss'; did you mean 'abs'?"},
        {"frobnicate(a)", "no function 'frobnicate'"},
        {"abs(a, b)", "position 1: abs() takes 1 argument, not 2"},
        {"abs()", "position 1: abs() takes 1 argument, not 0"},
        {"date '2021-02-29'", "'2021-02-29' is no date"},
        {"date '2021-2'", "is no date"},
        {"timestamp '2021-02-09 25:00'", "is no timestamp"},
        {"and a", "position 1: a column, a value or '(' is missing before 'and'"},
        {"a \xff", "not UTF-8"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gr_expr *expr = NULL;

        assert_fails(gr_expr_parse(cases[i].text, &expr), GRANARY_EINVAL, cases[i].want);
        assert_null(expr);
    }
}

/* text repeated count times, then a tail. To be freed. */
static char *
repeat(const char *text, size_t count, const char *tail)
{
    struct gr_buf buf = {0};

    for (size_t i = 0; i < count; i++) {
        gr_buf_add(&buf, text, strlen(text));
    }
    gr_buf_add(&buf, tail, strlen(tail));
    return gr_buf_take(&buf);
}

static void
depth_and_size_are_bounded(void **state)
{
    static const char *const nests[] = {"(", "not ", "- ", "abs("};
    struct gr_expr *expr = NULL;
    char *text;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        text = repeat(nests[i], 100000, "a");
        assert_fails(gr_expr_parse(text, &expr), GRANARY_EINVAL, "nested more than 1100 deep");
        free(text);
    }
    text = repeat("a + ", 5000, "a");
    assert_fails(gr_expr_parse(text, &expr), GRANARY_EINVAL, "more than 4096 operands and operators");
    free(text);
    text = repeat("a + ", 2000, "a");
    assert_succeeds(gr_expr_parse(text, &expr));
    assert_succeeds(gr_expr_check(expr, columns()));
    gr_expr_destroy(expr);
    free(text);
    text = repeat("not ", 190, "ok");
    assert_succeeds(gr_expr_parse(text, &expr));
    gr_expr_destroy(expr);
    free(text);
}

static void
the_check_gives_dtypes_and_conversions(void **state)
{
    static const struct tree cases[] = {
        {"a + b", "int64 (+ a b)"},
        {"a + x", "float64 (+ (convert a) x)"},
        {"x * 2", "float64 (* x 2f)"},
        {"a / b", "float64 (/ (convert a) (convert b))"},
        {"a / 2", "float64 (/ (convert a) 2f)"},
        {"a % 2", "int64 (% a 2)"},
        {"-x", "float64 (- x)"},
        {"abs(a)", "int64 (abs a)"},
        {"sqrt(a)", "float64 (sqrt (convert a))"},
        {"a + null", "int64 (+ a null:int64)"},
        {"null + null", "int64 (+ null:int64 null:int64)"},
        {"x + n", "float64 (+ x null:float64)"},
        {"a = x", "bool (= a x)"},
        {"s = 'None'", "bool (= s 'None')"},
        {"s < s", "bool (< s s)"},
        {"s = null", "bool (= s null:string)"},
        {"ok = true", "bool (= ok 1b)"},
        {"d = '1970-01-11'", "bool (= d 10d)"},
        {"'1970-01-11' < d", "bool (< 10d d)"},
        {"d >= '1970-01-01T00:00:01'", "bool (>= d 0d)"},
        {"t >= '1970-01-01T00:00:01'", "bool (>= t 1000000t)"},
        {"t < '1970-01-02'", "bool (< t 86400000000t)"},
        {"t = d", "bool (= t (convert d))"},
        {"t < date '1970-01-02'", "bool (< t 86400000000t)"},
        {"a = s", "bool (= a (cast s))"},
        {"ok < 2", "bool (< (convert ok) 2)"},
        {"a and ok", "bool (and (cast a) ok)"},
        {"a || s", "string (concat (cast a) s)"},
        {"a > 1 and null", "bool (and (> a 1) null:bool)"},
        {"n is null", "bool (is null null:string)"},
        {"year(t) + 1", "int64 (+ (year t) 1)"},
        {"length(s)", "int64 (length s)"},
        {"lower(s)", "string (lower s)"},
        {"null", "string null:string"},
        {"'x'", "string 'x'"},
    };

    (void)state;
    assert_trees(cases, sizeof cases / sizeof cases[0], true);
}

static void
wrong_types_name_operator_and_operands(void **state)
{
    static const struct {
        const char *text;
        granary_err err;
        const char *want;
    } cases[] = {
        {"s + 1", GRANARY_ETYPE, "position 3: '+' needs two numbers, not string (`s`) and int64"},
        {"a + 'x'", GRANARY_EINVAL, "position 5: 'x' meets int64 (`a`), but is no int64"},
        {"a = '1.5'", GRANARY_EINVAL, "position 5: '1.5' meets int64 (`a`), but is no int64"},
        {"d + '1'", GRANARY_ETYPE, "'+' needs numbers, or dates with intervals, not date (`d`) and string ('1')"},
        {"sqrt('x')", GRANARY_EINVAL, "position 6: 'x' meets 'sqrt', but is no float64"},
        {"ok + 1", GRANARY_ETYPE, "'+' needs two numbers, not bool (`ok`)"},
        {"-s", GRANARY_ETYPE, "position 1: '-' needs a number, not string (`s`)"},
        {"d = 1", GRANARY_ETYPE, "'=' needs two values that compare"},
        {"ok = d", GRANARY_ETYPE, "'=' needs two values that compare, not bool (`ok`) and date (`d`)"},
        {"s and ok", GRANARY_ETYPE, "'and' needs two bools, not string (`s`) and bool (`ok`)"},
        {"not s", GRANARY_ETYPE, "'not' needs a bool, not string (`s`)"},
        {"not upper(s)", GRANARY_ETYPE, "'not' needs a bool, not string (what 'upper' gives)"},
        {"year(a)", GRANARY_ETYPE, "'year' needs a date or timestamp, not int64 (`a`)"},
        {"lower(a)", GRANARY_ETYPE, "'lower' needs a string, not int64 (`a`)"},
        {"d = 'soon'", GRANARY_EINVAL, "position 5: 'soon' meets date (`d`), but is no date"},
        {"`Cost Totl $` + 1", GRANARY_ENOENT, "position 1: no column 'Cost Totl $'; did you mean 'Cost Total $'?"},
        {"a + nowhere_near", GRANARY_ENOENT, "position 5: no column 'nowhere_near'; there are: 'a', 'b'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gr_expr *expr = NULL;

        assert_succeeds(gr_expr_parse(cases[i].text, &expr));
        assert_fails(gr_expr_check(expr, columns()), cases[i].err, cases[i].want);
        gr_expr_destroy(expr);
    }
}

/* The second check finds columns at their new places and converts nothing twice. */
static void
a_check_may_be_repeated(void **state)
{
    static struct gr_field fields[] = {{(char *)(uintptr_t) "x", GRANARY_FLOAT64},
                                       {(char *)(uintptr_t) "a", GRANARY_INT64}};
    static const struct gr_schema other = {.count = 2, .fields = fields};
    struct gr_expr *expr = NULL;

    (void)state;
    assert_succeeds(gr_expr_parse("a + x", &expr));
    assert_succeeds(gr_expr_check(expr, columns()));
    assert_int_equal(expr->operands[1]->column_index, 2);
    assert_succeeds(gr_expr_check(expr, &other));
    assert_int_equal(expr->operands[1]->column_index, 0);
    assert_int_equal(expr->operands[0]->op, GR_OP_CONVERT);
    assert_int_equal(expr->operands[0]->operands[0]->column_index, 1);
    gr_expr_destroy(expr);
}

static void
read_columns_are_marked(void **state)
{
    bool used[12] = {false};
    struct gr_expr *expr = NULL;

    (void)state;
    assert_succeeds(gr_expr_parse("a + `Cost Total $` > 1 and s = 'b' and unknown", &expr));
    gr_expr_columns(expr, columns(), used);
    gr_expr_destroy(expr);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(used[i], i == 0 || i == 3 || i == 8);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_bind_as_told),
        cmocka_unit_test(literals_and_names_are_read),
        cmocka_unit_test(broken_text_names_its_place),
        cmocka_unit_test(depth_and_size_are_bounded),
        cmocka_unit_test(the_check_gives_dtypes_and_conversions),
        cmocka_unit_test(wrong_types_name_operator_and_operands),
        cmocka_unit_test(a_check_may_be_repeated),
        cmocka_unit_test(read_columns_are_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
