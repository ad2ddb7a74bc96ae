/* Rings of events: what is noted can be read by others at any time, also after the store died. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "object/tell/events.h"
#include "store/core/core.h"
#include "store/core/events.h"

#define ENTRIES GR_EVENTS_INSTANCE

static int
setup(void **state)
{
    static struct store store;
    static struct gr_root root = {.version = GR_SHM_VERSION};

    memset(&store, 0, sizeof store);
    store.root.shm = &root;
    (void)snprintf(store.instance.shm_prefix, sizeof store.instance.shm_prefix, "/granary.test.events.%d.",
                   (int)getpid());
    account_init(&store.account, 4096);
    list_init(&store.sessions.all);
    *state = &store;
    return events_open(&store) == GRANARY_OK ? 0 : -1;
}

static int
teardown(void **state)
{
    events_close(*state);
    return 0;
}

/* The store is killed: its mapping goes, the file stays. */
static void
die(struct store *store)
{
    (void)munmap(store->recorder.ring, gr_events_bytes(ENTRIES));
    store->recorder.ring = NULL;
}

static void
note(struct store *store, uint64_t n)
{
    granary_id id = {{(unsigned char)n, 1}};

    event_note(store, NULL, GR_EVENT_SEAL, &id, n, ~n, (uint32_t)n);
}

static void
what_is_noted_is_read(void **state)
{
    struct store *store = *state;
    struct gr_event_copy event = {0};

    note(store, 7);
    assert_int_equal(store->recorder.ring->next, 1);
    assert_true(gr_event_read(store->recorder.ring, ENTRIES, 0, &event));
    assert_int_equal(event.kind, GR_EVENT_SEAL);
    assert_int_equal(event.a, 7);
    assert_int_equal(event.b, ~(uint64_t)7);
    assert_int_equal(event.client, 7);
    assert_int_equal(event.session, 0);
    assert_true(event.time_ns > 1000000000ull * 1600000000);
    assert_false(gr_event_read(store->recorder.ring, ENTRIES, ENTRIES, &event));
}

static void
the_oldest_are_overwritten(void **state)
{
    struct store *store = *state;
    struct gr_event_copy event = {0};

    for (uint64_t n = 0; n < ENTRIES + 10; n++) {
        note(store, n);
    }
    for (uint64_t n = 0; n < ENTRIES + 10; n++) {
        assert_int_equal(gr_event_read(store->recorder.ring, ENTRIES, n, &event), n >= 10);
        assert_true(n < 10 || event.a == n);
    }
}

static void
the_next_store_goes_on(void **state)
{
    struct store *store = *state;
    struct gr_event_copy event = {0};

    note(store, 1);
    note(store, 2);
    die(store);
    assert_int_equal(events_open(store), GRANARY_OK);
    note(store, 3);
    assert_int_equal(store->recorder.ring->next, 3);
    for (uint64_t n = 0; n < 3; n++) {
        assert_true(gr_event_read(store->recorder.ring, ENTRIES, n, &event));
        assert_int_equal(event.a, n + 1);
    }
}

/* Killed between an entry's words: it is not there, and its number is used for the next one. */
static void
a_half_written_event_never_was(void **state)
{
    struct store *store = *state;
    struct gr_event_copy event = {0};

    note(store, 1);
    atomic_store(&store->recorder.ring->ring[1].sequence, 0);
    atomic_store(&store->recorder.ring->ring[1].a, 99);
    die(store);
    assert_int_equal(events_open(store), GRANARY_OK);
    assert_false(gr_event_read(store->recorder.ring, ENTRIES, 1, &event));
    note(store, 2);
    assert_true(gr_event_read(store->recorder.ring, ENTRIES, 1, &event));
    assert_int_equal(event.a, 2);
}

static void
what_makes_no_sense_is_replaced(void **state)
{
    struct store *store = *state;
    char name[96];
    int fd;

    note(store, 1);
    store->recorder.ring->version++;
    die(store);
    assert_int_equal(events_open(store), GRANARY_OK);
    assert_int_equal(store->recorder.ring->next, 0);
    die(store);
    (void)snprintf(name, sizeof name, "%sevents", store->instance.shm_prefix);
    fd = shm_open(name, O_RDWR, 0);
    assert_int_equal(ftruncate(fd, 100), 0);
    (void)close(fd);
    assert_int_equal(events_open(store), GRANARY_OK);
    note(store, 1);
    assert_int_equal(store->recorder.ring->next, 1);
}

static _Atomic bool reading;

static void *
read_all(void *context)
{
    const struct gr_events *ring = context;
    struct gr_event_copy event = {0};
    uint64_t number = 0;
    uint64_t seen = 0;

    while (atomic_load(&reading)) {
        uint64_t next = atomic_load_explicit(&ring->next, memory_order_acquire);

        for (; number < next; number++) {
            if (gr_event_read(ring, ENTRIES, number, &event)) {
                /* Never half of one and half of another. */
                if (event.a != number || event.b != ~number || event.client != (uint32_t)number) {
                    return (void *)1;
                }
                seen++;
            }
        }
        number = number > ENTRIES / 2 ? number - ENTRIES / 2 : 0;
    }
    return seen > 0 ? NULL : (void *)2;
}

static void
readers_never_see_half_an_event(void **state)
{
    struct store *store = *state;
    pthread_t threads[2];

    atomic_store(&reading, true);
    note(store, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, store->recorder.ring), 0);
    }
    for (uint64_t n = 1; n < 20 * (uint64_t)ENTRIES; n++) {
        note(store, n);
    }
    atomic_store(&reading, false);
    for (int i = 0; i < 2; i++) {
        void *wrong;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_true(wrong != (void *)1);
    }
}

int
main(void)
{
#define EVENT_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        EVENT_TEST(what_is_noted_is_read),           EVENT_TEST(the_oldest_are_overwritten),
        EVENT_TEST(the_next_store_goes_on),          EVENT_TEST(a_half_written_event_never_was),
        EVENT_TEST(what_makes_no_sense_is_replaced), EVENT_TEST(readers_never_see_half_an_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
