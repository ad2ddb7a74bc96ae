/* Tiles put together: notes of a chunk are looked for from the latest back to the last whole one, then applied forwards. */
#include "mutable/tensor/tile.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "data/tensor.h"

/* A chunk that is being put together. */
struct build {
    const granary_mutable *table;
    const struct tensor_shape *shape;
    int64_t extent[TENSOR_DIMS];
    int64_t strides[TENSOR_DIMS];
    int64_t elements;
    char *values;
};

/* ---- what the base is ---- */

/* Whether a tensor has the shape of a chunk. */
static bool
fits_chunk(const struct build *build, const granary_tensor *tensor)
{
    bool fits = tensor->dtype == build->shape->dtype && tensor->dims == build->shape->dims;

    for (int i = 0; fits && i < tensor->dims; i++) {
        fits = tensor->shape[i] == build->extent[i];
    }
    return fits;
}

/* Values in a slab, which is leased. */
static granary_err
base_whole(const struct build *build, const struct index_note *note, struct tile *tile)
{
    const uint64_t at = note_values_offset(note), size = (uint64_t)build->elements * build->shape->element;

    if (at > tile->view.data_size || size > tile->view.data_size - at) {
        granary_object_release(build->table->client, &tile->view);
        tile->view.data = NULL;
        return gr_fail(GRANARY_ECORRUPT, "the values of chunk %llu are not in their slab",
                       (unsigned long long)note->chunk);
    }
    tile->values = (const char *)tile->view.data + at;
    return GRANARY_OK;
}

static granary_err
base_get(const struct build *build, const struct index_note *note, struct tile *tile)
{
    granary_client *client = build->table->client;
    granary_tensor tensor;
    granary_err err = granary_object_get(client, note->tile, 0, &tile->view);

    if (err == GRANARY_ENOENT) {
        return gr_fail(GRANARY_ECORRUPT, "the object of chunk %llu is gone", (unsigned long long)note->chunk);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (note->kind == GR_NOTE_WHOLE) {
        return base_whole(build, note, tile);
    }
    err = granary_tensor_open(&tile->view, &tensor);
    if (err == GRANARY_OK && !fits_chunk(build, &tensor)) {
        err = gr_fail(GRANARY_ECORRUPT, "the object of chunk %llu has another shape", (unsigned long long)note->chunk);
    }
    if (err != GRANARY_OK) {
        granary_object_release(client, &tile->view);
        tile->view.data = NULL;
        return err;
    }
    tile->values = tensor.values;
    return GRANARY_OK;
}

/* ---- what was written over it ---- */

static granary_err
fail_note(const struct index_note *note)
{
    return gr_fail(GRANARY_ECORRUPT, "a write to chunk %llu makes no sense", (unsigned long long)note->chunk);
}

/* The values of a note behind its first part; NULL: they are not all there. */
static const char *
note_values(const struct build *build, const struct note_view *view, uint64_t first_part)
{
    const uint64_t room = view->head.size - sizeof view->head;
    const uint64_t at = note_pad(first_part);

    return first_part > room || at > room || view->head.count > (room - at) / build->shape->element ? NULL
                                                                                                    : view->body + at;
}

static granary_err
apply_box(const struct build *build, const struct index_note *note, const struct note_view *view)
{
    const uint64_t axes = (uint64_t)build->shape->dims * sizeof(struct gr_note_axis);
    int64_t counts[TENSOR_DIMS], from_strides[TENSOR_DIMS], to_strides[TENSOR_DIMS], elements = 1, to = 0;
    const char *values = note_values(build, view, axes);
    const bool is_one = view->head.count == 1;

    for (int i = build->shape->dims; values != NULL && i-- > 0;) {
        const int64_t extent = build->extent[i];
        struct gr_note_axis axis;
        int64_t last;

        memcpy(&axis, view->body + (size_t)i * sizeof axis, sizeof axis);
        if (axis.first < 0 || axis.first >= extent || axis.count < 1 || axis.count > extent || axis.step > extent ||
            axis.step < -extent) {
            return fail_note(note);
        }
        last = axis.first + (axis.count - 1) * axis.step;
        if (last < 0 || last >= extent) {
            return fail_note(note);
        }
        counts[i] = axis.count;
        from_strides[i] = is_one ? 0 : elements * (int64_t)build->shape->element;
        to_strides[i] = axis.step * build->strides[i];
        to += axis.first * build->strides[i];
        elements *= axis.count;
    }
    if (values == NULL || (!is_one && view->head.count != (uint64_t)elements)) {
        return fail_note(note);
    }
    copy_box(build->shape->dims, counts, values, from_strides, build->values + to, to_strides, build->shape->element);
    return GRANARY_OK;
}

static granary_err
apply_points(const struct build *build, const struct index_note *note, const struct note_view *view)
{
    const size_t element = build->shape->element;
    const uint64_t points = view->head.points;
    const char *values =
        points > (view->head.size - sizeof view->head) / sizeof(uint32_t) ? NULL : note_values(build, view, points * 4);

    if (values == NULL || (view->head.count != 1 && view->head.count != points)) {
        return fail_note(note);
    }
    for (uint64_t i = 0; i < points; i++) {
        uint32_t offset;

        memcpy(&offset, view->body + i * sizeof offset, sizeof offset);
        if (offset >= (uint64_t)build->elements) {
            return fail_note(note);
        }
        memcpy(build->values + offset * element, values + (view->head.count == 1 ? 0 : i * element), element);
    }
    return GRANARY_OK;
}

static granary_err
apply(const struct build *build, const struct index_note *note)
{
    struct note_view view;
    granary_err err = note_get(build->table->client, build->table->id, note, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    err = note->kind == GR_NOTE_BOX      ? apply_box(build, note, &view)
          : note->kind == GR_NOTE_POINTS ? apply_points(build, note, &view)
                                         : fail_note(note);
    note_release(build->table->client, &view);
    return err;
}

/* ---- a chunk ---- */

/* The values of the base, in memory of ours. */
static granary_err
build_begin(struct build *build, const struct tile *base)
{
    const size_t element = build->shape->element;

    build->values = malloc((size_t)build->elements * element + 1);
    if (build->values == NULL) {
        return gr_fail(GRANARY_ENOMEM, "a chunk of %lld elements: out of memory", (long long)build->elements);
    }
    if (base->values != NULL) {
        memcpy(build->values, base->values, (size_t)build->elements * element);
    }
    for (int64_t i = 0; base->values == NULL && i < build->elements; i++) {
        memcpy(build->values + (size_t)i * element, build->shape->fill, element);
    }
    return GRANARY_OK;
}

/* What was written over the base, the latest first. */
struct written {
    const struct index_note **note;
    size_t count;
    size_t room;
};

/* The notes of a chunk up to a time, back to the last whole one, which is the base; NULL: the fill is. */
static granary_err
written_collect(const granary_mutable *table, uint64_t chunk, int64_t time, struct written *written,
                const struct index_note **ret_base)
{
    const struct index_note *note = index_latest(&table->index, chunk, time);

    for (; note != NULL && !note_is_base(note); note = index_older(&table->index, note)) {
        if (!gr_grow(&written->note, &written->room, written->count, sizeof(struct index_note *))) {
            return gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        written->note[written->count++] = note;
    }
    *ret_base = note;
    return GRANARY_OK;
}

granary_err
tile_get(const granary_mutable *table, uint64_t chunk, int64_t time, struct tile *ret_tile)
{
    struct build build = {.table = table, .shape = table->tensor};
    const struct index_note *base = NULL;
    struct written written = {.count = 0};
    struct tile tile = {.values = NULL};
    int64_t origin[TENSOR_DIMS];
    granary_err err = written_collect(table, chunk, time, &written, &base);

    build.elements = shape_extent(build.shape, chunk, origin, build.extent);
    shape_strides(build.shape, build.extent, build.strides);
    err = err == GRANARY_OK && base != NULL ? base_get(&build, base, &tile) : err;
    if (err == GRANARY_OK && written.count > 0) {
        err = build_begin(&build, &tile);
        for (size_t i = written.count; err == GRANARY_OK && i-- > 0;) {
            err = apply(&build, written.note[i]);
        }
        tile_release(table->client, &tile);
        tile.values = tile.owned = build.values;
    }
    free(written.note);
    if (err != GRANARY_OK) {
        tile_release(table->client, &tile);
        return err;
    }
    *ret_tile = tile;
    return GRANARY_OK;
}

void
tile_release(granary_client *client, struct tile *tile)
{
    if (tile->view.data != NULL) {
        granary_object_release(client, &tile->view);
    }
    free(tile->owned);
    *tile = (struct tile){.values = NULL};
}
