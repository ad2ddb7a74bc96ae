/* Tables of groups: sums in the halves of words, and dictionaries that are left out. */
#include "contract/int128.h"
#include "frame_tools.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
call_groupby(struct kernel_test *test, const char *op, const char *key, const char *aggregates)
{
    kernel_test_init(test, op);
    kernel_test_strings(test, "keys", key);
    kernel_test_map(test, "aggregate", aggregates);
}

static struct gr_column
column_of_ints(int64_t rows)
{
    struct gr_column column;

    assert_int_equal(gr_column_alloc(GRANARY_INT64, rows, 0, false, &column), GRANARY_OK);
    return column;
}

static int64_t *
ints_of(const granary_frame *frame, const char *name)
{
    return (int64_t *)(uintptr_t)frame->columns[gr_frame_find(frame, name)].view.values;
}

/* ---- small sums ---- */

enum { ROWS = 300000, LARGE_EVERY = 1000 };

/* v stays a small sum until its half of a word is full; w is large now and then. */
static granary_frame *
frame_of_sums(int64_t groups)
{
    granary_frame *frame = gr_frame_create(3, ROWS);
    static const char *const names[] = {"k", "v", "w"};

    for (size_t c = 0; c < 3; c++) {
        struct gr_column column = column_of_ints(ROWS);

        assert_int_equal(gr_frame_set(frame, c, names[c], &column), GRANARY_OK);
    }
    for (int64_t i = 0; i < ROWS; i++) {
        ints_of(frame, "k")[i] = i % groups;
        ints_of(frame, "v")[i] = i % groups == 0 ? -8191 : 8000 + i % 190;
        ints_of(frame, "w")[i] = i % LARGE_EVERY == 0 ? (int64_t)1 << 62 : i % 7 - 3;
    }
    return frame;
}

static void
small_sums_become_large(void **state)
{
    static const char aggregates[] = "n=size;v=sum(v);m=mean(w);c=var(v)";

    (void)state;
    for (int64_t groups = 3; groups <= 1003; groups += 1000) { /* with copies of the words, and without */
        granary_frame *frame = frame_of_sums(groups);
        granary_frame *result;
        struct kernel_test test;
        struct gr_value table;

        call_groupby(&test, "groupby_map", "k", aggregates);
        kernel_test_frame(&test, frame);
        assert_int_equal(kernel_test_run(&test, run_groupby_map), GRANARY_OK);
        table = test.outputs[0];
        test.outputs[0] = (struct gr_value){0};
        kernel_test_fini(&test);
        call_groupby(&test, "groupby_final", "k", aggregates);
        kernel_test_bytes(&test, &table);
        result = kernel_test_to_frame(&test, run_groupby_final);
        assert_int_equal(result->rows, groups);
        for (int64_t g = 0; g < groups; g++) {
            int64_t n = 0;
            int64_t v = 0;
            gr_int128 w = 0;
            gr_int128 squares = 0;
            double variance;

            for (int64_t i = g; i < ROWS; i += groups) {
                int64_t x = ints_of(frame, "v")[i];

                n++;
                v += x;
                w += ints_of(frame, "w")[i];
                squares += x * x;
            }
            variance = (double)(squares * n - (gr_int128)v * v) / (double)n / (double)(n - 1);
            assert_int_equal(ints_of(result, "n")[g], n);
            assert_int_equal(ints_of(result, "v")[g], v);
            assert_true(fabs(((double *)ints_of(result, "m"))[g] - (double)w / (double)n) <=
                        fabs((double)w / (double)n) * 1e-15);
            assert_true(fabs(((double *)ints_of(result, "c"))[g] - variance) <= variance * 1e-12);
        }
        gr_value_free(&table);
        gr_frame_destroy(result);
        gr_frame_destroy(frame);
    }
}

/* ---- dictionaries ---- */

enum { TEXTS = 500, PIECES = 3, PARTS = 2 };

/* Rows [from, from + rows) of a table whose strings have one dictionary; first: the number of its first entry. */
static granary_frame *
frame_of_texts(int64_t from, int64_t rows, int first)
{
    granary_frame *frame = gr_frame_create(2, rows);
    struct gr_column values = column_of_ints(rows);
    struct gr_dictionary *dictionary;
    struct gr_column entries;
    struct gr_column codes;
    int32_t at = 0;

    assert_int_equal(gr_column_alloc(GRANARY_STRING, TEXTS, TEXTS * 5, false, &entries), GRANARY_OK);
    for (int t = 0; t < TEXTS; t++) {
        char text[16];
        int size = snprintf(text, sizeof text, "t%d", t + first);

        memcpy((char *)(uintptr_t)entries.view.values + at, text, (size_t)size);
        at += size;
        ((int32_t *)(uintptr_t)entries.view.offsets)[t + 1] = at;
    }
    gr_column_finish(&entries);
    assert_int_equal(gr_dictionary_create(&entries, &dictionary), GRANARY_OK);
    assert_int_equal(gr_column_alloc(GRANARY_INT32, rows, 0, true, &codes), GRANARY_OK);
    for (int64_t i = 0; i < rows; i++) {
        ((int32_t *)(uintptr_t)codes.view.values)[i] = (int32_t)((from + i) * 7 % TEXTS);
        ((int64_t *)(uintptr_t)values.view.values)[i] = from + i;
        if ((from + i) % 50 != 0) {
            gr_bit_set((uint8_t *)(uintptr_t)codes.view.validity, i);
        }
    }
    gr_column_finish(&codes);
    gr_column_set_dictionary(&codes, dictionary);
    assert_int_equal(gr_frame_set(frame, 0, "k", &codes), GRANARY_OK);
    assert_int_equal(gr_frame_set(frame, 1, "v", &values), GRANARY_OK);
    return frame;
}

struct tables {
    struct gr_value of[PARTS][PIECES];
};

static const char of_texts[] = "s=sum(v);m=median(v);l=last(v)";

/* Each of the pieces; reference NULL: dictionaries are written. Returns how many bytes there are. */
static uint64_t
make_tables(granary_frame *const *pieces, const granary_frame *reference, struct tables *tables)
{
    uint64_t bytes = 0;

    for (int i = 0; i < PIECES; i++) {
        struct kernel_test test;

        call_groupby(&test, "groupby_map", "k", of_texts);
        kernel_test_attr(&test, gr_attr_new_int("parts", PARTS));
        kernel_test_attr(&test, gr_attr_new_bool("dropna", false));
        if (reference != NULL) {
            kernel_test_attr(&test, gr_attr_new_bool("reference", true));
            kernel_test_frame(&test, reference);
        }
        kernel_test_frame(&test, pieces[i]);
        test.output_count = PARTS;
        assert_int_equal(kernel_test_run(&test, run_groupby_map), GRANARY_OK);
        for (int p = 0; p < PARTS; p++) {
            tables->of[p][i] = test.outputs[p];
            test.outputs[p] = (struct gr_value){0};
            bytes += tables->of[p][i].bytes_size;
        }
        kernel_test_fini(&test);
    }
    return bytes;
}

static void
call_final(struct kernel_test *test, const struct tables *tables, int p, const granary_frame *reference)
{
    call_groupby(test, "groupby_final", "k", of_texts);
    kernel_test_attr(test, gr_attr_new_bool("dropna", false));
    kernel_test_attr(test, gr_attr_new_bool("sort", false));
    if (reference != NULL) {
        kernel_test_attr(test, gr_attr_new_bool("reference", true));
        kernel_test_frame(test, reference);
    }
    for (int i = 0; i < PIECES; i++) {
        kernel_test_bytes(test, &tables->of[p][i]);
    }
}

static void
free_tables(struct tables *tables)
{
    for (int p = 0; p < PARTS; p++) {
        for (int i = 0; i < PIECES; i++) {
            gr_value_free(&tables->of[p][i]);
        }
    }
}

/* other: the last piece has another dictionary than the reference. */
static void
check_reference(bool other)
{
    granary_frame *pieces[PIECES];
    struct tables plain;
    struct tables referred;
    struct kernel_test test;

    for (int i = 0; i < PIECES; i++) {
        pieces[i] = frame_of_texts(i * 1000, 1000, other && i == PIECES - 1 ? 100 : 0);
    }
    assert_true(make_tables(pieces, pieces[0], &referred) + 1000 < make_tables(pieces, NULL, &plain));
    for (int p = 0; p < PARTS; p++) {
        granary_frame *a;
        granary_frame *b;

        call_final(&test, &plain, p, NULL);
        a = kernel_test_to_frame(&test, run_groupby_final);
        call_final(&test, &referred, p, pieces[0]);
        b = kernel_test_to_frame(&test, run_groupby_final);
        assert_same_bytes(a, b);
        gr_frame_destroy(a);
        gr_frame_destroy(b);
    }
    call_final(&test, &referred, 0, NULL);
    kernel_test_fails(&test, run_groupby_final, GRANARY_ECORRUPT, "a dictionary is missing");
    free_tables(&plain);
    free_tables(&referred);
    for (int i = 0; i < PIECES; i++) {
        gr_frame_destroy(pieces[i]);
    }
}

static void
dictionaries_are_left_out(void **state)
{
    (void)state;
    check_reference(false);
    check_reference(true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_sums_become_large),
        cmocka_unit_test(dictionaries_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
