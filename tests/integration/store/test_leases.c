/* Leases: what is leased stays, whoever deletes it, however many leases there are. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "contract/shm.h"
#include "fixture.h"

static void
deleting_a_leased_object_keeps_its_bytes(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_object_info *infos;
    granary_view first;
    granary_view second;
    size_t count;

    assert_ok(fixture_put(client, 1, 100000, 0));
    assert_ok(granary_object_get(other, fixture_id(1), 0, &first));
    assert_ok(granary_object_get(other, fixture_id(1), 0, &second));
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    assert_false(granary_object_contains(other, fixture_id(1)));
    assert_ok(granary_object_list(client, &infos, &count));
    assert_int_equal(count, 1);
    assert_int_equal(infos[0].state, GRANARY_OBJECT_DELETING);
    free(infos);
    assert_true(fixture_stat(client).retiring_bytes >= 100000);

    /* A new one of the same id is another object, and does not touch the old one's bytes. */
    assert_ok(fixture_put(client, 1, 5000, 0));
    granary_object_release(other, &first);
    for (uint64_t i = 100; i < 200; i++) {
        assert_ok(fixture_put(client, i, 100000, 0));
    }
    assert_true(fixture_content_is(second.data, 1, 100000));
    fixture_check(other, 1, 5000);
    granary_object_release(other, &second);
    granary_disconnect(client);
    fixture_settle(other, 1);
    granary_disconnect(other);
}

static void
a_full_hazard_set_is_counted_by_the_store(void **state)
{
    enum { OBJECTS = GR_HAZARD_SETS * (GR_HAZARD_WAYS + 2) };
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_view *views = calloc(OBJECTS, sizeof *views);
    granary_view again;

    assert_non_null(views);
    for (uint64_t i = 0; i < OBJECTS; i++) {
        assert_ok(fixture_put(client, i, 64, GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(client));
    /* Serials come one after the other, so every set of 8 is asked for 10. */
    for (uint64_t i = 0; i < OBJECTS; i++) {
        assert_ok(granary_object_get(other, fixture_id(i), 0, &views[i]));
    }
    assert_ok(granary_object_get(other, fixture_id(OBJECTS - 1), 0, &again));
    for (uint64_t i = 0; i < OBJECTS; i++) {
        assert_ok(granary_object_delete(client, fixture_id(i), GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(client));
    for (uint64_t i = OBJECTS; i < OBJECTS + 10000; i++) {
        assert_ok(fixture_put(client, i, 1000, GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(client));
    for (uint64_t i = 0; i < OBJECTS; i++) {
        assert_true(fixture_content_is(views[i].data, i, 64));
    }
    assert_int_equal(fixture_stat(client).retiring_bytes, OBJECTS * 64);
    granary_object_release_many(other, views, OBJECTS);
    assert_true(fixture_content_is(again.data, OBJECTS - 1, 64));
    granary_object_release(other, &again);
    granary_disconnect(client);
    fixture_settle(other, 1);
    free(views);
    granary_disconnect(other);
}

/* Leases may end while the store stands still, as many as there are: nobody waits, and nothing is to be told later. */
static void
leases_end_while_the_store_stands_still(void **state)
{
    enum { OBJECTS = GR_HAZARD_SETS * (GR_HAZARD_WAYS + 2) };
    const struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_view *views = calloc(OBJECTS, sizeof *views);
    int64_t deadline_ns = gr_deadline_ns(120000);

    assert_non_null(views);
    for (uint64_t i = 0; i < OBJECTS; i++) {
        assert_ok(fixture_put(client, i, 64, GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(client));
    for (uint64_t i = 0; i < OBJECTS; i++) {
        assert_ok(granary_object_get(other, fixture_id(i), 0, &views[i]));
        assert_ok(granary_object_delete(client, fixture_id(i), GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(client));
    assert_int_equal(kill(daemon->pid, SIGSTOP), 0);
    granary_object_release_many(other, views, OBJECTS);
    assert_int_equal(kill(daemon->pid, SIGCONT), 0);
    do {
        assert_true(gr_now_ns() < deadline_ns);
        (void)sched_yield();
    } while (fixture_stat(client).retiring_bytes > 0);
    free(views);
    granary_disconnect(other);
    granary_disconnect(client);
}

static void
many_leases_of_one_object_overflow_safely(void **state)
{
    enum { LEASES = 200000 };
    granary_client *client = fixture_connect(state);
    granary_view *views = calloc(LEASES, sizeof *views);

    assert_non_null(views);
    assert_ok(fixture_put(client, 1, 1000, 0));
    for (size_t i = 0; i < LEASES; i++) { /* more than three hazards can count */
        assert_ok(granary_object_get(client, fixture_id(1), 0, &views[i]));
    }
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    granary_object_release_many(client, views, LEASES - 1);
    assert_true(fixture_stat(client).retiring_bytes > 0);
    assert_true(fixture_content_is(views[LEASES - 1].data, 1, 1000));
    granary_object_release(client, &views[LEASES - 1]);
    granary_object_abort(client, NULL);
    for (int i = 0; i < 60000 && fixture_stat(client).retiring_bytes > 0; i++) {
        (void)usleep(1000);
    }
    assert_int_equal(fixture_stat(client).retiring_bytes, 0);
    free(views);
    granary_disconnect(client);
}

/* ---- threads ---- */

enum { STRESS_OBJECTS = 64, STRESS_SIZE = 20000 };

struct stress {
    granary_client *client;
    _Atomic bool stop;
    _Atomic uint64_t gets;
    _Atomic uint64_t damaged;
    _Atomic unsigned seed;
};

/* Get whatever is there and look at all its bytes. */
static void *
stress_reader(void *context)
{
    struct stress *stress = context;
    unsigned seed = atomic_fetch_add(&stress->seed, 1);

    while (!atomic_load(&stress->stop)) {
        uint64_t n = (uint64_t)rand_r(&seed) % STRESS_OBJECTS;
        granary_view view;

        if (granary_object_get(stress->client, fixture_id(n), 0, &view) == GRANARY_OK) {
            if (view.data_size != STRESS_SIZE || !fixture_content_is(view.data, n, STRESS_SIZE)) {
                atomic_fetch_add(&stress->damaged, 1);
            }
            granary_object_release(stress->client, &view);
            atomic_fetch_add(&stress->gets, 1);
        }
    }
    return NULL;
}

static void
stress_writer(granary_client *client, unsigned rounds)
{
    unsigned seed = 7;

    for (unsigned i = 0; i < rounds; i++) {
        uint64_t n = (uint64_t)rand_r(&seed) % STRESS_OBJECTS;

        if (rand_r(&seed) % 2 == 0) {
            (void)granary_object_delete(client, fixture_id(n), 0);
        } else {
            (void)fixture_put(client, n, STRESS_SIZE, 0);
        }
    }
}

static void
readers_never_see_what_a_deleter_recycles(void **state)
{
    struct stress stress = {.client = fixture_connect(state)};
    granary_client *writer = fixture_connect(state);
    pthread_t readers[3];

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&readers[i], NULL, stress_reader, &stress), 0);
    }
    for (int round = 0; round < 20 || (atomic_load(&stress.gets) < 2000 && round < 500); round++) {
        stress_writer(writer, 500);
    }
    atomic_store(&stress.stop, true);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(readers[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&stress.damaged), 0);
    assert_true(atomic_load(&stress.gets) > 0);
    granary_disconnect(stress.client);
    granary_disconnect(writer);
    writer = fixture_connect(state);
    fixture_settle(writer, 1);
    granary_disconnect(writer);
}

static void *
share_one_object(void *context)
{
    granary_client *client = context;

    for (int i = 0; i < 20000; i++) {
        granary_view a;
        granary_view b;

        if (granary_object_get(client, fixture_id(1), 0, &a) != GRANARY_OK ||
            granary_object_get(client, fixture_id(1), 0, &b) != GRANARY_OK || memcmp(a.data, b.data, 100) != 0) {
            return context; /* any but NULL */
        }
        granary_object_release(client, &a);
        granary_object_release(client, &b);
    }
    return NULL;
}

static void
threads_share_the_leases_of_an_object(void **state)
{
    granary_client *client = fixture_connect(state);
    pthread_t threads[4];
    void *answer;

    assert_ok(fixture_put(client, 1, 100, 0));
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, share_one_object, client), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], &answer), 0);
        assert_null(answer);
    }
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    assert_int_equal(fixture_stat(client).retiring_bytes, 0); /* not one lease is left */
    granary_disconnect(client);
}

struct putter {
    granary_client *client;
    uint64_t first;
};

static void *
put_many(void *context)
{
    const struct putter *putter = context;

    for (uint64_t i = 0; i < 3000; i++) {
        granary_err err =
            fixture_put(putter->client, putter->first + i, i % 3 == 0 ? 3000 : 100, i % 2 == 0 ? GRANARY_NOWAIT : 0);

        if (err != GRANARY_OK || (i % 100 == 0 && granary_flush(putter->client) != GRANARY_OK)) {
            return context; /* any but NULL */
        }
    }
    return NULL;
}

static void
threads_put_through_one_client(void **state)
{
    struct putter putters[4];
    pthread_t threads[4];
    void *answer;

    putters[0].client = fixture_connect(state);
    for (size_t i = 0; i < 4; i++) {
        putters[i] = (struct putter){putters[0].client, i * 10000};
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, &putters[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], &answer), 0);
        assert_null(answer);
    }
    assert_ok(granary_flush(putters[0].client));
    for (uint64_t i = 0; i < 4; i++) {
        for (uint64_t n = 0; n < 3000; n++) {
            fixture_check(putters[0].client, i * 10000 + n, n % 3 == 0 ? 3000 : 100);
        }
    }
    granary_disconnect(putters[0].client);
}

#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(deleting_a_leased_object_keeps_its_bytes),
        STORE_TEST(a_full_hazard_set_is_counted_by_the_store),
        STORE_TEST(leases_end_while_the_store_stands_still),
        STORE_TEST(many_leases_of_one_object_overflow_safely),
        STORE_TEST(readers_never_see_what_a_deleter_recycles),
        STORE_TEST(threads_share_the_leases_of_an_object),
        STORE_TEST(threads_put_through_one_client),
    };

    return cmocka_run_group_tests_name("leases", tests, NULL, NULL);
}
