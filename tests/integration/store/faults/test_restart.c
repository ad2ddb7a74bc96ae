/* The store is killed and started again, over and over: who reads notices nothing, who writes waits a moment. */
#include "integration/store/fixture.h"

#include <fcntl.h>
#include <glob.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/instance.h"
#include "contract/shm.h"

#define OBJECT_BYTES 200000

enum { RESTARTS = 100 };

static const char *const memory[] = {"--memory", "64M", NULL};

static void
restart(struct daemon *daemon)
{
    daemon_kill(daemon);
    assert_true(daemon_restart(daemon, memory));
}

/* Until nothing deleted is leased, and that many clients are there: the store has no word for that to wait on. */
static void
settle(granary_client *client, uint64_t clients)
{
    int64_t deadline_ns = gr_deadline_ns(60000);
    granary_store_stat stat = fixture_stat(client);

    while ((stat.retiring_bytes > 0 || stat.clients != clients) && gr_now_ns() < deadline_ns) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        stat = fixture_stat(client);
    }
    assert_int_equal(stat.retiring_bytes, 0);
    assert_int_equal(stat.clients, clients);
}

/* What a reader and the test tell each other. */
struct shared {
    atomic_ulong rounds;
    atomic_bool stop;
};

/* Reads one view for ever, and gets it again each time; needs no store. */
static void
read_on(const struct daemon *daemon, struct shared *shared)
{
    granary_connect_options options = {.instance = daemon->directory, .reconnect_ms = -1};
    granary_client *client;
    granary_view kept, view;
    int64_t longest_ns = 0;

    assert_ok(granary_connect(&options, &client));
    assert_ok(granary_object_get(client, fixture_id(1), 10000, &kept));
    while (!atomic_load(&shared->stop)) {
        int64_t start_ns = gr_now_ns();

        assert_ok(granary_object_get(client, fixture_id(2), 0, &view));
        longest_ns = gr_now_ns() - start_ns > longest_ns ? gr_now_ns() - start_ns : longest_ns;
        assert_true(fixture_content_is(view.data, 2, OBJECT_BYTES));
        granary_object_release(client, &view);
        assert_true(fixture_content_is(kept.data, 1, OBJECT_BYTES));
        atomic_fetch_add(&shared->rounds, 1);
    }
    /* Whatever a busy machine does to a process: the wait for another store would be longer. */
    assert_true(longest_ns < 2000000000);
    granary_object_release(client, &kept);
    granary_disconnect(client);
}

static void
a_reader_is_not_disturbed(void **state)
{
    struct daemon *daemon = *state;
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    granary_client *client = fixture_connect(state);
    pid_t reader;

    assert_true(shared != MAP_FAILED);
    assert_ok(fixture_put(client, 1, OBJECT_BYTES, 0));
    assert_ok(fixture_put(client, 2, OBJECT_BYTES, 0));
    granary_disconnect(client);
    reader = fork();
    if (reader == 0) {
        read_on(daemon, shared);
        _exit(0);
    }
    while (atomic_load(&shared->rounds) == 0) {
        assert_int_equal(waitpid(reader, NULL, WNOHANG), 0);
    }
    for (int i = 0; i < RESTARTS; i++) {
        unsigned long seen = atomic_load(&shared->rounds);

        daemon_kill(daemon);
        while (atomic_load(&shared->rounds) == seen) { /* without any store */
            assert_int_equal(waitpid(reader, NULL, WNOHANG), 0);
        }
        assert_true(daemon_restart(daemon, memory));
    }
    atomic_store(&shared->stop, true);
    assert_int_equal(fixture_wait(reader), 0);
    (void)munmap(shared, sizeof *shared);
}

/* The same client goes on: its number, its rooms, its leases; what it put and deleted is so, once. */
static void
a_client_goes_on(void **state)
{
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    granary_buffer buffer;
    granary_view view;

    assert_ok(fixture_put(client, 1000, 5000, 0));
    assert_ok(granary_object_get(client, fixture_id(1000), 0, &view));
    for (uint64_t n = 0; n < 20; n++) {
        assert_ok(granary_object_create(client, fixture_id(n), 10000, 0, 10000, &buffer));
        fixture_fill(buffer.data, n, 10000);
        restart(daemon);
        assert_ok(granary_object_seal(client, &buffer));
        assert_err(fixture_put(client, n, 10000, 0), GRANARY_EEXIST);
        if (n > 0) {
            assert_ok(granary_object_delete(client, fixture_id(n - 1), 0));
            assert_err(granary_object_delete(client, fixture_id(n - 1), 0), GRANARY_ENOENT);
        }
        assert_true(fixture_content_is(view.data, 1000, 5000));
    }
    fixture_check(client, 19, 10000);
    assert_int_equal(fixture_stat(client).clients, 1);
    assert_int_equal(fixture_stat(client).reconnects, 20);
    assert_int_equal(fixture_stat(client).objects, 2);
    granary_object_release(client, &view);
    granary_disconnect(client);
}

/* A lease keeps a deleted object's bytes through the restart, and gives them back when it ends. */
static void
a_deleted_object_waits_for_its_reader(void **state)
{
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    granary_view view;

    assert_ok(fixture_put(client, 1, 1 << 20, 0));
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    restart(daemon);
    assert_false(granary_object_contains(client, fixture_id(1)));
    assert_ok(fixture_put(client, 1, 1000, 0)); /* its id is free */
    assert_true(fixture_stat(client).retiring_bytes > 0);
    assert_true(fixture_content_is(view.data, 1, 1 << 20));
    granary_object_release(client, &view);
    settle(client, 1);
    fixture_check(client, 1, 1000);
    granary_disconnect(client);
}

/* Clients that died, or left, while there was no store: what they had goes back. */
static void
clients_that_went_meanwhile_are_forgotten(void **state)
{
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    granary_client *leaver = fixture_connect(state);
    granary_buffer buffer;
    granary_view view;
    int ready[2];
    char byte;
    pid_t child;

    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        granary_client *own = fixture_connect(state);

        assert_ok(granary_object_get(own, fixture_id(1), 0, &view));
        assert_ok(granary_object_create(own, fixture_id(2), 100000, 0, 10000, &buffer));
        (void)!write(ready[1], "r", 1);
        for (;;) {
            (void)pause();
        }
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_ok(granary_object_get(leaver, fixture_id(1), 0, &view));
    daemon_kill(daemon);
    (void)kill(child, SIGKILL);
    (void)fixture_wait(child);
    granary_object_release(leaver, &view);
    granary_disconnect(leaver);
    assert_true(daemon_restart(daemon, memory));
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    settle(client, 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    granary_disconnect(client);
}

/* A smaller budget than what is there is raised to that. */
static void
the_budget_is_at_least_what_is_there(void **state)
{
    static const char *const less[] = {"--memory", "1M", NULL};
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);

    for (uint64_t n = 0; n < 10; n++) {
        assert_ok(fixture_put(client, n, 1 << 20, 0));
    }
    daemon_kill(daemon);
    assert_true(daemon_restart(daemon, less));
    for (uint64_t n = 0; n < 10; n++) {
        fixture_check(client, n, 1 << 20);
    }
    assert_true(fixture_stat(client).capacity_bytes >= 10 << 20);
    granary_disconnect(client);
}

/* --fresh gives up what is there; its clients are told to connect anew. */
static void
a_fresh_start_is_asked_for(void **state)
{
    static const char *const fresh[] = {"--memory", "64M", "--fresh", NULL};
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    granary_client *after;

    assert_ok(fixture_put(client, 1, 1000, 0));
    daemon_kill(daemon);
    assert_true(daemon_restart(daemon, fresh));
    after = fixture_connect(state);
    assert_false(granary_object_contains(after, fixture_id(1)));
    assert_ok(fixture_put(after, 1, 1000, 0));
    granary_disconnect(after);
    assert_err(fixture_put(client, 2, 1000, 0), GRANARY_EUNREACHABLE);
    granary_disconnect(client);
}

/* 10^5 objects; says how long it took. */
static void
many_objects_come_back_at_once(void **state)
{
    enum { MANY = 100000 };
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    int64_t start_ns;

    for (uint64_t n = 0; n < MANY; n++) {
        char bytes[64];

        fixture_fill(bytes, n, sizeof bytes);
        assert_ok(granary_object_put(client, fixture_id(n), bytes, sizeof bytes, NULL, 0, GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(client));
    daemon_kill(daemon);
    start_ns = gr_now_ns();
    assert_true(daemon_restart(daemon, memory));
    print_message("restart_100k_ms %lld\n", (long long)((gr_now_ns() - start_ns) / 1000000));
    assert_int_equal(fixture_stat(client).objects, MANY);
    fixture_check(client, 0, 64);
    fixture_check(client, MANY - 1, 64);
    granary_disconnect(client);
}

/* The only file of shared memory that is named so, and how much of it there is. */
static char *
map_shared(const struct daemon *daemon, const char *name, size_t *ret_size)
{
    struct gr_instance instance;
    char pattern[128];
    glob_t found;
    struct stat info;
    char *base;
    int fd;

    assert_ok(gr_instance_resolve(daemon->directory, &instance));
    (void)snprintf(pattern, sizeof pattern, "/dev/shm%s%s", instance.shm_prefix, name);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &info) == 0);
    *ret_size = (size_t)info.st_size;
    base = mmap(NULL, *ret_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(base, MAP_FAILED);
    (void)close(fd);
    globfree(&found);
    return base;
}

static struct gr_slot *
slot_of(char *index, uint64_t n)
{
    struct gr_slot *page = (struct gr_slot *)(void *)(index + GR_INDEX_PAGES_AT); /* few objects: there is one page */
    uint64_t words[2];

    gr_id_words(fixture_id(n), words);
    for (uint32_t i = 0; i < GR_PAGE_SLOTS; i++) {
        if (page[i].word != 0 && page[i].id[0] == words[0] && page[i].id[1] == words[1]) {
            return &page[i];
        }
    }
    fail_msg("object %llu has no slot", (unsigned long long)n);
    return NULL;
}

/* What a slot says that cannot be is lost, or found on disk again; the other objects are none the worse for it. */
static void
a_damaged_slot_is_its_own_objects_loss(void **state)
{
    enum { FIRST, INSIDE_FIRST, BEYOND, NO_SEGMENT, TOO_LARGE, RETIRING, WRONG_FILE, UNTOUCHED, OBJECTS };
    const bool kept[OBJECTS] = {[FIRST] = true, [RETIRING] = true, [WRONG_FILE] = true, [UNTOUCHED] = true};
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    granary_view view;
    size_t size;
    char *index;

    for (uint64_t n = 0; n < OBJECTS; n++) {
        assert_ok(fixture_put(client, n, 5000, 0));
    }
    assert_ok(granary_object_move(client, fixture_id(WRONG_FILE), 0, GRANARY_LEVEL_MEMORY, 10000));
    daemon_kill(daemon);
    index = map_shared(daemon, "s*.index", &size);
    slot_of(index, INSIDE_FIRST)->offset = slot_of(index, FIRST)->offset + GR_ALIGN;
    slot_of(index, BEYOND)->offset = (uint64_t)1 << 40;
    slot_of(index, NO_SEGMENT)->where_meta = (uint64_t)999 << 32;
    slot_of(index, TOO_LARGE)->data_size = UINT64_MAX;
    slot_of(index, RETIRING)->word = GR_WORD(GR_WORD_SERIAL(slot_of(index, RETIRING)->word), GR_SLOT_RETIRING);
    slot_of(index, WRONG_FILE)->where_meta = (uint64_t)999 << 32;
    (void)munmap(index, size);
    assert_true(daemon_restart(daemon, memory));
    assert_int_equal(fixture_stat(client).objects, 4);
    for (uint64_t n = 0; n < OBJECTS; n++) {
        if (!kept[n]) {
            assert_err(granary_object_get(client, fixture_id(n), 0, &view), GRANARY_ENOENT);
            assert_ok(fixture_put(client, n, 6000, 0));
        }
    }
    for (uint64_t n = 0; n < OBJECTS; n++) {
        fixture_check(client, n, kept[n] ? 5000 : 6000);
    }
    granary_disconnect(client);
}

/* Leases, copies and segments know objects by their serials: of two slots with one serial one object stays, and none
 * that comes later has it, whatever the root says. */
static void
a_serial_is_one_slots(void **state)
{
    enum { NONE, ONE, SAME, LAST, NEW, OBJECTS };
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    granary_view views[OBJECTS];
    struct gr_slot *last;
    unsigned kept = 0;
    size_t size, root_size;
    char *index;
    struct gr_root *root;
    uint64_t serial;

    for (uint64_t n = 0; n < NEW; n++) {
        assert_ok(fixture_put(client, n, 5000, 0));
        assert_ok(granary_object_move(client, fixture_id(n), GRANARY_LEVEL_DISK, 0, 10000));
    }
    daemon_kill(daemon);
    index = map_shared(daemon, "s*.index", &size);
    slot_of(index, NONE)->word = GR_WORD(0, GR_SLOT_SEALED);
    slot_of(index, SAME)->word = slot_of(index, ONE)->word;
    last = slot_of(index, LAST);
    serial = GR_WORD_SERIAL(last->word) + ((uint64_t)1 << 30);
    last->word = GR_WORD(serial, GR_SLOT_SEALED);
    root = (struct gr_root *)(void *)map_shared(daemon, "root", &root_size);
    atomic_store(&root->serial_limit, 1);
    (void)munmap(root, root_size);
    (void)munmap(index, size);
    assert_true(daemon_restart(daemon, memory));
    assert_ok(fixture_put(client, NEW, 5000, 0));
    for (uint64_t n = 0; n < OBJECTS; n++) {
        granary_err err = granary_object_get(client, fixture_id(n), 0, &views[n]);

        assert_true(err == GRANARY_OK || (err == GRANARY_ENOENT && n <= SAME));
        if (err == GRANARY_OK) {
            assert_true(fixture_content_is(views[n].data, n, 5000));
            granary_object_release(client, &views[n]);
            kept++;
        }
    }
    assert_int_equal(kept, OBJECTS - 2);
    index = map_shared(daemon, "s*.index", &size);
    assert_true(GR_WORD_SERIAL(slot_of(index, NEW)->word) > serial);
    (void)munmap(index, size);
    for (uint64_t n = 0; n < OBJECTS; n++) { /* with their copies */
        (void)granary_object_delete(client, fixture_id(n), 0);
    }
    assert_int_equal(fixture_stat(client).objects, 0);
    granary_disconnect(client);
}

/* A file of memory that is gone takes with it what is nowhere else. */
static void
a_lost_segment_is_its_objects_loss(void **state)
{
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    struct gr_instance instance;
    granary_view view;
    char pattern[128];
    glob_t found;

    assert_ok(fixture_put(client, 1, 5000, 0));
    assert_ok(fixture_put(client, 2, 5000, 0));
    assert_ok(granary_object_move(client, fixture_id(2), 0, GRANARY_LEVEL_MEMORY, 10000));
    granary_disconnect(client);
    daemon_kill(daemon);
    assert_ok(gr_instance_resolve(daemon->directory, &instance));
    (void)snprintf(pattern, sizeof pattern, "/dev/shm%ss*.data*", instance.shm_prefix);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        assert_int_equal(unlink(found.gl_pathv[i]), 0);
    }
    globfree(&found);
    assert_true(daemon_restart(daemon, memory));
    client = fixture_connect(state);
    assert_err(granary_object_get(client, fixture_id(1), 0, &view), GRANARY_ENOENT);
    fixture_check(client, 2, 5000);
    assert_int_equal(fixture_stat(client).objects, 1);
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_reader_is_not_disturbed, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_client_goes_on, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_deleted_object_waits_for_its_reader, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(clients_that_went_meanwhile_are_forgotten, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(the_budget_is_at_least_what_is_there, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_fresh_start_is_asked_for, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(many_objects_come_back_at_once, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_damaged_slot_is_its_own_objects_loss, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_serial_is_one_slots, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_lost_segment_is_its_objects_loss, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
