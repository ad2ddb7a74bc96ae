/*
 * Mutable tensors: random writes and reads of all kinds of selections beside a naive model that keeps every write of every
 * element; and what is particular. GRANARY_RANDOM_OPERATIONS says how many, GRANARY_RANDOM_SEED which.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "granary/mutable.h"

#define HANDLES     3
#define TENSOR_LIFE 60 /* operations */
#define DIMS_MOST   3
#define LENGTH_MOST 9
#define ELEMENTS    (LENGTH_MOST * LENGTH_MOST * LENGTH_MOST)
#define PICKED_MOST (ELEMENTS * 4)

/* A value that an element had. */
struct version {
    int64_t time;
    size_t order;
    int64_t value;
    struct version *before;
};

struct model {
    granary_client *client;
    granary_mutable *handles[HANDLES];
    char name[32];
    int dims;
    int64_t shape[8];
    int64_t fill;
    struct version *elements[ELEMENTS];
    int64_t frontier, newest, horizon; /* reads are refused before the horizon */
    size_t operations, reads, mapped, writes;
    uint64_t seed;
};

/* Indexes, and what they mean, found out position by position. */
struct picked {
    granary_index indexes[DIMS_MOST + 1];
    size_t count;
    int64_t lists[DIMS_MOST][12];
    bool mask[ELEMENTS];
    int dims; /* of the result */
    int64_t shape[8];
    int64_t elements[PICKED_MOST]; /* flat positions in the tensor, in the result's order */
    int64_t total;
};

static uint64_t
draw(struct model *model, uint64_t below)
{
    model->seed = model->seed * 6364136223846793005u + 1442695040888963407u;
    return (model->seed >> 33) % below;
}

/* ---- selections ---- */

/* Positions of one dimension, naively. */
struct axis {
    int64_t at[LENGTH_MOST];
    int64_t count;
    bool goes;    /* one position by number */
    bool is_list; /* together with the other lists */
};

/* As Python counts them. */
static void
naive_slice(granary_slice slice, int64_t length, struct axis *axis)
{
    int64_t start = slice.start, stop = slice.stop;

    if (slice.step > 0) {
        start = start == GRANARY_OMITTED ? 0 : start < 0 ? (start + length < 0 ? 0 : start + length) : start;
        stop = stop == GRANARY_OMITTED ? length : stop < 0 ? stop + length : stop > length ? length : stop;
        for (int64_t at = start; at < stop; at += slice.step) {
            axis->at[axis->count++] = at;
        }
    } else {
        start = start == GRANARY_OMITTED ? length - 1 : start < 0 ? start + length : start;
        start = start >= length ? length - 1 : start;
        stop = stop == GRANARY_OMITTED ? -1 : stop < 0 ? (stop + length < 0 ? -1 : stop + length) : stop;
        for (int64_t at = start; at > stop && at >= 0; at += slice.step) {
            axis->at[axis->count++] = at;
        }
    }
}

static int64_t
draw_bound(struct model *model, int64_t length)
{
    return draw(model, 3) == 0 ? GRANARY_OMITTED : (int64_t)draw(model, (uint64_t)length * 2 + 3) - length - 1;
}

static void
draw_axis(struct model *model, struct picked *picked, int dimension, int64_t list_count, struct axis *axis)
{
    const int64_t length = model->shape[dimension];
    granary_index *index = &picked->indexes[picked->count++];

    *index = (granary_index){.kind = GRANARY_INDEX_SLICE};
    if (list_count >= 0 && length > 0) {
        axis->is_list = true;
        axis->count = list_count;
        index->kind = GRANARY_INDEX_LIST;
        index->list = picked->lists[dimension];
        index->count = (size_t)list_count;
        for (int64_t i = 0; i < list_count; i++) {
            axis->at[i] = (int64_t)draw(model, (uint64_t)length);
            picked->lists[dimension][i] = draw(model, 3) == 0 ? axis->at[i] - length : axis->at[i];
        }
        return;
    }
    if (draw(model, 4) == 0 && length > 0) {
        axis->at[0] = (int64_t)draw(model, (uint64_t)length);
        axis->count = 1;
        axis->goes = true;
        index->slice = (granary_slice){.start = draw(model, 2) == 0 ? axis->at[0] - length : axis->at[0], .step = 0};
        return;
    }
    index->slice = (granary_slice){draw_bound(model, length), draw_bound(model, length), (int64_t)draw(model, 7) - 3};
    if (index->slice.step == 0) {
        index->slice = (granary_slice)GRANARY_SLICE_ALL;
    }
    naive_slice(index->slice, length, axis);
}

/* What the axes mean together: lists go side by side. */
static void
pick(const struct model *model, struct picked *picked, const struct axis *axes)
{
    int64_t index[9] = {0};
    int first = -1, last = -1, points = -1, out_of[DIMS_MOST];
    bool together = true;

    for (int i = 0; i < model->dims; i++) {
        first = axes[i].is_list && first < 0 ? i : first;
        last = axes[i].is_list ? i : last;
    }
    for (int i = first; first >= 0 && i <= last; i++) {
        together = together && axes[i].is_list;
    }
    if (first >= 0 && !together) {
        points = picked->dims;
        picked->shape[picked->dims++] = axes[first].count;
    }
    for (int i = 0; i < model->dims; i++) {
        if (axes[i].is_list && points < 0) {
            points = picked->dims;
            picked->shape[picked->dims++] = axes[i].count;
        } else if (!axes[i].is_list && !axes[i].goes) {
            out_of[i] = picked->dims;
            picked->shape[picked->dims++] = axes[i].count;
        }
    }
    picked->total = 1;
    for (int i = 0; i < picked->dims; i++) {
        picked->total *= picked->shape[i];
    }
    for (int64_t at = 0; at < picked->total; at++) {
        int64_t flat = 0;

        for (int i = 0; i < model->dims; i++) {
            flat = flat * model->shape[i] + axes[i].at[axes[i].goes      ? 0
                                                       : axes[i].is_list ? index[points]
                                                                         : index[out_of[i]]];
        }
        picked->elements[at] = flat;
        for (int i = picked->dims; i-- > 0 && ++index[i] == picked->shape[i];) {
            index[i] = 0;
        }
    }
}

/* A mask of all dimensions. */
static void
pick_mask(struct model *model, struct picked *picked)
{
    int64_t elements = 1;

    for (int i = 0; i < model->dims; i++) {
        elements *= model->shape[i];
    }
    for (int64_t i = 0; i < elements; i++) {
        picked->mask[i] = draw(model, 4) == 0;
        if (picked->mask[i]) {
            picked->elements[picked->total++] = i;
        }
    }
    picked->dims = 1;
    picked->shape[0] = picked->total;
    picked->count = 1;
    picked->indexes[0] = (granary_index){
        .kind = GRANARY_INDEX_MASK, .mask = picked->mask, .count = (size_t)elements, .mask_dims = model->dims};
}

static void
draw_selection(struct model *model, struct picked *picked)
{
    struct axis axes[DIMS_MOST];
    const int64_t list_count = 1 + (int64_t)draw(model, LENGTH_MOST);
    const uint64_t kind = draw(model, 8);
    int ellipsis = -1;

    memset(picked, 0, sizeof *picked);
    memset(axes, 0, sizeof axes);
    if (kind == 0) {
        pick_mask(model, picked);
        return;
    }
    if (kind == 1) { /* all of the dimensions in the midst */
        ellipsis = (int)draw(model, (uint64_t)model->dims);
    }
    for (int i = 0; i < model->dims; i++) {
        if (i == ellipsis) {
            picked->indexes[picked->count++] = (granary_index){.kind = GRANARY_INDEX_ELLIPSIS};
        }
        if (i == ellipsis || kind == 7) {
            naive_slice((granary_slice)GRANARY_SLICE_ALL, model->shape[i], &axes[i]);
        } else {
            draw_axis(model, picked, i, kind < 4 && draw(model, 2) == 0 ? list_count : -1, &axes[i]);
        }
    }
    pick(model, picked, axes);
}

/* ---- operations ---- */

static granary_write_options
draw_time(struct model *model)
{
    return (granary_write_options){.time = model->frontier + 1 + (int64_t)draw(model, 12)};
}

static void
note_written(struct model *model, int64_t element, int64_t time, int64_t value)
{
    struct version *version = malloc(sizeof *version);

    *version = (struct version){time, model->operations, value, model->elements[element]};
    model->elements[element] = version;
    model->newest = time > model->newest ? time : model->newest;
}

static int64_t
value_at(const struct model *model, int64_t element, int64_t time)
{
    const struct version *best = NULL;

    for (const struct version *v = model->elements[element]; v != NULL; v = v->before) { /* the last one first */
        best = v->time <= time && (best == NULL || v->time > best->time) ? v : best;
    }
    return best == NULL ? model->fill : best->value;
}

static void
do_write(struct model *model)
{
    const granary_write_options options = draw_time(model);
    int64_t values[PICKED_MOST], time = 0;
    granary_tensor tensor = {.dtype = GRANARY_INT64, .values = values};
    struct picked picked;
    const uint64_t spread = draw(model, 3);
    int64_t repeat = 1;

    draw_selection(model, &picked);
    tensor.dims = picked.dims;
    memcpy(tensor.shape, picked.shape, sizeof tensor.shape);
    if (spread == 0) { /* one value for all */
        tensor.dims = 0;
        repeat = 0;
    } else if (spread == 1 && picked.dims > 1) { /* rows that are the same */
        tensor.dims--;
        memmove(tensor.shape, tensor.shape + 1, 7 * sizeof *tensor.shape);
        for (int i = 0; i < tensor.dims; i++) {
            repeat *= tensor.shape[i];
        }
    } else {
        repeat = picked.total;
    }
    for (int64_t i = 0; i < PICKED_MOST; i++) {
        values[i] = (int64_t)draw(model, 1000000);
    }
    assert_ok(granary_mutable_write(model->handles[draw(model, HANDLES)], picked.indexes, picked.count, &tensor,
                                    &options, &time));
    assert_true(time == options.time);
    for (int64_t i = 0; i < picked.total; i++) {
        note_written(model, picked.elements[i], time, values[repeat == 0 ? 0 : i % repeat]);
    }
    model->newest = time > model->newest ? time : model->newest;
    model->writes++;
}

/* Some elements are what they were at a time. */
static void
check_elements(struct model *model, granary_mutable *table, int64_t asked, int64_t time)
{
    granary_mutable_part part;
    struct picked picked;

    draw_selection(model, &picked);
    assert_ok(granary_mutable_view(table, asked, picked.indexes, picked.count, &part));
    assert_int_equal(part.tensor.dims, picked.dims);
    for (int i = 0; i < picked.dims; i++) {
        assert_int_equal(part.tensor.shape[i], picked.shape[i]);
    }
    for (int64_t i = 0; i < picked.total; i++) {
        assert_int_equal(((const int64_t *)part.tensor.values)[i], value_at(model, picked.elements[i], time));
    }
    model->mapped += part.mapped;
    granary_mutable_release(model->client, &part);
    model->reads++;
}

static void
check_read(struct model *model, granary_mutable *table, int64_t asked)
{
    int64_t time = asked == GRANARY_NOW ? model->newest : asked;

    if (asked == GRANARY_NOW && time < model->horizon) {
        time = model->horizon;
    }
    if (time < model->horizon) {
        granary_mutable_part part;

        assert_err(granary_mutable_view(table, asked, NULL, 0, &part), GRANARY_ESTATE);
        return;
    }
    check_elements(model, table, asked, time);
    model->frontier = time > model->frontier ? time : model->frontier;
}

/* A sealed tensor is this one at a time. */
static void
check_sealed(struct model *model, granary_id id, int64_t time)
{
    granary_mutable *sealed = NULL;
    const int64_t value = 1;
    const granary_tensor one = {.dtype = GRANARY_INT64, .values = &value};

    assert_ok(granary_sealed_open(model->client, id, &sealed));
    for (int i = 0; i < 3; i++) {
        check_elements(model, sealed, i == 0 ? GRANARY_NOW : i, time);
    }
    assert_err(granary_mutable_write(sealed, NULL, 0, &one, NULL, NULL), GRANARY_ESEALED);
    assert_err(granary_mutable_watch(sealed, GRANARY_NOW, 0, NULL), GRANARY_ESEALED);
    granary_mutable_close(sealed);
}

/* A time that is final, and can be read. */
static int64_t
draw_past(struct model *model)
{
    const int64_t time = model->frontier - (int64_t)draw(model, 40);

    return time < model->horizon ? model->horizon : time;
}

/* Give up history up to some time: nothing changes for reads of later ones. */
static void
do_retain(struct model *model)
{
    const granary_retain retain = {.time = model->frontier - (int64_t)draw(model, 30)};
    int64_t time = 0;

    assert_ok(granary_mutable_retain(model->handles[draw(model, HANDLES)], &retain, &time));
    model->horizon = retain.time > model->horizon ? retain.time : model->horizon;
    assert_true(time == model->horizon);
}

static void
do_snapshot(struct model *model)
{
    const int64_t time = draw_past(model);
    granary_id id;

    assert_ok(granary_mutable_snapshot(model->handles[draw(model, HANDLES)], time, NULL, &id));
    check_sealed(model, id, time);
    assert_ok(granary_object_delete(model->client, id, 0));
}

static void
do_read(struct model *model)
{
    const uint64_t when = draw(model, 4);

    check_read(model, model->handles[draw(model, HANDLES)],
               when == 0   ? GRANARY_NOW
               : when == 1 ? model->frontier + 1 + (int64_t)draw(model, 10)
                           : model->frontier - (int64_t)draw(model, 40));
}

static void
do_reopen(struct model *model)
{
    granary_mutable **handle = &model->handles[draw(model, HANDLES)];

    granary_mutable_close(*handle);
    *handle = NULL;
    assert_ok(granary_mutable_open(model->client, model->name, handle));
}

/* ---- tensors ---- */

static void
tensor_begin(struct model *model)
{
    granary_mutable_tensor tensor = {.dtype = GRANARY_INT64, .fill = "-7"};

    model->fill = -7;
    model->dims = 1 + (int)draw(model, DIMS_MOST);
    tensor.dims = model->dims;
    for (int i = 0; i < model->dims; i++) {
        tensor.shape[i] = model->shape[i] = draw(model, 20) == 0 ? 0 : 1 + (int64_t)draw(model, LENGTH_MOST);
        tensor.chunk[i] = 1 + (int64_t)draw(model, LENGTH_MOST);
    }
    (void)snprintf(model->name, sizeof model->name, "random %zu", model->operations);
    assert_ok(granary_mutable_create_tensor(model->client, model->name, &tensor, NULL, &model->handles[0]));
    for (size_t i = 1; i < HANDLES; i++) {
        const granary_mutable_options open = {.flags = GRANARY_MUTABLE_OPEN};

        assert_ok(granary_mutable_create_tensor(model->client, model->name, &tensor, &open, &model->handles[i]));
    }
    model->frontier = -1000000;
    model->newest = INT64_MIN;
    model->horizon = INT64_MIN;
    check_read(model, model->handles[0], model->frontier);
}

static void
tensor_end(struct model *model)
{
    if (draw(model, 3) == 0) {
        const int64_t time = draw_past(model);
        granary_mutable_info info;
        granary_id id;

        assert_ok(granary_mutable_seal(model->handles[0], time, &id));
        check_sealed(model, id, time);
        assert_ok(granary_mutable_describe(model->client, model->name, &info));
        assert_int_equal(info.kind, GRANARY_SEALED_TENSOR);
    }
    for (size_t i = 0; i < HANDLES; i++) {
        granary_mutable_close(model->handles[i]);
    }
    assert_ok(granary_mutable_delete(model->client, model->name));
    for (size_t i = 0; i < ELEMENTS; i++) {
        while (model->elements[i] != NULL) {
            struct version *version = model->elements[i];

            model->elements[i] = version->before;
            free(version);
        }
    }
}

static uint64_t
setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static void
random_operations_equal_a_model(void **state)
{
    static void (*const operations[])(struct model *) = {do_write, do_write, do_write,  do_read,     do_read,
                                                         do_read,  do_read,  do_reopen, do_snapshot, do_retain};
    const size_t count = (size_t)setting("GRANARY_RANDOM_OPERATIONS", 6000);
    struct model *model = calloc(1, sizeof *model);

    model->client = fixture_connect(state);
    model->seed = setting("GRANARY_RANDOM_SEED", 1);
    while (model->operations < count) {
        tensor_begin(model);
        do {
            operations[draw(model, sizeof operations / sizeof *operations)](model);
        } while (++model->operations % TENSOR_LIFE != 0 && model->operations < count);
        tensor_end(model);
    }
    (void)printf("%zu operations: %zu writes, %zu reads, %zu of them in place\n", model->operations, model->writes,
                 model->reads, model->mapped);
    assert_true(model->writes > 0 && model->mapped > 0 && model->reads > model->mapped);
    granary_disconnect(model->client);
    free(model);
}

/* ---- what is particular ---- */

static double
real_at(granary_client *client, granary_mutable *table, int64_t at, int64_t time)
{
    const granary_index index = {.slice = {.start = at, .step = 0}};
    granary_mutable_part part;
    double value;

    assert_ok(granary_mutable_view(table, time, &index, 1, &part));
    assert_int_equal(part.tensor.dims, 0);
    value = *(const double *)part.tensor.values;
    granary_mutable_release(client, &part);
    return value;
}

static granary_err
write_real(granary_mutable *table, int64_t at, double value, int64_t time)
{
    const granary_index index = {.slice = {.start = at, .step = 0}};
    const granary_tensor tensor = {.dtype = GRANARY_FLOAT64, .values = &value};

    return granary_mutable_write(table, &index, 1, &tensor, &(granary_write_options){.time = time}, NULL);
}

static void
a_huge_tensor_is_sparse(void **state)
{
    const int64_t length = (int64_t)1 << 33;
    const granary_mutable_tensor tensor = {.dtype = GRANARY_FLOAT64, .dims = 1, .shape = {length}, .fill = "nan"};
    granary_client *client = fixture_connect(state);
    const uint64_t before = fixture_stat(client).sealed_bytes;
    granary_mutable *table = NULL;

    assert_ok(granary_mutable_create_tensor(client, "huge", &tensor, NULL, &table));
    assert_ok(write_real(table, -1, 0.5, 10));
    assert_true(real_at(client, table, length - 1, 10) == 0.5);
    assert_true(isnan(real_at(client, table, length - 1, 9)));
    assert_true(isnan(real_at(client, table, 0, 10)));
    assert_err(write_real(table, length, 1, 20), GRANARY_EINVAL);
    assert_true(fixture_stat(client).sealed_bytes - before < (uint64_t)64 << 10);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "huge"));
    granary_disconnect(client);
}

/* Of equal times the later write counts, whatever the values, and whoever wrote. */
static void
equal_times_are_in_order(void **state)
{
    const granary_mutable_tensor tensor = {.dtype = GRANARY_FLOAT64, .dims = 1, .shape = {4}};
    granary_client *client = fixture_connect(state);
    granary_mutable *tables[2] = {NULL, NULL};

    assert_ok(granary_mutable_create_tensor(client, "equal", &tensor, NULL, &tables[0]));
    assert_ok(granary_mutable_open(client, "equal", &tables[1]));
    assert_ok(write_real(tables[0], 0, 5, 10));
    assert_ok(write_real(tables[1], 0, 3, 10));
    assert_ok(write_real(tables[1], 1, NAN, 10));
    assert_ok(write_real(tables[0], 1, -1, 10));
    assert_ok(write_real(tables[0], 2, 7, 10));
    assert_ok(write_real(tables[0], 2, NAN, 10));
    assert_true(real_at(client, tables[0], 0, 10) == 3);
    assert_true(real_at(client, tables[1], 1, 10) == -1);
    assert_true(isnan(real_at(client, tables[1], 2, 10)));
    granary_mutable_close(tables[0]);
    granary_mutable_close(tables[1]);
    granary_disconnect(client);
}

static void
objects_are_put_as_chunks(void **state)
{
    const granary_mutable_tensor tensor = {
        .dtype = GRANARY_INT32, .dims = 2, .shape = {4, 6}, .chunk = {2, 4}, .fill = "9"};
    const int32_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const granary_tensor whole = {.dtype = GRANARY_INT32, .dims = 2, .shape = {2, 4}, .values = values};
    const granary_tensor part = {.dtype = GRANARY_INT32, .dims = 2, .shape = {2, 2}, .values = values};
    const granary_index first[2] = {{.slice = {0, 2, 1}}, {.slice = {0, 4, 1}}};
    granary_client *client = fixture_connect(state);
    granary_mutable *table = NULL;
    granary_id ids[2] = {{{0}}, {{0}}};
    const uint64_t chunks[2] = {0, 3}, wrong[1] = {4};
    granary_mutable_part view;

    assert_ok(granary_mutable_create_tensor(client, "put", &tensor, NULL, &table));
    assert_ok(granary_tensor_put(client, &whole, &ids[0]));
    assert_ok(granary_tensor_put(client, &part, &ids[1]));
    assert_err(granary_mutable_put_chunks(table, wrong, ids, 1, NULL, NULL), GRANARY_EINVAL);
    assert_err(granary_mutable_put_chunks(table, chunks, ids + 1, 1, NULL, NULL), GRANARY_EINVAL);
    assert_ok(granary_mutable_put_chunks(table, chunks, ids, 2, NULL, NULL));
    for (size_t i = 0; i < 2; i++) { /* the tensor keeps them */
        assert_ok(granary_object_delete(client, ids[i], 0));
    }
    assert_ok(granary_mutable_view(table, GRANARY_NOW, first, 2, &view));
    assert_true(view.mapped);
    assert_memory_equal(view.tensor.values, values, sizeof values);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "put"));
    assert_memory_equal(view.tensor.values, values, sizeof values); /* a view outlives all of that */
    granary_mutable_release(client, &view);
    granary_disconnect(client);
}

static void
mistakes_are_named(void **state)
{
    static const struct {
        granary_mutable_tensor tensor;
        granary_err err;
        const char *message;
    } wrong[] = {
        {{.dtype = GRANARY_STRING, .dims = 1, .shape = {3}}, GRANARY_ETYPE, "no elements of string"},
        {{.dtype = GRANARY_UINT8, .dims = 1, .shape = {3}, .fill = "300"},
         GRANARY_EINVAL,
         "'300' is no value of uint8"},
        {{.dtype = GRANARY_INT64, .dims = 1, .shape = {3}, .fill = "0.5"}, GRANARY_EINVAL, "'0.5' is no value"},
        {{.dtype = GRANARY_INT64, .dims = 9}, GRANARY_EINVAL, "9 dimensions"},
        {{.dtype = GRANARY_INT64, .dims = 1, .shape = {-1}}, GRANARY_EINVAL, "dimension 0"},
        {{.dtype = GRANARY_INT64, .dims = 2, .shape = {INT64_MAX, 2}}, GRANARY_EINVAL, "dimension"},
        {{.dtype = GRANARY_INT64, .dims = 1, .shape = {9}, .chunk = {-2}}, GRANARY_EINVAL, "chunks of -2"},
    };
    const granary_mutable_tensor right = {.dtype = GRANARY_FLOAT64, .dims = 2, .shape = {3, 4}};
    const granary_mutable_tensor other = {.dtype = GRANARY_FLOAT64, .dims = 2, .shape = {3, 4}, .fill = "1"};
    const granary_mutable_options open = {.flags = GRANARY_MUTABLE_OPEN};
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64};
    const double values[4] = {1, 2, 3, 4};
    const granary_tensor row = {.dtype = GRANARY_FLOAT64, .dims = 1, .shape = {4}, .values = values};
    const granary_tensor three = {.dtype = GRANARY_FLOAT64, .dims = 1, .shape = {3}, .values = values};
    const granary_tensor ints = {.dtype = GRANARY_INT64, .dims = 1, .shape = {4}, .values = values};
    const granary_index two[3] = {{.kind = GRANARY_INDEX_ELLIPSIS}, {.kind = GRANARY_INDEX_ELLIPSIS}};
    const granary_index many[3] = {{.slice = GRANARY_SLICE_ALL}, {.slice = GRANARY_SLICE_ALL}, {.slice = {0, 1, 1}}};
    granary_client *client = fixture_connect(state);
    granary_mutable *table = NULL, *again = NULL, *frame = NULL;
    granary_mutable_part part;
    granary_frame *rows = NULL;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_err(granary_mutable_create_tensor(client, "wrong", &wrong[i].tensor, NULL, &table), wrong[i].err);
        assert_non_null(strstr(granary_error_message(), wrong[i].message));
    }
    assert_ok(granary_mutable_create_tensor(client, "right", &right, NULL, &table));
    assert_err(granary_mutable_create_tensor(client, "right", &right, NULL, &again), GRANARY_EEXIST);
    assert_err(granary_mutable_create_tensor(client, "right", &other, &open, &again), GRANARY_ETYPE);
    assert_err(granary_mutable_create_frame(client, "right", &column, 1, &open, &again), GRANARY_ETYPE);
    assert_err(granary_mutable_write(table, NULL, 0, &three, NULL, NULL), GRANARY_EINVAL);
    assert_err(granary_mutable_write(table, NULL, 0, &ints, NULL, NULL), GRANARY_ETYPE);
    assert_err(granary_mutable_write(table, two, 2, &row, NULL, NULL), GRANARY_EINVAL);
    assert_err(granary_mutable_write(table, many, 3, &row, NULL, NULL), GRANARY_EINVAL);
    assert_err(granary_mutable_read_frame(table, GRANARY_NOW, &rows), GRANARY_ETYPE);
    assert_ok(granary_mutable_write(table, NULL, 0, &row, NULL, NULL));
    assert_ok(granary_mutable_create_frame(client, "frame", &column, 1, NULL, &frame));
    assert_err(granary_mutable_view(frame, GRANARY_NOW, NULL, 0, &part), GRANARY_ETYPE);
    assert_err(granary_mutable_write(frame, NULL, 0, &row, NULL, NULL), GRANARY_ETYPE);
    granary_mutable_close(table);
    granary_mutable_close(frame);
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_operations_equal_a_model, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_huge_tensor_is_sparse, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(equal_times_are_in_order, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(objects_are_put_as_chunks, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(mistakes_are_named, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
