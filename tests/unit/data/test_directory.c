#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/layout/directory.h"
#include "data/print/print.h"
#include "frames.h"

static struct gr_directory_column
entry_of(const struct object *object, size_t position)
{
    struct gr_directory_column entry;

    gr_directory_get(object->meta, position, &entry);
    return entry;
}

/* Nulls count for nothing, bools and dates are integers, text has its first eight bytes. */
static void
zones_bound_the_values(void **state)
{
    granary_frame *frame = frame_of_everything();
    struct object object = object_of(frame);

    (void)state;
    assert_int_equal(entry_of(&object, 0).flags, 0);
    assert_int_equal(entry_of(&object, 0).null_count, 5);
    assert_int_equal(entry_of(&object, 1).flags, GR_DIRECTORY_ZONE);
    assert_int_equal(entry_of(&object, 1).min.integer, 0);
    assert_int_equal(entry_of(&object, 1).max.integer, 1);
    assert_true(entry_of(&object, 2).min.integer == INT64_MIN);
    assert_true(entry_of(&object, 2).max.integer == INT64_MAX);
    assert_true(entry_of(&object, 3).min.real == -1e300);
    assert_true(entry_of(&object, 3).max.real == 0.1);
    assert_memory_equal(entry_of(&object, 4).min.text, "\0\0\0\0\0\0\0\0", 8);
    assert_memory_equal(entry_of(&object, 4).max.text, "日本語", 8);
    assert_int_equal(entry_of(&object, 5).min.integer, -719162);
    assert_int_equal(entry_of(&object, 7).max.integer, INT32_MAX);
    assert_int_equal(entry_of(&object, 9).flags, 0); /* all null */
    assert_int_equal(entry_of(&object, 10).min.integer, INT32_MIN);
    object_free(&object);
    gr_frame_destroy(frame);
}

static void
nan_stays_out_of_the_zone(void **state)
{
    static const char *const names[] = {"some", "all", "inf"};
    const double some[] = {1, NAN, 3};
    const double all[] = {NAN, NAN, NAN};
    const double infinite[] = {-INFINITY, 0, INFINITY};
    struct gr_column columns[] = {reals(some, NULL, 3), reals(all, NULL, 3), reals(infinite, NULL, 3)};
    granary_frame *frame = frame_of(3, names, columns);
    struct object object = object_of(frame);

    (void)state;
    assert_int_equal(entry_of(&object, 0).flags, GR_DIRECTORY_ZONE | GR_DIRECTORY_NAN);
    assert_true(entry_of(&object, 0).min.real == 1);
    assert_true(entry_of(&object, 0).max.real == 3);
    assert_int_equal(entry_of(&object, 1).flags, GR_DIRECTORY_NAN);
    assert_int_equal(entry_of(&object, 2).flags, GR_DIRECTORY_ZONE);
    assert_true(isinf(entry_of(&object, 2).min.real) && isinf(entry_of(&object, 2).max.real));
    object_free(&object);
    gr_frame_destroy(frame);
}

enum { MANY = 20001, CUT = 5 };

/* Rows CUT to MANY: 0 .. 9 except where told; NaN to row 9000; texts "b" .. of 0 to 12 bytes. */
static granary_frame *
many_rows(void)
{
    static const char *const names[] = {"int", "real", "text"};
    struct gr_column columns[3];
    granary_frame *all;
    granary_frame *cut;
    int32_t at = 0;
    int32_t *offsets;
    char *text;

    assert_int_equal(gr_column_alloc(GRANARY_INT32, MANY, 0, false, &columns[0]), GRANARY_OK);
    assert_int_equal(gr_column_alloc(GRANARY_FLOAT64, MANY, 0, false, &columns[1]), GRANARY_OK);
    assert_int_equal(gr_column_alloc(GRANARY_STRING, MANY, INT64_C(12) * MANY, false, &columns[2]), GRANARY_OK);
    offsets = (int32_t *)(uintptr_t)columns[2].view.offsets;
    text = (char *)(uintptr_t)columns[2].view.values;
    for (int i = 0; i < MANY; i++) {
        int length = i == 16500 ? 1 : 1 + i % 12;

        ((int32_t *)(uintptr_t)columns[0].view.values)[i] = i == 10000 ? 77 : i == MANY - 1 ? -5 : i % 10;
        ((double *)(uintptr_t)columns[1].view.values)[i] = i < 9000 ? NAN : i == 9001 ? -2.5 : i == 17000 ? 8.5 : 1.0;
        memset(text + at, i == 16500 ? 'a' : i == 8300 ? 'z' : 'b' + i % 3, (size_t)length);
        at += length;
        offsets[i + 1] = at;
    }
    all = frame_of(3, names, columns);
    assert_int_equal(gr_frame_slice(all, CUT, MANY - CUT, &cut), GRANARY_OK);
    gr_frame_destroy(all);
    return cut;
}

/* The zone is made while values are copied, run by run: it is that of all, and all is copied. */
static void
zones_of_many_rows_are_of_all_of_them(void **state)
{
    granary_frame *frame = many_rows();
    struct object object = object_of(frame);
    granary_frame *back;

    (void)state;
    assert_int_equal(entry_of(&object, 0).flags, GR_DIRECTORY_ZONE);
    assert_int_equal(entry_of(&object, 0).min.integer, -5);
    assert_int_equal(entry_of(&object, 0).max.integer, 77);
    assert_int_equal(entry_of(&object, 1).flags, GR_DIRECTORY_ZONE | GR_DIRECTORY_NAN);
    assert_true(entry_of(&object, 1).min.real == -2.5);
    assert_true(entry_of(&object, 1).max.real == 8.5);
    assert_memory_equal(entry_of(&object, 2).min.text, "a\0\0\0\0\0\0\0", 8);
    assert_memory_equal(entry_of(&object, 2).max.text, "zzzzzzzz", 8);
    assert_int_equal(gr_directory_read(object.data, object.data_size, object.meta, object.meta_size, &back),
                     GRANARY_OK);
    for (size_t c = 0; c < 2; c++) {
        assert_memory_equal(back->columns[c].view.values, frame->columns[c].view.values,
                            (MANY - CUT) * gr_dtype_size(frame->columns[c].view.dtype));
    }
    for (int64_t i = 0; i < MANY - CUT; i++) {
        size_t length[2];
        const char *one = gr_text_at(&back->columns[2].view, i, &length[0]);
        const char *other = gr_text_at(&frame->columns[2].view, i, &length[1]);

        assert_int_equal(length[0], length[1]);
        assert_memory_equal(one, other, length[0]);
    }
    gr_frame_destroy(back);
    object_free(&object);
    gr_frame_destroy(frame);
}

static granary_err
read_object(const struct object *object)
{
    granary_frame *frame;
    granary_err err = gr_directory_read(object->data, object->data_size, object->meta, object->meta_size, &frame);

    if (err == GRANARY_OK) {
        gr_frame_destroy(frame);
    }
    return err;
}

/* Each header field and each buffer, moved out of bounds one after the other. */
static void
what_does_not_fit_is_refused(void **state)
{
    granary_frame *frame = frame_of_everything();
    struct object object = object_of(frame);
    struct gr_directory *head = object.meta;
    struct gr_directory_column *entry = (struct gr_directory_column *)(void *)(head + 1) + 4; /* text with nulls */
    const struct gr_directory_column good_entry = *entry;
    const struct gr_directory good_head = *head;

    (void)state;
    assert_int_equal(read_object(&object), GRANARY_OK);
#define REFUSED(thing, good, change)                                                                                   \
    do {                                                                                                               \
        change;                                                                                                        \
        assert_int_equal(read_object(&object), GRANARY_ECORRUPT);                                                      \
        *(thing) = good;                                                                                               \
    } while (0)
    REFUSED(head, good_head, head->magic++);
    REFUSED(head, good_head, head->version = 3);
    REFUSED(head, good_head, head->entry_size = 88);
    REFUSED(head, good_head, head->columns++);
    REFUSED(head, good_head, head->columns = UINT32_MAX);
    REFUSED(head, good_head, head->names_size--);
    REFUSED(head, good_head, head->rows = -1);
    REFUSED(head, good_head, head->rows = INT64_MAX);
    REFUSED(head, good_head, head->rows = INT64_MAX / 64);
    REFUSED(head, good_head, head->rows = 1000);
    REFUSED(head, good_head, head->data_size++);
    REFUSED(entry, good_entry, entry->name_offset++);
    REFUSED(entry, good_entry, entry->name_offset = UINT32_MAX);
    REFUSED(entry, good_entry, entry->name_length++);
    REFUSED(entry, good_entry, entry->name_length = UINT32_MAX);
    REFUSED(entry, good_entry, entry->dtype = 17);
    REFUSED(entry, good_entry, entry->dtype = 16 + (19 << 8));
    REFUSED(entry, good_entry, entry->null_count = -1);
    REFUSED(entry, good_entry, entry->null_count = 6);
    REFUSED(entry, good_entry, entry->validity_offset = UINT64_MAX - 63);
    REFUSED(entry, good_entry, entry->validity_offset += 1);
    REFUSED(entry, good_entry, entry->validity_size = 0);
    REFUSED(entry, good_entry, entry->validity_size = UINT64_MAX);
    REFUSED(entry, good_entry, entry->offsets_offset = object.data_size / 64 * 64 + 64);
    REFUSED(entry, good_entry, entry->offsets_size = 23);
    REFUSED(entry, good_entry, entry->values_size = 1);
    REFUSED(entry, good_entry, entry->values_offset += 32);
#undef REFUSED
    assert_int_equal(read_object(&object), GRANARY_OK);
    object.meta_size--;
    assert_int_equal(read_object(&object), GRANARY_ECORRUPT);
    object.meta_size = 10;
    assert_int_equal(read_object(&object), GRANARY_ECORRUPT);
    object_free(&object);
    gr_frame_destroy(frame);
}

static void
string_offsets_out_of_bounds_are_refused(void **state)
{
    granary_frame *frame = frame_of_everything();
    struct object object = object_of(frame);
    struct gr_directory_column entry = entry_of(&object, 4);
    int32_t *offsets = (int32_t *)(void *)((char *)object.data + entry.offsets_offset);
    int32_t last = offsets[5];

    (void)state;
    offsets[0] = 1;
    assert_int_equal(read_object(&object), GRANARY_ECORRUPT);
    offsets[0] = 0;
    offsets[5] = -1;
    assert_int_equal(read_object(&object), GRANARY_ECORRUPT);
    offsets[5] = (int32_t)entry.values_size + 1;
    assert_int_equal(read_object(&object), GRANARY_ECORRUPT);
    offsets[5] = last;
    assert_int_equal(read_object(&object), GRANARY_OK);
    object_free(&object);
    gr_frame_destroy(frame);
}

/* Any byte of the directory damaged: a frame within the object, or an error. */
static void
damage_anywhere_is_survived(void **state)
{
    static const unsigned char flips[] = {0x01, 0x80, 0xff};
    granary_frame *frame = frame_of_everything();
    struct object object = object_of(frame);
    unsigned char *meta = object.meta;

    (void)state;
    for (size_t i = 0; i < object.meta_size; i++) {
        for (size_t f = 0; f < sizeof flips; f++) {
            granary_frame *back;

            meta[i] ^= flips[f];
            if (gr_directory_read(object.data, object.data_size, meta, object.meta_size, &back) == GRANARY_OK) {
                for (size_t c = 0; c < back->count; c++) {
                    /* Within a text the order is the writer's promise; all else may be looked at. */
                    if (granary_frame_column(back, c)->dtype != GRANARY_STRING) {
                        struct gr_buf text = {0};

                        gr_value_format(granary_frame_column(back, c), back->rows - 1, &text);
                        gr_buf_free(&text);
                    }
                }
                gr_frame_destroy(back);
            }
            meta[i] ^= flips[f];
        }
    }
    object_free(&object);
    gr_frame_destroy(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zones_bound_the_values),       cmocka_unit_test(nan_stays_out_of_the_zone),
        cmocka_unit_test(what_does_not_fit_is_refused), cmocka_unit_test(string_offsets_out_of_bounds_are_refused),
        cmocka_unit_test(damage_anywhere_is_survived),  cmocka_unit_test(zones_of_many_rows_are_of_all_of_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
