/* Mutable tensors: sparse ones, equal times, chunks put as objects or out of memory, and what is refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "granary/mutable.h"
#include "integration/store/fixture.h"

static double
real_at(granary_client *client, granary_mutable *table, int64_t at, int64_t time)
{
    const granary_index index = {.slice = {.start = at, .step = 0}};
    granary_mutable_part part;
    double value;

    assert_ok(granary_mutable_view(table, time, &index, 1, &part));
    assert_int_equal(part.tensor.dims, 0);
    value = *(const double *)part.tensor.values;
    granary_mutable_release(client, &part);
    return value;
}

static granary_err
write_real(granary_mutable *table, int64_t at, double value, int64_t time)
{
    const granary_index index = {.slice = {.start = at, .step = 0}};
    const granary_tensor tensor = {.dtype = GRANARY_FLOAT64, .values = &value};

    return granary_mutable_write(table, &index, 1, &tensor, &(granary_write_options){.time = time}, NULL);
}

static void
a_huge_tensor_is_sparse(void **state)
{
    const int64_t length = (int64_t)1 << 33;
    const granary_mutable_tensor tensor = {.dtype = GRANARY_FLOAT64, .dims = 1, .shape = {length}, .fill = "nan"};
    granary_client *client = fixture_connect(state);
    const uint64_t before = fixture_stat(client).sealed_bytes;
    granary_mutable *table = NULL;

    assert_ok(granary_mutable_create_tensor(client, "huge", &tensor, NULL, &table));
    assert_ok(write_real(table, -1, 0.5, 10));
    assert_true(real_at(client, table, length - 1, 10) == 0.5);
    assert_true(isnan(real_at(client, table, length - 1, 9)));
    assert_true(isnan(real_at(client, table, 0, 10)));
    assert_err(write_real(table, length, 1, 20), GRANARY_EINVAL);
    assert_true(fixture_stat(client).sealed_bytes - before < (uint64_t)64 << 10);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "huge"));
    granary_disconnect(client);
}

/* Of equal times the later write counts, whatever the values, and whoever wrote. */
static void
equal_times_are_in_order(void **state)
{
    const granary_mutable_tensor tensor = {.dtype = GRANARY_FLOAT64, .dims = 1, .shape = {4}};
    granary_client *client = fixture_connect(state);
    granary_mutable *tables[2] = {NULL, NULL};

    assert_ok(granary_mutable_create_tensor(client, "equal", &tensor, NULL, &tables[0]));
    assert_ok(granary_mutable_open(client, "equal", &tables[1]));
    assert_ok(write_real(tables[0], 0, 5, 10));
    assert_ok(write_real(tables[1], 0, 3, 10));
    assert_ok(write_real(tables[1], 1, NAN, 10));
    assert_ok(write_real(tables[0], 1, -1, 10));
    assert_ok(write_real(tables[0], 2, 7, 10));
    assert_ok(write_real(tables[0], 2, NAN, 10));
    assert_true(real_at(client, tables[0], 0, 10) == 3);
    assert_true(real_at(client, tables[1], 1, 10) == -1);
    assert_true(isnan(real_at(client, tables[1], 2, 10)));
    granary_mutable_close(tables[0]);
    granary_mutable_close(tables[1]);
    granary_disconnect(client);
}

static void
objects_are_put_as_chunks(void **state)
{
    const granary_mutable_tensor tensor = {
        .dtype = GRANARY_INT32, .dims = 2, .shape = {4, 6}, .chunk = {2, 4}, .fill = "9"};
    const int32_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const granary_tensor whole = {.dtype = GRANARY_INT32, .dims = 2, .shape = {2, 4}, .values = values};
    const granary_tensor part = {.dtype = GRANARY_INT32, .dims = 2, .shape = {2, 2}, .values = values};
    const granary_index first[2] = {{.slice = {0, 2, 1}}, {.slice = {0, 4, 1}}};
    granary_client *client = fixture_connect(state);
    granary_mutable *table = NULL;
    granary_id ids[2] = {{{0}}, {{0}}};
    const uint64_t chunks[2] = {0, 3}, wrong[1] = {4};
    granary_mutable_part view;

    assert_ok(granary_mutable_create_tensor(client, "put", &tensor, NULL, &table));
    assert_ok(granary_tensor_put(client, &whole, &ids[0]));
    assert_ok(granary_tensor_put(client, &part, &ids[1]));
    assert_err(granary_mutable_put_chunks(table, wrong, ids, 1, NULL, NULL), GRANARY_EINVAL);
    assert_err(granary_mutable_put_chunks(table, chunks, ids + 1, 1, NULL, NULL), GRANARY_EINVAL);
    assert_ok(granary_mutable_put_chunks(table, chunks, ids, 2, NULL, NULL));
    for (size_t i = 0; i < 2; i++) { /* the tensor keeps them */
        assert_ok(granary_object_delete(client, ids[i], 0));
    }
    assert_ok(granary_mutable_view(table, GRANARY_NOW, first, 2, &view));
    assert_true(view.mapped);
    assert_memory_equal(view.tensor.values, values, sizeof values);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "put"));
    assert_memory_equal(view.tensor.values, values, sizeof values); /* a view outlives all of that */
    granary_mutable_release(client, &view);
    granary_disconnect(client);
}

/* Many at once are kept by one object, which goes with their history. */
static void
many_objects_are_put_at_once(void **state)
{
    enum { CHUNKS = 900, LENGTH = 16 };
    const granary_mutable_tensor tensor = {
        .dtype = GRANARY_INT64, .dims = 1, .shape = {(int64_t)CHUNKS * LENGTH}, .chunk = {LENGTH}};
    granary_client *client = fixture_connect(state);
    granary_mutable *table = NULL;
    uint64_t chunks[CHUNKS], before;
    granary_id ids[CHUNKS];
    granary_mutable_part view;

    assert_ok(granary_mutable_create_tensor(client, "many", &tensor, NULL, &table));
    for (int64_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < CHUNKS; i++) {
            int64_t values[LENGTH] = {round * 1000 + (int64_t)i};
            const granary_tensor whole = {.dtype = GRANARY_INT64, .dims = 1, .shape = {LENGTH}, .values = values};

            chunks[i] = i;
            ids[i] = granary_id_random();
            assert_ok(granary_tensor_put(client, &whole, &ids[i]));
        }
        assert_ok(granary_mutable_put_chunks(table, chunks, ids, CHUNKS,
                                             &(granary_write_options){.time = 10 + 10 * round}, NULL));
        for (size_t i = 0; i < CHUNKS; i++) {
            assert_ok(granary_object_delete(client, ids[i], 0));
        }
    }
    assert_ok(granary_mutable_view(table, 15, NULL, 0, &view));
    assert_int_equal(((const int64_t *)view.tensor.values)[7 * LENGTH], 7);
    granary_mutable_release(client, &view);
    before = fixture_stat(client).objects;
    assert_ok(granary_mutable_retain(table, &(granary_retain){.time = 20}, NULL));
    assert_true(before - fixture_stat(client).objects >= CHUNKS - 3); /* the base has come */
    assert_ok(granary_mutable_view(table, 20, NULL, 0, &view));
    for (int64_t i = 0; i < CHUNKS; i++) {
        assert_int_equal(((const int64_t *)view.tensor.values)[i * LENGTH], 1000 + i);
    }
    granary_mutable_release(client, &view);
    /* One of them is gone: none is put, and nothing is left of the write. */
    before = fixture_stat(client).objects;
    ids[3] = granary_id_random();
    assert_err(granary_mutable_put_chunks(table, chunks, ids, CHUNKS, NULL, NULL), GRANARY_ENOENT);
    assert_true(fixture_stat(client).objects == before);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "many"));
    granary_disconnect(client);
}

/* More than there is memory: chunks that were written leave it, and come back. */
static void
chunks_may_leave_memory(void **state)
{
    enum { CHUNKS = 96, LENGTH = 1 << 17 }; /* of 1 MiB */
    const granary_mutable_tensor tensor = {
        .dtype = GRANARY_FLOAT64, .dims = 1, .shape = {(int64_t)CHUNKS * LENGTH}, .chunk = {LENGTH}};
    const granary_write_options options = {.timeout_ms = 20000};
    granary_client *client = fixture_connect(state);
    double *values = calloc(LENGTH, sizeof *values);
    const granary_tensor whole = {.dtype = GRANARY_FLOAT64, .dims = 1, .shape = {LENGTH}, .values = values};
    granary_mutable *table = NULL;

    assert_ok(granary_mutable_create_tensor(client, "large", &tensor, NULL, &table));
    for (int64_t i = 0; i < CHUNKS; i++) {
        const granary_index index = {.slice = {i * LENGTH, (i + 1) * LENGTH, 1}};

        values[0] = (double)i;
        assert_ok(granary_mutable_write(table, &index, 1, &whole, &options, NULL));
    }
    for (int64_t i = 0; i < CHUNKS; i++) {
        assert_true(real_at(client, table, i * LENGTH, GRANARY_NOW) == (double)i);
    }
    free(values);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "large"));
    granary_disconnect(client);
}

static void
mistakes_are_named(void **state)
{
    static const struct {
        granary_mutable_tensor tensor;
        granary_err err;
        const char *message;
    } wrong[] = {
        {{.dtype = GRANARY_STRING, .dims = 1, .shape = {3}}, GRANARY_ETYPE, "no elements of string"},
        {{.dtype = GRANARY_UINT8, .dims = 1, .shape = {3}, .fill = "300"},
         GRANARY_EINVAL,
         "'300' is no value of uint8"},
        {{.dtype = GRANARY_INT64, .dims = 1, .shape = {3}, .fill = "0.5"}, GRANARY_EINVAL, "'0.5' is no value"},
        {{.dtype = GRANARY_INT64, .dims = 9}, GRANARY_EINVAL, "9 dimensions"},
        {{.dtype = GRANARY_INT64, .dims = 1, .shape = {-1}}, GRANARY_EINVAL, "dimension 0"},
        {{.dtype = GRANARY_INT64, .dims = 2, .shape = {INT64_MAX, 2}}, GRANARY_EINVAL, "dimension"},
        {{.dtype = GRANARY_INT64, .dims = 1, .shape = {9}, .chunk = {-2}}, GRANARY_EINVAL, "chunks of -2"},
    };
    const granary_mutable_tensor right = {.dtype = GRANARY_FLOAT64, .dims = 2, .shape = {3, 4}};
    const granary_mutable_tensor other = {.dtype = GRANARY_FLOAT64, .dims = 2, .shape = {3, 4}, .fill = "1"};
    const granary_mutable_options open = {.flags = GRANARY_MUTABLE_OPEN};
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64};
    const double values[4] = {1, 2, 3, 4};
    const granary_tensor row = {.dtype = GRANARY_FLOAT64, .dims = 1, .shape = {4}, .values = values};
    const granary_tensor three = {.dtype = GRANARY_FLOAT64, .dims = 1, .shape = {3}, .values = values};
    const granary_tensor ints = {.dtype = GRANARY_INT64, .dims = 1, .shape = {4}, .values = values};
    const granary_index two[3] = {{.kind = GRANARY_INDEX_ELLIPSIS}, {.kind = GRANARY_INDEX_ELLIPSIS}};
    const granary_index many[3] = {{.slice = GRANARY_SLICE_ALL}, {.slice = GRANARY_SLICE_ALL}, {.slice = {0, 1, 1}}};
    granary_client *client = fixture_connect(state);
    granary_mutable *table = NULL, *again = NULL, *frame = NULL;
    granary_mutable_part part;
    granary_frame *rows = NULL;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_err(granary_mutable_create_tensor(client, "wrong", &wrong[i].tensor, NULL, &table), wrong[i].err);
        assert_non_null(strstr(granary_error_message(), wrong[i].message));
    }
    assert_ok(granary_mutable_create_tensor(client, "right", &right, NULL, &table));
    assert_err(granary_mutable_create_tensor(client, "right", &right, NULL, &again), GRANARY_EEXIST);
    assert_err(granary_mutable_create_tensor(client, "right", &other, &open, &again), GRANARY_ETYPE);
    assert_err(granary_mutable_create_frame(client, "right", &column, 1, &open, &again), GRANARY_ETYPE);
    assert_err(granary_mutable_write(table, NULL, 0, &three, NULL, NULL), GRANARY_EINVAL);
    assert_err(granary_mutable_write(table, NULL, 0, &ints, NULL, NULL), GRANARY_ETYPE);
    assert_err(granary_mutable_write(table, two, 2, &row, NULL, NULL), GRANARY_EINVAL);
    assert_err(granary_mutable_write(table, many, 3, &row, NULL, NULL), GRANARY_EINVAL);
    assert_err(granary_mutable_read_frame(table, GRANARY_NOW, &rows), GRANARY_ETYPE);
    assert_ok(granary_mutable_write(table, NULL, 0, &row, NULL, NULL));
    assert_ok(granary_mutable_create_frame(client, "frame", &column, 1, NULL, &frame));
    assert_err(granary_mutable_view(frame, GRANARY_NOW, NULL, 0, &part), GRANARY_ETYPE);
    assert_err(granary_mutable_write(frame, NULL, 0, &row, NULL, NULL), GRANARY_ETYPE);
    granary_mutable_close(table);
    granary_mutable_close(frame);
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_huge_tensor_is_sparse, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(equal_times_are_in_order, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(objects_are_put_as_chunks, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(many_objects_are_put_at_once, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(chunks_may_leave_memory, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(mistakes_are_named, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
