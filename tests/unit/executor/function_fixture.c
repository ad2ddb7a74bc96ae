#include "unit/executor/function_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"

int
function_test_start(struct function_test *test)
{
    granary_connect_options options = {0};

    memset(test, 0, sizeof *test);
    pool_test_start(&test->pool, 1);
    options.instance = test->pool.store.directory;
    assert_int_equal(granary_connect(&options, &test->client), GRANARY_OK);
    gr_instance_logs(&test->pool.instance, test->logs);
    return 0;
}

int
function_test_start_good(struct function_test *test)
{
    (void)function_test_start(test);
    function_export(test, "good", "good", test->good);
    return 0;
}

int
function_test_stop(struct function_test *test)
{
    granary_disconnect(test->client);
    pool_test_stop(&test->pool);
    return 0;
}

char *
function_file(const char *file, size_t *ret_size)
{
    char path[512];
    char *bytes;

    (void)snprintf(path, sizeof path, LIBRARIES "/lib%s.so", file);
    assert_int_equal(gr_file_read(path, 64 << 20, &bytes, ret_size), GRANARY_OK);
    return bytes;
}

void
function_export_bytes(struct function_test *test, const char *name, const void *bytes, size_t size,
                      char ret_version[33])
{
    Granary__ToExecutor message = GRANARY__TO_EXECUTOR__INIT;
    Granary__Library library = GRANARY__LIBRARY__INIT;
    Granary__Library *exports = &library;
    granary_id id;
    granary_err err;

    gr_hash128_format(bytes, size, ret_version);
    id = granary_id_from_name(NULL, ret_version);
    err = granary_object_put(test->client, id, bytes, size, NULL, 0, 0);
    assert_true(err == GRANARY_OK || err == GRANARY_EEXIST);
    library.name = (char *)(uintptr_t)name;
    library.version = ret_version;
    library.object = (ProtobufCBinaryData){sizeof id.bytes, id.bytes};
    message.exports = &exports;
    message.n_exports = 1;
    pool_send(&test->pool, test->executor, &message);
}

void
function_export(struct function_test *test, const char *name, const char *file, char ret_version[33])
{
    size_t size;
    char *bytes = function_file(file, &size);

    function_export_bytes(test, name, bytes, size, ret_version);
    free(bytes);
}

Granary__ChunkOp *
call_new(const char *library, const char *version, const char *function)
{
    Granary__ChunkOp *op = op_new("call");

    op_attr(op, gr_attr_new_string("library", library));
    op_attr(op, gr_attr_new_string("version", version));
    op_attr(op, gr_attr_new_string("function", function));
    op->node = strdup("node");
    return op;
}

Granary__ChunkOp *
call_good(const struct function_test *test, const char *function)
{
    return call_new("good", test->good, function);
}

void
call_params(Granary__ChunkOp *op, ...)
{
    char *keys[8], *values[8];
    size_t count = 0;
    va_list list;

    va_start(list, op);
    while (count < 8 && (keys[count] = va_arg(list, char *)) != NULL) {
        values[count++] = va_arg(list, char *);
    }
    va_end(list);
    op_attr(op, gr_attr_new_map("params", keys, values, count));
}

Granary__ChunkOp *
exec_new(const char *script)
{
    char shell[] = "sh", option[] = "-c";
    char *command[] = {shell, option, (char *)(uintptr_t)script};
    Granary__ChunkOp *op = op_new("exec");

    op_attr(op, gr_attr_new_strings("command", command, 3));
    op->node = strdup("node");
    return op;
}

void
function_send(struct function_test *test, Granary__ChunkOp **ops, size_t count, int64_t timeout_ms)
{
    Granary__Subtask subtask = GRANARY__SUBTASK__INIT;
    Granary__Subtask *run = &subtask;
    Granary__ToExecutor message = GRANARY__TO_EXECUTOR__INIT;
    char graph[] = "graph";

    subtask.number = ((uint64_t)1 << 32) | ++test->number;
    subtask.attempt = 1;
    subtask.graph = graph;
    subtask.directory = test->pool.store.directory;
    subtask.timeout_ms = timeout_ms;
    subtask.ops = ops;
    subtask.n_ops = count;
    message.run = &run;
    message.n_run = 1;
    pool_send(&test->pool, test->executor, &message);
    for (size_t i = 0; i < count; i++) {
        granary__chunk_op__free_unpacked(ops[i], NULL);
    }
}

Granary__Done *
function_done(struct function_test *test, granary_err err)
{
    Granary__Done *done = pool_next_done(&test->pool);

    assert_int_equal((uint32_t)done->number, test->number);
    if (done->err != err) {
        fail_msg("%s: %s", granary_error_name((granary_err)done->err), done->message);
    }
    return done;
}

Granary__Done *
function_run(struct function_test *test, Granary__ChunkOp **ops, size_t count, granary_err err)
{
    function_send(test, ops, count, 0);
    return function_done(test, err);
}

void
function_expect(struct function_test *test, Granary__ChunkOp *op, const char *text)
{
    granary_id id = granary_id_random();
    Granary__Done *done;
    granary_view view;

    op_output(op, &id);
    done = function_run(test, &op, 1, GRANARY_OK);
    assert_int_equal(done->n_outputs, 1);
    granary__done__free_unpacked(done, NULL);
    assert_int_equal(granary_object_get(test->client, id, 0, &view), GRANARY_OK);
    if (view.data_size != strlen(text) || memcmp(view.data, text, strlen(text)) != 0) {
        fail_msg("'%.*s', not '%s'", (int)view.data_size, (const char *)view.data, text);
    }
    granary_object_release(test->client, &view);
}

void
function_expect_failure(struct function_test *test, Granary__ChunkOp *op, granary_err err, bool user, const char *text)
{
    Granary__Done *done = function_run(test, &op, 1, err);

    if (strstr(done->message, text) == NULL || strncmp(done->message, "node 'node' (", 13) != 0) {
        fail_msg("'%s' is not in '%s'", text, done->message);
    }
    assert_int_equal(done->user_failed, user);
    assert_string_equal(done->node, "node");
    assert_int_equal(done->n_outputs, 0);
    granary__done__free_unpacked(done, NULL);
}

void
function_expect_death(struct function_test *test, Granary__ChunkOp *op, int signal, int status)
{
    size_t deaths = test->pool.death_count;

    function_send(test, &op, 1, 0);
    pool_await_deaths(&test->pool, deaths + 1);
    assert_int_equal(test->pool.deaths[deaths].pid, test->pool.executors[test->executor].pid);
    assert_int_equal(test->pool.deaths[deaths].signal, signal);
    assert_int_equal(test->pool.deaths[deaths].status, status);
    test->executor = pool_next_registration(&test->pool);
}

char *
function_log(struct function_test *test)
{
    char path[sizeof test->logs + 64];
    char *bytes;
    size_t size;

    (void)snprintf(path, sizeof path, "%s/graph/%u.1.log", test->logs, (unsigned)test->number);
    return gr_file_read(path, 64 << 20, &bytes, &size) == GRANARY_OK ? bytes : NULL;
}

struct gr_executor_page *
function_page(struct function_test *test)
{
    char path[256];
    struct gr_executor_page *page;
    int fd;

    (void)snprintf(path, sizeof path, "%s/" GR_EXECUTOR_PAGES "/%d", test->pool.instance.runtime,
                   (int)test->pool.executors[test->executor].pid);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    page = mmap(NULL, GR_EXECUTOR_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(page != MAP_FAILED);
    (void)close(fd);
    assert_int_equal(page->magic, GR_EXECUTOR_PAGE_MAGIC);
    return page;
}

void
function_await(_Atomic uint64_t *word, uint64_t value)
{
    for (int64_t deadline = gr_deadline_ns(60000); atomic_load(word) != value; (void)usleep(500)) {
        assert_true(gr_now_ns() < deadline);
    }
}

granary_id
function_fares(struct function_test *test)
{
    static char name[] = "fare", dtype[] = "float64";
    char *const names[] = {name};
    char *const dtypes[] = {dtype};
    const int64_t position = 0;
    const granary_id id = granary_id_random();
    char *path = file_write("1.0\n2.5\n8.0\n", 12);
    Granary__ChunkOp *op = op_new("csv_read");

    op_attr(op, gr_attr_new_string("path", path));
    op_attr(op, gr_attr_new_int("offset", 0));
    op_attr(op, gr_attr_new_int("size", 12));
    op_attr(op, gr_attr_new_strings("columns", names, 1));
    op_attr(op, gr_attr_new_strings("dtypes", dtypes, 1));
    op_attr(op, gr_attr_new_ints("positions", &position, 1));
    op_output(op, &id);
    granary__done__free_unpacked(function_run(test, &op, 1, GRANARY_OK), NULL);
    file_remove(path);
    return id;
}
