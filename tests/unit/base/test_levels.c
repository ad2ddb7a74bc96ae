/* Sets of levels: text to set, set to text, and what lies below what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "granary/types.h"

static void
texts_name_sets(void **state)
{
    static const struct {
        const char *text;
        granary_levels levels;
    } cases[] = {
        {"memory", 2},
        {"disk", 4},
        {"gpu", 1},
        {"remote", 8},
        {"memory|disk", 6},
        {"MEMORY & DISK", 6}, /* a union, whatever it looks like */
        {"Memory,Disk,Remote", 14},
        {" disk + memory ", 6},
        {"disk disk", 4},
        {"gpu|memory|disk|remote", 15},
        {"none", 0},
        {"none|disk", 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        granary_levels levels = 99;

        assert_int_equal(granary_levels_parse(cases[i].text, &levels), GRANARY_OK);
        assert_int_equal(levels, cases[i].levels);
    }
}

static void
a_word_that_is_no_level_is_named(void **state)
{
    static const struct {
        const char *text;
        const char *word;
    } cases[] = {
        {"memory|tape", "'tape'"},
        {"mem", "'mem'"},
        {"disk;remote", "'disk;remote'"},
        {"", "at least one"},
        {" | ", "at least one"},
        {"memory|6", "'6'"},
        {"disks", "'disks'"},
        {"memory/disk", "'memory/disk'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        granary_levels levels = 99;

        assert_int_equal(granary_levels_parse(cases[i].text, &levels), GRANARY_EINVAL);
        assert_non_null(strstr(granary_error_message(), cases[i].word));
        assert_int_equal(levels, 99);
    }
}

/* Every set has a text, and the text names that set again; union and intersection are those of bits. */
static void
sets_are_bits(void **state)
{
    (void)state;
    for (granary_levels a = 0; a < 16; a++) {
        char text[32];
        granary_levels back = 99;

        assert_int_equal(granary_levels_parse(granary_levels_format(a, text, sizeof text), &back), GRANARY_OK);
        assert_int_equal(back, a);
    }
    assert_int_equal(GRANARY_LEVEL_MEMORY | GRANARY_LEVEL_DISK, 6);
    assert_int_equal((GRANARY_LEVEL_MEMORY | GRANARY_LEVEL_DISK) & GRANARY_LEVEL_MEMORY, 2);
    assert_int_equal(GRANARY_LEVEL_MEMORY & GRANARY_LEVEL_DISK, 0);
}

static void
short_room_is_not_overrun(void **state)
{
    char text[8];

    (void)state;
    memset(text, 'x', sizeof text);
    assert_ptr_equal(granary_levels_format(15, text, 6), text);
    assert_string_equal(text, "gpu|m");
    assert_int_equal(text[6], 'x');
    assert_ptr_equal(granary_levels_format(15, text, 0), text);
    assert_int_equal(text[0], 'g');
}

static void
levels_spill_downwards(void **state)
{
    (void)state;
    assert_int_equal(granary_level_below(GRANARY_LEVEL_GPU), GRANARY_LEVEL_MEMORY);
    assert_int_equal(granary_level_below(GRANARY_LEVEL_MEMORY), GRANARY_LEVEL_DISK);
    assert_int_equal(granary_level_below(GRANARY_LEVEL_DISK), GRANARY_LEVEL_REMOTE);
    assert_int_equal(granary_level_below(GRANARY_LEVEL_REMOTE), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_name_sets),        cmocka_unit_test(a_word_that_is_no_level_is_named),
        cmocka_unit_test(sets_are_bits),          cmocka_unit_test(short_room_is_not_overrun),
        cmocka_unit_test(levels_spill_downwards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
