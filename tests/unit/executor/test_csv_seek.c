/* csv_seek: behind any byte of any text it finds a record, and what it finds never goes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/executor/op.h"

enum { AT_RECORD = 0, IN_QUOTES = 3, AFTER_CR = 5, TEXTS = 60, TEXT_MAX = 40, STATES = 6 };

/* The state behind the first bytes of a file. */
static uint32_t
state_behind(const char *path, size_t size)
{
    Granary__ChunkOp *op = op_range("csv_split", path, 0, size);
    struct gr_buf answer = {0};
    Granary__CsvSplit *split;
    uint32_t state;

    assert_int_equal(op_run(run_csv_split, op, NULL, 0, NULL, 0, &answer), GRANARY_OK);
    split = granary__csv_split__unpack(NULL, answer.size, (const uint8_t *)answer.bytes);
    assert_non_null(split);
    assert_int_equal(split->n_end_state, STATES);
    state = split->end_state[AT_RECORD];
    granary__csv_split__free_unpacked(split, NULL);
    gr_buf_free(&answer);
    granary__chunk_op__free_unpacked(op, NULL);
    return state;
}

static size_t
seek(const char *path, size_t byte, size_t size)
{
    Granary__ChunkOp *op = op_range("csv_seek", path, byte, size);
    struct gr_buf answer = {0};
    Granary__CsvSeek *found;
    size_t at;

    assert_int_equal(op_run(run_csv_seek, op, NULL, 0, NULL, 0, &answer), GRANARY_OK);
    found = granary__csv_seek__unpack(NULL, answer.size, (const uint8_t *)answer.bytes);
    assert_non_null(found);
    at = (size_t)found->at;
    granary__csv_seek__free_unpacked(found, NULL);
    gr_buf_free(&answer);
    granary__chunk_op__free_unpacked(op, NULL);
    return at;
}

static void
check_text(const char *text, size_t size)
{
    char *path = file_write(text, size);
    size_t before = 0;

    for (size_t byte = 1; byte <= size; byte++) {
        size_t at = seek(path, byte, size);
        uint32_t state = state_behind(path, at);

        assert_true(at >= byte && at <= size);
        assert_true(at >= before);
        assert_true(at == size || state == AT_RECORD || (state == AFTER_CR && text[at] != '\n'));
        before = at;
    }
    file_remove(path);
}

static void
finds_records_in_any_text(void **state)
{
    static const char bytes[] = "aa,,\"\"\"\n\n\r";
    unsigned seed = 22;
    char text[TEXT_MAX + 2];

    (void)state;
    for (int i = 0; i < TEXTS; i++) {
        size_t size = 1 + (size_t)rand_r(&seed) % TEXT_MAX;
        char *path;

        for (size_t b = 0; b < size; b++) {
            text[b] = bytes[(size_t)rand_r(&seed) % (sizeof bytes - 1)];
        }
        path = file_write(text, size);
        if (state_behind(path, size) == IN_QUOTES) { /* quotes end, or the text is none */
            text[size++] = '"';
        }
        file_remove(path);
        check_text(text, size);
    }
}

/* Where the same bytes are records within quotes and outside, all before them is read. */
static void
reads_what_stands_before_where_it_must(void **state)
{
    char text[600];

    (void)state;
    for (size_t i = 0; i < sizeof text; i += 4) {
        memcpy(text + i, "\"\n\"\n", 4);
    }
    check_text(text, sizeof text);
}

/* The first record is found as early as it shows: at the first line end, or behind quotes. */
static void
finds_the_next_record(void **state)
{
    static const char text[] = "1,2\n3,\"x\ny\"\n4,5\n";
    char *path = file_write(text, strlen(text));

    (void)state;
    assert_int_equal(seek(path, 1, strlen(text)), 12); /* "3" may be within quotes that the first ones end */
    assert_int_equal(seek(path, 9, strlen(text)), 12);
    assert_int_equal(seek(path, 12, strlen(text)), 12);
    assert_int_equal(seek(path, 13, strlen(text)), 16);
    file_remove(path);
}

static void
a_file_that_is_shorter_now_is_an_error(void **state)
{
    char *path = file_write("a,b\n1,2\n", 8);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        Granary__ChunkOp *op = op_range("csv_seek", path, i == 0 ? 9 : 4, 9);

        assert_int_equal(op_run(run_csv_seek, op, NULL, 0, NULL, 0, NULL), GRANARY_EIO);
        assert_non_null(strstr(granary_error_message(), "submit again"));
        granary__chunk_op__free_unpacked(op, NULL);
    }
    file_remove(path);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_records_in_any_text),
        cmocka_unit_test(reads_what_stands_before_where_it_must),
        cmocka_unit_test(finds_the_next_record),
        cmocka_unit_test(a_file_that_is_shorter_now_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
