/* Random operations on a mutable frame and on its model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/store/faults/killed.h"
#include "integration/store/fixture.h"
#include "mutable_model.h"
#include "unit/data/frames.h"

#define KILL_ONE_OF 100 /* writes */
#define KILL_BITS   16  /* after so many instructions, at most */

/* ---- what is written ---- */

/* So many values, as two columns; texts and bitmaps are the caller's. */
struct batch {
    struct value v[ROWS_MOST], s[ROWS_MOST];
    int64_t numbers[ROWS_MOST];
    uint8_t v_bits[ROWS_MOST / 8 + 1], s_bits[ROWS_MOST / 8 + 1];
    char text[ROWS_MOST * 24];
    int32_t offsets[ROWS_MOST + 1];
    int64_t count;
};

static void
batch_make(struct model *model, struct batch *batch, int64_t count)
{
    int32_t at = 0;

    memset(batch, 0, sizeof *batch);
    batch->count = count;
    for (int64_t i = 0; i < count; i++) {
        batch->v[i] = (struct value){draw(&model->course, 8) == 0, (int64_t)draw(&model->course, 1000)};
        batch->s[i] = (struct value){draw(&model->course, 8) == 0, (int64_t)draw(&model->course, 100000000)};
        batch->numbers[i] = batch->v[i].number;
        if (!batch->v[i].is_null) {
            gr_bit_set(batch->v_bits, i);
        }
        if (!batch->s[i].is_null) {
            gr_bit_set(batch->s_bits, i);
            at += snprintf(batch->text + at, 24, "%lld", (long long)batch->s[i].number);
        }
        batch->offsets[i + 1] = at;
    }
}

static granary_column
batch_v(const struct batch *batch)
{
    return (granary_column){
        .name = "v", .dtype = GRANARY_INT64, .rows = batch->count, .validity = batch->v_bits, .values = batch->numbers};
}

static granary_column
batch_s(const struct batch *batch)
{
    return (granary_column){.name = "s",
                            .dtype = GRANARY_STRING,
                            .rows = batch->count,
                            .validity = batch->s_bits,
                            .values = batch->text,
                            .offsets = batch->offsets};
}

/* A time, and whether the write will be refused. */
static granary_write_options
draw_time(struct model *model, bool *ret_refused)
{
    granary_write_options options = {.time = 0};

    *ret_refused = false;
    switch (draw(&model->course, 40)) {
    case 0:
        break; /* the clock's */
    case 1:
        options.time = model->course.frontier - (int64_t)draw(&model->course, 10);
        options.forward = true;
        break;
    case 2:
        options.time = model->course.frontier - (int64_t)draw(&model->course, 10);
        *ret_refused = true;
        break;
    default:
        options.time = model->course.frontier + 1 + (int64_t)draw(&model->course, 20);
        break;
    }
    return options;
}

/* A write to come, and what is told of it. */
struct deed {
    enum { DEED_APPEND, DEED_DELETE, DEED_WRITE } kind;
    granary_rows rows;
    granary_column columns[3];
    size_t column_count;
    int64_t row_count;
    granary_write_options options;
    granary_err err;
    int64_t time, deleted;
};

static void
deed_do(void *table, void *context)
{
    struct deed *deed = context;

    switch (deed->kind) {
    case DEED_APPEND:
        deed->err = granary_mutable_append(table, deed->columns, deed->column_count, deed->row_count, &deed->options,
                                           &deed->time);
        break;
    case DEED_DELETE:
        deed->err = granary_mutable_delete_rows(table, &deed->rows, &deed->options, &deed->deleted, &deed->time);
        break;
    case DEED_WRITE:
        deed->err = granary_mutable_write_rows(table, &deed->rows, deed->columns, deed->column_count, &deed->options,
                                               &deed->time);
        break;
    }
}

static void *
deed_open(granary_client *client, const char *name, void *context)
{
    (void)context;
    return open_table(client, name);
}

/* By one of the handles; now and then after a child has begun it, and was killed: by its token it is one write. Returns whether
 * that child may have done it. */
static bool
deed_play(struct model *model, struct deed *deed, bool refused)
{
    const bool by_child = model->state != NULL && !refused && draw(&model->course, KILL_ONE_OF) == 0;

    if (by_child) {
        deed->options.token = 1 + draw(&model->course, UINT32_MAX);
        model->killed +=
            killed_do(model->state, model->course.name, &(struct killed_deed){deed_open, deed_do, NULL, deed},
                      draw(&model->course, (uint64_t)1 << draw(&model->course, KILL_BITS)));
    }
    deed_do(draw_handle(&model->course), deed);
    return by_child;
}

/* Whether the write took place. */
static bool
check_written(struct model *model, granary_err err, bool refused, const int64_t *time)
{
    if (refused) {
        assert_err(err, GRANARY_ESTATE);
        model->refused++;
        return false;
    }
    assert_ok(err);
    assert_true(*time > model->course.frontier);
    model->course.newest = *time > model->course.newest ? *time : model->course.newest;
    return true;
}

/* ---- operations ---- */

static void
do_append(struct model *model)
{
    int64_t ids[ROWS_MOST];
    struct batch batch;
    bool refused;
    struct deed deed = {.kind = DEED_APPEND, .column_count = 3, .options = draw_time(model, &refused)};

    batch_make(model, &batch, (int64_t)draw(&model->course, draw(&model->course, 4) == 0 ? ROWS_MOST : 3));
    for (int64_t i = 0; i < batch.count; i++) {
        ids[i] = (int64_t)model->count + i;
    }
    deed.row_count = batch.count;
    deed.columns[0] = (granary_column){.name = "id", .dtype = GRANARY_INT64, .rows = batch.count, .values = ids};
    deed.columns[1] = batch_v(&batch);
    deed.columns[2] = batch_s(&batch);
    (void)deed_play(model, &deed, refused);
    if (!check_written(model, deed.err, refused, &deed.time)) {
        return;
    }
    for (int64_t i = 0; i < batch.count; i++) {
        model->rows[model->count++] = (struct row){
            .id = ids[i], .number = -1, .time = deed.time, .deleted = INT64_MAX, .v = batch.v[i], .s = batch.s[i]};
    }
}

static struct row *
row_of_number(struct model *model, int64_t number)
{
    for (size_t i = 0; i < model->count; i++) {
        if (model->rows[i].number == number) {
            return &model->rows[i];
        }
    }
    return NULL;
}

static bool
is_deleted(const struct row *row)
{
    return row->deleted != INT64_MAX;
}

/* Numbers of rows of which the model knows the numbers: some of them twice, or deleted. */
static size_t
draw_numbers(struct model *model, int64_t *numbers)
{
    const size_t wanted = 1 + draw(&model->course, 6);
    size_t count = 0;

    for (size_t i = 0; i < wanted && model->count > 0; i++) {
        const struct row *row = &model->rows[draw(&model->course, model->count)];

        if (row->number >= 0) {
            numbers[count++] = row->number;
        }
    }
    return count;
}

static void
do_delete(struct model *model)
{
    int64_t numbers[6], want = 0;
    struct deed deed = {.kind = DEED_DELETE, .rows = {.numbers = numbers}};
    granary_rows *rows = &deed.rows;
    bool refused, by_child;

    rows->count = draw_numbers(model, numbers);
    if (rows->count > 0 && draw(&model->course, 2) == 0) {
        model_check(model, GRANARY_NOW); /* a range may have rows of which the numbers are not known yet */
        *rows = (granary_rows){.from = numbers[0], .to = numbers[0] + (int64_t)draw(&model->course, 20)};
    }
    deed.options = draw_time(model, &refused);
    by_child = deed_play(model, &deed, refused);
    if (!check_written(model, deed.err, refused, &deed.time)) {
        return;
    }
    for (size_t i = 0; i < model->count; i++) {
        struct row *row = &model->rows[i];
        bool named = rows->numbers == NULL && row->number >= rows->from && row->number < rows->to;

        for (size_t k = 0; rows->numbers != NULL && k < rows->count; k++) {
            named = named || (row->number == numbers[k]);
        }
        if (named && row->number >= 0 && !is_deleted(row)) {
            row->deleted = deed.time;
            want++;
        }
    }
    assert_true(deed.deleted == want || (by_child && deed.deleted == 0)); /* what was done before is not told */
    model->deleted += (size_t)want;
}

static void
do_write(struct model *model)
{
    int64_t numbers[6];
    struct deed deed = {.kind = DEED_WRITE, .rows = {.numbers = numbers}};
    struct batch batch;
    size_t missing = 0;
    bool refused, has_v, has_s;

    deed.options = draw_time(model, &refused);
    deed.rows.count = draw_numbers(model, numbers);
    has_v = draw(&model->course, 3) > 0;
    has_s = !has_v || draw(&model->course, 2) == 0;
    batch_make(model, &batch, (int64_t)deed.rows.count);
    if (has_s) {
        deed.columns[deed.column_count++] = batch_s(&batch);
    }
    if (has_v) {
        deed.columns[deed.column_count++] = batch_v(&batch);
    }
    for (size_t i = 0; i < deed.rows.count; i++) {
        missing += is_deleted(row_of_number(model, numbers[i]));
    }
    (void)deed_play(model, &deed, refused);
    if (missing > 0) {
        assert_err(deed.err, GRANARY_ENOENT);
        return;
    }
    if (!check_written(model, deed.err, refused, &deed.time)) {
        return;
    }
    for (size_t i = 0; i < deed.rows.count; i++) {
        struct row *row = row_of_number(model, numbers[i]);
        struct overwrite *overwrite = malloc(sizeof *overwrite);

        *overwrite =
            (struct overwrite){deed.time, model->course.operations, has_v, has_s, batch.v[i], batch.s[i], row->last};
        row->last = overwrite;
        model->overwritten++;
    }
}

static void
do_snapshot(struct model *model)
{
    const int64_t time = draw_past(&model->course);
    granary_id id;

    assert_ok(granary_mutable_snapshot(draw_handle(&model->course), time, NULL, &id));
    model_check_sealed(model, id, time);
    assert_ok(granary_object_delete(model->course.client, id, 0));
}

/* Seal it as it was at a time: nothing else is possible with it then but to read it. */
void
model_seal(struct model *model)
{
    const int64_t time = draw_past(&model->course);
    granary_mutable *again = NULL;
    granary_frame *frame = NULL;
    granary_id id, named;

    assert_ok(granary_mutable_seal(draw_handle(&model->course), time, &id));
    model_check_sealed(model, id, time);
    assert_ok(granary_name_get(model->course.client, model->course.name, &named));
    assert_memory_equal(&id, &named, sizeof id);
    assert_err(granary_mutable_open(model->course.client, model->course.name, &again), GRANARY_ESEALED);
    for (size_t i = 0; i < model->course.handle_count; i++) {
        const granary_rows rows = {.from = 0, .to = 1};

        assert_err(granary_mutable_seal(model->course.handles[i], GRANARY_NOW, NULL), GRANARY_ESEALED);
        assert_err(granary_mutable_delete_rows(model->course.handles[i], &rows, NULL, NULL, NULL), GRANARY_ESEALED);
        assert_err(granary_mutable_read_frame(model->course.handles[i], time, &frame), GRANARY_ESEALED);
    }
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

void
model_step(struct model *model)
{
    static void (*const operations[])(struct model *) = {do_append,        do_append, do_append,   do_append,
                                                         do_delete,        do_write,  do_write,    model_check_past,
                                                         model_check_past, do_reopen, do_snapshot, do_retain};

    operations[draw(&model->course, sizeof operations / sizeof *operations)](model);
    model->course.operations++;
}
