#include "frame_tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/layout/packed.h"

/* Frame i of packed ones, opened as an executor does it. */
static granary_err
part_of(const void *bytes, uint64_t size, uint32_t i, granary_frame **ret_frame)
{
    struct gr_packed_entry entry;
    granary_err err;

    if (size < gr_packed_entry_at(i + 1)) {
        return GRANARY_ECORRUPT;
    }
    err = gr_packed_check(bytes, (const char *)bytes + gr_packed_entry_at(i), i, size, &entry);
    return err == GRANARY_OK ? gr_packed_open((const char *)bytes + entry.data_offset, &entry, ret_frame) : err;
}

static void
split(struct kernel_test *test, const granary_frame *frame, const char *keys, const char *types, int parts, int chunk)
{
    kernel_test_init(test, "shuffle_split");
    kernel_test_strings(test, "keys", keys);
    kernel_test_strings(test, "types", types);
    kernel_test_attr(test, gr_attr_new_int("parts", parts));
    kernel_test_attr(test, gr_attr_new_string("order", "at"));
    kernel_test_attr(test, gr_attr_new_int("chunk", chunk));
    kernel_test_frame(test, frame);
    if (kernel_test_run(test, run_shuffle_split) != GRANARY_OK) {
        fail_msg("%s", granary_error_message());
    }
}

/* Every row is in one part, in order; dealt out by positions and merged, the frames are what they were. */
static void
rows_come_back_in_order(void **state)
{
    enum { PARTS = 5, CHUNKS = 3 };
    granary_frame *chunks[CHUNKS];
    struct kernel_test splits[CHUNKS];
    struct kernel_test dealt[PARTS];
    granary_frame *parts[PARTS];
    int64_t rows = 0;

    (void)state;
    for (int c = 0; c < CHUNKS; c++) {
        chunks[c] = frame_random((uint64_t)c + 3, c == 1 ? 0 : 300, true);
        split(&splits[c], chunks[c], "key,text", "int64,string", PARTS, c);
    }
    for (uint32_t p = 0; p < PARTS; p++) {
        granary_frame *pieces[CHUNKS];

        for (int c = 0; c < CHUNKS; c++) {
            assert_int_equal(part_of(splits[c].outputs[0].bytes, splits[c].outputs[0].bytes_size, p, &pieces[c]),
                             GRANARY_OK);
        }
        assert_int_equal(gr_frame_concat((const granary_frame *const *)pieces, CHUNKS, &parts[p]), GRANARY_OK);
        rows += parts[p]->rows;
        for (int c = 0; c < CHUNKS; c++) {
            gr_frame_destroy(pieces[c]);
        }
        kernel_test_init(&dealt[p], "shuffle_split");
        kernel_test_attr(&dealt[p], gr_attr_new_int("parts", CHUNKS));
        kernel_test_attr(&dealt[p], gr_attr_new_string("order", "at"));
        kernel_test_attr(&dealt[p], gr_attr_new_bool("by_order", true));
        kernel_test_frame(&dealt[p], parts[p]);
        assert_int_equal(kernel_test_run(&dealt[p], run_shuffle_split), GRANARY_OK);
    }
    assert_int_equal(rows, 600);
    for (uint32_t c = 0; c < CHUNKS; c++) {
        struct kernel_test merge;
        granary_frame *pieces[PARTS];
        granary_frame *merged;

        kernel_test_init(&merge, "order_merge");
        kernel_test_attr(&merge, gr_attr_new_string("order", "at"));
        for (uint32_t p = 0; p < PARTS; p++) {
            assert_int_equal(part_of(dealt[p].outputs[0].bytes, dealt[p].outputs[0].bytes_size, c, &pieces[p]),
                             GRANARY_OK);
            kernel_test_frame(&merge, pieces[p]);
        }
        merged = kernel_test_to_frame(&merge, run_order_merge);
        assert_same_bytes(merged, chunks[c]);
        gr_frame_destroy(merged);
        for (uint32_t p = 0; p < PARTS; p++) {
            gr_frame_destroy(pieces[p]);
        }
    }
    for (int p = 0; p < PARTS; p++) {
        kernel_test_fini(&dealt[p]);
        gr_frame_destroy(parts[p]);
    }
    for (int c = 0; c < CHUNKS; c++) {
        kernel_test_fini(&splits[c]);
        gr_frame_destroy(chunks[c]);
    }
}

/* Equal keys meet, whatever their dtype. */
static void
equal_keys_go_to_one_part(void **state)
{
    granary_frame *left = frame_text("k:int32", "5\n7\n9\n11\n13\n15\n17\n19\n");
    granary_frame *right = frame_text("k:float64", "19\n17\n15\n13\n11\n9\n7\n5\n");
    struct kernel_test splits[2];

    (void)state;
    split(&splits[0], left, "k", "int64", 4, 0);
    split(&splits[1], right, "k", "int64", 4, 0);
    for (uint32_t p = 0; p < 4; p++) {
        granary_frame *a;
        granary_frame *b;

        assert_int_equal(part_of(splits[0].outputs[0].bytes, splits[0].outputs[0].bytes_size, p, &a), GRANARY_OK);
        assert_int_equal(part_of(splits[1].outputs[0].bytes, splits[1].outputs[0].bytes_size, p, &b), GRANARY_OK);
        assert_int_equal(a->rows, b->rows);
        for (int64_t i = 0; i < a->rows; i++) {
            assert_true(((const int32_t *)a->columns[0].view.values)[i] ==
                        (int32_t)((const double *)b->columns[0].view.values)[b->rows - 1 - i]);
        }
        gr_frame_destroy(a);
        gr_frame_destroy(b);
    }
    kernel_test_fini(&splits[0]);
    kernel_test_fini(&splits[1]);
    gr_frame_destroy(left);
    gr_frame_destroy(right);
}

/* A head that was tampered with leads to an error, never outside. */
static void
spoiled_heads_are_refused(void **state)
{
    granary_frame *frame = frame_random(5, 50, true);
    struct kernel_test test;
    uint64_t size;
    int refused = 0;

    (void)state;
    split(&test, frame, "key", "int64", 3, 0);
    size = test.outputs[0].bytes_size;
    for (uint64_t at = 0; at < gr_packed_entry_at(3); at++) {
        char *spoiled = aligned_alloc(64, size);
        granary_frame *part;
        granary_err err;

        memcpy(spoiled, test.outputs[0].bytes, size);
        spoiled[at] = (char)(spoiled[at] ^ 0x81);
        for (uint32_t p = 0; p < 3; p++) {
            err = part_of(spoiled, size, p, &part);
            refused += err != GRANARY_OK;
            if (err == GRANARY_OK) {
                gr_frame_destroy(part);
            }
        }
        free(spoiled);
    }
    assert_true(refused > 60);
    kernel_test_fini(&test);
    gr_frame_destroy(frame);
}

static void
wrong_calls_are_answered(void **state)
{
    granary_frame *frame = frame_text("k:int64,at:int64", "1,5497558138880\n");
    struct kernel_test test;

    (void)state;
    kernel_test_init(&test, "shuffle_split");
    kernel_test_attr(&test, gr_attr_new_int("parts", 0));
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_shuffle_split, GRANARY_EINVAL, "0 parts");
    kernel_test_init(&test, "shuffle_split");
    kernel_test_attr(&test, gr_attr_new_int("parts", 2));
    kernel_test_attr(&test, gr_attr_new_string("order", "at"));
    kernel_test_attr(&test, gr_attr_new_bool("by_order", true));
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_shuffle_split, GRANARY_EINVAL, "is of no part");
    kernel_test_init(&test, "order_merge");
    kernel_test_attr(&test, gr_attr_new_string("order", "other"));
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_order_merge, GRANARY_ENOENT, "'other'");
    gr_frame_destroy(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_in_order),
        cmocka_unit_test(equal_keys_go_to_one_part),
        cmocka_unit_test(spoiled_heads_are_refused),
        cmocka_unit_test(wrong_calls_are_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
