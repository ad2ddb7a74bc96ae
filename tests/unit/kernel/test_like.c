/* LIKE over a column is right: rows that lie behind each other are searched as one text, on every instruction set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/buf.h"
#include "kernel/simd/simd.h"
#include "kernel/simd/text.h"
#include "rows_tools.h"

enum { ROWS = 3000, LONGEST = 150 };

/* The definition: slow and plain. Texts are of ASCII. */
static bool
is_like(const char *text, const char *pattern)
{
    if (*pattern == '\0') {
        return *text == '\0';
    }
    if (*pattern == '%') {
        return is_like(text, pattern + 1) || (*text != '\0' && is_like(text + 1, pattern));
    }
    return *text != '\0' && (*pattern == '_' || *pattern == *text) && is_like(text + 1, pattern + 1);
}

static void
random_text(char *out, int most)
{
    int size = (int)(random() % 4 == 0 ? random() % (most + 1) : random() % 9);

    for (int i = 0; i < size; i++) {
        out[i] = "abbbc"[random() % 5];
    }
    out[size] = '\0';
}

static void
rows_are_searched_as_one_text(void **state)
{
    static const char *const patterns[] = {"%abc%",  "%b%a%",       "abb%",    "%cba", "%ab_bc%", "_b%",
                                           "%c%",    "%bbbbbbbbb%", "%ca%ca%", "ab",   "%aa%c_",  "%__",
                                           "%cab%b", "%a%a%c%b",    "",        "%"};
    static char texts[ROWS][LONGEST + 1];
    struct gr_buf csv = {0};
    granary_frame *frame;

    (void)state;
    srandom(7);
    for (int i = 0; i < ROWS; i++) {
        random_text(texts[i], LONGEST);
        gr_buf_addf(&csv, "%d,%s\n", i, texts[i]);
    }
    assert_true(gr_buf_ok(&csv));
    frame = frame_text("row:int64,s:string", csv.bytes);
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++) {
        for (int level = GR_SIMD_BASE; level <= GR_SIMD_AVX512; level++) {
            char expression[64];
            granary_frame *got = NULL;
            const granary_column *column;

            gr_simd_limit((enum gr_simd)level);
            (void)snprintf(expression, sizeof expression, "coalesce(s like '%s', row < 0)", patterns[p]);
            assert_int_equal(computed(expression, frame, &got), GRANARY_OK);
            column = granary_frame_column(got, 0);
            for (int i = 0; i < ROWS; i++) {
                bool want = texts[i][0] != '\0' && is_like(texts[i], patterns[p]); /* none is a null */
                bool has = (((const uint8_t *)column->values)[i / 8] >> i % 8 & 1) != 0;

                if (has != want) {
                    fail_msg("level %d: '%s' like '%s' is %d", level, texts[i], patterns[p], has);
                }
            }
            gr_frame_destroy(got);
        }
    }
    gr_simd_limit(GR_SIMD_AVX512);
    gr_frame_destroy(frame);
    gr_buf_free(&csv);
}

/* In a buffer of just that size, so that a sanitizer sees a byte too far. */
static void
text_is_found_where_it_stands_first(void **state)
{
    (void)state;
    srandom(8);
    for (int test = 0; test < 20000; test++) {
        char text[2 * LONGEST + 1];
        char wanted[16];
        const char *at;
        char *exact;
        size_t size;

        random_text(text, 2 * LONGEST);
        do {
            random_text(wanted, 15);
        } while (wanted[0] == '\0');
        size = strlen(text);
        exact = malloc(size + (size == 0));
        assert_non_null(exact);
        memcpy(exact, text, size);
        at = strstr(text, wanted);
        gr_simd_limit((enum gr_simd)(test % 3));
        assert_int_equal(SIMD_CALL(text_find)(exact, size, wanted, strlen(wanted)),
                         at == NULL ? size : (size_t)(at - text));
        free(exact);
    }
    gr_simd_limit(GR_SIMD_AVX512);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_searched_as_one_text),
        cmocka_unit_test(text_is_found_where_it_stands_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
