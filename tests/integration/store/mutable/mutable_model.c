/* What a frame should have, row by row; and reads compared with that. */
#include "mutable_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/store/fixture.h"
#include "unit/data/frames.h"

#define PARTS_MOST 1000

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

/* A frame is rows that are later than a time, as they are at another one. */
static void
check_rows_since(struct model *model, const granary_frame *frame, const int64_t *numbers, int64_t after, int64_t time)
{
    int64_t want = 0;

    for (size_t i = 0; i < model->count; i++) {
        const struct row *row = &model->rows[i];

        want += (after == GRANARY_NOW || row->time > after) && row->time <= time && row->deleted > time;
    }
    assert_int_equal(granary_frame_rows(frame), want);
    for (int64_t at = 0; at < want; at++) {
        struct row *row = &model->rows[int_at(frame, "id", at)];
        struct value v, s;

        assert_true((after == GRANARY_NOW || row->time > after) && row->time <= time && row->deleted > time);
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

void
model_check_rows(struct model *model, const granary_frame *frame, const int64_t *numbers, int64_t time)
{
    check_rows_since(model, frame, numbers, GRANARY_NOW, time);
}

/* Whether a row was written over, or deleted, later than a time and up to another one. */
static bool
has_changed(const struct model *model, int64_t after, int64_t time)
{
    for (size_t i = 0; i < model->count; i++) {
        const struct row *row = &model->rows[i];

        if (row->deleted > after && row->deleted <= time) {
            return true;
        }
        for (const struct overwrite *o = row->last; o != NULL; o = o->before) {
            if (o->time > after && o->time <= time) {
                return true;
            }
        }
    }
    return false;
}

/* What is new since some time. */
static void
check_since(struct model *model, granary_mutable *table, int64_t time)
{
    const int64_t after = time - (int64_t)draw(&model->course, 40);
    granary_frame *frame = NULL;
    uint64_t changes;
    int64_t told;

    if (after < model->course.horizon) {
        assert_err(granary_mutable_read_since(table, after, time, &frame, &told, &changes), GRANARY_ESTATE);
        return;
    }
    assert_ok(granary_mutable_read_since(table, after, time, &frame, &told, &changes));
    assert_int_equal(told, time);
    assert_true(changes > 0 || !has_changed(model, after, time));
    check_rows_since(model, frame, NULL, after, time);
    granary_frame_close(frame);
}

void
model_check(struct model *model, int64_t asked)
{
    granary_mutable *table = draw_handle(&model->course);
    granary_frame *frame = NULL;
    int64_t *numbers, rows, time;

    if (!course_can_read(&model->course, asked, &time)) {
        assert_err(granary_mutable_read_frame(table, asked, &frame), GRANARY_ESTATE);
        model->refused++;
        return;
    }
    assert_ok(granary_mutable_read_frame(table, asked, &frame));
    rows = granary_frame_rows(frame);
    numbers = calloc((size_t)rows + 1, sizeof *numbers);
    assert_ok(granary_mutable_numbers(table, time, 0, rows, numbers));
    assert_err(granary_mutable_numbers(table, time, 0, rows + 1, numbers), GRANARY_EINVAL);
    model_check_rows(model, frame, numbers, time);
    if (time > INT64_MIN + 1000) { /* something was written */
        check_since(model, table, time);
    }
    free(numbers);
    granary_frame_close(frame);
    model->reads++;
}

void
model_check_past(struct model *model)
{
    int64_t time = GRANARY_NOW;

    switch (draw(&model->course, 4)) {
    case 0:
        break;
    case 1:
        time = model->course.frontier + 1 + (int64_t)draw(&model->course, 20);
        break;
    default:
        time = model->course.frontier - (int64_t)draw(&model->course, 60);
        break;
    }
    model_check(model, time);
}

/* Part by part. */
static void
check_parts(struct model *model, granary_id id, int64_t time)
{
    granary_id *ids = NULL;
    granary_frame *frame = NULL;
    granary_view views[PARTS_MOST];
    granary_frame *frames[PARTS_MOST];
    size_t count = 0;

    assert_ok(granary_sealed_parts(model->course.client, id, &ids, &count));
    assert_true(count > 0 && count <= PARTS_MOST);
    for (size_t i = 0; i < count; i++) {
        assert_ok(granary_object_get(model->course.client, ids[i], 0, &views[i]));
        assert_ok(granary_frame_open(&views[i], &frames[i]));
        assert_ok(gr_frame_check(frames[i]));
    }
    assert_ok(gr_frame_concat((const granary_frame *const *)frames, count, &frame));
    model_check_rows(model, frame, NULL, time);
    gr_frame_destroy(frame);
    for (size_t i = 0; i < count; i++) {
        granary_frame_close(frames[i]);
    }
    granary_object_release_many(model->course.client, views, count);
    free(ids);
}

void
model_check_sealed(struct model *model, granary_id id, int64_t time)
{
    granary_frame *frame = NULL;
    granary_mutable *sealed = NULL;

    check_parts(model, id, time);
    assert_ok(granary_sealed_open(model->course.client, id, &sealed));
    assert_ok(granary_mutable_read_frame(sealed, draw(&model->course, 2) == 0 ? GRANARY_NOW : 17, &frame));
    model_check_rows(model, frame, NULL, time);
    granary_frame_close(frame);
    granary_mutable_close(sealed);
}

/* ---- tables ---- */

void
model_begin(struct model *model)
{
    const granary_column columns[] = {{.name = "id", .dtype = GRANARY_INT64},
                                      {.name = "v", .dtype = GRANARY_INT64},
                                      {.name = "s", .dtype = GRANARY_STRING}};
    granary_mutable *first = NULL;

    (void)snprintf(model->course.name, sizeof model->course.name, "random %zu", model->course.operations);
    assert_ok(
        granary_mutable_create_frame(model->course.client, model->course.name, columns, 3, &model->course.how, &first));
    model->course.handle_count = COURSE_HANDLES;
    course_begin(&model->course, first);
    model->rows = calloc((size_t)TABLE_LIFE * ROWS_MOST, sizeof *model->rows);
    model->count = 0;
    model_check(model, model->course.frontier);
}

void
model_end(struct model *model)
{
    course_end(&model->course);
    for (size_t i = 0; i < model->count; i++) {
        while (model->rows[i].last != NULL) {
            struct overwrite *last = model->rows[i].last;

            model->rows[i].last = last->before;
            free(last);
        }
    }
    free(model->rows);
}
