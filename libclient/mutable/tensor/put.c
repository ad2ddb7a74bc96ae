/*
 * Elements written. Each chunk that a write touches gets a note: of a box with its values, of single elements, or of all of
 * the chunk. A large chunk that is written as a whole is an object.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "data/tensor.h"
#include "mutable/tensor/select.h"
#include "mutable/write.h"

#define TILES_TOGETHER 4                    /* so many objects are kept by one, which costs a message or two */
#define TILE_LEAST     ((uint64_t)64 << 10) /* bytes: smaller chunks are not worth an object */

/* A write of a selection. */
struct put {
    struct write *write;
    const struct selection *selection;
    const char *values;
    int64_t strides[TENSOR_DIMS]; /* of values, in bytes, along the selection's dimensions; 0 repeats */
    bool is_one;                  /* there is one value for all */
};

/* ---- values ---- */

/* How values repeat over the selection, as NumPy broadcasts. */
static granary_err
values_spread(struct put *put, const granary_tensor *values)
{
    const struct selection *selection = put->selection;
    int64_t stride = (int64_t)selection->shape->element;
    const int missing = selection->dims - values->dims;

    put->values = values->values;
    put->is_one = gr_tensor_elements(values) == 1;
    for (int i = values->dims; i-- > 0;) {
        const int out = i + missing;
        const int64_t want = out < 0 ? 1 : selection->out[out];

        if (values->shape[i] != 1 && values->shape[i] != want) {
            return gr_fail(GRANARY_EINVAL, "values have %lld elements along dimension %d: there is room for %lld",
                           (long long)values->shape[i], i, (long long)want);
        }
        if (out >= 0) {
            put->strides[out] = values->shape[i] == 1 ? 0 : stride;
        }
        stride *= values->shape[i];
    }
    return GRANARY_OK;
}

static granary_err
values_check(const granary_mutable *table, const granary_tensor *values)
{
    granary_tensor planned;

    if (values->dtype != table->tensor->dtype) {
        return gr_fail(GRANARY_ETYPE, "the tensor is of %s, the values are of %s",
                       granary_dtype_name(table->tensor->dtype), granary_dtype_name(values->dtype));
    }
    if (gr_npy_plan(values->dtype, values->dims, values->shape, &planned) != GRANARY_OK) {
        return GRANARY_EINVAL;
    }
    return values->values != NULL || gr_tensor_elements(values) == 0
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "the values are missing");
}

/* ---- boxes ---- */

/* Where the values of a part begin, and how they lie along the chunk's dimensions. */
static const char *
part_values(const struct put *put, const struct select_part *part, int64_t ret_strides[TENSOR_DIMS])
{
    const char *from = put->values;

    for (int i = 0; i < put->selection->shape->dims; i++) {
        const int out = put->selection->axis[i].out;

        ret_strides[i] = out < 0 ? 0 : put->strides[out];
        from += out < 0 ? 0 : part->at[i] * put->strides[out];
    }
    return from;
}

/* Where the elements of a part go in a dense chunk, in bytes. */
static void
chunk_strides(const struct tensor_shape *shape, const struct select_part *part, int64_t ret_strides[TENSOR_DIMS],
              int64_t *ret_at)
{
    shape_strides(shape, part->extent, ret_strides);
    *ret_at = 0;
    for (int i = 0; i < shape->dims; i++) {
        *ret_at += part->first[i] * ret_strides[i];
        ret_strides[i] *= part->step[i];
    }
}

/* A chunk whose elements are all written becomes an object. */
static granary_err
put_tile(const struct put *put, const struct select_part *part)
{
    const struct tensor_shape *shape = put->selection->shape;
    struct write *write = put->write;
    int64_t from_strides[TENSOR_DIMS], to_strides[TENSOR_DIMS], at = 0;
    const char *from = part_values(put, part, from_strides);
    granary_tensor planned;
    granary_buffer buffer;
    granary_err err = gr_npy_plan(shape->dtype, shape->dims, part->extent, &planned);

    err = err == GRANARY_OK ? write_tile_create(write, gr_npy_measure(&planned), &buffer) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    chunk_strides(shape, part, to_strides, &at);
    copy_box(shape->dims, part->counts, from, from_strides, (char *)gr_npy_begin(&planned, buffer.data) + at,
             to_strides, shape->element);
    err = granary_object_seal(write->table->client, &buffer);
    return err == GRANARY_OK ? write_tile(write, part->chunk, buffer.id) : err;
}

static granary_err
put_box(const struct put *put, const struct select_part *part)
{
    const struct tensor_shape *shape = put->selection->shape;
    const uint64_t axes = (uint64_t)shape->dims * sizeof(struct gr_note_axis);
    int64_t from_strides[TENSOR_DIMS], to_strides[TENSOR_DIMS], elements = 1;
    const char *from = part_values(put, part, from_strides);
    struct gr_mutable_note *note;
    granary_err err;

    for (int i = shape->dims; i-- > 0;) {
        to_strides[i] = put->is_one ? 0 : elements * (int64_t)shape->element;
        elements *= part->counts[i];
    }
    elements = put->is_one ? 1 : elements;
    err =
        write_note(put->write, GR_NOTE_BOX, sizeof *note + note_pad(axes) + (uint64_t)elements * shape->element, &note);
    if (err != GRANARY_OK) {
        return err;
    }
    note->chunk = part->chunk;
    note->count = (uint64_t)elements;
    for (int i = 0; i < shape->dims; i++) {
        const struct gr_note_axis axis = {part->first[i], part->counts[i] == 1 ? 1 : part->step[i], part->counts[i]};

        memcpy((char *)(note + 1) + (size_t)i * sizeof axis, &axis, sizeof axis);
    }
    if (put->is_one) {
        memcpy((char *)(note + 1) + note_pad(axes), from, shape->element);
    } else {
        copy_box(shape->dims, part->counts, from, from_strides, (char *)(note + 1) + note_pad(axes), to_strides,
                 shape->element);
    }
    return GRANARY_OK;
}

/* The values of a whole chunk, where a view can map them. */
static granary_err
put_whole(const struct put *put, const struct select_part *part, int64_t elements)
{
    const struct tensor_shape *shape = put->selection->shape;
    int64_t from_strides[TENSOR_DIMS], to_strides[TENSOR_DIMS], at = 0;
    const char *from = part_values(put, part, from_strides);
    struct gr_mutable_note *note;
    granary_err err = write_note(put->write, GR_NOTE_WHOLE, sizeof *note + (uint64_t)elements * shape->element, &note);

    if (err == GRANARY_OK) {
        note->chunk = part->chunk;
        note->count = (uint64_t)elements;
        chunk_strides(shape, part, to_strides, &at);
        copy_box(shape->dims, part->counts, from, from_strides, (char *)(note + 1) + at, to_strides, shape->element);
    }
    return err;
}

static granary_err
put_part(void *context, const struct select_part *part)
{
    const struct put *put = context;
    int64_t elements = 1;

    if (!part->is_whole || put->is_one) {
        return put_box(put, part);
    }
    for (int i = 0; i < put->selection->shape->dims; i++) {
        elements *= part->extent[i];
    }
    return (uint64_t)elements * put->selection->shape->element < TILE_LEAST ? put_whole(put, part, elements)
                                                                            : put_tile(put, part);
}

/* ---- elements ---- */

/* The value for a position of the selection. */
static const char *
element_value(const struct put *put, int64_t at)
{
    const struct selection *selection = put->selection;
    const char *from = put->values;

    for (int i = selection->dims; i-- > 0; at /= selection->out[i]) {
        from += at % selection->out[i] * put->strides[i];
    }
    return from;
}

/* Elements [from, to) of the selection, which are of one chunk, in their order: the last value of one counts. */
static granary_err
put_points(const struct put *put, int64_t from, int64_t to)
{
    const struct selection *selection = put->selection;
    const size_t element = selection->shape->element;
    const uint64_t points = (uint64_t)(to - from), values = put->is_one ? 1 : points;
    struct gr_mutable_note *note;
    char *offsets, *to_values;
    granary_err err = write_note(put->write, GR_NOTE_POINTS,
                                 sizeof *note + note_pad(points * sizeof(uint32_t)) + values * element, &note);

    if (err != GRANARY_OK) {
        return err;
    }
    note->chunk = selection->element[from].chunk;
    note->points = points;
    note->count = values;
    offsets = (char *)(note + 1);
    to_values = offsets + note_pad(points * sizeof(uint32_t));
    for (uint64_t i = 0; i < points; i++) {
        const struct select_element *at = &selection->element[from + (int64_t)i];

        memcpy(offsets + i * sizeof at->offset, &at->offset, sizeof at->offset);
        if (i < values) {
            memcpy(to_values + i * element, element_value(put, at->at), element);
        }
    }
    return GRANARY_OK;
}

static granary_err
put_elements(const struct put *put)
{
    const struct selection *selection = put->selection;
    granary_err err = GRANARY_OK;

    for (int64_t from = 0, to; err == GRANARY_OK && from < selection->elements; from = to) {
        for (to = from + 1;
             to < selection->elements && selection->element[to].chunk == selection->element[from].chunk;) {
            to++;
        }
        err = put_points(put, from, to);
    }
    return err;
}

/* ---- the calls ---- */

granary_err
granary_mutable_write_sized(granary_mutable *table, const granary_index *indexes, size_t count,
                            const granary_tensor *values, const granary_write_options *theirs, int64_t *ret_time,
                            size_t options_size)
{
    struct selection selection = {.element = NULL};
    struct write write;
    struct put put = {.write = &write, .selection = &selection};
    granary_write_options options;
    granary_err err = gr_sized_take(&options, sizeof options, theirs, options_size);

    if (err != GRANARY_OK) {
        return err;
    }
    err = write_begin(&write, table, &options);
    err = err == GRANARY_OK ? table_check_tensor(table) : err;
    err = err == GRANARY_OK ? values_check(table, values) : err;
    err = err == GRANARY_OK ? select_resolve(table->tensor, indexes, count, &selection) : err;
    err = err == GRANARY_OK ? values_spread(&put, values) : err;
    if (err == GRANARY_OK && selection.elements > 0) {
        err = selection.is_expanded ? put_elements(&put) : select_parts(&selection, put_part, &put);
    }
    select_free(&selection);
    return write_end(&write, err, ret_time);
}

/* Whether an object is a tensor that fits a chunk. Errors: EINVAL · ETYPE · as granary_object_get() */
static granary_err
check_chunk(const granary_mutable *table, uint64_t chunk, granary_id id)
{
    const struct tensor_shape *shape = table->tensor;
    int64_t origin[TENSOR_DIMS], extent[TENSOR_DIMS];
    granary_tensor tensor = {.dims = 0};
    granary_view view;
    bool fits;
    granary_err err = chunk < shape->chunks ? granary_object_get(table->client, id, 0, &view)
                                            : gr_fail(GRANARY_EINVAL, "there is no chunk %llu: it has %llu",
                                                      (unsigned long long)chunk, (unsigned long long)shape->chunks);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_tensor_open(&view, &tensor);
    granary_object_release(table->client, &view);
    if (err == GRANARY_OK && tensor.dtype != shape->dtype) {
        err = gr_fail(GRANARY_ETYPE, "the tensor is of %s, the object is of %s", granary_dtype_name(shape->dtype),
                      granary_dtype_name(tensor.dtype));
    }
    (void)shape_extent(shape, chunk, origin, extent);
    fits = tensor.dims == shape->dims && memcmp(tensor.shape, extent, (size_t)shape->dims * sizeof *extent) == 0;
    return err != GRANARY_OK || fits
               ? err
               : gr_fail(GRANARY_EINVAL, "the object does not have the shape of chunk %llu", (unsigned long long)chunk);
}

granary_err
granary_mutable_put_chunks_sized(granary_mutable *table, const uint64_t *chunks, const granary_id *ids, size_t count,
                                 const granary_write_options *theirs, int64_t *ret_time, size_t options_size)
{
    granary_write_options options;
    struct write write;
    granary_err err = gr_sized_take(&options, sizeof options, theirs, options_size);

    if (err != GRANARY_OK) {
        return err;
    }
    err = write_begin(&write, table, &options);
    err = err == GRANARY_OK ? table_check_tensor(table) : err;
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = check_chunk(table, chunks[i], ids[i]);
    }
    if (err == GRANARY_OK && count >= TILES_TOGETHER) {
        err = write_tiles(&write, chunks, ids, count);
    }
    for (size_t i = 0; err == GRANARY_OK && count < TILES_TOGETHER && i < count; i++) {
        err = write_tile(&write, chunks[i], ids[i]);
    }
    return write_end(&write, err, ret_time);
}
