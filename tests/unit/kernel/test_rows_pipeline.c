/* Rows filtered and computed block by block, against one row after the other. */
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "kernel/simd/simd.h"
#include "rows_tools.h"

static const char *const conditions[] = {
    "key > 0",
    "key >= -1 and key <= 2 and real < 0.0",
    "0 <= key",
    "flag",
    "not flag or key is null",
    "text = 'a' or text like 'longer%'",
    "lower(text) = 'ab' and key != 0",
    "day between date '1975-01-01' and date '2010-06-30' and number > -3",
    "moment < timestamp '1990-01-01 00:00:00'",
    "number != 1.5",
    "wide > 1000000 and row % 7 < 5",
    "text in ('a', 'ab', null) and real > 0",
    "row >= 2047 and row < 2050",
    "row < 0",
    "row >= 0",
    "null",
    "row = 5 or row = 2100",
    "text is null",
    /* A condition that cannot be told in rows that the other one leaves out. */
    "row < 2000 and 9223372036854775807 - 1999 + row > 0",
    "9223372036854775807 - 1999 + row > 0 and row < 2000",
    "text = '' and try_cast(text as int64) is null",
};
enum { CONDITIONS = sizeof conditions / sizeof conditions[0] };

static const char *const wanted[] = {
    "row",
    "text",
    "key * 3 + row",
    "number",
    "case when flag then key else -row end",
    "concat(text, '/', cast(key as string))",
    "substring(text, 1, 2)",
    "day + key",
    "cast(real as decimal(2)) * 0.5",
    "flag and key > 0",
    "coalesce(key, length(text), 99)",
    "hash(key, text)",
    "length(lower(text)) + 1",
};
enum { WANTED = sizeof wanted / sizeof wanted[0] };

static void
add_cells(const granary_frame *frame, int64_t row, struct gr_buf *out)
{
    for (size_t i = 0; i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;

        gr_buf_addf(out, "%s ", granary_dtype_name(column->dtype));
        if (gr_is_null(column, row)) {
            gr_buf_addf(out, "-");
        } else {
            gr_value_format(column, row, out);
        }
        gr_buf_addf(out, "|");
    }
    gr_buf_addf(out, "\n");
}

/* The values of each row of a frame, from as many frames of one row. To be freed, each. */
static char **
row_by_row(const granary_frame *frame, const char *const *texts, size_t count)
{
    char **cells = calloc((size_t)frame->rows + 1, sizeof(char *));

    for (int64_t row = 0; row < frame->rows; row++) {
        const struct rows_spec spec = {.wanted = texts, .wanted_count = count};
        granary_frame *one = NULL;
        granary_frame *made = NULL;
        struct gr_buf out = {0};

        assert_int_equal(gr_frame_slice(frame, row, 1, &one), GRANARY_OK);
        if (rows_frame(one, &spec, texts, &made) == GRANARY_OK) {
            add_cells(made, 0, &out);
        }
        cells[row] = gr_buf_take(&out); /* NULL: it cannot be computed */
        gr_frame_destroy(made);
        gr_frame_destroy(one);
    }
    return cells;
}

static void
free_cells(char **cells, int64_t rows)
{
    for (int64_t row = 0; row < rows; row++) {
        free(cells[row]);
    }
    free(cells);
}

/* The truth of the conditions in a row: false and null win over what cannot be computed. */
static void
row_holds(const granary_frame *frame, int64_t row, bool holds[CONDITIONS])
{
    granary_frame *one = NULL;
    granary_frame *made = NULL;

    assert_int_equal(gr_frame_slice(frame, row, 1, &one), GRANARY_OK);
    for (size_t first = 0, count = CONDITIONS; first < CONDITIONS; first += count) {
        struct rows_spec spec = {.wanted = conditions + first, .wanted_count = count};
        granary_err err = rows_frame(one, &spec, conditions + first, &made);

        if (err != GRANARY_OK && count > 1) {
            first = 0; /* again one by one */
            count = 1;
            spec = (struct rows_spec){.wanted = conditions, .wanted_count = 1};
            err = rows_frame(one, &spec, conditions, &made);
        }
        for (size_t c = first; c < first + count; c++) {
            const granary_column *column = err == GRANARY_OK ? &made->columns[c - first].view : NULL;

            holds[c] =
                column != NULL && column->dtype == GRANARY_BOOL && !gr_is_null(column, 0) && gr_bit(column->values, 0);
        }
        if (err == GRANARY_OK) {
            gr_frame_destroy(made);
        }
    }
    gr_frame_destroy(one);
}

/* The cells of the rows in which each condition holds. */
static void
rows_where(const granary_frame *frame, char *const *cells, struct gr_buf wants[CONDITIONS])
{
    for (int64_t row = 0; row < frame->rows; row++) {
        bool holds[CONDITIONS];

        row_holds(frame, row, holds);
        for (size_t c = 0; c < CONDITIONS; c++) {
            gr_buf_add(&wants[c], cells[row], holds[c] ? strlen(cells[row]) : 0);
        }
    }
}

static void
compare_with_rows(const granary_frame *frame, const char *condition, const struct gr_buf *wants)
{
    const struct gr_buf want = *wants;
    const struct rows_spec spec = {.where = condition, .wanted = wanted, .wanted_count = WANTED};
    granary_frame *made = NULL;
    struct gr_buf got = {0};

    if (rows_frame(frame, &spec, wanted, &made) != GRANARY_OK) {
        fail_msg("%s: %s", condition, granary_error_message());
    }
    for (int64_t row = 0; row < made->rows; row++) {
        add_cells(made, row, &got);
    }
    if (got.size != want.size || (got.size > 0 && memcmp(got.bytes, want.bytes, got.size) != 0)) {
        size_t at = 0;

        while (at < got.size && at < want.size && got.bytes[at] == want.bytes[at]) {
            at++;
        }
        fail_msg("%s: at byte %zu of %zu, %zu: '%.60s' is not '%.60s'", condition, at, got.size, want.size,
                 at < got.size ? got.bytes + at : "", at < want.size ? want.bytes + at : "");
    }
    gr_buf_free(&got);
    gr_frame_destroy(made);
}

static void
blocks_give_what_single_rows_give(void **state)
{
    static const int64_t sizes[] = {0, 1, 63, 2110};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        granary_frame *plain = frame_random(i + 1, sizes[i], true);
        granary_frame *codes = encoded(plain);
        char **cells = row_by_row(plain, wanted, WANTED);

        struct gr_buf wants[CONDITIONS] = {0};

        rows_where(plain, cells, wants);
        for (size_t c = 0; c < CONDITIONS; c++) {
            compare_with_rows(plain, conditions[c], &wants[c]);
            compare_with_rows(codes, conditions[c], &wants[c]);
            gr_buf_free(&wants[c]);
        }
        free_cells(cells, sizes[i]);
        gr_frame_destroy(codes);
        gr_frame_destroy(plain);
    }
}

static void
every_instruction_set_gives_the_same(void **state)
{
    static const enum gr_simd levels[] = {GR_SIMD_BASE, GR_SIMD_AVX2, GR_SIMD_AVX512};
    granary_frame *frame = frame_random(9, 5000, true);

    (void)state;
    for (size_t c = 0; c < CONDITIONS; c++) {
        const struct rows_spec spec = {.where = conditions[c], .wanted = wanted, .wanted_count = WANTED};
        granary_frame *first = NULL;

        for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
            granary_frame *made = NULL;

            gr_simd_limit(levels[l]);
            if (rows_frame(frame, &spec, wanted, &made) != GRANARY_OK) {
                /* Behind row 2300 one of the sums overflows where the other condition does not help. */
                assert_non_null(strstr(granary_error_message(), "overflow"));
                continue;
            }
            if (first == NULL) {
                first = made;
                continue;
            }
            assert_same_bytes(first, made);
            gr_frame_destroy(made);
        }
        gr_frame_destroy(first);
    }
    gr_simd_limit(GR_SIMD_AVX512);
    gr_frame_destroy(frame);
}

/* What the zone of each column says is used, and never wrong. */
static void
zones_decide_and_change_nothing(void **state)
{
    static const char *const cases[] = {
        "a > 3", "a >= 3", "a < 3",  "a <= 3", "a = 3",    "a != 3",    "a > 9",   "a < 9",  "a >= 1", "a > 1",
        "a < 1", "a <= 1", "a = 9",  "a != 9", "x < 2.5",  "x >= 0.5",  "x > 0.5", "x != 7", "m < 6",  "m <= 5",
        "m > 4", "m = 9",  "m >= 1", "a <= 5", "x >^ 2.5", "x >=^ 0.5", "x >^ 9",  "5 <^ x", "x <^ 9", "x =^ 1"};
    granary_frame *frame = frame_text("a:int64,x:float64,m:decimal(2)", "1,0.5,1\n3,nan,2\n5,2.5,5\n,1,\n");
    struct gr_column_stats *stats = calloc(3, sizeof *stats);

    (void)state;
    stats[0] = (struct gr_column_stats){.nulls = 1, .has_zone = true, .min.integer = 1, .max.integer = 5};
    stats[1] = (struct gr_column_stats){.has_zone = true, .has_nan = true, .min.real = 0.5, .max.real = 2.5};
    stats[2] = (struct gr_column_stats){.nulls = 1, .has_zone = true, .min.real = 100, .max.real = 500};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const char *const names[] = {"a"};
        const struct rows_spec spec = {.where = cases[i], .wanted = names, .wanted_count = 1};
        granary_frame *without = NULL;
        granary_frame *with = NULL;

        frame->stats = NULL;
        assert_int_equal(rows_frame(frame, &spec, names, &without), GRANARY_OK);
        frame->stats = stats;
        assert_int_equal(rows_frame(frame, &spec, names, &with), GRANARY_OK);
        if (with->rows != without->rows) {
            fail_msg("%s: %lld rows, not %lld", cases[i], (long long)with->rows, (long long)without->rows);
        }
        gr_frame_destroy(with);
        gr_frame_destroy(without);
    }
    gr_frame_destroy(frame);
}

/* A column that is computed first has precedence over the frame's, and may use those before it. */
static void
computed_columns_are_used_by_name(void **state)
{
    char *keys[] = {(char *)(uintptr_t) "b", (char *)(uintptr_t) "a", (char *)(uintptr_t) "c d"};
    char *texts[] = {(char *)(uintptr_t) "a * 10", (char *)(uintptr_t) "b + 1", (char *)(uintptr_t) "`a` - b"};
    Granary__Attr map = GRANARY__ATTR__INIT;
    static const char *const names[] = {"a", "b", "c d", "s", "a + 1"};
    const struct rows_spec spec = {
        .where = "`c d` = 1 and b > 10", .columns = &map, .wanted = names, .wanted_count = 5};
    granary_frame *frame = frame_text("a:int64,s:string", "1,x\n2,y\n3,\n");
    granary_frame *made = NULL;

    (void)state;
    map.kind = GRANARY__ATTR__KIND__MAP;
    map.keys = keys;
    map.strings = texts;
    map.n_keys = map.n_strings = 3;
    assert_int_equal(rows_frame(frame, &spec, names, &made), GRANARY_OK);
    assert_frame(made, "a,b,c d,s,a + 1\n21,20,1,y,22\n31,30,1,,32\n");
    gr_frame_destroy(made);
    gr_frame_destroy(frame);
}

/* The vectors themselves: row numbers, classes, dictionaries that stay. */
static void
vectors_are_as_promised(void **state)
{
    static const char *const names[] = {"text", "lower(text)", "row"};
    const struct rows_spec spec = {.where = "row % 2 = 0", .wanted = names, .wanted_count = 3};
    granary_frame *plain = frame_random(3, 5000, false);
    granary_frame *codes = encoded(plain);
    struct rows *rows = NULL;
    struct rows_block block;
    int64_t seen = 0;
    const granary_column *made;

    (void)state;
    assert_int_equal(rows_open(codes, &spec, &rows), GRANARY_OK);
    assert_int_equal(rows_vector(rows, 0)->class, ROWS_CODE);
    assert_ptr_equal(rows_vector(rows, 0)->column, &codes->columns[gr_frame_find(codes, "text")].view);
    assert_ptr_equal(rows_vector(rows, 0)->dictionary, rows_vector(rows, 0)->column->dictionary);
    assert_int_equal(rows_vector(rows, 1)->class, ROWS_CODE);
    assert_null(rows_vector(rows, 1)->column);
    made = rows_vector(rows, 1)->dictionary;
    assert_true(made->rows < rows_vector(rows, 0)->dictionary->rows); /* 'a' and 'A' are one */
    while (rows_next(rows, &block) == GRANARY_OK && block.count > 0) {
        assert_ptr_equal(rows_vector(rows, 1)->dictionary, made);
        for (int64_t i = 0; i < block.count; i++) {
            int64_t row = block.from + (block.selected != NULL ? block.selected[i] : i);

            assert_int_equal(((const int64_t *)rows_vector(rows, 2)->values)[i], row);
            assert_int_equal(row, 2 * seen);
            seen++;
        }
    }
    assert_int_equal(seen, 2500);
    rows_close(rows);
    gr_frame_destroy(codes);
    gr_frame_destroy(plain);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_give_what_single_rows_give), cmocka_unit_test(every_instruction_set_gives_the_same),
        cmocka_unit_test(zones_decide_and_change_nothing),   cmocka_unit_test(computed_columns_are_used_by_name),
        cmocka_unit_test(vectors_are_as_promised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
