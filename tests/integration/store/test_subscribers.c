/* Subscribers that poll a descriptor, and those that are told what was there before. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "granary/stream.h"

static bool
is_readable(int fd, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, timeout_ms) > 0;
}

static bool
is_of(const granary_event *event, uint64_t n)
{
    granary_id id = fixture_id(n);

    return memcmp(&event->id, &id, sizeof id) == 0;
}

static void
what_is_there_is_told_first(void **state)
{
    enum { OBJECTS = 600 }; /* more than a page of the listing */
    static int seen[OBJECTS];
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_subscription *subscription;
    granary_event event;

    for (uint64_t n = 0; n < OBJECTS; n++) {
        assert_ok(fixture_put(other, n, 10 + n, GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(other));
    assert_ok(granary_object_delete(other, fixture_id(7), 0));
    assert_ok(granary_subscribe(client, 1u << GRANARY_EVENT_DELETE | GRANARY_SUBSCRIBE_EXISTING, &subscription));
    for (size_t i = 0; i < OBJECTS - 1; i++) {
        uint64_t n = 0;

        assert_ok(granary_subscription_next(subscription, 0, &event));
        assert_int_equal(event.kind, GRANARY_EVENT_SEAL);
        n = event.size - 10;
        assert_true(n < OBJECTS && n != 7 && is_of(&event, n));
        assert_int_equal(seen[n]++, 0);
        assert_true(event.time_ns > 0);
    }
    assert_err(granary_subscription_next(subscription, 0, &event), GRANARY_ETIMEDOUT);
    assert_ok(fixture_put(other, 7, 10, 0)); /* of a kind that is not wanted */
    assert_ok(granary_object_delete(other, fixture_id(9), 0));
    assert_ok(granary_subscription_next(subscription, 10000, &event));
    assert_int_equal(event.kind, GRANARY_EVENT_DELETE);
    assert_true(is_of(&event, 9));
    granary_unsubscribe(subscription);
    granary_disconnect(other);
    granary_disconnect(client);
}

static void
a_descriptor_polls(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_subscription *subscription;
    granary_event event;
    int fd = -1;
    int again = -1;

    assert_ok(granary_subscribe(client, 0, &subscription));
    assert_ok(granary_subscription_fd(subscription, &fd));
    assert_ok(granary_subscription_fd(subscription, &again));
    assert_int_equal(fd, again);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    for (uint64_t n = 0; n < 200; n++) {
        do { /* the thread may have announced late what was taken since; nothing moves, so that ends */
            assert_err(granary_subscription_next(subscription, 0, &event), GRANARY_ETIMEDOUT);
        } while (is_readable(fd, 0));
        assert_ok(fixture_put(other, 2 * n, 10, 0));
        if (n % 2 == 0) {
            assert_ok(fixture_put(other, 2 * n + 1, 10, 0));
        }
        assert_true(is_readable(fd, 10000));
        assert_ok(granary_subscription_next(subscription, 0, &event));
        assert_true(is_of(&event, 2 * n));
        if (n % 2 == 0) {
            assert_ok(granary_subscription_next(subscription, 0, &event));
            assert_true(is_of(&event, 2 * n + 1));
        }
    }
    granary_unsubscribe(subscription);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    granary_disconnect(other);
    granary_disconnect(client);
}

struct putter {
    granary_client *client;
    uint64_t count;
};

static void *
put_all(void *context)
{
    const struct putter *putter = context;

    for (uint64_t n = 0; n < putter->count; n++) {
        if (fixture_put(putter->client, n, 10, n % 7 == 0 ? 0 : GRANARY_NOWAIT) != GRANARY_OK) {
            abort();
        }
    }
    return granary_flush(putter->client) == GRANARY_OK ? NULL : context;
}

/* It polls whenever there is nothing: an event that was not announced would hang it. */
static void
no_event_is_missed(void **state)
{
    enum { EVENTS = 20000 };
    granary_client *client = fixture_connect(state);
    struct putter putter = {.client = fixture_connect(state), .count = EVENTS};
    granary_subscription *subscription;
    uint64_t seen = 0;
    pthread_t thread;
    void *failed;
    int fd;

    assert_ok(granary_subscribe(client, 1u << GRANARY_EVENT_SEAL, &subscription));
    assert_ok(granary_subscription_fd(subscription, &fd));
    assert_int_equal(pthread_create(&thread, NULL, put_all, &putter), 0);
    while (seen < EVENTS) {
        granary_event event;
        granary_err err = granary_subscription_next(subscription, 0, &event);

        if (err == GRANARY_ETIMEDOUT) {
            assert_true(is_readable(fd, 20000));
            continue;
        }
        assert_ok(err);
        seen += event.kind == GRANARY_EVENT_LOST ? event.size : 1;
    }
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    granary_unsubscribe(subscription);
    granary_disconnect(putter.client);
    granary_disconnect(client);
}

static void
a_restart_makes_it_readable(void **state)
{
    static const char *const arguments[] = {"--memory", "64M", NULL};
    granary_client *client = fixture_connect(state);
    granary_subscription *subscription;
    granary_event event;
    int fd;

    assert_ok(granary_subscribe(client, 1u << GRANARY_EVENT_SEAL, &subscription));
    assert_ok(granary_subscription_fd(subscription, &fd));
    assert_err(granary_subscription_next(subscription, 0, &event), GRANARY_ETIMEDOUT);
    daemon_kill(*state);
    assert_true(daemon_restart(*state, arguments));
    assert_true(is_readable(fd, 10000));
    assert_ok(granary_subscription_next(subscription, 10000, &event));
    assert_int_equal(event.kind, GRANARY_EVENT_RESTART);
    while (granary_subscription_next(subscription, 0, &event) == GRANARY_OK) {
    }
    assert_ok(fixture_put(client, 2, 20, 0));
    assert_true(is_readable(fd, 10000));
    assert_ok(granary_subscription_next(subscription, 0, &event));
    assert_true(event.kind == GRANARY_EVENT_SEAL && is_of(&event, 2));
    granary_unsubscribe(subscription);
    granary_disconnect(client);
}

int
main(void)
{
#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)
    const struct CMUnitTest tests[] = {
        STORE_TEST(what_is_there_is_told_first),
        STORE_TEST(a_descriptor_polls),
        STORE_TEST(no_event_is_missed),
        STORE_TEST(a_restart_makes_it_readable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
