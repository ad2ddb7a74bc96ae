/* What is said about objects outlives the store: kill -9, the next one, and everything holds as before. */
#include "fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "granary/stream.h"

#define TIMEOUT_MS 60000

static const granary_id none;
static const char *const arguments[] = {"--memory", "64M", NULL};

static void
restart(void **state)
{
    struct daemon *daemon = *state;

    daemon_kill(daemon);
    assert_true(daemon_restart(daemon, arguments));
}

static size_t
holds_of(granary_client *client, uint64_t n)
{
    granary_id id = fixture_id(n);
    granary_hold *holds;
    size_t count;

    assert_ok(granary_holds(client, &id, &holds, &count));
    free(holds);
    return count;
}

static void
await_holds(granary_client *client, uint64_t n, size_t count)
{
    int64_t end = gr_deadline_ns(TIMEOUT_MS);

    while (holds_of(client, n) != count) {
        assert_true(gr_now_ns() < end);
    }
}

static void
await_gone(granary_client *client, uint64_t n)
{
    int64_t end = gr_deadline_ns(TIMEOUT_MS);

    while (granary_object_contains(client, fixture_id(n))) {
        assert_true(gr_now_ns() < end);
    }
}

static granary_object_info
info_of(granary_client *client, uint64_t n)
{
    granary_object_info info;

    assert_ok(granary_object_info_get(client, fixture_id(n), &info));
    return info;
}

static void
pins_references_and_names_outlive_the_store(void **state)
{
    granary_client *client = fixture_connect(state);
    uint64_t mine, session, before;
    granary_hold *holds;
    granary_id id;
    size_t count;

    for (uint64_t n = 1; n <= 4; n++) {
        assert_ok(fixture_put(client, n, 1000, 0));
    }
    assert_ok(granary_pin(client, fixture_id(1), GRANARY_PIN_CLIENT, "mine", &mine));
    assert_ok(granary_pin(client, fixture_id(1), GRANARY_PIN_SESSION, "all of ours", &session));
    assert_ok(granary_reference(client, fixture_id(2), "somebody", NULL));
    assert_ok(granary_reference(client, fixture_id(3), NULL, NULL));
    assert_ok(granary_name_set(client, "four", fixture_id(3), GRANARY_NAME_NEW, none, NULL));
    assert_ok(granary_name_set(client, "four", fixture_id(4), GRANARY_NAME_ANY, none, NULL));
    for (uint64_t n = 1; n <= 4; n++) {
        if (n > 1) {
            assert_ok(granary_object_delete(client, fixture_id(n), 0));
        }
    }
    restart(state);
    assert_int_equal(info_of(client, 1).pins, 2);
    assert_ok(granary_holds(client, NULL, &holds, &count));
    assert_int_equal(count, 5);
    assert_int_equal(holds[0].token, mine);
    assert_string_equal(holds[1].text, "all of ours");
    before = holds[count - 1].token;
    free(holds);
    for (uint64_t n = 2; n <= 4; n++) {
        assert_true(info_of(client, n).dropped);
        fixture_check(client, n, 1000);
    }
    assert_ok(granary_name_get(client, "four", &id));
    assert_memory_equal(&id, &(granary_id[]){fixture_id(4)}[0], sizeof id);

    /* And it ends as it would have. */
    assert_ok(granary_unpin(client, mine));
    assert_ok(granary_unpin(client, session));
    assert_int_equal(info_of(client, 1).pins, 0);
    assert_ok(granary_pin(client, fixture_id(1), GRANARY_PIN_CLIENT, NULL, &mine));
    assert_true(mine > before);
    assert_ok(granary_unreference(client, fixture_id(2), "somebody"));
    assert_ok(granary_unreference(client, fixture_id(3), NULL));
    assert_ok(granary_name_set(client, "four", none, GRANARY_NAME_ID, fixture_id(4), NULL));
    for (uint64_t n = 2; n <= 4; n++) {
        assert_false(granary_object_contains(client, fixture_id(n)));
    }
    granary_disconnect(client);
}

/* A level that the store lacks is refused before anything is sealed, and its buffer is given back. */
static void
what_cannot_be_persisted_is_not_sealed(void **state)
{
    static const granary_levels lacking[] = {GRANARY_LEVEL_GPU, GRANARY_LEVEL_REMOTE,
                                             GRANARY_LEVEL_DISK | GRANARY_LEVEL_REMOTE};
    granary_client *client = fixture_connect(state);
    granary_id id = fixture_id(1);
    granary_writer *writer;

    for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; i++) {
        const granary_object_options options = {.persist = lacking[i]};

        assert_err(granary_object_put_with(client, id, "x", 1, NULL, 0, &options, 0), GRANARY_EUNSUPPORTED);
        assert_err(granary_writer_open(client, id, 0, &options, &writer), GRANARY_EUNSUPPORTED);
        assert_false(granary_object_contains(client, id));
    }
    assert_ok(granary_object_put_with(client, id, "x", 1, NULL, 0,
                                      &(granary_object_options){.persist = GRANARY_LEVEL_DISK}, 0));
    assert_true(info_of(client, 1).persistent);
    granary_disconnect(client);
}

/* A persistent pin writes the object to disk first. */
static void
persistent_pins_outlive_the_store(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_id id = fixture_id(1);
    granary_hold *holds;
    size_t count;

    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_err(granary_object_pin(client, fixture_id(2), GRANARY_PIN_PERSISTENT), GRANARY_ENOENT);
    assert_false(info_of(client, 1).persistent);
    assert_ok(granary_object_pin(client, id, GRANARY_PIN_PERSISTENT));
    assert_true(info_of(client, 1).persistent);
    granary_disconnect(client);
    restart(state);
    client = fixture_connect(state);
    assert_int_equal(info_of(client, 1).pins, 1);
    assert_true(info_of(client, 1).persistent);
    assert_ok(granary_holds(client, &id, &holds, &count));
    assert_int_equal(count, 1);
    assert_int_equal(holds[0].scope, GRANARY_PIN_PERSISTENT);
    free(holds);
    assert_err(granary_object_unpin(client, id, GRANARY_PIN_SESSION), GRANARY_ENOENT);
    assert_ok(granary_object_unpin(client, id, GRANARY_PIN_PERSISTENT));
    assert_int_equal(info_of(client, 1).pins, 0);
    granary_disconnect(client);
}

static void
families_and_counted_objects_outlive_the_store(void **state)
{
    enum { CHILDREN = 3000 };
    granary_client *client = fixture_connect(state);
    granary_id *ids = calloc(CHILDREN, sizeof *ids);
    granary_object_options parent = {.contains = ids, .contains_count = CHILDREN, .counted = true};
    granary_object_options counted = {.counted = true};
    granary_object_options unsealed = {.contains = ids, .contains_count = 1};
    granary_buffer buffer;

    for (uint64_t n = 1; n <= CHILDREN; n++) {
        ids[n - 1] = fixture_id(n);
        assert_ok(granary_object_put_with(client, ids[n - 1], &n, sizeof n, NULL, 0, &counted, GRANARY_NOWAIT));
    }
    assert_ok(granary_object_put_with(client, fixture_id(10000), "p", 1, NULL, 0, &parent, 0));
    assert_ok(granary_object_put_with(client, fixture_id(10001), "c", 1, NULL, 0, &counted, 0));
    assert_ok(granary_object_create_with(client, fixture_id(10002), 8, 0, &unsealed, &buffer));
    await_holds(client, 1, 2); /* a family settles in small steps */
    restart(state);
    assert_int_equal(holds_of(client, 1), 2); /* what is prepared is its living creator's still */
    assert_ok(granary_object_seal(client, &buffer));
    for (uint64_t n = 1; n <= CHILDREN; n++) {
        assert_true(granary_object_contains(client, fixture_id(n)));
    }
    assert_ok(granary_reference(client, fixture_id(10001), "o", NULL));
    restart(state);
    assert_ok(granary_unreference(client, fixture_id(10001), "o"));
    assert_false(granary_object_contains(client, fixture_id(10001)));
    assert_ok(granary_object_delete(client, fixture_id(10000), 0));
    await_gone(client, CHILDREN);
    await_gone(client, 2);
    assert_int_equal(holds_of(client, 1), 1);
    assert_ok(granary_object_delete(client, fixture_id(10002), 0));
    await_gone(client, 1);
    free(ids);
    granary_disconnect(client);
}

static void
aliases_outlive_the_store(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_view view;

    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_ok(granary_alias(client, fixture_id(10), fixture_id(1)));
    assert_ok(granary_alias(client, fixture_id(11), fixture_id(2))); /* is not there yet */
    restart(state);
    assert_ok(granary_object_get(client, fixture_id(10), 0, &view));
    assert_true(fixture_content_is(view.data, 1, 1000));
    granary_object_release(client, &view);
    assert_ok(granary_alias(client, fixture_id(2), fixture_id(1))); /* those that lead there are led on */
    assert_err(granary_alias(client, fixture_id(1), fixture_id(11)), GRANARY_EEXIST);
    assert_ok(granary_object_get(client, fixture_id(11), 0, &view));
    assert_true(fixture_content_is(view.data, 1, 1000));
    granary_object_release(client, &view);
    assert_ok(granary_object_delete(client, fixture_id(2), 0));
    assert_ok(granary_object_get(client, fixture_id(11), 0, &view));
    granary_object_release(client, &view);
    granary_disconnect(client);
}

/* So many leases of one client that the store counts most of them. */
static void
counted_leases_outlive_the_store(void **state)
{
    enum { OBJECTS = 6000 }; /* more than its lease page holds */
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_view *views = calloc(OBJECTS, sizeof *views);
    granary_store_stat stat;
    granary_hold *holds;
    size_t count;

    for (uint64_t n = 0; n < OBJECTS; n++) {
        assert_ok(granary_object_put(client, fixture_id(n), &n, sizeof n, NULL, 0, GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(client));
    for (uint64_t n = 0; n < OBJECTS; n++) {
        assert_ok(granary_object_get(client, fixture_id(n), 0, &views[n]));
    }
    assert_ok(granary_holds(client, NULL, &holds, &count));
    assert_true(count >= OBJECTS - 4096);
    assert_int_equal(holds[0].kind, GRANARY_HOLD_LEASE);
    free(holds);
    restart(state);
    for (uint64_t n = 0; n < OBJECTS; n++) {
        assert_ok(granary_object_delete(other, fixture_id(n), GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(other));
    stat = fixture_stat(other);
    assert_int_equal(stat.retiring_bytes, OBJECTS * 64);
    assert_int_equal(holds_of(client, 1), holds_of(other, 1)); /* a release does not look for the next store itself */
    for (uint64_t n = 0; n < OBJECTS; n++) {
        assert_memory_equal(views[n].data, &n, sizeof n);
        granary_object_release(client, &views[n]);
    }
    for (int64_t end = gr_deadline_ns(TIMEOUT_MS); stat.retiring_bytes > 0; stat = fixture_stat(other)) {
        assert_true(gr_now_ns() < end);
    }
    assert_ok(granary_holds(other, NULL, &holds, &count));
    assert_int_equal(count, 0);
    free(views);
    granary_disconnect(client);
    granary_disconnect(other);
}

/* A client that dies while there is no store: the next store ends what was its own. */
static void
clients_that_die_meanwhile_hold_nothing(void **state)
{
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    int ready[2];
    char byte;
    pid_t child;
    int status;

    for (uint64_t n = 1; n <= 3; n++) {
        assert_ok(fixture_put(client, n, 1000, 0));
    }
    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        granary_object_options family = {.contains = (granary_id[]){fixture_id(3)}, .contains_count = 1};
        granary_object_options counted = {.counted = true};
        granary_client *mine;
        granary_buffer buffer;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        mine = fixture_connect(state);
        assert_ok(granary_pin(mine, fixture_id(1), GRANARY_PIN_CLIENT, NULL, NULL));
        assert_ok(granary_pin(mine, fixture_id(1), GRANARY_PIN_SESSION, NULL, NULL));
        assert_ok(granary_reference(mine, fixture_id(2), NULL, NULL));
        assert_ok(granary_object_create_with(mine, fixture_id(9), 8, 0, &family, &buffer));
        assert_ok(granary_object_put_with(mine, fixture_id(4), "c", 1, NULL, 0, &counted, 0));
        (void)!write(ready[1], "r", 1);
        (void)pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_ok(granary_object_delete(client, fixture_id(2), 0));
    assert_ok(granary_object_delete(client, fixture_id(3), 0));
    daemon_kill(daemon);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(daemon_restart(daemon, arguments));
    await_gone(client, 2);
    await_gone(client, 3);
    await_gone(client, 4);
    await_holds(client, 1, 1);
    assert_int_equal(info_of(client, 1).pins, 1);
    assert_ok(granary_object_unpin(client, fixture_id(1), GRANARY_PIN_SESSION));
    (void)close(ready[0]);
    (void)close(ready[1]);
    granary_disconnect(client);
}

/* ---- waiting for a name ---- */

/* Somebody who waits for the name "coming". */
struct waiter {
    pthread_t thread;
    granary_client *client;
    granary_id id;
    granary_err err;
};

static void *
wait_for_name(void *context)
{
    struct waiter *waiter = context;

    waiter->err = granary_name_wait(waiter->client, "coming", 60000, &waiter->id);
    return NULL;
}

static void
a_name_is_waited_for(void **state)
{
    granary_client *client = fixture_connect(state);
    const granary_id nobody = {{0}};
    granary_id id;

    assert_err(granary_name_wait(client, "", 0, &id), GRANARY_EINVAL);
    assert_err(granary_name_wait(client, "coming", -2, &id), GRANARY_EINVAL);
    assert_err(granary_name_wait(client, "coming", 0, &id), GRANARY_ETIMEDOUT);
    assert_err(granary_name_wait(client, "coming", 20, NULL), GRANARY_ETIMEDOUT);
    assert_ok(fixture_put(client, 1, 100, 0));
    for (int restarts = 0; restarts < 2; restarts++) {
        struct waiter waiter = {.client = fixture_connect(state)};

        assert_int_equal(pthread_create(&waiter.thread, NULL, wait_for_name, &waiter), 0);
        if (restarts > 0) {
            fixture_restart(state);
        }
        assert_ok(granary_name_set(client, "other", fixture_id(1), GRANARY_NAME_ANY, nobody, NULL));
        assert_ok(granary_name_set(client, "coming", fixture_id(1), GRANARY_NAME_NEW, nobody, NULL));
        (void)pthread_join(waiter.thread, NULL);
        assert_ok(waiter.err);
        assert_memory_equal(waiter.id.bytes, fixture_id(1).bytes, sizeof waiter.id.bytes);
        assert_ok(granary_name_wait(client, "coming", 0, &id));
        assert_ok(granary_name_set(client, "coming", nobody, GRANARY_NAME_ANY, nobody, NULL));
        granary_disconnect(waiter.client);
    }
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_name_is_waited_for, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(pins_references_and_names_outlive_the_store, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(what_cannot_be_persisted_is_not_sealed, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(persistent_pins_outlive_the_store, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(families_and_counted_objects_outlive_the_store, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(aliases_outlive_the_store, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(counted_leases_outlive_the_store, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(clients_that_die_meanwhile_hold_nothing, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
