/* Zone maps: a piece is left out only when none of its rows fulfils the condition, and when that shows it is left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "tile/core/measured.h"
#include "tile/source/zone.h"

/* A frame with the columns i (int64), f (float64), s (string), d (date), m (decimal(2)). */
struct piece {
    struct gr_schema schema;
    Granary__ColumnInfo columns[5];
    Granary__ColumnInfo *pointers[5];
    Granary__FrameInfo info;
};

static void
set(Granary__ColumnInfo *column, union gr_bound min, union gr_bound max)
{
    column->zone = true;
    memcpy(&column->min, &min, sizeof min);
    memcpy(&column->max, &max, sizeof max);
}

static void
piece_open(struct piece *piece, int64_t least, int64_t most)
{
    static const struct {
        const char *name;
        granary_dtype dtype;
    } columns[] = {{"i", GRANARY_INT64},
                   {"f", GRANARY_FLOAT64},
                   {"s", GRANARY_STRING},
                   {"d", GRANARY_DATE},
                   {"m", GRANARY_DECIMAL(2)}};
    union gr_bound text[2] = {{.text = "berlin"}, {.text = "zuerich"}};

    *piece = (struct piece){.info = GRANARY__FRAME_INFO__INIT};
    for (size_t c = 0; c < 5; c++) {
        assert_int_equal(gr_schema_add(&piece->schema, columns[c].name, columns[c].dtype), GRANARY_OK);
        granary__column_info__init(&piece->columns[c]);
        piece->columns[c].dtype = (uint32_t)columns[c].dtype;
        piece->pointers[c] = &piece->columns[c];
    }
    set(&piece->columns[0], (union gr_bound){.integer = least}, (union gr_bound){.integer = most});
    set(&piece->columns[1], (union gr_bound){.real = (double)least}, (union gr_bound){.real = (double)most});
    set(&piece->columns[2], text[0], text[1]);
    set(&piece->columns[3], (union gr_bound){.integer = least}, (union gr_bound){.integer = most});
    set(&piece->columns[4], (union gr_bound){.real = 100.0 * (double)least},
        (union gr_bound){.real = 100.0 * (double)most});
    piece->info.rows = 10;
    piece->info.columns = piece->pointers;
    piece->info.n_columns = 5;
}

static bool
excludes(const struct piece *piece, const char *where)
{
    struct zone_test *test = NULL;
    struct gr_expr *expr = NULL;
    bool excluded;

    if (gr_expr_parse(where, &expr) != GRANARY_OK || zone_test_create(expr, &piece->schema, &test) != GRANARY_OK) {
        fail_msg("%s: %s", where, granary_error_message());
    }
    gr_expr_destroy(expr);
    excluded = zone_test_excludes(test, &piece->info);
    zone_test_destroy(test);
    return excluded;
}

static void
comparisons_are_those_of_all_values_between(void **state)
{
    static const char *const ops[] = {"=", "<", "<=", ">", ">=", "!="};
    struct piece piece;

    (void)state;
    piece_open(&piece, 3, 6);
    for (int value = 0; value < 10; value++) {
        for (int op = 0; op < 6; op++) {
            bool any = false;
            char text[64];

            for (int v = 3; v <= 6; v++) {
                const bool fulfils[] = {v == value, v<value, v <= value, v> value, v >= value, v != value};

                any = any || fulfils[op];
            }
            (void)snprintf(text, sizeof text, "i %s %d", ops[op], value);
            assert_int_equal(excludes(&piece, text), !any);
            (void)snprintf(text, sizeof text, "f %s %d", ops[op], value);
            assert_int_equal(excludes(&piece, text), !any);
            (void)snprintf(text, sizeof text, "d %s date '1970-01-%02d'", ops[op], value + 1);
            assert_int_equal(excludes(&piece, text), !any);
            (void)snprintf(text, sizeof text, "%d %s i", value,
                           op == 0 || op == 5 ? ops[op] : ops[op <= 2 ? op + 2 : op - 2]);
            assert_int_equal(excludes(&piece, text), !any);
        }
    }
    gr_schema_free(&piece.schema);
}

static void
conditions_are_taken_apart(void **state)
{
    static const struct {
        const char *where;
        bool excluded;
    } cases[] = {
        {"i > 1 and i > 100", true},
        {"i > 1 or i > 100", false},
        {"i > 6.5", true},
        {"i >= 6.0", false},
        {"i < 3.5", false},
        {"i in (1, 2, 9)", true},
        {"i in (1, 4)", false},
        {"i not in (4)", false},
        {"i between 7 and 9", true},
        {"i + 1 > 100", false},
        {"i is null", true},
        {"i is not null", false},
        {"s = 'aachen'", true},
        {"s = 'bern'", false},
        {"s = 'zzz'", true},
        {"s in ('aa', 'ab')", true},
        {"s = 'zuerich-nord'", true},
        {"s < 'a'", false},
        {"i > 100 and f > i", true},
        {"f > 100 or i > 100", false},
        {"d < date '1969-01-01'", true},
        {"m >= 7", true},
        {"m > 5.125", false}, /* in other units than the bounds */
        {"m in (5.125, 0.001)", false},
    };
    struct piece piece;

    (void)state;
    piece_open(&piece, 3, 6);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (excludes(&piece, cases[i].where) != cases[i].excluded) {
            fail_msg("'%s' is %s", cases[i].where, cases[i].excluded ? "not excluded" : "excluded");
        }
    }
    gr_schema_free(&piece.schema);
}

static void
what_is_not_known_is_not_left_out(void **state)
{
    struct piece piece;

    (void)state;
    piece_open(&piece, 3, 6);
    piece.columns[0].zone = false;
    assert_false(excludes(&piece, "i > 100"));
    piece.columns[1].nan = true;
    assert_false(excludes(&piece, "f > 100"));
    piece.columns[0].nulls = 1;
    assert_false(excludes(&piece, "i is null"));
    piece.columns[0].nulls = 10; /* all of them */
    assert_true(excludes(&piece, "i > 100"));
    assert_true(excludes(&piece, "i is not null"));
    piece.info.n_columns = 0;
    assert_false(excludes(&piece, "i > 100"));
    gr_schema_free(&piece.schema);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_are_those_of_all_values_between),
        cmocka_unit_test(conditions_are_taken_apart),
        cmocka_unit_test(what_is_not_known_is_not_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
