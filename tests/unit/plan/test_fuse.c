/* Fusion: which operators share a subtask, and the order of subtasks; on hand-made and on random chunk graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fuse/fuse.h"

static struct gr_piece
add(struct gr_chunks *chunks, enum gr_chunk_op op, const struct gr_piece *inputs, size_t count, uint64_t bytes)
{
    struct gr_chunk_spec spec = {
        .op = op, .inputs = inputs, .input_count = count, .outputs = op == GR_CHUNK_null ? 0 : 1, .bytes = bytes};

    return gr_chunks_add(chunks, &spec);
}

static struct gr_fused
fuse(const struct gr_chunks *chunks, const struct gr_piece *roots, size_t count)
{
    struct gr_fused fused;

    assert_int_equal(gr_fuse(chunks, 0, roots, count, &fused), GRANARY_OK);
    return fused;
}

static void
chains_are_one_subtask_up_to_a_length(void **state)
{
    struct gr_chunks chunks = {0};
    struct gr_piece last = add(&chunks, GR_CHUNK_csv_read, NULL, 0, 1);
    struct gr_fused fused;

    (void)state;
    for (int i = 1; i < 100; i++) {
        last = add(&chunks, GR_CHUNK_map, &last, 1, 1);
    }
    fused = fuse(&chunks, &last, 1);
    assert_int_equal(fused.count, 2); /* 64 each */
    assert_int_equal(fused.first[1], 64);
    gr_fused_free(&fused);
    gr_chunks_free(&chunks);
}

static void
large_values_are_not_heaped_up(void **state)
{
    struct gr_chunks chunks = {0};
    struct gr_piece last = add(&chunks, GR_CHUNK_random, NULL, 0, 100 << 20);
    struct gr_fused fused;

    (void)state;
    for (int i = 1; i < 4; i++) {
        last = add(&chunks, GR_CHUNK_map, &last, 1, 100 << 20);
    }
    fused = fuse(&chunks, &last, 1);
    assert_int_equal(fused.count, 2);
    gr_fused_free(&fused);
    gr_chunks_free(&chunks);
}

static void
what_nobody_needs_is_left_out(void **state)
{
    struct gr_chunks chunks = {0};
    struct gr_piece a = add(&chunks, GR_CHUNK_csv_read, NULL, 0, 1);
    struct gr_piece b = add(&chunks, GR_CHUNK_csv_read, NULL, 0, 1);
    struct gr_piece c = add(&chunks, GR_CHUNK_filter, &b, 1, 1);
    struct gr_fused fused = fuse(&chunks, &a, 1);

    (void)state;
    assert_int_equal(fused.count, 1);
    assert_int_equal(fused.of[a.op], 0);
    assert_int_equal(fused.of[b.op], GR_FUSE_NONE);
    assert_int_equal(fused.of[c.op], GR_FUSE_NONE);
    gr_fused_free(&fused);
    gr_chunks_free(&chunks);
}

/* A diamond within one chunk is one subtask; many readers are not. */
static void
fan_outs_fuse_when_they_are_small(void **state)
{
    struct gr_chunks chunks = {0};
    struct gr_piece top = add(&chunks, GR_CHUNK_random, NULL, 0, 1);
    struct gr_piece ends[9];
    struct gr_piece both;
    struct gr_fused fused;

    (void)state;
    ends[0] = add(&chunks, GR_CHUNK_map, &top, 1, 1);
    ends[1] = top;
    both = add(&chunks, GR_CHUNK_map, ends, 2, 1);
    fused = fuse(&chunks, &both, 1);
    assert_int_equal(fused.count, 1);
    gr_fused_free(&fused);
    gr_chunks_free(&chunks);

    top = add(&chunks, GR_CHUNK_random, NULL, 0, 1);
    for (int i = 0; i < 9; i++) {
        ends[i] = add(&chunks, GR_CHUNK_map, &top, 1, 1);
    }
    fused = fuse(&chunks, ends, 9);
    assert_int_equal(fused.count, 10);
    gr_fused_free(&fused);
    gr_chunks_free(&chunks);
}

/* Merging a tree: each merge comes as soon as its inputs are there, before the next leaves. */
static void
subtasks_come_depth_first(void **state)
{
    struct gr_chunks chunks = {0};
    struct gr_piece leaves[4];
    struct gr_piece merges[2];
    struct gr_piece root;
    struct gr_fused fused;

    (void)state;
    for (int i = 0; i < 4; i++) {
        leaves[i] = add(&chunks, GR_CHUNK_csv_read, NULL, 0, 1);
    }
    merges[0] = add(&chunks, GR_CHUNK_concat, leaves, 2, 1);
    merges[1] = add(&chunks, GR_CHUNK_concat, leaves + 2, 2, 1);
    root = add(&chunks, GR_CHUNK_concat, merges, 2, 1);
    fused = fuse(&chunks, &root, 1);
    assert_int_equal(fused.count, 7);
    assert_int_equal(fused.of[leaves[0].op], 0);
    assert_int_equal(fused.of[leaves[1].op], 1);
    assert_int_equal(fused.of[merges[0].op], 2);
    assert_int_equal(fused.of[leaves[2].op], 3);
    assert_int_equal(fused.of[merges[1].op], 5);
    assert_int_equal(fused.of[root.op], 6);
    gr_fused_free(&fused);
    gr_chunks_free(&chunks);
}

static void
check_fused(const struct gr_chunks *chunks, const struct gr_fused *fused)
{
    for (uint32_t s = 0; s < fused->count; s++) {
        assert_true(fused->first[s] < fused->first[s + 1]);
        assert_in_range(fused->first[s + 1] - fused->first[s], 1, 64);
        for (uint32_t at = fused->first[s]; at < fused->first[s + 1]; at++) {
            const struct gr_chunk *chunk = &chunks->chunks[fused->ops[at]];

            assert_int_equal(fused->of[fused->ops[at]], s);
            assert_true(at == fused->first[s] || fused->ops[at] > fused->ops[at - 1]);
            assert_true(chunk->op != GR_CHUNK_null || fused->first[s + 1] - fused->first[s] == 1);
            for (uint32_t k = 0; k < chunk->input_count; k++) {
                uint32_t from = fused->of[gr_chunk_inputs(chunks, chunk)[k].op];

                /* closed: only a subtask's first operator reads what lies outside, and that was made before */
                assert_true(from <= s);
                assert_true(from == s || at == fused->first[s]);
            }
        }
    }
}

static void
any_graph_gives_sound_subtasks(void **state)
{
    unsigned seed = 42;

    (void)state;
    for (int round = 0; round < 300; round++) {
        struct gr_chunks chunks = {0};
        uint32_t count = (uint32_t)rand_r(&seed) % 200 + 1;
        struct gr_piece roots[200];
        struct gr_fused fused;

        for (uint32_t i = 0; i < count; i++) {
            struct gr_piece inputs[4];
            size_t many = i == 0 ? 0 : (size_t)rand_r(&seed) % 4;
            bool last_only = rand_r(&seed) % 2 == 0;

            for (size_t k = 0; k < many; k++) {
                inputs[k] = (struct gr_piece){.op = last_only ? i - 1 : (uint32_t)rand_r(&seed) % i};
                if (chunks.chunks[inputs[k].op].op == GR_CHUNK_null) {
                    many = k;
                }
            }
            roots[i] = add(&chunks, rand_r(&seed) % 8 == 0 ? GR_CHUNK_null : GR_CHUNK_map, inputs, many, 1);
        }
        fused = fuse(&chunks, roots, count);
        assert_int_equal(fused.first[fused.count], count);
        check_fused(&chunks, &fused);
        gr_fused_free(&fused);
        gr_chunks_free(&chunks);
    }
}

/* A probe runs where its rows are made, and columns of an object where they are read. */
static void
probes_and_views_fuse(void **state)
{
    struct gr_chunks chunks = {0};
    struct gr_piece object = add(&chunks, GR_CHUNK_object, NULL, 0, 0);
    struct gr_piece built = add(&chunks, GR_CHUNK_csv_read, NULL, 0, 1);
    struct gr_piece index = add(&chunks, GR_CHUNK_join_build, &built, 1, 1);
    struct gr_piece ends[20];
    struct gr_fused fused;

    (void)state;
    for (size_t i = 0; i < 20; i++) {
        struct gr_piece rows = add(&chunks, GR_CHUNK_select, &object, 1, 1);
        struct gr_piece probe = add(&chunks, GR_CHUNK_join_probe, (struct gr_piece[]){rows, built, index}, 3, 1);

        probe = add(&chunks, GR_CHUNK_join_probe, (struct gr_piece[]){probe, built, index}, 3, 1);
        ends[i] = add(&chunks, GR_CHUNK_filter, &probe, 1, 1);
    }
    fused = fuse(&chunks, ends, 20);
    assert_int_equal(fused.count, 22);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(fused.of[ends[i].op - 3], fused.of[ends[i].op]);
    }
    gr_fused_free(&fused);
    gr_chunks_free(&chunks);
}

/* Whatever is fused, a subtask reads only what subtasks before it have made. */
static void
no_cycle_arises(void **state)
{
    static const enum gr_chunk_op ops[] = {GR_CHUNK_select, GR_CHUNK_join_probe, GR_CHUNK_join_probe,
                                           GR_CHUNK_map,    GR_CHUNK_concat,     GR_CHUNK_info};
    unsigned seed = 7;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct gr_chunks chunks = {0};
        uint32_t count = (uint32_t)rand_r(&seed) % 40 + 3;
        struct gr_piece roots[50];
        size_t root_count = 0;
        struct gr_fused fused;

        (void)add(&chunks, GR_CHUNK_object, NULL, 0, 0);
        (void)add(&chunks, GR_CHUNK_object, NULL, 0, 0);
        for (uint32_t i = 2; i < count; i++) {
            enum gr_chunk_op op = ops[(size_t)rand_r(&seed) % (sizeof ops / sizeof ops[0])];
            size_t many = op == GR_CHUNK_join_probe || op == GR_CHUNK_concat ? (size_t)rand_r(&seed) % 3 + 1 : 1;
            struct gr_piece inputs[4];

            for (size_t k = 0; k < many; k++) {
                do {
                    inputs[k].op = (uint32_t)rand_r(&seed) % i;
                    inputs[k].output = 0;
                } while (chunks.chunks[inputs[k].op].op == GR_CHUNK_info);
            }
            inputs[many] = add(&chunks, op, inputs, many, 1);
            if (op == GR_CHUNK_info || rand_r(&seed) % 4 == 0 || i + 1 == count) {
                roots[root_count++] = inputs[many];
            }
        }
        fused = fuse(&chunks, roots, root_count);
        for (uint32_t s = 0; s < fused.count; s++) {
            assert_true(fused.first[s] < fused.first[s + 1]);
            for (uint32_t at = fused.first[s]; at < fused.first[s + 1]; at++) {
                const struct gr_chunk *chunk = &chunks.chunks[fused.ops[at]];

                for (uint32_t k = 0; k < chunk->input_count; k++) {
                    uint32_t from = gr_chunk_inputs(&chunks, chunk)[k].op;

                    assert_true(chunks.chunks[from].op == GR_CHUNK_object || fused.of[from] <= s);
                    assert_true(fused.of[from] != s || from < fused.ops[at]);
                }
            }
        }
        gr_fused_free(&fused);
        gr_chunks_free(&chunks);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_are_one_subtask_up_to_a_length),
        cmocka_unit_test(large_values_are_not_heaped_up),
        cmocka_unit_test(what_nobody_needs_is_left_out),
        cmocka_unit_test(fan_outs_fuse_when_they_are_small),
        cmocka_unit_test(subtasks_come_depth_first),
        cmocka_unit_test(any_graph_gives_sound_subtasks),
        cmocka_unit_test(probes_and_views_fuse),
        cmocka_unit_test(no_cycle_arises),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
