/* Libraries exported to a whole instance, and graphs that call their functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "granary/granary.h"
#include "granary/hold.h"
#include "instance.h"

static char directory[] = "/tmp/granary-exports-XXXXXX";
static granary_client *client;

static int
start(void **state)
{
    (void)state;
    instance_start(directory, "--executors 2 --memory 128M", &client);
    return 0;
}

static int
stop(void **state)
{
    (void)state;
    instance_stop(directory, client);
    return 0;
}

static const char *
library(const char *name)
{
    static char path[512];

    (void)snprintf(path, sizeof path, LIBRARIES "/lib%s.so", name);
    return path;
}

static void
refuse(const char *path, const char *name, granary_err err, const char *why)
{
    char version[33] = "untouched";

    assert_int_equal(granary_export(client, path, name, version), err);
    if (strstr(granary_error_message(), why) == NULL) {
        fail_msg("'%s' is not in '%s'", why, granary_error_message());
    }
    assert_string_equal(version, "untouched");
}

static void
libraries_that_would_not_work_are_refused(void **state)
{
    char *bytes;
    size_t size;
    char path[] = "/tmp/granary-exports-file-XXXXXX";
    int fd;

    (void)state;
    refuse("/nowhere/at/all.so", NULL, GRANARY_ENOENT, "/nowhere/at/all.so");
    refuse("/tmp", "x", GRANARY_EINVAL, "not a file");
    refuse("/dev/zero", "x", GRANARY_EINVAL, "not a file");
    refuse("/bin/sh", "sh", GRANARY_EINVAL, "declares no function");
    refuse(library("none"), NULL, GRANARY_EINVAL, "declares no function");
    refuse(library("bad"), NULL, GRANARY_EINVAL, "function 'future' is made for version 99");
    refuse(library("bad_symbol"), NULL, GRANARY_EINVAL, "nobody_has_this");
    refuse(library("bad_constructor"), NULL, GRANARY_EINVAL, "loading it");
    refuse(library("good"), "a/b", GRANARY_EINVAL, "its name needs");

    assert_int_equal(gr_file_read(library("good"), 64 << 20, &bytes, &size), GRANARY_OK);
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(gr_write_all(fd, bytes, size / 2), GRANARY_OK);
    (void)close(fd);
    refuse(path, "half", GRANARY_EINVAL, "cut short");
    (void)unlink(path);
    free(bytes);
}

/* The text that target's only chunk contains. */
static void
expect_text(const char *key, const char *target, const char *text)
{
    granary_result result;
    granary_view view;

    assert_int_equal(granary_graph_result(client, key, target, &result), GRANARY_OK);
    assert_int_equal(result.chunk_count, 1);
    assert_int_equal(granary_object_get(client, result.chunks[0], 0, &view), GRANARY_OK);
    assert_int_equal(view.data_size, strlen(text));
    assert_memory_equal(view.data, text, strlen(text));
    granary_object_release(client, &view);
    granary_result_free(&result);
}

static granary_err
submit_and_wait(const char *json, char key[GRANARY_KEY_MAX])
{
    granary_err err = granary_graph_submit_json(client, json, strlen(json), NULL, key);

    return err == GRANARY_OK ? granary_graph_wait(client, key, 30000, NULL) : err;
}

static void
functions_are_called_by_graphs(void **state)
{
    char version[33], again[33];
    char key[GRANARY_KEY_MAX];

    (void)state;
    assert_int_equal(granary_export(client, library("good"), NULL, version), GRANARY_OK);
    assert_int_equal(granary_export(client, library("good"), NULL, again), GRANARY_OK);
    assert_string_equal(version, again);
    assert_int_equal(submit_and_wait("{\"nodes\": {\"c\": {\"op\": \"call\", \"function\": \"counts\"}}}", key),
                     GRANARY_OK);
    expect_text(key, "c", "1 0 1");
    assert_int_equal(
        submit_and_wait("{\"nodes\": {\"t\": {\"op\": \"arange\", \"stop\": 10},"
                        "\"x\": {\"op\": \"exec\", \"command\": [\"sh\", \"-c\", \"head -c 6 | tail -c 5\"],"
                        " \"input\": \"t\"}}, \"targets\": [\"x\"]}",
                        key),
        GRANARY_OK);
    expect_text(key, "x", "NUMPY");
}

/* A function on each chunk of a tensor, among operators of granary's own. */
static void
functions_are_mapped_over_chunks(void **state)
{
    char key[GRANARY_KEY_MAX];
    granary_result result;
    granary_tensor tensor;
    granary_view view;

    (void)state;
    assert_int_equal(granary_export(client, library("good"), NULL, NULL), GRANARY_OK);
    if (submit_and_wait("{\"nodes\": {\"t\": {\"op\": \"arange\", \"stop\": 1000, \"chunk\": 100},"
                        "\"m\": {\"op\": \"map_chunk\", \"function\": \"negate\", \"input\": \"t\"},"
                        "\"s\": {\"op\": \"sum\", \"input\": \"m\"}}, \"targets\": [\"s\"]}",
                        key) != GRANARY_OK) {
        fail_msg("%s", granary_error_message());
    }
    assert_int_equal(granary_graph_result(client, key, "s", &result), GRANARY_OK);
    assert_int_equal(granary_object_get(client, result.chunks[0], 0, &view), GRANARY_OK);
    assert_int_equal(granary_tensor_open(&view, &tensor), GRANARY_OK);
    assert_int_equal(*(const int64_t *)tensor.values, -499500);
    granary_object_release(client, &view);
    granary_result_free(&result);
}

/* What a function goes on as gives its output; and what it did not wait for it cannot deadlock on. */
static void
a_function_goes_on_as_a_graph(void **state)
{
    char key[GRANARY_KEY_MAX];
    granary_result result;
    granary_tensor tensor;
    granary_view view;

    (void)state;
    assert_int_equal(granary_export(client, library("good"), NULL, NULL), GRANARY_OK);
    if (submit_and_wait("{\"nodes\": {\"c\": {\"op\": \"call\", \"function\": \"goes_on\"}}}", key) != GRANARY_OK) {
        fail_msg("%s", granary_error_message());
    }
    assert_int_equal(granary_graph_result(client, key, "c", &result), GRANARY_OK);
    assert_int_equal(result.chunk_count, 1);
    assert_int_equal(granary_object_get(client, result.chunks[0], 0, &view), GRANARY_OK);
    assert_int_equal(granary_tensor_open(&view, &tensor), GRANARY_OK);
    assert_int_equal(tensor.shape[0], 5);
    assert_int_equal(((const int64_t *)tensor.values)[4], 4);
    granary_object_release(client, &view);
    granary_result_free(&result);
}

/* A crash names the function, and what it printed last is told. */
static void
crashes_are_told_with_what_was_printed(void **state)
{
    char key[GRANARY_KEY_MAX];

    (void)state;
    assert_int_equal(granary_export(client, library("good"), NULL, NULL), GRANARY_OK);
    assert_int_equal(submit_and_wait("{\"nodes\": {\"t\": {\"op\": \"arange\", \"stop\": 10}, \"c\": {\"op\": \"call\","
                                     " \"function\": \"overwrites\", \"input\": \"t\"}}, \"targets\": [\"c\"]}",
                                     key),
                     GRANARY_ELOST);
    assert_non_null(strstr(granary_error_message(), "overwrites"));
    if (strstr(granary_error_message(), "wrote over its input 0") == NULL) {
        fail_msg("%s", granary_error_message());
    }
}

static void
failures_are_told_with_what_was_printed(void **state)
{
    char key[GRANARY_KEY_MAX];

    (void)state;
    assert_int_equal(granary_export(client, library("good"), NULL, NULL), GRANARY_OK);
    assert_int_equal(submit_and_wait("{\"nodes\": {\"c\": {\"op\": \"call\", \"function\": \"fails\"}}}", key),
                     GRANARY_EBUSY);
    assert_non_null(strstr(granary_error_message(), "gave up after 3"));
    assert_non_null(strstr(granary_error_message(), "it is printed"));
}

static granary_err
run_graph(granary_graph *graph, char key[GRANARY_KEY_MAX])
{
    granary_err err = granary_graph_submit(client, graph, NULL, key);

    granary_graph_destroy(graph);
    return err == GRANARY_OK ? granary_graph_wait(client, key, 30000, NULL) : err;
}

/* Objects by name, beginnings of ids and outputs, in graphs of both levels that are built call by call. */
static void
objects_go_into_graphs_of_both_levels(void **state)
{
    static const char *const count[] = {"wc", "-c"};
    static const char *const join[] = {"sh", "-c", "cat /dev/fd/3 /dev/fd/4"};
    granary_id id = {.bytes = {0xab, 0xcd}};
    granary_graph *graph = granary_graph_create();
    granary_node object = granary_graph_add(graph, "o", "object", NULL, 0);
    granary_node node = granary_graph_add(graph, "n", "exec", &object, 1);
    granary_node other;
    char key[GRANARY_KEY_MAX];

    (void)state;
    assert_int_equal(granary_object_put(client, id, "hello", 5, NULL, 0, 0), GRANARY_OK);
    assert_int_equal(granary_name_set(client, "greeting", id, GRANARY_NAME_ANY, id, NULL), GRANARY_OK);
    granary_node_set_strings(graph, object, "ids", (const char *const[]){"name:greeting", "abcd"}, 2);
    granary_node_set_strings(graph, node, "command", join, 3);
    assert_int_equal(run_graph(graph, key), GRANARY_OK);
    expect_text(key, "n", "hellohello");

    graph = granary_graph_create();
    granary_graph_set_level(graph, GRANARY_LEVEL_CHUNK);
    node = granary_graph_add(graph, "join", "exec", NULL, 0);
    granary_node_set_strings(graph, node, "command", join, 3);
    granary_node_add_object(graph, node, id);
    granary_node_add_object(graph, node, id);
    other = granary_graph_add(graph, "count", "exec", NULL, 0);
    granary_node_set_strings(graph, other, "command", count, 2);
    granary_node_add_output(graph, other, node, 0);
    assert_int_equal(run_graph(graph, key), GRANARY_OK);
    expect_text(key, "count", "10\n");
    assert_int_equal(granary_graph_delete(client, key), GRANARY_OK);
    assert_true(granary_object_contains(client, id)); /* what was there before stays */

    graph = granary_graph_create();
    object = granary_graph_add(graph, "o", "object", NULL, 0);
    node = granary_graph_add(graph, "n", "exec", &object, 1);
    granary_node_set_string(graph, object, "ids", "name:nobody");
    granary_node_set_strings(graph, node, "command", count, 2);
    assert_int_equal(run_graph(graph, key), GRANARY_ENOENT);
    assert_non_null(strstr(granary_error_message(), "node 'o' (object)"));
}

/* An input that is gone by the time it is needed fails the graph, and is named. */
static void
a_missing_object_is_named(void **state)
{
    char key[GRANARY_KEY_MAX];

    (void)state;
    assert_int_equal(submit_and_wait("{\"nodes\": {\"o\": {\"op\": \"object\","
                                     "\"ids\": \"12121212121212121212121212121212\"},"
                                     "\"n\": {\"op\": \"exec\", \"input\": \"o\", \"command\": \"cat\"}}}",
                                     key),
                     GRANARY_ENOENT);
    assert_non_null(strstr(granary_error_message(), "12121212121212121212121212121212"));
    assert_non_null(strstr(granary_error_message(), "node 'n'"));
}

/* ... and of their files, which nobody could name any more: the last test. */
static void
all_of_a_session_is_forgotten(void **state)
{
    granary_hold *holds = NULL;
    size_t count = 0;

    (void)state;
    assert_int_equal(granary_export(client, library("good"), NULL, NULL), GRANARY_OK);
    assert_int_equal(granary_graph_delete_all(client, "default", NULL), GRANARY_OK);
    assert_int_equal(granary_holds(client, NULL, &holds, &count), GRANARY_OK);
    for (size_t i = 0; i < count; i++) {
        assert_null(strstr(holds[i].text, "export:"));
    }
    free(holds);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_that_would_not_work_are_refused),
        cmocka_unit_test(functions_are_called_by_graphs),
        cmocka_unit_test(functions_are_mapped_over_chunks),
        cmocka_unit_test(a_function_goes_on_as_a_graph),
        cmocka_unit_test(crashes_are_told_with_what_was_printed),
        cmocka_unit_test(failures_are_told_with_what_was_printed),
        cmocka_unit_test(objects_go_into_graphs_of_both_levels),
        cmocka_unit_test(a_missing_object_is_named),
        cmocka_unit_test(all_of_a_session_is_forgotten),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
