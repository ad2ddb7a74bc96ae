/* Parts of chunks: what is selected is what the whole has, costs no more than it must, and comes as the reader likes
 * it. */
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../../unit/data/frames.h"
#include "base/id.h"
#include "data/arrow.h"
#include "data/tensor.h"
#include "fixture.h"
#include "granary/read.h"
#include "support/allocations.h"

#define ALL GRANARY_SLICE_ALL

#ifdef GRANARY_SANITIZED /* shadow memory has faults of its own */
#define SANITIZED true
#else
#define SANITIZED false
#endif

static void
spill(granary_client *client, uint64_t n)
{
    assert_ok(granary_object_move(client, fixture_id(n), GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, 10000));
}

static void
put_frame(granary_client *client, uint64_t n, const granary_frame *frame)
{
    struct object object = object_of(frame);

    assert_ok(
        granary_object_put(client, fixture_id(n), object.data, object.data_size, object.meta, object.meta_size, 0));
    object_free(&object);
}

/* Element i of tensor n is n * 1000000 + i. */
static void
put_tensor(granary_client *client, uint64_t n, int dims, const int64_t *shape)
{
    struct gr_tensor tensor;
    uint64_t size;
    void *file;

    assert_ok(gr_tensor_alloc(GRANARY_INT64, dims, shape, &tensor));
    for (int64_t i = 0; i < gr_tensor_elements(&tensor.view); i++) {
        ((int64_t *)tensor.owned)[i] = (int64_t)n * 1000000 + i;
    }
    size = gr_npy_measure(&tensor.view);
    file = gr_data_alloc(size);
    gr_npy_write(&tensor.view, file);
    assert_ok(granary_object_put(client, fixture_id(n), file, size, NULL, 0, 0));
    free(file);
    gr_tensor_free(&tensor);
}

static granary_chunk
read_part(granary_client *client, uint64_t n, granary_selection select, const granary_read_options *options)
{
    granary_chunk_request request = {.id = fixture_id(n), .select = select};
    granary_chunk chunk;

    assert_ok(granary_chunk_read_many(client, &request, 1, options, &chunk));
    assert_int_equal(chunk.state, GRANARY_CHUNK_READ);
    assert_null(chunk.message);
    return chunk;
}

static void
refuse_part(granary_client *client, uint64_t n, granary_selection select, granary_err err)
{
    granary_chunk_request request = {.id = fixture_id(n), .select = select};
    granary_chunk chunk;

    assert_err(granary_chunk_read_many(client, &request, 1, NULL, &chunk), err);
    assert_int_equal(chunk.err, err);
    assert_string_equal(chunk.message, granary_error_message());
    granary_chunk_release(client, &chunk, 1);
}

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

    put_tensor(client, 1, 3, SHAPE);
    check_tensor(client, 1);
    chunk = read_part(client, 1, select, NULL);
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    assert_true(chunk.mapped && chunk.tensor.dims == 3);
    assert_ptr_equal(chunk.tensor.values, (const char *)view.data + 128 + 7 * 50 * 90 * 8);
    granary_object_release(client, &view);
    granary_chunk_release(client, &chunk, 1);

    refuse_part(client, 1, (granary_selection){.kind = GRANARY_SELECT_ELEMENTS, .dims = {{30, 0, 0}}, .dim_count = 1},
                GRANARY_EINVAL);
    refuse_part(client, 1, (granary_selection){.kind = GRANARY_SELECT_ELEMENTS, .dim_count = 4}, GRANARY_EINVAL);
    refuse_part(client, 1, (granary_selection){.kind = GRANARY_SELECT_ROWS, .rows = ALL}, GRANARY_ETYPE);

    spill(client, 1);
    chunk = read_part(client, 1, select, NULL);
    assert_true(*(const int64_t *)chunk.tensor.values == 1000000 + 7 * 50 * 90);
    granary_chunk_release(client, &chunk, 1);
    check_tensor(client, 1);
    spill(client, 1);
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
    put_frame(client, 1, frame);
    check_frame(client, 1, frame);
    refuse_part(client, 1, (granary_selection){.columns = nowhere, .column_count = 1}, GRANARY_ENOENT);
    refuse_part(client, 1, (granary_selection){.kind = GRANARY_SELECT_INDICES, .indices = outside, .index_count = 3},
                GRANARY_EINVAL);
    refuse_part(client, 1, (granary_selection){.kind = GRANARY_SELECT_ROWS, .rows = {10000, 0, 0}}, GRANARY_EINVAL);
    refuse_part(client, 1, (granary_selection){.kind = GRANARY_SELECT_ELEMENTS}, GRANARY_ETYPE);
    refuse_part(client, 1, (granary_selection){.kind = 9}, GRANARY_EINVAL);
    spill(client, 1);
    refuse_part(client, 1, (granary_selection){.kind = GRANARY_SELECT_INDICES, .indices = outside, .index_count = 3},
                GRANARY_EINVAL);
    refuse_part(client, 1, (granary_selection){.columns = nowhere, .column_count = 1}, GRANARY_ENOENT);
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
    put_frame(client, 1, frame);
    gr_frame_destroy(frame);
    put_tensor(client, 2, 2, (const int64_t[]){1 << 10, 1 << 10});
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
            spill(client, 1);
            spill(client, 2);
        } else {
            /* values of two columns twice, the metadata, elements and the head */
            assert_true(after.frames_read > before.frames_read && after.frames_read - before.frames_read <= 8);
            assert_true(after.frame_bytes - before.frame_bytes < 8 * (264 << 10));
        }
    }
    granary_disconnect(other);
    granary_disconnect(client);
}

/* ---- codecs ---- */

/* What an LZ4 frame holds; to be freed. */
static char *
unpack(const granary_chunk *chunk)
{
    size_t from = chunk->data_size, to = chunk->raw_size;
    char *raw = malloc(to + 1);
    LZ4F_dctx *context;
    size_t left;

    assert_false(LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)));
    left = LZ4F_decompress(context, raw, &to, chunk->data, &from, NULL);
    assert_int_equal(left, 0);
    assert_int_equal(from, chunk->data_size);
    assert_int_equal(to, chunk->raw_size);
    (void)LZ4F_freeDecompressionContext(context);
    return raw;
}

static void
check_packed(granary_client *client, uint64_t n, uint64_t size, bool passed_through)
{
    const granary_read_options options = {
        .accept = (const char *const[]){"zstd", "lz4", "none"}, .accept_count = 3, .checksum = true};
    granary_chunk chunk = read_part(client, n, (granary_selection){.kind = GRANARY_SELECT_ALL}, &options);
    char *raw;

    assert_string_equal(chunk.codec, "lz4");
    assert_int_equal(chunk.raw_size, size);
    assert_true(chunk.passed_through == passed_through);
    assert_true(chunk.checksum == gr_hash64(chunk.data, chunk.data_size));
    raw = unpack(&chunk);
    assert_true(fixture_content_is(raw, n, size));
    free(raw);
    granary_chunk_release(client, &chunk, 1);
}

/* The reader's order counts, not the strength of a codec; what is packed on disk is handed on as it is. */
static void
the_readers_order_counts(void **state)
{
    static const uint64_t sizes[] = {1, 100, 256 << 10, (256 << 10) + 1, (3 << 20) + 77};
    const granary_read_options plain = {.accept = (const char *const[]){"none", "lz4"}, .accept_count = 2};
    const granary_read_options gzip = {.accept = (const char *const[]){"gzip"}, .accept_count = 1};
    granary_chunk_request requests[2] = {{.id = fixture_id(0)}, {.id = fixture_id(1)}};
    granary_client *client = fixture_connect(state);
    granary_chunk chunks[2];
    granary_chunk chunk;
    char *raw;

    for (uint64_t n = 0; n < 5; n++) {
        char *bytes = malloc(sizes[n]);

        fixture_fill(bytes, n, sizes[n]);
        assert_ok(granary_object_put(client, fixture_id(n), bytes, sizes[n], "metadata", n % 2 == 0 ? 8 : 0, 0));
        check_packed(client, n, sizes[n], false);
        chunk = read_part(client, n, (granary_selection){.kind = GRANARY_SELECT_ALL}, &plain);
        assert_string_equal(chunk.codec, "none");
        assert_true(chunk.mapped && chunk.raw_size == sizes[n] && chunk.checksum == 0);
        assert_memory_equal(chunk.data, bytes, sizes[n]);
        granary_chunk_release(client, &chunk, 1);
        spill(client, n);
        check_packed(client, n, sizes[n], true);
        check_packed(client, n, sizes[n], true);
        free(bytes);
    }
    assert_err(granary_chunk_read_many(client, requests, 2, &gzip, chunks), GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "gzip"));
    assert_non_null(strstr(granary_error_message(), "none, lz4"));
    assert_int_equal(chunks[1].err, GRANARY_EUNSUPPORTED);
    granary_chunk_release(client, chunks, 2);

    /* A part comes as a file of its own, packed. */
    put_tensor(client, 9, 2, (const int64_t[]){100, 100});
    chunk = read_part(
        client, 9,
        (granary_selection){.kind = GRANARY_SELECT_ELEMENTS, .dims = {{0, 100, 50}, {99, 0, 0}}, .dim_count = 2},
        &(granary_read_options){.accept = (const char *const[]){"lz4"}, .accept_count = 1});
    raw = unpack(&chunk);
    assert_memory_equal(raw, "\x93NUMPY", 6);
    assert_true(((int64_t *)(void *)(raw + 128))[1] == 9000000 + 50 * 100 + 99);
    free(raw);
    granary_chunk_release(client, &chunk, 1);
    chunk = read_part(client, 0, (granary_selection){.kind = GRANARY_SELECT_BYTES, .rows = {-1, 0, 0}}, NULL);
    assert_int_equal(chunk.data_size, 1);
    granary_chunk_release(client, &chunk, 1);
    refuse_part(client, 3, (granary_selection){.kind = GRANARY_SELECT_BYTES, .rows = {0, 10, 2}}, GRANARY_EINVAL);
    granary_disconnect(client);
}

/* ---- batches ---- */

/* What is missing is told, and the others are what they are, in order. */
static void
one_missing_does_not_spoil_the_rest(void **state)
{
    enum { COUNT = 9 };
    granary_client *client = fixture_connect(state);
    granary_chunk_request requests[COUNT];
    granary_chunk chunks[COUNT];

    /* Small ones that share a spill file, and others in memory: the same selection means the same of both. */
    for (uint64_t n = 0; n < COUNT; n++) {
        if (n != 4) {
            assert_ok(fixture_put(client, n, 1000, 0));
        }
        if (n % 2 == 1) {
            spill(client, n);
        }
        requests[n] = (granary_chunk_request){.id = fixture_id(n),
                                              .select = {.kind = GRANARY_SELECT_BYTES, .rows = {100, -100, 1}}};
    }
    requests[6].select.kind = GRANARY_SELECT_ROWS;
    assert_ok(granary_object_delete(client, fixture_id(8), 0));
    assert_err(granary_chunk_read_many(client, requests, COUNT, NULL, chunks), GRANARY_ENOENT);
    for (uint64_t n = 0; n < COUNT; n++) {
        char want[1000];

        fixture_fill(want, n, 1000);
        if (n == 4 || n == 8) {
            assert_int_equal(chunks[n].err, GRANARY_ENOENT);
            assert_int_equal(chunks[n].state, n == 4 ? GRANARY_CHUNK_MISSING : GRANARY_CHUNK_DELETED);
            assert_non_null(strstr(chunks[n].message, n == 4 ? "not found" : "deleted"));
            assert_null(chunks[n].data);
        } else if (n == 6) {
            assert_int_equal(chunks[n].err, GRANARY_ETYPE);
            assert_int_equal(chunks[n].state, GRANARY_CHUNK_FAILED);
        } else {
            assert_int_equal(chunks[n].err, GRANARY_OK);
            assert_int_equal(chunks[n].data_size, 800);
            assert_memory_equal(chunks[n].data, want + 100, 800);
        }
    }
    granary_chunk_release(client, chunks, COUNT);
    requests[4].id = fixture_id(100);
    assert_err(granary_chunk_read_many(client, &requests[4], 1, &(granary_read_options){.timeout_ms = 20}, chunks),
               GRANARY_ETIMEDOUT);
    assert_int_equal(chunks[0].state, GRANARY_CHUNK_MISSING);
    granary_chunk_release(client, chunks, 1);

    /* An error in the place of an object is the error of who reads it, spilled as well. */
    assert_ok(granary_object_put_error(client, fixture_id(50), GRANARY_ETYPE, "no number"));
    refuse_part(client, 50, (granary_selection){.kind = GRANARY_SELECT_ALL}, GRANARY_ETYPE);
    spill(client, 50);
    refuse_part(client, 50, (granary_selection){.kind = GRANARY_SELECT_BYTES, .rows = ALL}, GRANARY_ETYPE);
    assert_non_null(strstr(granary_error_message(), "no number"));
    assert_ok(granary_object_put(client, fixture_id(51), NULL, 0, NULL, 0, 0));
    assert_ok(granary_alias(client, fixture_id(52), fixture_id(0)));
    requests[0].id = fixture_id(52);
    assert_ok(granary_chunk_read_many(client, requests, 1, NULL, chunks));
    assert_memory_equal(&chunks[0].id, &(granary_id[]){fixture_id(0)}[0], sizeof(granary_id));
    assert_int_equal(chunks[0].data_size, 800);
    granary_chunk_release(client, chunks, 1);
    granary_chunk_release(client, (granary_chunk[]){read_part(client, 51, (granary_selection){.kind = 0}, NULL)}, 1);
    granary_disconnect(client);
}

/* Whichever allocation fails, the call says so or needs it not, and what it did read is right. */
static void
memory_may_be_short(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_frame *frame = frame_of_everything();
    const char *accept[] = {"zstd", "lz4"};
    const char *columns[] = {frame->columns[3].view.name};
    const int64_t indices[] = {3, -1, 3};
    const granary_selection rows = {.kind = GRANARY_SELECT_ROWS, .rows = {1, 4, 1}};
    const granary_selection some = {
        .kind = GRANARY_SELECT_INDICES, .indices = indices, .index_count = 3, .columns = columns, .column_count = 1};
    const granary_selection grid = {.kind = GRANARY_SELECT_ELEMENTS, .dims = {{0, 9, 2}, {3, 5, 1}}, .dim_count = 2};
    const granary_chunk_request requests[] = {
        {.id = fixture_id(1), .select = rows},
        {.id = fixture_id(1), .select = some},
        {.id = fixture_id(2), .select = rows},
        {.id = fixture_id(2), .select = some},
        {.id = fixture_id(3), .select = grid},
        {.id = fixture_id(4), .select = grid},
        {.id = fixture_id(9)},
    };
    enum { COUNT = sizeof requests / sizeof requests[0] };
    granary_chunk chunks[COUNT];
    long failed = 0;

    for (uint64_t n = 1; n <= 2; n++) {
        put_frame(client, n, frame);
        put_tensor(client, n + 2, 2, (const int64_t[]){10, 10});
    }
    spill(client, 2);
    spill(client, 4);
    for (int packed = 0; packed < 2; packed++) {
        const granary_read_options options = {.accept = packed ? accept : NULL, .accept_count = 2};
        bool through = false;

        for (long step = 0; !through; step++) {
            assert_true(step < 2000);
            allocations_left = step;
            (void)granary_chunk_read_many(client, requests, COUNT, &options, chunks);
            through = allocations_left >= 0;
            allocations_left = -1;
            for (int i = 0; i < COUNT - 1; i++) {
                assert_true(chunks[i].err == GRANARY_OK || (chunks[i].err == GRANARY_ENOMEM && !through));
                failed += chunks[i].err != GRANARY_OK;
                assert_true(chunks[i].err != GRANARY_OK || packed || chunks[i].kind != GRANARY_CHUNK_TENSOR ||
                            ((const int64_t *)chunks[i].tensor.values)[2] == (i == 4 ? 3000023 : 4000023));
            }
            assert_true(chunks[COUNT - 1].err == GRANARY_ENOENT || !through);
            granary_chunk_release(client, chunks, COUNT);
        }
    }
    assert_true(failed > 20);
    gr_frame_destroy(frame);
    granary_disconnect(client);
}

int
main(void)
{
#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_are_pythons), STORE_TEST(elements_are_numpys),
        STORE_TEST(rows_are_the_frames),      STORE_TEST(a_row_costs_pages_not_the_chunk),
        STORE_TEST(the_readers_order_counts), STORE_TEST(one_missing_does_not_spoil_the_rest),
        STORE_TEST(memory_may_be_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
