/* The whole store, used as clients use it: memory short, objects spilled, leased, pinned, deleted, damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "granary/hold.h"
#include "live.h"
#include "store/core/core.h"
#include "store/object/object.h"

#define MIB ((uint64_t)1 << 20)

static granary_store_stat
stat_of(granary_client *client)
{
    granary_store_stat stat;

    assert_int_equal(granary_store_stat_get(client, &stat), GRANARY_OK);
    assert_int_equal(stat.free_bytes + stat.reserved_bytes + stat.writing_bytes + stat.sealed_bytes +
                         stat.retiring_bytes + stat.pooled_bytes,
                     stat.capacity_bytes);
    return stat;
}

/* Far more data than memory goes through, and every byte comes back. */
static void
more_than_memory_is_spilled_and_restored(void **state)
{
    static const struct {
        size_t size;
        unsigned objects;
    } loads[] = {{1 << 20, 60}, {100000, 300}, {1000, 8000}, {3 << 20, 10}};

    (void)state;
    for (size_t l = 0; l < sizeof loads / sizeof loads[0]; l++) {
        struct live live;
        granary_client *client;

        live_start(&live, 4 * MIB, 0);
        client = live_connect(&live, NULL);
        for (unsigned i = 0; i < loads[l].objects; i++) {
            assert_int_equal(live_put(client, i, loads[l].size), GRANARY_OK);
        }
        assert_true(stat_of(client).objects_spilled > 0);
        for (unsigned i = 0; i < loads[l].objects; i++) {
            assert_int_equal(live_verify(client, i, loads[l].size), GRANARY_OK);
        }
        assert_true(stat_of(client).restores > 0);
        for (unsigned i = 0; i < loads[l].objects; i++) {
            assert_int_equal(granary_object_delete(client, live_id(i), 0), GRANARY_OK);
        }
        assert_int_equal(stat_of(client).objects, 0);
        assert_int_equal(stat_of(client).spilled_bytes, 0);
        granary_disconnect(client);
        live_stop(&live);
    }
}

/* The smallest budget works. */
static void
one_mebibyte_is_enough(void **state)
{
    struct live live;
    granary_client *client;

    (void)state;
    live_start(&live, MIB, 0);
    client = live_connect(&live, NULL);
    for (unsigned i = 0; i < 50; i++) {
        assert_int_equal(live_put(client, i, 200000), GRANARY_OK);
    }
    for (unsigned i = 0; i < 50; i++) {
        assert_int_equal(live_verify(client, i, 200000), GRANARY_OK);
    }
    assert_int_equal(live_put(client, 99, 2 * MIB), GRANARY_EFULL);
    granary_disconnect(client);
    live_stop(&live);
}

/* A leased object never moves and is never spilled; when everything is leased or pinned, room is refused, saying why.
 */
static void
leased_and_pinned_objects_stay(void **state)
{
    struct live live;
    granary_client *client;
    granary_view views[3];
    granary_buffer buffer;
    const void *before;
    uint64_t token;
    char by[128];

    (void)state;
    live_start(&live, 4 * MIB, 0);
    client = live_connect(&live, NULL);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(live_put(client, i, MIB), GRANARY_OK);
        assert_int_equal(granary_object_get(client, live_id(i), 0, &views[i]), GRANARY_OK);
    }
    before = views[0].data;
    assert_int_equal(granary_pin(client, live_id(0), GRANARY_PIN_CLIENT, "the model", &token), GRANARY_OK);
    assert_int_equal(granary_object_create(client, live_id(9), 3 * MIB, 0, 300, &buffer), GRANARY_EFULL);
    (void)snprintf(by, sizeof by, "by 1 pin in session 'default' for 'the model' by pid %d (`granary pins",
                   (int)getpid());
    assert_non_null(strstr(granary_error_message(), by)); /* whose, and what to do */
    for (unsigned i = 0; i < 3; i++) {
        granary_object_release(client, &views[i]);
    }
    /* The leases are over: two of the three can go, the pinned one stays where it is. */
    assert_int_equal(granary_object_create(client, live_id(9), 5 * MIB / 2, 0, 5000, &buffer), GRANARY_OK);
    assert_int_equal(granary_object_create(client, live_id(10), MIB, 0, 300, &buffer), GRANARY_EFULL);
    assert_int_equal(granary_object_get(client, live_id(0), 0, &views[0]), GRANARY_OK);
    assert_ptr_equal(views[0].data, before);
    granary_object_release(client, &views[0]);
    assert_int_equal(granary_object_unpin(client, live_id(0), GRANARY_PIN_CLIENT), GRANARY_OK);
    assert_int_equal(granary_object_unpin(client, live_id(0), GRANARY_PIN_CLIENT), GRANARY_ENOENT);
    granary_disconnect(client);
    live_stop(&live);
}

/* Deleted is gone at once for everybody, its bytes when the last lease ends; the id is free for a new object. */
static void
deleted_bytes_live_until_the_last_lease(void **state)
{
    struct live live;
    granary_client *client;
    granary_view view;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    assert_int_equal(live_put(client, 1, MIB), GRANARY_OK);
    assert_int_equal(granary_object_get(client, live_id(1), 0, &view), GRANARY_OK);
    assert_int_equal(granary_object_delete(client, live_id(1), 0), GRANARY_OK);
    assert_int_equal(stat_of(client).retiring_bytes, MIB);
    assert_int_equal(live_verify(client, 1, MIB), GRANARY_ENOENT);
    assert_int_equal(live_put(client, 1, 5000), GRANARY_OK);
    assert_int_equal(live_verify(client, 1, 5000), GRANARY_OK);
    granary_object_release(client, &view);
    for (int64_t end = gr_deadline_ns(60000); stat_of(client).retiring_bytes > 0;) {
        assert_true(gr_now_ns() < end);
    }
    assert_int_equal(live_verify(client, 1, 5000), GRANARY_OK);
    granary_disconnect(client);
    live_stop(&live);
}

/* Change every spill file of the only session. */
static void
damage_spill_files(const struct live *live)
{
    char inner[512], path[1024];
    struct dirent *entry;
    DIR *dir = opendir(live->spill);

    while ((entry = readdir(dir)) != NULL && entry->d_name[0] == '.') {
    }
    (void)snprintf(inner, sizeof inner, "%s/%s", live->spill, entry->d_name);
    (void)closedir(dir);
    dir = opendir(inner);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.' && strstr(entry->d_name, ".partial") == NULL) {
            (void)snprintf(path, sizeof path, "%s/%s", inner, entry->d_name);
            assert_int_equal(truncate(path, 4000), 0);
        }
    }
    (void)closedir(dir);
}

/* A damaged copy is an error that names object and file; never wrong bytes, and never the end of the store. */
static void
damaged_copies_are_errors(void **state)
{
    struct live live;
    granary_client *client;
    unsigned corrupt = 0;

    (void)state;
    live_start(&live, 4 * MIB, 0);
    client = live_connect(&live, NULL);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(live_put(client, i, MIB), GRANARY_OK);
    }
    damage_spill_files(&live);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 20; i++) {
            granary_err err = live_verify(client, i, MIB);

            assert_true(err == GRANARY_OK || err == GRANARY_ECORRUPT);
            if (err == GRANARY_ECORRUPT) {
                assert_non_null(strstr(granary_error_message(), "/spill."));
                corrupt++;
            }
        }
    }
    assert_true(corrupt >= 30);
    assert_int_equal(granary_object_delete(client, live_id(0), 0), GRANARY_OK);
    assert_int_equal(live_put(client, 0, 1000), GRANARY_OK);
    assert_int_equal(live_verify(client, 0, 1000), GRANARY_OK);
    granary_disconnect(client);
    live_stop(&live);
}

/* Disk full is an error that names the directory; nothing is lost, and when there is disk again, all goes on. */
static void
full_disk_is_an_error(void **state)
{
    struct live live;
    granary_client *client;
    granary_err err = GRANARY_OK;
    unsigned stored = 0;

    (void)state;
    live_start(&live, 4 * MIB, 4 * MIB);
    client = live_connect(&live, NULL);
    while (stored < 100 && err == GRANARY_OK) {
        granary_buffer buffer;

        err = granary_object_create(client, live_id(stored), MIB, 0, 3000, &buffer);
        if (err == GRANARY_OK) {
            live_fill(buffer.data, MIB, stored);
            assert_int_equal(granary_object_seal(client, &buffer), GRANARY_OK);
            stored++;
        }
    }
    assert_int_equal(err, GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), live.spill));
    assert_true(stored >= 6);
    assert_true(stat_of(client).disk_bytes <= 4 * MIB);
    for (unsigned i = 0; i < stored; i++) {
        granary_err got = live_verify(client, i, MIB);

        assert_true(got == GRANARY_OK || got == GRANARY_EFULL);
    }
    for (unsigned i = 0; i < stored; i++) {
        assert_int_equal(granary_object_delete(client, live_id(i), 0), GRANARY_OK);
    }
    assert_int_equal(live_put(client, 1000, MIB), GRANARY_OK);
    assert_int_equal(live_verify(client, 1000, MIB), GRANARY_OK);
    granary_disconnect(client);
    live_stop(&live);
}

enum { HOT = 24, HOT_BYTES = 300000, READERS = 2 };

struct reader {
    const struct live *live;
    _Atomic bool *stop;
    unsigned reads;
    bool wrong;
    pthread_t thread;
};

/* Byte i of version v of object n is n + v; the first 8 bytes are v. */
static void *
read_hot(void *argument)
{
    struct reader *reader = argument;
    granary_client *client = live_connect(reader->live, NULL);

    for (unsigned i = 0; !atomic_load(reader->stop); i++) {
        uint64_t n = (i * 7) % HOT;
        granary_view view;
        uint64_t version;

        if (granary_object_get(client, live_id(n), 0, &view) != GRANARY_OK) {
            continue; /* between two versions, or no room to bring it back */
        }
        memcpy(&version, view.data, sizeof version);
        for (size_t at = 8; at < HOT_BYTES; at += 4099) {
            reader->wrong |= ((const unsigned char *)view.data)[at] != (unsigned char)(n + version);
        }
        reader->reads++;
        granary_object_release(client, &view);
    }
    granary_disconnect(client);
    return NULL;
}

/* While objects are deleted, made again, spilled and restored as fast as can be, a leased one never changes. */
static void
leased_bytes_never_change(void **state)
{
    _Atomic bool stop = false;
    struct reader readers[READERS];
    struct live live;
    granary_client *client;
    int64_t end = gr_deadline_ns(2000);

    (void)state;
    live_start(&live, 4 * MIB, 0);
    client = live_connect(&live, NULL);
    for (int r = 0; r < READERS; r++) {
        readers[r] = (struct reader){.live = &live, .stop = &stop};
        assert_int_equal(pthread_create(&readers[r].thread, NULL, read_hot, &readers[r]), 0);
    }
    /* On a busy machine it takes longer until something had to come back. */
    for (uint64_t version = 1; gr_now_ns() < end || (stat_of(client).restores == 0 && gr_now_ns() < end + 20000000000);
         version++) {
        uint64_t n = version * 5 % HOT;
        granary_buffer buffer;

        (void)granary_object_delete(client, live_id(n), 0);
        assert_int_equal(granary_object_create(client, live_id(n), HOT_BYTES, 0, 10000, &buffer), GRANARY_OK);
        memset(buffer.data, (unsigned char)(n + version), HOT_BYTES);
        memcpy(buffer.data, &version, sizeof version);
        assert_int_equal(granary_object_seal(client, &buffer), GRANARY_OK);
    }
    atomic_store(&stop, true);
    for (int r = 0; r < READERS; r++) {
        (void)pthread_join(readers[r].thread, NULL);
        assert_true(readers[r].reads > 0);
        assert_false(readers[r].wrong);
    }
    assert_true(stat_of(client).restores > 0);
    granary_disconnect(client);
    live_stop(&live);
}

/* A writer that truncates its segment spoils its own objects; everybody else's are spilled as before. */
static void
spoiled_segments_harm_their_writer_only(void **state)
{
    struct live live;
    granary_client *client;
    char name[160];
    int fd;

    (void)state;
    live_start(&live, 4 * MIB, 0);
    client = live_connect(&live, NULL);
    assert_int_equal(live_put(client, 1, MIB), GRANARY_OK);
    (void)snprintf(name, sizeof name, "/dev/shm%ss1.data1", live.paths.shm_prefix);
    fd = open(name, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    (void)close(fd);
    for (unsigned i = 2; i < 30; i++) {
        assert_int_equal(live_put(client, i, MIB / 2), GRANARY_OK);
    }
    for (unsigned i = 2; i < 30; i++) {
        assert_int_equal(live_verify(client, i, MIB / 2), GRANARY_OK);
    }
    assert_int_equal(granary_object_delete(client, live_id(1), 0), GRANARY_OK);
    granary_disconnect(client);
    live_stop(&live);
}

/* A child that is killed while it holds a lease, a pin and an unsealed object. */
static pid_t
spawn_holder(const struct live *live, int told[2])
{
    pid_t child;

    assert_int_equal(pipe(told), 0);
    child = fork();
    if (child == 0) {
        granary_client *client = live_connect(live, NULL);
        granary_buffer buffer;
        granary_view view;
        char done = granary_object_get(client, live_id(1), 0, &view) == GRANARY_OK &&
                    granary_object_pin(client, live_id(2), GRANARY_PIN_CLIENT) == GRANARY_OK &&
                    granary_object_create(client, live_id(3), MIB, 0, 0, &buffer) == GRANARY_OK;

        (void)!write(told[1], &done, 1);
        for (;;) {
            (void)pause();
        }
    }
    return child;
}

/* kill -9 gives back leases, pins, rooms and the lease page; nothing else changes. */
static void
killed_clients_leave_nothing(void **state)
{
    struct live live;
    granary_client *client;
    char done = 0;
    int told[2];
    int files;
    pid_t child;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    assert_int_equal(live_put(client, 1, 4096), GRANARY_OK);
    assert_int_equal(live_put(client, 2, 4096), GRANARY_OK);
    files = live_shm_files(&live);
    child = spawn_holder(&live, told);
    assert_int_equal(read(told[0], &done, 1), 1);
    assert_int_equal(done, 1);
    assert_int_equal(stat_of(client).clients, 2);
    assert_int_equal(granary_object_delete(client, live_id(1), 0), GRANARY_OK);
    assert_int_equal(stat_of(client).retiring_bytes, 4096);
    (void)kill(child, SIGKILL);
    for (int64_t end = gr_deadline_ns(60000); stat_of(client).clients > 1 || stat_of(client).retiring_bytes > 0;) {
        assert_true(gr_now_ns() < end);
    }
    (void)waitpid(child, NULL, 0);
    (void)close(told[0]);
    (void)close(told[1]);
    {
        granary_object_info info;

        assert_int_equal(granary_object_info_get(client, live_id(2), &info), GRANARY_OK);
        assert_int_equal(info.pins, 0);
    }
    assert_false(granary_object_contains(client, live_id(3)));
    /* Its room is warm memory for the next, and up to four more were made ready for who asks like that. */
    assert_true(live_shm_files(&live) <= files + 5);
    granary_disconnect(client);
    live_stop(&live);
}

/* Sessions do not see each other's objects, and share one account. */
static void
sessions_are_separate(void **state)
{
    struct live live;
    granary_client *one, *two;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    one = live_connect(&live, "one");
    two = live_connect(&live, "two");
    assert_int_equal(live_put(one, 1, 1000), GRANARY_OK);
    assert_int_equal(live_verify(two, 1, 1000), GRANARY_ENOENT);
    assert_int_equal(live_put(two, 1, 2000), GRANARY_OK);
    assert_int_equal(live_verify(one, 1, 1000), GRANARY_OK);
    assert_int_equal(live_verify(two, 1, 2000), GRANARY_OK);
    assert_int_equal(stat_of(two).objects, 2);
    assert_int_equal(stat_of(two).clients, 2);
    granary_disconnect(one);
    granary_disconnect(two);
    live_stop(&live);
}

/* The same large object again and again gets the same warm pages. */
static void
freed_rooms_come_back_warm(void **state)
{
    struct live live;
    granary_client *client;
    granary_store_stat first;

    (void)state;
    live_start(&live, 64 * MIB, 0);
    client = live_connect(&live, NULL);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(live_put(client, 1, 8 * MIB), GRANARY_OK);
        first = stat_of(client);
        assert_true(first.free_bytes >= 46 * MIB);
        assert_int_equal(granary_object_delete(client, live_id(1), 0), GRANARY_OK);
    }
    granary_disconnect(client);
    live_stop(&live);
}

/* A store that stops while objects are on their way to and from disk stops cleanly. */
static void
stop_in_the_middle_of_spilling(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 5; round++) {
        struct live live;
        granary_client *client;

        live_start(&live, 8 * MIB, 0);
        client = live_connect(&live, NULL);
        for (unsigned i = 0; i < 12 + round; i++) {
            assert_int_equal(live_put(client, i, MIB), GRANARY_OK);
        }
        live_stop(&live);
        assert_int_not_equal(live_put(client, 100, 64 * MIB), GRANARY_OK);
        granary_disconnect(client);
    }
}

/* Deleted objects that were leased are let go of by slices, however many there are: no session stalls the others. */
static void
deleted_objects_go_by_slices(void **state)
{
    enum { OBJECTS = 600, SLICE = 10 };
    static granary_view views[OBJECTS];
    struct live live;
    granary_client *client, *reader;
    struct session *session;
    unsigned slices = 0;
    bool more = true;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    reader = live_connect(&live, NULL);
    for (unsigned n = 0; n < OBJECTS; n++) {
        assert_int_equal(live_put(client, n, 100), GRANARY_OK);
        assert_int_equal(granary_object_get(reader, live_id(n), 0, &views[n]), GRANARY_OK);
        assert_int_equal(granary_object_delete(client, live_id(n), 0), GRANARY_OK);
    }
    live_halt(&live);
    session = list_owner(live.store->sessions.all.next, struct session, in_store);
    assert_int_equal(session->deleting_count, OBJECTS);
    for (unsigned n = 0; n < OBJECTS; n++) {
        granary_object_release(reader, &views[n]);
    }
    session->recheck_deleting = true;
    for (; more; slices++) {
        size_t before = session->deleting_count;
        unsigned looks = SLICE;

        more = session_recheck_deleting(session, &looks);
        assert_true(before - session->deleting_count <= SLICE);
    }
    assert_int_equal(session->deleting_count, 0);
    assert_int_equal(live.store->sessions.deleting, 0);
    assert_true(slices >= OBJECTS / SLICE);
    granary_disconnect(client);
    granary_disconnect(reader);
    live_stop(&live);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_memory_is_spilled_and_restored),
        cmocka_unit_test(one_mebibyte_is_enough),
        cmocka_unit_test(leased_and_pinned_objects_stay),
        cmocka_unit_test(deleted_bytes_live_until_the_last_lease),
        cmocka_unit_test(deleted_objects_go_by_slices),
        cmocka_unit_test(damaged_copies_are_errors),
        cmocka_unit_test(full_disk_is_an_error),
        cmocka_unit_test(leased_bytes_never_change),
        cmocka_unit_test(spoiled_segments_harm_their_writer_only),
        cmocka_unit_test(killed_clients_leave_nothing),
        cmocka_unit_test(sessions_are_separate),
        cmocka_unit_test(freed_rooms_come_back_warm),
        cmocka_unit_test(stop_in_the_middle_of_spilling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
