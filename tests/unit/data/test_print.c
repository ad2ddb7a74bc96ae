#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/format.h"
#include "data/print/print.h"
#include "frames.h"

static void
assert_printed(struct gr_buf *out, const char *want)
{
    assert_true(gr_buf_ok(out));
    assert_string_equal(out->bytes == NULL ? "" : out->bytes, want);
    gr_buf_free(out);
}

/* The shortest digits that read back; never to be mistaken for an integer. */
static void
floats_are_short_and_exact(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {3, "3.0"},
        {-0.0, "-0.0"},
        {1e15, "1e+15"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {5e-324, "4.94065645841247e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
        {143.894737, "143.894737"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        granary_column column = {.dtype = GRANARY_FLOAT64, .rows = 1, .values = &cases[i].value};
        struct gr_buf out = {0};

        gr_value_format(&column, 0, &out);
        assert_true(isnan(cases[i].value) || strtod(out.bytes, NULL) == cases[i].value);
        assert_printed(&out, cases[i].text);
    }
}

static void
single_floats_are_short(void **state)
{
    static const float values[] = {0.1f, 16777216.0f, 1.0f / 3};
    granary_column column = {.dtype = GRANARY_FLOAT32, .rows = 3, .values = values};
    struct gr_buf out = {0};

    (void)state;
    for (int64_t i = 0; i < 3; i++) {
        gr_value_format(&column, i, &out);
        gr_buf_add(&out, " ", 1);
    }
    assert_printed(&out, "0.1 16777216.0 0.33333334 ");
}

/* Whatever decimal point the process's locale has, one byte or more, a point is written. */
static void
the_locale_does_not_show(void **state)
{
    static const char *const cases[][2] = {{"1234,5", "1234.5"},
                                           {"-0,5e-07", "-0.5e-07"},
                                           {"1\xd9\xab"
                                            "5",
                                            "1.5"},
                                           {"1.5", "1.5"},
                                           {"12", "12"},
                                           {"1e+20", "1e+20"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[FORMAT_REAL_MAX];

        strcpy(text, cases[i][0]);
        format_point(text);
        assert_string_equal(text, cases[i][1]);
    }
}

static void
dates_and_times_are_iso(void **state)
{
    granary_frame *frame = frame_of_everything();

    (void)state;
    assert_string_equal(text_at(frame, "day", 0), "0001-01-01");
    assert_string_equal(text_at(frame, "day", 1), "1969-12-31");
    assert_string_equal(text_at(frame, "day", 2), "");
    assert_string_equal(text_at(frame, "day", 3), "1970-01-01");
    assert_string_equal(text_at(frame, "day", 4), "9999-12-31");
    assert_string_equal(text_at(frame, "at", 0), "1969-12-31T23:59:59.999999");
    assert_string_equal(text_at(frame, "at", 1), "1970-01-01T00:00:00");
    assert_string_equal(text_at(frame, "at", 3), "2020-01-01T00:00:00.123456");
    assert_string_equal(text_at(frame, "at", 4), "9999-12-31T23:59:59.999999");
    gr_frame_destroy(frame);
}

/* Every day of 1200 years follows the one before. */
static void
the_calendar_has_no_gaps(void **state)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 1200;
    int month = 1;
    int day = 1;

    (void)state;
    for (int32_t days = -281237; year < 2400; days++) {
        granary_column column = {.dtype = GRANARY_DATE, .rows = 1, .values = &days};
        struct gr_buf out = {0};
        struct gr_buf want = {0};
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

        gr_value_format(&column, 0, &out);
        gr_buf_addf(&want, "%04d-%02d-%02d", year, month, day);
        assert_string_equal(out.bytes, want.bytes);
        gr_buf_free(&out);
        gr_buf_free(&want);
        if (++day > lengths[month - 1] + (month == 2 && leap)) {
            day = 1;
            month = month == 12 ? 1 : month + 1;
            year += month == 1;
        }
    }
}

static granary_frame *
birds(void)
{
    static const char *const names[] = {"Wildlife Species", "n", "mean_speed", "日"};
    static const char *const species[] = {"Canada goose", "naïve", "日本", "a\nb\x1b[2J\xff"};
    static const char *const marks[] = {"x", "", "y", "z"};
    static const int64_t n[] = {190, 7, 0, -12};
    static const double speed[] = {143.894737, 3, 1e-7, 2.5e20};
    struct gr_column columns[] = {texts(species, NULL, 4), ints(n, "1101", 4), reals(speed, NULL, 4),
                                  texts(marks, "1011", 4)};

    return frame_of(4, names, columns);
}

/* A string that reads NULL is in quotes, and one that has those already in more: nothing else prints as a null. */
static void
a_null_is_no_string(void **state)
{
    static const char *const values[] = {"NULL", "\"NULL\"", "null", "-", ""};
    static const char *const names[] = {"s"};
    struct gr_column columns[] = {texts(values, "01111", 5)};
    granary_frame *frame = frame_of(1, names, columns);
    struct gr_buf out = {0};

    (void)state;
    gr_print_table(frame, 0, &out);
    assert_printed(&out, "s\nNULL\n\"\"NULL\"\"\nnull\n-\n\n");
    columns[0] = texts(values, NULL, 1);
    gr_frame_destroy(frame);
    frame = frame_of(1, names, columns);
    gr_print_table(frame, 0, &out);
    assert_printed(&out, "s\n\"NULL\"\n");
    gr_buf_free(&out);
    gr_frame_destroy(frame);
}

static void
tables_are_aligned(void **state)
{
    granary_frame *frame = birds();
    struct gr_buf out = {0};

    (void)state;
    gr_print_table(frame, 0, &out);
    assert_printed(&out, "Wildlife Species     n  mean_speed  日\n"
                         "Canada goose       190  143.894737  x\n"
                         "naïve                7         3.0  NULL\n"
                         "日本              NULL       1e-07  y\n"
                         "a\\nb\\x1b[2J\\xff    -12     2.5e+20  z\n");
    gr_print_table(frame, 4, &out);
    assert_null(strstr(out.bytes, "rows x"));
    gr_buf_free(&out);
    gr_frame_destroy(frame);
}

static void
boxes_have_borders(void **state)
{
    const struct gr_box_style style = {.null_value = "-"};
    const struct gr_box_style short_style = {.null_value = "-", .max_rows = 2};
    const struct gr_box_style markdown = {.null_value = "NULL", .markdown = true};
    static const char *const names[] = {"a|b"};
    static const char *const values[] = {"x|y", "z"};
    struct gr_column columns[] = {texts(values, NULL, 2)};
    granary_frame *frame = birds();
    struct gr_buf out = {0};

    (void)state;
    gr_print_box(frame, 4, &style, &out);
    assert_printed(&out, "┌──────────────────┬───────┬────────────┬────────┐\n"
                         "│ Wildlife Species │   n   │ mean_speed │   日   │\n"
                         "│      string      │ int64 │  float64   │ string │\n"
                         "├──────────────────┼───────┼────────────┼────────┤\n"
                         "│ Canada goose     │   190 │ 143.894737 │ x      │\n"
                         "│ naïve            │     7 │        3.0 │ -      │\n"
                         "│ 日本             │     - │      1e-07 │ y      │\n"
                         "│ a\\nb\\x1b[2J\\xff  │   -12 │    2.5e+20 │ z      │\n"
                         "└──────────────────┴───────┴────────────┴────────┘\n");
    gr_print_box(frame, 4, &short_style, &out);
    assert_non_null(strstr(out.bytes, "│        ·         │   ·   │     ·      │   ·    │\n"));
    assert_non_null(strstr(out.bytes, "4 rows (2 shown), 4 columns\n"));
    gr_buf_free(&out);
    gr_frame_destroy(frame);
    frame = frame_of(1, names, columns);
    gr_print_box(frame, 2, &markdown, &out);
    assert_printed(&out, "| a\\|b |\n|:-----|\n| x\\|y |\n| z    |\n");
    gr_buf_free(&out);
    gr_frame_destroy(frame);
}

/* No line is wider than the terminal, as long as a column can be seen at all. */
static void
boxes_fit_their_width(void **state)
{
    granary_frame *frame = birds();

    (void)state;
    for (int width = 9; width < 60; width++) {
        const struct gr_box_style style = {.null_value = "NULL", .width = width};
        struct gr_buf out = {0};
        int used = 0;

        gr_print_box(frame, 4, &style, &out);
        for (size_t i = 0; i < out.size; i++) {
            const bool wide = (unsigned char)out.bytes[i] == 0xe6; /* of the two characters that are */

            used = out.bytes[i] == '\n' ? 0 : used + (((unsigned char)out.bytes[i] & 0xc0) != 0x80) + wide;
            assert_true(used <= width || strncmp(out.bytes + i - used + 1, "4 rows", 6) == 0);
        }
        assert_true(width >= 50 || strstr(out.bytes, "…") != NULL);
        gr_buf_free(&out);
    }
    gr_frame_destroy(frame);
}

static void
lines_have_a_value_each(void **state)
{
    granary_frame *frame = birds();
    struct gr_buf out = {0};

    (void)state;
    gr_print_lines(frame, "nothing", &out);
    assert_non_null(strstr(out.bytes, "Wildlife Species = naïve\n               n = 7\n      mean_speed = 3.0\n"
                                      "              日 = nothing\n\nWild"));
    gr_buf_free(&out);
    gr_frame_destroy(frame);
}

static void
long_tables_show_both_ends(void **state)
{
    static const char *const names[] = {"i"};
    int64_t numbers[100];
    struct gr_column column;
    granary_frame *frame;
    struct gr_buf out = {0};

    (void)state;
    for (int64_t i = 0; i < 100; i++) {
        numbers[i] = i;
    }
    column = ints(numbers, NULL, 100);
    frame = frame_of(1, names, &column);
    gr_print_table(frame, 5, &out);
    assert_printed(&out, "  i\n  0\n  1\n  2\n...\n 98\n 99\n100 rows x 1 columns\n");
    gr_print_table(frame, 1, &out);
    assert_printed(&out, "  i\n  0\n...\n100 rows x 1 columns\n");
    gr_print_table_ends(frame, 1000, 5, &out); /* of a longer one */
    assert_printed(&out, "  i\n  0\n  1\n  2\n...\n 98\n 99\n1000 rows x 1 columns\n");
    gr_frame_destroy(frame);
}

static void
csv_quotes_what_needs_it(void **state)
{
    static const char *const names[] = {"a,b", "plain", "q\"q"};
    static const char *const words[] = {"x,y", "say \"hi\"", "two\nlines", "", "null"};
    static const double numbers[] = {1, 0.1, NAN, -0.5, 0};
    struct gr_column columns[] = {texts(words, "11110", 5), reals(numbers, "11110", 5), bools("10101", NULL, 5)};
    granary_frame *frame = frame_of(3, names, columns);
    struct gr_buf out = {0};

    (void)state;
    gr_print_csv(frame, &out);
    assert_printed(&out, "\"a,b\",plain,\"q\"\"q\"\n"
                         "\"x,y\",1.0,true\n"
                         "\"say \"\"hi\"\"\",0.1,false\n"
                         "\"two\nlines\",nan,true\n"
                         "\"\",-0.5,false\n"
                         ",,true\n");
    gr_frame_destroy(frame);
}

static void
json_is_typed(void **state)
{
    static const char *const names[] = {"s\n", "x", "d"};
    static const char *const words[] = {"\"\\\x01", "\xc3(", "é"};
    static const double numbers[] = {INFINITY, 1.5, NAN};
    static const int64_t days[] = {0, 1, 2};
    struct gr_column columns[] = {texts(words, NULL, 3), reals(numbers, NULL, 3), others(GRANARY_DATE, days, "101", 3)};
    granary_frame *frame = frame_of(3, names, columns);
    granary_frame *none = frame_of(0, NULL, NULL);
    struct gr_buf out = {0};

    (void)state;
    gr_print_json(frame, &out);
    assert_printed(&out, "[{\"s\\n\":\"\\\"\\\\\\u0001\",\"x\":\"Infinity\",\"d\":\"1970-01-01\"},\n"
                         "{\"s\\n\":\"\xef\xbf\xbd(\",\"x\":1.5,\"d\":null},\n"
                         "{\"s\\n\":\"é\",\"x\":\"NaN\",\"d\":\"1970-01-03\"}]\n");
    gr_print_json(none, &out);
    assert_printed(&out, "[]\n");
    gr_print_csv(none, &out);
    assert_printed(&out, "\n");
    gr_print_table(none, 0, &out);
    assert_printed(&out, "0 rows x 0 columns\n");
    gr_frame_destroy(none);
    gr_frame_destroy(frame);
}

static void
tensors_are_nested_brackets(void **state)
{
    static const double values[] = {1, 2.5, -3, 4, 5, 6, 7, 8};
    static const uint8_t flags[] = {1, 0};
    granary_tensor cube = {.dtype = GRANARY_FLOAT64, .dims = 3, .shape = {2, 2, 2}, .values = values};
    granary_tensor scalar = {.dtype = GRANARY_FLOAT64, .dims = 0, .values = values};
    granary_tensor empty = {.dtype = GRANARY_FLOAT64, .dims = 2, .shape = {1000000000000, 0}, .values = values};
    granary_tensor pair = {.dtype = GRANARY_BOOL, .dims = 1, .shape = {2}, .values = flags};
    struct gr_buf out = {0};

    (void)state;
    gr_print_tensor(&cube, 0, &out);
    assert_printed(&out, "[[[ 1.0  2.5]\n  [-3.0  4.0]]\n\n [[ 5.0  6.0]\n  [ 7.0  8.0]]]\n");
    gr_print_tensor(&scalar, 0, &out);
    assert_printed(&out, "1.0\n");
    gr_print_tensor(&empty, 0, &out);
    assert_printed(&out, "[]\n");
    gr_print_tensor_json(&cube, &out);
    assert_printed(
        &out, "{\"dtype\":\"float64\",\"shape\":[2,2,2],\"values\":[[[1.0,2.5],[-3.0,4.0]],[[5.0,6.0],[7.0,8.0]]]}\n");
    gr_print_tensor_json(&scalar, &out);
    assert_printed(&out, "{\"dtype\":\"float64\",\"shape\":[],\"values\":1.0}\n");
    gr_print_tensor_json(&empty, &out);
    assert_printed(&out, "{\"dtype\":\"float64\",\"shape\":[1000000000000,0],\"values\":[]}\n");
    gr_print_tensor_json(&pair, &out);
    assert_printed(&out, "{\"dtype\":\"bool\",\"shape\":[2],\"values\":[true,false]}\n");
}

static void
large_tensors_show_their_corners(void **state)
{
    int64_t values[2000];
    granary_tensor line = {.dtype = GRANARY_INT64, .dims = 1, .shape = {2000}, .values = values};
    granary_tensor wide = {.dtype = GRANARY_INT64, .dims = 2, .shape = {2, 1000}, .values = values};
    struct gr_buf out = {0};

    (void)state;
    for (int64_t i = 0; i < 2000; i++) {
        values[i] = i;
    }
    gr_print_tensor(&line, 1000, &out);
    assert_printed(&out, "[   0    1    2 ... 1997 1998 1999]\n");
    gr_print_tensor(&wide, 1000, &out);
    assert_printed(&out, "[[   0    1    2 ...  997  998  999]\n [1000 1001 1002 ... 1997 1998 1999]]\n");
}

/* What is written the fast way is what the shortest of all lengths that reads back would be. */
static void
reals_are_written_as_short_as_they_can_be(void **state)
{
    static const double scales[] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e9, 0.001};

    (void)state;
    srandom(5);
    for (int i = 0; i < 100000; i++) {
        double number = (double)(random() % 2000000000 - 1000000000) / scales[i % 10];
        struct gr_buf out = {0};
        char want[64];

        number = i % 17 == 0 ? number * (double)random() : number;
        for (int digits = 15; digits <= 17; digits++) {
            (void)snprintf(want, sizeof want, "%.*g", digits, number);
            if (strtod(want, NULL) == number) {
                break;
            }
        }
        if (strpbrk(want, ".e") == NULL) {
            (void)strcat(want, ".0");
        }
        format_real(number, false, &out);
        assert_string_equal(out.bytes, want);
        gr_buf_free(&out);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reals_are_written_as_short_as_they_can_be),
        cmocka_unit_test(floats_are_short_and_exact),
        cmocka_unit_test(single_floats_are_short),
        cmocka_unit_test(the_locale_does_not_show),
        cmocka_unit_test(dates_and_times_are_iso),
        cmocka_unit_test(the_calendar_has_no_gaps),
        cmocka_unit_test(tables_are_aligned),
        cmocka_unit_test(a_null_is_no_string),
        cmocka_unit_test(boxes_have_borders),
        cmocka_unit_test(boxes_fit_their_width),
        cmocka_unit_test(lines_have_a_value_each),
        cmocka_unit_test(long_tables_show_both_ends),
        cmocka_unit_test(csv_quotes_what_needs_it),
        cmocka_unit_test(json_is_typed),
        cmocka_unit_test(tensors_are_nested_brackets),
        cmocka_unit_test(large_tensors_show_their_corners),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
