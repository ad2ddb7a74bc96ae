/* Targets of graphs as Arrow streams, on a whole instance. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "granary/arrow.h"
#include "granary/graph.h"
#include "instance.h"

static char directory[64];
static granary_client *client;

static int
start(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof directory, "/tmp/granary-arrow-XXXXXX");
    instance_start(directory, "--executors 2 --memory 256M", &client);
    return 0;
}

static int
stop(void **state)
{
    (void)state;
    instance_stop(directory, client);
    return 0;
}

/* n = 0, 1, ... in chunks of so many, as target "f"; the tensor is target "n". more: a node's text, or "". */
static void
submit(int64_t count, int64_t chunk, const char *key, const char *more)
{
    char text[600];
    char got[GRANARY_KEY_MAX];
    int length = snprintf(text, sizeof text,
                          "{\"nodes\": {\"n\": {\"op\": \"arange\", \"stop\": %lld, \"chunk\": %lld},"
                          "\"t\": {\"op\": \"from_tensor\", \"input\": \"n\", \"columns\": [\"n\"]},"
                          "\"f\": {\"op\": \"assign\", \"input\": \"t\", \"columns\": {%s\"half\": \"n / 2\"}}},"
                          "\"targets\": [\"f\", \"n\"]}",
                          (long long)count, (long long)chunk, more);

    assert_int_equal(granary_graph_submit_json(client, text, (size_t)length, &(granary_graph_options){.key = key}, got),
                     GRANARY_OK);
}

/* Begun before a chunk is there, as a rule. */
static void
chunks_come_in_order_while_the_graph_runs(void **state)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    int64_t rows = 0;
    size_t batches = 0;

    (void)state;
    submit(1000000, 20000, "g", "");
    assert_int_equal(granary_target_stream(client, "g", "f", &stream), GRANARY_OK);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(schema.n_children, 2);
    assert_string_equal(schema.children[0]->format, "l");
    assert_string_equal(schema.children[1]->name, "half");
    assert_string_equal(schema.children[1]->format, "g");
    schema.release(&schema);
    for (;;) {
        assert_int_equal(stream.get_next(&stream, &array), 0);
        if (array.release == NULL) {
            break;
        }
        for (int64_t i = 0; i < array.length; i++) {
            assert_int_equal(((const int64_t *)array.children[0]->buffers[1])[i], rows + i);
        }
        rows += array.length;
        batches++;
        array.release(&array);
    }
    assert_int_equal(rows, 1000000);
    assert_true(batches > 10);
    assert_int_equal(stream.get_next(&stream, &array), 0);
    assert_null(array.release);
    stream.release(&stream);
    assert_int_equal(granary_graph_delete(client, "g"), GRANARY_OK);
}

/* The first chunk is kept when the graph is deleted; the next one is no end, but an error. */
static void
a_graph_that_is_deleted_is_an_error(void **state)
{
    struct ArrowArrayStream stream;
    struct ArrowArray first, array;

    (void)state;
    submit(1000000, 20000, "g", "");
    assert_int_equal(granary_target_stream(client, "g", "f", &stream), GRANARY_OK);
    assert_int_equal(stream.get_next(&stream, &first), 0);
    assert_int_equal(granary_graph_delete(client, "g"), GRANARY_OK);
    assert_int_equal(stream.get_next(&stream, &array), ENOENT);
    assert_non_null(stream.get_last_error(&stream));
    stream.release(&stream);
    assert_int_equal(((const int64_t *)first.children[0]->buffers[1])[first.length - 1], first.length - 1);
    first.release(&first);
}

static void
errors_of_the_graph_are_the_streams(void **state)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;

    (void)state;
    submit(100000, 20000, "g", "\"much\": \"(n + 1) * 9223372036854775807\", ");
    assert_int_equal(granary_target_stream(client, "g", "f", &stream), GRANARY_OK);
    if (stream.get_next(&stream, &array) == 0) { /* the first value is no error, its chunk is */
        fail();
    }
    assert_non_null(stream.get_last_error(&stream));
    assert_true(strlen(stream.get_last_error(&stream)) > 10);
    assert_int_not_equal(stream.get_schema(&stream, &schema), 0);
    stream.release(&stream);
    assert_int_equal(granary_graph_delete(client, "g"), GRANARY_OK);
}

static void
what_is_no_frame_is_refused(void **state)
{
    struct ArrowArrayStream stream = {.release = NULL};

    (void)state;
    assert_int_equal(granary_target_stream(client, "none", "f", &stream), GRANARY_ENOENT);
    submit(1000, 100, "g", "");
    assert_int_equal(granary_graph_wait(client, "g", 60000, NULL), GRANARY_OK);
    assert_int_equal(granary_target_stream(client, "g", "n", &stream), GRANARY_ETYPE);
    assert_int_equal(granary_target_stream(client, "g", "x", &stream), GRANARY_ENOENT);
    assert_null(stream.release);
    assert_int_equal(granary_graph_delete(client, "g"), GRANARY_OK);
}

/* An early release leaves the graph alone, and nothing leased. */
static void
an_early_release_is_the_end(void **state)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    granary_store_stat stat;

    (void)state;
    submit(100000, 20000, "g", "");
    assert_int_equal(granary_target_stream(client, "g", "f", &stream), GRANARY_OK);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    schema.release(&schema);
    stream.release(&stream);
    assert_int_equal(granary_graph_wait(client, "g", 60000, NULL), GRANARY_OK);
    assert_int_equal(granary_graph_delete(client, "g"), GRANARY_OK);
    do {
        assert_int_equal(granary_store_stat_get(client, &stat), GRANARY_OK);
        (void)usleep(1000); /* executors are told to let go */
    } while (stat.retiring_bytes > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_come_in_order_while_the_graph_runs),
        cmocka_unit_test(a_graph_that_is_deleted_is_an_error),
        cmocka_unit_test(errors_of_the_graph_are_the_streams),
        cmocka_unit_test(what_is_no_frame_is_refused),
        cmocka_unit_test(an_early_release_is_the_end),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
