/* Frames of a store given to another library of the process and taken from it: what is leased, and when it is given back. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../unit/arrow/producer.h"
#include "../../unit/data/frames.h"
#include "fixture.h"

static const granary_id no_id;

/* Until nothing that was deleted is leased, and so many clients are left. Those that have written keep their rooms. */
static void
settle(granary_client *client, uint64_t clients)
{
    granary_store_stat stat = fixture_stat(client);

    for (int i = 0; i < 30000 && (stat.retiring_bytes > 0 || stat.clients != clients); i++) {
        (void)usleep(1000); /* the store is told by the kernel, and by rings that it looks at */
        stat = fixture_stat(client);
    }
    assert_int_equal(stat.retiring_bytes, 0);
    assert_int_equal(stat.clients, clients);
}

static size_t
object_count(granary_client *client)
{
    granary_object_info *infos;
    size_t count;

    assert_ok(granary_object_list(client, &infos, &count));
    free(infos);
    return count;
}

/* All are gone: references are given back by rings, and containers are taken apart a moment later. */
static void
check_no_objects(granary_client *client)
{
    for (int i = 0; i < 30000 && object_count(client) > 0; i++) {
        (void)usleep(1000);
    }
    assert_int_equal(object_count(client), 0);
}

static granary_id
put_column(granary_client *client, const granary_column *column, int64_t rows)
{
    granary_id id = no_id;

    assert_ok(granary_frame_put(client, column, 1, rows, &id));
    return id;
}

/* A frame of n = 0, 1, ... */
static granary_id
put_numbers(granary_client *client, int64_t rows)
{
    int64_t *values = calloc((size_t)rows, sizeof *values);
    granary_id id;

    assert_non_null(values);
    for (int64_t i = 0; i < rows; i++) {
        values[i] = i;
    }
    id = put_column(client, &(granary_column){.name = "n", .dtype = GRANARY_INT64, .values = values}, rows);
    free(values);
    return id;
}

static void export(granary_client *client, granary_id id, struct ArrowArray *ret_array)
{
    granary_view view;

    assert_ok(granary_object_get(client, id, 10000, &view));
    assert_ok(granary_frame_export(client, &view, NULL, ret_array));
    assert_null(view.data);
    assert_int_equal(view.lease, 0);
}

static void
check_numbers_of(const struct ArrowArray *column)
{
    for (int64_t i = 0; i < column->length; i++) {
        assert_int_equal(((const int64_t *)column->buffers[1])[i], i);
    }
}

/* ---- leases ---- */

static void
a_child_that_was_moved_out_has_the_lease(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_id id = put_numbers(client, 1000);
    struct ArrowArray array, child;

    export(client, id, &array);
    assert_ok(granary_object_delete(client, id, 0));
    child = *array.children[0];
    array.children[0]->release = NULL;
    array.release(&array);
    assert_true(fixture_stat(client).retiring_bytes > 0);
    check_numbers_of(&child);
    child.release(&child);
    settle(client, 1);
    check_no_objects(client);
    granary_disconnect(client);
}

static void *
release_array(void *array)
{
    ((struct ArrowArray *)array)->release(array);
    return NULL;
}

static void
an_array_outlives_its_connection(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_id id = put_numbers(client, 1000);
    struct ArrowArray arrays[2];
    pthread_t threads[2];

    export(client, id, &arrays[0]);
    export(client, id, &arrays[1]);
    granary_disconnect(client);
    assert_ok(granary_object_delete(other, id, 0));
    assert_true(fixture_stat(other).retiring_bytes > 0);
    assert_int_equal(fixture_stat(other).clients, 2);
    check_numbers_of(arrays[0].children[0]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, release_array, &arrays[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    settle(other, 1);
    granary_disconnect(other);
}

static void
a_forked_child_gives_nothing_back(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_id id = put_numbers(client, 1000);
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    pid_t pid;

    export(client, id, &array);
    assert_ok(granary_frames_stream(client, &id, 1, &stream));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct ArrowArray none;
        bool right = ((const int64_t *)array.children[0]->buffers[1])[999] == 999;

        right = right && stream.get_next(&stream, &none) != 0 && stream.get_last_error(&stream) != NULL;
        array.release(&array);
        stream.release(&stream);
        granary_disconnect(client);
        _exit(right ? 0 : 1);
    }
    assert_int_equal(fixture_wait(pid), 0);
    assert_ok(granary_object_delete(other, id, 0));
    assert_true(fixture_stat(other).retiring_bytes > 0);
    assert_int_equal(fixture_stat(other).clients, 2);
    check_numbers_of(array.children[0]);
    array.release(&array);
    stream.release(&stream);
    settle(other, 2);
    granary_disconnect(client);
    granary_disconnect(other);
}

static void
an_array_outlives_its_store(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    struct ArrowArray array;

    export(client, put_numbers(client, 1000), &array);
    granary_disconnect(client);
    daemon_kill(*state);
    check_numbers_of(array.children[0]);
    array.release(&array);
}

static void
what_is_no_frame_stays_the_callers(void **state)
{
    granary_client *client = fixture_connect(state);
    struct ArrowArray array = {.release = NULL};
    granary_view view;

    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    assert_err(granary_frame_export(client, &view, NULL, &array), GRANARY_ETYPE);
    assert_null(array.release);
    assert_non_null(view.data);
    granary_object_release(client, &view);
    assert_err(granary_frame_export(client, &view, NULL, &array), GRANARY_EINVAL);
    granary_disconnect(client);
}

/* ---- out and in ---- */

static void
a_frame_goes_out_and_comes_in(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_frame *frame = frame_of_everything();
    granary_column columns[16];
    granary_id ids[2] = {no_id, no_id};
    struct ArrowSchema schema;
    struct ArrowArray array;
    granary_frame *back;
    granary_view view;

    for (size_t i = 0; i < frame->count; i++) {
        columns[i] = frame->columns[i].view;
    }
    assert_ok(granary_frame_put(client, columns, frame->count, frame->rows, &ids[0]));
    assert_ok(granary_object_get(client, ids[0], 0, &view));
    assert_ok(granary_frame_export(client, &view, &schema, &array));
    assert_ok(granary_frame_import_array(client, &schema, &array, &ids[1]));
    assert_null(schema.release);
    assert_null(array.release);
    assert_ok(granary_object_get(client, ids[1], 0, &view));
    assert_ok(granary_frame_open(&view, &back));
    assert_frames_equal(frame, back);
    granary_frame_close(back);
    granary_object_release(client, &view);
    gr_frame_destroy(frame);
    assert_ok(granary_object_delete_many(client, ids, 2, NULL));
    settle(client, 1);
    granary_disconnect(client);
}

static int64_t
rows_of(granary_client *client, granary_id id)
{
    granary_frame *frame;
    granary_view view;
    int64_t rows;

    assert_ok(granary_object_get(client, id, 0, &view));
    assert_ok(granary_frame_open(&view, &frame));
    assert_string_equal(granary_frame_column(frame, 0)->name, "n");
    assert_int_equal(granary_frame_column(frame, 0)->dtype, GRANARY_INT64);
    rows = granary_frame_rows(frame);
    granary_frame_close(frame);
    granary_object_release(client, &view);
    return rows;
}

static void
a_stream_becomes_objects(void **state)
{
    granary_client *client = fixture_connect(state);
    struct ArrowArrayStream stream;
    granary_id *ids;
    size_t count;

    produce_stream(&stream, (int64_t[]){0, 3, 0, 5}, 4, SIZE_MAX, 0);
    assert_ok(granary_frame_import(client, &stream, &ids, &count));
    assert_int_equal(count, 2);
    assert_int_equal(rows_of(client, ids[0]), 3);
    assert_int_equal(rows_of(client, ids[1]), 5);
    free(ids);
    for (size_t batches = 0; batches < 2; batches++) {
        produce_stream(&stream, (int64_t[]){0}, batches, SIZE_MAX, 0);
        assert_ok(granary_frame_import(client, &stream, &ids, &count));
        assert_int_equal(count, 1);
        assert_int_equal(rows_of(client, ids[0]), 0);
        free(ids);
    }
    assert_null(stream.release);
    assert_int_equal(produced_alive(), 0);
    assert_int_equal(object_count(client), 4);
    granary_disconnect(client);
}

static void
a_stream_that_fails_leaves_nothing(void **state)
{
    static const struct {
        int number;
        granary_err err;
    } rows[] = {{EIO, GRANARY_EIO}, {ENOMEM, GRANARY_ENOMEM}, {EINVAL, GRANARY_EINVAL}, {ERANGE, GRANARY_EFAILED}};
    granary_client *client = fixture_connect(state);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    granary_id *ids = NULL;
    granary_id id = no_id;
    size_t count = 77;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        produce_stream(&stream, (int64_t[]){3, 4, 5}, 3, i == 0 ? SIZE_MAX - 1 : 2, rows[i].number);
        assert_err(granary_frame_import(client, &stream, &ids, &count), rows[i].err);
        assert_non_null(strstr(granary_error_message(), "the disk is gone"));
        assert_null(stream.release);
    }
    assert_err(granary_frame_import(client, &stream, &ids, &count), GRANARY_EINVAL);
    assert_null(ids);
    assert_int_equal(count, 77);

    produce_batch(&schema, &array, "+m", "c", 0);
    produce_array(array.children[0], 0, 0, 0, 2, 0);
    assert_err(granary_frame_import_array(client, &schema, &array, &id), GRANARY_EUNSUPPORTED);
    assert_null(schema.release);
    assert_null(array.release);
    assert_memory_equal(&id, &no_id, sizeof id);
    assert_int_equal(produced_alive(), 0);
    check_no_objects(client);
    settle(client, 1);
    granary_disconnect(client);
}

/* ---- streams of objects ---- */

/* The text of a row of a column of strings, with a dictionary or not. */
static bool
text_is(const struct ArrowArray *column, int64_t row, const char *text)
{
    const struct ArrowArray *plain = column->dictionary != NULL ? column->dictionary : column;
    const int32_t *offsets = plain->buffers[1];

    row = column->dictionary != NULL ? ((const int32_t *)column->buffers[1])[row] : row;
    return (size_t)(offsets[row + 1] - offsets[row]) == strlen(text) &&
           memcmp((const char *)plain->buffers[2] + offsets[row], text, strlen(text)) == 0;
}

/* The same strings in three layouts: the first one's is that of the stream. */
static void
later_frames_have_the_first_ones_columns(void **state)
{
    const granary_column entries = {
        .name = "", .dtype = GRANARY_STRING, .rows = 2, .values = "xy", .offsets = (int32_t[]){0, 1, 2}};
    const granary_column plain = {
        .name = "s", .dtype = GRANARY_STRING, .values = "yxxx", .offsets = (int32_t[]){0, 1, 2, 3, 4}};
    const granary_column coded = {
        .name = "s", .dtype = GRANARY_STRING, .values = (int32_t[]){1, 0, 0, 0}, .dictionary = &entries};
    const granary_column nulls = {.name = "s", .dtype = GRANARY_NULLTYPE};
    granary_client *client = fixture_connect(state);
    const granary_id ids[] = {put_column(client, &plain, 4), put_column(client, &coded, 4),
                              put_column(client, &nulls, 4), put_numbers(client, 5)};
    static const size_t orders[][3] = {{0, 1, 2}, {1, 0, 2}};

    for (size_t i = 0; i < 2; i++) {
        const granary_id order[] = {ids[orders[i][0]], ids[orders[i][1]], ids[orders[i][2]], ids[3]};
        struct ArrowArrayStream stream;
        struct ArrowSchema schema;
        struct ArrowArray array;

        assert_ok(granary_frames_stream(client, order, 4, &stream));
        assert_int_equal(stream.get_schema(&stream, &schema), 0);
        assert_int_equal(schema.children[0]->dictionary != NULL, i == 1);
        schema.release(&schema);
        for (size_t batch = 0; batch < 3; batch++) {
            const struct ArrowArray *column;

            assert_int_equal(stream.get_next(&stream, &array), 0);
            column = array.children[0];
            assert_int_equal(column->dictionary != NULL, i == 1);
            assert_int_equal(column->null_count, batch == 2 ? 4 : 0);
            assert_true(batch == 2 || (text_is(column, 0, "y") && text_is(column, 1, "x") && text_is(column, 3, "x")));
            array.release(&array);
        }
        assert_null(stream.get_last_error(&stream));
        assert_int_equal(stream.get_next(&stream, &array), EINVAL);
        assert_non_null(strstr(stream.get_last_error(&stream), "column 0 is 'n'"));
        assert_int_equal(stream.get_next(&stream, &array), EINVAL);
        assert_int_equal(stream.get_schema(&stream, &schema), EINVAL);
        stream.release(&stream);
        assert_null(stream.release);
    }
    assert_ok(granary_object_delete_many(client, ids, 4, NULL));
    settle(client, 1);
    granary_disconnect(client);
}

static void
a_stream_goes_on_after_the_disconnect(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    const granary_id ids[] = {put_numbers(client, 10), put_numbers(client, 20), fixture_id(9)};
    struct ArrowArrayStream stream;
    struct ArrowArray first, second, third;

    assert_err(granary_frames_stream(client, ids, 0, &stream), GRANARY_EINVAL);
    assert_ok(granary_frames_stream(client, ids, 3, &stream));
    assert_int_equal(stream.get_next(&stream, &first), 0);
    granary_disconnect(client);
    assert_int_equal(stream.get_next(&stream, &second), 0);
    assert_int_equal(second.length, 20);
    assert_int_equal(stream.get_next(&stream, &third), ENOENT);
    assert_non_null(strstr(stream.get_last_error(&stream), "not found"));
    stream.release(&stream);
    assert_ok(granary_object_delete_many(other, ids, 2, NULL));
    check_numbers_of(first.children[0]);
    check_numbers_of(second.children[0]);
    first.release(&first);
    assert_int_equal(fixture_stat(other).clients, 2);
    second.release(&second);
    settle(other, 1);
    granary_disconnect(other);
}

/* ---- tables ---- */

static granary_mutable *
make_table(granary_client *client)
{
    granary_mutable *table;

    assert_ok(granary_mutable_create_frame(client, "t", &(granary_column){.name = "n", .dtype = GRANARY_INT64}, 1, NULL,
                                           &table));
    return table;
}

/* Rows of another library: n = 0, 1, ... in batches. */
static void
append_stream(granary_mutable *table, const int64_t *sizes, size_t count)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;

    produce_stream(&stream, sizes, count, SIZE_MAX, 0);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    while (stream.get_next(&stream, &array) == 0 && array.release != NULL) {
        granary_columns columns;

        assert_ok(granary_columns_import(&schema, &array, &columns));
        assert_ok(granary_mutable_append(table, columns.columns, columns.count, columns.rows, NULL, NULL));
        granary_columns_free(&columns);
    }
    schema.release(&schema);
    stream.release(&stream);
    assert_int_equal(produced_alive(), 0);
}

/* All that is left of a stream: n goes on from `from`. Returns where it ends. */
static int64_t
drain(struct ArrowArrayStream *stream, int64_t from)
{
    struct ArrowArray array;

    for (;;) {
        assert_int_equal(stream->get_next(stream, &array), 0);
        if (array.release == NULL) {
            return from;
        }
        for (int64_t i = 0; i < array.length; i++) {
            assert_int_equal(((const int64_t *)array.children[0]->buffers[1])[i], from++);
        }
        array.release(&array);
    }
}

static void
a_table_is_streamed_as_it_was(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_table(client);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;

    assert_ok(granary_table_stream(table, GRANARY_NOW, &stream));
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_string_equal(schema.children[0]->name, "n");
    schema.release(&schema);
    assert_int_equal(drain(&stream, 0), 0);
    stream.release(&stream);

    append_stream(table, (int64_t[]){100000, 7}, 2);
    assert_ok(granary_table_stream(table, GRANARY_NOW, &stream));
    append_stream(table, (int64_t[]){5}, 1);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "t"));
    assert_int_equal(drain(&stream, 0), 100007);
    stream.release(&stream);
    settle(client, 1);
    check_no_objects(client);
    granary_disconnect(client);
}

static void
a_sealed_table_is_streamed(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_table(client);
    struct ArrowArrayStream stream;

    append_stream(table, (int64_t[]){70000}, 1);
    assert_ok(granary_mutable_seal(table, GRANARY_NOW, NULL));
    assert_err(granary_table_stream(table, GRANARY_NOW, &stream), GRANARY_ESEALED);
    granary_mutable_close(table);
    assert_ok(granary_table_open(client, "t", &table));
    assert_ok(granary_table_stream(table, GRANARY_NOW, &stream));
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "t"));
    granary_disconnect(client);
    assert_int_equal(drain(&stream, 0), 70000);
    stream.release(&stream);
    client = fixture_connect(state);
    settle(client, 1);
    check_no_objects(client);
    granary_disconnect(client);
}

static void
a_tensor_is_no_table(void **state)
{
    granary_client *client = fixture_connect(state);
    const granary_mutable_tensor tensor = {.dtype = GRANARY_INT64, .dims = 1, .shape = {5}};
    struct ArrowArrayStream stream;
    granary_mutable *table;

    assert_ok(granary_mutable_create_tensor(client, "t", &tensor, NULL, &table));
    assert_err(granary_table_stream(table, GRANARY_NOW, &stream), GRANARY_ETYPE);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* A copy needs no client. */
static void
a_copy_is_given_away(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_table(client);
    struct ArrowSchema schema;
    struct ArrowArray array;
    granary_frame *frame;

    append_stream(table, (int64_t[]){1000}, 1);
    assert_ok(granary_mutable_read_frame(table, GRANARY_NOW, &frame));
    assert_ok(granary_frame_export_owned(frame, &schema, &array));
    granary_mutable_close(table);
    granary_disconnect(client);
    check_numbers_of(array.children[0]);
    array.release(&array);
    schema.release(&schema);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_child_that_was_moved_out_has_the_lease, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(an_array_outlives_its_connection, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_forked_child_gives_nothing_back, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(an_array_outlives_its_store, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(what_is_no_frame_stays_the_callers, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_frame_goes_out_and_comes_in, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_stream_becomes_objects, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_stream_that_fails_leaves_nothing, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(later_frames_have_the_first_ones_columns, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_stream_goes_on_after_the_disconnect, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_table_is_streamed_as_it_was, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_sealed_table_is_streamed, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_tensor_is_no_table, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_copy_is_given_away, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
