/*
 * Windows in parallel. Chunks deal out the columns that functions need by the keys of partitions (window_split). Each
 * part computes its results (window_part). Chunks take theirs back into the order of their rows (window_join).
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "data/texts.h"
#include "kernel/core/dealt.h"
#include "kernel/core/scratch.h"
#include "kernel/core/words.h"
#include "kernel/sort/keys.h"
#include "kernel/window/frame.h"

/* Rows of a column into hashes of what comes before; equal values have equal hashes whatever the chunk. */
static void
hash_column(const granary_column *column, uint64_t *hashes)
{
    struct sort_key key = {.column = column};
    bool decimal = gr_dtype_kind(column->dtype) == GRANARY_DECIMAL;
    uint64_t codes[SORT_BLOCK];
    uint8_t kinds[SORT_BLOCK];

    if (gr_dtype_is_text(column->dtype)) {
        for (int64_t row = 0; row < column->rows; row++) {
            size_t size = 0;
            const char *text = gr_is_null(column, row) ? "" : gr_text_at(column, row, &size);

            hashes[row] = word_mix(hashes[row] ^ (gr_is_null(column, row) ? 1 : gr_text_hash(text, size)));
        }
        return;
    }
    for (unsigned part = 0; part <= decimal; part++) {
        struct sort_lane lane = {.key = &key, .part = part};

        for (int64_t from = 0; from < column->rows; from += SORT_BLOCK) {
            size_t many = column->rows - from < SORT_BLOCK ? (size_t)(column->rows - from) : SORT_BLOCK;
            unsigned found = sort_encode(&lane, NULL, from, many, codes, kinds);

            for (size_t i = 0; i < many; i++) {
                uint64_t code = (found & (SORT_KIND_NULL | SORT_KIND_NAN)) != 0 ? codes[i] + kinds[i] : codes[i];

                hashes[from + (int64_t)i] = word_mix(hashes[from + (int64_t)i] ^ code);
            }
        }
    }
}

/* The parts of the rows, by the keys. *ret_parts: scratch_free() takes it back. */
static granary_err
parts_of_rows(const struct window_plan *plan, const granary_frame *frame, int64_t parts, uint16_t **ret_parts)
{
    uint64_t *hashes = scratch_alloc((size_t)(frame->rows + 1) * sizeof *hashes);
    uint16_t *part_of = scratch_alloc((size_t)(frame->rows + 1) * sizeof *part_of);
    granary_err err = GRANARY_OK;

    if (hashes == NULL || part_of == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)frame->rows);
    }
    if (err == GRANARY_OK) {
        memset(hashes, 0, (size_t)frame->rows * sizeof *hashes);
    }
    for (size_t k = 0; plan->partition != NULL && k < plan->partition->n_strings && err == GRANARY_OK; k++) {
        int at = gr_frame_find(frame, plan->partition->strings[k]);

        if (at < 0) {
            err = gr_fail(GRANARY_ENOENT, "there is no column '%s'", plan->partition->strings[k]);
        } else {
            hash_column(&frame->columns[at].view, hashes);
        }
    }
    for (int64_t row = 0; row < frame->rows && err == GRANARY_OK; row++) {
        part_of[row] = (uint16_t)((gr_uint128)hashes[row] * (uint64_t)parts >> 64);
    }
    scratch_free(hashes);
    if (err != GRANARY_OK) {
        scratch_free(part_of);
        return err;
    }
    *ret_parts = part_of;
    return GRANARY_OK;
}

granary_err
kernel_window_split(struct gr_kernel_call *call, const struct gr_chunk_window_split *params)
{
    const granary_frame *frame;
    granary_frame *needs = NULL;
    struct window_plan plan = {0};
    uint16_t *part_of = NULL;
    int64_t parts = params->parts;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = dealt_parts(parts);
    }
    if (err == GRANARY_OK) {
        err = window_plan_init(&params->window, &plan);
    }
    if (err == GRANARY_OK) {
        err = window_needs(&plan, frame, &needs);
    }
    if (err == GRANARY_OK) {
        err = parts_of_rows(&plan, frame, parts, &part_of);
    }
    if (err == GRANARY_OK) {
        err = dealt_yield(call, needs, part_of, parts);
    }
    scratch_free(part_of);
    gr_frame_destroy(needs);
    window_plan_fini(&plan);
    return err;
}

granary_err
kernel_window_part(struct gr_kernel_call *call, const struct gr_chunk_window_part *params)
{
    granary_frame *needs = NULL;
    granary_frame *results = NULL;
    struct window_plan plan = {0};
    int64_t *starts = NULL;
    granary_err err = window_plan_init(&params->window, &plan);

    if (err == GRANARY_OK) {
        err = dealt_join(call, 0, &needs, &starts);
    }
    if (err == GRANARY_OK) {
        err = window_results(&plan, needs, &results);
    }
    if (err == GRANARY_OK) {
        err = dealt_yield_stretches(call, results, starts, (int64_t)call->input_count);
    }
    gr_frame_destroy(needs);
    gr_frame_destroy(results);
    window_plan_fini(&plan);
    free(starts);
    return err;
}

/* Results part by part, back into the order of the frame's rows; *takes* them. */
static granary_err
results_ordered(const struct window_plan *plan, const granary_frame *frame, int64_t parts, granary_frame *results,
                granary_frame **ret_results)
{
    uint16_t *part_of = NULL;
    int64_t *indices = NULL;
    int64_t *places = scratch_alloc((size_t)(frame->rows + 1) * sizeof *places);
    int64_t *ends = calloc((size_t)parts + 1, sizeof *ends);
    granary_err err =
        places == NULL || ends == NULL ? gr_no_memory("window_join") : parts_of_rows(plan, frame, parts, &part_of);

    if (err == GRANARY_OK) {
        err = dealt_order(part_of, frame->rows, parts, ends, &indices);
    }
    for (int64_t i = 0; i < frame->rows && err == GRANARY_OK; i++) {
        places[indices[i]] = i;
    }
    if (err == GRANARY_OK) {
        err = gr_frame_take(results, places, frame->rows, ret_results);
    }
    scratch_free(part_of);
    scratch_free(indices);
    scratch_free(places);
    free(ends);
    gr_frame_destroy(results);
    return err;
}

granary_err
kernel_window_join(struct gr_kernel_call *call, const struct gr_chunk_window_join *params)
{
    const granary_frame *frame;
    granary_frame *joined = NULL;
    granary_frame *results = NULL;
    granary_frame *made = NULL;
    struct window_plan plan = {0};
    int64_t parts = (int64_t)call->input_count - 1;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = window_plan_init(&params->window, &plan);
    }
    if (err == GRANARY_OK) {
        err = dealt_join(call, 1, &joined, NULL);
    }
    if (err == GRANARY_OK && joined->rows != frame->rows) {
        err = gr_fail(GRANARY_EINVAL, "window_join: %lld results for %lld rows", (long long)joined->rows,
                      (long long)frame->rows);
        gr_frame_destroy(joined);
    } else if (err == GRANARY_OK) {
        err = results_ordered(&plan, frame, parts, joined, &results);
    }
    if (err == GRANARY_OK) {
        err = window_assign(frame, results, &made);
    }
    window_plan_fini(&plan);
    return call_yield(call, 0, made, err);
}
