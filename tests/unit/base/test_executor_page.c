/* Pages of executors, read while they are written, torn, short, foreign, and of processes long gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/process/executor_page.h"

static char folder[] = "/tmp/granary-test-page-XXXXXX";

static int
make_folder(void **state)
{
    char path[128];

    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof path, "%s/%s", folder, GR_EXECUTOR_PAGES);
    return mkdir(path, 0700);
}

static int
remove_folder(void **state)
{
    (void)state;
    gr_remove_tree(folder);
    return 0;
}

static struct gr_executor_page
page_of(int64_t pid)
{
    struct gr_executor_page page = {.magic = GR_EXECUTOR_PAGE_MAGIC,
                                    .version = GR_EXECUTOR_PAGE_VERSION,
                                    .pid = pid,
                                    .start_time = 77,
                                    .node = 1,
                                    .slot = 3,
                                    .turn = 4,
                                    .phase = GR_PHASE_RUN,
                                    .subtask = 0x100000002,
                                    .attempt = 2,
                                    .since_ns = 123,
                                    .progress = 250000000,
                                    .beats = 9,
                                    .done = 41};

    page.waits_for[0] = 0x1111111111111111;
    page.waits_for[1] = 0x2222222222222222;
    (void)snprintf(page.log, sizeof page.log, "g/2.2.log");
    return page;
}

static void
write_page(const char *name, const void *bytes, size_t size)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s/%s", folder, GR_EXECUTOR_PAGES, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void
a_page_is_read_whole(void **state)
{
    struct gr_executor_page page = page_of(4242);
    struct gr_executor_state read;

    (void)state;
    write_page("4242", &page, sizeof page);
    assert_int_equal(gr_executor_page_read(folder, 4242, &read), GRANARY_OK);
    assert_int_equal(read.pid, 4242);
    assert_int_equal(read.start_time, 77);
    assert_int_equal(read.node, 1);
    assert_int_equal(read.slot, 3);
    assert_string_equal(gr_executor_phase_name(read.phase), "run");
    assert_int_equal(read.subtask, 0x100000002);
    assert_int_equal(read.attempt, 2);
    assert_int_equal(read.since_ns, 123);
    assert_int_equal(read.waits_for.bytes[0], 0x11);
    assert_int_equal(read.waits_for.bytes[15], 0x22);
    assert_true(read.progress == 0.25);
    assert_int_equal(read.done, 41);
    assert_string_equal(read.log, "g/2.2.log");
}

/* A log's name without its NUL, a progress beyond 1, an unknown phase: taken, and made harmless. */
static void
nonsense_is_harmless(void **state)
{
    struct gr_executor_page page = page_of(4243);
    struct gr_executor_state read;

    (void)state;
    memset(page.log, 'x', sizeof page.log);
    page.progress = UINT64_MAX;
    page.phase = 99;
    write_page("4243", &page, sizeof page);
    assert_int_equal(gr_executor_page_read(folder, 4243, &read), GRANARY_OK);
    assert_int_equal(strlen(read.log), sizeof read.log - 1);
    assert_true(read.progress == 1);
    assert_string_equal(gr_executor_phase_name(read.phase), "?");
}

static void
what_is_no_page_is_an_error(void **state)
{
    struct gr_executor_page page = page_of(1);
    struct gr_executor_state read;

    (void)state;
    assert_int_equal(gr_executor_page_read(folder, 999, &read), GRANARY_ENOENT);
    write_page("1", &page, 100);
    assert_int_equal(gr_executor_page_read(folder, 1, &read), GRANARY_EIO);
    page.turn = 5; /* it died in the middle of a change */
    write_page("1", &page, sizeof page);
    assert_int_equal(gr_executor_page_read(folder, 1, &read), GRANARY_ECORRUPT);
    page.version = 2;
    write_page("1", &page, sizeof page);
    assert_int_equal(gr_executor_page_read(folder, 1, &read), GRANARY_EVERSION);
    page.magic = 0;
    write_page("1", &page, sizeof page);
    assert_int_equal(gr_executor_page_read(folder, 1, &read), GRANARY_ECORRUPT);
}

/* All that can be read are given, in order of pids; no folder is no page. */
static void
pages_are_listed(void **state)
{
    struct gr_executor_page first = page_of(4240);
    struct gr_executor_state *read = NULL;
    size_t count = 9;

    (void)state;
    write_page("4240", &first, sizeof first);
    write_page("not-a-pid", &first, sizeof first);
    assert_int_equal(gr_executor_pages_read(folder, &read, &count), GRANARY_OK);
    assert_int_equal(count, 3);
    assert_int_equal(read[0].pid, 4240);
    assert_int_equal(read[1].pid, 4242);
    assert_int_equal(read[2].pid, 4243);
    free(read);
    assert_int_equal(gr_executor_pages_read("/nowhere", &read, &count), GRANARY_OK);
    assert_int_equal(count, 0);
    free(read);
}

/* Of the dead, those that started last are kept; the living keep theirs, and so does what is no page. */
static void
pages_of_the_dead_go(void **state)
{
    struct gr_executor_page page = page_of(getpid());
    struct gr_executor_state *read = NULL;
    char name[32];
    size_t count = 0;

    (void)state;
    page.start_time = gr_process_start_time(getpid());
    (void)snprintf(name, sizeof name, "%d", (int)getpid());
    write_page(name, &page, sizeof page);
    for (uint64_t i = 1; i <= 5; i++) { /* pids that no process can have */
        page = page_of((int64_t)(1 << 28) + (int64_t)i);
        page.start_time = 1000 - i;
        page.turn = i == 1 ? 5 : 4;
        (void)snprintf(name, sizeof name, "%lld", (long long)page.pid);
        write_page(name, &page, sizeof page);
    }
    gr_executor_pages_trim(folder, 3);
    assert_int_equal(gr_executor_pages_read(folder, &read, &count), GRANARY_OK);
    assert_int_equal(count, 3); /* the first of the dead cannot be read, but is kept */
    assert_int_equal(read[0].pid, getpid());
    assert_int_equal(read[1].pid, (1 << 28) + 2);
    assert_int_equal(read[2].pid, (1 << 28) + 3);
    free(read);
    gr_executor_pages_trim(folder, 0);
    assert_int_equal(gr_executor_pages_read(folder, &read, &count), GRANARY_OK);
    assert_int_equal(count, 1);
    free(read);
    gr_executor_pages_trim("/nowhere", 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_read_whole),        cmocka_unit_test(nonsense_is_harmless),
        cmocka_unit_test(what_is_no_page_is_an_error), cmocka_unit_test(pages_are_listed),
        cmocka_unit_test(pages_of_the_dead_go),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
