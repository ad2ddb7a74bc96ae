/* Rows and columns of frame objects: what is read in parts is what the whole has. */
#include <stdlib.h>
#include <string.h>

#include "../../unit/data/frames.h"
#include "data/arrow.h"
#include "fixture.h"
#include "granary/frame.h"

/* `times` frames of everything, one after the other. */
static granary_frame *
large_frame(size_t times)
{
    const granary_frame **parts = calloc(times, sizeof *parts);
    granary_frame *one = frame_of_everything();
    granary_frame *all = NULL;

    for (size_t i = 0; i < times; i++) {
        parts[i] = one;
    }
    assert_ok(gr_frame_concat(parts, times, &all));
    gr_frame_destroy(one);
    free(parts);
    return all;
}

static void
put_frame(granary_client *client, uint64_t n, const granary_frame *frame, bool with_directory)
{
    struct object object = object_of(frame);

    assert_ok(granary_object_put(client, fixture_id(n), object.data, object.data_size, object.meta,
                                 with_directory ? object.meta_size : 0, 0));
    object_free(&object);
}

static void
check_rows(granary_client *client, uint64_t n, const granary_frame *frame, int64_t from, int64_t rows)
{
    const char *names[2] = {frame->columns[frame->count - 1].view.name, frame->columns[0].view.name};
    granary_frame *want, *got;

    assert_ok(gr_frame_slice(frame, from, rows, &want));
    assert_ok(granary_frame_read_rows(client, fixture_id(n), from, rows, NULL, 0, 0, &got));
    assert_frames_equal(want, got);
    granary_frame_close(got);
    assert_ok(granary_frame_read_rows(client, fixture_id(n), from, rows, names, 2, 0, &got));
    assert_int_equal(granary_frame_columns(got), 2);
    for (int64_t row = 0; row < rows; row++) {
        char first[256];

        for (size_t i = 0; i < 2; i++) {
            (void)strncpy(first, text_at(want, names[i], row), sizeof first - 1);
            first[sizeof first - 1] = '\0';
            assert_string_equal(first, text_at(got, names[i], row));
        }
    }
    granary_frame_close(got);
    gr_frame_destroy(want);
}

static void
check_frame(granary_client *client, uint64_t n, const granary_frame *frame)
{
    unsigned seed = 5;
    granary_frame *got;

    check_rows(client, n, frame, 0, 0);
    check_rows(client, n, frame, frame->rows, 0);
    check_rows(client, n, frame, frame->rows - 1, 1);
    for (int i = 0; i < 10; i++) {
        int64_t from = rand_r(&seed) % frame->rows;

        check_rows(client, n, frame, from, rand_r(&seed) % 50 % (frame->rows - from));
    }
    assert_ok(granary_frame_read_rows(client, fixture_id(n), frame->rows - 3, GRANARY_ROWS_REST, NULL, 0, 0, &got));
    assert_int_equal(granary_frame_rows(got), 3);
    granary_frame_close(got);
    assert_err(granary_frame_read_rows(client, fixture_id(n), frame->rows, 1, NULL, 0, 0, &got), GRANARY_EINVAL);
    assert_err(granary_frame_read_rows(client, fixture_id(n), -1, 1, NULL, 0, 0, &got), GRANARY_EINVAL);
    assert_err(granary_frame_read_rows(client, fixture_id(n), 0, 1, (const char *const[]){"nowhere"}, 1, 0, &got),
               GRANARY_ENOENT);
}

static void
parts_are_as_the_whole(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_frame *frame = large_frame(40000);
    granary_object_info info;
    granary_store_stat before, after;
    granary_frame *got;

    put_frame(client, 1, frame, true);
    check_frame(client, 1, frame);
    assert_ok(granary_object_move(client, fixture_id(1), GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, 10000));
    before = fixture_stat(client);
    check_rows(client, 1, frame, 100000, 10);
    after = fixture_stat(client);
    assert_ok(granary_object_info_get(client, fixture_id(1), &info));
    assert_int_equal(info.state, GRANARY_OBJECT_SPILLED); /* the rest stays on disk */
    assert_true(after.frames_read > before.frames_read);
    assert_true(after.frame_bytes - before.frame_bytes < info.data_size);
    check_frame(client, 1, frame);
    assert_err(granary_frame_read_rows(client, fixture_id(2), 0, 1, NULL, 0, 0, &got), GRANARY_ENOENT);
    gr_frame_destroy(frame);
    granary_disconnect(client);
}

static void
an_arrow_file_of_others_will_do(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_frame *frame = large_frame(10);
    granary_frame *got;

    put_frame(client, 1, frame, false);
    check_frame(client, 1, frame);
    assert_ok(granary_object_put(client, fixture_id(2), "no frame", 8, NULL, 0, 0));
    assert_err(granary_frame_read_rows(client, fixture_id(2), 0, 1, NULL, 0, 0, &got), GRANARY_ETYPE);
    gr_frame_destroy(frame);
    granary_disconnect(client);
}

/* A directory that promises what the data does not have, byte by byte: an error, or rows; never a crash. */
static void
damaged_directories_are_refused(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_frame *frame = large_frame(3);
    struct object object = object_of(frame);
    unsigned char *meta = object.meta;
    unsigned refused = 0;

    for (uint64_t at = 0; at < object.meta_size; at++) {
        granary_frame *got;

        meta[at] ^= 0xff;
        assert_ok(granary_object_put(client, fixture_id(at), object.data, object.data_size, meta, object.meta_size, 0));
        meta[at] ^= 0xff;
        if (granary_frame_read_rows(client, fixture_id(at), 1, 10, NULL, 0, 0, &got) == GRANARY_OK) {
            granary_frame_close(got);
        } else {
            refused++;
        }
        assert_ok(granary_object_delete(client, fixture_id(at), 0));
    }
    assert_true(refused > 100);
    object_free(&object);
    gr_frame_destroy(frame);
    granary_disconnect(client);
}

int
main(void)
{
#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)
    const struct CMUnitTest tests[] = {
        STORE_TEST(parts_are_as_the_whole),
        STORE_TEST(an_arrow_file_of_others_will_do),
        STORE_TEST(damaged_directories_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
