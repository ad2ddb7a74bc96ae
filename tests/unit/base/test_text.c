#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/text.h"

/* What is refused as a name, how it is shown, and what becomes of it in a log. */
static const struct {
    const char *text;
    bool good;
    const char *shown;
    const char *blank;
} cases[] = {
    {"", true, "", ""},
    {"plain 'text' \\", true, "plain 'text' \\", "plain 'text' \\"},
    {"\303\244\342\202\254\360\237\230\200", true, "\303\244\342\202\254\360\237\230\200",
     "\303\244\342\202\254\360\237\230\200"},
    {"a\x1b[2J", false, "a\\x1b[2J", "a?[2J"},
    {"a\x7f", false, "a\\x7f", "a?"},
    {"a\nb\tc\r", false, "a\\nb\\tc\\r", "a\nb\tc?"},
    {"a\302\2332J", false, "a\\u009b2J", "a??2J"}, /* CSI, of C1 */
    {"\302\200\302\237\302\240", false, "\\u0080\\u009f\302\240", "????\302\240"},
    {"a\2332J", false, "a\\x9b2J", "a?2J"},  /* ... as a byte */
    {"\300\233", false, "\\xc0\\x9b", "??"}, /* ... overlong */
    {"\355\240\200", false, "\\xed\\xa0\\x80", "???"},
    {"\364\220\200\200", false, "\\xf4\\x90\\x80\\x80", "????"},
    {"\342\202", false, "\\xe2\\x82", "??"}, /* cut short */
    {"\342\200\256txt", true, "\\u202etxt", "\342\200\256txt"},
};

static void
names_are_text_that_no_terminal_obeys(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(gr_text_check(cases[i].text, strlen(cases[i].text), "name"),
                         cases[i].good ? GRANARY_OK : GRANARY_EINVAL);
    }
}

static void
what_is_shown_commands_nobody(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char all[64] = "";
        size_t left = strlen(cases[i].text);

        for (const char *at = cases[i].text; left > 0;) {
            char shown[GR_TEXT_SHOWN];
            size_t step = gr_text_show(at, left, shown);

            assert_in_range(step, 1, left);
            (void)strcat(all, shown);
            at += step;
            left -= step;
        }
        assert_string_equal(all, cases[i].shown);
    }
}

static void
what_is_blanked_keeps_its_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];

        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        gr_text_blank(text, strlen(text), "\n\t");
        assert_string_equal(text, cases[i].blank);
    }
}

/* A byte of NUL is a control character, and nothing to be kept by accident. */
static void
nul_is_no_text(void **state)
{
    char text[] = "a\0b";

    (void)state;
    assert_int_equal(gr_text_check(text, 3, "name"), GRANARY_EINVAL);
    gr_text_blank(text, 3, "\n");
    assert_string_equal(text, "a?b");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_text_that_no_terminal_obeys),
        cmocka_unit_test(what_is_shown_commands_nobody),
        cmocka_unit_test(what_is_blanked_keeps_its_length),
        cmocka_unit_test(nul_is_no_text),
    };

    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
