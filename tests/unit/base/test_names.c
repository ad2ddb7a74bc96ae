/* Where names are: few, many, the same name twice, and arrays that the index is not of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/text/names.h"

#define MANY 3000

struct item {
    int number;
    const char *name;
};

static char texts[MANY][16];
static struct item items[MANY];

static void
name_items(void)
{
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "name %d", i);
        items[i] = (struct item){i, texts[i]};
    }
}

static void
names_are_found_in_arrays_that_grow(void **state)
{
    struct gr_names names = {0};

    (void)state;
    name_items();
    assert_int_equal(gr_names_find(&names, GR_NAMED(items, name, 0), "name 0"), -1);
    for (size_t count = 1; count <= MANY; count++) {
        char next[16];

        gr_names_add(&names, GR_NAMED(items, name, count));
        (void)snprintf(next, sizeof next, "name %zu", count);
        assert_int_equal(gr_names_find(&names, GR_NAMED(items, name, count), texts[count - 1]), count - 1);
        assert_int_equal(gr_names_find(&names, GR_NAMED(items, name, count), texts[count / 2]),
                         count == 1 ? 0 : count / 2);
        assert_int_equal(gr_names_find(&names, GR_NAMED(items, name, count), next), -1);
    }
    assert_int_equal(names.count, MANY);
    assert_non_null(names.slots);
    gr_names_free(&names);
    assert_null(names.slots);
}

static void
the_first_of_equal_names_is_found(void **state)
{
    struct gr_names names = {0};

    (void)state;
    name_items();
    items[7].name = texts[2900];
    items[40].name = NULL;
    items[2000].name = texts[40];
    gr_names_fill(&names, GR_NAMED(items, name, MANY));
    assert_int_equal(gr_names_find(&names, GR_NAMED(items, name, MANY), texts[2900]), 7);
    assert_int_equal(gr_names_find(&names, GR_NAMED(items, name, MANY), texts[40]), 2000);
    assert_int_equal(gr_names_find(&names, GR_NAMED(items, name, MANY), texts[7]), -1);
    gr_names_free(&names);
}

/* An array that is not the index's, by its count, is searched itself. */
static void
other_arrays_are_searched(void **state)
{
    struct gr_names names = {0};

    (void)state;
    name_items();
    gr_names_add(&names, GR_NAMED(items, name, 5));
    assert_int_equal(names.count, 0);
    assert_int_equal(gr_names_find(&names, GR_NAMED(items, name, MANY), texts[2999]), 2999);
    gr_names_fill(&names, GR_NAMED(items, name, 100));
    assert_int_equal(gr_names_find(&names, GR_NAMED(items, name, MANY), texts[2999]), 2999);
    assert_int_equal(gr_names_find(&names, GR_NAMED(items, name, 99), texts[99]), -1);
    gr_names_free(&names);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_in_arrays_that_grow),
        cmocka_unit_test(the_first_of_equal_names_is_found),
        cmocka_unit_test(other_arrays_are_searched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
