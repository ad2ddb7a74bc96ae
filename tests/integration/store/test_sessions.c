/* Sessions: made, limited, idle, deleted; what one user may do with another's. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "granary/session.h"
#include "granary/stream.h"

#define MIB ((uint64_t)1 << 20)

static granary_client *
connect_to(void **state, const char *session, bool existing, granary_err expect)
{
    granary_connect_options options = {
        .instance = ((struct daemon *)*state)->directory, .session = session, .existing = existing};
    granary_client *client = NULL;

    assert_int_equal(granary_connect(&options, &client), expect);
    return client;
}

static void
create_has_and_delete_mean_what_they_say(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_session_options lenient = {.if_not_exist = true, .quota_bytes = 5 * MIB};
    bool there = true;

    assert_ok(granary_session_has(client, "a", &there));
    assert_false(there);
    assert_null(connect_to(state, "a", true, GRANARY_ENOENT));
    assert_ok(granary_session_create(client, "a", NULL));
    assert_int_equal(granary_session_create(client, "a", NULL), GRANARY_EEXIST);
    assert_int_equal(granary_session_create(client, "a", &lenient), GRANARY_EEXIST); /* with another quota */
    assert_non_null(strstr(granary_error_message(), "quota"));
    lenient.quota_bytes = 0;
    assert_ok(granary_session_create(client, "a", &lenient));
    lenient.idle_ms = 5000;
    assert_int_equal(granary_session_create(client, "a", &lenient), GRANARY_EEXIST);
    assert_ok(granary_session_create(client, "b", &lenient));
    assert_ok(granary_session_create(client, "b", &lenient));
    assert_ok(granary_session_has(client, "a", &there));
    assert_true(there);
    granary_disconnect(connect_to(state, "a", true, GRANARY_OK));
    assert_ok(granary_session_delete(client, "a", false));
    assert_int_equal(granary_session_delete(client, "a", false), GRANARY_ENOENT);
    assert_ok(granary_session_delete(client, "a", true));
    assert_int_equal(granary_session_delete(client, "default", false), GRANARY_EBUSY);
    assert_int_equal(granary_session_create(client, "", NULL), GRANARY_EINVAL);
    assert_int_equal(granary_session_create(client, "a\033[2J", NULL), GRANARY_EINVAL);
    granary_disconnect(client);
}

static void
a_listing_shows_each_session_in_order(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_session_options options = {.quota_bytes = 7 * MIB, .idle_ms = 3600000};
    granary_session_info *infos;
    size_t count;

    for (int i = 0; i < 150; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "s%03d", i);
        assert_ok(granary_session_create(client, name, &options));
    }
    assert_ok(granary_session_list(client, &infos, &count));
    assert_int_equal(count, 151);
    assert_string_equal(infos[0].name, "default");
    assert_int_equal(infos[0].clients, 1);
    assert_string_equal(infos[150].name, "s149");
    assert_int_equal(infos[150].quota_bytes, 7 * MIB);
    assert_int_equal(infos[150].idle_ms, 3600000);
    assert_int_equal(infos[150].uid, getuid());
    free(infos);
    granary_disconnect(client);
}

static void
a_deleted_session_takes_its_objects_and_spares_its_readers(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = connect_to(state, "doomed", false, GRANARY_OK);
    granary_store_stat stat;
    granary_buffer open;
    granary_view view;

    for (unsigned i = 1; i <= 5; i++) {
        assert_ok(fixture_put(other, i, 20 * MIB, 0)); /* more than the budget: some are spilled */
    }
    assert_ok(granary_object_get(other, fixture_id(5), 1000, &view));
    assert_ok(granary_object_create(other, fixture_id(9), 1000, 0, 1000, &open));
    assert_ok(granary_session_delete(client, "doomed", false));
    /* What it has mapped stays, to read and to write; everything else is an error. */
    assert_true(fixture_content_is(view.data, 5, 20 * MIB));
    memset(open.data, 1, 1000);
    assert_int_equal(granary_object_seal(other, &open), GRANARY_EUNREACHABLE);
    assert_int_equal(fixture_put(other, 6, 1000, 0), GRANARY_EUNREACHABLE);
    granary_object_release(other, &view);
    granary_disconnect(other);
    fixture_settle(client, 1);
    do { /* a worker may still be writing some of it */
        stat = fixture_stat(client);
    } while (stat.objects > 0);
    assert_int_equal(stat.sealed_bytes, 0);
    assert_int_equal(stat.spilled_bytes, 0);
    assert_int_equal(stat.disk_bytes, 0);
    assert_ok(fixture_put(client, 1, 40 * MIB, 0)); /* all of the memory is there again */
    fixture_check(client, 1, 40 * MIB);
    /* The name is free, and names an empty session. */
    other = connect_to(state, "doomed", false, GRANARY_OK);
    assert_false(granary_object_contains(other, fixture_id(5)));
    granary_disconnect(other);
    granary_disconnect(client);
}

/* Every way in which an object can be kept, and all that can be under way, ends with its session. */
static void
a_deleted_session_leaves_nothing_and_does_not_come_back(void **state)
{
    struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    granary_client *other = connect_to(state, "rich", false, GRANARY_OK);
    granary_client *reader = connect_to(state, "rich", false, GRANARY_OK);
    const granary_id nothing = {{0}};
    granary_subscription *subscription;
    granary_store_stat before = fixture_stat(client);
    granary_store_stat stat;
    granary_event event;
    granary_err err;
    granary_id ids[4];
    granary_view view, part;
    bool there = true;

    assert_ok(granary_subscribe(reader, ~0u, &subscription));
    for (unsigned i = 1; i <= 8; i++) {
        assert_ok(fixture_put(other, i, 7 * MIB, 0));
    }
    assert_ok(granary_object_move(other, fixture_id(1), GRANARY_LEVEL_DISK, 0, 10000));
    assert_ok(granary_object_move(other, fixture_id(2), GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, 10000));
    assert_ok(granary_object_move(other, fixture_id(3), 0, GRANARY_LEVEL_MEMORY, 10000));
    assert_ok(granary_object_pin(other, fixture_id(4), GRANARY_PIN_SESSION));
    assert_ok(granary_object_pin(other, fixture_id(5), GRANARY_PIN_PERSISTENT));
    assert_ok(granary_name_set(other, "name", fixture_id(4), GRANARY_NAME_NEW, nothing, NULL));
    assert_ok(granary_alias(other, fixture_id(100), fixture_id(4)));
    assert_ok(granary_reference(other, fixture_id(6), "owner", NULL));
    assert_ok(granary_object_delete(other, fixture_id(6), 0));
    assert_ok(granary_object_get_range(other, fixture_id(2), 1000, 1000, 10000, &part));
    /* Deleted, and leased by somebody who never learns of the session's end. */
    assert_ok(granary_object_get(reader, fixture_id(7), 1000, &view));
    assert_ok(granary_object_delete(other, fixture_id(7), 0));
    for (unsigned i = 0; i < 4; i++) {
        ids[i] = fixture_id(i + 1);
    }
    assert_ok(granary_object_prefetch(other, ids, 4));
    (void)granary_object_move(other, fixture_id(8), GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, 0);
    assert_ok(granary_session_delete(client, "rich", false));
    do {
        stat = fixture_stat(client);
    } while (stat.objects + stat.sealed_bytes + stat.retiring_bytes + stat.disk_bytes + stat.spilled_bytes > 0 ||
             stat.index_bytes >= before.index_bytes);
    assert_int_equal(stat.objects_spilled, 0);
    for (unsigned i = 1; i <= 12; i++) { /* the memory is used again, by others */
        assert_ok(fixture_put(client, i, 7 * MIB, 0));
    }
    assert_true(fixture_content_is(view.data, 7, 7 * MIB));
    do {
        err = granary_subscription_next(subscription, 1000, &event);
    } while (err == GRANARY_OK);
    assert_int_equal(err, GRANARY_EUNREACHABLE);
    granary_unsubscribe(subscription);
    granary_object_release(reader, &view);
    granary_object_release(other, &part);
    granary_disconnect(reader);
    granary_disconnect(other);
    granary_disconnect(client);

    assert_int_equal(kill(daemon->pid, SIGTERM), 0);
    assert_int_equal(fixture_wait(daemon->pid), 0);
    daemon->pid = 0;
    assert_true(daemon_restart(daemon, NULL));
    client = fixture_connect(state);
    assert_ok(granary_session_has(client, "rich", &there));
    assert_false(there);
    assert_int_equal(fixture_stat(client).disk_bytes, 0);
    granary_disconnect(client);
}

static void
a_session_nobody_uses_is_deleted(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_session_options options = {.idle_ms = 50};
    granary_client *other;
    bool there = true;

    assert_ok(granary_session_create(client, "brief", &options));
    other = connect_to(state, "brief", true, GRANARY_OK);
    assert_ok(fixture_put(other, 1, 1000, 0));
    (void)usleep(200000); /* longer than its idle time: but it is used */
    assert_ok(granary_session_has(client, "brief", &there));
    assert_true(there);
    granary_disconnect(other);
    for (int i = 0; i < 6000 && there; i++) {
        (void)usleep(10000);
        assert_ok(granary_session_has(client, "brief", &there));
    }
    assert_false(there);
    granary_disconnect(client);
}

static void
one_session_does_not_see_another(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = connect_to(state, "other", false, GRANARY_OK);
    granary_view view;

    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_int_equal(granary_object_get(other, fixture_id(1), 0, &view), GRANARY_ENOENT);
    assert_int_equal(granary_object_delete(other, fixture_id(1), 0), GRANARY_ENOENT);
    assert_ok(fixture_put(other, 1, 2000, 0)); /* the same id means another object there */
    fixture_check(client, 1, 1000);
    fixture_check(other, 1, 2000);
    granary_disconnect(other);
    granary_disconnect(client);
}

/* In a strict session a seal proves that its creator cannot write any more. */
static void
a_strict_session_takes_the_pen_away(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_session_options options = {.strict = true};
    granary_client *strict;
    granary_buffer buffer;
    pid_t child;
    void *kept;

    assert_ok(granary_session_create(client, "strict", &options));
    strict = connect_to(state, "strict", true, GRANARY_OK);
    assert_ok(fixture_put(strict, 1, 1000, 0));
    assert_ok(fixture_put(strict, 2, 9 * MIB, 0));
    fixture_check(strict, 1, 1000);
    fixture_check(strict, 2, 9 * MIB);
    child = fork();
    if (child == 0) {
        granary_client *own = connect_to(state, "strict", true, GRANARY_OK);

        (void)signal(SIGSEGV, SIG_DFL); /* the test's own handler makes it an exit */
        if (granary_object_create(own, fixture_id(3), 5000, 0, 1000, &buffer) == GRANARY_OK) {
            char *at = buffer.data;

            fixture_fill(at, 3, 5000);
            if (granary_object_seal(own, &buffer) == GRANARY_OK) {
                at[0]++; /* the pen is gone */
            }
        }
        _exit(0);
    }
    assert_int_equal(fixture_wait(child), 128 + SIGSEGV);
    fixture_check(strict, 3, 5000);
    /* Who keeps a second mapping of it does not get it sealed. */
    assert_ok(granary_object_create(strict, fixture_id(4), 5000, 0, 1000, &buffer));
    kept = mremap(buffer.data, 0, 8192, MREMAP_MAYMOVE);
    assert_true(kept != MAP_FAILED);
    assert_err(granary_object_seal(strict, &buffer), GRANARY_EPERM);
    assert_false(granary_object_contains(strict, fixture_id(4)));
    (void)munmap(kept, 8192);
    assert_ok(fixture_put(strict, 4, 5000, 0));
    for (unsigned i = 10; i < 20; i++) { /* more than the budget: proven segments come and go like others */
        assert_ok(fixture_put(strict, i, 10 * MIB, 0));
    }
    for (unsigned i = 10; i < 20; i++) {
        fixture_check(strict, i, 10 * MIB);
    }
    granary_disconnect(strict);
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(create_has_and_delete_mean_what_they_say, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_listing_shows_each_session_in_order, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_deleted_session_takes_its_objects_and_spares_its_readers, fixture_start,
                                        fixture_stop),
        cmocka_unit_test_setup_teardown(a_deleted_session_leaves_nothing_and_does_not_come_back, fixture_start,
                                        fixture_stop),
        cmocka_unit_test_setup_teardown(a_session_nobody_uses_is_deleted, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_strict_session_takes_the_pen_away, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(one_session_does_not_see_another, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
