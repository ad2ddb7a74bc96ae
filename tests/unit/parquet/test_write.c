/* Files that are written: what statistics say in hard cases, and what cannot be put together. That values come back is
 * fuzz_parquet_write's and operators_parquet_round_trip's matter. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "data/frame.h"
#include "parquet/write/write.h"

static const struct gr_parquet_packer packer = {.codec = GR_PARQUET_RAW};
static const struct gr_parquet_style plain = {.packer = &packer};

static granary_err
add(void *out, const void *bytes, size_t size)
{
    gr_buf_add(out, bytes, size);
    return GRANARY_OK;
}

static granary_err
refuse(void *left, const void *bytes, size_t size)
{
    int *writes = left;

    (void)bytes;
    (void)size;
    return (*writes)-- > 0 ? GRANARY_OK : gr_fail(GRANARY_EFULL, "the disk is full");
}

static granary_column
doubles(const char *name, const double *values, int64_t rows)
{
    return (granary_column){.name = name, .dtype = GRANARY_FLOAT64, .rows = rows, .values = values};
}

static void
put(const granary_column *column, struct gr_buf *groups)
{
    assert_int_equal(gr_parquet_put_groups(&column, 1, 0, column->rows, &plain, groups), GRANARY_OK);
}

/* A file of one column. */
static struct gr_parquet *
written(const granary_column *column)
{
    struct gr_parquet_writer *writer;
    struct gr_parquet *file;
    struct gr_buf groups = {0};
    struct gr_buf bytes = {0};
    uint32_t size;
    uint8_t *footer;

    put(column, &groups);
    assert_int_equal(gr_parquet_writer_create(add, &bytes, &writer), GRANARY_OK);
    assert_int_equal(gr_parquet_writer_add(writer, groups.bytes, groups.size), GRANARY_OK);
    assert_int_equal(gr_parquet_writer_finish(writer), GRANARY_OK);
    gr_parquet_writer_destroy(writer);
    assert_memory_equal(bytes.bytes, "PAR1", 4);
    assert_memory_equal(bytes.bytes + bytes.size - 4, "PAR1", 4);
    memcpy(&size, bytes.bytes + bytes.size - 8, sizeof size);
    footer = malloc(size);
    assert_non_null(footer);
    memcpy(footer, bytes.bytes + bytes.size - 8 - size, size);
    assert_int_equal(gr_parquet_parse(footer, size, bytes.size, &file), GRANARY_OK);
    gr_buf_free(&groups);
    gr_buf_free(&bytes);
    return file;
}

static const struct gr_parquet_stats *
stats_of(const struct gr_parquet *file)
{
    size_t count;

    return &gr_parquet_groups(file, &count)[0].chunks[0].stats;
}

static void
test_zeros_and_nan(void **state)
{
    static const double cases[][3] = {{0.0, 0.0, 0.0}, {-0.0, -0.0, -0.0}, {NAN, 0.0, NAN}, {-0.0, NAN, 0.0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        granary_column column = doubles("x", cases[i], 3);
        struct gr_parquet *file = written(&column);
        const struct gr_parquet_stats *stats = stats_of(file);
        double min;
        double max;

        assert_int_equal(stats->min.size, sizeof min);
        memcpy(&min, stats->min.bytes, sizeof min);
        memcpy(&max, stats->max.bytes, sizeof max);
        assert_true(min == 0 && signbit(min) && max == 0 && !signbit(max));
        assert_int_equal(stats->nans, i == 2 ? 2 : i == 3 ? 1 : 0);
        gr_parquet_close(file);
    }
}

static void
test_nan_alone(void **state)
{
    static const double values[] = {NAN, NAN};
    granary_column column = doubles("x", values, 2);
    struct gr_parquet *file = written(&column);
    size_t count;

    (void)state;
    assert_null(stats_of(file)->min.bytes);
    assert_null(stats_of(file)->max.bytes);
    assert_int_equal(stats_of(file)->nans, 2);
    assert_int_equal(gr_parquet_groups(file, &count)[0].chunks[0].column_index_size, 0);
    assert_true(gr_parquet_groups(file, &count)[0].chunks[0].offset_index_size > 0);
    gr_parquet_close(file);
}

/* One text of so many times the same. */
static void
check_text(const char *of, int times, const char *end, const char *min_end, size_t min_size, const char *max_end)
{
    char text[512] = "";
    int32_t offsets[2] = {0, 0};
    granary_column column = {.name = "t", .dtype = GRANARY_STRING, .rows = 1, .values = text, .offsets = offsets};
    struct gr_parquet *file;
    const struct gr_parquet_stats *stats;

    for (int i = 0; i < times; i++) {
        strcat(text, of);
    }
    strcat(text, end);
    offsets[1] = (int32_t)strlen(text);
    file = written(&column);
    stats = stats_of(file);
    assert_int_equal(stats->min.size, min_size);
    assert_memory_equal(stats->min.bytes, text, min_size - strlen(min_end));
    assert_memory_equal(stats->min.bytes + min_size - strlen(min_end), min_end, strlen(min_end));
    assert_true(stats->max.size >= strlen(max_end));
    assert_memory_equal(stats->max.bytes + stats->max.size - strlen(max_end), max_end, strlen(max_end));
    gr_parquet_close(file);
}

static void
test_long_text(void **state)
{
    (void)state;
    check_text("ab", 32, "", "ab", 64, "ab");                               /* 64 bytes: as they are */
    check_text("ab", 32, "x", "ab", 64, "ac");                              /* one more */
    check_text("ü", 40, "", "ü", 64, "ý");                                  /* two bytes each */
    check_text("漢", 40, "", "漢", 63, "漣");                               /* three: 64 is within one */
    check_text("\xed\x9f\xbf", 40, "", "\xed\x9f\xbf", 63, "\xee\x80\x80"); /* those behind it are no characters */
    check_text("\x7f", 100, "", "\x7f", 64, "\x7f"); /* none of as many bytes is more: it is whole */
    check_text("a\x7f", 50, "", "\x7f", 64, "b");    /* but the one before it */
    check_text("\xf4\x8f\xbf\xbf", 30, "", "\xf4\x8f\xbf\xbf", 64, "\xf4\x8f\xbf\xbf");
}

static void
test_refused(void **state)
{
    static const double values[] = {1};
    char long_name[5000];
    const granary_column named[] = {doubles("", values, 1), doubles(long_name, values, 1)};
    granary_column odd = {.name = "x", .dtype = (granary_dtype)77, .rows = 1, .values = values};
    const granary_column *column = &odd;
    struct gr_buf out = {0};

    (void)state;
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(gr_parquet_put_groups(&column, 0, 0, 0, &plain, &out), GRANARY_EINVAL);
    assert_int_equal(gr_parquet_put_groups(&column, 1, 0, 1, &plain, &out), GRANARY_EINVAL);
    for (size_t i = 0; i < 2; i++) {
        column = &named[i];
        assert_int_equal(gr_parquet_put_groups(&column, 1, 0, 1, &plain, &out), GRANARY_EINVAL);
        assert_non_null(strstr(granary_error_message(), "rename it"));
    }
    gr_buf_free(&out);
}

static void
test_put_together(void **state)
{
    static const double values[] = {1, 2};
    static const int32_t offsets[] = {0, 0, 0};
    const granary_column real = doubles("x", values, 2);
    const granary_column other = doubles("y", values, 2);
    const granary_column text = {.name = "x", .dtype = GRANARY_STRING, .rows = 2, .values = "", .offsets = offsets};
    const granary_column none = {.name = "x", .dtype = GRANARY_NULLTYPE, .rows = 2, .null_count = 2};
    const granary_column *two[] = {&real, &other};
    struct gr_parquet_writer *writer;
    struct gr_buf bytes = {0};
    struct gr_buf groups[5] = {{0}};

    (void)state;
    put(&none, &groups[0]);
    put(&real, &groups[1]);
    put(&text, &groups[2]);
    put(&other, &groups[3]);
    assert_int_equal(gr_parquet_put_groups(two, 2, 0, 2, &plain, &groups[4]), GRANARY_OK);
    assert_int_equal(gr_parquet_writer_create(add, &bytes, &writer), GRANARY_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(gr_parquet_writer_add(writer, groups[i].bytes, groups[i].size), GRANARY_OK);
    }
    assert_int_equal(gr_parquet_writer_add(writer, groups[2].bytes, groups[2].size), GRANARY_ETYPE);
    assert_non_null(strstr(granary_error_message(), "column 'x' is string in one chunk and float64 in another"));
    assert_int_equal(gr_parquet_writer_add(writer, groups[3].bytes, groups[3].size), GRANARY_ETYPE);
    assert_non_null(strstr(granary_error_message(), "column 'y' where another has 'x'"));
    assert_int_equal(gr_parquet_writer_add(writer, groups[4].bytes, groups[4].size), GRANARY_ETYPE);
    gr_parquet_writer_destroy(writer);
    for (size_t i = 0; i < 5; i++) {
        gr_buf_free(&groups[i]);
    }
    gr_buf_free(&bytes);
}

/* Decimals of a column, in two's complement of 128 bits. */
static granary_column
decimals(granary_dtype dtype, const int64_t *halves, const uint8_t *validity, int64_t rows)
{
    return (granary_column){.name = "x", .dtype = dtype, .rows = rows, .values = halves, .validity = validity};
}

static void
assert_physical(const granary_column *column, enum gr_parquet_physical physical, int32_t precision)
{
    struct gr_parquet *file = written(column);
    const struct gr_parquet_leaf *leaf;
    size_t count;

    leaf = gr_parquet_leaves(file, &count);
    assert_int_equal(leaf->physical, physical);
    assert_int_equal(leaf->precision, precision);
    assert_int_equal(leaf->dtype, column->dtype);
    gr_parquet_close(file);
}

/* int64 as long as each value has at most 18 digits, and the scale, too; what lies under a null does not count. */
static void
test_decimal_widths(void **state)
{
    static const int64_t most = INT64_C(999999999999999999);
    const int64_t narrow[] = {most, 0, -most, -1};
    const int64_t above[] = {most + 1, 0, 0, 0};
    const int64_t below[] = {0, 0, -most - 1, -1};
    const int64_t high[] = {0, 1, 0, 0};
    static const uint8_t second = 2;
    granary_column column = decimals(GRANARY_DECIMAL(18), narrow, NULL, 2);

    (void)state;
    assert_physical(&column, GR_PARQUET_INT64, 18);
    column = decimals(GRANARY_DECIMAL(2), narrow, NULL, 0);
    assert_physical(&column, GR_PARQUET_INT64, 18);
    column = decimals(GRANARY_DECIMAL(19), narrow, NULL, 2);
    assert_physical(&column, GR_PARQUET_FIXED, 38);
    column = decimals(GRANARY_DECIMAL(0), above, NULL, 2);
    assert_physical(&column, GR_PARQUET_FIXED, 38);
    column = decimals(GRANARY_DECIMAL(0), below, NULL, 2);
    assert_physical(&column, GR_PARQUET_FIXED, 38);
    column = decimals(GRANARY_DECIMAL(0), high, NULL, 2);
    assert_physical(&column, GR_PARQUET_FIXED, 38);
    column = decimals(GRANARY_DECIMAL(0), above, &second, 2);
    column.null_count = 1;
    assert_physical(&column, GR_PARQUET_INT64, 18);
}

/* Row groups of two widths: they are told before, and refused as they are. */
static void
test_decimals_together(void **state)
{
    const int64_t narrow[] = {5, 0};
    const int64_t wide[] = {5, 5};
    const granary_column columns[] = {decimals(GRANARY_DECIMAL(2), narrow, NULL, 1),
                                      decimals(GRANARY_DECIMAL(2), wide, NULL, 1),
                                      {.name = "x", .dtype = GRANARY_NULLTYPE, .rows = 1, .null_count = 1}};
    struct gr_parquet_writer *writer;
    struct gr_buf bytes = {0};
    struct gr_buf groups[3] = {{0}};
    const bool *is_wide = NULL;
    bool fits;

    (void)state;
    assert_int_equal(gr_parquet_writer_create(add, &bytes, &writer), GRANARY_OK);
    for (size_t i = 0; i < 3; i++) {
        put(&columns[i], &groups[i]);
        assert_int_equal(gr_parquet_writer_look(writer, groups[i].bytes, groups[i].size), GRANARY_OK);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(gr_parquet_writer_fits(writer, groups[i].bytes, groups[i].size, &fits, &is_wide), GRANARY_OK);
        assert_int_equal(fits, i > 0);
        assert_true(is_wide[0]);
        assert_int_equal(gr_parquet_writer_add(writer, groups[i].bytes, groups[i].size),
                         fits ? GRANARY_OK : GRANARY_ETYPE);
    }
    gr_parquet_writer_destroy(writer);
    for (size_t i = 0; i < 3; i++) {
        gr_buf_free(&groups[i]);
    }
    gr_buf_free(&bytes);
}

/* Notes that were cut, or lengthened: an error, and nothing is read beyond them. */
static void
test_damaged_notes(void **state)
{
    static const double values[] = {1, 2};
    const granary_column column = doubles("x", values, 2);
    struct gr_parquet_writer *writer;
    struct gr_buf groups = {0};

    (void)state;
    put(&column, &groups);
    for (size_t cut = 0; cut < groups.size; cut++) {
        size_t size = groups.size - cut;
        struct gr_buf out = {0};
        uint8_t *some = malloc(size + 16);
        uint64_t end[2];

        assert_non_null(some);
        memcpy(some, groups.bytes + cut, size); /* its begin is missing */
        assert_int_equal(gr_parquet_writer_create(add, &out, &writer), GRANARY_OK);
        assert_int_equal(gr_parquet_writer_add(writer, some, size), cut == 0 ? GRANARY_OK : GRANARY_ECORRUPT);
        gr_parquet_writer_destroy(writer);
        memcpy(some, groups.bytes, size); /* its end */
        memcpy(end, groups.bytes + groups.size - 16, 16);
        end[0] = end[0] > cut ? end[0] - cut : 0;
        if (size >= 16 && cut > 0) {
            memcpy(some + size - 16, end, 16);
            assert_int_equal(gr_parquet_writer_create(add, &out, &writer), GRANARY_OK);
            assert_int_not_equal(gr_parquet_writer_add(writer, some, size), GRANARY_OK);
            gr_parquet_writer_destroy(writer);
        }
        gr_buf_free(&out);
        free(some);
    }
    gr_buf_free(&groups);
}

static void
test_full(void **state)
{
    static const double values[] = {1, 2};
    const granary_column column = doubles("x", values, 2);
    struct gr_parquet_writer *writer = NULL;
    struct gr_buf groups = {0};

    (void)state;
    put(&column, &groups);
    for (int allowed = 0; allowed < 4; allowed++) {
        int left = allowed;
        granary_err err = gr_parquet_writer_create(refuse, &left, &writer);

        assert_int_equal(err, allowed == 0 ? GRANARY_EFULL : GRANARY_OK);
        err = err == GRANARY_OK ? gr_parquet_writer_add(writer, groups.bytes, groups.size) : err;
        err = err == GRANARY_OK ? gr_parquet_writer_finish(writer) : err;
        assert_int_equal(err, allowed < 3 ? GRANARY_EFULL : GRANARY_OK);
        if (allowed > 0) {
            gr_parquet_writer_destroy(writer);
        }
    }
    gr_buf_free(&groups);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeros_and_nan),
        cmocka_unit_test(test_nan_alone),
        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_put_together),
        cmocka_unit_test(test_damaged_notes),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_decimal_widths),
        cmocka_unit_test(test_decimals_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
