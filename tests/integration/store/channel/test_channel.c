/* Channels: what one process puts another one gets, as bytes or as objects, shared or to each. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "granary/channel.h"
#include "integration/store/fixture.h"

static granary_channel *
make(granary_client *client, const char *name, unsigned flags, uint64_t ring_bytes)
{
    const granary_channel_options options = {.flags = flags, .ring_bytes = ring_bytes, .objects = 4};
    granary_channel *channel = NULL;

    assert_ok(granary_channel_create(client, name, &options, &channel));
    return channel;
}

static granary_channel *
opened(granary_client *client, const char *name)
{
    granary_channel *channel = NULL;

    assert_ok(granary_channel_open(client, name, &channel));
    return channel;
}

static void
put_number(granary_channel *channel, uint64_t number)
{
    assert_ok(granary_channel_put(channel, &number, sizeof number, 0));
}

static granary_message
expect_number(granary_channel *channel, uint64_t number)
{
    granary_message message;

    assert_ok(granary_channel_get(channel, 0, &message));
    assert_int_equal(message.size, sizeof number);
    assert_int_equal(*(const uint64_t *)message.data, number);
    return message;
}

static void
expect_nothing(granary_channel *channel)
{
    granary_message message;

    assert_err(granary_channel_get(channel, 0, &message), GRANARY_ETIMEDOUT);
}

/* ---- bytes ---- */

static void
messages_of_every_size_come_in_order(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *in = make(client, "sizes", 0, 4096), *out = opened(client, "sizes");
    unsigned char bytes[8192];

    /* Many times around the ring; those above a quarter of it are objects. */
    for (uint64_t i = 0; i < 4000; i++) {
        const uint64_t size = i % 67 == 66 ? sizeof bytes : i * 37 % 1009;
        granary_message message;

        fixture_fill(bytes, i, size);
        assert_ok(granary_channel_put(in, bytes, size, 0));
        assert_ok(granary_channel_get(out, 0, &message));
        assert_int_equal(message.size, size);
        assert_int_equal(message.number, i);
        assert_int_equal((uintptr_t)message.data % 16, 0);
        assert_false(message.again);
        assert_true(fixture_content_is(message.data, i, size));
    }
    expect_nothing(out);
    granary_channel_close(in);
    granary_channel_close(out);
    assert_ok(granary_channel_delete(client, "sizes"));
    assert_int_equal(fixture_stat(client).objects, 0);
    granary_disconnect(client);
}

static void
what_is_reserved_is_put_in_place(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *in = make(client, "place", 0, 4096), *out = opened(client, "place");
    granary_message message;
    void *at;

    for (uint64_t size = 16; size <= 65536; size *= 16) {
        assert_err(granary_channel_commit(in), GRANARY_ESTATE);
        assert_ok(granary_channel_reserve(in, 100, 0, &at)); /* given up by the next one */
        assert_ok(granary_channel_reserve(in, size, 0, &at));
        expect_nothing(out);
        fixture_fill(at, size, size);
        assert_ok(granary_channel_commit(in));
        assert_ok(granary_channel_get(out, 0, &message));
        assert_true(message.size == size && fixture_content_is(message.data, size, size));
    }
    granary_channel_close(in);
    granary_channel_close(out);
    granary_disconnect(client);
}

static void
a_full_ring_takes_nothing_until_it_is_read(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *in = make(client, "full", 0, 4096), *out = opened(client, "full");
    uint64_t count = 0, next = 0;
    granary_err err;

    while ((err = granary_channel_put(in, &count, sizeof count, 0)) == GRANARY_OK) {
        count++;
    }
    assert_int_equal(err, GRANARY_ETIMEDOUT);
    assert_non_null(strstr(granary_error_message(), "channel 'full': no room in time"));
    assert_int_equal(count, 4096 / 32);
    /* The message that a reader has is still there. */
    (void)expect_number(out, next++);
    assert_err(granary_channel_put(in, &count, sizeof count, 10), GRANARY_ETIMEDOUT);
    (void)expect_number(out, next++);
    put_number(in, count++);
    assert_err(granary_channel_put(in, &count, sizeof count, 0), GRANARY_ETIMEDOUT);
    while (next < count) {
        (void)expect_number(out, next++);
    }
    granary_channel_done(out);
    expect_nothing(out);
    granary_channel_close(in);
    granary_channel_close(out);
    granary_disconnect(client);
}

/* ---- who gets what ---- */

static void
readers_of_a_queue_share_it(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *in = make(client, "shared", 0, 65536), *out[2];
    granary_message message;

    for (uint64_t i = 0; i < 10; i++) {
        put_number(in, i);
    }
    out[0] = opened(client, "shared");
    out[1] = opened(client, "shared");
    for (uint64_t i = 0; i < 10; i++) {
        (void)expect_number(out[i % 2], i);
    }
    expect_nothing(out[0]); /* whose message is done */
    expect_nothing(out[0]);
    /* The other one is closed with its message: somebody else gets it. */
    granary_channel_close(out[1]);
    message = expect_number(out[0], 9);
    assert_true(message.again);
    expect_nothing(out[0]);
    assert_err(granary_channel_join(out[0], "name", GRANARY_CHANNEL_NEXT), GRANARY_ESTATE);
    assert_err(granary_channel_join(in, "name", GRANARY_CHANNEL_NEXT), GRANARY_EUNSUPPORTED);
    assert_err(granary_channel_forget(in, "name"), GRANARY_EINVAL);
    granary_channel_close(out[0]);
    granary_channel_close(in);
    granary_disconnect(client);
}

static void
readers_of_a_broadcast_have_all_each(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *in = make(client, "all", GRANARY_CHANNEL_BROADCAST, 4096);
    granary_channel *early = opened(client, "all"), *late = opened(client, "all"), *oldest = opened(client, "all");

    put_number(in, 0);
    assert_ok(granary_channel_join(early, NULL, GRANARY_CHANNEL_NEXT));
    put_number(in, 1);
    expect_nothing(late);
    assert_ok(granary_channel_join(oldest, NULL, GRANARY_CHANNEL_OLDEST));
    put_number(in, 2);
    for (uint64_t i = 0; i < 3; i++) {
        (void)expect_number(oldest, i);
    }
    (void)expect_number(early, 1);
    (void)expect_number(early, 2);
    (void)expect_number(late, 2);
    expect_nothing(early);
    granary_channel_close(early);
    granary_channel_close(oldest);
    /* A writer waits for those that are there, and for nobody when there is none. */
    for (uint64_t i = 0; i < 4096 / 32 - 1; i++) {
        put_number(in, i);
    }
    assert_err(granary_channel_put(in, "x", 1, 0), GRANARY_ETIMEDOUT);
    granary_channel_close(late);
    for (uint64_t i = 0; i < 1000; i++) {
        put_number(in, i);
    }
    granary_channel_close(in);
    granary_disconnect(client);
}

static void
a_reader_with_a_name_goes_on_where_it_was(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *in = make(client, "named", GRANARY_CHANNEL_BROADCAST, 4096), *out = opened(client, "named");
    granary_channel_info info;

    assert_err(granary_channel_join(out, "", GRANARY_CHANNEL_NEXT), GRANARY_EINVAL);
    assert_ok(granary_channel_join(out, "log", GRANARY_CHANNEL_NEXT));
    for (uint64_t i = 0; i < 10; i++) {
        put_number(in, i);
    }
    (void)expect_number(out, 0);
    (void)expect_number(out, 1);
    assert_err(granary_channel_forget(in, "log"), GRANARY_ESTATE);
    granary_channel_done(out);
    granary_channel_close(out);
    out = opened(client, "named");
    assert_ok(granary_channel_join(out, "log", GRANARY_CHANNEL_NEXT));
    assert_false(expect_number(out, 2).again);
    granary_channel_close(out);
    assert_ok(granary_channel_describe(in, &info));
    assert_true(info.messages == 10 && info.waiting == 7 && info.readers == 0 && info.writers == 1);
    out = opened(client, "named");
    assert_ok(granary_channel_join(out, "log", GRANARY_CHANNEL_NEXT));
    assert_true(expect_number(out, 2).again); /* it was not done */
    (void)expect_number(out, 3);
    granary_channel_close(out);
    assert_ok(granary_channel_forget(in, "log"));
    assert_err(granary_channel_forget(in, "log"), GRANARY_ENOENT);
    for (uint64_t i = 0; i < 1000; i++) {
        put_number(in, i);
    }
    granary_channel_close(in);
    granary_disconnect(client);
}

static void
an_observer_is_in_nobodys_way(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *in = make(client, "seen", 0, 4096), *out = opened(client, "seen"), *eye = opened(client, "seen");
    granary_message message;

    put_number(in, 0);
    assert_ok(granary_channel_observe(eye, GRANARY_CHANNEL_OLDEST));
    (void)expect_number(eye, 0);
    expect_nothing(eye);
    for (uint64_t i = 0; i < 1000; i++) {
        (void)expect_number(out, i);
        put_number(in, i + 1);
    }
    assert_ok(granary_channel_get(eye, 0, &message));
    assert_true(message.missed > 800 && message.number == message.missed + 1 &&
                *(const uint64_t *)message.data == message.number);
    for (uint64_t i = message.number + 1; i <= 1000; i++) {
        assert_int_equal(expect_number(eye, i).missed, 0);
    }
    expect_nothing(eye);
    (void)expect_number(out, 1000);
    granary_channel_close(eye);
    granary_channel_close(out);
    granary_channel_close(in);
    granary_disconnect(client);
}

/* ---- objects ---- */

static void
objects_go_when_all_are_done_with_them(void **state)
{
    granary_client *client = fixture_connect(state);
    const granary_object_options counted = {.counted = true};
    granary_channel *in = make(client, "objects", 0, 4096), *out = opened(client, "objects");
    granary_message message;

    for (uint64_t i = 0; i < 5; i++) {
        const granary_id id = fixture_id(i);

        assert_ok(granary_object_put_with(client, id, &i, sizeof i, NULL, 0, &counted, 0));
        assert_int_equal(granary_channel_put_object(in, id, 0), i < 4 ? GRANARY_OK : GRANARY_ETIMEDOUT);
        assert_int_equal(granary_object_contains(client, id), i < 4); /* the channel's was the only reference */
    }
    for (uint64_t i = 0; i < 4; i++) {
        message = expect_number(out, i);
        assert_memory_equal(message.id.bytes, fixture_id(i).bytes, sizeof message.id.bytes);
        granary_channel_done(out);
        assert_false(granary_object_contains(client, fixture_id(i)));
    }
    /* One that somebody deletes all the same. */
    assert_ok(fixture_put(client, 9, 100, 0));
    assert_ok(granary_channel_put_object(in, fixture_id(9), 0));
    assert_ok(granary_object_delete(client, fixture_id(9), 0));
    granary_channel_close(in);
    assert_ok(granary_channel_get(out, 0, &message)); /* the channel keeps it */
    assert_int_equal(message.size, 100);
    granary_channel_close(out);
    out = opened(client, "objects");
    assert_err(granary_channel_put_object(out, fixture_id(77), 0), GRANARY_ENOENT);
    granary_channel_close(out);
    assert_ok(granary_channel_delete(client, "objects"));
    assert_int_equal(fixture_stat(client).objects, 0);
    granary_disconnect(client);
}

/* ---- the end ---- */

static void
after_a_seal_readers_get_the_rest_and_an_end(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *in = make(client, "ends", 0, 4096), *out = opened(client, "ends"), *other = opened(client, "ends");
    granary_message message;

    put_number(in, 0);
    put_number(in, 1);
    (void)expect_number(other, 0);
    assert_ok(granary_channel_seal(out));
    assert_err(granary_channel_put(in, "x", 1, 0), GRANARY_ESEALED);
    assert_err(granary_channel_put(other, "x", 1, 0), GRANARY_ESEALED);
    (void)expect_number(out, 1);
    /* The other one's message may come back. */
    expect_nothing(out);
    granary_channel_close(other);
    assert_true(expect_number(out, 0).again);
    assert_err(granary_channel_get(out, -1, &message), GRANARY_ESEALED);
    granary_channel_close(in);
    assert_ok(granary_channel_delete(client, "ends"));
    assert_err(granary_channel_get(out, -1, &message), GRANARY_ESTATE);
    assert_err(granary_channel_put(out, "x", 1, 0), GRANARY_ESTATE);
    assert_err(granary_channel_seal(out), GRANARY_ESTATE);
    granary_channel_close(out);
    granary_disconnect(client);
}

/* A thread that waits for a message, or for room. */
struct sleeper {
    pthread_t thread;
    granary_channel *channel;
    bool puts;
    granary_err err;
};

static void *
sleep_in_channel(void *context)
{
    struct sleeper *sleeper = context;
    granary_message message;

    sleeper->err = sleeper->puts ? granary_channel_put(sleeper->channel, "x", 1, GRANARY_FOREVER)
                                 : granary_channel_get(sleeper->channel, GRANARY_FOREVER, &message);
    return NULL;
}

static void
who_waits_is_told_of_the_end(void **state)
{
    granary_client *client = fixture_connect(state);

    for (int deletes = 0; deletes < 2; deletes++) {
        granary_channel *full = make(client, "full", 0, 4096), *empty = make(client, "empty", 0, 4096);
        struct sleeper sleepers[2] = {{.channel = full, .puts = true}, {.channel = empty}};

        while (granary_channel_put(full, "x", 1, 0) == GRANARY_OK) {
        }
        for (int i = 0; i < 2; i++) {
            assert_int_equal(pthread_create(&sleepers[i].thread, NULL, sleep_in_channel, &sleepers[i]), 0);
        }
        if (deletes == 0) {
            granary_channel *again = opened(client, "full");

            assert_ok(granary_channel_seal(again));
            granary_channel_close(again);
            again = opened(client, "empty");
            assert_ok(granary_channel_seal(again));
            granary_channel_close(again);
        } else {
            assert_ok(granary_channel_delete(client, "full"));
            assert_ok(granary_channel_delete(client, "empty"));
        }
        for (int i = 0; i < 2; i++) {
            (void)pthread_join(sleepers[i].thread, NULL);
            assert_int_equal(sleepers[i].err, deletes ? GRANARY_ESTATE : GRANARY_ESEALED);
            granary_channel_close(sleepers[i].channel);
        }
        if (deletes == 0) {
            assert_ok(granary_channel_delete(client, "full"));
            assert_ok(granary_channel_delete(client, "empty"));
        }
    }
    granary_disconnect(client);
}

/* ---- mistakes ---- */

static void
mistakes_are_told(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *channel = make(client, "mine", 0, 4096), *none = NULL;
    granary_channel_options odd = {.ring_bytes = 5000};
    granary_channel_info *infos = NULL;
    granary_message message;
    size_t count = 0;

    assert_err(granary_channel_create(client, "odd", &odd, &none), GRANARY_EINVAL);
    odd = (granary_channel_options){.flags = 64};
    assert_err(granary_channel_create(client, "odd", &odd, &none), GRANARY_EINVAL);
    odd = (granary_channel_options){.objects = 5000};
    assert_err(granary_channel_create(client, "odd", &odd, &none), GRANARY_EINVAL);
    assert_err(granary_channel_create(client, "mine", NULL, &none), GRANARY_EEXIST);
    assert_err(granary_channel_create(client, "", NULL, &none), GRANARY_EINVAL);
    odd = (granary_channel_options){.flags = GRANARY_CHANNEL_OPEN | GRANARY_CHANNEL_BROADCAST};
    assert_err(granary_channel_create(client, "mine", &odd, &none), GRANARY_ETYPE);
    assert_err(granary_channel_open(client, "other", &none), GRANARY_ENOENT);
    assert_ok(fixture_put(client, 1, 64, 0));
    assert_ok(granary_name_set(client, "object", fixture_id(1), GRANARY_NAME_ANY, (granary_id){{0}}, NULL));
    assert_err(granary_channel_open(client, "object", &none), GRANARY_ETYPE);
    assert_err(granary_channel_delete(client, "object"), GRANARY_ETYPE);
    assert_null(none);
    assert_err(granary_channel_get(channel, -2, &message), GRANARY_EINVAL);
    assert_err(granary_channel_put(channel, "x", 1, -2), GRANARY_EINVAL);
    odd = (granary_channel_options){.flags = GRANARY_CHANNEL_OPEN};
    assert_ok(granary_channel_create(client, "mine", &odd, &none));
    granary_channel_close(none);
    assert_ok(granary_channel_list(client, &infos, &count));
    assert_int_equal(count, 1);
    assert_string_equal(infos[0].name, "mine");
    free(infos);
    granary_channel_close(channel);
    granary_channel_close(NULL);
    granary_disconnect(client);
}

static void
there_are_only_so_many(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *writers[33], *readers[65];
    granary_message message;

    writers[0] = make(client, "many", 0, 4096);
    for (int i = 1; i < 33; i++) {
        writers[i] = opened(client, "many");
    }
    for (int i = 0; i < 33; i++) {
        assert_int_equal(granary_channel_put(writers[i], "x", 1, 0), i < 32 ? GRANARY_OK : GRANARY_EFULL);
    }
    for (int i = 0; i < 65; i++) {
        readers[i] = opened(client, "many");
        assert_int_equal(granary_channel_get(readers[i], 0, &message), i < 32   ? GRANARY_OK
                                                                       : i < 64 ? GRANARY_ETIMEDOUT
                                                                                : GRANARY_EFULL);
    }
    granary_channel_close(readers[3]);
    assert_ok(granary_channel_get(readers[40], 0, &message));
    assert_true(message.again);
    assert_err(granary_channel_get(readers[64], 0, &message), GRANARY_ETIMEDOUT);
    for (int i = 0; i < 64; i++) {
        if (i != 3) {
            granary_channel_done(readers[i]);
        }
    }
    granary_channel_close(writers[7]);
    assert_ok(granary_channel_put(writers[32], "x", 1, 0));
    for (int i = 0; i < 65; i++) {
        granary_channel_close(i == 3 ? NULL : readers[i]);
    }
    for (int i = 0; i < 33; i++) {
        granary_channel_close(i == 7 ? NULL : writers[i]);
    }
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_of_every_size_come_in_order, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(what_is_reserved_is_put_in_place, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_full_ring_takes_nothing_until_it_is_read, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(readers_of_a_queue_share_it, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(readers_of_a_broadcast_have_all_each, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_reader_with_a_name_goes_on_where_it_was, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(an_observer_is_in_nobodys_way, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(objects_go_when_all_are_done_with_them, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(after_a_seal_readers_get_the_rest_and_an_end, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(who_waits_is_told_of_the_end, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(mistakes_are_told, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(there_are_only_so_many, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
