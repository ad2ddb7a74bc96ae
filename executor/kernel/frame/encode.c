/* dictionary, encode: chunks of a frame get one dictionary a column, so that equal strings are equal codes everywhere.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/frame_call.h"

/* Beyond so many entries it is looked at whether chunks have them in common: each is to carry them all. */
#define FEW_ENTRIES 65536
/* A chunk of several is not refused for fewer: it may be the short one at the end. */
#define CHUNK_ENTRIES 262144

/* What dictionaries are made of: a column's own dictionary, or its strings. */
struct parts {
    const granary_column **columns;
    size_t count;
    int64_t largest; /* rows of a part */
    bool refused;    /* a dictionary of some of them was found not to pay */
};

static granary_err
parts_collect(const struct gr_kernel_call *call, const granary_frame *const *frames, const char *name,
              struct parts *parts)
{
    parts->columns = calloc(call->input_count + 1, sizeof *parts->columns);
    if (parts->columns == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < call->input_count; i++) {
        const granary_column *column = granary_frame_column_named(frames[i], name);

        if (column == NULL) {
            return gr_fail(GRANARY_ENOENT, "there is no column '%s'", name);
        }
        if (column->dtype != GRANARY_STRING) {
            if (column->null_count < column->rows) {
                return gr_fail(GRANARY_ETYPE, "column '%s' is %s: only strings are encoded", name,
                               granary_dtype_name(column->dtype));
            }
            continue;
        }
        column = column->dictionary != NULL ? column->dictionary : column;
        parts->refused |= call->input_count > 1 && column->null_count > 0;
        parts->largest = column->rows > parts->largest ? column->rows : parts->largest;
        parts->columns[parts->count++] = column;
    }
    return GRANARY_OK;
}

/* A frame of one column: entries, or one null. Takes entries. */
static granary_err
yield_entries(struct gr_kernel_call *call, const char *name, bool pays, struct gr_column *entries)
{
    granary_frame *frame = NULL;
    granary_err err = pays ? GRANARY_OK : gr_column_alloc(GRANARY_STRING, 1, 0, true, entries);

    if (err != GRANARY_OK) {
        return err;
    }
    if (!pays) {
        gr_column_finish(entries);
    }
    frame = gr_frame_create(1, entries->view.rows);
    err = gr_frame_set(frame, 0, name, entries);
    return call_yield(call, 0, frame, err);
}

/*
 * How many entries pay. In a table of one chunk, half as many as rows. In a chunk of several, nearly any number,
 * because all of them together decide: most strings must be in most chunks, or they must be few.
 */
static int64_t
entries_limit(const granary_frame *const *frames, size_t count, bool several, const struct parts *parts)
{
    int64_t half = frames[0]->rows / 2;

    if (count > 1) {
        return 2 * parts->largest > FEW_ENTRIES ? 2 * parts->largest : FEW_ENTRIES;
    }
    return several && half < CHUNK_ENTRIES ? CHUNK_ENTRIES : half;
}

/* Every chunk is to carry the entries: those that are more than that do not pay, however often they come. */
static void
refuse_large(int64_t most, struct gr_column *entries, bool *pays)
{
    if (*pays && entries->view.rows > 0 && entries->view.offsets[entries->view.rows] > most) {
        gr_column_free(entries);
        *entries = (struct gr_column){.owned = false};
        *pays = false;
    }
}

granary_err
kernel_dictionary(struct gr_kernel_call *call, const struct gr_chunk_dictionary *params)
{
    const granary_frame **frames = NULL;
    struct parts parts = {0};
    struct gr_column entries = {.owned = false};
    bool pays = false;
    granary_err err = call_frames_encoded(call, &frames);

    if (err == GRANARY_OK) {
        err = parts_collect(call, frames, params->column, &parts);
    }
    if (err == GRANARY_OK && !parts.refused) {
        err = gr_dictionaries_join(parts.columns, parts.count,
                                   entries_limit(frames, call->input_count, params->several, &parts), &pays, &entries);
    }
    if (err == GRANARY_OK) {
        refuse_large(params->most, &entries, &pays);
    }
    free(frames);
    free(parts.columns);
    return err == GRANARY_OK ? yield_entries(call, params->column, pays, &entries) : err;
}

/* A column in terms of a dictionary, which it borrows. */
static granary_err
encode_column(const granary_column *column, const granary_column *entries, struct gr_column *ret_column)
{
    struct gr_column view = {.view = *entries};
    const granary_column *strings = column->dictionary != NULL ? column->dictionary : column;
    int32_t *map = malloc(((size_t)strings->rows + 1) * sizeof *map);
    struct gr_dictionary *dictionary = NULL;
    struct gr_column codes = {.owned = false};
    granary_err err = map == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    if (err == GRANARY_OK && column->null_count < column->rows) {
        err = gr_dictionary_positions(entries, strings, map);
    }
    if (err == GRANARY_OK) {
        err = gr_column_alloc(GRANARY_INT32, column->rows, 0, column->validity != NULL, &codes);
    }
    if (err == GRANARY_OK) {
        err = gr_dictionary_create(&view, &dictionary);
    }
    if (err == GRANARY_OK) {
        int32_t *to = (int32_t *)(uintptr_t)codes.view.values;

        for (int64_t row = 0; column->null_count < column->rows && row < column->rows; row++) {
            to[row] = map[strings == column ? row : ((const int32_t *)column->values)[row]];
        }
        if (column->validity != NULL) {
            memcpy((uint8_t *)(uintptr_t)codes.view.validity, column->validity, (size_t)gr_bitmap_bytes(column->rows));
        }
        gr_column_finish(&codes);
        gr_column_set_dictionary(&codes, dictionary);
        *ret_column = codes;
    } else {
        gr_column_free(&codes);
    }
    free(map);
    return err;
}

/* The dictionary of a column among the call's inputs, or NULL when it stays as it is. */
static granary_err
dictionary_for(const struct gr_kernel_call *call, const Granary__Attr *names, const granary_column *column,
               const granary_column **ret_entries)
{
    *ret_entries = NULL;
    for (size_t i = 0; i < names->n_strings; i++) {
        const granary_frame *frame;
        granary_err err;

        if (strcmp(names->strings[i], column->name) != 0) {
            continue;
        }
        err = call_frame(call, i + 1, &frame);
        if (err != GRANARY_OK) {
            return err;
        }
        if (frame->count != 1 || (frame->columns[0].view.dtype != GRANARY_STRING && frame->rows > 0)) {
            return gr_fail(GRANARY_EINVAL, "input %zu is no dictionary of '%s'", i + 1, column->name);
        }
        *ret_entries = frame->rows > 0 && frame->columns[0].view.null_count == 0 ? &frame->columns[0].view : NULL;
    }
    return GRANARY_OK;
}

granary_err
kernel_encode(struct gr_kernel_call *call, const struct gr_chunk_encode *params)
{
    const Granary__Attr *names = params->columns;
    const granary_frame *frame = NULL;
    granary_frame *encoded = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        encoded = gr_frame_create(frame->count, frame->rows);
    }
    for (size_t c = 0; err == GRANARY_OK && c < frame->count; c++) {
        const granary_column *column = &frame->columns[c].view;
        const granary_column *entries;
        struct gr_column made;

        err = dictionary_for(call, names, column, &entries);
        if (err != GRANARY_OK) {
            break;
        }
        if (entries == NULL) {
            err = gr_frame_set_borrowed(encoded, c, column->name, column);
        } else if ((err = encode_column(column, entries, &made)) == GRANARY_OK) {
            err = gr_frame_set(encoded, c, column->name, &made);
        } else {
            (void)gr_fail_in(err, "column '%s'", column->name);
        }
    }
    return call_yield(call, 0, encoded, err);
}
