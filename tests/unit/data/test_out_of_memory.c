/* Each operation with its first, second, third, ... allocation failing: ENOMEM, nothing leaks (the sanitizers watch),
 * and the first try that lacks nothing succeeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fd.h"
#include "data/arrow/arrow.h"
#include "data/file/paths/hive.h"
#include "data/file/paths/paths.h"
#include "data/print/print.h"
#include "data/tensor.h"
#include "frames.h"
#include "support/allocations.h"

static granary_frame *frame;
static struct object object;
static char *foreign;
static size_t foreign_size;

static granary_err
finish(granary_err err, granary_frame *made)
{
    if (err == GRANARY_OK) {
        gr_frame_destroy(made);
    } else {
        assert_null(made);
    }
    return err;
}

static granary_err
do_take(void)
{
    static const int64_t indices[] = {4, -1, 2};
    granary_frame *made = NULL;
    granary_err err = gr_frame_take(frame, indices, 3, &made);

    return finish(err, made);
}

static granary_err
do_slice(void)
{
    granary_frame *made = NULL;
    granary_err err = gr_frame_slice(frame, 1, 3, &made);

    return finish(err, made);
}

static granary_err
do_concat(void)
{
    const granary_frame *const both[] = {frame, frame};
    granary_frame *made = NULL;
    granary_err err = gr_frame_concat(both, 2, &made);

    return finish(err, made);
}

static granary_err
do_read_directory(void)
{
    granary_frame *made = NULL;
    granary_err err = gr_arrow_read(object.data, object.data_size, object.meta, object.meta_size, &made);

    return finish(err, made);
}

static granary_err
do_read_file(void)
{
    granary_frame *made = NULL;
    granary_err err = gr_arrow_read(foreign, foreign_size, NULL, 0, &made);

    return finish(err, made);
}

/* ---- dictionaries ---- */

static granary_frame *plain;      /* a column of text */
static granary_frame *encoded[2]; /* it with two dictionaries */
static struct object encoded_object;

static granary_err
do_encode(void)
{
    struct gr_column column;
    bool pays;
    granary_err err = gr_column_encode(&plain->columns[0].view, &pays, &column);

    if (err == GRANARY_OK) {
        assert_true(pays);
        gr_column_free(&column);
    }
    return err;
}

static granary_err
do_unify(void)
{
    granary_frame *made = NULL;
    granary_err err = gr_frame_concat((const granary_frame *const *)encoded, 2, &made);

    return finish(err, made);
}

static granary_err
do_mix(void)
{
    const granary_frame *const both[] = {encoded[0], plain};
    granary_frame *made = NULL;
    granary_err err = gr_frame_concat(both, 2, &made);

    return finish(err, made);
}

static granary_err
do_decode(void)
{
    granary_frame *made = NULL;
    granary_err err = gr_frame_decode(encoded[0], &made);

    return finish(err, made);
}

/* What was read, and what is taken from it: its dictionary is copied, for it lies in the object. */
static granary_err
do_read_encoded(void)
{
    static const int64_t indices[] = {4, -1, 2};
    granary_frame *made = NULL;
    granary_frame *taken = NULL;
    granary_err err = gr_arrow_read(encoded_object.data, encoded_object.data_size, encoded_object.meta,
                                    encoded_object.meta_size, &made);

    if (err == GRANARY_OK) {
        err = gr_frame_take(made, indices, 3, &taken);
        err = finish(err, taken);
    }
    gr_frame_destroy(made);
    return err;
}

static granary_err
put_nothing(void *to, const void *bytes, size_t size)
{
    (void)to;
    (void)bytes;
    (void)size;
    return GRANARY_OK;
}

static granary_err
do_stream(void)
{
    struct gr_arrow_stream *stream = NULL;
    granary_err err = gr_arrow_stream_create(put_nothing, NULL, &stream);

    for (int i = 0; err == GRANARY_OK && i < 17; i++) {
        err = gr_arrow_stream_add(stream, plain);
    }
    err = err == GRANARY_OK ? gr_arrow_stream_finish(stream) : err;
    gr_arrow_stream_destroy(stream);
    return err;
}

static granary_err
do_read_parts(void)
{
    struct gr_arrow_file *file = NULL;
    granary_frame *made = NULL;
    char path[4096];
    granary_err err;

    (void)snprintf(path, sizeof path, "%s/tests/golden/arrow/foreign.arrow", getenv("GRANARY_SOURCE"));
    err = gr_arrow_file_open(path, &file);
    if (err == GRANARY_OK) {
        err = gr_arrow_file_read(file, NULL, 1, 2, &made);
        err = finish(err, made);
    }
    gr_arrow_file_close(file);
    return err;
}

static void
make_encoded(void)
{
    static const char *const words[] = {"a", "b", "a", "b", "a", "b", "a", "b", "a", "b", "a", "b"};

    plain = gr_frame_create(1, 10);
    for (size_t i = 0; i < 3; i++) { /* a, b, a, ...; the same; b, a, b, ... */
        struct gr_column text = texts(words + i / 2, NULL, 10);
        struct gr_column codes;
        bool pays;

        if (i == 0) {
            assert_int_equal(gr_frame_set(plain, 0, "t", &text), GRANARY_OK);
            continue;
        }
        encoded[i - 1] = gr_frame_create(1, 10);
        assert_int_equal(gr_column_encode(&text.view, &pays, &codes), GRANARY_OK);
        assert_true(pays);
        assert_int_equal(gr_frame_set(encoded[i - 1], 0, "t", &codes), GRANARY_OK);
        gr_column_free(&text);
    }
    encoded_object = object_of(encoded[0]);
}

static granary_err
do_tensor(void)
{
    static const int64_t shape[] = {3};
    struct gr_tensor tensor = {.owned = NULL};
    granary_err err = gr_tensor_alloc(GRANARY_INT64, 1, shape, &tensor);

    gr_tensor_free(&tensor);
    return err;
}

static granary_err
do_print(void)
{
    static const double values[] = {1, 2};
    granary_tensor tensor = {.dtype = GRANARY_FLOAT64, .dims = 1, .shape = {2}, .values = values};
    struct gr_buf out = {0};
    granary_err err;

    gr_print_table(frame, 3, &out);
    gr_print_csv(frame, &out);
    gr_print_json(frame, &out);
    gr_print_tensor(&tensor, 0, &out);
    err = gr_buf_ok(&out) ? GRANARY_OK : GRANARY_ENOMEM;
    gr_buf_free(&out);
    return err;
}

/* A pattern with all that patterns have, and a folder. */
static granary_err
do_paths(void)
{
    static const char *const names[] = {"tests/golden/{npy,arr*}/**/*.arrow", "tests/golden/"};
    struct gr_paths paths = {0};
    granary_err err = gr_paths_find(getenv("GRANARY_SOURCE"), names, 2, NULL, &paths);

    assert_true(err != GRANARY_OK || paths.count > 1);
    gr_paths_free(&paths);
    return err;
}

static granary_err
do_hive(void)
{
    char first[] = "x/k=1/m=%41/a.csv";
    char second[] = "x/m=__HIVE_DEFAULT_PARTITION__/k=2/b.csv";
    char *names[] = {first, second};
    struct gr_hive hive = {0};
    granary_err err = gr_hive_read(names, 2, true, &hive);

    if (err == GRANARY_OK) {
        assert_string_equal(hive.values[1], "A");
        assert_string_equal(hive.values[2], "2");
        assert_null(hive.values[3]);
    }
    gr_hive_free(&hive);
    return err;
}

static void
each_missing_allocation_is_an_error(void **state)
{
    static granary_err (*const works[])(void) = {
        do_take,  do_slice, do_concat, do_read_directory, do_read_file, do_tensor,     do_print, do_encode,
        do_unify, do_mix,   do_decode, do_read_encoded,   do_stream,    do_read_parts, do_paths, do_hive};

    (void)state;
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++) {
        granary_err err = GRANARY_ENOMEM;
        int after;

        for (after = 0; err != GRANARY_OK; after++) {
            allocations_left = after;
            err = works[i]();
            allocations_left = -1;
            assert_true(err == GRANARY_OK || err == GRANARY_ENOMEM);
            assert_true(after < 1000);
        }
        assert_true(after > 1); /* it does allocate */
    }
}

static int
begin(void **state)
{
    char path[4096];

    (void)state;
    frame = frame_of_everything();
    make_encoded();
    object = object_of(frame);
    (void)snprintf(path, sizeof path, "%s/tests/golden/arrow/foreign.arrow", getenv("GRANARY_SOURCE"));
    return gr_file_read(path, 1 << 20, &foreign, &foreign_size) == GRANARY_OK ? 0 : -1;
}

static int
end(void **state)
{
    (void)state;
    gr_frame_destroy(frame);
    gr_frame_destroy(plain);
    gr_frame_destroy(encoded[0]);
    gr_frame_destroy(encoded[1]);
    object_free(&encoded_object);
    object_free(&object);
    free(foreign);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_missing_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
