/*
 * Mutable tensors: random writes and reads of all kinds of selections beside a naive model that keeps every write of every
 * element. GRANARY_RANDOM_OPERATIONS says how many, GRANARY_RANDOM_SEED which.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/store/fixture.h"
#include "mutable_selection.h"

#define HANDLES     3
#define TENSOR_LIFE 60 /* operations */

/* A value that an element had. */
struct version {
    int64_t time;
    size_t order;
    int64_t value;
    struct version *before;
};

struct model {
    struct course course;
    int dims;
    int64_t shape[8];
    int64_t fill;
    struct version *elements[ELEMENTS];
    size_t reads, mapped, writes;
};

/* ---- operations ---- */

static granary_write_options
draw_time(struct model *model)
{
    return (granary_write_options){.time = model->course.frontier + 1 + (int64_t)draw(&model->course, 12)};
}

static void
note_written(struct model *model, int64_t element, int64_t time, int64_t value)
{
    struct version *version = malloc(sizeof *version);

    *version = (struct version){time, model->course.operations, value, model->elements[element]};
    model->elements[element] = version;
    model->course.newest = time > model->course.newest ? time : model->course.newest;
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
    const uint64_t spread = draw(&model->course, 3);
    int64_t repeat = 1;

    draw_selection(&model->course, model->dims, model->shape, &picked);
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
        values[i] = (int64_t)draw(&model->course, 1000000);
    }
    assert_ok(
        granary_mutable_write(draw_handle(&model->course), picked.indexes, picked.count, &tensor, &options, &time));
    assert_true(time == options.time);
    for (int64_t i = 0; i < picked.total; i++) {
        note_written(model, picked.elements[i], time, values[repeat == 0 ? 0 : i % repeat]);
    }
    model->course.newest = time > model->course.newest ? time : model->course.newest;
    model->writes++;
}

/* Some elements are what they were at a time. */
static void
check_elements(struct model *model, granary_mutable *table, int64_t asked, int64_t time)
{
    granary_mutable_part part;
    struct picked picked;

    draw_selection(&model->course, model->dims, model->shape, &picked);
    assert_ok(granary_mutable_view(table, asked, picked.indexes, picked.count, &part));
    assert_int_equal(part.tensor.dims, picked.dims);
    for (int i = 0; i < picked.dims; i++) {
        assert_int_equal(part.tensor.shape[i], picked.shape[i]);
    }
    for (int64_t i = 0; i < picked.total; i++) {
        assert_int_equal(((const int64_t *)part.tensor.values)[i], value_at(model, picked.elements[i], time));
    }
    model->mapped += part.mapped;
    granary_mutable_release(model->course.client, &part);
    model->reads++;
}

static void
check_read(struct model *model, granary_mutable *table, int64_t asked)
{
    int64_t time;

    if (!course_can_read(&model->course, asked, &time)) {
        granary_mutable_part part;

        assert_err(granary_mutable_view(table, asked, NULL, 0, &part), GRANARY_ESTATE);
        return;
    }
    check_elements(model, table, asked, time);
}

/* A sealed tensor is this one at a time. */
static void
check_sealed(struct model *model, granary_id id, int64_t time)
{
    granary_mutable *sealed = NULL;
    const int64_t value = 1;
    const granary_tensor one = {.dtype = GRANARY_INT64, .values = &value};

    assert_ok(granary_sealed_open(model->course.client, id, &sealed));
    for (int i = 0; i < 3; i++) {
        check_elements(model, sealed, i == 0 ? GRANARY_NOW : i, time);
    }
    assert_err(granary_mutable_write(sealed, NULL, 0, &one, NULL, NULL), GRANARY_ESEALED);
    assert_err(granary_mutable_watch(sealed, GRANARY_NOW, 0, NULL), GRANARY_ESEALED);
    granary_mutable_close(sealed);
}

static void
do_snapshot(struct model *model)
{
    const int64_t time = draw_past(&model->course);
    granary_id id;

    assert_ok(granary_mutable_snapshot(draw_handle(&model->course), time, NULL, &id));
    check_sealed(model, id, time);
    assert_ok(granary_object_delete(model->course.client, id, 0));
}

static void
do_read(struct model *model)
{
    const uint64_t when = draw(&model->course, 4);

    check_read(model, draw_handle(&model->course),
               when == 0   ? GRANARY_NOW
               : when == 1 ? model->course.frontier + 1 + (int64_t)draw(&model->course, 10)
                           : model->course.frontier - (int64_t)draw(&model->course, 40));
}

static void
do_reopen(struct model *model)
{
    course_reopen(&model->course);
}

static void
do_retain(struct model *model)
{
    course_retain(&model->course);
}

/* ---- tensors ---- */

static void
tensor_begin(struct model *model)
{
    granary_mutable_tensor tensor = {.dtype = GRANARY_INT64, .fill = "-7"};
    const granary_mutable_options open = {.flags = GRANARY_MUTABLE_OPEN};
    granary_mutable *first = NULL, *again = NULL;

    model->fill = -7;
    model->dims = 1 + (int)draw(&model->course, DIMS_MOST);
    tensor.dims = model->dims;
    for (int i = 0; i < model->dims; i++) {
        tensor.shape[i] = model->shape[i] =
            draw(&model->course, 20) == 0 ? 0 : 1 + (int64_t)draw(&model->course, LENGTH_MOST);
        tensor.chunk[i] = 1 + (int64_t)draw(&model->course, LENGTH_MOST);
    }
    (void)snprintf(model->course.name, sizeof model->course.name, "random %zu", model->course.operations);
    assert_ok(granary_mutable_create_tensor(model->course.client, model->course.name, &tensor, NULL, &first));
    assert_ok(granary_mutable_create_tensor(model->course.client, model->course.name, &tensor, &open, &again));
    granary_mutable_close(again);
    model->course.handle_count = HANDLES;
    course_begin(&model->course, first);
    check_read(model, first, model->course.frontier);
}

static void
tensor_end(struct model *model)
{
    if (draw(&model->course, 3) == 0) {
        const int64_t time = draw_past(&model->course);
        granary_mutable_info info;
        granary_id id;

        assert_ok(granary_mutable_seal(model->course.handles[0], time, &id));
        check_sealed(model, id, time);
        assert_ok(granary_mutable_describe(model->course.client, model->course.name, &info));
        assert_int_equal(info.kind, GRANARY_SEALED_TENSOR);
    }
    course_end(&model->course);
    for (size_t i = 0; i < ELEMENTS; i++) {
        while (model->elements[i] != NULL) {
            struct version *version = model->elements[i];

            model->elements[i] = version->before;
            free(version);
        }
    }
}

static void
random_operations_equal_a_model(void **state)
{
    static void (*const operations[])(struct model *) = {do_write, do_write, do_write,  do_read,     do_read,
                                                         do_read,  do_read,  do_reopen, do_snapshot, do_retain};
    const size_t count = (size_t)setting("GRANARY_RANDOM_OPERATIONS", 6000);
    struct model *model = calloc(1, sizeof *model);

    model->course.client = fixture_connect(state);
    model->course.seed = setting("GRANARY_RANDOM_SEED", 1);
    while (model->course.operations < count) {
        tensor_begin(model);
        do {
            operations[draw(&model->course, sizeof operations / sizeof *operations)](model);
        } while (++model->course.operations % TENSOR_LIFE != 0 && model->course.operations < count);
        tensor_end(model);
    }
    (void)printf("%zu operations: %zu writes, %zu reads, %zu of them in place\n", model->course.operations,
                 model->writes, model->reads, model->mapped);
    assert_true(model->writes > 0 && model->mapped > 0 && model->reads > model->mapped);
    granary_disconnect(model->course.client);
    free(model);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_operations_equal_a_model, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
