/*
 * groupby_deal: where there are about as many groups as rows, nothing is gained by grouping a chunk before its rows are
 * dealt to parts. So the rows themselves are dealt, as frames of keys, arguments and the hash of the keys. Keys lie
 * in the form that results have (one zero, one NaN). Each dictionary of a key is written once a chunk, not once a
 * part.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/dealt.h"
#include "kernel/core/scratch.h"
#include "kernel/group/dealt_rows.h"
#include "kernel/group/tables.h"
#include "kernel/keys/keys.h"
#include "kernel/rows/rows.h"

/* ---- the rows that count ---- */

/* Column i of a dealt frame: keys, then arguments, then the hash. */
static const char *
text_of(const struct group_plan *plan, size_t i)
{
    return i < plan->keys->n_strings ? plan->keys->strings[i] : plan->arguments[i - plan->keys->n_strings];
}

static granary_err
columns_compute(const struct gr_kernel_call *call, const struct gr_chunk_groupby_deal *params,
                const struct group_plan *plan, granary_frame **ret_frame)
{
    size_t count = plan->keys->n_strings + plan->argument_count;
    const char **texts = calloc(2 * count + 1, sizeof *texts);
    char(*names)[GROUP_DEALT_NAME] = calloc(count + 1, sizeof *names);
    struct rows_spec spec = {
        .where = params->where, .columns = params->columns, .wanted = texts, .wanted_count = count};
    const granary_frame *frame;
    granary_err err =
        texts == NULL || names == NULL ? gr_no_memory("groupby") : call_frame_encoded(call, params->reference, &frame);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        texts[i] = text_of(plan, i);
        group_dealt_name(i, names[i]);
        texts[count + i] = names[i];
    }
    if (err == GRANARY_OK) {
        err = rows_frame(frame, &spec, texts + count, ret_frame);
    }
    free(texts);
    free(names);
    return err;
}

/* Rows with a null key are left out. */
static granary_err
drop_nulls(size_t keys, granary_frame **frame)
{
    const granary_frame *all = *frame;
    int64_t *indices = scratch_alloc((size_t)(all->rows + 1) * sizeof *indices);
    granary_frame *kept = NULL;
    int64_t count = 0;
    granary_err err = indices == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    for (int64_t row = 0; row < all->rows && err == GRANARY_OK; row++) {
        bool there = true;

        for (size_t k = 0; k < keys && there; k++) {
            const granary_column *key = &all->columns[k].view;

            there = key->dtype != GRANARY_NULLTYPE && !gr_is_null(key, row);
        }
        indices[count] = row;
        count += there;
    }
    if (err == GRANARY_OK) {
        err = gr_frame_take(all, indices, count, &kept);
    }
    scratch_free(indices);
    if (err == GRANARY_OK) {
        gr_frame_destroy(*frame);
        *frame = kept;
    }
    return err;
}

static bool
any_nulls(const granary_frame *frame, size_t keys)
{
    bool any = false;

    for (size_t k = 0; k < keys; k++) {
        any = any || frame->columns[k].view.dtype == GRANARY_NULLTYPE || frame->columns[k].view.null_count != 0;
    }
    return any;
}

/* ---- the forms of keys ---- */

/* One zero, one NaN. */
static granary_err
make_reals_one(const granary_column *key, struct gr_column *ret_column)
{
    struct gr_run run = {key, 0, key->rows};
    granary_err err = gr_column_concat(&run, 1, key->dtype, ret_column);
    void *values = (void *)(uintptr_t)ret_column->view.values;

    for (int64_t i = 0; i < key->rows && err == GRANARY_OK; i++) {
        if (key->dtype == GRANARY_FLOAT32) {
            float x = ((float *)values)[i];

            ((float *)values)[i] = isnan(x) ? NAN : x + 0.0F;
        } else {
            double x = ((double *)values)[i];

            ((double *)values)[i] = isnan(x) ? NAN : x + 0.0;
        }
    }
    return err;
}

/* The frame to be dealt, of the columns of another one, with room for the hash. */
static granary_err
with_forms(const granary_frame *frame, size_t keys, granary_frame **ret_frame)
{
    granary_frame *formed = gr_frame_create(frame->count + 1, frame->rows);
    granary_err err = GRANARY_OK;

    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        const granary_column *from = &frame->columns[c].view;
        struct gr_column made;

        if (c < keys && group_is_real(from->dtype)) {
            err = make_reals_one(from, &made);
            err = err == GRANARY_OK ? gr_frame_set(formed, c, from->name, &made) : err;
        } else {
            err = gr_frame_set_borrowed(formed, c, from->name, from);
        }
    }
    return gr_frame_give(formed, err, ret_frame);
}

/* The last column: a hash of the keys. *ret_parts: the part of each row; scratch_free() takes it back. */
static granary_err
add_hashes(granary_frame *frame, size_t keys, uint32_t parts, uint16_t **ret_parts)
{
    granary_frame of_keys = {.rows = frame->rows, .count = keys, .columns = frame->columns};
    uint16_t *part_of = scratch_alloc((size_t)(frame->rows + 1) * sizeof *part_of);
    char name[GROUP_DEALT_NAME];
    struct gr_column column;
    uint64_t *hashes;
    granary_err err = part_of == NULL ? gr_no_memory("groupby")
                                      : gr_column_alloc_unset(GRANARY_UINT64, frame->rows, 0, false, &column);

    if (err == GRANARY_OK) {
        hashes = (uint64_t *)(uintptr_t)column.view.values;
        group_keys_hashes(&of_keys, hashes);
        for (int64_t i = 0; i < frame->rows; i++) {
            part_of[i] = (uint16_t)group_part_of_hash(hashes[i], parts);
        }
        group_dealt_name(frame->count - 1, name);
        err = gr_frame_set(frame, frame->count - 1, name, &column);
    }
    if (err != GRANARY_OK) {
        scratch_free(part_of);
        return err;
    }
    *ret_parts = part_of;
    return GRANARY_OK;
}

/* ---- dictionaries ---- */

/* A key's dictionary as a frame of one column, or of none; the key becomes its codes. there: the reference's column;
 * NULL: it has none. */
static granary_err
take_dictionary(granary_frame *frame, int64_t key, const granary_column *there, granary_frame **ret_entries)
{
    granary_column *codes = &frame->columns[key].view;
    const granary_column *entries = codes->dictionary;
    bool same = entries != NULL && there != NULL && there->dictionary != NULL &&
                gr_dictionary_equals(entries, there->dictionary);
    granary_frame *made = gr_frame_create(entries != NULL, entries != NULL && !same ? entries->rows : 0);
    granary_err err = GRANARY_OK;

    if (err == GRANARY_OK && same) {
        struct gr_column none;

        err = gr_column_alloc(GRANARY_INT32, 0, 0, false, &none);
        err = err == GRANARY_OK ? gr_frame_set(made, 0, "entries", &none) : err;
    } else if (err == GRANARY_OK && entries != NULL) {
        err = gr_frame_set_borrowed(made, 0, "entries", entries);
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(made);
        return err;
    }
    if (entries != NULL) {
        codes->dtype = GRANARY_INT32;
        codes->dictionary = NULL;
    }
    *ret_entries = made;
    return GRANARY_OK;
}

granary_err
group_dealt_texts(const Granary__Attr *texts, const struct group_plan *plan)
{
    bool fits = texts->n_ints <= plan->keys->n_strings;

    for (size_t i = 0; fits && i < texts->n_ints; i++) {
        fits = texts->ints[i] >= 0 && (uint64_t)texts->ints[i] < plan->keys->n_strings;
    }
    return fits ? GRANARY_OK : gr_fail(GRANARY_EINVAL, "'texts' names no key");
}

/* ---- the whole ---- */

/* Dictionaries are made frames of, and all is written. */
static granary_err
rows_deal(struct gr_kernel_call *call, const struct gr_chunk_groupby_deal *params, const struct group_plan *plan,
          granary_frame *frame, const uint16_t *part_of)
{
    const Granary__Attr *texts = params->texts;
    granary_frame **dictionaries = calloc(texts->n_ints + 1, sizeof *dictionaries);
    const granary_frame *reference = NULL;
    granary_err err = dictionaries == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    if (err == GRANARY_OK && params->reference) {
        err = call_frame_encoded(call, 0, &reference);
    }
    for (size_t i = 0; i < texts->n_ints && err == GRANARY_OK; i++) {
        const char *name = plan->keys->strings[texts->ints[i]];

        err = take_dictionary(frame, texts->ints[i],
                              reference != NULL ? granary_frame_column_named(reference, name) : NULL, &dictionaries[i]);
    }
    if (err == GRANARY_OK) {
        err = dealt_yield_with(call, frame, part_of, params->parts, dictionaries, texts->n_ints);
    }
    for (size_t i = 0; dictionaries != NULL && i < texts->n_ints; i++) {
        gr_frame_destroy(dictionaries[i]);
    }
    free(dictionaries);
    return err;
}

granary_err
kernel_groupby_deal(struct gr_kernel_call *call, const struct gr_chunk_groupby_deal *params)
{
    granary_frame *computed = NULL;
    granary_frame *formed = NULL;
    uint16_t *part_of = NULL;
    struct group_plan plan;
    granary_err err = group_plan_init(&params->group, &plan);

    if (err != GRANARY_OK) {
        return err;
    }
    err = group_dealt_texts(params->texts, &plan);
    if (err == GRANARY_OK) {
        err = dealt_parts(params->parts);
    }
    if (err == GRANARY_OK) {
        err = columns_compute(call, params, &plan, &computed);
    }
    if (err == GRANARY_OK && !plan.keep_nulls && any_nulls(computed, plan.keys->n_strings)) {
        err = drop_nulls(plan.keys->n_strings, &computed);
    }
    if (err == GRANARY_OK) {
        err = with_forms(computed, plan.keys->n_strings, &formed);
    }
    if (err == GRANARY_OK) {
        err = add_hashes(formed, plan.keys->n_strings, (uint32_t)params->parts, &part_of);
    }
    if (err == GRANARY_OK) {
        err = rows_deal(call, params, &plan, formed, part_of);
    }
    scratch_free(part_of);
    gr_frame_destroy(formed);
    gr_frame_destroy(computed);
    group_plan_fini(&plan);
    return err;
}
