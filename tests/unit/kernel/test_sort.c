#include "frame_tools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/layout/packed.h"
#include "kernel/sort/sort.h"

/* Order of two rows by one column, the plain way: from the values as they print. */
static int
naive_compare(const granary_frame *frame, const char *column, bool descending, int64_t a, int64_t b)
{
    const granary_column *view = &frame->columns[gr_frame_find(frame, column)].view;
    char *x = cell_text(frame, column, a);
    char *y = cell_text(frame, column, b);
    bool null_x = gr_is_null(view, a);
    bool null_y = gr_is_null(view, b);
    int order;

    if (null_x || null_y) {
        order = (int)null_x - (int)null_y;
    } else if (view->dtype == GRANARY_STRING || view->dtype == GRANARY_BOOL) {
        order = strcmp(x, y) * (descending ? -1 : 1); /* "false" < "true" */
    } else if (view->dtype == GRANARY_FLOAT64) {
        double p = ((const double *)view->values)[a];
        double q = ((const double *)view->values)[b];

        order = isnan(p) || isnan(q) ? (int)isnan(p) - (int)isnan(q) : ((p > q) - (p < q)) * (descending ? -1 : 1);
    } else {
        int64_t p =
            view->dtype == GRANARY_DATE ? ((const int32_t *)view->values)[a] : ((const int64_t *)view->values)[a];
        int64_t q =
            view->dtype == GRANARY_DATE ? ((const int32_t *)view->values)[b] : ((const int64_t *)view->values)[b];

        order = ((p > q) - (p < q)) * (descending ? -1 : 1);
    }
    free(x);
    free(y);
    return order;
}

/* Neighbours are in order, and equal ones as they came: `row` counts the input's rows. */
static void
assert_sorted(const granary_frame *frame, const char *by, const char *descending)
{
    for (int64_t i = 1; i < frame->rows; i++) {
        char *copy = strdup(by);
        int order = 0;
        size_t key = 0;

        for (char *name = strtok(copy, ","); name != NULL && order == 0; name = strtok(NULL, ",")) {
            order = naive_compare(frame, name, descending[key++] == '1', i - 1, i);
        }
        free(copy);
        if (order == 0) {
            const int64_t *rows = frame->columns[gr_frame_find(frame, "row")].view.values;

            assert_true(rows[i - 1] < rows[i]);
        }
        assert_true(order <= 0);
    }
}

static granary_frame *
sorted(const granary_frame *frame, const char *by, const char *descending, int64_t limit)
{
    struct kernel_test test;

    kernel_test_init(&test, "sort");
    kernel_test_strings(&test, "by", by);
    kernel_test_bools(&test, "descending", descending);
    if (limit >= 0) {
        kernel_test_attr(&test, gr_attr_new_int("limit", limit));
    }
    kernel_test_frame(&test, frame);
    return kernel_test_to_frame(&test, run_sort);
}

static const struct {
    const char *by;
    const char *descending;
} orders[] = {
    {"key", "0"},
    {"key", "1"},
    {"text", "0"},
    {"text", "1"},
    {"number", "0"},
    {"number", "1"},
    {"wide", "0"},
    {"wide", "1"},
    {"real", "0"},
    {"real", "1"},
    {"flag", "0"},
    {"flag", "1"},
    {"day", "0"},
    {"moment", "1"},
    {"text,number", "01"},
    {"key,text", "10"},
    {"flag,key", "11"},
    {"number,text", "10"},
    {"flag,day,wide", "010"},
    {"text,flag,real", "111"},
};
enum { ORDERS = sizeof orders / sizeof orders[0] };

static void
rows_are_in_order_and_stable(void **state)
{
    static const int64_t sizes[] = {0, 1, 2, 15, 17, 100, 1500};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        granary_frame *frame = frame_random(i + 1, sizes[i], true);

        for (size_t j = 0; j < ORDERS; j++) {
            granary_frame *result = sorted(frame, orders[j].by, orders[j].descending, -1);

            assert_int_equal(result->rows, frame->rows);
            assert_sorted(result, orders[j].by, orders[j].descending);
            gr_frame_destroy(result);
        }
        gr_frame_destroy(frame);
    }
}

/* The ends of int64 share their prefixes with nothing; nulls and NaN stay last in both directions. */
static void
goldens(void **state)
{
    granary_frame *frame = frame_text("n:int64,f:float64,s:string",
                                      "9223372036854775807,nan,b\n,1.5,\n-9223372036854775808,,\"\"\n"
                                      "9223372036854775807,-0,a\n,0,abcdefgh\n5,-inf,abcdefg\n0,inf,abcdefghi\n");
    granary_frame *result;

    (void)state;
    result = sorted(frame, "n", "0", -1);
    assert_frame(result,
                 "n,f,s\n-9223372036854775808,,\"\"\n0,inf,abcdefghi\n5,-inf,abcdefg\n9223372036854775807,nan,b\n"
                 "9223372036854775807,-0.0,a\n,1.5,\n,0.0,abcdefgh\n");
    gr_frame_destroy(result);
    result = sorted(frame, "n", "1", -1);
    assert_frame(result, "n,f,s\n9223372036854775807,nan,b\n9223372036854775807,-0.0,a\n5,-inf,abcdefg\n"
                         "0,inf,abcdefghi\n-9223372036854775808,,\"\"\n,1.5,\n,0.0,abcdefgh\n");
    gr_frame_destroy(result);
    result = sorted(frame, "f", "1", -1);
    assert_frame(result, "n,f,s\n0,inf,abcdefghi\n,1.5,\n9223372036854775807,-0.0,a\n,0.0,abcdefgh\n5,-inf,abcdefg\n"
                         "9223372036854775807,nan,b\n-9223372036854775808,,\"\"\n");
    gr_frame_destroy(result);
    result = sorted(frame, "s", "0", 4);
    assert_frame(result,
                 "n,f,s\n-9223372036854775808,,\"\"\n9223372036854775807,-0.0,a\n5,-inf,abcdefg\n,0.0,abcdefgh\n");
    gr_frame_destroy(result);
    result = sorted(frame, "s", "1", 2);
    assert_frame(result, "n,f,s\n9223372036854775807,nan,b\n0,inf,abcdefghi\n");
    gr_frame_destroy(result);
    gr_frame_destroy(frame);
}

static void
long_equal_strings_are_compared_to_the_end(void **state)
{
    struct gr_column column;
    int64_t rows = 40;
    int64_t size = 300;
    granary_frame *frame = gr_frame_create(1, rows);
    granary_frame *result;

    (void)state;
    assert_non_null(frame);
    assert_int_equal(gr_column_alloc(GRANARY_STRING, rows, rows * size, false, &column), GRANARY_OK);
    for (int64_t i = 0; i < rows; i++) {
        char *text = (char *)(uintptr_t)column.view.values + i * size;

        memset(text, 'x', (size_t)size);
        text[size - 1] = (char)('a' + (i * 7) % 20);
        ((int32_t *)(uintptr_t)column.view.offsets)[i + 1] = (int32_t)((i + 1) * size);
    }
    assert_int_equal(gr_frame_set(frame, 0, "row", &column), GRANARY_OK);
    result = sorted(frame, "row", "0", -1);
    for (int64_t i = 1; i < rows; i++) {
        const char *text = result->columns[0].view.values;

        assert_true(memcmp(text + (i - 1) * size, text + i * size, (size_t)size) <= 0);
    }
    gr_frame_destroy(result);
    gr_frame_destroy(frame);
}

static void
limit_gives_the_first_rows(void **state)
{
    static const int64_t limits[] = {0, 1, 10, 500, 3000, 20000, 30000};
    granary_frame *frame = frame_random(3, 20000, true);

    (void)state;
    for (size_t j = 0; j < ORDERS; j++) {
        granary_frame *all = sorted(frame, orders[j].by, orders[j].descending, -1);

        for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
            granary_frame *result = sorted(frame, orders[j].by, orders[j].descending, limits[i]);
            granary_frame *want;

            assert_int_equal(gr_frame_slice(all, 0, limits[i] < all->rows ? limits[i] : all->rows, &want), GRANARY_OK);
            assert_same_bytes(result, want);
            gr_frame_destroy(result);
            gr_frame_destroy(want);
        }
        gr_frame_destroy(all);
    }
    gr_frame_destroy(frame);
}

/* ---- the parallel sort ---- */

enum { CHUNKS = 5, PARTS = 4 };

static void
call_order(struct kernel_test *test, const char *op, const char *by, const char *descending)
{
    kernel_test_init(test, op);
    kernel_test_strings(test, "by", by);
    kernel_test_bools(test, "descending", descending);
}

/* Frame i of a packed object, which it borrows. */
static granary_frame *
unpacked(const struct gr_value *value, uint32_t i)
{
    const char *bytes = value->bytes;
    struct gr_packed_entry entry;
    granary_frame *frame = NULL;

    assert_int_equal(value->kind, GR_VALUE_BYTES);
    assert_int_equal(gr_packed_check(bytes, bytes + gr_packed_entry_at(i), i, value->bytes_size, &entry), GRANARY_OK);
    assert_int_equal(gr_packed_open(bytes + entry.data_offset, &entry, &frame), GRANARY_OK);
    return frame;
}

/* sample -> pivots -> split -> sort, and the parts one after the other. */
static granary_frame *
sorted_in_parallel(granary_frame *const *chunks, const char *by, const char *descending, int64_t samples,
                   int64_t *ret_largest)
{
    struct kernel_test splits[CHUNKS];
    granary_frame *sorted[PARTS];
    granary_frame *pivots;
    granary_frame *result;
    granary_frame *sample[CHUNKS];
    struct kernel_test test;

    call_order(&test, "sort_pivots", by, descending);
    kernel_test_attr(&test, gr_attr_new_int("parts", PARTS));
    for (int i = 0; i < CHUNKS; i++) {
        struct kernel_test sampling;

        call_order(&sampling, "sort_sample", by, descending);
        kernel_test_attr(&sampling, gr_attr_new_int("samples", samples));
        kernel_test_attr(&sampling, gr_attr_new_int("chunk", i));
        kernel_test_frame(&sampling, chunks[i]);
        sample[i] = kernel_test_to_frame(&sampling, run_sort_sample);
        assert_true(sample[i]->rows <= samples);
        kernel_test_frame(&test, sample[i]);
    }
    pivots = kernel_test_to_frame(&test, run_sort_pivots);
    assert_true(pivots->rows == PARTS - 1 || pivots->rows == 0);
    for (int i = 0; i < CHUNKS; i++) {
        call_order(&splits[i], "sort_split", by, descending);
        kernel_test_attr(&splits[i], gr_attr_new_int("parts", PARTS));
        kernel_test_attr(&splits[i], gr_attr_new_int("chunk", i));
        kernel_test_frame(&splits[i], chunks[i]);
        kernel_test_frame(&splits[i], pivots);
        assert_int_equal(kernel_test_run(&splits[i], run_sort_split), GRANARY_OK);
    }
    for (int part = 0; part < PARTS; part++) {
        granary_frame *dealt[CHUNKS];

        call_order(&test, "sort", by, descending);
        for (int i = 0; i < CHUNKS; i++) {
            dealt[i] = unpacked(&splits[i].outputs[0], (uint32_t)part);
            kernel_test_frame(&test, dealt[i]);
        }
        sorted[part] = kernel_test_to_frame(&test, run_sort);
        for (int i = 0; i < CHUNKS; i++) {
            gr_frame_destroy(dealt[i]);
        }
        *ret_largest = sorted[part]->rows > *ret_largest ? sorted[part]->rows : *ret_largest;
    }
    assert_int_equal(gr_frame_concat((const granary_frame *const *)sorted, PARTS, &result), GRANARY_OK);
    for (int i = 0; i < CHUNKS; i++) {
        kernel_test_fini(&splits[i]);
        gr_frame_destroy(sample[i]);
    }
    for (int part = 0; part < PARTS; part++) {
        gr_frame_destroy(sorted[part]);
    }
    gr_frame_destroy(pivots);
    return result;
}

static void
cut_at_random(const granary_frame *frame, struct random *random, granary_frame **chunks)
{
    int64_t from = 0;

    for (int i = 0; i < CHUNKS; i++) {
        int64_t many = i == CHUNKS - 1 ? frame->rows - from : random_below(random, frame->rows - from + 1);

        assert_int_equal(gr_frame_slice(frame, from, many, &chunks[i]), GRANARY_OK);
        from += many;
    }
}

static void
parallel_sort_equals_the_plain_one(void **state)
{
    static const int64_t sizes[] = {0, 1, 7, 900};
    struct random random = {9};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t j = 0; j < ORDERS; j++) {
            granary_frame *frame = frame_random(100 * i + j, sizes[i], true);
            granary_frame *plain = sorted(frame, orders[j].by, orders[j].descending, -1);
            granary_frame *chunks[CHUNKS];
            granary_frame *result;
            int64_t largest = 0;

            cut_at_random(frame, &random, chunks);
            result =
                sorted_in_parallel(chunks, orders[j].by, orders[j].descending, 1 + random_below(&random, 20), &largest);
            assert_same_bytes(result, plain);
            gr_frame_destroy(result);
            for (int k = 0; k < CHUNKS; k++) {
                gr_frame_destroy(chunks[k]);
            }
            gr_frame_destroy(plain);
            gr_frame_destroy(frame);
        }
    }
}

/* A part that held all rows of a frequent key would need all the memory at once. */
static void
a_key_that_repeats_is_spread_over_parts(void **state)
{
    enum { ROWS = 200 };
    struct gr_column column;
    granary_frame *chunks[CHUNKS];
    granary_frame *result;
    int64_t largest = 0;

    (void)state;
    for (int i = 0; i < CHUNKS; i++) {
        assert_int_equal(gr_column_alloc(GRANARY_INT64, ROWS, 0, false, &column), GRANARY_OK);
        chunks[i] = gr_frame_create(1, ROWS);
        assert_non_null(chunks[i]);
        assert_int_equal(gr_frame_set(chunks[i], 0, "a", &column), GRANARY_OK);
    }
    result = sorted_in_parallel(chunks, "a", "0", 16, &largest);
    assert_int_equal(result->rows, CHUNKS * ROWS);
    assert_in_range(largest, CHUNKS * ROWS / PARTS, CHUNKS * ROWS / PARTS * 2);
    gr_frame_destroy(result);
    for (int i = 0; i < CHUNKS; i++) {
        gr_frame_destroy(chunks[i]);
    }
}

/* Most numbers lie between two pivots that are next to each other, some at the very ends. */
static void
numbers_far_apart_are_dealt_out_in_order(void **state)
{
    enum { ROWS = 400 };
    static const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -1, 0, INT64_MAX - 1, INT64_MAX};
    struct random random = {31};

    (void)state;
    for (int round = 0; round < 4; round++) {
        const char *descending = round % 2 == 0 ? "0" : "1";
        granary_frame *frame = gr_frame_create(1, ROWS);
        granary_frame *chunks[CHUNKS];
        granary_frame *plain;
        granary_frame *result;
        struct gr_column column;
        int64_t largest = 0;

        assert_non_null(frame);
        assert_int_equal(gr_column_alloc(GRANARY_INT64, ROWS, 0, false, &column), GRANARY_OK);
        for (int64_t row = 0; row < ROWS; row++) {
            ((int64_t *)(uintptr_t)column.view.values)[row] =
                random_below(&random, 4) < round ? ends[random_below(&random, 6)] : random_below(&random, 50);
        }
        assert_int_equal(gr_frame_set(frame, 0, "a", &column), GRANARY_OK);
        plain = sorted(frame, "a", descending, -1);
        cut_at_random(frame, &random, chunks);
        result = sorted_in_parallel(chunks, "a", descending, 20, &largest);
        assert_same_bytes(result, plain);
        gr_frame_destroy(result);
        for (int i = 0; i < CHUNKS; i++) {
            gr_frame_destroy(chunks[i]);
        }
        gr_frame_destroy(plain);
        gr_frame_destroy(frame);
    }
}

static void
several_frames_are_sorted_as_one(void **state)
{
    static const int64_t limits[] = {-1, 20};
    granary_frame *frame = frame_random(77, 700, true);
    struct random random = {5};

    (void)state;
    for (size_t j = 0; j < 2 * ORDERS; j++) {
        int64_t limit = limits[j % 2];
        granary_frame *want = sorted(frame, orders[j / 2].by, orders[j / 2].descending, limit);
        granary_frame *chunks[CHUNKS];
        granary_frame *result;
        struct kernel_test test;

        cut_at_random(frame, &random, chunks);
        call_order(&test, "sort", orders[j / 2].by, orders[j / 2].descending);
        if (limit >= 0) {
            kernel_test_attr(&test, gr_attr_new_int("limit", limit));
        }
        for (int i = 0; i < CHUNKS; i++) {
            kernel_test_frame(&test, chunks[i]);
        }
        result = kernel_test_to_frame(&test, run_sort);
        assert_same_bytes(result, want);
        gr_frame_destroy(result);
        for (int i = 0; i < CHUNKS; i++) {
            gr_frame_destroy(chunks[i]);
        }
        gr_frame_destroy(want);
    }
    gr_frame_destroy(frame);
}

static void
nulls_come_first_when_asked(void **state)
{
    granary_frame *frame = frame_text("f:float64,s:string", "nan,b\n1.5,\n,\"\"\n-inf,a\n2.5,\n");
    granary_frame *result;
    struct kernel_test test;

    (void)state;
    call_order(&test, "sort", "f", "1");
    kernel_test_bools(&test, "nulls_first", "1");
    kernel_test_frame(&test, frame);
    result = kernel_test_to_frame(&test, run_sort);
    assert_frame(result, "f,s\n,\"\"\nnan,b\n2.5,\n1.5,\n-inf,a\n");
    gr_frame_destroy(result);
    call_order(&test, "sort", "s,f", "00");
    kernel_test_bools(&test, "nulls_first", "10");
    kernel_test_frame(&test, frame);
    result = kernel_test_to_frame(&test, run_sort);
    assert_frame(result, "f,s\n1.5,\n2.5,\n,\"\"\n-inf,a\nnan,b\n");
    gr_frame_destroy(result);
    gr_frame_destroy(frame);
}

/* A column of one dtype out of random bytes, few or many different ones. */
static void
column_any(struct random *random, granary_dtype dtype, int64_t rows, struct gr_column *ret_column)
{
    size_t size = gr_dtype_size(dtype);
    bool few = random_below(random, 2) == 0;

    assert_int_equal(gr_column_alloc(dtype, rows, 0, true, ret_column), GRANARY_OK);
    for (int64_t i = 0; i < rows; i++) {
        uint64_t words[2] = {random_next(random), random_next(random)};

        if (few) {
            words[0] = (uint64_t)(random_below(random, 9) - 4);
            words[1] = (int64_t)words[0] < 0 ? UINT64_MAX : 0;
        }
        if (dtype == GRANARY_FLOAT32 || dtype == GRANARY_FLOAT64) {
            double x = few ? (double)(int64_t)words[0] : ((double)(int64_t)words[0]) / 3e14;
            float narrow = (float)x;

            memcpy((char *)(uintptr_t)ret_column->view.values + i * (int64_t)size,
                   size == 4 ? (const void *)&narrow : (const void *)&x, size);
        } else {
            memcpy((char *)(uintptr_t)ret_column->view.values + i * (int64_t)size, words, size);
        }
        if (random_below(random, 10) > 0) {
            gr_bit_set((uint8_t *)(uintptr_t)ret_column->view.validity, i);
        }
    }
    gr_column_finish(ret_column);
}

/* Every dtype packs as it compares: sort_rows() against sort_compare(), alone and as the first of two keys. */
static void
every_dtype_is_packed_as_it_compares(void **state)
{
    static const granary_dtype dtypes[] = {GRANARY_INT8,    GRANARY_INT16,     GRANARY_INT32,    GRANARY_INT64,
                                           GRANARY_UINT8,   GRANARY_UINT16,    GRANARY_UINT32,   GRANARY_UINT64,
                                           GRANARY_DATE,    GRANARY_TIMESTAMP, GRANARY_DURATION, GRANARY_FLOAT32,
                                           GRANARY_FLOAT64, GRANARY_DECIMAL(2)};
    enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };
    struct random random = {31};

    (void)state;
    for (size_t i = 0; i < 4 * DTYPES; i++) {
        int64_t rows = 1 + random_below(&random, 3000);
        struct gr_column columns[2];
        struct sort_key keys[2] = {
            {&columns[0].view, i / DTYPES % 2 == 1, random_below(&random, 2) == 0, random_below(&random, 2) == 0},
            {&columns[1].view, random_below(&random, 2) == 0, false, random_below(&random, 2) == 0}};
        int64_t *order;
        int64_t count;

        column_any(&random, dtypes[i % DTYPES], rows, &columns[0]);
        column_any(&random, dtypes[(size_t)random_below(&random, DTYPES)], rows, &columns[1]);
        for (size_t used = 1; used <= 2; used++) {
            assert_int_equal(sort_rows(keys, used, rows, SORT_NO_LIMIT, &order, &count), GRANARY_OK);
            assert_int_equal(count, rows);
            for (int64_t r = 1; r < rows; r++) {
                int difference = sort_compare(keys, order[r - 1], keys, order[r], used);

                assert_true(difference < 0 || (difference == 0 && order[r - 1] < order[r]));
            }
            free(order);
        }
        gr_column_free(&columns[0]);
        gr_column_free(&columns[1]);
    }
}

static int
compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* More than the cache holds, and few words, narrow and wide, skewed and equal. */
static void
numbers_are_sorted_as_by_qsort(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 25, 1000, 5000, 70000, 300000};
    struct random random = {12};

    (void)state;
    for (size_t i = 0; i < 6 * (sizeof sizes / sizeof sizes[0]); i++) {
        size_t n = sizes[i / 6];
        int64_t *values = malloc((n + 1) * sizeof *values);
        int64_t *want = malloc((n + 1) * sizeof *want);

        for (size_t k = 0; k < n; k++) {
            int64_t x = (int64_t)random_next(&random);

            switch (i % 6) {
            case 1:
                x %= 100;
                break;
            case 2:
                x = k == n / 2 ? INT64_MIN : x & 0xffff;
                break;
            case 3:
                x = (int64_t)k;
                break;
            case 4:
                x = x >> (x & 63);
                break;
            case 5:
                x = 7;
                break;
            default:
                break;
            }
            values[k] = want[k] = x;
        }
        qsort(want, n, sizeof *want, compare_int64);
        assert_int_equal(sort_int64(values, n, false), GRANARY_OK);
        assert_memory_equal(values, want, n * sizeof *want);
        assert_int_equal(sort_int64(values, n, true), GRANARY_OK);
        for (size_t k = 0; k < n; k++) {
            assert_true(values[k] == want[n - 1 - k]);
        }
        free(values);
        free(want);
    }
}

static void
floats_are_sorted_with_nan_last_and_zeros_as_they_came(void **state)
{
    double values[] = {3, NAN, -0.0, 0.0, -1, -0.0, INFINITY, -INFINITY, NAN};
    double plain[] = {2, -3, 1e300, -1e-300};

    (void)state;
    assert_int_equal(sort_float64(values, 9, false), GRANARY_OK);
    assert_true(values[0] == -INFINITY && values[1] == -1 && signbit(values[2]) && !signbit(values[3]) &&
                signbit(values[4]) && values[5] == 3 && isnan(values[7]) && isnan(values[8]));
    assert_int_equal(sort_float64(plain, 4, true), GRANARY_OK);
    assert_true(plain[0] == 1e300 && plain[1] == 2 && plain[2] == -1e-300 && plain[3] == -3);
}

static void
wrong_calls_are_answered(void **state)
{
    granary_frame *frame = frame_text("a:int64", "1\n2\n");
    granary_frame *texts = frame_text("a:string", "x\n");
    struct kernel_test test;

    (void)state;
    call_order(&test, "sort", "b", "0");
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_sort, GRANARY_ENOENT, "'b'");
    call_order(&test, "sort", "a", "010");
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_sort, GRANARY_EINVAL, "descending");
    call_order(&test, "sort", "a", "0");
    kernel_test_fails(&test, run_sort, GRANARY_EINVAL, "input 0");
    kernel_test_init(&test, "sort");
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_sort, GRANARY_EINVAL, "'by'");
    call_order(&test, "sort_split", "a", "0");
    kernel_test_attr(&test, gr_attr_new_int("parts", 2));
    kernel_test_attr(&test, gr_attr_new_int("chunk", 0));
    kernel_test_frame(&test, frame);
    kernel_test_frame(&test, texts);
    kernel_test_fails(&test, run_sort_split, GRANARY_ETYPE, "'a' is int64 in one chunk and string");
    call_order(&test, "sort", "a", "0");
    kernel_test_frame(&test, frame);
    kernel_test_frame(&test, texts);
    kernel_test_fails(&test, run_sort, GRANARY_ETYPE, "a");
    call_order(&test, "sort_sample", "a", "0");
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_sort_sample, GRANARY_EINVAL, "samples");
    call_order(&test, "sort_pivots", "a", "0");
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_sort_pivots, GRANARY_EINVAL, "parts");
    gr_frame_destroy(texts);
    gr_frame_destroy(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_in_order_and_stable),
        cmocka_unit_test(goldens),
        cmocka_unit_test(long_equal_strings_are_compared_to_the_end),
        cmocka_unit_test(limit_gives_the_first_rows),
        cmocka_unit_test(parallel_sort_equals_the_plain_one),
        cmocka_unit_test(a_key_that_repeats_is_spread_over_parts),
        cmocka_unit_test(numbers_far_apart_are_dealt_out_in_order),
        cmocka_unit_test(several_frames_are_sorted_as_one),
        cmocka_unit_test(nulls_come_first_when_asked),
        cmocka_unit_test(every_dtype_is_packed_as_it_compares),
        cmocka_unit_test(numbers_are_sorted_as_by_qsort),
        cmocka_unit_test(floats_are_sorted_with_nan_last_and_zeros_as_they_came),
        cmocka_unit_test(wrong_calls_are_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
