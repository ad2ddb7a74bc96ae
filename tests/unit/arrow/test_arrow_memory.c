/* Arrays given and taken with the first, second, third, ... allocation failing: ENOMEM, what is to be released is, and nothing
 * leaks (the sanitizers watch). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../data/frames.h"
#include "producer.h"
#include "support/allocations.h"

enum { ROWS = 9, ALL = 14 };

/* Whether that was the try that lacked nothing. */
static bool
tried(granary_err err)
{
    const bool lacked = allocations_left < 0;

    allocations_left = -1;
    if (err != GRANARY_OK) {
        assert_int_equal(err, GRANARY_ENOMEM);
        assert_true(lacked);
    }
    return err == GRANARY_OK && !lacked;
}

static void
giving_lacks_memory(void **state)
{
    const char *const names[] = {"s", "n"};
    struct gr_column plain = texts((const char *[]){"x", "y", "x", "x", "x", "x", "x", "y", "x"}, "111011111", ROWS);
    struct gr_column all[] = {{.owned = false}, ints((int64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9}, "110111111", ROWS)};
    struct ArrowSchema schema;
    struct ArrowArray array;
    granary_frame *frame;
    bool pays;
    long n = 0;

    (void)state;
    assert_int_equal(gr_column_encode(&plain.view, &pays, &all[0]), GRANARY_OK);
    gr_column_free(&plain);
    frame = frame_of(2, names, all);
    for (;; n++) {
        granary_err err;

        allocations_left = n;
        err = granary_frame_export_owned(frame, &schema, &array);
        if (tried(err)) {
            break;
        }
        assert_int_not_equal(err, GRANARY_OK);
        assert_int_equal(granary_frame_rows(frame), ROWS); /* still ours */
    }
    assert_true(n > 8);
    schema.release(&schema);
    array.release(&array);
}

/* Rows from 5 on, so that bitmaps are copied. */
static void
produce(const char *format, size_t width, const char *dictionary, struct ArrowSchema *schema, struct ArrowArray *array)
{
    static const char zeros[ALL * 32];
    struct ArrowArray *child;

    produce_schema(schema, "+s", "", 1);
    if (dictionary != NULL) {
        produce_coded_schema(schema->children[0], format, "c", dictionary);
    } else {
        produce_schema(schema->children[0], format, "c", 0);
    }
    produce_array(array, ROWS, 5, 0, 1, 1);
    child = array->children[0];
    produce_array(child, ALL, 0, -1, format[0] == 'U' ? 3 : format[0] == 'v' ? 4 : 2, 0);
    produce_bits(child, 0, "11111111011111");
    produce_buffer(child, 1, zeros, width * (ALL + (format[0] == 'U')));
    if (format[0] == 'U') {
        produce_buffer(child, 2, "", 0);
    } else if (format[0] == 'v') {
        produce_buffer(child, 2, zeros, 8);
        produce_buffer(child, 3, zeros, 8);
    }
    if (dictionary != NULL) {
        produce_dictionary(child);
        produce_array(child->dictionary, 1, 0, 0, dictionary[0] == 'u' ? 3 : 2, 0);
        produce_buffer(child->dictionary, 1, zeros, 8);
        if (dictionary[0] == 'u') {
            produce_buffer(child->dictionary, 2, "", 0);
        }
    }
}

static void
taking_lacks_memory(void **state)
{
    static const struct {
        const char *format;
        size_t width;
        const char *dictionary;
    } rows[] = {{"l", 8, NULL}, {"b", 1, NULL},   {"e", 2, NULL}, {"tss:", 8, NULL}, {"tdm", 8, NULL},
                {"U", 8, NULL}, {"vu", 16, NULL}, {"i", 4, "u"},  {"S", 2, "g"},     {"d:76,2,256", 32, NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ArrowSchema schema;
        struct ArrowArray array;
        granary_columns columns;
        granary_err err;
        bool done = false;

        for (long n = 0; !done; n++) {
            produce(rows[i].format, rows[i].width, rows[i].dictionary, &schema, &array);
            allocations_left = n;
            err = granary_columns_import(&schema, &array, &columns);
            done = tried(err);
            assert_true(!done || n >= 4);
            assert_null(array.release);
            if (err == GRANARY_OK) {
                granary_columns_free(&columns);
            }
            schema.release(&schema);
            assert_int_equal(produced_alive(), 0);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(giving_lacks_memory),
        cmocka_unit_test(taking_lacks_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
