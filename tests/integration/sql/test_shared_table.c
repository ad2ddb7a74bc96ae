/*
 * A table that was loaded is one memory for all: a second process maps what the first has mapped, the same pages of the
 * same segment, without a byte more in the store and without touching a page of its own; and it can be queried from C.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/text/buf.h"
#include "granary/granary.h"
#include "granary/sql.h"

#define ROWS 200000

static char directory[] = "/tmp/granary-shared-XXXXXX";
static char instance[64];
static char shm_pattern[80];

/* Run the command line in the instance; true: it succeeded. */
static bool
command(const char *arguments)
{
    struct gr_buf line = {0};
    const char *bin = getenv("GRANARY_BIN");
    bool ok;

    gr_buf_addf(&line, "GRANARY_INSTANCE=%s %s/granary %s >>%s/out 2>&1", instance,
                bin == NULL ? "build/release/bin" : bin, arguments, directory);
    ok = gr_buf_ok(&line) && system(line.bytes) == 0;
    gr_buf_free(&line);
    return ok;
}

static int
set_up(void **state)
{
    struct gr_instance resolved;
    char path[128];
    FILE *file;

    (void)state;
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    (void)snprintf(instance, sizeof instance, "%s/i", directory);
    if (gr_instance_resolve(instance, &resolved) != GRANARY_OK) {
        return -1;
    }
    (void)snprintf(shm_pattern, sizeof shm_pattern, "/dev/shm%s*", resolved.shm_prefix);
    (void)snprintf(path, sizeof path, "%s/table.csv", directory);
    file = fopen(path, "w");
    if (file == NULL) {
        return -1;
    }
    (void)fprintf(file, "number,half,name\n");
    for (int i = 0; i < ROWS; i++) {
        (void)fprintf(file, "%d,%d.5,name %d\n", i, i / 2, i % 100);
    }
    (void)snprintf(path, sizeof path, "load numbers %s/table.csv", directory);
    return fclose(file) == 0 && command("up --executors 1 --memory 128M --state memory") && command(path) ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    (void)command("down");
    gr_remove_tree(directory);
    return 0;
}

/* What a process sees of the table. */
struct seen {
    uint64_t segments;    /* inodes of what its chunks lie in, added up */
    uint64_t bytes;       /* of all chunks */
    uint64_t own_bytes;   /* of memory of its own that it needed to map and read all of it */
    uint64_t shm_bytes;   /* of the store's memory in use, with the table mapped and read */
    uint64_t store_bytes; /* of objects in the store, with the table mapped */
    int64_t sum;          /* of a column */
    int64_t ns;           /* to have its columns mapped */
    bool ok;
};

/* The inode of the mapping an address is in. */
static bool
inode_at(const void *address, uint64_t *ret_inode)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    bool found = false;

    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        unsigned long begin;
        unsigned long end;
        unsigned long inode;

        if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &begin, &end, &inode) == 3) {
            found = (uintptr_t)address >= begin && (uintptr_t)address < end;
            *ret_inode = inode;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

/* Memory this process shares with nobody; 0: it could not be read. */
static uint64_t
own_memory(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long kib = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "RssAnon: %lu", &kib) == 1) {
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return (uint64_t)kib << 10;
}

/* Memory in the store's files, whatever they hold. */
static uint64_t
store_memory(void)
{
    glob_t files;
    uint64_t sum = 0;

    if (glob(shm_pattern, 0, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc; i++) {
            struct stat stat_;

            sum += stat(files.gl_pathv[i], &stat_) == 0 ? (uint64_t)stat_.st_blocks * 512 : 0;
        }
        globfree(&files);
    }
    return sum;
}

static void
look_at_chunk(granary_client *client, granary_id id, struct seen *seen)
{
    granary_view view;
    granary_frame *frame = NULL;
    const granary_column *column;
    uint64_t inode = 0;
    int64_t begin = gr_now_ns();

    seen->ok = seen->ok && granary_object_get(client, id, GRANARY_FOREVER, &view) == GRANARY_OK &&
               granary_frame_open(&view, &frame) == GRANARY_OK;
    if (!seen->ok) {
        return;
    }
    column = granary_frame_column_named(frame, "number");
    seen->ns += gr_now_ns() - begin;
    for (int64_t i = 0; i < granary_frame_rows(frame); i++) {
        seen->sum += ((const int64_t *)column->values)[i];
    }
    seen->ok = inode_at(view.data, &inode);
    seen->segments += inode;
    seen->bytes += view.data_size;
    granary_frame_close(frame);
    granary_object_release(client, &view);
}

/* In a process of its own. */
static struct seen
look(void)
{
    const granary_connect_options options = {.instance = instance};
    struct seen seen = {.ok = true};
    int answer[2];
    pid_t pid;

    assert_int_equal(pipe(answer), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        granary_client *client = NULL;
        granary_result result = {0};
        granary_store_stat stat;
        uint64_t before;

        seen.ok = granary_connect(&options, &client) == GRANARY_OK;
        seen.ok = seen.ok && granary_graph_result(client, "numbers", "table", &result) == GRANARY_OK;
        before = own_memory();
        seen.ok = seen.ok && before > 0;
        for (size_t i = 0; i < result.chunk_count; i++) {
            look_at_chunk(client, result.chunks[i], &seen);
        }
        seen.own_bytes = own_memory() - before;
        seen.shm_bytes = store_memory();
        seen.ok = seen.ok && granary_store_stat_get(client, &stat) == GRANARY_OK;
        seen.store_bytes = stat.sealed_bytes + stat.writing_bytes + stat.retiring_bytes;
        granary_disconnect(client);
        _exit(write(answer[1], &seen, sizeof seen) == (ssize_t)sizeof seen ? 0 : 1);
    }
    assert_int_equal(read(answer[0], &seen, sizeof seen), sizeof seen);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(answer[0]);
    (void)close(answer[1]);
    return seen;
}

static void
a_second_process_maps_the_same_memory(void **state)
{
    struct seen first = look();
    struct seen second = look();

    (void)state;
    assert_true(first.ok && second.ok);
    assert_int_equal(second.sum, (int64_t)ROWS * (ROWS - 1) / 2);
    assert_int_equal(second.segments, first.segments);
    assert_int_equal(second.bytes, first.bytes);
    assert_true(second.bytes > (uint64_t)ROWS * 16);
    assert_true(second.own_bytes < second.bytes / 4); /* what a client and a sanitizer take beside it */
    assert_true(second.shm_bytes > second.bytes);
    /* Less than a copy: an executor may hold a room. Files may grow by more, by spare pages. */
    assert_true(second.store_bytes < first.store_bytes + second.bytes);
    print_message("%.1f MB: mapped in %.0f us; %.0f KiB more in the process, %.0f in the store\n",
                  (double)second.bytes / 1e6, (double)second.ns / 1e3, (double)second.own_bytes / 1024,
                  ((double)second.store_bytes - (double)first.store_bytes) / 1024);
}

static void
programs_query_it(void **state)
{
    static const char sql[] =
        "select name, count(*) as n, max(number) as most from numbers where half > 10 group by name "
        "order by most desc limit 2";
    const granary_connect_options options = {.instance = instance};
    granary_client *client = NULL;
    granary_graph *graph = NULL;
    granary_result result = {0};
    granary_view view;
    granary_frame *frame = NULL;
    char key[GRANARY_KEY_MAX];

    (void)state;
    assert_int_equal(granary_connect(&options, &client), GRANARY_OK);
    assert_int_equal(granary_sql_graph(client, "select x from numbers", 21, &graph), GRANARY_ENOENT);
    assert_non_null(strstr(granary_error_message(), "line 1, column 8: no column 'x'"));
    assert_int_equal(granary_sql_graph(client, sql, sizeof sql - 1, &graph), GRANARY_OK);
    assert_int_equal(granary_graph_run(client, graph, NULL, GRANARY_FOREVER, key, NULL), GRANARY_OK);
    granary_graph_destroy(graph);
    assert_int_equal(granary_graph_result(client, key, GRANARY_SQL_TARGET, &result), GRANARY_OK);
    assert_int_equal(granary_object_get(client, result.chunks[0], GRANARY_FOREVER, &view), GRANARY_OK);
    assert_int_equal(granary_frame_open(&view, &frame), GRANARY_OK);
    assert_int_equal(granary_frame_rows(frame), 2);
    assert_int_equal(((const int64_t *)granary_frame_column_named(frame, "most")->values)[1], ROWS - 2);
    granary_frame_close(frame);
    granary_object_release(client, &view);
    granary_result_free(&result);
    assert_int_equal(granary_graph_delete(client, key), GRANARY_OK);
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_process_maps_the_same_memory),
        cmocka_unit_test(programs_query_it),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
