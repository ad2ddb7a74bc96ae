/* Parts of chunks: what is selected is what the whole has, and costs no more than it must. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "granary/read.h"
#include "integration/store/fixture.h"
#include "read_tools.h"
#include "unit/data/frames.h"

#define ALL GRANARY_SLICE_ALL

#ifdef GRANARY_SANITIZED /* shadow memory has faults of its own */
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* ---- what slices mean ---- */

static int64_t
end_of(int i)
{
    return i < -6 ? GRANARY_OMITTED : i;
}

/* The hash of what Python's range(n)[start:stop:step] gives for all of these. */
static void
slices_are_pythons(void **state)
{
    uint64_t hash = 0;
    int64_t first, step, count;

    (void)state;
    for (int64_t n = 0; n < 5; n++) {
        for (int start = -7; start < 7; start++) {
            for (int stop = -7; stop < 7; stop++) {
                for (int by = -3; by <= 3; by++) {
                    if (by == 0) {
                        continue;
                    }
                    assert_ok(granary_slice_resolve((granary_slice){end_of(start), end_of(stop), by}, n, &first, &step,
                                                    &count));
                    hash = hash * 31 + (uint64_t)count;
                    for (int64_t i = 0; i < count; i++) {
                        hash = hash * 31 + (uint64_t)(first + i * step);
                    }
                }
            }
        }
    }
    assert_true(hash == 0x62f274a4092a272cull);
    assert_err(granary_slice_resolve((granary_slice){5, 0, 0}, 5, &first, &step, &count), GRANARY_EINVAL);
    assert_err(granary_slice_resolve((granary_slice){-6, 0, 0}, 5, &first, &step, &count), GRANARY_EINVAL);
    assert_err(granary_slice_resolve((granary_slice){GRANARY_OMITTED, 9, 0}, 5, &first, &step, &count), GRANARY_EINVAL);
    assert_ok(granary_slice_resolve((granary_slice){-5, 0, 0}, 5, &first, &step, &count));
    assert_true(first == 0 && count == 1);
    assert_ok(granary_slice_resolve((granary_slice){INT64_MAX, INT64_MIN + 1, INT64_MIN}, 5, &first, &step, &count));
    assert_true(first == 4 && count == 1);
}

/* ---- tensors ---- */

#define SHAPE ((const int64_t[]){30, 50, 90})

/* Against the slices one by one. */
static void
check_elements(granary_client *client, uint64_t n, const granary_slice dims[3])
{
    granary_selection select = {.kind = GRANARY_SELECT_ELEMENTS, .dim_count = 3};
    int64_t first[3], step[3], count[3];
    granary_chunk chunk;
    const int64_t *got;
    int kept = 0;

    for (int d = 0; d < 3; d++) {
        select.dims[d] = dims[d];
        assert_ok(granary_slice_resolve(dims[d], SHAPE[d], &first[d], &step[d], &count[d]));
    }
    chunk = read_part(client, n, select, NULL);
    assert_int_equal(chunk.kind, GRANARY_CHUNK_TENSOR);
    assert_int_equal(chunk.tensor.dtype, GRANARY_INT64);
    for (int d = 0; d < 3; d++) {
        if (dims[d].step != 0) {
            assert_true(chunk.tensor.shape[kept++] == count[d]);
        }
    }
    assert_int_equal(chunk.tensor.dims, kept);
    got = chunk.tensor.values;
    for (int64_t i = 0; i < count[0]; i++) {
        for (int64_t j = 0; j < count[1]; j++) {
            for (int64_t k = 0; k < count[2]; k++) {
                int64_t at =
                    ((first[0] + i * step[0]) * SHAPE[1] + first[1] + j * step[1]) * SHAPE[2] + first[2] + k * step[2];

                assert_true(*got++ == (int64_t)n * 1000000 + at);
            }
        }
    }
    granary_chunk_release(client, &chunk, 1);
}

static void
check_tensor(granary_client *client, uint64_t n)
{
    static const granary_slice some[][3] = {
        {ALL, ALL, ALL},
        {{3, 0, 0}, {-1, 0, 0}, {5, 0, 0}},
        {{29, 0, 0}, {5, 9, 1}, ALL},
        {{5, 9, 1}, ALL, ALL},
        {{4, 4, 1}, ALL, ALL},
        {{GRANARY_OMITTED, GRANARY_OMITTED, -1}, {-1, 0, -7}, {GRANARY_OMITTED, GRANARY_OMITTED, -1}},
        {ALL, {100, 200, 1}, ALL},
        {ALL, {49, 0, 0}, {2, 80, 3}},
        {{GRANARY_OMITTED, GRANARY_OMITTED, 29}, ALL, {0, 1, 1}},
        {{2, 3, 1}, {4, 5, -1}, ALL},
    };
    unsigned seed = 7;

    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        check_elements(client, n, some[i]);
    }
    for (int i = 0; i < 40; i++) {
        granary_slice dims[3];

        for (int d = 0; d < 3; d++) {
            dims[d] = (granary_slice){rand_r(&seed) % 120 - 60, rand_r(&seed) % 120 - 60, rand_r(&seed) % 9 - 4};
            if (dims[d].step == 0) {
                dims[d].start = rand_r(&seed) % (2 * (int)SHAPE[d]) - SHAPE[d];
            }
        }
        check_elements(client, n, dims);
    }
}

static void
elements_are_numpys(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_selection select = {.kind = GRANARY_SELECT_ELEMENTS, .dims = {{7, 9, 1}}, .dim_count = 1};
    granary_object_info info;
    granary_view view;
    granary_chunk chunk;

    read_put_tensor(client, 1, 3, SHAPE);
    check_tensor(client, 1);
    chunk = read_part(client, 1, select, NULL);
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    assert_true(chunk.mapped && chunk.tensor.dims == 3);
    assert_ptr_equal(chunk.tensor.values, (const char *)view.data + 128 + 7 * 50 * 90 * 8);
    granary_object_release(client, &view);
    granary_chunk_release(client, &chunk, 1);

    read_refuse(client, 1, (granary_selection){.kind = GRANARY_SELECT_ELEMENTS, .dims = {{30, 0, 0}}, .dim_count = 1},
                GRANARY_EINVAL);
    read_refuse(client, 1, (granary_selection){.kind = GRANARY_SELECT_ELEMENTS, .dim_count = 4}, GRANARY_EINVAL);
    read_refuse(client, 1, (granary_selection){.kind = GRANARY_SELECT_ROWS, .rows = ALL}, GRANARY_ETYPE);

    read_spill(client, 1);
    chunk = read_part(client, 1, select, NULL);
    assert_true(*(const int64_t *)chunk.tensor.values == 1000000 + 7 * 50 * 90);
    granary_chunk_release(client, &chunk, 1);
    check_tensor(client, 1);
    read_spill(client, 1);
    check_elements(client, 1, (const granary_slice[]){ALL, {0, 50, 7}, {3, 5, 1}});
    assert_ok(granary_object_info_get(client, fixture_id(1), &info));
    assert_int_equal(info.state, GRANARY_OBJECT_SPILLED);
    granary_disconnect(client);
}

/* ---- frames ---- */

static void
check_frame_part(granary_client *client, uint64_t n, const granary_frame *frame, granary_selection select,
                 const int64_t *rows, int64_t count)
{
    granary_chunk chunk = read_part(client, n, select, NULL);
    granary_frame *want;

    assert_ok(gr_frame_take(frame, rows, count, &want));
    assert_int_equal(chunk.kind, GRANARY_CHUNK_FRAME);
    if (select.columns == NULL) {
        assert_frames_equal(want, chunk.frame);
    } else {
        assert_int_equal(granary_frame_columns(chunk.frame), select.column_count);
        assert_true(granary_frame_rows(chunk.frame) == count);
    }
    for (size_t i = 0; i < select.column_count; i++) {
        for (int64_t row = 0; row < count; row++) {
            char text[200];

            (void)strncpy(text, text_at(want, select.columns[i], row), sizeof text - 1);
            text[sizeof text - 1] = '\0';
            assert_string_equal(text, text_at(chunk.frame, select.columns[i], row));
        }
        assert_string_equal(granary_frame_column(chunk.frame, i)->name, select.columns[i]);
    }
    gr_frame_destroy(want);
    granary_chunk_release(client, &chunk, 1);
}

static void
check_rows(granary_client *client, uint64_t n, const granary_frame *frame, granary_slice slice)
{
    const char *columns[] = {frame->columns[3].view.name, frame->columns[0].view.name};
    granary_selection select = {.kind = GRANARY_SELECT_ROWS, .rows = slice};
    int64_t first, step, count;
    int64_t *rows;

    assert_ok(granary_slice_resolve(slice, frame->rows, &first, &step, &count));
    rows = calloc((size_t)count + 1, sizeof *rows);
    for (int64_t i = 0; i < count; i++) {
        rows[i] = first + i * step;
    }
    check_frame_part(client, n, frame, select, rows, count);
    select.columns = columns;
    select.column_count = 2;
    check_frame_part(client, n, frame, select, rows, count);
    select.kind = GRANARY_SELECT_INDICES;
    select.indices = rows;
    select.index_count = (size_t)count;
    check_frame_part(client, n, frame, select, rows, count);
    free(rows);
}

static void
check_frame(granary_client *client, uint64_t n, const granary_frame *frame)
{
    const int64_t odd[] = {7, 7, -1, 0, frame->rows - 1, -frame->rows, 3, 5000, 4999};
    int64_t odd_rows[9];
    unsigned seed = 3;

    for (int i = 0; i < 9; i++) {
        odd_rows[i] = odd[i] < 0 ? odd[i] + frame->rows : odd[i];
    }
    check_frame_part(client, n, frame,
                     (granary_selection){.kind = GRANARY_SELECT_INDICES, .indices = odd, .index_count = 9}, odd_rows,
                     9);
    check_rows(client, n, frame, (granary_slice)ALL);
    check_rows(client, n, frame, (granary_slice){5, 5, 1});
    check_rows(client, n, frame, (granary_slice){-1, 0, 0});
    check_rows(client, n, frame, (granary_slice){-3, GRANARY_OMITTED, 1});
    check_rows(client, n, frame, (granary_slice){frame->rows, -frame->rows, -3001});
    check_rows(client, n, frame, (granary_slice){11, 50, 2});
    check_rows(client, n, frame, (granary_slice){0, frame->rows, 1000000});
    for (int i = 0; i < 10; i++) {
        int64_t from = rand_r(&seed) % frame->rows;

        check_rows(client, n, frame, (granary_slice){from, from + rand_r(&seed) % 90, 1});
    }
}

static void
rows_are_the_frames(void **state)
{
    granary_client *client = fixture_connect(state);
    const granary_frame *parts[2000];
    granary_frame *one = frame_of_everything();
    const char *nowhere[] = {"nowhere"};
    const int64_t outside[] = {0, 1, 10000};
    granary_frame *frame;
    granary_object_info info;

    for (size_t i = 0; i < 2000; i++) {
        parts[i] = one;
    }
    assert_ok(gr_frame_concat(parts, 2000, &frame));
    read_put_frame(client, 1, frame);
    check_frame(client, 1, frame);
    read_refuse(client, 1, (granary_selection){.columns = nowhere, .column_count = 1}, GRANARY_ENOENT);
    read_refuse(client, 1, (granary_selection){.kind = GRANARY_SELECT_INDICES, .indices = outside, .index_count = 3},
                GRANARY_EINVAL);
    read_refuse(client, 1, (granary_selection){.kind = GRANARY_SELECT_ROWS, .rows = {10000, 0, 0}}, GRANARY_EINVAL);
    read_refuse(client, 1, (granary_selection){.kind = GRANARY_SELECT_ELEMENTS}, GRANARY_ETYPE);
    read_refuse(client, 1, (granary_selection){.kind = 9}, GRANARY_EINVAL);
    read_spill(client, 1);
    read_refuse(client, 1, (granary_selection){.kind = GRANARY_SELECT_INDICES, .indices = outside, .index_count = 3},
                GRANARY_EINVAL);
    read_refuse(client, 1, (granary_selection){.columns = nowhere, .column_count = 1}, GRANARY_ENOENT);
    check_rows(client, 1, frame, (granary_slice){11, 50, 2});
    assert_ok(granary_object_info_get(client, fixture_id(1), &info));
    assert_int_equal(info.state, GRANARY_OBJECT_SPILLED);
    check_frame(client, 1, frame);
    gr_frame_destroy(frame);
    gr_frame_destroy(one);
    granary_disconnect(client);
}

/* ---- cost ---- */

static long
faults(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

/* Values that do not compress. */
static int64_t
scramble(int64_t i)
{
    return (int64_t)((uint64_t)i * 0x9e3779b97f4a7c15ull >> 2);
}

/* One row, or one element, of a large chunk: some pages, and of a spilled one some of its frames. */
static void
a_row_costs_pages_not_the_chunk(void **state)
{
    const int64_t rows = 2 << 20; /* 16 MiB a column */
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    struct gr_column columns[2];
    granary_frame *frame;
    granary_store_stat before, after;
    long fault;

    for (int c = 0; c < 2; c++) {
        assert_ok(gr_column_alloc(GRANARY_INT64, rows, 0, false, &columns[c]));
        for (int64_t i = 0; i < rows; i++) {
            ((int64_t *)(uintptr_t)columns[c].view.values)[i] = scramble(i) + c;
        }
    }
    frame = frame_of(2, (const char *const[]){"a", "b"}, columns);
    read_put_frame(client, 1, frame);
    gr_frame_destroy(frame);
    read_put_tensor(client, 2, 2, (const int64_t[]){1 << 10, 1 << 10});
    for (int spilled = 0; spilled < 2; spilled++) {
        before = fixture_stat(client);
        fault = faults();
        for (int what = 0; what < 3; what++) {
            const granary_selection parts[] = {
                {.kind = GRANARY_SELECT_ROWS, .rows = {1000000, 1000001, 1}},
                {.kind = GRANARY_SELECT_INDICES, .indices = (const int64_t[]){1999999}, .index_count = 1},
                {.kind = GRANARY_SELECT_ELEMENTS, .dims = {{500, 0, 0}, {10, 20, 3}}, .dim_count = 2}};
            granary_chunk chunk = read_part(other, what == 2 ? 2 : 1, parts[what], NULL);

            if (what == 2) {
                assert_true(*(const int64_t *)chunk.tensor.values == 2000000 + 500 * 1024 + 10);
            } else {
                assert_true(int_at(chunk.frame, "b", 0) == scramble(what == 0 ? 1000000 : 1999999) + 1);
            }
            granary_chunk_release(other, &chunk, 1);
        }
        after = fixture_stat(client);
        fault = faults() - fault;
        assert_true(SANITIZED || fault < 1000); /* 4 MiB, of 40; each fault maps up to 16 pages that are there */
        if (spilled == 0) {
            assert_true(after.frame_bytes == before.frame_bytes);
            read_spill(client, 1);
            read_spill(client, 2);
        } else {
            /* values of two columns twice, the metadata, elements and the head */
            assert_true(after.frames_read > before.frames_read && after.frames_read - before.frames_read <= 12);
            assert_true(after.frame_bytes - before.frame_bytes < 12 * (66 << 10));
        }
    }
    granary_disconnect(other);
    granary_disconnect(client);
}

int
main(void)
{
#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_are_pythons),
        STORE_TEST(elements_are_numpys),
        STORE_TEST(rows_are_the_frames),
        STORE_TEST(a_row_costs_pages_not_the_chunk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
