#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "graph/operators/nearest.h"
#include "graph/schema.h"
#include "support.h"

static const struct gr_schema *
birds(void)
{
    static struct gr_field fields[] = {
        {(char *)(uintptr_t) "Wildlife Species", GRANARY_STRING},
        {(char *)(uintptr_t) "Cost Total $", GRANARY_INT64},
        {(char *)(uintptr_t) "Größe", GRANARY_FLOAT64},
    };
    static const struct gr_schema schema = {.count = 3, .fields = fields};

    return &schema;
}

static void
a_copy_stands_alone(void **state)
{
    struct gr_schema schema = {0};
    struct gr_schema copy = {0};

    (void)state;
    assert_int_equal(gr_schema_add(&schema, "a", GRANARY_INT64), GRANARY_OK);
    assert_int_equal(gr_schema_add(&schema, "", GRANARY_STRING), GRANARY_OK);
    assert_int_equal(gr_schema_copy(&schema, &copy), GRANARY_OK);
    gr_schema_free(&schema);
    assert_int_equal(schema.count, 0);
    assert_int_equal(copy.count, 2);
    assert_string_equal(copy.fields[0].name, "a");
    assert_int_equal(copy.fields[1].dtype, GRANARY_STRING);
    gr_schema_free(&copy);
    gr_schema_free(&copy);
}

static void
names_are_found_exactly(void **state)
{
    (void)state;
    assert_int_equal(gr_schema_find(birds(), "Cost Total $"), 1);
    assert_int_equal(gr_schema_find(birds(), "Größe"), 2);
    assert_int_equal(gr_schema_find(birds(), "cost total $"), -1);
    assert_int_equal(gr_schema_find(birds(), ""), -1);
}

static void
the_nearest_name_is_told(void **state)
{
    (void)state;
    assert_string_equal(gr_schema_nearest(birds(), "cost total $"), "Cost Total $");
    assert_string_equal(gr_schema_nearest(birds(), "Wildlife Speces"), "Wildlife Species");
    assert_string_equal(gr_schema_nearest(birds(), "Cost"), "Cost Total $");
    assert_string_equal(gr_schema_nearest(birds(), "Grösse"), "Größe");
    assert_null(gr_schema_nearest(birds(), "altitude"));
    assert_null(gr_schema_nearest(birds(), ""));
    assert_fails(gr_schema_no_column(birds(), "Cost Totl $"), GRANARY_ENOENT,
                 "no column 'Cost Totl $'; did you mean 'Cost Total $'?");
    assert_fails(gr_schema_no_column(birds(), "altitude"), GRANARY_ENOENT,
                 "there are: 'Wildlife Species', 'Cost Total $', 'Größe'");
    assert_fails(gr_schema_no_column(&(struct gr_schema){0}, "a"), GRANARY_ENOENT, "no columns at all");
}

/* Swapped letters are one mistake, and the nearest wins whatever the order of the offers. */
static void
the_nearest_of_several_wins(void **state)
{
    struct gr_nearest nearest = {.name = "fliter"};
    char hint[GR_HINT_MAX];

    (void)state;
    assert_string_equal(gr_nearest_hint(&nearest, hint), "");
    gr_nearest_offer(&nearest, "fitter");
    gr_nearest_offer(&nearest, "filter");
    gr_nearest_offer(&nearest, "flitted");
    assert_string_equal(nearest.best, "filter");
    assert_string_equal(gr_nearest_hint(&nearest, hint), "; did you mean 'filter'?");
}

static void
very_long_names_are_no_trouble(void **state)
{
    char name[4000];
    char other[4000];
    struct gr_nearest nearest = {.name = name};

    (void)state;
    memset(name, 'x', sizeof name - 1);
    memset(other, 'x', sizeof other - 1);
    name[sizeof name - 1] = '\0';
    other[sizeof other - 1] = '\0';
    gr_nearest_offer(&nearest, other);
    assert_ptr_equal(nearest.best, other);
    assert_fails(gr_schema_no_column(birds(), name), GRANARY_ENOENT, "no column 'xxx");
}

static void
utf8_is_told_from_bytes(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        bool good;
    } cases[] = {
        {"", 0, true},
        {"plain", 5, true},
        {"\xc3\xa9", 2, true},
        {"\xe2\x82\xac", 3, true},
        {"\xf0\x9f\x90\xa6", 4, true},
        {"\xf4\x8f\xbf\xbf", 4, true},
        {"\xc3", 1, false},
        {"\xe2\x82", 2, false},
        {"\x80", 1, false},
        {"\xff", 1, false},
        {"\xc0\xaf", 2, false},         /* overlong "/" */
        {"\xe0\x80\xaf", 3, false},     /* overlong "/" */
        {"\xed\xa0\x80", 3, false},     /* a surrogate */
        {"\xf4\x90\x80\x80", 4, false}, /* above U+10FFFF */
        {"a\xc3(", 3, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(gr_is_utf8(cases[i].text, cases[i].size), cases[i].good);
    }
}

/* All mixtures: nulls change nothing, and what is not listed is a string. */
static void
kinds_give_one_dtype(void **state)
{
    (void)state;
    for (uint32_t kinds = 0; kinds < 1024; kinds++) {
        granary_dtype want = GRANARY_STRING;

        switch (kinds & ~1u) {
        case 2:
            want = GRANARY_BOOL;
            break;
        case 4:
            want = GRANARY_INT64;
            break;
        case 128:
        case 4 | 128:
            want = GRANARY_DECIMAL(0);
            break;
        case 8:
        case 4 | 8:
        case 128 | 8:
        case 128 | 4 | 8:
            want = GRANARY_FLOAT64;
            break;
        case 16:
            want = GRANARY_DATE;
            break;
        case 32:
        case 16 | 32:
            want = GRANARY_TIMESTAMP;
            break;
        case 256:
            want = GRANARY_TIME;
            break;
        case 512:
        case 512 | 16:
        case 512 | 32:
        case 512 | 32 | 16:
            want = GRANARY_TIMESTAMPTZ;
            break;
        default:
            break;
        }
        assert_int_equal(gr_dtype_of_kinds(kinds), want);
    }
}

static void
dtypes_of_csv_columns_have_names(void **state)
{
    static const char *const names[] = {"bool",     "int64",  "float64",    "string",    "date",
                                        "int8",     "uint64", "float32",    "timestamp", "decimal(2)",
                                        "duration", "time",   "timestamptz"};
    granary_dtype dtype = GRANARY_NULLTYPE;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_true(gr_csv_dtype_parse(names[i], &dtype));
        assert_string_equal(granary_dtype_name(dtype), names[i]);
    }
    assert_false(gr_csv_dtype_parse("null", &dtype));
    assert_false(gr_csv_dtype_parse("", &dtype));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_stands_alone),
        cmocka_unit_test(names_are_found_exactly),
        cmocka_unit_test(the_nearest_name_is_told),
        cmocka_unit_test(the_nearest_of_several_wins),
        cmocka_unit_test(very_long_names_are_no_trouble),
        cmocka_unit_test(utf8_is_told_from_bytes),
        cmocka_unit_test(kinds_give_one_dtype),
        cmocka_unit_test(dtypes_of_csv_columns_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
