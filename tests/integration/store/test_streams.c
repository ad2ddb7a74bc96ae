/* Objects as streams: written and read by pieces, parts of spilled ones, through pipes, and watched. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "granary/stream.h"

#define MIB ((uint64_t)1 << 20)

/* Put others until object n is on disk only. */
static void
spill(granary_client *client, uint64_t n)
{
    granary_object_info info;

    for (uint64_t i = 0; i < 400; i++) {
        assert_ok(granary_object_info_get(client, fixture_id(n), &info));
        if (info.state == GRANARY_OBJECT_SPILLED) {
            return;
        }
        assert_ok(fixture_put(client, 1000000 + n * 1000 + i, MIB, 0));
    }
    fail_msg("object %d did not spill", (int)n);
}

/* ---- writing ---- */

static void
what_is_appended_is_the_object(void **state)
{
    granary_client *client = fixture_connect(state);
    unsigned seed = 7;

    for (uint64_t n = 0; n < 60; n++) {
        uint64_t size = n == 0 ? 0 : (uint64_t)rand_r(&seed) % ((uint64_t)1 << (n % 24));
        uint64_t done = 0;
        char *bytes = malloc(size + 8);
        granary_writer *writer;
        granary_view view;

        fixture_fill(bytes, n, size);
        assert_ok(granary_writer_open(client, fixture_id(n), n % 3 == 0 ? size : 0, NULL, &writer));
        while (done < size) {
            uint64_t part = 1 + (uint64_t)rand_r(&seed) % (size / 4 + 1);
            void *at;

            part = part < size - done ? part : size - done;
            if (part % 2 == 0) {
                assert_ok(granary_writer_append(writer, bytes + done, part));
            } else {
                assert_ok(granary_writer_reserve(writer, part, &at));
                memcpy(at, bytes + done, part);
            }
            done += part;
        }
        assert_ok(granary_writer_append(writer, NULL, 0));
        assert_ok(granary_writer_seal(writer, n % 2 == 0 ? "meta" : NULL, n % 2 == 0 ? 4 : 0));
        assert_ok(granary_object_get(client, fixture_id(n), 0, &view));
        assert_int_equal(view.data_size, size);
        assert_memory_equal(view.data, bytes, size);
        assert_int_equal(view.meta_size, n % 2 == 0 ? 4 : 0);
        assert_true(view.meta_size == 0 || memcmp(view.meta, "meta", 4) == 0);
        granary_object_release(client, &view);
        assert_ok(granary_object_delete(client, fixture_id(n), 0));
        free(bytes);
    }
    granary_disconnect(client);
}

static void
a_writer_fails_and_goes_on(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_object_options options = {.timeout_ms = 1, .importance = 3};
    granary_object_info info;
    granary_writer *writer;
    void *at;

    assert_ok(granary_writer_open(client, fixture_id(1), 0, &options, &writer));
    assert_ok(granary_writer_append(writer, "abc", 3));
    assert_err(granary_writer_reserve(writer, (uint64_t)1 << 30, &at), GRANARY_EFULL);
    assert_err(granary_writer_reserve(writer, UINT64_MAX, &at), GRANARY_EINVAL);
    assert_ok(granary_writer_append(writer, "def", 3));
    assert_ok(granary_writer_seal(writer, NULL, 0));
    assert_ok(granary_object_info_get(client, fixture_id(1), &info));
    assert_int_equal(info.data_size, 6);
    assert_int_equal(info.importance, 3);

    assert_err(granary_writer_open(client, fixture_id(1), 0, NULL, &writer), GRANARY_EEXIST);
    assert_ok(granary_writer_open(client, fixture_id(2), 0, NULL, &writer));
    assert_ok(fixture_put(client, 2, 1, 0));
    assert_err(granary_writer_seal(writer, NULL, 0), GRANARY_EEXIST);
    assert_ok(granary_writer_open(client, fixture_id(3), 0, NULL, &writer));
    granary_writer_abort(writer);
    granary_writer_abort(NULL);
    assert_false(granary_object_contains(client, fixture_id(3)));
    granary_disconnect(client);
}

/* ---- parts ---- */

static void
check_part(granary_client *client, const char *bytes, uint64_t n, uint64_t offset, uint64_t length)
{
    granary_view view;

    assert_ok(granary_object_get_range(client, fixture_id(n), offset, length, 0, &view));
    assert_int_equal(view.data_size, length);
    assert_non_null(view.data);
    assert_memory_equal(view.data, bytes + offset, length);
    assert_null(view.meta);
    assert_memory_equal(&view.id, &(granary_id[]){fixture_id(n)}, sizeof view.id);
    granary_object_release(client, &view);
}

static void
put_with_meta(granary_client *client, uint64_t n, uint64_t size)
{
    granary_buffer buffer;

    assert_ok(granary_object_create(client, fixture_id(n), size, 1000, 10000, &buffer));
    fixture_fill(buffer.data, n, size);
    fixture_fill(buffer.meta, n + 1, 1000);
    assert_ok(granary_object_seal(client, &buffer));
}

static void
check_parts(granary_client *client, const char *bytes, uint64_t n, uint64_t size)
{
    unsigned seed = 3;
    granary_view view;
    char meta[1000];

    fixture_fill(meta, n + 1, sizeof meta);
    check_part(client, bytes, n, 0, 0);
    check_part(client, bytes, n, size, 0);
    check_part(client, bytes, n, size - 1, 1);
    for (int i = 0; i < 20; i++) {
        uint64_t offset = (uint64_t)rand_r(&seed) % size;

        check_part(client, bytes, n, offset, (uint64_t)rand_r(&seed) % (size - offset) % 300000);
    }
    assert_ok(granary_object_get_meta_range(client, fixture_id(n), 10, 100, 0, &view));
    assert_int_equal(view.data_size, 100);
    assert_memory_equal(view.data, meta + 10, 100);
    granary_object_release(client, &view);
    assert_ok(granary_object_get_meta_range(client, fixture_id(n), 1000, 0, 0, &view));
    granary_object_release(client, &view);
    assert_err(granary_object_get_range(client, fixture_id(n), size, 1, 0, &view), GRANARY_EINVAL);
    assert_err(granary_object_get_range(client, fixture_id(n), 1, UINT64_MAX, 0, &view), GRANARY_EINVAL);
    assert_err(granary_object_get_meta_range(client, fixture_id(n), 0, 1001, 0, &view), GRANARY_EINVAL);
}

static void
parts_are_got_without_the_rest(void **state)
{
    const uint64_t size = 12 * MIB + 12345;
    granary_client *client = fixture_connect(state);
    char *bytes = malloc(size);
    granary_object_info info;
    granary_view view;

    fixture_fill(bytes, 1, size);
    put_with_meta(client, 1, size);
    check_parts(client, bytes, 1, size);
    spill(client, 1);
    check_parts(client, bytes, 1, size);
    assert_ok(granary_object_info_get(client, fixture_id(1), &info));
    assert_int_equal(info.state, GRANARY_OBJECT_SPILLED); /* the whole was never brought back */
    assert_true(fixture_stat(client).slices > 0);
    assert_err(granary_object_get_range(client, fixture_id(2), 0, 1, 0, &view), GRANARY_ENOENT);
    assert_err(granary_object_get_range(client, fixture_id(2), 0, 1, 10, &view), GRANARY_ETIMEDOUT);
    free(bytes);
    granary_disconnect(client);
}

/* ---- reading ---- */

static void
read_back(granary_client *client, const char *bytes, uint64_t n, uint64_t size, uint64_t window)
{
    granary_reader *reader;
    uint64_t done = 0;
    uint64_t got = 1;
    char *copy = malloc(size + 1);
    const void *at;

    assert_ok(granary_reader_open(client, fixture_id(n), window, 0, &reader));
    assert_int_equal(granary_reader_size(reader), size);
    for (uint64_t step = 1; got > 0; step = step * 3 % 1000003) {
        assert_ok(granary_reader_read(reader, copy + done, step < size - done + 1 ? step : size - done + 1, &got));
        done += got;
    }
    assert_int_equal(done, size);
    assert_memory_equal(copy, bytes, size);
    assert_ok(granary_reader_seek(reader, size / 2));
    assert_ok(granary_reader_next(reader, 100, &at, &got));
    assert_true(got > 0 && got <= 100);
    assert_memory_equal(at, bytes + size / 2, got);
    assert_ok(granary_reader_seek(reader, 0));
    assert_ok(granary_reader_read(reader, copy, 1, &got));
    assert_int_equal(copy[0], bytes[0]);
    assert_ok(granary_reader_seek(reader, size));
    assert_ok(granary_reader_next(reader, 100, &at, &got));
    assert_int_equal(got, 0);
    assert_err(granary_reader_seek(reader, size + 1), GRANARY_EINVAL);
    granary_reader_close(reader);
    free(copy);
}

static void
what_is_read_is_the_object(void **state)
{
    const uint64_t size = 12 * MIB + 777;
    granary_client *client = fixture_connect(state);
    char *bytes = malloc(size);
    granary_object_info info;
    granary_reader *reader;
    uint64_t got;

    fixture_fill(bytes, 1, size);
    assert_ok(fixture_put(client, 1, size, 0));
    read_back(client, bytes, 1, size, 0);
    spill(client, 1);
    read_back(client, bytes, 1, size, MIB);
    read_back(client, bytes, 1, size, 0);
    assert_ok(granary_object_info_get(client, fixture_id(1), &info));
    assert_int_equal(info.state, GRANARY_OBJECT_SPILLED);

    /* Deleted, and made anew under the same id, between two windows: no byte of the other one is given. */
    assert_ok(granary_reader_open(client, fixture_id(1), MIB, 0, &reader));
    assert_ok(granary_reader_read(reader, bytes, 10, &got));
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    assert_ok(fixture_put(client, 1, size, 0));
    assert_ok(granary_reader_seek(reader, 5 * MIB));
    assert_err(granary_reader_read(reader, bytes, 10, &got), GRANARY_ENOENT);
    granary_reader_close(reader);
    granary_reader_close(NULL);
    assert_err(granary_reader_open(client, fixture_id(9), 0, 0, &reader), GRANARY_ENOENT);
    free(bytes);
    granary_disconnect(client);
}

/* ---- export, import ---- */

static int
memory_file(void)
{
    int fd = memfd_create("export", MFD_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

/* The store has nothing to do with it, and is reachable. */
static void
an_export_into_a_closed_pipe_is_a_failed_write(void **state)
{
    granary_client *client = fixture_connect(state);
    int ends[2];

    assert_ok(fixture_put(client, 1, 100, 0));
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)close(ends[0]);
    (void)signal(SIGPIPE, SIG_IGN);
    assert_err(granary_object_export(client, fixture_id(1), ends[1], 0), GRANARY_EIO);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)close(ends[1]);
    granary_disconnect(client);
}

static void
an_export_is_imported(void **state)
{
    static const uint64_t sizes[] = {0, 1, 1000, MIB - 1, MIB, MIB + 1, 5 * MIB + 5};
    granary_client *client = fixture_connect(state);
    granary_id id, other = fixture_id(500);
    granary_view view;
    int fd = memory_file();

    for (uint64_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        put_with_meta(client, n, sizes[n]);
        assert_ok(granary_object_export(client, fixture_id(n), fd, 0)); /* all in one file */
    }
    assert_ok(fixture_put(client, 100, 10, 0));
    assert_ok(granary_object_export(client, fixture_id(100), fd, 0));
    for (uint64_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        assert_ok(granary_object_delete(client, fixture_id(n), 0));
    }
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    for (uint64_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        assert_ok(granary_object_import(client, fd, NULL, &id));
        assert_memory_equal(&id, &(granary_id[]){fixture_id(n)}, sizeof id);
        assert_ok(granary_object_get(client, id, 0, &view));
        assert_int_equal(view.data_size, sizes[n]);
        assert_true(fixture_content_is(view.data, n, sizes[n]));
        assert_int_equal(view.meta_size, 1000);
        assert_true(fixture_content_is(view.meta, n + 1, 1000));
        granary_object_release(client, &view);
    }
    assert_ok(granary_object_import(client, fd, &other, NULL));
    assert_ok(granary_object_get(client, other, 0, &view));
    assert_true(fixture_content_is(view.data, 100, 10));
    granary_object_release(client, &view);
    assert_err(granary_object_import(client, fd, NULL, &id), GRANARY_ENOENT);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_err(granary_object_import(client, fd, NULL, &id), GRANARY_EEXIST);
    assert_err(granary_object_export(client, fixture_id(77), fd, 0), GRANARY_ENOENT);
    (void)close(fd);
    assert_err(granary_object_import(client, -1, NULL, &id), GRANARY_EIO);
    granary_disconnect(client);
}

struct piped {
    granary_client *client;
    int fd;
};

static void *
export_to_pipe(void *context)
{
    const struct piped *piped = context;

    if (granary_object_export(piped->client, fixture_id(1), piped->fd, 0) != GRANARY_OK) {
        abort();
    }
    (void)close(piped->fd);
    return NULL;
}

static void
a_pipe_will_do(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_id other = fixture_id(2);
    struct piped piped = {.client = fixture_connect(state)};
    const granary_object_options counted = {.counted = true};
    granary_object_info info;
    granary_view view;
    pthread_t thread;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    piped.fd = ends[1];
    assert_ok(fixture_put(client, 1, 3 * MIB, 0));
    assert_int_equal(pthread_create(&thread, NULL, export_to_pipe, &piped), 0);
    assert_ok(granary_object_import_with(client, ends[0], &other, 3 * MIB, &counted, NULL));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(granary_object_info_get(client, other, &info));
    assert_true(info.counted);
    assert_ok(granary_object_get(client, other, 0, &view));
    assert_true(fixture_content_is(view.data, 1, 3 * MIB));
    granary_object_release(client, &view);
    (void)close(ends[0]);
    granary_disconnect(piped.client);
    granary_disconnect(client);
}

static granary_err
import_bytes(granary_client *client, const void *bytes, size_t size)
{
    int fd = memory_file();
    granary_id id = fixture_id(2);
    granary_err err;

    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    err = granary_object_import(client, fd, &id, NULL);
    if (err != GRANARY_OK) {
        assert_false(granary_object_contains(client, id));
    } else {
        assert_ok(granary_object_delete(client, id, 0));
    }
    (void)close(fd);
    return err;
}

static void
every_damage_is_found(void **state)
{
    granary_client *client = fixture_connect(state);
    unsigned char bytes[4096];
    int fd = memory_file();
    ssize_t size;

    assert_ok(granary_object_put(client, fixture_id(1), "some data", 9, "and metadata", 12, 0));
    assert_ok(granary_object_export(client, fixture_id(1), fd, 0));
    size = pread(fd, bytes, sizeof bytes, 0);
    assert_int_equal(size, 64 + 16 + 9 + 16 + 12 + 16);
    assert_ok(import_bytes(client, bytes, (size_t)size));
    for (ssize_t at = 0; at < size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[at] ^= (unsigned char)(1 << bit);
            assert_err(import_bytes(client, bytes, (size_t)size),
                       at >= 8 && at < 12 ? GRANARY_EVERSION : GRANARY_ECORRUPT);
            bytes[at] ^= (unsigned char)(1 << bit);
        }
        assert_err(import_bytes(client, bytes, (size_t)at), at == 0 ? GRANARY_ENOENT : GRANARY_ECORRUPT);
    }
    bytes[64 + 16] ^= 1;
    assert_err(import_bytes(client, bytes, (size_t)size), GRANARY_ECORRUPT);
    assert_non_null(strstr(granary_error_message(), "chunk 0"));
    assert_int_equal(fixture_stat(client).objects, 1);
    (void)close(fd);
    granary_disconnect(client);
}

/* ---- watching ---- */

static void
expect_event(granary_subscription *subscription, granary_event_kind kind, uint64_t n, uint64_t size)
{
    granary_event event;

    assert_ok(granary_subscription_next(subscription, 10000, &event));
    assert_int_equal(event.kind, kind);
    assert_memory_equal(&event.id, &(granary_id[]){fixture_id(n)}, sizeof event.id);
    assert_int_equal(event.size, size);
    assert_true(event.time_ns > 0);
}

static void
what_happens_is_told_in_order(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_subscription *all, *deletes;
    granary_event event;

    assert_ok(fixture_put(other, 999, 10, 0)); /* before: not told */
    assert_ok(granary_subscribe(client, 0, &all));
    assert_ok(granary_subscribe(client, 1u << GRANARY_EVENT_DELETE, &deletes));
    assert_err(granary_subscription_next(all, 0, &event), GRANARY_ETIMEDOUT);
    assert_err(granary_subscription_next(all, 20, &event), GRANARY_ETIMEDOUT);
    for (uint64_t n = 0; n < 100; n++) {
        assert_ok(fixture_put(other, n, 100 + n, GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(other));
    assert_ok(granary_object_delete(client, fixture_id(5), 0));
    for (uint64_t n = 0; n < 100; n++) {
        expect_event(all, GRANARY_EVENT_SEAL, n, 100 + n);
    }
    expect_event(all, GRANARY_EVENT_DELETE, 5, 105);
    expect_event(deletes, GRANARY_EVENT_DELETE, 5, 105);
    assert_err(granary_subscription_next(all, 0, &event), GRANARY_ETIMEDOUT);
    granary_unsubscribe(all);
    granary_unsubscribe(deletes);
    granary_unsubscribe(NULL);
    granary_disconnect(other);
    granary_disconnect(client);
}

static void
spills_and_restores_are_told(void **state)
{
    const unsigned kinds =
        1u << GRANARY_EVENT_SPILL | 1u << GRANARY_EVENT_EVICT | 1u << GRANARY_EVENT_RESTORE | 1u << GRANARY_EVENT_SEAL;
    granary_client *client = fixture_connect(state);
    granary_subscription *subscription;
    unsigned seen = 0;
    granary_event event;

    assert_ok(granary_subscribe(client, kinds, &subscription));
    assert_ok(fixture_put(client, 1, MIB, 0));
    spill(client, 1);
    fixture_check(client, 1, MIB);
    while ((seen & 1u << GRANARY_EVENT_RESTORE) == 0) {
        assert_ok(granary_subscription_next(subscription, 10000, &event));
        if (memcmp(&event.id, &(granary_id[]){fixture_id(1)}, sizeof event.id) == 0) {
            assert_true(event.size == MIB);
            seen |= 1u << event.kind;
        }
    }
    assert_int_equal(seen, kinds);
    granary_unsubscribe(subscription);
    granary_disconnect(client);
}

struct watcher {
    granary_subscription *subscription;
    uint64_t events;
};

static void *
watch(void *context)
{
    struct watcher *watcher = context;
    granary_event event;

    for (uint64_t seen = 0; seen < watcher->events;) {
        if (granary_subscription_next(watcher->subscription, 20000, &event) != GRANARY_OK) {
            abort();
        }
        seen += event.kind == GRANARY_EVENT_LOST ? event.size : 1;
    }
    return NULL;
}

static void
sleepers_are_woken(void **state)
{
    enum { EVENTS = 2000 };
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    struct watcher watcher = {.events = EVENTS};
    pthread_t thread;

    assert_ok(granary_subscribe(client, 0, &watcher.subscription));
    assert_int_equal(pthread_create(&thread, NULL, watch, &watcher), 0);
    for (uint64_t n = 0; n < EVENTS; n++) {
        assert_ok(fixture_put(other, n, 10, 0));
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    granary_unsubscribe(watcher.subscription);
    granary_disconnect(other);
    granary_disconnect(client);
}

static void
who_is_too_slow_is_told_so(void **state)
{
    enum { EVENTS = 20000 };
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_subscription *subscription;
    uint64_t lost = 0;
    uint64_t seen = 0;
    granary_event event;

    assert_ok(granary_subscribe(client, 0, &subscription));
    for (uint64_t n = 0; n < EVENTS; n++) {
        assert_ok(fixture_put(other, n, 10, GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(other));
    assert_ok(granary_subscription_next(subscription, 0, &event));
    assert_int_equal(event.kind, GRANARY_EVENT_LOST);
    lost = event.size;
    while (granary_subscription_next(subscription, 0, &event) == GRANARY_OK) {
        assert_int_equal(event.kind, GRANARY_EVENT_SEAL);
        seen++;
    }
    assert_true(lost >= EVENTS - 4096);
    assert_int_equal(lost + seen, EVENTS); /* and of rooms that were granted meanwhile nobody is told */
    assert_memory_equal(&event.id, &(granary_id[]){fixture_id(EVENTS - 1)}, sizeof event.id);
    granary_unsubscribe(subscription);
    granary_disconnect(other);
    granary_disconnect(client);
}

static void
a_restart_is_told(void **state)
{
    static const char *const arguments[] = {"--memory", "64M", NULL};
    granary_client *client = fixture_connect(state);
    granary_subscription *subscription;
    granary_event event;

    assert_ok(granary_subscribe(client, 1u << GRANARY_EVENT_SEAL, &subscription));
    assert_ok(fixture_put(client, 1, 10, 0));
    daemon_kill(*state);
    expect_event(subscription, GRANARY_EVENT_SEAL, 1, 10); /* what it noted before it died */
    assert_true(daemon_restart(*state, arguments));
    assert_ok(granary_subscription_next(subscription, 10000, &event));
    assert_int_equal(event.kind, GRANARY_EVENT_RESTART);
    assert_ok(fixture_put(client, 2, 20, 0));
    expect_event(subscription, GRANARY_EVENT_SEAL, 2, 20);
    granary_unsubscribe(subscription);
    granary_disconnect(client);
}

/* A subscriber that sleeps and is stopped: nobody else notices. */
static void
a_stopped_subscriber_holds_nobody_up(void **state)
{
    granary_client *client;
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        granary_subscription *subscription;
        granary_event event;

        client = fixture_connect(state);
        if (granary_subscribe(client, 0, &subscription) != GRANARY_OK || write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        while (granary_subscription_next(subscription, 20000, &event) == GRANARY_OK) {
        }
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    client = fixture_connect(state);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    for (uint64_t n = 0; n < 10000; n++) {
        assert_ok(fixture_put(client, n, 100, n % 10 == 0 ? 0 : GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(client));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(fixture_wait(pid), 128 + SIGKILL);
    granary_disconnect(client);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

int
main(void)
{
#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)
    const struct CMUnitTest tests[] = {
        STORE_TEST(what_is_appended_is_the_object),
        STORE_TEST(a_writer_fails_and_goes_on),
        STORE_TEST(parts_are_got_without_the_rest),
        STORE_TEST(what_is_read_is_the_object),
        STORE_TEST(an_export_is_imported),
        STORE_TEST(an_export_into_a_closed_pipe_is_a_failed_write),
        STORE_TEST(a_pipe_will_do),
        STORE_TEST(every_damage_is_found),
        STORE_TEST(what_happens_is_told_in_order),
        STORE_TEST(spills_and_restores_are_told),
        STORE_TEST(sleepers_are_woken),
        STORE_TEST(who_is_too_slow_is_told_so),
        STORE_TEST(a_restart_is_told),
        STORE_TEST(a_stopped_subscriber_holds_nobody_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
