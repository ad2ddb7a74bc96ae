/* select, filter, assign, concat, project. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/place.h"
#include "kernel/core/frame_call.h"
#include "kernel/rows/rows.h"

/* What is known of columns goes on with them. */
static granary_err
keep_stats(const granary_frame *frame, granary_frame *selected)
{
    if (frame->stats == NULL) {
        return GRANARY_OK;
    }
    selected->stats = calloc(selected->count + 1, sizeof *selected->stats);
    for (size_t i = 0; selected->stats != NULL && i < selected->count; i++) {
        int at = gr_frame_find(frame, selected->columns[i].view.name);

        if (at >= 0) {
            selected->stats[i] = frame->stats[at];
        }
    }
    return selected->stats != NULL ? GRANARY_OK : gr_no_memory("select");
}

granary_err
kernel_select(struct gr_kernel_call *call, const struct gr_chunk_select *params)
{
    const Granary__Attr *names = params->columns;
    const granary_frame *frame;
    const granary_column **columns;
    granary_frame *selected = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = frame_columns(frame, names->strings, names->n_strings, &columns);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    selected = gr_frame_create(names->n_strings, frame->rows);
    if (selected == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "select: out of memory for %zu columns", names->n_strings);
    }
    for (size_t i = 0; i < names->n_strings && err == GRANARY_OK; i++) {
        err = gr_frame_set_borrowed(selected, i, names->strings[i], columns[i]);
    }
    if (err == GRANARY_OK) {
        err = keep_stats(frame, selected);
    }
    free(columns);
    return call_yield(call, 0, selected, err);
}

/* The columns of the frame, as names. To be freed. */
static char **
all_names(const granary_frame *frame)
{
    char **names = calloc(frame->count + 1, sizeof(char *));

    for (size_t i = 0; i < frame->count && names != NULL; i++) {
        names[i] = (char *)(uintptr_t)frame->columns[i].view.name;
    }
    return names;
}

granary_err
kernel_filter(struct gr_kernel_call *call, const struct gr_chunk_filter *params)
{
    const Granary__Attr *select = params->select;
    const granary_frame *frame = NULL;
    struct rows_spec spec = {.columns = params->columns};
    granary_frame *kept = NULL;
    char **names = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK && select == NULL && (names = all_names(frame)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "filter: out of memory for %zu columns", frame->count);
    }
    if (err == GRANARY_OK) {
        spec.where = params->where;
        spec.wanted = (const char *const *)(select != NULL ? select->strings : names);
        spec.wanted_count = select != NULL ? select->n_strings : frame->count;
        spec.stays = true;
        err = rows_frame(frame, &spec, spec.wanted, &kept);
    }
    free(names);
    return call_yield(call, 0, kept, err);
}

granary_err
kernel_assign(struct gr_kernel_call *call, const struct gr_chunk_assign *params)
{
    const Granary__Attr *map = params->columns;
    const granary_frame *frame = NULL;
    granary_frame *assigned = NULL;
    struct rows_spec spec = {0};
    struct gr_named entries = {(const char *const *)map->keys, sizeof map->keys[0], map->n_keys};
    struct gr_names index = {0};
    size_t *last = NULL; /* by the first entry of a name: the last one, which counts, as in a mapping */
    char **names = NULL;
    char **texts = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    names = calloc(frame->count + map->n_keys + 1, sizeof(char *));
    texts = calloc(frame->count + map->n_keys + 1, sizeof(char *));
    last = calloc(map->n_keys + 1, sizeof *last);
    if (names == NULL || texts == NULL || last == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "assign: out of memory for %zu columns", frame->count + map->n_keys);
        goto end;
    }
    gr_names_fill(&index, entries);
    for (size_t i = 0; i < map->n_keys; i++) {
        last[gr_names_find(&index, entries, map->keys[i])] = i;
    }
    for (size_t i = 0; i < frame->count; i++) {
        int entry;

        names[i] = (char *)(uintptr_t)frame->columns[i].view.name;
        entry = gr_names_find(&index, entries, names[i]);
        texts[i] = entry >= 0 ? map->strings[last[entry]] : names[i];
    }
    spec.wanted_count = frame->count;
    for (size_t i = 0; i < map->n_keys; i++) { /* those that are new come after the frame's columns */
        if (gr_names_find(&index, entries, map->keys[i]) == (int)i && gr_frame_find(frame, map->keys[i]) < 0) {
            names[spec.wanted_count] = map->keys[i];
            texts[spec.wanted_count++] = map->strings[last[i]];
        }
    }
    spec.wanted = (const char *const *)texts;
    spec.stays = true;
    err = rows_frame(frame, &spec, (const char *const *)names, &assigned);
end:
    gr_names_free(&index);
    free(last);
    free(names);
    free(texts);
    return call_yield(call, 0, assigned, err);
}

/* The first limit rows of several frames; only the frames that give rows are copied. */
static granary_err
concat_limited(const granary_frame **frames, size_t count, int64_t limit, granary_frame **ret_frame)
{
    granary_frame *last = NULL;
    size_t used = 0;
    int64_t rows = 0;
    granary_err err = GRANARY_OK;

    while (used < count && (used == 0 || rows < limit)) {
        rows += frames[used++]->rows;
    }
    if (rows > limit) {
        const granary_frame *cut = frames[used - 1];

        err = gr_frame_slice(cut, 0, cut->rows - (rows - limit), &last);
        frames[used - 1] = last;
    }
    if (err == GRANARY_OK && used == 1 && last != NULL) {
        *ret_frame = last;
        return GRANARY_OK;
    }
    if (err == GRANARY_OK && used > 1) {
        gr_place_expect_all(frames, used);
    }
    if (err == GRANARY_OK) {
        err = used == 1 ? frame_borrow(frames[0], ret_frame) : gr_frame_concat(frames, used, ret_frame);
    }
    gr_frame_destroy(last);
    return err;
}

/* The named columns of each frame, borrowed, in the frames' places. */
static granary_err
narrow_frames(const granary_frame **frames, size_t count, const Granary__Attr *names)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        granary_frame *narrow = gr_frame_create(names->n_strings, frames[i]->rows);

        if (narrow == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        for (size_t c = 0; c < names->n_strings && err == GRANARY_OK; c++) {
            int at = gr_frame_find(frames[i], names->strings[c]);

            err = at < 0 ? gr_fail(GRANARY_ENOENT, "there is no column '%s'", names->strings[c])
                         : gr_frame_set_borrowed(narrow, c, names->strings[c], &frames[i]->columns[at].view);
        }
        if (err != GRANARY_OK) {
            gr_frame_destroy(narrow);
            while (i > 0) {
                gr_frame_destroy((granary_frame *)(uintptr_t)frames[--i]);
            }
            return err;
        }
        frames[i] = narrow;
    }
    return err;
}

granary_err
kernel_concat(struct gr_kernel_call *call, const struct gr_chunk_concat *params)
{
    const Granary__Attr *names = params->columns;
    int64_t limit = params->limit;
    const granary_frame **frames;
    granary_frame *all = NULL;
    granary_err err = call_frames_encoded(call, &frames);

    if (err != GRANARY_OK) {
        return err;
    }
    if (names != NULL) {
        err = narrow_frames(frames, call->input_count, names);
    }
    if (err == GRANARY_OK) {
        err = concat_limited(frames, call->input_count, limit < 0 ? INT64_MAX : limit, &all);
        for (size_t i = 0; names != NULL && i < call->input_count; i++) {
            gr_frame_destroy((granary_frame *)(uintptr_t)frames[i]);
        }
    }
    free(frames);
    return call_yield(call, 0, all, err);
}

static granary_err
project_columns(const granary_frame *frame, const Granary__Attr *map, granary_frame **ret_frame)
{
    const struct rows_spec spec = {.wanted = (const char *const *)map->strings, .wanted_count = map->n_keys};

    return rows_frame(frame, &spec, (const char *const *)map->keys, ret_frame);
}

granary_err
kernel_project(struct gr_kernel_call *call, const struct gr_chunk_project *params)
{
    const Granary__Attr *map = params->columns;
    const granary_frame *frame;
    granary_frame *made = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = project_columns(frame, map, &made);
    }
    return call_yield(call, 0, made, err);
}
