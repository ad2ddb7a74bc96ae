/* The client survives the store: killed, stopped, started again, whatever call is under way. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "integration/store/fixture.h"

/* The monotonic clock as this process sees it goes on by leaps: minutes of waiting take none. */
static _Atomic int64_t leapt_s;
static _Atomic uint64_t looks; /* at it */

int
clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int status = (int)syscall(SYS_clock_gettime, clock, ret_time);

    ret_time->tv_sec += clock == CLOCK_MONOTONIC ? atomic_load(&leapt_s) : 0;
    atomic_fetch_add(&looks, 1);
    return status;
}

static void
nap(long milliseconds)
{
    (void)nanosleep(&(struct timespec){.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000}, NULL);
}

static size_t
open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        count++;
    }
    (void)closedir(dir);
    return count;
}

/* Disconnect; then nothing is in use by anybody. */
static void
leave_nothing(void **state, granary_client *client)
{
    granary_client *witness = fixture_connect(state);

    granary_disconnect(client);
    fixture_settle(witness, 1);
    granary_disconnect(witness);
}

/* ---- one call after the other ---- */

static void
every_call_goes_on_under_the_next_store(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_object_info *infos;
    granary_buffer buffer;
    granary_view view;
    size_t count;

    assert_ok(fixture_put(client, 1, 100000, 0));
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    assert_ok(granary_object_create(client, fixture_id(2), 50000, 0, 0, &buffer));
    fixture_fill(buffer.data, 2, 25000);
    fixture_restart(state);

    /* What was leased and what was being written are where they were. */
    assert_true(fixture_content_is(view.data, 1, 100000));
    fixture_fill(buffer.data, 2, 50000);
    assert_ok(granary_object_seal(client, &buffer));
    fixture_check(client, 2, 50000);

    fixture_restart(state);
    assert_ok(fixture_put(client, 3, 1000, 0));
    fixture_restart(state);
    assert_ok(fixture_put(client, 4, 9 << 20, 0)); /* a room of its own */
    fixture_restart(state);
    assert_ok(granary_object_pin(client, fixture_id(3), GRANARY_PIN_CLIENT));
    fixture_restart(state);
    assert_ok(granary_object_unpin(client, fixture_id(3), GRANARY_PIN_CLIENT));
    fixture_restart(state);
    assert_err(granary_object_unpin(client, fixture_id(3), GRANARY_PIN_CLIENT), GRANARY_ENOENT);
    fixture_restart(state);
    assert_ok(granary_object_delete(client, fixture_id(3), 0));
    fixture_restart(state);
    assert_err(granary_object_get(client, fixture_id(3), 0, &(granary_view){.lease = 0}), GRANARY_ENOENT);
    assert_ok(granary_object_list(client, &infos, &count));
    assert_int_equal(count, 3);
    free(infos);

    /* The lease from the beginning still counts. */
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    for (uint64_t i = 10; i < 100; i++) {
        assert_ok(fixture_put(client, i, 100000, 0));
    }
    assert_true(fixture_content_is(view.data, 1, 100000));
    granary_object_release(client, &view);
    leave_nothing(state, client);
}

static void
what_is_spilled_comes_back_from_the_next_store(void **state)
{
    enum { OBJECTS = 120, SIZE = 1 << 20 };
    granary_client *client = fixture_connect(state);

    for (uint64_t i = 0; i < OBJECTS; i++) { /* twice the memory */
        assert_ok(fixture_put(client, i, SIZE, 0));
    }
    for (uint64_t i = 0; i < OBJECTS; i++) {
        if (i % 20 == 10) {
            fixture_restart(state);
        }
        fixture_check(client, i, SIZE);
    }
    granary_disconnect(client);
}

struct reader {
    const granary_view *view;
    uint64_t size;
    _Atomic bool stop;
    _Atomic uint64_t rounds;
    _Atomic uint64_t damaged;
};

static void *
read_over_and_over(void *context)
{
    struct reader *reader = context;

    while (!atomic_load(&reader->stop)) {
        if (!fixture_content_is(reader->view->data, 1, reader->size)) {
            atomic_fetch_add(&reader->damaged, 1);
        }
        atomic_fetch_add(&reader->rounds, 1);
    }
    return NULL;
}

static void
a_reader_notices_nothing(void **state)
{
    enum { RESTARTS = 30 };
    granary_client *client = fixture_connect(state);
    granary_view view;
    struct reader reader = {.view = &view, .size = 1 << 20};
    pthread_t thread;

    assert_ok(fixture_put(client, 1, reader.size, 0));
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    assert_int_equal(pthread_create(&thread, NULL, read_over_and_over, &reader), 0);
    for (int i = 0; i < RESTARTS; i++) {
        fixture_restart(state);
    }
    for (uint64_t rounds = atomic_load(&reader.rounds); atomic_load(&reader.rounds) < rounds + 2;) {
        nap(1);
    }
    atomic_store(&reader.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&reader.damaged), 0);
    granary_object_release(client, &view);
    leave_nothing(state, client);
}

static void
what_is_deleted_and_leased_outlives_the_store(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_view views[20];

    for (uint64_t i = 0; i < 40; i++) {
        assert_ok(fixture_put(client, i, 100000, 0));
    }
    for (uint64_t i = 0; i < 20; i++) {
        assert_ok(granary_object_get(other, fixture_id(2 * i), 0, &views[i]));
    }
    for (uint64_t i = 0; i < 40; i++) {
        assert_ok(granary_object_delete(client, fixture_id(i), 0));
    }
    fixture_restart(state);
    for (uint64_t i = 100; i < 200; i++) { /* memory is needed, and found between the leased ones */
        assert_ok(fixture_put(client, i, 1 << 20, 0));
    }
    for (uint64_t i = 0; i < 20; i++) {
        assert_true(fixture_content_is(views[i].data, 2 * i, 100000));
    }
    granary_object_release_many(other, views, 20);
    granary_disconnect(other);
    leave_nothing(state, client);
}

static void
leases_the_store_counts_outlive_it(void **state)
{
    enum { LEASES = 200000 }; /* of one object: more than three hazards can count */
    granary_client *client = fixture_connect(state);
    granary_view *views = calloc(LEASES, sizeof *views);

    assert_non_null(views);
    assert_ok(fixture_put(client, 1, 1000, 0));
    for (size_t i = 0; i < LEASES; i++) {
        if (i == LEASES - 100) {
            fixture_restart(state);
        }
        assert_ok(granary_object_get(client, fixture_id(1), 0, &views[i]));
    }
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    fixture_restart(state);
    granary_object_release_many(client, views, LEASES - 1);
    assert_ok(fixture_put(client, 2, 1000, 0)); /* by now the store knows of the releases */
    assert_true(fixture_stat(client).retiring_bytes > 0);
    assert_true(fixture_content_is(views[LEASES - 1].data, 1, 1000));
    granary_object_release(client, &views[LEASES - 1]);
    leave_nothing(state, client);
    free(views);
}

/* ---- while calls are under way ---- */

struct worker {
    granary_client *client;
    uint64_t first;
    uint64_t count;
    granary_err err;
    _Atomic bool done;
};

static void *
put_without_waiting(void *context)
{
    struct worker *worker = context;

    for (uint64_t i = 0; i < worker->count && worker->err == GRANARY_OK; i++) {
        worker->err = fixture_put(worker->client, worker->first + i, i % 3 == 0 ? 3000 : 100, GRANARY_NOWAIT);
    }
    worker->err = worker->err == GRANARY_OK ? granary_flush(worker->client) : worker->err;
    if (worker->err != GRANARY_OK) {
        print_error("%s\n", granary_error_message());
    }
    atomic_store(&worker->done, true);
    return NULL;
}

static void *
put_get_delete(void *context)
{
    struct worker *worker = context;

    for (uint64_t i = 0; i < worker->count && worker->err == GRANARY_OK; i++) {
        uint64_t n = worker->first + i;
        granary_view view;

        worker->err = fixture_put(worker->client, n, 2000 + n % 7, 0);
        if (worker->err == GRANARY_OK) {
            worker->err = granary_object_get(worker->client, fixture_id(n), 0, &view);
        }
        if (worker->err == GRANARY_OK) {
            worker->err = fixture_content_is(view.data, n, 2000 + n % 7) ? GRANARY_OK : GRANARY_ECORRUPT;
            granary_object_release(worker->client, &view);
        }
        if (worker->err == GRANARY_OK && i % 2 == 0) {
            worker->err = granary_object_delete(worker->client, fixture_id(n), 0);
        }
    }
    if (worker->err != GRANARY_OK) {
        print_error("%s\n", granary_error_message());
    }
    atomic_store(&worker->done, true);
    return NULL;
}

/* Kill and restart the store until the workers are done, and at least so often. */
static void
restart_until_done(void **state, struct worker *workers, size_t count, int least)
{
    for (int kills = 0;; kills++) {
        size_t done = 0;

        for (size_t i = 0; i < count; i++) {
            done += atomic_load(&workers[i].done);
        }
        if (done == count && kills >= least) {
            return;
        }
        nap(5 + kills % 7 * 5);
        fixture_restart(state);
    }
}

static void
puts_without_waiting_pass_through_deaths(void **state)
{
    struct worker worker = {.client = fixture_connect(state), .count = 10000};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, put_without_waiting, &worker), 0);
    restart_until_done(state, &worker, 1, 5);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(worker.err);
    for (uint64_t i = 0; i < worker.count; i++) {
        fixture_check(worker.client, i, i % 3 == 0 ? 3000 : 100);
    }
    leave_nothing(state, worker.client);
}

static void
threads_of_one_client_find_the_store_together(void **state)
{
    enum { THREADS = 4 };
    granary_client *client = fixture_connect(state);
    size_t descriptors = open_descriptors();
    struct worker workers[THREADS];
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.client = client, .first = i * 100000, .count = 1000};
        assert_int_equal(pthread_create(&threads[i], NULL, put_get_delete, &workers[i]), 0);
    }
    restart_until_done(state, workers, THREADS, 10);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_ok(workers[i].err);
    }
    assert_int_equal(fixture_stat(client).objects, THREADS * 500);
    assert_int_equal(open_descriptors(), descriptors);
    leave_nothing(state, client);
}

static void *
wait_for_object(void *context)
{
    struct worker *worker = context;
    granary_view view;

    worker->err = granary_object_get(worker->client, fixture_id(worker->first), GRANARY_FOREVER, &view);
    if (worker->err == GRANARY_OK) {
        granary_object_release(worker->client, &view);
    }
    return NULL;
}

static void
who_waits_for_an_object_goes_on_waiting(void **state)
{
    struct worker worker = {.client = fixture_connect(state), .first = 1};
    granary_client *other = fixture_connect(state);
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, wait_for_object, &worker), 0);
    nap(20);
    fixture_restart(state);
    nap(20);
    fixture_restart(state);
    assert_ok(fixture_put(other, 1, 100, 0));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(worker.err);
    granary_disconnect(other);
    granary_disconnect(worker.client);
}

struct deleter {
    granary_client *client;
    granary_err err;
    _Atomic bool done;
};

static void *
delete_once(void *context)
{
    struct deleter *deleter = context;

    deleter->err = granary_object_delete(deleter->client, fixture_id(1), 0);
    atomic_store(&deleter->done, true);
    return NULL;
}

/* Object 1 is there, or not, and the store that is to delete it dies at that point; the next one answers. */
static void
delete_across_a_death(void **state, granary_client *client, bool there, const char *point)
{
    const struct daemon *daemon = *state;
    struct deleter deleter = {.client = client};
    siginfo_t dead = {.si_pid = 0};
    char fault[64];
    pthread_t thread;

    fixture_restart(state);
    if (there) {
        assert_ok(fixture_put(client, 1, 1000, 0));
    }
    (void)snprintf(fault, sizeof fault, "store/%s:kill@1", point);
    assert_int_equal(setenv("GRANARY_FAULT", fault, 1), 0);
    fixture_restart(state);
    assert_int_equal(unsetenv("GRANARY_FAULT"), 0);
    assert_int_equal(pthread_create(&thread, NULL, delete_once, &deleter), 0);
    while (dead.si_pid == 0 && !atomic_load(&deleter.done)) {
        assert_int_equal(waitid(P_PID, (id_t)daemon->pid, &dead, WEXITED | WNOHANG | WNOWAIT), 0);
        nap(1);
    }
    fixture_restart(state);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_err(deleter.err, there ? GRANARY_OK : GRANARY_ENOENT);
    assert_err(granary_object_get(client, fixture_id(1), 0, &(granary_view){.lease = 0}), GRANARY_ENOENT);
}

static void
what_a_dying_store_has_deleted_is_told_from_what_was_not_there(void **state)
{
    static const char *const points[] = {"ring_begun", "ring_executed", "ring_status", "ring_tail"};
    granary_client *client = fixture_connect(state);

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        delete_across_a_death(state, client, false, points[i]);
        delete_across_a_death(state, client, true, points[i]);
    }
    leave_nothing(state, client);
}

/* ---- when there is no store ---- */

static void
a_store_that_does_not_come_is_waited_for_once(void **state)
{
    struct daemon *daemon = *state;
    granary_connect_options options = {.instance = daemon->directory, .reconnect_ms = 50};
    granary_client *client;
    granary_client *leaver;
    granary_view view;

    assert_ok(granary_connect(&options, &client));
    assert_ok(granary_connect(&options, &leaver));
    assert_ok(fixture_put(client, 1, 1000, 0));
    fixture_check(client, 1, 1000);
    daemon_kill(daemon);
    for (uint64_t i = 2; i < 200; i++) { /* each would wait, were it not for the first one that did in vain */
        assert_err(fixture_put(client, i, 1000, 0), GRANARY_EUNREACHABLE);
    }
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view)); /* what is in memory is there nevertheless */
    assert_err(granary_object_get(client, fixture_id(1000), 0, &view), GRANARY_ENOENT);
    assert_err(granary_object_get(client, fixture_id(1000), GRANARY_FOREVER, &view), GRANARY_EUNREACHABLE);
    granary_object_release(client, &view);
    granary_disconnect(leaver); /* at once; the next store will see */

    fixture_restart(state);
    assert_ok(fixture_put(client, 1000, 1000, 0));
    leave_nothing(state, client);
}

static uint64_t
first_spilled(granary_client *client, uint64_t objects)
{
    for (uint64_t i = 0; i < objects; i++) {
        granary_object_info info;

        assert_ok(granary_object_info_get(client, fixture_id(i), &info));
        if (info.state == GRANARY_OBJECT_SPILLED) {
            return i;
        }
    }
    fail_msg("nothing was spilled");
    return 0;
}

static void *
get_at_once(void *context)
{
    struct worker *worker = context;
    granary_view view;

    worker->err = granary_object_get(worker->client, fixture_id(worker->first), 0, &view);
    if (worker->err == GRANARY_OK) {
        granary_object_release(worker->client, &view);
    }
    return NULL;
}

/* What exists is to be had in 30 s; but how long a store may be away, the connection says. */
static void
a_get_of_what_is_spilled_is_as_patient_as_its_connection(void **state)
{
    enum { OBJECTS = 120, PATIENCE_S = 120 };
    struct daemon *daemon = *state;
    granary_connect_options options = {.instance = daemon->directory, .reconnect_ms = PATIENCE_S * 1000};
    struct worker worker = {.first = 0};
    pthread_t thread;
    uint64_t seen;

    assert_ok(granary_connect(&options, &worker.client));
    for (uint64_t i = 0; i < OBJECTS; i++) { /* twice the memory */
        assert_ok(fixture_put(worker.client, i, 1 << 20, 0));
    }
    worker.first = first_spilled(worker.client, OBJECTS);
    daemon_kill(daemon);
    seen = atomic_load(&looks);
    assert_int_equal(pthread_create(&thread, NULL, get_at_once, &worker), 0);
    while (atomic_load(&looks) < seen + 10) { /* it waits, and looks now and then */
        nap(1);
    }
    atomic_store(&leapt_s, PATIENCE_S / 2);
    for (seen = atomic_load(&looks); atomic_load(&looks) == seen;) {
        nap(1);
    }
    fixture_restart(state);
    assert_int_equal(pthread_join(thread, NULL), 0);
    atomic_store(&leapt_s, 0);
    assert_ok(worker.err);
    granary_disconnect(worker.client);
}

static void
a_store_that_was_stopped_in_order_is_not_waited_for(void **state)
{
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    granary_view view;

    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    assert_int_equal(kill(daemon->pid, SIGTERM), 0);
    assert_int_equal(fixture_wait(daemon->pid), 0);
    daemon->pid = 0;
    assert_err(fixture_put(client, 2, 9 << 20, 0), GRANARY_EUNREACHABLE);
    assert_non_null(strstr(granary_error_message(), "stopped"));
    assert_err(granary_object_get(client, fixture_id(9), GRANARY_FOREVER, &view), GRANARY_EUNREACHABLE);
    assert_true(fixture_content_is(view.data, 1, 1000));
    granary_object_release(client, &view);
    granary_disconnect(client);
}

static void
calls_end_in_time_while_the_store_is_stopped(void **state)
{
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    granary_buffer buffer;
    granary_view view;

    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    granary_object_release(client, &view);
    assert_int_equal(kill(daemon->pid, SIGSTOP), 0);
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    granary_object_release(client, &view);
    assert_err(granary_object_get(client, fixture_id(9), 20, &view), GRANARY_ETIMEDOUT);
    /* Two requests whose answers come when nobody waits for them any more. */
    assert_err(granary_object_create(client, fixture_id(2), 9 << 20, 0, 20, &buffer), GRANARY_EUNREACHABLE);
    assert_err(granary_object_create(client, fixture_id(2), 9 << 20, 0, 20, &buffer), GRANARY_EUNREACHABLE);
    assert_int_equal(kill(daemon->pid, SIGCONT), 0);
    assert_ok(fixture_put(client, 2, 9 << 20, 0));
    fixture_check(client, 2, 9 << 20);
    fixture_check(client, 1, 1000);
    for (int i = 0; i < 60000 && fixture_stat(client).writing_bytes > (2 << 20); i++) {
        nap(1); /* the room that came too late was given back: the small one is all this client has */
    }
    assert_true(fixture_stat(client).writing_bytes <= 2 << 20);
    granary_disconnect(client);
}

#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(every_call_goes_on_under_the_next_store),
        STORE_TEST(what_is_spilled_comes_back_from_the_next_store),
        STORE_TEST(a_reader_notices_nothing),
        STORE_TEST(what_is_deleted_and_leased_outlives_the_store),
        STORE_TEST(leases_the_store_counts_outlive_it),
        STORE_TEST(puts_without_waiting_pass_through_deaths),
        STORE_TEST(threads_of_one_client_find_the_store_together),
        STORE_TEST(who_waits_for_an_object_goes_on_waiting),
        STORE_TEST(what_a_dying_store_has_deleted_is_told_from_what_was_not_there),
        STORE_TEST(a_store_that_does_not_come_is_waited_for_once),
        STORE_TEST(a_get_of_what_is_spilled_is_as_patient_as_its_connection),
        STORE_TEST(a_store_that_was_stopped_in_order_is_not_waited_for),
        STORE_TEST(calls_end_in_time_while_the_store_is_stopped),
    };

    return cmocka_run_group_tests_name("reconnect", tests, NULL, NULL);
}
