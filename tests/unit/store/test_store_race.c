/*
 * Readers lease while the store evicts, brings back, and replaces pages: the client's and the store's real code, over
 * memory that the test made. A violation is a lease whose bytes the store gave away because nobody seemed to hold them.
 *
 * With the fences there is none. Compiled a second time with GRANARY_WEAK_FENCE, the same test must find some: else it
 * would prove nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/barrier.h"
#include "lease_reader.h"
#include "store/base/shmfile.h"
#include "store/core/core.h"
#include "store/index/index_parts.h"
#include "store/object/object.h"

#define READERS 3
#define OBJECTS 4u
#define OFFSETS 64u
#define LOOKS   32 /* at the bytes, while they are leased */

#ifdef GRANARY_WEAK_FENCE
#define ROUNDS 60000000u /* at most: the first violation ends it */
#elif defined(STORE_NO_FENCES)
#define ROUNDS 50000u /* the thread sanitizer's eyes are sharp, and slow */
#else
#define ROUNDS 5000000u
#endif

static struct gr_control control;
static struct gr_lease_page pages[READERS];
static struct index table;
static struct session session;
static struct client clients[READERS];

/* Whose bytes lie at an offset: a serial; 0: nobody's. */
static _Atomic uint64_t bytes[OFFSETS];
static _Atomic uint64_t violations;
static _Atomic uint64_t leases;
static _Atomic bool stop;

static granary_id
id_of(uint64_t n)
{
    granary_id id = {{1}};

    memcpy(id.bytes + 4, &n, sizeof n);
    return id;
}

static void *
read_on(void *context)
{
    struct lease_reader *reader = context;
    struct reader_lease lease;
    uint64_t held = 0;

    for (uint64_t n = 0; !atomic_load_explicit(&stop, memory_order_relaxed); n++) {
        if (!lease_reader_try(reader, id_of(n % OBJECTS), &lease)) {
            continue;
        }
        held++;
        for (int look = 0; look < LOOKS; look++) {
            if (atomic_load_explicit(&bytes[lease.offset], memory_order_relaxed) != lease.serial) {
                atomic_fetch_add(&violations, 1);
                break;
            }
        }
        lease_reader_end(reader, &lease);
    }
    atomic_fetch_add(&leases, held);
    return NULL;
}

/* Out of memory if nobody leases it, and back at another place. Returns whether it went. */
static bool
evict_and_restore(struct gr_slot *slot, uint64_t *serial, uint64_t offset)
{
    struct index_object object = slot_object(slot);

    slot_enter(slot, GR_SLOT_RETIRING);
    if (session_holds(&session, object.serial)) {
        slot_enter(slot, GR_SLOT_SEALED);
        return false;
    }
    atomic_store_explicit(&bytes[object.offset], 0, memory_order_relaxed);
    slot_rewrite(slot, &object, GR_SLOT_SPILLED);
    object.serial = ++*serial;
    object.offset = offset;
    atomic_store_explicit(&bytes[offset], object.serial, memory_order_release);
    slot_rewrite(slot, &object, GR_SLOT_SEALED);
    return true;
}

/* The mapping suffices: a test that is killed leaves no file. */
static void
unlink_index(const char *prefix)
{
    char name[96];

    shmfile_name(name, prefix, 1, "index", SHMFILE_NO_NUMBER);
    assert_int_equal(shm_unlink(name), 0);
}

static void
set_up(struct lease_reader *readers[READERS], uint64_t *serial)
{
    char prefix[48];
    struct gr_slot *slot;

    (void)snprintf(prefix, sizeof prefix, "/granary.test.race.%d.", (int)getpid());
    assert_int_equal(index_create(&table, prefix, 1, &control.depth), GRANARY_OK);
    unlink_index(prefix);
    list_init(&session.clients);
    for (unsigned i = 0; i < READERS; i++) {
        clients[i].page = &pages[i];
        list_init(&clients[i].in_session);
        list_append(&session.clients, &clients[i].in_session);
        readers[i] = lease_reader_create(&control, &pages[i], table.base);
        assert_non_null(readers[i]);
    }
    for (uint64_t n = 0; n < OBJECTS; n++) {
        struct index_object object = {.id = id_of(n), .serial = ++*serial, .offset = n};

        bytes[n] = object.serial;
        assert_int_equal(index_insert(&table, &object, &slot), GRANARY_OK);
    }
}

static void
no_reader_is_overlooked(void **state)
{
    struct lease_reader *readers[READERS];
    pthread_t threads[READERS];
    uint64_t serial = 0;
    uint64_t evicted = 0;
    uint64_t place = OBJECTS;
    cpu_set_t processors;

    (void)state;
    if (sched_getaffinity(0, sizeof processors, &processors) < 0 || CPU_COUNT(&processors) < 2) {
        skip(); /* on one processor nothing is ever reordered */
    }
    set_up(readers, &serial);
    for (unsigned i = 0; i < READERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, readers[i]), 0);
    }
    for (uint32_t round = 0; round < ROUNDS && atomic_load_explicit(&violations, memory_order_relaxed) == 0; round++) {
        struct gr_slot *slot = index_find(&table, id_of(round % OBJECTS));

        while (bytes[place % OFFSETS] != 0) {
            place++;
        }
        evicted += evict_and_restore(slot, &serial, place++ % OFFSETS);
        if (round % 4096 == 0) { /* the page is rebuilt: its slots move */
            assert_int_equal(index_relieve(&table, index_page_of(&table, 0)), GRANARY_OK);
        }
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        lease_reader_destroy(readers[i]);
    }
    print_message("%llu leases, %llu evictions, %llu violations\n", (unsigned long long)leases,
                  (unsigned long long)evicted, (unsigned long long)violations);
    index_fini(&table);
    assert_true(evicted > 0 && leases > 0);
#ifdef GRANARY_WEAK_FENCE
    assert_true(violations > 0);
#else
    assert_int_equal(violations, 0);
#endif
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_reader_is_overlooked)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
