#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/buf.h"

/* At every size there is a NUL behind what was added, and nothing is lost when it grows. */
static void
buf_keeps_what_it_was_given(void **state)
{
    struct gr_buf buf = {0};

    (void)state;
    for (size_t i = 0; i < 5000; i++) {
        char c = (char)('a' + i % 26);

        gr_buf_add(&buf, &c, 1);
        assert_int_equal(buf.size, i + 1);
        assert_int_equal(buf.bytes[i + 1], '\0');
        assert_true(buf.room > buf.size);
    }
    for (size_t i = 0; i < 5000; i++) {
        assert_int_equal(buf.bytes[i], 'a' + (int)(i % 26));
    }
    assert_true(gr_buf_ok(&buf));
    gr_buf_free(&buf);
    assert_null(buf.bytes);
    gr_buf_free(&buf);
}

static void
buf_formats_any_length(void **state)
{
    char word[1001];

    (void)state;
    memset(word, 'w', sizeof word);
    for (int length = 240; length < 1000; length += length < 270 ? 1 : 91) {
        struct gr_buf buf = {0};

        gr_buf_addf(&buf, "<%.*s>", length, word);
        gr_buf_addf(&buf, "%d", length);
        assert_int_equal(buf.size, length + 5);
        assert_int_equal(buf.bytes[0], '<');
        assert_int_equal(buf.bytes[length], 'w');
        assert_int_equal(buf.bytes[length + 1], '>');
        assert_int_equal(atoi(buf.bytes + length + 2), length);
        gr_buf_free(&buf);
    }
}

static void
buf_grown_is_for_the_caller(void **state)
{
    struct gr_buf buf = {0};
    char *at = gr_buf_grow(&buf, 64); /* exactly the first size */

    (void)state;
    memset(at, 'x', 64);
    gr_buf_add(&buf, "y", 1);
    assert_int_equal(buf.size, 65);
    assert_int_equal(buf.bytes[63], 'x');
    assert_string_equal(buf.bytes + 64, "y");
    gr_buf_free(&buf);
}

static void
buf_taken_is_empty_again(void **state)
{
    struct gr_buf buf = {0};
    char *text = gr_buf_take(&buf);

    (void)state;
    assert_string_equal(text, ""); /* even one that never got anything gives a text */
    free(text);
    gr_buf_add(&buf, "abc", 3);
    text = gr_buf_take(&buf);
    assert_string_equal(text, "abc");
    assert_int_equal(buf.size, 0);
    free(text);
}

/* Out of memory sticks: what follows does nothing, and the caller asks once at the end. */
static void
buf_out_of_memory_sticks(void **state)
{
    struct gr_buf buf = {0};

    (void)state;
    gr_buf_add(&buf, "abc", 3);
    assert_null(gr_buf_grow(&buf, SIZE_MAX / 2));
    assert_false(gr_buf_ok(&buf));
    gr_buf_add(&buf, "d", 1);
    gr_buf_addf(&buf, "%s", "e");
    assert_int_equal(buf.size, 3);
    assert_null(gr_buf_take(&buf));
    assert_true(gr_buf_ok(&buf)); /* taken: an empty one */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buf_keeps_what_it_was_given), cmocka_unit_test(buf_formats_any_length),
        cmocka_unit_test(buf_grown_is_for_the_caller), cmocka_unit_test(buf_taken_is_empty_again),
        cmocka_unit_test(buf_out_of_memory_sticks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
