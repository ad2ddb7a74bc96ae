#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/id.h"

/* Only 32 hex digits name an object: every shorter text, and one digit more, is EINVAL and leaves *id alone. */
static void
id_text_has_one_right_length(void **state)
{
    const char *text = "00112233445566778899aabbccddeeff0";
    const granary_id before = {.bytes = {7}};

    (void)state;
    for (size_t length = 0; length <= 33; length++) {
        granary_id id = before;
        granary_err want = length == 32 ? GRANARY_OK : GRANARY_EINVAL;

        assert_int_equal(granary_id_parse(text, length, &id), want);
        if (want != GRANARY_OK) {
            assert_memory_equal(&id, &before, sizeof id);
        }
    }
}

/* Any character but a hex digit, at any place, is EINVAL. */
static void
id_text_is_hex(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');

        for (size_t at = 0; at < 32; at++) {
            char text[33] = "00112233445566778899aabbccddeeff";
            granary_id id;

            text[at] = (char)c;
            assert_int_equal(granary_id_parse(text, 32, &id), hex ? GRANARY_OK : GRANARY_EINVAL);
        }
    }
}

static void
id_of_zeros_names_nothing(void **state)
{
    granary_id id = {.bytes = {7}};

    (void)state;
    assert_int_equal(granary_id_parse("00000000000000000000000000000000", 32, &id), GRANARY_EINVAL);
    assert_int_equal(id.bytes[0], 7);
    assert_true(gr_id_is_zero((granary_id){{0}}));
    assert_false(gr_id_is_zero(id));
}

static void
id_text_reads_back(void **state)
{
    char text[GRANARY_ID_TEXT + 1];
    granary_id id;
    granary_id upper;

    (void)state;
    for (int i = 0; i < 100; i++) {
        granary_id random = granary_id_random();

        assert_false(gr_id_is_zero(random));
        granary_id_format(random, text);
        assert_int_equal(strlen(text), 32);
        assert_int_equal(granary_id_parse(text, 32, &id), GRANARY_OK);
        assert_true(gr_id_equal(id, random));
    }
    assert_int_equal(granary_id_parse("ABCDEF00112233445566778899aabbcc", 32, &upper), GRANARY_OK);
    granary_id_format(upper, text);
    assert_string_equal(text, "abcdef00112233445566778899aabbcc");
}

static void
id_words_are_its_bytes(void **state)
{
    granary_id id = granary_id_random();
    uint64_t words[2];

    (void)state;
    gr_id_words(id, words);
    assert_true(gr_id_equal(gr_id_from_words(words[0], words[1]), id));
    assert_false(gr_id_equal(gr_id_from_words(words[1], words[0] + 1), id));
}

/* The same name in the same session is the same id in every process and version: the text is fixed here. */
static void
id_of_a_name_is_stable(void **state)
{
    char text[GRANARY_ID_TEXT + 1];
    char longer[3001];
    granary_id id = granary_id_from_name(NULL, "result");

    (void)state;
    assert_true(gr_id_equal(id, granary_id_from_name("default", "result")));
    assert_false(gr_id_equal(id, granary_id_from_name("other", "result")));
    assert_false(gr_id_equal(id, granary_id_from_name(NULL, "result2")));
    granary_id_format(id, text);
    assert_string_equal(text, "379b80707df87a7a7b97de3c9375c734");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_true(gr_id_equal(id, granary_id_from_key(NULL, "result", 6)));
    assert_false(gr_id_equal(granary_id_from_key(NULL, "a\0b", 3), granary_id_from_key(NULL, "a\0c", 3)));
    assert_false(gr_id_equal(granary_id_from_key(NULL, "a\0", 2), granary_id_from_key(NULL, "a", 1)));
    assert_true(gr_id_equal(granary_id_from_key("s", NULL, 0), granary_id_from_name("s", "")));
    id = granary_id_from_name(NULL, longer);
    longer[2999] = 'y';
    assert_false(gr_id_equal(id, granary_id_from_name(NULL, longer)));
}

static void
ids_of_chunks_differ(void **state)
{
    const uint64_t graph = 0x1122334455667788;
    granary_id id = gr_id_of_chunk(graph, 1, 0);
    granary_id other = gr_id_of_chunk(graph, UINT32_MAX, UINT32_MAX);

    (void)state;
    assert_true(gr_id_equal(id, gr_id_of_chunk(graph, 1, 0)));
    assert_false(gr_id_equal(id, gr_id_of_chunk(graph, 0, 1)));
    assert_false(gr_id_equal(id, gr_id_of_chunk(graph, 1, 1)));
    assert_false(gr_id_equal(id, gr_id_of_chunk(graph + 1, 1, 0)));
    assert_memory_equal(id.bytes, other.bytes, sizeof graph); /* all of a plan can be listed */
    assert_memory_not_equal(id.bytes + sizeof graph, other.bytes + sizeof graph, sizeof graph);
    assert_false(gr_id_is_zero(gr_id_of_chunk(0, 0, 0)));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(id_text_has_one_right_length), cmocka_unit_test(id_text_is_hex),
        cmocka_unit_test(id_of_zeros_names_nothing),    cmocka_unit_test(id_text_reads_back),
        cmocka_unit_test(id_words_are_its_bytes),       cmocka_unit_test(id_of_a_name_is_stable),
        cmocka_unit_test(ids_of_chunks_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
