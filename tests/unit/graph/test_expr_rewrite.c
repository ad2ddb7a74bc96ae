/* Expressions printed, copied, compared, taken apart and put together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/expr.h"
#include "support.h"
#include "support/expressions.h"

static const struct gr_schema *
columns(void)
{
    static struct gr_field fields[] = {
        {(char *)(uintptr_t) "a", GRANARY_INT64},    {(char *)(uintptr_t) "i", GRANARY_INT32},
        {(char *)(uintptr_t) "x", GRANARY_FLOAT64},  {(char *)(uintptr_t) "r", GRANARY_FLOAT32},
        {(char *)(uintptr_t) "s", GRANARY_STRING},   {(char *)(uintptr_t) "d", GRANARY_DATE},
        {(char *)(uintptr_t) "b", GRANARY_BOOL},     {(char *)(uintptr_t) "t", GRANARY_TIMESTAMP},
        {(char *)(uintptr_t) "l", GRANARY_DURATION}, {(char *)(uintptr_t) "m", GRANARY_DECIMAL(2)},
        {(char *)(uintptr_t) "u", GRANARY_UINT64},   {(char *)(uintptr_t) "Cost Total $", GRANARY_INT64},
        {(char *)(uintptr_t) "end", GRANARY_INT8},
    };
    static const struct gr_schema schema = {.count = sizeof fields / sizeof fields[0], .fields = fields};

    return &schema;
}

static struct gr_expr *
parsed(const char *text)
{
    struct gr_expr *expr = NULL;

    if (gr_expr_parse(text, &expr) != GRANARY_OK) {
        fail_msg("%s: %s", text, granary_error_message());
    }
    return expr;
}

static struct gr_expr *
checked(const char *text)
{
    struct gr_expr *expr = parsed(text);

    if (gr_expr_check(expr, columns()) != GRANARY_OK) {
        fail_msg("%s: %s", text, granary_error_message());
    }
    return expr;
}

struct printed {
    const char *text;
    const char *want; /* NULL: the text itself */
};

static void
brackets_are_printed_where_they_count(void **state)
{
    static const struct printed cases[] = {
        {"a + i * 2", NULL},
        {"(a + i) * 2", NULL},
        {"a - (i - 1)", NULL},
        {"(a - i) - 1", "a - i - 1"},
        {"-(a)", "-a"},
        {"-(5)", NULL},
        {"- -5", "-(-5)"},
        {"a - -5", NULL},
        {"not (b and a > 1)", NULL},
        {"not not b", NULL},
        {"(a > 1 and b) or i < 2", "a > 1 and b or i < 2"},
        {"a > 1 and (b or i < 2)", NULL},
        {"b and (b and b)", NULL},
        {"(a = 1) = (i = 1)", NULL},
        {"a between 1 and 2", "a >= 1 and a <= 2"},
        {"not a in (1, 2 + 3)", NULL},
        {"a not in (1)", "not a in (1)"},
        {"s like 'a%' escape '!'", NULL},
        {"s ilike '%''x'", NULL},
        {"`Cost Total $` // 2 % `end`", NULL},
        {"case a when 1 then 'x' end", "case when a = 1 then 'x' else null end"},
        {"if(b, a, i)", "case when b then a else i end"},
        {"cast(a as numeric(12,2))", "cast(a as decimal(12, 2))"},
        {"try_cast(s as INT)", "try_cast(s as int64)"},
        {"extract(year from d)", "year(d)"},
        {"position('x' in s)", "position('x', s)"},
        {"position((b or b), (a in (1)))", "position((b or b), (a in (1)))"},
        {"substring(s from 2 for 3)", "substring(s, 2, 3)"},
        {"d - interval '3' month", "d - interval '3 months 0 microseconds'"},
        {"coalesce(a, i, 0)", NULL},
        {"0.10", NULL},
        {"2.", "2.0"},
        {"date '2000-02-29'", NULL},
        {"timestamp '2000-02-29 12:00:00'", "timestamp '2000-02-29 12:00:00.000000'"},
        {"true or false", NULL},
        {"null is null", NULL},
        {"\"it's\"", "'it''s'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gr_expr *expr = parsed(cases[i].text);
        char *text = gr_expr_text(expr);

        assert_string_equal(text, cases[i].want != NULL ? cases[i].want : cases[i].text);
        free(text);
        gr_expr_destroy(expr);
    }
}

/* What the parser takes is printed and read again. */
static void
printed_and_read_again_it_is_the_same(void **state)
{
    uint64_t random = 88172645463325252u;
    int trees = 0;
    int typed = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct gr_buf text = {0};
        struct gr_expr *expr = NULL;
        struct gr_expr *again = NULL;
        char *printed = NULL;
        char *twice = NULL;

        expression_write(&random, 1 + i % 4, &text);
        if (gr_expr_parse(text.bytes, &expr) == GRANARY_OK) {
            trees++;
            printed = gr_expr_text(expr);
            again = parsed(printed);
            if (!gr_expr_equal(expr, again)) {
                fail_msg("%s: printed %s", text.bytes, printed);
            }
            free(printed);
            printed = NULL;
            gr_expr_destroy(again);
            again = NULL;
            if (gr_expr_check(expr, columns()) == GRANARY_OK) {
                granary_dtype dtype = expr->dtype;

                typed++;
                printed = gr_expr_text(expr);
                again = checked(printed);
                twice = gr_expr_text(again);
                assert_int_equal(again->dtype, dtype);
                if (strcmp(printed, twice) != 0) {
                    fail_msg("%s: %s, then %s", text.bytes, printed, twice);
                }
                assert_succeeds(gr_expr_check(expr, columns()));
                assert_int_equal(expr->dtype, dtype);
            }
        }
        free(printed);
        free(twice);
        gr_expr_destroy(again);
        gr_expr_destroy(expr);
        gr_buf_free(&text);
    }
    assert_true(trees > 15000);
    assert_true(typed > 1000);
}

static void
copies_are_equal_and_apart(void **state)
{
    struct gr_expr *expr = checked("case when s in ('x', 'y') then m * 0.5 else 1 end > 2");
    struct gr_expr *copy = NULL;

    (void)state;
    assert_succeeds(gr_expr_copy(expr, &copy));
    assert_true(gr_expr_equal(expr, copy));
    assert_int_equal(gr_expr_size(expr), gr_expr_size(copy));
    gr_expr_destroy(expr);
    expr = checked("case when s in ('x', 'z') then m * 0.5 else 1 end > 2");
    assert_false(gr_expr_equal(expr, copy));
    gr_expr_destroy(expr);
    gr_expr_destroy(copy);
}

static const char *
find_name(const char *column, const void *context)
{
    return strcmp(column, "x") == 0 ? context : NULL;
}

static void
columns_are_renamed(void **state)
{
    struct gr_expr *expr = parsed("x * x - i");
    char *text;

    (void)state;
    assert_succeeds(gr_expr_rename(expr, find_name, "a b"));
    text = gr_expr_text(expr);
    assert_string_equal(text, "`a b` * `a b` - i");
    free(text);
    gr_expr_destroy(expr);
    expr = parsed("x");
    assert_succeeds(gr_expr_rename(expr, find_name, "x"));
    assert_string_equal(expr->column, "x");
    gr_expr_destroy(expr);
}

static void
conditions_are_taken_apart(void **state)
{
    struct gr_expr *expr = parsed("a > 1 and (b and i between 1 and 2) and (b or b)");
    const struct gr_expr **parts = NULL;
    static const char *const want[] = {"a > 1", "b", "i >= 1", "i <= 2", "b or b"};
    size_t count = 0;

    (void)state;
    assert_succeeds(gr_expr_conjuncts(expr, &parts, &count));
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++) {
        char *text = gr_expr_text(parts[i]);

        assert_string_equal(text, want[i]);
        free(text);
    }
    free(parts);
    gr_expr_destroy(expr);
}

static void
constants_are_folded(void **state)
{
    static const struct printed cases[] = {
        {"d <= date '1998-12-01' - interval '90' day", "d <= date '1998-09-02'"},
        {"d < date '1994-01-01' + interval '1' year", "d < date '1995-01-01'"},
        {"date '2020-01-31' + interval '1' month", "date '2020-02-29'"},
        {"d < date '2020-02-28' + 2", "d < date '2020-03-01'"},
        {"date '2020-03-01' - (1 + 1) > d", "date '2020-02-28' > d"},
        {"date '9999-12-31' + 1 > d", "date '9999-12-31' + 1 > d"},
        {"date '2020-01-01' + interval '1' month * 2", "date '2020-03-01'"},
        {"date '2020-01-01' + (1 + 1) * interval '1 month 1 day'", "date '2020-03-03'"},
        {"date '2020-03-31' + (-interval '1' month)", "date '2020-02-29'"},
        {"date '2020-01-01' + (interval '1' month - interval '-1' day)", "date '2020-02-02'"},
        {"m between 0.06 - 0.01 and 0.06 + 0.01", "m >= 0.05 and m <= 0.07"},
        {"m * (1 - 0.5)", "m * 0.5"},
        {"x between 0.06^ - 0.01^ and 0.06 + 0.01^", "x >= 0.05^ and x <= 0.07^"},
        {"-(1.50^) * a", "-1.50^ * a"},
        {"2 * 3 + a", "6 + a"},
        {"1 = 1 and b", "b"},
        {"b and 1 = 2", "false"},
        {"b or not false", "true"},
        {"cast('1995-03-15' as date) < d", "date '1995-03-15' < d"},
        {"d = '1995-03-15'", "d = date '1995-03-15'"},
        {"-(5)", "-5"},
        {"a >^ 5 and d !=^ date '1995-03-15' and s <=^ s", "a > 5 and d != date '1995-03-15' and s <= s"},
        {"x <^ 5 and 5 >=^ x and x =^ 0.5 and a <^ x", "x < 5 and 5 >= x and x = 0.5 and a <^ x"},
        {"x >^ 5 and 5 <^ x and r >=^ 0.5 and x >^ a", "x >^ 5 and 5 <^ x and r >=^ 0.5 and x >^ a"},
        {"x !=^ r and x >^ cast('nan' as float64) and a >=^ x", "x !=^ r and x >^ cast('nan' as float64) and a >= x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gr_expr *expr = checked(cases[i].text);
        char *text = gr_expr_text(expr);

        assert_string_equal(text, cases[i].want);
        free(text);
        gr_expr_destroy(expr);
    }
}

static void
dtypes_meet_as_told(void **state)
{
    static const struct printed cases[] = {
        {"i + 1", "int32"},
        {"i + a", "int64"},
        {"`end` + 1", "int8"},
        {"`end` + 1000", "int64"},
        {"u + a", "float64"},
        {"u + 1", "uint64"},
        {"u + u", "uint64"},
        {"r * 2", "float32"},
        {"r + 0.5", "float32"},
        {"r + x", "float64"},
        {"r + `end`", "float32"},
        {"r + i", "float64"},
        {"m + 1", "decimal(2)"},
        {"m * m", "decimal(4)"},
        {"m * (1 - m)", "decimal(4)"},
        {"m * 0.125", "decimal(5)"},
        {"m + 0.125", "decimal(3)"},
        {"m + x", "float64"},
        {"m / 2", "float64"},
        {"m * i", "decimal(2)"},
        {"a / 2", "float64"},
        {"a // 2", "int64"},
        {"r / r", "float32"},
        {"d + 1", "date"},
        {"d - d", "int64"},
        {"t - t", "duration"},
        {"t - d", "duration"},
        {"d + interval '1' day", "date"},
        {"d + interval '1' hour", "timestamp"},
        {"t + l", "timestamp"},
        {"l * 2", "duration"},
        {"l / l", "float64"},
        {"s || 'x'", "string"},
        {"s + s", "string"},
        {"case when b then 1 else 2.5 end", "float64"},
        {"coalesce(i, 0)", "int32"},
        {"coalesce(m, 0)", "decimal(2)"},
        {"greatest(d, t)", "timestamp"},
        {"nullif(s, '')", "string"},
        {"nullif(a, x)", "int64"},
        {"nullif(x, a)", "float64"},
        {"nullif(i, 2.5)", "int32"},
        {"sqrt(i)", "float64"},
        {"sqrt(r)", "float32"},
        {"floor(m)", "decimal(2)"},
        {"floor^(m)", "decimal(0)"},
        {"sign^(m)", "decimal(0)"},
        {"sign^(i)", "int32"},
        {"round^(m, 1)", "decimal(1)"},
        {"round^(m, 3)", "decimal(2)"},
        {"round^(m, -1)", "decimal(0)"},
        {"round^(m, a)", "decimal(2)"},
        {"round^(r, 1)", "float32"},
        {"trunc^(m, 1)", "decimal(1)"},
        {"quotient(m, m)", "decimal(0)"},
        {"year(t)", "int64"},
        {"a in (1, 2.5)", "bool"},
        {"u = -1", "bool"},
        {"hash(s, a)", "int64"},
        {"null", "string"},
        {"if(b, null, 1)", "int64"},
        {"0.5", "float64"},
        {"0.5^", "decimal(1)"},
        {"-(0.50^)", "decimal(2)"},
        {"0.1^ * 0.25", "decimal(3)"},
        {"0.1^ / 0.25^", "float64"},
        {"0.1^ + 1e0", "float64"},
        {"1.00000000000000000000000000000000000000^ + 1", "float64"},
        {"18446744073709551615^", "decimal(0)"},
        {"9223372036854775807^", "int64"},
        {"a + 0.5^", "decimal(1)"},
        {"i * 0.25^", "decimal(2)"},
        {"u + 0.5^", "decimal(1)"},
        {"m + 0.5^", "decimal(2)"},
        {"x + 0.5^", "float64"},
        {"r + 0.5^", "float32"},
        {"a / 0.5^", "float64"},
        {"abs(0.5^)", "decimal(1)"},
        {"sqrt(0.25^)", "float64"},
        {"pow(r, 2.5^)", "float32"},
        {"l * 0.5^", "duration"},
        {"case when b then 1 else 2.5^ end", "decimal(1)"},
        {"coalesce(0.5^, 0.25^)", "decimal(2)"},
        {"coalesce(0.5^, x)", "float64"},
        {"greatest(a, 0.5^)", "decimal(1)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gr_expr *expr = checked(cases[i].text);

        if (strcmp(granary_dtype_name(expr->dtype), cases[i].want) != 0) {
            fail_msg("%s: %s", cases[i].text, granary_dtype_name(expr->dtype));
        }
        gr_expr_destroy(expr);
    }
}

static void
what_does_not_fit_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text;
        granary_err err;
        const char *want;
    } cases[] = {
        {"a in (1, 'x')", GRANARY_EINVAL, "position 10: 'x' meets int64, but is no int64"},
        {"case when s then 1 end", GRANARY_ETYPE,
         "position 11: a condition of 'case' must be a bool, not string (`s`)"},
        {"if(b, 1, s)", GRANARY_ETYPE, "'case' needs values of one kind"},
        {"substring(a, 1)", GRANARY_ETYPE, "'substring' needs a string as argument 1, not int64 (`a`)"},
        {"substring(s, x)", GRANARY_ETYPE, "needs an integer as argument 2, not float64 (`x`)"},
        {"cast(d as bool)", GRANARY_ETYPE, "date (`d`) cannot be cast to bool"},
        {"cast(m as decimal(20)) * cast(m as decimal(19))", GRANARY_ETYPE, "39 digits behind the point, more than 38"},
        {"a + interval '1' month", GRANARY_ETYPE, "months and years are added to a date or timestamp only"},
        {"interval '1' month", GRANARY_ETYPE, "months and years"},
        {"d + interval '1' month * a", GRANARY_ETYPE, "multiplied by whole numbers as written only"},
        {"d + coalesce(interval '1' month, null)", GRANARY_ETYPE, "months and years"},
        {"interval '1' month = interval '30' day", GRANARY_ETYPE, "months and years"},
        {"interval '9000' year * 2", GRANARY_ETYPE, "months and years"},
        {"date_trunc(i, d)", GRANARY_ETYPE, "needs a unit in quotes"},
        {"date_trunc('eon', d)", GRANARY_EINVAL, "not 'eon'"},
        {"d in ('soon')", GRANARY_EINVAL, "'soon' meets date, but is no date"},
        {"d + 0.5", GRANARY_ETYPE, "'+' needs numbers, or dates with intervals, not "},
    };
    static const struct printed broken[] = {
        {"cast(a as money)", "position 11: 'money' is no dtype"},
        {"cast(a int64)", "position 8: 'as' is missing"},
        {"cast(a as decimal)", "'(' is missing"},
        {"cast(a as decimal(77))", "'decimal(77)' is no dtype"},
        {"case when a then b", "'end' is missing before the end"},
        {"case end", "is missing before 'end'"},
        {"a in ()", "is missing before ')'"},
        {"a in 1", "'(' is missing before '1'"},
        {"a between 1", "'and' is missing before the end"},
        {"a not 1", "an operator is missing before 'not'"},
        {"a like 'x' like 'y'", "comparisons do not chain"},
        {"interval 'soon'", "'soon' is no interval"},
        {"interval '99999999999999999999 days'", "is too large"},
        {"interval '400000 year'", "the interval '400000 year' is too large: months and years reach 10000 years"},
        {"interval '9223372036854775807 second 1 day'", "is too large"},
        {"interval '1 day 04:65'", "is no interval"},
        {"interval '04:05' hour", "is no interval"},
        {"interval '5 days' month", "is no interval"},
        {"extract(moon from d)", "extract(PART from ...)"},
        {"substring(s)", "substring() takes 2 to 3 arguments, not 1"},
        {"concat()", "concat() takes 1 or more arguments, not 0"},
        {"lenght(s)", "did you mean 'length'?"},
        {"1e5^", "position 4: '^' has no meaning here"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gr_expr *expr = parsed(cases[i].text);

        assert_fails(gr_expr_check(expr, columns()), cases[i].err, cases[i].want);
        gr_expr_destroy(expr);
    }
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct gr_expr *expr = NULL;

        assert_fails(gr_expr_parse(broken[i].text, &expr), GRANARY_EINVAL, broken[i].want);
    }
}

static void
what_may_fail_is_told(void **state)
{
    static const char *const safe[] = {"x + 1 > 2",
                                       "a % 2 = 0",
                                       "s = 'x' or b",
                                       "lower(s) in ('a')",
                                       "year(d)",
                                       "a > 1.5",
                                       "try_cast(s as int64)",
                                       "case when b then a else 0 end",
                                       "d < date '2000-01-01'",
                                       "s not like '%a_'"};
    static const char *const unsafe[] = {
        "a + 1",          "cast(s as int64) = 1",  "b and -a < 0", "d + interval '1' day > d",
        "m * 2",          "s like 'a' escape '!'", "repeat(s, 2)", "d < t",
        "if(b, a * a, 0)"};

    (void)state;
    for (size_t i = 0; i < sizeof safe / sizeof safe[0]; i++) {
        struct gr_expr *expr = checked(safe[i]);

        if (!gr_expr_is_safe(expr)) {
            fail_msg("%s cannot fail", safe[i]);
        }
        gr_expr_destroy(expr);
    }
    for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++) {
        struct gr_expr *expr = checked(unsafe[i]);

        if (gr_expr_is_safe(expr)) {
            fail_msg("%s can fail", unsafe[i]);
        }
        gr_expr_destroy(expr);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brackets_are_printed_where_they_count),
        cmocka_unit_test(printed_and_read_again_it_is_the_same),
        cmocka_unit_test(copies_are_equal_and_apart),
        cmocka_unit_test(columns_are_renamed),
        cmocka_unit_test(conditions_are_taken_apart),
        cmocka_unit_test(what_may_fail_is_told),
        cmocka_unit_test(constants_are_folded),
        cmocka_unit_test(dtypes_meet_as_told),
        cmocka_unit_test(what_does_not_fit_is_refused_with_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
