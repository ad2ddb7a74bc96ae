#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/join.h"
#include "graph/operators/aggregate.h"
#include "support.h"

static Granary__Attr *
map_of(const char *key, const char *value)
{
    char *keys[] = {(char *)(uintptr_t)key};
    char *values[] = {(char *)(uintptr_t)value};
    Granary__Attr *attr = gr_attr_new_map("aggregate", keys, values, 1);

    assert_non_null(attr);
    return attr;
}

/* Everything between the first '(' and the last ')' is the name, whatever it contains. */
static void
columns_keep_their_odd_names(void **state)
{
    static const struct {
        const char *text;
        enum gr_aggregate_function function;
        const char *column;
    } cases[] = {
        {"size", GR_AGGREGATE_SIZE, NULL},
        {"size()", GR_AGGREGATE_SIZE, NULL},
        {" SIZE ", GR_AGGREGATE_SIZE, NULL},
        {"count(a)", GR_AGGREGATE_COUNT, "a"},
        {"sum(Cost Total $)", GR_AGGREGATE_SUM, "Cost Total $"},
        {"Mean (Speed IAS in knots)", GR_AGGREGATE_MEAN, "Speed IAS in knots"},
        {"min(f(x))", GR_AGGREGATE_MIN, "f(x)"},
        {"max())", GR_AGGREGATE_MAX, ")"},
        {"max(()", GR_AGGREGATE_MAX, "("},
        {"nunique(`a b`)", GR_AGGREGATE_NUNIQUE, "a b"},
        {"nunique( `a``b` )", GR_AGGREGATE_NUNIQUE, "a`b"},
        {"sum(`)", GR_AGGREGATE_SUM, "`"},
        {"sum('quoted')", GR_AGGREGATE_SUM, "'quoted'"},
        {"sum( a )", GR_AGGREGATE_SUM, " a "},
        {"sum(Größe)", GR_AGGREGATE_SUM, "Größe"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Granary__Attr *attr = map_of("new", cases[i].text);
        struct gr_aggregate *aggregates = NULL;
        size_t count = 0;

        assert_succeeds(gr_aggregates_parse(attr, &aggregates, &count));
        assert_int_equal(count, 1);
        assert_string_equal(aggregates[0].name, "new");
        assert_int_equal(aggregates[0].function, cases[i].function);
        if (cases[i].column == NULL) {
            assert_null(aggregates[0].column);
        } else {
            assert_string_equal(aggregates[0].column, cases[i].column);
        }
        gr_aggregates_free(aggregates, count);
        granary__attr__free_unpacked(attr, NULL);
    }
}

static void
broken_aggregates_name_their_entry(void **state)
{
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"", "aggregate 'new': no function ''; there are: size, count, sum"},
        {"summ(a)", "aggregate 'new': no function 'summ'; did you mean 'sum'?"},
        {"medain(a)", "no function 'medain'"},
        {"sum", "'sum' needs a column: sum(column)"},
        {"sum(a", "'sum(a' does not end with ')'"},
        {"sum)a(", "no function 'sum)a'"},
        {"sum(a) + 1", "does not end with ')'"},
        {"sum()", "sum names no column"},
        {"sum(``)", "sum names no column"},
        {"size(a)", "size counts rows and takes no column"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Granary__Attr *attr = map_of("new", cases[i].text);
        struct gr_aggregate *aggregates = NULL;
        size_t count = 0;

        assert_fails(gr_aggregates_parse(attr, &aggregates, &count), GRANARY_EINVAL, cases[i].want);
        assert_null(aggregates);
        granary__attr__free_unpacked(attr, NULL);
    }
}

static void
results_have_their_dtypes(void **state)
{
    static const struct {
        enum gr_aggregate_function function;
        granary_dtype from;
        granary_dtype want; /* NULLTYPE: ETYPE */
    } cases[] = {
        {GR_AGGREGATE_SIZE, GRANARY_NULLTYPE, GRANARY_INT64}, {GR_AGGREGATE_COUNT, GRANARY_STRING, GRANARY_INT64},
        {GR_AGGREGATE_NUNIQUE, GRANARY_DATE, GRANARY_INT64},  {GR_AGGREGATE_SUM, GRANARY_INT64, GRANARY_INT64},
        {GR_AGGREGATE_SUM, GRANARY_BOOL, GRANARY_INT64},      {GR_AGGREGATE_SUM, GRANARY_FLOAT64, GRANARY_FLOAT64},
        {GR_AGGREGATE_MEAN, GRANARY_INT64, GRANARY_FLOAT64},  {GR_AGGREGATE_MEAN, GRANARY_BOOL, GRANARY_FLOAT64},
        {GR_AGGREGATE_MIN, GRANARY_STRING, GRANARY_STRING},   {GR_AGGREGATE_MAX, GRANARY_TIMESTAMP, GRANARY_TIMESTAMP},
        {GR_AGGREGATE_SUM, GRANARY_STRING, GRANARY_NULLTYPE}, {GR_AGGREGATE_MEAN, GRANARY_DATE, GRANARY_TIMESTAMP},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        granary_dtype got = GRANARY_NULLTYPE;
        granary_err err = gr_aggregate_dtype(cases[i].function, cases[i].from, &got);

        assert_int_equal(err, cases[i].want == GRANARY_NULLTYPE ? GRANARY_ETYPE : GRANARY_OK);
        assert_int_equal(got, cases[i].want);
    }
}

/* ---- join ---- */

static struct gr_schema
schema_of(const char *const *names, size_t count)
{
    struct gr_schema schema = {0};

    for (size_t i = 0; i < count; i++) {
        assert_succeeds(gr_schema_add(&schema, names[i], GRANARY_INT64));
    }
    return schema;
}

static Granary__Attr *
strings_of(const char *name, const char *const *values, size_t count)
{
    Granary__Attr *attr = gr_attr_new_strings(name, (char *const *)(uintptr_t)values, count);

    assert_non_null(attr);
    return attr;
}

/* id = key, and `other` is on both sides. */
static void
join_columns_come_in_order_with_suffixes(void **state)
{
    struct gr_schema left = schema_of((const char *[]){"id", "other", "l"}, 3);
    struct gr_schema right = schema_of((const char *[]){"r", "key", "other", "id"}, 4);
    struct gr_schema result = {0};
    Granary__Attr *attrs[] = {strings_of("left_on", (const char *[]){"id"}, 1),
                              strings_of("right_on", (const char *[]){"key"}, 1)};
    static const char *const want[] = {"id_x", "other_x", "l", "r", "key", "other_y", "id_y"};
    struct gr_join join;

    (void)state;
    assert_succeeds(gr_join_parse(attrs, 2, &join));
    assert_int_equal(join.how, GR_JOIN_INNER);
    assert_succeeds(gr_join_schema(&join, &left, &right, &result));
    assert_int_equal(result.count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(result.fields[i].name, want[i]);
    }
    gr_schema_free(&left);
    gr_schema_free(&right);
    gr_schema_free(&result);
    granary__attr__free_unpacked(attrs[0], NULL);
    granary__attr__free_unpacked(attrs[1], NULL);
}

static void
keys_of_one_name_come_once(void **state)
{
    struct gr_schema left = schema_of((const char *[]){"v", "id"}, 2);
    struct gr_schema right = schema_of((const char *[]){"id", "v"}, 2);
    struct gr_schema result = {0};
    Granary__Attr *attrs[] = {strings_of("on", (const char *[]){"id"}, 1), gr_attr_new_string("how", "left"),
                              strings_of("suffixes", (const char *[]){"", "_right"}, 2)};
    struct gr_join join;

    (void)state;
    assert_succeeds(gr_join_parse(attrs, 3, &join));
    assert_int_equal(join.how, GR_JOIN_LEFT);
    assert_succeeds(gr_join_schema(&join, &left, &right, &result));
    assert_int_equal(result.count, 3);
    assert_string_equal(result.fields[0].name, "v");
    assert_string_equal(result.fields[1].name, "id");
    assert_string_equal(result.fields[2].name, "v_right");
    gr_schema_free(&result);

    free(attrs[2]->strings[1]);
    attrs[2]->strings[1] = strdup("");
    assert_succeeds(gr_join_parse(attrs, 3, &join));
    assert_fails(gr_join_schema(&join, &left, &right, &result), GRANARY_EINVAL,
                 "two columns of the result would be named 'v'");
    gr_schema_free(&left);
    gr_schema_free(&right);
    for (int i = 0; i < 3; i++) {
        granary__attr__free_unpacked(attrs[i], NULL);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_keep_their_odd_names), cmocka_unit_test(broken_aggregates_name_their_entry),
        cmocka_unit_test(results_have_their_dtypes),    cmocka_unit_test(join_columns_come_in_order_with_suffixes),
        cmocka_unit_test(keys_of_one_name_come_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
