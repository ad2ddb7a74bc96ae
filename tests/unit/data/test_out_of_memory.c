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
#include "data/arrow.h"
#include "data/print.h"
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

static void
each_missing_allocation_is_an_error(void **state)
{
    static granary_err (*const works[])(void) = {do_take,      do_slice,  do_concat, do_read_directory,
                                                 do_read_file, do_tensor, do_print};

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
    object = object_of(frame);
    (void)snprintf(path, sizeof path, "%s/tests/golden/arrow/foreign.arrow", getenv("GRANARY_SOURCE"));
    return gr_file_read(path, 1 << 20, &foreign, &foreign_size) == GRANARY_OK ? 0 : -1;
}

static int
end(void **state)
{
    (void)state;
    gr_frame_destroy(frame);
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
