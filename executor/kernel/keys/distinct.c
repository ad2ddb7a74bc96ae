/* distinct, duplicated: rows that are alike, numbered by their keys. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/frame_call.h"
#include "kernel/keys/keys.h"

enum keep { KEEP_FIRST, KEEP_LAST, KEEP_TWO, KEEP_NONE };

static granary_err
keep_of(const char *name, enum keep *ret_keep)
{
    static const char *const names[] = {"first", "last", "two", "none"};

    for (int k = 0; k < 4; k++) {
        if (strcmp(name, names[k]) == 0) {
            *ret_keep = (enum keep)k;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EINVAL, "'keep' is '%.40s'", name);
}

/* Rows of all frames, one after the other. */
struct marking {
    const granary_frame **frames;
    size_t count;
    int64_t rows;
    struct rows **sources;
    size_t key_count;
    uint32_t *ids;  /* by row */
    uint32_t room;  /* ids are below */
    uint8_t *keeps; /* by row */
};

static void
marking_fini(struct marking *marking)
{
    for (size_t s = 0; marking->sources != NULL && s < marking->count; s++) {
        rows_close(marking->sources[s]);
    }
    free(marking->sources);
    free(marking->ids);
    free(marking->keeps);
    free(marking->frames);
}

static granary_err
sources_open(struct marking *marking, const Granary__Attr *subset)
{
    const granary_frame *first = marking->frames[0];
    const char **names = calloc(first->count + 1, sizeof *names);
    struct rows_spec spec = {.wanted = names, .wanted_count = first->count};
    granary_err err = names == NULL ? gr_no_memory("distinct") : GRANARY_OK;

    for (size_t c = 0; c < first->count && err == GRANARY_OK; c++) {
        names[c] = first->columns[c].view.name;
    }
    if (subset != NULL) {
        spec.wanted = (const char *const *)subset->strings;
        spec.wanted_count = subset->n_strings;
    }
    marking->key_count = spec.wanted_count;
    for (size_t s = 0; s < marking->count && err == GRANARY_OK; s++) {
        marking->rows += marking->frames[s]->rows;
        err = rows_open(marking->frames[s], &spec, &marking->sources[s]);
    }
    free(names);
    return err;
}

static granary_err
rows_number(struct marking *marking)
{
    struct group_keys *keys = NULL;
    int64_t from = 0;
    granary_err err =
        group_keys_create(marking->sources, marking->count, marking->key_count, marking->rows, true, &keys);

    for (size_t s = 0; s < marking->count && err == GRANARY_OK; s++) {
        struct rows_block block = {.count = 1};

        while (err == GRANARY_OK && (err = rows_next(marking->sources[s], &block)) == GRANARY_OK && block.count > 0) {
            err = group_keys_find(keys, s, block.count, marking->ids + from + block.from);
        }
        from += marking->frames[s]->rows;
    }
    marking->room = keys != NULL ? group_keys_room(keys) : 0;
    group_keys_destroy(keys);
    return err;
}

static granary_err
rows_mark(struct marking *marking, enum keep keep)
{
    uint8_t *seen = calloc((size_t)marking->room + 1, 1); /* how often, 2 at most */

    if (seen == NULL) {
        return gr_no_memory("distinct");
    }
    for (int64_t i = 0; i < marking->rows; i++) {
        int64_t row = keep == KEEP_LAST ? marking->rows - 1 - i : i;
        uint8_t *times = &seen[marking->ids[row]];

        marking->keeps[row] = *times < (keep == KEEP_TWO ? 2 : 1);
        *times = *times < 2 ? (uint8_t)(*times + 1) : 2;
    }
    for (int64_t i = 0; keep == KEEP_NONE && i < marking->rows; i++) {
        marking->keeps[i] = seen[marking->ids[i]] == 1;
    }
    free(seen);
    return GRANARY_OK;
}

/* Which rows are kept; to be given to marking_fini(), whatever is returned. */
static granary_err
marking_make(struct marking *marking, const struct gr_kernel_call *call, const char *which, const Granary__Attr *subset)
{
    enum keep keep;
    granary_err err = keep_of(which, &keep);

    if (err == GRANARY_OK) {
        err = call_frames_encoded(call, &marking->frames);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    marking->count = call->input_count;
    marking->sources = calloc(marking->count + 1, sizeof(struct rows *));
    if (marking->sources == NULL) {
        return gr_no_memory("distinct");
    }
    err = sources_open(marking, subset);
    if (err == GRANARY_OK) { /* ids are written in whole blocks */
        marking->ids = malloc(((size_t)marking->rows + ROWS_BLOCK) * sizeof *marking->ids);
        marking->keeps = malloc((size_t)marking->rows + 1);
        err = marking->ids == NULL || marking->keeps == NULL ? gr_no_memory("distinct") : rows_number(marking);
    }
    return err == GRANARY_OK ? rows_mark(marking, keep) : err;
}

static granary_err
take_kept(const struct marking *marking, granary_frame **ret_frame)
{
    granary_frame **taken = calloc(marking->count + 1, sizeof(granary_frame *));
    int64_t *indices = malloc(((size_t)marking->rows + 1) * sizeof *indices);
    const uint8_t *keeps = marking->keeps;
    granary_err err = taken == NULL || indices == NULL ? gr_no_memory("distinct") : GRANARY_OK;

    for (size_t s = 0; s < marking->count && err == GRANARY_OK; s++) {
        int64_t count = 0;

        for (int64_t i = 0; i < marking->frames[s]->rows; i++) {
            indices[count] = i; /* overwritten by the next one unless it counts */
            count += keeps[i];
        }
        keeps += marking->frames[s]->rows;
        err = gr_frame_take(marking->frames[s], indices, count, &taken[s]);
    }
    if (err == GRANARY_OK && marking->count == 1) {
        *ret_frame = taken[0];
        taken[0] = NULL;
    } else if (err == GRANARY_OK) {
        err = gr_frame_concat((const granary_frame *const *)taken, marking->count, ret_frame);
    }
    for (size_t s = 0; taken != NULL && s < marking->count; s++) {
        gr_frame_destroy(taken[s]);
    }
    free(taken);
    free(indices);
    return err;
}

granary_err
kernel_distinct(struct gr_kernel_call *call, const struct gr_chunk_distinct *params)
{
    struct marking marking = {0};
    granary_frame *frame = NULL;
    granary_err err = marking_make(&marking, call, params->keep, params->subset);

    if (err == GRANARY_OK) {
        err = take_kept(&marking, &frame);
    }
    marking_fini(&marking);
    return call_yield(call, 0, frame, err);
}

granary_err
kernel_duplicated(struct gr_kernel_call *call, const struct gr_chunk_duplicated *params)
{
    struct marking marking = {0};
    granary_frame *frame = NULL;
    struct gr_column column;
    granary_err err = marking_make(&marking, call, params->keep, params->subset);

    if (err == GRANARY_OK) {
        err = gr_column_alloc(GRANARY_BOOL, marking.rows, 0, false, &column);
    }
    if (err == GRANARY_OK) {
        for (int64_t i = 0; i < marking.rows; i++) {
            if (!marking.keeps[i]) {
                gr_bit_set((uint8_t *)(uintptr_t)column.view.values, i);
            }
        }
        gr_column_finish(&column);
        frame = gr_frame_create(1, marking.rows);
        err = gr_frame_set(frame, 0, "duplicated", &column);
    }
    marking_fini(&marking);
    return call_yield(call, 0, frame, err);
}
