/* Rows and columns of frame objects: what is read in parts is what the whole has. */
#include <stdlib.h>
#include <string.h>

#include "data/arrow/arrow.h"
#include "granary/frame.h"
#include "integration/store/fixture.h"
#include "unit/data/frames.h"

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

/* ---- frames of the caller ---- */

static const uint8_t some[] = {0x0d}; /* rows 0, 2 and 3 */

static granary_err
put(granary_client *client, granary_column column, int64_t rows, granary_id *id)
{
    *id = (granary_id){{0}};
    return granary_frame_put(client, &column, 1, rows, id);
}

static void
columns_of_the_caller_become_a_frame(void **state)
{
    static const int16_t shorts[] = {-1, 77, 2, 3};
    static const char decimals[65] = "\0\x39\x30"; /* 12345 at an odd address */
    static const int32_t offsets[] = {1, 3, 4, 4, 6};
    static const int32_t entry_offsets[] = {0, 3, 6};
    static const int32_t codes[] = {1, 99, 0, 1};
    const granary_column entries = {.dtype = GRANARY_STRING, .rows = 2, .values = "owlelk", .offsets = entry_offsets};
    const granary_column columns[] = {
        {.name = "short", .dtype = GRANARY_INT16, .values = shorts, .validity = some},
        {.name = "price", .dtype = GRANARY_DECIMAL(2), .values = decimals + 1},
        {.name = "text", .dtype = GRANARY_STRING, .values = "-abcde", .offsets = offsets, .validity = some},
        {.name = "bird", .dtype = GRANARY_STRING, .values = codes, .dictionary = &entries, .validity = some},
        {.name = "none", .dtype = GRANARY_NULLTYPE},
    };
    static const char *const want[][4] = {{"-1", "", "2", "3"},
                                          {"123.45", "0.00", "0.00", "0.00"},
                                          {"ab", "", "", "de"},
                                          {"elk", "", "owl", "elk"},
                                          {"", "", "", ""}};
    granary_client *client = fixture_connect(state);
    granary_id id = {{0}};
    granary_frame *frame;
    granary_view view;
    const char *text;
    size_t length;

    assert_ok(granary_frame_put(client, columns, 5, 4, &id));
    assert_ok(granary_object_get(client, id, 0, &view));
    assert_ok(granary_frame_open(&view, &frame));
    assert_int_equal(granary_frame_rows(frame), 4);
    for (size_t c = 0; c < 5; c++) {
        assert_int_equal(granary_frame_column(frame, c)->dtype, columns[c].dtype);
        assert_int_equal((uintptr_t)granary_frame_column(frame, c)->values % 64, 0);
        for (int64_t row = 0; row < 4; row++) {
            assert_string_equal(text_at(frame, columns[c].name, row), want[c][row]);
        }
    }
    assert_int_equal(((const int16_t *)granary_frame_column(frame, 0)->values)[1], 0);
    assert_non_null(granary_frame_column(frame, 3)->dictionary);
    assert_int_equal(((const int32_t *)granary_frame_column(frame, 3)->values)[1], 0);
    text = granary_column_text(granary_frame_column(frame, 3), 2, &length);
    assert_int_equal(length, 3);
    assert_memory_equal(text, "owl", 3);
    assert_null(granary_column_text(granary_frame_column(frame, 3), 1, &length));
    granary_frame_close(frame);
    granary_object_release(client, &view);
    /* In parts, and of a spilled object, too. */
    assert_ok(granary_object_move(client, id, GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, 10000));
    for (int64_t row = 0; row < 4; row++) {
        assert_ok(granary_frame_read_rows(client, id, row, 1, NULL, 0, 0, &frame));
        for (size_t c = 0; c < 5; c++) {
            assert_string_equal(text_at(frame, columns[c].name, 0), want[c][row]);
        }
        granary_frame_close(frame);
    }
    /* Empty frames, and an id of the caller's. */
    id = fixture_id(7);
    assert_ok(granary_frame_put(client, columns, 5, 0, &id));
    assert_memory_equal(&id, (granary_id[]){fixture_id(7)}, sizeof id);
    assert_int_equal(granary_frame_put(client, columns, 5, 0, &id), GRANARY_EEXIST);
    id = (granary_id){{0}};
    assert_ok(granary_frame_put(client, NULL, 0, 3, &id));
    granary_disconnect(client);
}

/* Nothing but nulls, encoded: the dictionary has no strings, and no code leads into it. */
static void
a_dictionary_may_be_empty(void **state)
{
    static const uint8_t none[] = {0};
    static const int32_t codes[] = {0, 0, 0};
    static const int32_t no_offsets[] = {0};
    const granary_column entries = {.dtype = GRANARY_STRING, .rows = 0, .values = "", .offsets = no_offsets};
    const granary_column column = {
        .name = "a", .dtype = GRANARY_STRING, .values = codes, .dictionary = &entries, .validity = none};
    granary_client *client = fixture_connect(state);
    granary_frame *frame;
    granary_id id;

    assert_ok(put(client, column, 3, &id));
    for (int64_t rows = 0; rows <= 3; rows++) {
        assert_ok(granary_frame_read_rows(client, id, 3 - rows, rows, NULL, 0, 0, &frame));
        for (int64_t row = 0; row < rows; row++) {
            size_t length = 1;

            assert_null(granary_column_text(granary_frame_column(frame, 0), row, &length));
            assert_int_equal(length, 0);
        }
        granary_frame_close(frame);
    }
    granary_disconnect(client);
}

static void
columns_that_are_none_are_refused(void **state)
{
    static const int32_t backwards[] = {0, 2, 1};
    static const int32_t good[] = {0, 2, 4};
    static const int32_t codes[] = {0, 2};
    const granary_column twice = {.dtype = GRANARY_STRING, .rows = 2, .values = "abab", .offsets = good};
    const granary_column entries = {.dtype = GRANARY_STRING, .rows = 2, .values = "abcd", .offsets = good};
    granary_client *client = fixture_connect(state);
    granary_column same[2] = {{.name = "a", .dtype = GRANARY_NULLTYPE}, {.name = "a", .dtype = GRANARY_NULLTYPE}};
    granary_id id = {{0}};

#define REFUSED(...) assert_int_equal(put(client, (granary_column){__VA_ARGS__}, 2, &id), GRANARY_EINVAL)
    REFUSED(.dtype = GRANARY_INT64, .values = codes);
    REFUSED(.name = "a", .dtype = GRANARY_INT64);
    REFUSED(.name = "a", .dtype = (granary_dtype)99, .values = codes);
    REFUSED(.name = "a", .dtype = GRANARY_DECIMAL(39), .values = codes);
    REFUSED(.name = "a\xff", .dtype = GRANARY_INT32, .values = codes);
    REFUSED(.name = "a", .dtype = GRANARY_STRING, .values = "abcd");
    REFUSED(.name = "a", .dtype = GRANARY_STRING, .values = "abcd", .offsets = backwards);
    REFUSED(.name = "a", .dtype = GRANARY_STRING, .values = "a\xc3\xa4g", .offsets = good); /* half a character */
    REFUSED(.name = "a", .dtype = GRANARY_STRING, .values = codes, .dictionary = &entries);
    REFUSED(.name = "a", .dtype = GRANARY_STRING, .values = good, .dictionary = &twice);
    REFUSED(.name = "a", .dtype = GRANARY_INT32, .values = good, .dictionary = &entries);
#undef REFUSED
    assert_int_equal(granary_frame_put(client, same, 2, 2, &id), GRANARY_EINVAL);
    assert_int_equal(granary_frame_put(client, same, 1, -1, &id), GRANARY_EINVAL);
    granary_disconnect(client);
}

static void
tensors_of_the_caller_become_objects(void **state)
{
    static const uint16_t values[] = {1, 2, 3, 4, 5, 65535};
    const granary_tensor tensor = {.dtype = GRANARY_UINT16, .dims = 2, .shape = {2, 3}, .values = values};
    granary_tensor bad = tensor;
    granary_client *client = fixture_connect(state);
    granary_id id = {{0}};
    granary_tensor back;
    granary_view view;

    assert_ok(granary_tensor_put(client, &tensor, &id));
    assert_ok(granary_object_get(client, id, 0, &view));
    assert_ok(granary_tensor_open(&view, &back));
    assert_int_equal(back.dtype, GRANARY_UINT16);
    assert_int_equal(back.dims, 2);
    assert_int_equal(back.shape[1], 3);
    assert_memory_equal(back.values, values, sizeof values);
    granary_object_release(client, &view);
    bad.dtype = GRANARY_STRING;
    assert_int_equal(granary_tensor_put(client, &bad, &id), GRANARY_EINVAL);
    bad = tensor;
    bad.shape[0] = -1;
    assert_int_equal(granary_tensor_put(client, &bad, &id), GRANARY_EINVAL);
    bad = tensor;
    bad.values = NULL;
    assert_int_equal(granary_tensor_put(client, &bad, &id), GRANARY_EINVAL);
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
        STORE_TEST(columns_of_the_caller_become_a_frame),
        STORE_TEST(a_dictionary_may_be_empty),
        STORE_TEST(columns_that_are_none_are_refused),
        STORE_TEST(tensors_of_the_caller_become_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
