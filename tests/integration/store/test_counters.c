/* Counters: shared by threads and processes, kept over the death of the store, gone with their session. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contract/shm.h"
#include "fixture.h"
#include "granary/inspect.h"
#include "granary/session.h"
#include "object/client.h"

#define THREADS 4
#define ADDS    20000

static granary_counter *
open_counter(granary_client *client, const char *name)
{
    granary_counter *counter = NULL;

    assert_ok(granary_counter_open(client, name, &counter));
    return counter;
}

static granary_client *
connect_session(void **state, const char *session)
{
    const struct daemon *daemon = *state;
    granary_client *client = NULL;

    assert_ok(granary_connect(&(granary_connect_options){.instance = daemon->directory, .session = session}, &client));
    return client;
}

static void
a_counter_counts(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_counter *counter = open_counter(client, "rows");
    granary_counter *same = open_counter(other, "rows");
    granary_counter *none = NULL;
    char name[200];
    int64_t seen = 5, value = 0;

    assert_true(granary_counter_get(counter) == 0);
    assert_true(granary_counter_add(counter, 7) == 7);
    assert_true(granary_counter_add(same, -3) == 4);
    assert_false(granary_counter_set_if(counter, &seen, 100));
    assert_true(seen == 4);
    assert_true(granary_counter_set_if(counter, &seen, INT64_MAX));
    assert_true(granary_counter_add(same, 1) == INT64_MIN); /* around */
    assert_true(granary_counter_get(counter) == INT64_MIN);
    assert_err(granary_counter_wait(counter, 0, 0, NULL), GRANARY_ETIMEDOUT);
    assert_err(granary_counter_wait(counter, 0, 20, NULL), GRANARY_ETIMEDOUT);
    assert_ok(granary_counter_wait(counter, INT64_MIN, 0, &value));
    assert_true(value == INT64_MIN);

    memset(name, 'n', sizeof name);
    name[95] = '\0';
    granary_counter_close(open_counter(client, name));
    name[95] = 'n';
    name[96] = '\0';
    assert_err(granary_counter_open(client, name, &none), GRANARY_EINVAL);
    assert_err(granary_counter_open(client, "", &none), GRANARY_EINVAL);
    assert_err(granary_counter_open(client, "a\nb", &none), GRANARY_EINVAL);
    granary_counter_close(counter);
    granary_counter_close(same);
    granary_disconnect(other);
    granary_disconnect(client);
}

/* ---- many at once ---- */

struct adder {
    granary_client *client;
    pthread_t thread;
};

/* Each opens all of a hundred names, so that new ones are claimed by several at once, and counts in all. */
static void *
add_everywhere(void *context)
{
    struct adder *adder = context;
    granary_counter *counters[100];

    for (int i = 0; i < 100; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "shared %d", i);
        if (granary_counter_open(adder->client, name, &counters[i]) != GRANARY_OK) {
            return adder;
        }
    }
    for (int i = 0; i < ADDS; i++) {
        (void)granary_counter_add(counters[i % 100], 1);
    }
    for (int i = 0; i < 100; i++) {
        granary_counter_close(counters[i]);
    }
    return NULL;
}

static bool
add_in_threads(granary_client *client)
{
    struct adder adders[THREADS];
    bool good = true;
    void *failed;

    for (int i = 0; i < THREADS; i++) {
        adders[i].client = client;
        good = good && pthread_create(&adders[i].thread, NULL, add_everywhere, &adders[i]) == 0;
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(adders[i].thread, &failed);
        good = good && failed == NULL;
    }
    return good;
}

static void
no_add_is_lost(void **state)
{
    enum { PROCESSES = 3 };
    granary_client *client;
    granary_counter_info *infos;
    pid_t children[PROCESSES];
    int64_t sum = 0;
    size_t count;

    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            const struct daemon *daemon = *state;
            bool good;

            good = granary_connect(&(granary_connect_options){.instance = daemon->directory}, &client) == GRANARY_OK &&
                   add_in_threads(client);
            granary_disconnect(client);
            _exit(good ? 0 : 1);
        }
    }
    client = fixture_connect(state);
    assert_true(add_in_threads(client));
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(fixture_wait(children[i]), 0);
    }
    assert_ok(granary_counter_list(client, &infos, &count));
    assert_int_equal(count, 100);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(strncmp(infos[i].name, "shared ", 7), 0);
        assert_true(infos[i].value == (PROCESSES + 1) * THREADS * ADDS / 100);
        sum += infos[i].value;
    }
    assert_true(sum == (PROCESSES + 1) * THREADS * ADDS);
    free(infos);
    granary_disconnect(client);
}

/* ---- waiting ---- */

struct waiter {
    granary_counter *counter;
    int64_t least;
    granary_err err;
    int64_t value;
    pthread_t thread;
};

static void *
wait_for(void *context)
{
    struct waiter *waiter = context;

    waiter->err = granary_counter_wait(waiter->counter, waiter->least, GRANARY_FOREVER, &waiter->value);
    return NULL;
}

static void
waiters_are_woken(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_counter *counter = open_counter(client, "barrier");
    granary_counter_info *infos;
    struct waiter waiters[THREADS];
    size_t count;
    uint32_t waiting = 0;

    for (int i = 0; i < THREADS; i++) {
        waiters[i] = (struct waiter){.counter = counter, .least = 1000 * (i + 1)};
        assert_int_equal(pthread_create(&waiters[i].thread, NULL, wait_for, &waiters[i]), 0);
    }
    while (waiting < THREADS) {
        assert_ok(granary_counter_list(client, &infos, &count));
        waiting = infos[0].waiting;
        free(infos);
    }
    for (int i = 0; i < THREADS * 1000; i++) {
        (void)granary_counter_add(counter, 1);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(waiters[i].thread, NULL);
        assert_int_equal(waiters[i].err, GRANARY_OK);
        assert_true(waiters[i].value >= waiters[i].least);
    }
    granary_counter_close(counter);
    granary_disconnect(client);
}

/* ---- the life of the table ---- */

static void
the_store_may_die(void **state)
{
    const struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    granary_counter *counter = open_counter(client, "lasting");
    granary_client *later;
    granary_counter *same;
    granary_inspector *inspector;
    granary_check_summary summary;
    granary_store_stat stat;

    (void)granary_counter_add(counter, 41);
    fixture_restart(state);
    assert_true(granary_counter_add(counter, 1) == 42);
    later = fixture_connect(state);
    same = open_counter(later, "lasting");
    assert_true(granary_counter_get(same) == 42);
    assert_true(granary_counter_add(same, 1) == 43);
    assert_true(granary_counter_get(counter) == 43);
    stat = fixture_stat(later);
    assert_true(stat.index_bytes > sizeof(struct gr_counters));
    assert_ok(granary_inspect_open(daemon->directory, &inspector));
    assert_ok(granary_inspect_check(inspector, 0, NULL, NULL, &summary));
    assert_int_equal(summary.damages, 0);
    assert_int_equal(summary.notes, 0);
    granary_inspect_close(inspector);
    granary_counter_close(counter);
    granary_counter_close(same);
    granary_disconnect(client);
    granary_disconnect(later);
}

/* The files of a session that was deleted go in the turns behind its last client, some at a time: look every millisecond. */
static void
await_files(const struct daemon *daemon, int count)
{
    for (int i = 0; i < 60000 && daemon_shm_files(daemon) != count; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(daemon_shm_files(daemon), count);
}

static void
counters_go_with_their_session(void **state)
{
    const struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    int files = daemon_shm_files(daemon);
    granary_client *other = connect_session(state, "doomed");
    granary_counter *counter = open_counter(other, "c");
    granary_counter *apart = open_counter(client, "c");
    struct waiter waiter = {.counter = counter, .least = 1000};
    granary_counter_info *infos;
    size_t count;

    (void)granary_counter_add(counter, 5);
    assert_true(granary_counter_get(apart) == 0); /* another session's */
    assert_int_equal(pthread_create(&waiter.thread, NULL, wait_for, &waiter), 0);
    do {
        assert_ok(granary_counter_list(other, &infos, &count));
        count = infos[0].waiting;
        free(infos);
    } while (count == 0);
    assert_ok(granary_session_delete(client, "doomed", false));
    (void)pthread_join(waiter.thread, NULL);
    assert_int_equal(waiter.err, GRANARY_EUNREACHABLE);
    assert_true(granary_counter_add(counter, 1) == 6); /* what is mapped stays */
    granary_counter_close(counter);
    granary_disconnect(other);
    fixture_settle(client, 1);
    await_files(daemon, files + 1); /* this session's */
    other = connect_session(state, "doomed");
    counter = open_counter(other, "c");
    assert_true(granary_counter_get(counter) == 0);
    granary_counter_close(counter);
    granary_counter_close(apart);
    granary_disconnect(other);
    granary_disconnect(client);
}

/* A full table, and one in which somebody has written whatever came to mind. */
static void
a_spoilt_table_harms_only_counters(void **state)
{
    granary_client *client = fixture_connect(state);
    struct gr_counters *counters;
    granary_counter *counter = NULL;
    granary_counter_info *infos;
    unsigned seed = 11;
    size_t count;

    for (unsigned i = 0; i < GR_COUNTERS; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "%u", i);
        granary_counter_close(open_counter(client, name));
    }
    assert_err(granary_counter_open(client, "one more", &counter), GRANARY_EFULL);
    granary_counter_close(open_counter(client, "7"));
    assert_ok(counters_map(client, &counters));
    for (int round = 0; round < 20; round++) {
        unsigned char *bytes = (unsigned char *)counters;

        for (size_t i = 0; i < sizeof *counters; i++) {
            bytes[i] = round == 0 ? 0xff : (unsigned char)rand_r(&seed);
        }
        assert_ok(granary_counter_list(client, &infos, &count));
        for (size_t i = 0; i < count; i++) {
            assert_true(strlen(infos[i].name) < sizeof infos[i].name);
        }
        free(infos);
        if (granary_counter_open(client, "7", &counter) == GRANARY_OK) {
            (void)granary_counter_add(counter, 1);
            granary_counter_close(counter);
        }
        assert_ok(fixture_put(client, (uint64_t)round, 1000, 0));
        fixture_check(client, (uint64_t)round, 1000);
    }
    fixture_restart(state);
    fixture_check(client, 1, 1000);
    granary_disconnect(client);
}

int
main(void)
{
#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_counter_counts),
        STORE_TEST(no_add_is_lost),
        STORE_TEST(waiters_are_woken),
        STORE_TEST(the_store_may_die),
        STORE_TEST(counters_go_with_their_session),
        STORE_TEST(a_spoilt_table_harms_only_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
