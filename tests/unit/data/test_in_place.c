/* Frames whose columns are made where they stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/arrow/arrow.h"
#include "data/layout/directory.h"
#include "data/place.h"
#include "frames.h"

#define ROWS 100000 /* enough for a place to be worth it */

struct test_place {
    struct gr_place place;
    int asked;
    bool refuses;
};

static void *
give_room(struct gr_place *place, uint64_t size)
{
    struct test_place *test = (struct test_place *)(void *)place;
    char *room = test->refuses ? NULL : aligned_alloc(64, (size + 63) / 64 * 64);

    test->asked++;
    if (room != NULL) {
        memset(room, 0xa5, size);
    }
    return room;
}

/* Rows of an integer, a float with nulls, an encoded and a plain string, a bool, and nothing. */
static granary_frame *
long_frame(void)
{
    static const char *const names[] = {"i", "x", "code", "text", "b", "nothing"};
    int64_t *integers = calloc(ROWS, sizeof *integers);
    double *doubles = calloc(ROWS, sizeof *doubles);
    const char **words = calloc(ROWS, sizeof *words);
    char *there = calloc(ROWS, 1);
    char *bits = calloc(ROWS, 1);
    struct gr_column columns[6], plain;
    granary_frame *frame;
    bool pays;

    assert_true(integers != NULL && doubles != NULL && words != NULL && there != NULL && bits != NULL);
    for (int i = 0; i < ROWS; i++) {
        integers[i] = (int64_t)i * 7919 % 100003;
        doubles[i] = i / 8.0;
        words[i] = i % 3 == 0 ? "red" : i % 3 == 1 ? "green" : "blau und grün";
        there[i] = i % 5 == 0 ? '0' : '1';
        bits[i] = i % 7 == 0 ? '1' : '0';
    }
    columns[0] = ints(integers, NULL, ROWS);
    columns[1] = reals(doubles, there, ROWS);
    plain = texts(words, there, ROWS);
    assert_int_equal(gr_column_encode(&plain.view, &pays, &columns[2]), GRANARY_OK);
    assert_true(pays);
    columns[3] = plain;
    columns[4] = bools(bits, there, ROWS);
    assert_int_equal(gr_column_alloc(GRANARY_NULLTYPE, ROWS, 0, false, &columns[5]), GRANARY_OK);
    frame = frame_of(6, names, columns);
    free(integers);
    free(doubles);
    free((void *)words);
    free(there);
    free(bits);
    return frame;
}

static bool
lies_in(const struct gr_place *place, const void *bytes)
{
    return (const char *)bytes >= place->file && (const char *)bytes < place->file + place->size;
}

/* The file around the frame's columns, with its directory and without, is the frame. */
static void
assert_written(const struct gr_place *place, const granary_frame *frame)
{
    uint64_t meta_size = gr_directory_size(frame);
    struct gr_directory_column *places;
    struct object plain = object_of(frame);
    void *meta = aligned_alloc(64, (meta_size + 63) / 64 * 64);
    granary_frame *back;
    uint64_t size;

    assert_non_null(meta);
    assert_int_equal(gr_arrow_place_write(frame, place, &places, &size), GRANARY_OK);
    assert_true(size <= place->size);
    gr_arrow_place_directory(frame, places, size, meta);
    free(places);
    assert_int_equal(gr_arrow_read(place->file, size, NULL, 0, &back), GRANARY_OK);
    assert_frames_equal(frame, back);
    gr_frame_destroy(back);
    assert_int_equal(gr_arrow_read(place->file, size, meta, meta_size, &back), GRANARY_OK);
    assert_int_equal(gr_frame_check(back), GRANARY_OK);
    assert_frames_equal(frame, back);
    assert_true(lies_in(place, back->columns[0].view.values));
    for (size_t i = 0; i < frame->count; i++) { /* the same is known of its columns */
        struct gr_directory_column as_written, in_place;

        gr_directory_get(plain.meta, i, &as_written);
        gr_directory_get(meta, i, &in_place);
        assert_int_equal(as_written.flags, in_place.flags);
        assert_int_equal(as_written.null_count, in_place.null_count);
        assert_int_equal(as_written.distinct, in_place.distinct);
        assert_memory_equal(&as_written.min, &in_place.min, sizeof in_place.min);
        assert_memory_equal(&as_written.max, &in_place.max, sizeof in_place.max);
    }
    gr_frame_destroy(back);
    object_free(&plain);
    free(meta);
}

static void
columns_are_made_in_place(void **state)
{
    struct test_place test = {.place = {.room = give_room}};
    granary_frame *from = long_frame();
    granary_frame *frame;

    (void)state;
    gr_place_set(&test.place);
    gr_place_expect_rows(from, ROWS - 1);
    assert_int_equal(gr_frame_slice(from, 1, ROWS - 1, &frame), GRANARY_OK);
    test.place.closed = true;
    assert_int_equal(test.asked, 1);
    assert_true(lies_in(&test.place, frame->columns[0].view.values));
    assert_true(lies_in(&test.place, frame->columns[1].view.values));
    assert_true(lies_in(&test.place, frame->columns[2].view.values));
    assert_false(lies_in(&test.place, frame->columns[3].view.values));
    assert_written(&test.place, frame);
    gr_frame_destroy(frame);
    gr_place_set(NULL);
    gr_frame_destroy(from);
    free(test.place.file);
}

/* A column of another frame is copied in, and names too long for the room in front are an error that harms nothing. */
static void
what_does_not_fit_is_told(void **state)
{
    struct test_place test = {.place = {.room = give_room}};
    granary_frame *from = long_frame();
    granary_frame *frame = gr_frame_create(2, ROWS);
    struct gr_directory_column *places;
    struct gr_column column;
    char name[4000];
    uint64_t size;

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    gr_place_set(&test.place);
    gr_place_expect(2, gr_place_need(&from->columns[0].view, ROWS) + gr_place_need(&from->columns[3].view, ROWS));
    assert_int_equal(gr_column_alloc(GRANARY_INT64, ROWS, 0, false, &column), GRANARY_OK);
    assert_true(lies_in(&test.place, column.view.values));
    assert_int_equal(gr_frame_set(frame, 0, "i", &column), GRANARY_OK);
    assert_int_equal(gr_frame_set_borrowed(frame, 1, "text", &from->columns[3].view), GRANARY_OK);
    assert_written(&test.place, frame);
    gr_frame_destroy(frame);

    test.place.used = gr_arrow_place_head(2);
    for (int i = 0; i < 3; i++) { /* what was for a moment only is taken again */
        assert_int_equal(gr_column_alloc(GRANARY_INT64, ROWS, 0, false, &column), GRANARY_OK);
        assert_ptr_equal(column.view.values, test.place.file + gr_arrow_place_head(2));
        gr_column_free(&column);
    }
    frame = gr_frame_create(2, ROWS);
    assert_int_equal(gr_column_alloc(GRANARY_INT64, ROWS, 0, false, &column), GRANARY_OK);
    assert_int_equal(gr_frame_set(frame, 0, name, &column), GRANARY_OK);
    assert_int_equal(gr_frame_set_borrowed(frame, 1, "text", &from->columns[3].view), GRANARY_OK);
    assert_int_equal(gr_arrow_place_write(frame, &test.place, &places, &size), GRANARY_EFULL);
    gr_frame_destroy(frame);

    test.place.used = test.place.size - 64; /* the next one is on the heap, and there is no room to copy it to */
    frame = gr_frame_create(1, ROWS);
    assert_int_equal(gr_column_alloc(GRANARY_INT64, ROWS, 0, false, &column), GRANARY_OK);
    assert_false(lies_in(&test.place, column.view.values));
    assert_int_equal(gr_frame_set(frame, 0, "i", &column), GRANARY_OK);
    assert_int_equal(gr_arrow_place_write(frame, &test.place, &places, &size), GRANARY_EFULL);
    gr_frame_destroy(frame);
    gr_place_set(NULL);
    gr_frame_destroy(from);
    free(test.place.file);
}

static void
without_a_place_it_is_the_heap(void **state)
{
    struct test_place test = {.place = {.room = give_room}, .refuses = true};
    struct gr_column column;

    (void)state;
    gr_place_expect(1, 1 << 20);
    assert_int_equal(gr_column_alloc(GRANARY_INT64, ROWS, 0, false, &column), GRANARY_OK);
    gr_column_free(&column);
    gr_place_set(&test.place);
    gr_place_expect(1, 1 << 10); /* not worth it */
    assert_int_equal(test.asked, 0);
    gr_place_expect(1, 1 << 20);
    gr_place_expect(1, 1 << 20);
    assert_int_equal(test.asked, 1);
    assert_int_equal(gr_column_alloc(GRANARY_INT64, ROWS, 0, false, &column), GRANARY_OK);
    gr_column_free(&column);
    gr_place_set(NULL);
}

static void
bytes_have_a_place_too(void **state)
{
    struct test_place test = {.place = {.room = give_room}};
    struct gr_column column;
    void *first, *second;

    (void)state;
    gr_place_set(&test.place);
    first = gr_bytes_alloc(1 << 20);
    second = gr_bytes_alloc(1 << 20);
    assert_ptr_equal(first, test.place.file);
    assert_true(second != NULL && !lies_in(&test.place, second));
    assert_int_equal(gr_column_alloc(GRANARY_INT64, ROWS, 0, false, &column), GRANARY_OK);
    assert_false(lies_in(&test.place, column.view.values));
    gr_column_free(&column);
    gr_bytes_free(first);
    gr_bytes_free(second);
    gr_place_set(NULL);
    free(test.place.file);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_made_in_place),
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(without_a_place_it_is_the_heap),
        cmocka_unit_test(bytes_have_a_place_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
