/* Plots for a terminal: what a few rows look like, and that no rows and no width break them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/text.h"
#include "data/print/print.h"
#include "data/value/utf8.h"
#include "frames.h"

static const struct gr_plot_style bars = {.kind = GR_PLOT_BAR, .width = 30, .null_value = "NULL"};

/* The frame's plot, which is the caller's; takes the frame. */
static char *
plot(granary_frame *frame, const struct gr_plot_style *style)
{
    struct gr_buf out = {0};

    assert_int_equal(gr_print_plot(frame, style, &out), GRANARY_OK);
    gr_frame_destroy(frame);
    return gr_buf_take(&out);
}

static void
assert_plot(granary_frame *frame, const struct gr_plot_style *style, const char *want)
{
    char *text = plot(frame, style);

    assert_string_equal(text, want);
    free(text);
}

static granary_frame *
labelled(const char *const *labels, struct gr_column values, int64_t rows)
{
    static const char *const names[] = {"label", "value"};
    struct gr_column columns[] = {texts(labels, NULL, rows), values};

    return frame_of(2, names, columns);
}

/* A terminal's columns of the longest line. */
static int
widest(const char *text)
{
    int most = 0, now = 0;

    for (size_t at = 0, size = strlen(text); at < size;) {
        uint32_t character = 0;
        size_t length = gr_utf8_decode(text + at, size - at, &character);

        assert_true(length > 0);
        at += length;
        now = character == '\n' ? 0 : now + utf8_width(character);
        most = now > most ? now : most;
    }
    return most;
}

static void
bars_are_drawn(void **state)
{
    static const char *const labels[] = {"a", "bb", "ccc"};
    static const int64_t values[] = {19, 0, 8};
    static const double signed_values[] = {1, -1, 0.5};
    const struct gr_plot_style plain = {.kind = GR_PLOT_BAR, .width = 30, .ascii = true};

    (void)state;
    /* 30 less 3 and 2 for labels and values, and 3 around: 22 cells, of 19 then; a value of 8 has 9 and 2 eighths */
    assert_plot(labelled(labels, ints(values, "101", 3), 3), &bars,
                "a   │████████████████████ 19\n"
                "bb  │ NULL\n"
                "ccc │████████▍ 8\n");
    assert_plot(labelled(labels, reals(signed_values, NULL, 3), 3), &plain,
                "a   |          ########## 1.0\n"
                "bb  |########## -1.0\n"
                "ccc |          ##### 0.5\n");
}

static void
rows_are_counted(void **state)
{
    static const int64_t values[] = {1, 2, 3};
    static const char *const names[] = {"n"};
    struct gr_column columns[] = {ints(values, NULL, 3)};
    const struct gr_plot_style style = {.kind = GR_PLOT_BAR, .width = 24, .max_rows = 2, .ascii = true};

    (void)state;
    assert_plot(frame_of(1, names, columns), &style, "1 |########## 1\n2 |################### 2\n1 rows more\n");
}

static void
bins_are_counted(void **state)
{
    static const int64_t values[] = {1, 1, 3, 7};
    static const char *const names[] = {"n"};
    const struct gr_plot_style style = {.kind = GR_PLOT_HIST, .width = 24, .ascii = true};
    struct gr_column few[] = {ints(values, "1110", 4)};
    struct gr_column none[] = {ints(values, "0000", 4)};

    (void)state;
    assert_plot(frame_of(1, names, few), &style,
                "n\n1 |################### 2\n2 | 0\n3 |########## 1\n1 without a number\n");
    assert_plot(frame_of(1, names, none), &style, "n\nno numbers\n");
}

/* Bins begin and end at round numbers, and a sum that is zero but for its last bits is 0. */
static void
bins_are_round(void **state)
{
    static const double values[] = {-0.99, -0.31, 0.02, 0.99};
    static const char *const names[] = {"x"};
    const struct gr_plot_style style = {.kind = GR_PLOT_HIST, .width = 40, .ascii = true};
    struct gr_column columns[] = {reals(values, NULL, 4)};

    (void)state;
    assert_plot(frame_of(1, names, columns), &style,
                "x\n-1.0 to -0.5 |######################## 1\n-0.5 to 0.0  |######################## 1\n"
                "0.0 to 0.5   |######################## 1\n0.5 to 1.0   |######################## 1\n");
}

/* One that is cut tells so: two that begin alike are not taken for the same. */
static void
long_labels_are_cut(void **state)
{
    static const char *const labels[] = {"a label that is long"};
    static const int64_t values[] = {1};
    static const char *const names[] = {"a", "b"};
    const struct gr_plot_style style = {.kind = GR_PLOT_BAR, .width = 24, .ascii = true};
    struct gr_column columns[] = {texts(labels, NULL, 1), ints(values, NULL, 1)};

    (void)state;
    assert_plot(frame_of(2, names, columns), &style, "a label~ |############ 1\n");
}

/* Numbers as large as there are, one value, none: something is drawn, no wider than it may be, in every way. */
static void
odd_numbers_are_drawn(void **state)
{
    static const double huge[] = {1.7e308, -1.7e308, NAN, INFINITY, 5e-324};
    static const double same[] = {3, 3};
    static const char *const names[] = {"x", "y", "z"};

    (void)state;
    for (int kind = GR_PLOT_BAR; kind <= GR_PLOT_HIST; kind++) {
        for (int ascii = 0; ascii < 2; ascii++) {
            for (size_t count = 1; count <= 3; count++) { /* columns */
                const struct gr_plot_style style = {
                    .kind = (enum gr_plot)kind, .width = 50, .ascii = ascii != 0, .null_value = "NULL"};
                struct gr_column wide[3], flat[3];
                char *text;

                for (size_t c = 0; c < count; c++) {
                    wide[c] = reals(huge, c == 1 ? "11011" : NULL, 5);
                    flat[c] = reals(same, NULL, 2);
                }
                text = plot(frame_of(count, names, wide), &style);
                assert_in_range(widest(text), 10, 50);
                free(text);
                text = plot(frame_of(count, names, flat), &style);
                assert_in_range(widest(text), 3, 50);
                free(text);
            }
        }
    }
}

static void
lines_go_from_end_to_end(void **state)
{
    static const double values[] = {0, 1, 2, 3};
    static const char *const names[] = {"y"};
    struct gr_column columns[] = {reals(values, NULL, 4)};
    const struct gr_plot_style style = {.kind = GR_PLOT_LINE, .width = 40, .ascii = true};
    char *text = plot(frame_of(1, names, columns), &style);
    char *first = strchr(text, '*'), *last = strrchr(text, '*');

    (void)state;
    assert_non_null(first);
    assert_true(strncmp(text, "3.0 |", 5) == 0 &&
                first[strspn(first, "*")] == '\n'); /* the last value: right, at the top */
    assert_non_null(strstr(text, "0.0 |*"));        /* the first one: left, below */
    assert_true(last > first);
    assert_int_equal(widest(text), 39);
    free(text);
}

static void
what_cannot_be_drawn_is_refused(void **state)
{
    static const char *const labels[] = {"a"};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static const int64_t one[] = {1};
    struct gr_column two[] = {texts(labels, NULL, 1), texts(labels, NULL, 1)};
    struct gr_column eight[8];
    granary_frame *frame = frame_of(2, names, two);
    struct gr_plot_style style = bars;
    struct gr_buf out = {0};

    (void)state;
    assert_int_equal(gr_print_plot(frame, &style, &out), GRANARY_ETYPE);
    assert_non_null(strstr(granary_error_message(), "'b' is string"));
    gr_frame_destroy(frame);
    for (int i = 0; i < 8; i++) {
        eight[i] = ints(one, NULL, 1);
    }
    frame = frame_of(8, names, eight);
    style.kind = GR_PLOT_LINE;
    assert_int_equal(gr_print_plot(frame, &style, &out), GRANARY_EINVAL);
    gr_frame_destroy(frame);
    assert_int_equal(out.size, 0);
    assert_plot(labelled(labels, ints(one, NULL, 0), 0), &bars, "no rows\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_are_drawn),           cmocka_unit_test(rows_are_counted),
        cmocka_unit_test(bins_are_counted),         cmocka_unit_test(bins_are_round),
        cmocka_unit_test(long_labels_are_cut),      cmocka_unit_test(odd_numbers_are_drawn),
        cmocka_unit_test(lines_go_from_end_to_end), cmocka_unit_test(what_cannot_be_drawn_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
