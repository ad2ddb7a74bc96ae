#include "live.h"
#include "store/segment/audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "granary/hold.h"

#define TIMEOUT_MS 60000

/* Instances that were not stopped yet: copies, for the stack of a test that fails is gone. */
#define ABANDONED_MAX 64

static struct abandoned {
    struct gr_instance paths;
    char dir[64];
} abandoned[ABANDONED_MAX];

static void
sweep(void)
{
    for (size_t i = 0; i < ABANDONED_MAX; i++) {
        if (abandoned[i].dir[0] != '\0') {
            (void)gr_instance_sweep_shm(&abandoned[i].paths);
            gr_remove_tree(abandoned[i].dir);
        }
    }
}

static void
remember(const struct live *live)
{
    static bool registered;
    size_t i = 0;

    if (!registered) {
        registered = atexit(sweep) == 0;
    }
    while (i < ABANDONED_MAX && abandoned[i].dir[0] != '\0') {
        i++;
    }
    assert_true(i < ABANDONED_MAX);
    abandoned[i].paths = live->paths;
    memcpy(abandoned[i].dir, live->dir, sizeof live->dir);
}

static void
forget(const struct live *live)
{
    for (size_t i = 0; i < ABANDONED_MAX; i++) {
        if (strcmp(abandoned[i].dir, live->dir) == 0) {
            abandoned[i].dir[0] = '\0';
        }
    }
}

void
live_init(struct live *live)
{
    *live = (struct live){.dir = "/tmp/granary-test-XXXXXX", .stop_fd = -1};
    assert_non_null(mkdtemp(live->dir));
    (void)snprintf(live->instance, sizeof live->instance, "%s/i", live->dir);
    (void)snprintf(live->spill, sizeof live->spill, "%s/spill", live->dir);
    (void)snprintf(live->remote, sizeof live->remote, "%s/remote", live->dir);
    assert_int_equal(gr_instance_resolve(live->instance, &live->paths), GRANARY_OK);
    remember(live);
}

void
live_fini(struct live *live)
{
    assert_int_equal(live_shm_files(live), 0);
    gr_remove_tree(live->dir);
    forget(live);
}

static void *
serve(void *store)
{
    store_run(store);
    return NULL;
}

void
live_begin(struct live *live)
{
    live->options.stop_fd = live->stop_fd = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(store_create(&live->options, &live->store), GRANARY_OK);
    assert_int_equal(pthread_create(&live->thread, NULL, serve, live->store), 0);
}

void
live_halt(struct live *live)
{
    const uint64_t one = 1;

    assert_int_equal(write(live->stop_fd, &one, sizeof one), sizeof one);
    (void)pthread_join(live->thread, NULL);
    live->halted = true;
}

void
live_end(struct live *live)
{
    if (!live->halted) {
        live_halt(live);
    }
    live->halted = false;
    assert_true(store_audit(live->store));
    store_destroy(live->store);
    gr_fd_close(&live->stop_fd);
}

void
live_restart(struct live *live)
{
    live_end(live);
    live_begin(live);
}

void
live_start(struct live *live, uint64_t memory_bytes, uint64_t disk_quota_bytes)
{
    live_start_levels(live, memory_bytes, disk_quota_bytes, 0);
}

void
live_start_levels(struct live *live, uint64_t memory_bytes, uint64_t disk_quota_bytes, granary_levels levels)
{
    live_options(live, memory_bytes, disk_quota_bytes, levels);
    live_begin(live);
}

void
live_options(struct live *live, uint64_t memory_bytes, uint64_t disk_quota_bytes, granary_levels levels)
{
    (void)setenv("GRANARY_LOG", "error", 1); /* warnings are what these tests provoke */
    gr_log_init("store");
    live_init(live);
    live->options = (struct store_options){.instance = live->instance,
                                           .memory_bytes = memory_bytes,
                                           .spill = {{.dir = live->spill}},
                                           .spill_count = 1,
                                           .disk_quota_bytes = disk_quota_bytes,
                                           .levels = levels};
    if ((levels & GRANARY_LEVEL_REMOTE) != 0) {
        live->options.remote_dir = live->remote;
    }
}

static int
entries_of(const char *path)
{
    struct dirent *entry;
    int entries = 0;
    DIR *dir = opendir(path);

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        entries += entry->d_name[0] != '.';
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return entries;
}

void
live_stop(struct live *live)
{
    live_end(live);
    assert_int_not_equal(access(live->instance, F_OK), 0);
    assert_int_equal(entries_of(live->spill), 0);
    assert_int_equal(entries_of(live->remote), 0);
    live_fini(live);
}

int
live_world_setup(void **state, uint64_t memory_bytes)
{
    struct live_world *world = calloc(1, sizeof *world);

    live_start(&world->live, memory_bytes, 0);
    world->client = live_connect(&world->live, NULL);
    world->other = live_connect(&world->live, NULL);
    *state = world;
    return 0;
}

int
live_world_teardown(void **state)
{
    struct live_world *world = *state;

    granary_disconnect(world->client);
    granary_disconnect(world->other);
    live_stop(&world->live);
    free(world);
    return 0;
}

granary_client *
live_connect(const struct live *live, const char *session)
{
    granary_connect_options options = {.instance = live->instance, .session = session, .tag = "test"};
    granary_client *client = NULL;

    if (granary_connect(&options, &client) != GRANARY_OK) {
        fail_msg("%s", granary_error_message());
    }
    return client;
}

int
live_shm_files(const struct live *live)
{
    size_t length = strlen(live->paths.shm_prefix + 1);
    struct dirent *entry;
    int files = 0;
    DIR *dir = opendir("/dev/shm");

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        files += strncmp(entry->d_name, live->paths.shm_prefix + 1, length) == 0;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return files;
}

granary_id
live_id(uint64_t n)
{
    granary_id id = {{0}};

    memcpy(id.bytes, &n, sizeof n);
    id.bytes[15] = 1;
    return id;
}

void
live_fill(void *bytes, size_t size, uint64_t n)
{
    unsigned char *at = bytes;
    uint64_t x = n * 0x9e3779b97f4a7c15ull + 1;

    for (size_t i = 0; i < size; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        at[i] = i % 2 == 0 ? (unsigned char)(x >> 56) : 0;
    }
}

granary_err
live_put(granary_client *client, uint64_t n, size_t size)
{
    granary_buffer buffer;
    granary_err err = granary_object_create(client, live_id(n), size, 0, 10000, &buffer);

    if (err == GRANARY_OK) {
        live_fill(buffer.data, size, n);
        err = granary_object_seal(client, &buffer);
    }
    return err;
}

granary_err
live_verify(granary_client *client, uint64_t n, size_t size)
{
    granary_view view;
    granary_err err = granary_object_get(client, live_id(n), 0, &view);
    char *want;

    if (err != GRANARY_OK) {
        return err;
    }
    want = malloc(size + 1);
    live_fill(want, size, n);
    assert_int_equal(view.data_size, size);
    assert_memory_equal(view.data, want, size);
    free(want);
    granary_object_release(client, &view);
    return GRANARY_OK;
}

size_t
live_holds(granary_client *client, uint64_t n)
{
    granary_id id = live_id(n);
    granary_hold *holds;
    size_t count;

    assert_int_equal(granary_holds(client, &id, &holds, &count), GRANARY_OK);
    free(holds);
    return count;
}

void
live_await_holds(granary_client *client, uint64_t n, size_t count)
{
    int64_t end = gr_deadline_ns(TIMEOUT_MS);

    while (live_holds(client, n) != count) {
        assert_true(gr_now_ns() < end);
    }
}

void
live_await_gone(granary_client *client, uint64_t n)
{
    int64_t end = gr_deadline_ns(TIMEOUT_MS);

    while (granary_object_contains(client, live_id(n))) {
        assert_true(gr_now_ns() < end);
        (void)sched_yield();
    }
}
