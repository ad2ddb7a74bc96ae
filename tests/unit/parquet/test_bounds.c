/* Statistics: which bounds are believed, and what they become. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parquet/parquet.h"

static struct gr_parquet_stats
stats_of(const void *min, const void *max, uint32_t size)
{
    return (struct gr_parquet_stats){
        .nulls = 0, .nans = -1, .min = {.bytes = min, .size = size}, .max = {.bytes = max, .size = size}};
}

static const struct gr_parquet_leaf int32_leaf = {
    .physical = GR_PARQUET_INT32, .form = GR_PARQUET_INTEGER, .dtype = GRANARY_INT32, .typed_order = true};

static const struct gr_parquet_leaf double_leaf = {
    .physical = GR_PARQUET_DOUBLE, .form = GR_PARQUET_REAL, .dtype = GRANARY_FLOAT64, .typed_order = true};

static void
test_integers(void **state)
{
    int32_t min = -7;
    int32_t max = 12;
    struct gr_parquet_stats stats = stats_of(&min, &max, sizeof min);
    struct gr_parquet_bounds bounds = gr_parquet_bounds(&int32_leaf, &stats, 10);

    (void)state;
    assert_true(bounds.known);
    assert_false(bounds.has_nan);
    assert_int_equal(bounds.min.integer, -7);
    assert_int_equal(bounds.max.integer, 12);
    assert_int_equal(bounds.nulls, 0);
}

/* Bounds that were swapped, of another size, or beside more nulls than values say nothing. */
static void
test_doubts(void **state)
{
    int32_t min = -7;
    int32_t max = 12;
    struct gr_parquet_stats swapped = stats_of(&max, &min, sizeof min);
    struct gr_parquet_stats cut = stats_of(&min, &max, 3);
    struct gr_parquet_stats nulls = stats_of(&min, &max, sizeof min);
    struct gr_parquet_stats one = stats_of(&min, NULL, sizeof min);
    struct gr_parquet_leaf unknown_order = int32_leaf;

    (void)state;
    assert_false(gr_parquet_bounds(&int32_leaf, &swapped, 10).known);
    assert_false(gr_parquet_bounds(&int32_leaf, &cut, 10).known);
    assert_false(gr_parquet_bounds(&int32_leaf, &one, 10).known);
    nulls.nulls = 11;
    assert_false(gr_parquet_bounds(&int32_leaf, &nulls, 10).known);
    assert_int_equal(gr_parquet_bounds(&int32_leaf, &nulls, 10).nulls, -1);
    nulls.nulls = 10; /* but there is a least value */
    assert_int_equal(gr_parquet_bounds(&int32_leaf, &nulls, 10).nulls, -1);
    assert_false(gr_parquet_bounds(&int32_leaf, &nulls, 10).known);
    nulls.nulls = 9;
    assert_int_equal(gr_parquet_bounds(&int32_leaf, &nulls, 10).nulls, 9);
    assert_true(gr_parquet_bounds(&int32_leaf, &nulls, 10).known);
    nulls.min.bytes = nulls.max.bytes = NULL;
    nulls.nulls = 10;
    assert_int_equal(gr_parquet_bounds(&int32_leaf, &nulls, 10).nulls, 10);
    assert_int_equal(gr_parquet_bounds(&double_leaf, &nulls, 10).nulls, -1); /* nans have no bounds either */
    nulls.nans = 0;
    assert_int_equal(gr_parquet_bounds(&double_leaf, &nulls, 10).nulls, 10);
    nulls.nans = -1;
    unknown_order.typed_order = false;
    assert_false(gr_parquet_bounds(&unknown_order, &nulls, 10).known);
}

/* The old fields are ordered as signed numbers: right for these, wrong for unsigned ones and for text. */
static void
test_deprecated(void **state)
{
    int32_t min = -7;
    int32_t max = 12;
    struct gr_parquet_stats stats = stats_of(&min, &max, sizeof min);
    struct gr_parquet_leaf leaf = int32_leaf;

    (void)state;
    stats.deprecated = true;
    leaf.typed_order = false;
    assert_true(gr_parquet_bounds(&leaf, &stats, 10).known);
    leaf.is_unsigned = true;
    assert_false(gr_parquet_bounds(&leaf, &stats, 10).known);
    leaf = (struct gr_parquet_leaf){.physical = GR_PARQUET_BYTES, .form = GR_PARQUET_TEXT, .dtype = GRANARY_STRING};
    assert_false(gr_parquet_bounds(&leaf, &stats, 10).known);
}

static void
test_reals(void **state)
{
    double min = -1.5;
    double max = 2.5;
    double none = NAN;
    struct gr_parquet_leaf leaf = {
        .physical = GR_PARQUET_DOUBLE, .form = GR_PARQUET_REAL, .dtype = GRANARY_FLOAT64, .typed_order = true};
    struct gr_parquet_stats stats = stats_of(&min, &max, sizeof min);
    struct gr_parquet_stats with_nan = stats_of(&none, &max, sizeof min);

    (void)state;
    assert_true(gr_parquet_bounds(&leaf, &stats, 10).known);
    assert_true(gr_parquet_bounds(&leaf, &stats, 10).has_nan); /* nobody says that there is none */
    stats.nans = 0;
    assert_false(gr_parquet_bounds(&leaf, &stats, 10).has_nan);
    assert_false(gr_parquet_bounds(&leaf, &with_nan, 10).known);
}

/* As values are rounded: down. */
static void
test_moments(void **state)
{
    int64_t min = -1;
    int64_t max = 1999;
    struct gr_parquet_leaf leaf = {.physical = GR_PARQUET_INT64,
                                   .form = GR_PARQUET_MOMENT,
                                   .dtype = GRANARY_TIMESTAMP,
                                   .per_second = 1000000000,
                                   .typed_order = true};
    struct gr_parquet_stats stats = stats_of(&min, &max, sizeof min);
    struct gr_parquet_bounds bounds = gr_parquet_bounds(&leaf, &stats, 10);

    (void)state;
    assert_true(bounds.known);
    assert_int_equal(bounds.min.integer, -1);
    assert_int_equal(bounds.max.integer, 1);
    leaf.per_second = 1000;
    max = INT64_MAX;
    assert_false(gr_parquet_bounds(&leaf, &stats, 10).known);
}

static void
test_decimals(void **state)
{
    const uint8_t min[3] = {0xff, 0xff, 0xfe};
    const uint8_t max[3] = {0x00, 0x01, 0x02};
    uint8_t wide[16] = {0x4b, 0x3b, 0x4c, 0xa8, 0x5a, 0x86, 0xc4, 0x7a, 0x09, 0x8a, 0x22, 0x3f, 0xff, 0xff, 0xff, 0xff};
    struct gr_parquet_leaf leaf = {.physical = GR_PARQUET_FIXED,
                                   .length = 3,
                                   .form = GR_PARQUET_DECIMAL,
                                   .dtype = GRANARY_DECIMAL(2),
                                   .typed_order = true};
    struct gr_parquet_stats stats = stats_of(min, max, 3);
    struct gr_parquet_bounds bounds = gr_parquet_bounds(&leaf, &stats, 10);

    (void)state;
    assert_true(bounds.known);
    assert_true(bounds.min.real == -2.0 && bounds.max.real == 258.0);
    leaf.length = 16;
    stats = stats_of(wide, wide, 16);
    bounds = gr_parquet_bounds(&leaf, &stats, 10);
    assert_true(bounds.known && bounds.min.real < bounds.max.real); /* outwards */
}

/* Shorter than eight bytes, and cut short. */
static void
test_text(void **state)
{
    struct gr_parquet_leaf leaf = {
        .physical = GR_PARQUET_BYTES, .form = GR_PARQUET_TEXT, .dtype = GRANARY_STRING, .typed_order = true};
    struct gr_parquet_stats stats = {.nulls = -1,
                                     .nans = -1,
                                     .min = {.bytes = (const uint8_t *)"", .size = 0},
                                     .max = {.bytes = (const uint8_t *)"quince and pear", .size = 15}};
    struct gr_parquet_bounds bounds = gr_parquet_bounds(&leaf, &stats, 10);

    (void)state;
    assert_true(bounds.known);
    assert_memory_equal(bounds.min.text, "\0\0\0\0\0\0\0\0", 8);
    assert_memory_equal(bounds.max.text, "quince a", 8);
    assert_int_equal(bounds.nulls, -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers), cmocka_unit_test(test_doubts),  cmocka_unit_test(test_deprecated),
        cmocka_unit_test(test_reals),    cmocka_unit_test(test_moments), cmocka_unit_test(test_decimals),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
