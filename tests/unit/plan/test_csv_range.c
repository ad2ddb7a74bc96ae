/* Ranges of records joined from blocks of any size are what a sequential scan gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "reference.h"
#include "tile/file/csv_range.h"

#define TEXT_MAX  240
#define TEXTS     3000
#define BLOCK_MAX 40

/* Bytes that matter, in odd orders: quotes in fields, lone CRs, blank lines, quotes that never end. */
static size_t
random_text(unsigned *seed, char *text)
{
    static const char *const parts[] = {"a",    "1,", ",",        "\"",   "\"\"",       "\n",
                                        "\r\n", "\r", "\"x\ny\"", "\n\n", "long field", "\"q,\"\"r\"\r\n"};
    size_t size = 0;
    size_t wanted = (size_t)rand_r(seed) % TEXT_MAX + 1;

    while (size < wanted) {
        const char *part = parts[(size_t)rand_r(seed) % (sizeof parts / sizeof parts[0])];
        size_t length = strlen(part);

        if (size + length > TEXT_MAX) {
            break;
        }
        memcpy(text + size, part, length);
        size += length;
    }
    if (size == 0) {
        text[size++] = 'a';
    }
    return size;
}

/* By offset: a record may begin here, says the sequential scan; and the line it is on. */
struct truth {
    bool begins[TEXT_MAX + 1];
    uint64_t line[TEXT_MAX + 1];
    uint64_t ended[TEXT_MAX + 1]; /* records that ended before */
};

static void
scan_all(const char *text, size_t size, struct truth *ret_truth)
{
    uint32_t state = 0;
    uint64_t line = 1;
    uint64_t ended = 0;

    for (size_t i = 0; i < size; i++) {
        bool ends;

        ret_truth->begins[i] = state == 0 || (state == 5 && text[i] != '\n');
        ret_truth->line[i] = line;
        ret_truth->ended[i] = ended;
        state = reference_step(state, text[i], ',', &ends);
        line += text[i] == '\n';
        ended += ends;
    }
}

static void
check_ranges(const char *text, size_t size, size_t block)
{
    size_t count = (size + block - 1) / block;
    struct gr_csv_block *blocks = calloc(count, sizeof *blocks);
    struct gr_csv_range *ranges = NULL;
    int64_t wrong;
    size_t range_count = 0;
    struct truth truth;
    int64_t at = 0;
    bool *in_block = calloc(count + 1, sizeof *in_block);

    scan_all(text, size, &truth);
    for (size_t i = 0; i < count; i++) {
        size_t many = size - i * block < block ? size - i * block : block;

        blocks[i] = (struct gr_csv_block){.offset = (int64_t)(i * block), .size = (int64_t)many};
        blocks[i].split = reference_split(text + i * block, many, ',');
        assert_int_equal(gr_csv_split_check(blocks[i].split, (int64_t)many), GRANARY_OK);
    }
    assert_int_equal(gr_csv_ranges(blocks, count, (int64_t)size, &ranges, &range_count, &wrong), GRANARY_OK);
    assert_int_equal(wrong, -1);
    assert_true(range_count >= 1);
    for (size_t r = 0; r < range_count; r++) {
        assert_int_equal(ranges[r].offset, at);
        assert_true(ranges[r].size > 0);
        assert_true(truth.begins[at]);
        assert_int_equal(ranges[r].line, truth.line[at]);
        assert_true(r == 0 || truth.ended[at] > 0); /* the first range has the first record whole */
        in_block[(size_t)at / block] = true;
        at += ranges[r].size;
    }
    assert_int_equal(at, (int64_t)size);
    /* No chance to cut is missed: a block in which a record begins, behind the first, has a range of its own. */
    for (size_t i = 1; i < count; i++) {
        for (size_t o = i * block; o < size && o < (i + 1) * block && !in_block[i]; o++) {
            assert_false(truth.begins[o] && truth.ended[o] > 0 && truth.ended[i * block] > 0);
        }
    }
    for (size_t i = 0; i < count; i++) {
        granary__csv_split__free_unpacked(blocks[i].split, NULL);
    }
    free(blocks);
    free(ranges);
    free(in_block);
}

static void
any_blocks_give_whole_records(void **state)
{
    unsigned seed = 20261121;
    char text[TEXT_MAX + 1];

    (void)state;
    for (int i = 0; i < TEXTS; i++) {
        size_t size = random_text(&seed, text);

        for (size_t block = 1; block <= BLOCK_MAX; block++) {
            check_ranges(text, size, block);
        }
    }
}

static void
a_record_longer_than_blocks_is_one_range(void **state)
{
    char text[TEXT_MAX + 1];
    size_t size;

    (void)state;
    size = (size_t)snprintf(text, sizeof text, "a,b\n1,\"%0150d\n,\n\"\n2,3\n", 7);
    for (size_t block = 1; block <= BLOCK_MAX; block++) {
        check_ranges(text, size, block);
    }
}

static void
a_crlf_cut_in_two_belongs_to_one_line(void **state)
{
    static const char text[] = "a,b\r\n1,2\r\n3,4\r\n";
    struct gr_csv_block blocks[4];
    struct gr_csv_range *ranges;
    size_t count;
    int64_t wrong;

    (void)state;
    for (size_t i = 0; i < 4; i++) { /* blocks of 4: every CR is the last or its LF the first byte of a block once */
        blocks[i] = (struct gr_csv_block){.offset = (int64_t)(4 * i), .size = i < 3 ? 4 : 3};
        blocks[i].split = reference_split(text + 4 * i, (size_t)blocks[i].size, ',');
    }
    assert_int_equal(gr_csv_ranges(blocks, 4, 15, &ranges, &count, &wrong), GRANARY_OK);
    assert_int_equal(count, 3);
    assert_int_equal(ranges[1].offset, 5);
    assert_int_equal(ranges[1].line, 2);
    assert_int_equal(ranges[2].offset, 10);
    assert_int_equal(ranges[2].line, 3);
    for (size_t i = 0; i < 4; i++) {
        granary__csv_split__free_unpacked(blocks[i].split, NULL);
    }
    free(ranges);
}

/* An answer comes from another process. */
static void
impossible_answers_are_refused(void **state)
{
    Granary__CsvSplit *split = reference_split("a\nb", 3, ',');

    (void)state;
    assert_int_equal(gr_csv_split_check(split, 3), GRANARY_OK);
    split->end_state[2] = GR_CSV_STATES;
    assert_int_equal(gr_csv_split_check(split, 3), GRANARY_EPROTO);
    split->end_state[2] = 0;
    split->first_record[1] = 4;
    assert_int_equal(gr_csv_split_check(split, 3), GRANARY_EPROTO);
    split->first_record[1] = -2;
    assert_int_equal(gr_csv_split_check(split, 3), GRANARY_EPROTO);
    split->first_record[1] = 2;
    split->first_lines[1] = 2;
    assert_int_equal(gr_csv_split_check(split, 3), GRANARY_EPROTO);
    split->first_lines[1] = 1;
    assert_int_equal(gr_csv_split_check(split, 3), GRANARY_OK);
    split->n_records = 5;
    assert_int_equal(gr_csv_split_check(split, 3), GRANARY_EPROTO);
    split->n_records = 6;
    split->n_lines = 0;
    assert_int_equal(gr_csv_split_check(split, 3), GRANARY_EPROTO);
    granary__csv_split__free_unpacked(split, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_blocks_give_whole_records),
        cmocka_unit_test(a_record_longer_than_blocks_is_one_range),
        cmocka_unit_test(a_crlf_cut_in_two_belongs_to_one_line),
        cmocka_unit_test(impossible_answers_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
