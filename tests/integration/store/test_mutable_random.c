/*
 * Random operations on mutable frames, beside a naive model that keeps every row and everything that was written over it.
 * GRANARY_RANDOM_OPERATIONS says how many, GRANARY_RANDOM_SEED which.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../unit/data/frames.h"
#include "fixture.h"
#include "granary/mutable.h"

#define HANDLES    4
#define TABLE_LIFE 400 /* operations */
#define ROWS_MOST  40  /* of one write */
#define ROOM       (TABLE_LIFE * ROWS_MOST)
#define PARTS_MOST 1000

/* A value of column v and s: null, or a number, and the same as text. */
struct value {
    bool is_null;
    int64_t number;
};

struct overwrite {
    int64_t time;
    size_t order;
    bool has_v, has_s;
    struct value v, s;
    struct overwrite *before;
};

struct row {
    int64_t id;
    int64_t number; /* -1: not known yet */
    int64_t time;
    size_t handle;
    int64_t deleted; /* at the earliest; INT64_MAX: not */
    struct value v, s;
    struct overwrite *last; /* of those that were written over it */
};

struct model {
    granary_client *client;
    granary_mutable *handles[HANDLES];
    char name[32];
    struct row *rows;
    size_t count;
    size_t operations;
    int64_t frontier;
    int64_t newest;
    int64_t horizon; /* reads are refused before it */
    uint64_t seed;
    size_t reads, deleted, overwritten, refused;
};

static uint64_t
draw(struct model *model, uint64_t below)
{
    model->seed = model->seed * 6364136223846793005u + 1442695040888963407u;
    return (model->seed >> 33) % below;
}

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
        batch->v[i] = (struct value){draw(model, 8) == 0, (int64_t)draw(model, 1000)};
        batch->s[i] = (struct value){draw(model, 8) == 0, (int64_t)draw(model, 100000000)};
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
    switch (draw(model, 40)) {
    case 0:
        break; /* the clock's */
    case 1:
        options.time = model->frontier - (int64_t)draw(model, 10);
        options.forward = true;
        break;
    case 2:
        options.time = model->frontier - (int64_t)draw(model, 10);
        *ret_refused = true;
        break;
    default:
        options.time = model->frontier + 1 + (int64_t)draw(model, 20);
        break;
    }
    return options;
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
    assert_true(*time > model->frontier);
    model->newest = *time > model->newest ? *time : model->newest;
    return true;
}

static void check_all(struct model *model);

/* ---- operations ---- */

static void
do_append(struct model *model)
{
    const size_t handle = draw(model, HANDLES);
    int64_t ids[ROWS_MOST], time = 0;
    struct batch batch;
    granary_column columns[3];
    bool refused;
    const granary_write_options options = draw_time(model, &refused);

    batch_make(model, &batch, (int64_t)draw(model, draw(model, 4) == 0 ? ROWS_MOST : 3));
    for (int64_t i = 0; i < batch.count; i++) {
        ids[i] = (int64_t)model->count + i;
    }
    columns[0] = (granary_column){.name = "id", .dtype = GRANARY_INT64, .rows = batch.count, .values = ids};
    columns[1] = batch_v(&batch);
    columns[2] = batch_s(&batch);
    if (!check_written(model, granary_mutable_append(model->handles[handle], columns, 3, batch.count, &options, &time),
                       refused, &time)) {
        return;
    }
    for (int64_t i = 0; i < batch.count; i++) {
        model->rows[model->count++] = (struct row){.id = ids[i],
                                                   .number = -1,
                                                   .time = time,
                                                   .handle = handle,
                                                   .deleted = INT64_MAX,
                                                   .v = batch.v[i],
                                                   .s = batch.s[i]};
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
    const size_t wanted = 1 + draw(model, 6);
    size_t count = 0;

    for (size_t i = 0; i < wanted && model->count > 0; i++) {
        const struct row *row = &model->rows[draw(model, model->count)];

        if (row->number >= 0) {
            numbers[count++] = row->number;
        }
    }
    return count;
}

static void
do_delete(struct model *model)
{
    int64_t numbers[6], time = 0, deleted = 0, want = 0;
    granary_rows rows = {.numbers = numbers};
    granary_write_options options;
    bool refused;

    rows.count = draw_numbers(model, numbers);
    if (rows.count > 0 && draw(model, 2) == 0) {
        check_all(model); /* a range may have rows of which the numbers are not known yet */
        rows = (granary_rows){.from = numbers[0], .to = numbers[0] + (int64_t)draw(model, 20)};
    }
    options = draw_time(model, &refused);
    if (!check_written(
            model, granary_mutable_delete_rows(model->handles[draw(model, HANDLES)], &rows, &options, &deleted, &time),
            refused, &time)) {
        return;
    }
    for (size_t i = 0; i < model->count; i++) {
        struct row *row = &model->rows[i];
        bool named = rows.numbers == NULL && row->number >= rows.from && row->number < rows.to;

        for (size_t k = 0; rows.numbers != NULL && k < rows.count; k++) {
            named = named || (row->number == numbers[k]);
        }
        if (named && row->number >= 0 && !is_deleted(row)) {
            row->deleted = time;
            want++;
        }
    }
    assert_int_equal(deleted, want);
    model->deleted += (size_t)want;
}

static void
do_write(struct model *model)
{
    int64_t numbers[6], time = 0;
    granary_rows rows = {.numbers = numbers};
    granary_column columns[2];
    struct batch batch;
    size_t count = 0, missing = 0;
    bool refused, has_v, has_s;
    const granary_write_options options = draw_time(model, &refused);
    granary_err err;

    rows.count = draw_numbers(model, numbers);
    has_v = draw(model, 3) > 0;
    has_s = !has_v || draw(model, 2) == 0;
    batch_make(model, &batch, (int64_t)rows.count);
    if (has_s) {
        columns[count++] = batch_s(&batch);
    }
    if (has_v) {
        columns[count++] = batch_v(&batch);
    }
    for (size_t i = 0; i < rows.count; i++) {
        missing += is_deleted(row_of_number(model, numbers[i]));
    }
    err = granary_mutable_write_rows(model->handles[draw(model, HANDLES)], &rows, columns, count, &options, &time);
    if (missing > 0) {
        assert_err(err, GRANARY_ENOENT);
        return;
    }
    if (!check_written(model, err, refused, &time)) {
        return;
    }
    for (size_t i = 0; i < rows.count; i++) {
        struct row *row = row_of_number(model, numbers[i]);
        struct overwrite *overwrite = malloc(sizeof *overwrite);

        *overwrite = (struct overwrite){time, model->operations, has_v, has_s, batch.v[i], batch.s[i], row->last};
        row->last = overwrite;
        model->overwritten++;
    }
}

static void
do_reopen(struct model *model)
{
    granary_mutable **handle = &model->handles[draw(model, HANDLES)];

    granary_mutable_close(*handle);
    *handle = NULL;
    assert_ok(granary_mutable_open(model->client, model->name, handle));
}

/* ---- reads ---- */

static void
value_at(const struct row *row, int64_t time, struct value *ret_v, struct value *ret_s)
{
    const struct overwrite *v = NULL, *s = NULL;

    for (const struct overwrite *o = row->last; o != NULL; o = o->before) { /* the last one first */
        if (o->time <= time) {
            v = o->has_v && (v == NULL || o->time > v->time) ? o : v;
            s = o->has_s && (s == NULL || o->time > s->time) ? o : s;
        }
    }
    *ret_v = v == NULL ? row->v : v->v;
    *ret_s = s == NULL ? row->s : s->s;
}

static void
check_value(const granary_frame *frame, const char *name, int64_t at, struct value want)
{
    char text[24] = "";

    if (!want.is_null) {
        (void)snprintf(text, sizeof text, "%lld", (long long)want.number);
    }
    assert_int_equal(gr_is_null(granary_frame_column_named(frame, name), at), want.is_null);
    assert_string_equal(text_at(frame, name, at), text);
}

static void
check_rows(struct model *model, const granary_frame *frame, const int64_t *numbers, int64_t time)
{
    int64_t want = 0;

    for (size_t i = 0; i < model->count; i++) {
        want += model->rows[i].time <= time && model->rows[i].deleted > time;
    }
    assert_int_equal(granary_frame_rows(frame), want);
    for (int64_t at = 0; at < want; at++) {
        struct row *row = &model->rows[int_at(frame, "id", at)];
        struct value v, s;

        assert_true(row->time <= time && row->deleted > time);
        if (numbers != NULL) {
            assert_true(at == 0 || numbers[at] > numbers[at - 1]);
            assert_true(row->number < 0 || row->number == numbers[at]);
            row->number = numbers[at];
        }
        value_at(row, time, &v, &s);
        check_value(frame, "v", at, v);
        check_value(frame, "s", at, s);
    }
}

/* Read at a time; GRANARY_NOW is that of the newest write. */
static void
check_read(struct model *model, int64_t asked)
{
    int64_t time = asked == GRANARY_NOW ? model->newest : asked;
    granary_mutable *table = model->handles[draw(model, HANDLES)];
    granary_frame *frame = NULL;
    int64_t *numbers, rows;

    if (asked == GRANARY_NOW && time < model->horizon) {
        time = model->horizon;
    }
    if (time < model->horizon) {
        assert_err(granary_mutable_read_frame(table, asked, &frame), GRANARY_ESTATE);
        model->refused++;
        return;
    }
    assert_ok(granary_mutable_read_frame(table, asked, &frame));
    model->frontier = time > model->frontier ? time : model->frontier;
    rows = granary_frame_rows(frame);
    numbers = calloc((size_t)rows + 1, sizeof *numbers);
    assert_ok(granary_mutable_numbers(table, time, 0, rows, numbers));
    assert_err(granary_mutable_numbers(table, time, 0, rows + 1, numbers), GRANARY_EINVAL);
    check_rows(model, frame, numbers, time);
    free(numbers);
    granary_frame_close(frame);
    model->reads++;
}

static void
check_all(struct model *model)
{
    check_read(model, GRANARY_NOW);
}

static void
do_read(struct model *model)
{
    int64_t time = GRANARY_NOW;

    switch (draw(model, 4)) {
    case 0:
        break;
    case 1:
        time = model->frontier + 1 + (int64_t)draw(model, 20);
        break;
    default:
        time = model->frontier - (int64_t)draw(model, 60);
        break;
    }
    check_read(model, time);
}

/* A sealed table is this one at a time. */
static void
check_sealed(struct model *model, granary_id id, int64_t time)
{
    granary_id *ids = NULL;
    granary_frame *frame = NULL;
    granary_view views[PARTS_MOST];
    granary_frame *frames[PARTS_MOST];
    size_t count = 0;

    assert_ok(granary_sealed_parts(model->client, id, &ids, &count));
    assert_true(count > 0 && count <= PARTS_MOST);
    for (size_t i = 0; i < count; i++) {
        assert_ok(granary_object_get(model->client, ids[i], 0, &views[i]));
        assert_ok(granary_frame_open(&views[i], &frames[i]));
        assert_ok(gr_frame_check(frames[i]));
    }
    assert_ok(gr_frame_concat((const granary_frame *const *)frames, count, &frame));
    check_rows(model, frame, NULL, time);
    gr_frame_destroy(frame);
    for (size_t i = 0; i < count; i++) {
        granary_frame_close(frames[i]);
    }
    granary_object_release_many(model->client, views, count);
    free(ids);
    {
        granary_mutable *sealed = NULL;

        assert_ok(granary_sealed_open(model->client, id, &sealed));
        assert_ok(granary_mutable_read_frame(sealed, draw(model, 2) == 0 ? GRANARY_NOW : 17, &frame));
        check_rows(model, frame, NULL, time);
        granary_frame_close(frame);
        granary_mutable_close(sealed);
    }
}

/* A time that is final, and can be read. */
static int64_t
draw_past(struct model *model)
{
    const int64_t time = model->frontier - (int64_t)draw(model, 60);

    return time < model->horizon ? model->horizon : time;
}

/* Give up history up to some time: nothing changes for reads of later ones. */
static void
do_retain(struct model *model)
{
    const granary_retain retain = {.time = model->frontier - (int64_t)draw(model, 40)};
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

/* ---- tables ---- */

static void
table_begin(struct model *model)
{
    const granary_column columns[] = {{.name = "id", .dtype = GRANARY_INT64},
                                      {.name = "v", .dtype = GRANARY_INT64},
                                      {.name = "s", .dtype = GRANARY_STRING}};

    (void)snprintf(model->name, sizeof model->name, "random %zu", model->operations);
    assert_ok(granary_mutable_create_frame(model->client, model->name, columns, 3, NULL, &model->handles[0]));
    for (size_t i = 1; i < HANDLES; i++) {
        assert_ok(granary_mutable_open(model->client, model->name, &model->handles[i]));
    }
    model->count = 0;
    model->frontier = INT64_MIN / 4;
    model->newest = INT64_MIN;
    model->horizon = INT64_MIN;
    check_read(model, model->frontier);
}

/* Seal it as it was at a time: nothing else is possible with it then but to read it. */
static void
do_seal(struct model *model)
{
    const int64_t time = draw_past(model);
    granary_mutable *again = NULL;
    granary_frame *frame = NULL;
    granary_id id, named;

    assert_ok(granary_mutable_seal(model->handles[draw(model, HANDLES)], time, &id));
    check_sealed(model, id, time);
    assert_ok(granary_name_get(model->client, model->name, &named));
    assert_memory_equal(&id, &named, sizeof id);
    assert_err(granary_mutable_open(model->client, model->name, &again), GRANARY_ESEALED);
    for (size_t i = 0; i < HANDLES; i++) {
        const granary_rows rows = {.from = 0, .to = 1};

        assert_err(granary_mutable_seal(model->handles[i], GRANARY_NOW, NULL), GRANARY_ESEALED);
        assert_err(granary_mutable_delete_rows(model->handles[i], &rows, NULL, NULL, NULL), GRANARY_ESEALED);
        assert_err(granary_mutable_read_frame(model->handles[i], time, &frame), GRANARY_ESEALED);
    }
}

static void
table_end(struct model *model)
{
    if (draw(model, 2) == 0) {
        do_seal(model);
    }
    for (size_t i = 0; i < HANDLES; i++) {
        granary_mutable_close(model->handles[i]);
    }
    assert_ok(granary_mutable_delete(model->client, model->name));
    for (size_t i = 0; i < model->count; i++) {
        while (model->rows[i].last != NULL) {
            struct overwrite *last = model->rows[i].last;

            model->rows[i].last = last->before;
            free(last);
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
    static void (*const operations[])(struct model *) = {do_append, do_append, do_append,   do_append,
                                                         do_delete, do_write,  do_write,    do_read,
                                                         do_read,   do_reopen, do_snapshot, do_retain};
    const size_t count = (size_t)setting("GRANARY_RANDOM_OPERATIONS", 8000);
    struct model model = {.client = fixture_connect(state), .seed = setting("GRANARY_RANDOM_SEED", 1)};

    model.rows = calloc(ROOM, sizeof *model.rows);
    while (model.operations < count) {
        table_begin(&model);
        do {
            operations[draw(&model, sizeof operations / sizeof *operations)](&model);
        } while (++model.operations % TABLE_LIFE != 0 && model.operations < count);
        do_read(&model);
        table_end(&model);
    }
    (void)printf("%zu operations: %zu reads, %zu rows deleted, %zu written over, %zu writes refused\n",
                 model.operations, model.reads, model.deleted, model.overwritten, model.refused);
    assert_true(model.reads > 0 && model.deleted > 0 && model.overwritten > 0 && model.refused > 0);
    free(model.rows);
    granary_disconnect(model.client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_operations_equal_a_model, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
