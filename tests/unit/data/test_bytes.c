/* Bytes as text and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/value/bytes.h"

struct text_case {
    const char *text;
    const char *bytes; /* NULL: there are none */
    size_t size;
};

static void
check(const struct text_case *of, bool (*parse)(const char *text, size_t size, struct gr_buf *out))
{
    struct gr_buf out = {0};

    assert_int_equal(parse(of->text, strlen(of->text), &out), of->bytes != NULL);
    if (of->bytes != NULL) {
        assert_int_equal(out.size, of->size);
        assert_memory_equal(out.size > 0 ? out.bytes : "", of->bytes, of->size);
    }
    gr_buf_free(&out);
}

static void
bytes_are_read_as_postgres_and_duckdb_write_them(void **state)
{
    static const struct text_case cases[] = {
        {"", "", 0},
        {"\\x", "", 0},
        {"\\x00ffAb", "\0\xff\xab", 3},
        {"abc", "abc", 3},
        {"a\\x00b", "a\0b", 3},
        {"\\xAA\\xBB", "\xaa\xbb", 2},
        {"a\\\\x41", "a\\x41", 5},
        {"\\x4", NULL, 0},
        {"\\x4g", NULL, 0},
        {"\\x41g", "Ag", 2},
        {"\\n", NULL, 0},
        {"a\\", NULL, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i], gr_bytes_parse);
    }
}

static void
digits_are_read_in_pairs(void **state)
{
    static const struct text_case cases[] = {
        {"", "", 0},     {"00", "\0", 1},  {"4D5a", "MZ", 2}, {"4", NULL, 0},
        {"4x", NULL, 0}, {" 41", NULL, 0}, {"-1", NULL, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i], gr_hex_parse);
    }
}

static void
base64_needs_its_padding(void **state)
{
    static const struct text_case cases[] = {
        {"", "", 0},
        {"AA==", "\0", 1},
        {"AAE=", "\0\1", 2},
        {"AAEC", "\0\1\2", 3},
        {"+/+/", "\xfb\xff\xbf", 3},
        {"AAECAw==", "\0\1\2\3", 4},
        {"A", NULL, 0},
        {"AA", NULL, 0},
        {"A===", NULL, 0},
        {"====", NULL, 0},
        {"AA=A", NULL, 0},
        {"AA==AAEC", NULL, 0},
        {"AA C", NULL, 0},
        {"AA\xc3\xa9", NULL, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i], gr_base64_parse);
    }
}

/* Whatever is written is read back. */
static void
all_bytes_come_back(void **state)
{
    char bytes[300] = "";

    (void)state;
    for (size_t size = 0; size <= sizeof bytes; size += 1 + size / 8) {
        struct gr_buf text = {0};
        struct gr_buf back = {0};

        for (size_t i = 0; i < size; i++) {
            bytes[i] = (char)(i * 7 + size);
        }
        gr_bytes_format(bytes, size, &text);
        assert_true(gr_bytes_parse(text.bytes, text.size, &back));
        text.size = 0;
        gr_base64_format(bytes, size, &text);
        assert_true(gr_base64_parse(size > 0 ? text.bytes : "", text.size, &back));
        assert_int_equal(back.size, 2 * size);
        assert_memory_equal(size > 0 ? back.bytes : "", bytes, size);
        assert_memory_equal(size > 0 ? back.bytes + size : "", bytes, size);
        gr_buf_free(&text);
        gr_buf_free(&back);
    }
}

/* Characters of ASCII stand for themselves, and no text reads as other bytes. */
static void
printable_bytes_are_written_as_they_are(void **state)
{
    static const struct text_case cases[] = {
        {"", "", 0},
        {"a b~", "a b~", 4},
        {"\\x00", "\0", 1},
        {"a\\x00\\xFF", "a\0\xff", 3},
        {"\\x27\\x22\\x5C", "'\"\\", 3},
        {"\\x00\\x41B", "\0AB", 3},
        {"\\x00A", "\0A", 2},
        {"\\x00A\\x00", "\0A\0", 3},
        {"\\x00AG", "\0AG", 3},
        {"\\x80\\x30000",
         "\x80"
         "0000",
         5},
        {"\\x7F", "\x7f", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gr_buf text = {0};

        gr_bytes_write(cases[i].bytes, cases[i].size, &text);
        assert_int_equal(text.size, strlen(cases[i].text));
        assert_memory_equal(text.size > 0 ? text.bytes : "", cases[i].text, text.size);
        check(&cases[i], gr_bytes_parse);
        gr_buf_free(&text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_read_as_postgres_and_duckdb_write_them),
        cmocka_unit_test(digits_are_read_in_pairs),
        cmocka_unit_test(base64_needs_its_padding),
        cmocka_unit_test(all_bytes_come_back),
        cmocka_unit_test(printable_bytes_are_written_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
