/*
 * kill -9 of the store at every one of its writes, one after another: it dies at the n-th of its fault points
 * under a scenario, another one adopts what is there, and what was promised is compared. For n = 1, 2, ... until
 * the scenario, and the orderly stop after it, are through without a crash.
 *
 *   test_crash objects|one_spill|spills|holds|ending|adoption [FIRST [LAST]]
 */
#include "integration/store/fixture.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "granary/inspect.h"
#include "granary/session.h"

enum { OBJECTS = 24, HELD = 4, OTHER_SESSION = 1000, WORKERS = 8, LEAST_POINTS = 20 };

static const char *const memory[] = {"--memory", "4M", NULL};

enum fate { NEVER, PUTTING, THERE, DELETING, GONE };

/* What was promised so far. */
struct world {
    struct daemon daemon;
    granary_client *client;
    granary_client *other; /* of the same session */
    granary_client *third; /* of another one */
    enum fate fates[OBJECTS];
    uint64_t sizes[OBJECTS];
    granary_view held[HELD];
    uint64_t held_ids[HELD];
    size_t held_count;
    bool named, maybe_named; /* the name "name" is bound to object 0 */
    bool pinned;             /* object 0 has a pin that outlives its client */
    bool referenced;
    bool counted; /* the counter "counter" is 5 */
    bool third_put;
    bool crowded; /* there is more than memory holds */
    bool ending;  /* the session "ended", with a persistent object, is being deleted */
    bool ended;   /* ... and that was answered */
};

/* What a call that may not have come to its end makes of a step. */
static bool
went(granary_err err, const char *what)
{
    if (err != GRANARY_OK && err != GRANARY_EUNREACHABLE) {
        fail_msg("%s: %s", what, granary_error_message());
    }
    return err == GRANARY_OK;
}

static granary_err
connect_to(const struct world *world, const char *session, granary_client **ret_client)
{
    const granary_connect_options options = {
        .instance = world->daemon.directory, .session = session, .reconnect_ms = -1};

    return granary_connect(&options, ret_client);
}

static bool
put(struct world *world, granary_client *client, uint64_t n, uint64_t size)
{
    granary_buffer buffer;
    granary_err err;

    world->sizes[n] = size;
    world->fates[n] = PUTTING;
    err = granary_object_create(client, fixture_id(n), size, 0, 10000, &buffer);
    if (err == GRANARY_OK) {
        fixture_fill(buffer.data, n, size);
        err = granary_object_seal(client, &buffer);
    }
    if (went(err, "put")) {
        world->fates[n] = THERE;
    }
    return err == GRANARY_OK;
}

static bool delete (struct world *world, granary_client *client, uint64_t n)
{
    granary_err err;

    world->fates[n] = DELETING;
    err = granary_object_delete(client, fixture_id(n), 0);
    if (went(err, "delete")) {
        world->fates[n] = GONE;
    }
    return err == GRANARY_OK;
}

static bool
hold(struct world *world, granary_client *client, uint64_t n)
{
    granary_view *view = &world->held[world->held_count];
    granary_err err = granary_object_get(client, fixture_id(n), 10000, view);

    if (went(err, "get")) {
        world->held_ids[world->held_count++] = n;
    }
    return err == GRANARY_OK;
}

static bool
spill(granary_client *client, uint64_t n)
{
    return went(granary_object_move(client, fixture_id(n), 0, GRANARY_LEVEL_MEMORY, 10000), "spill");
}

static bool
get(granary_client *client, uint64_t n, uint64_t size)
{
    granary_view view;
    granary_err err = granary_object_get(client, fixture_id(n), 10000, &view);

    if (went(err, "get")) {
        assert_true(fixture_content_is(view.data, n, size));
        granary_object_release(client, &view);
    }
    return err == GRANARY_OK;
}

/* ---- scenarios: true when they are through ---- */

static bool
objects(struct world *world)
{
    if (!went(connect_to(world, NULL, &world->client), "connect") || !put(world, world->client, 0, 1000) ||
        !put(world, world->client, 1, 0) || !hold(world, world->client, 0) || !put(world, world->client, 2, 100000) ||
        !delete (world, world->client, 1) || !delete (world, world->client, 0)) {
        return false;
    }
    if (!went(connect_to(world, NULL, &world->other), "connect") || !put(world, world->other, 3, 5000) ||
        !get(world->client, 3, 5000)) {
        return false;
    }
    if (!went(connect_to(world, "other", &world->third), "connect")) {
        return false;
    }
    world->third_put = fixture_put(world->third, OTHER_SESSION, 3000, 0) == GRANARY_OK;
    return world->third_put;
}

static bool
one_spill(struct world *world)
{
    return went(connect_to(world, NULL, &world->client), "connect") && put(world, world->client, 0, 50000) &&
           spill(world->client, 0) && hold(world, world->client, 0) && delete (world, world->client, 0);
}

static bool
spills(struct world *world)
{
    if (!went(connect_to(world, NULL, &world->client), "connect")) {
        return false;
    }
    /* One by one, then more than there is memory for. */
    if (!put(world, world->client, 0, 50000) || !put(world, world->client, 1, 50000) || !spill(world->client, 0) ||
        !spill(world->client, 1) || !get(world->client, 0, 50000) || !delete (world, world->client, 1) ||
        !spill(world->client, 0) || !hold(world, world->client, 0)) {
        return false;
    }
    world->crowded = true;
    for (uint64_t n = 2; n < 7; n++) {
        if (!put(world, world->client, n, 1 << 20)) {
            return false;
        }
    }
    return get(world->client, 2, 1 << 20) && delete (world, world->client, 3);
}

/* The counter is made, or found; with `add` in it. */
static bool
count(granary_client *client, int64_t add, int64_t *ret_value)
{
    granary_counter *counter = NULL;

    if (!went(granary_counter_open(client, "counter", &counter), "counter")) {
        return false;
    }
    *ret_value = granary_counter_add(counter, add);
    granary_counter_close(counter);
    return true;
}

static bool
holds(struct world *world)
{
    const granary_id nothing = {{0}};
    int64_t counted;
    granary_err err;

    if (!went(connect_to(world, NULL, &world->client), "connect") || !put(world, world->client, 0, 1000) ||
        !put(world, world->client, 1, 1000)) {
        return false;
    }
    world->maybe_named = true;
    if (!went(granary_name_set(world->client, "name", fixture_id(1), GRANARY_NAME_NEW, nothing, NULL), "name") ||
        !went(granary_name_set(world->client, "name", fixture_id(0), GRANARY_NAME_ID, fixture_id(1), NULL), "name")) {
        return false;
    }
    world->named = true;
    err = granary_object_pin(world->client, fixture_id(0), GRANARY_PIN_SESSION);
    if (!went(err, "pin")) {
        return false;
    }
    world->pinned = true;
    if (!went(granary_object_pin(world->client, fixture_id(1), GRANARY_PIN_CLIENT), "pin") ||
        !went(granary_object_unpin(world->client, fixture_id(1), GRANARY_PIN_CLIENT), "unpin") ||
        !went(granary_reference(world->client, fixture_id(1), "owner", NULL), "reference")) {
        return false;
    }
    world->referenced = true;
    world->counted = count(world->client, 5, &counted);
    if (!world->counted) {
        return false;
    }
    /* It stays: its owner has it still. */
    return went(granary_object_delete(world->client, fixture_id(1), 0), "delete") &&
           went(granary_alias(world->client, fixture_id(20), fixture_id(0)), "alias");
}

/* A session is deleted, with what was meant to outlive the store. */
static bool
ending(struct world *world)
{
    const granary_id nothing = {{0}};
    granary_id id = fixture_id(OTHER_SESSION);
    granary_store_stat stat;
    int64_t counted;
    granary_err err;
    bool there;

    if (!went(connect_to(world, NULL, &world->client), "connect") || !put(world, world->client, 0, 1000) ||
        !went(connect_to(world, "ended", &world->third), "connect") || !count(world->third, 1, &counted) ||
        !went(fixture_put(world->third, OTHER_SESSION, 3000, 0), "put") ||
        !went(granary_object_move(world->third, id, GRANARY_LEVEL_DISK, 0, 10000), "persist") ||
        !went(granary_object_pin(world->third, id, GRANARY_PIN_SESSION), "pin") ||
        !went(granary_name_set(world->third, "name", id, GRANARY_NAME_NEW, nothing, NULL), "name")) {
        return false;
    }
    world->ending = true;
    if (!went(granary_session_delete(world->client, "ended", false), "delete session")) {
        return false;
    }
    world->ended = true;
    do { /* the account can be read of a dead store too: ask it something */
        err = granary_session_has(world->client, "ended", &there);
        err = err == GRANARY_OK ? granary_store_stat_get(world->client, &stat) : err;
    } while (err == GRANARY_OK && stat.disk_bytes > 0);
    return went(granary_session_create(world->client, "fresh", NULL), "create session") &&
           put(world, world->client, 1, 1000);
}

/* ---- what must be true of an instance that was adopted ---- */

static void
print_finding(void *context, const granary_finding *finding)
{
    (void)context;
    if (finding->kind == GRANARY_FINDING_DAMAGE) {
        print_error("%s: %s\n", finding->code, finding->text);
    }
}

static void
check_invariants(const struct world *world)
{
    granary_check_summary summary;
    granary_inspector *inspector;

    assert_ok(granary_inspect_open(world->daemon.directory, &inspector));
    assert_ok(granary_inspect_check(inspector, GRANARY_CHECK_VERIFY, print_finding, NULL, &summary));
    granary_inspect_close(inspector);
    assert_int_equal(summary.damages, 0);
}

static void
check_held(const struct world *world)
{
    for (size_t i = 0; i < world->held_count; i++) {
        uint64_t n = world->held_ids[i];

        assert_true(fixture_content_is(world->held[i].data, n, world->sizes[n]));
    }
}

/* Objects there are as they were put; those that must be there are, and those that must not are not. */
static void
check_object(granary_client *client, const struct world *world, uint64_t n)
{
    granary_view view;
    granary_err err = granary_object_contains(client, fixture_id(n))
                          ? granary_object_get(client, fixture_id(n), 10000, &view)
                          : GRANARY_ENOENT;

    if (err == GRANARY_OK) {
        assert_int_not_equal(world->fates[n], GONE);
        assert_int_equal(view.data_size, world->sizes[n]);
        assert_true(fixture_content_is(view.data, n, world->sizes[n]));
        granary_object_release(client, &view);
    } else if (err == GRANARY_ENOENT) {
        assert_int_not_equal(world->fates[n], THERE);
    } else {
        fail_msg("object %u: %s", (unsigned)n, granary_error_message());
    }
}

static bool
same_id(granary_id a, granary_id b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static size_t
count_holds(granary_client *client, uint64_t n, granary_hold_kind kind)
{
    granary_id id = fixture_id(n);
    granary_hold *found = NULL;
    size_t count = 0;
    size_t of_kind = 0;

    assert_ok(granary_holds(client, &id, &found, &count));
    for (size_t i = 0; i < count; i++) {
        of_kind += found[i].kind == kind;
    }
    free(found);
    return of_kind;
}

static void
check_holds(granary_client *client, const struct world *world)
{
    int64_t counted = -1;
    granary_id id;
    granary_err err = granary_name_get(client, "name", &id);

    if (world->named) {
        assert_ok(err);
        assert_true(same_id(id, fixture_id(0)));
    } else {
        assert_true(err == GRANARY_ENOENT || (world->maybe_named && err == GRANARY_OK &&
                                              (same_id(id, fixture_id(0)) || same_id(id, fixture_id(1)))));
    }
    if (world->pinned) {
        assert_int_equal(count_holds(client, 0, GRANARY_HOLD_PIN), 1);
    }
    if (world->referenced) {
        assert_int_equal(count_holds(client, 1, GRANARY_HOLD_REFERENCE), 1);
    }
    assert_true(count(client, 0, &counted));
    assert_true(counted == (world->counted ? 5 : 0));
}

/* The next store's clients find what was promised, and go on. */
static void
check_adopted(const struct world *world)
{
    granary_client *client;
    granary_client *third;

    check_held(world);
    check_invariants(world);
    assert_ok(connect_to(world, NULL, &client));
    (void)fixture_stat(client);
    for (uint64_t n = 0; n < OBJECTS; n++) {
        if (world->fates[n] != NEVER) {
            check_object(client, world, n);
        }
    }
    check_holds(client, world);
    for (uint64_t n = 100; n < 104; n++) { /* where memory is short already, others must leave it */
        assert_ok(fixture_put(client, n, world->crowded ? 700000 : 7000, 0));
    }
    fixture_check(client, 100, world->crowded ? 700000 : 7000);
    check_held(world);
    (void)fixture_stat(client);
    granary_disconnect(client);
    if (world->third_put) {
        assert_ok(connect_to(world, "other", &third));
        fixture_check(third, OTHER_SESSION, 3000);
        granary_disconnect(third);
    }
}

/* ---- dying and adopting ---- */

/* A store that dies at one of its points. */
static bool
start_crasher(struct world *world, long at)
{
    char text[48];
    bool started;

    (void)snprintf(text, sizeof text, "store/any:kill@%ld", at);
    (void)setenv("GRANARY_FAULT", text, 1);
    started = daemon_restart(&world->daemon, memory);
    (void)unsetenv("GRANARY_FAULT"); /* the next ones live */
    return started;
}

/* The clients of the store that died leave, each in its own way. */
static void
leave(struct world *world)
{
    for (size_t i = 0; i < world->held_count; i++) {
        granary_object_release(world->client, &world->held[i]);
    }
    granary_disconnect(world->client);
    granary_disconnect(world->other);
    granary_disconnect(world->third);
}

/* Stop a store that may die of it. True: it did not. */
static bool
stop_crasher(struct daemon *daemon)
{
    int status = 0;

    (void)kill(daemon->pid, SIGTERM);
    assert_int_equal(waitpid(daemon->pid, &status, 0), daemon->pid);
    daemon->pid = 0;
    assert_true((WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    return WIFEXITED(status);
}

static bool
is_there(const struct world *world)
{
    granary_client *client;
    bool there = false;

    assert_ok(connect_to(world, NULL, &client));
    assert_ok(granary_session_has(client, "ended", &there));
    granary_disconnect(client);
    return there;
}

/* The session is there as it was, or gone for ever: also for a store that has nothing but the disk. */
static void
check_ended(struct world *world)
{
    granary_client *client;

    if (!world->ending) {
        return;
    }
    if (is_there(world)) {
        assert_false(world->ended);
        assert_ok(connect_to(world, "ended", &client));
        fixture_check(client, OTHER_SESSION, 3000);
        granary_disconnect(client);
        assert_ok(connect_to(world, NULL, &client));
        assert_ok(granary_session_delete(client, "ended", false));
        granary_disconnect(client);
        return;
    }
    assert_true(stop_crasher(&world->daemon));
    assert_true(daemon_restart(&world->daemon, memory));
    assert_false(is_there(world));
}

/* True: no crash any more. */
static bool
one_crash(bool (*scenario)(struct world *world), long at)
{
    struct world world = {.daemon = {.directory = "/tmp/granary-test-XXXXXX"}};
    bool through = false;
    bool stopping = false;

    assert_non_null(mkdtemp(world.daemon.directory));
    if (start_crasher(&world, at)) {
        stopping = scenario(&world);
        through = stopping && stop_crasher(&world.daemon);
        daemon_kill(&world.daemon);
    }
    if (!through) {
        assert_true(daemon_restart(&world.daemon, memory));
        if (!stopping) { /* an orderly stop gives everything up, however far it came */
            check_adopted(&world);
            check_ended(&world);
        }
    }
    leave(&world);
    assert_true(daemon_stop(&world.daemon));
    return through;
}

/* A store that dies while it adopts; the one after it adopts what both left. */
static bool
one_crash_of_adoption(long at)
{
    struct world world = {.daemon = {.directory = "/tmp/granary-test-XXXXXX"}};
    bool through;

    assert_non_null(mkdtemp(world.daemon.directory));
    assert_true(daemon_restart(&world.daemon, memory));
    assert_true(objects(&world));
    assert_true(put(&world, world.client, 10, 50000) && put(&world, world.client, 11, 50000));
    assert_true(spill(world.client, 10) && spill(world.client, 11) && get(world.client, 11, 50000));
    daemon_kill(&world.daemon);
    through = start_crasher(&world, at);
    daemon_kill(&world.daemon);
    assert_true(daemon_restart(&world.daemon, memory));
    check_adopted(&world);
    leave(&world);
    assert_true(daemon_stop(&world.daemon));
    return through;
}

static const struct {
    const char *name;
    bool (*scenario)(struct world *world);
} scenarios[] = {
    {"objects", objects}, {"one_spill", one_spill}, {"spills", spills},
    {"holds", holds},     {"ending", ending},       {"adoption", NULL},
};

static size_t chosen;
static long first_point = 1, last_point = LONG_MAX;

/* Every WORKERS-th point, until there is none any more. */
static void
work(long from)
{
    bool (*scenario)(struct world * world) = scenarios[chosen].scenario;
    bool through = false;
    long at;

    for (at = from; !through && at <= last_point; at += WORKERS) {
        through = scenario == NULL ? one_crash_of_adoption(at) : one_crash(scenario, at);
    }
    if (through) {
        print_message("no point %ld\n", at - WORKERS);
        assert_true(at > LEAST_POINTS);
    }
}

/* Most of the time is spent waiting: several processes share the points out. */
static void
nothing_is_lost(void **state)
{
    pid_t workers[WORKERS];

    (void)state;
    for (long i = 0; i < WORKERS; i++) {
        workers[i] = fork();
        assert_true(workers[i] >= 0);
        if (workers[i] == 0) {
            work(first_point + i);
            _exit(0);
        }
    }
    for (long i = 0; i < WORKERS; i++) {
        assert_int_equal(fixture_wait(workers[i]), 0);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest one[] = {cmocka_unit_test(nothing_is_lost)};

    first_point = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    last_point = argc > 3 ? strtol(argv[3], NULL, 10) : LONG_MAX;
    for (chosen = 0; argc > 1 && chosen < sizeof scenarios / sizeof scenarios[0]; chosen++) {
        if (strcmp(argv[1], scenarios[chosen].name) == 0) {
            return cmocka_run_group_tests(one, NULL, NULL);
        }
    }
    (void)fprintf(stderr, "usage: test_crash objects|one_spill|spills|holds|ending|adoption [FIRST [LAST]]\n");
    return 2;
}
