/* Objects that are errors: whoever gets one gets its error, wherever it lies and however it is reached. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "integration/store/fixture.h"

#define SAID "node 'x': no number in row 7"

static void
assert_fails(granary_err err)
{
    assert_int_equal(err, GRANARY_ETYPE);
    assert_non_null(strstr(granary_error_message(), SAID));
}

static void
every_get_fails_with_it(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_id ids[] = {fixture_id(1), fixture_id(2)};
    granary_view views[2];
    granary_err err = GRANARY_OK;
    bool there = false;
    char text[64];
    char little[8];
    size_t at;

    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_err(granary_object_put_error(client, ids[1], GRANARY_OK, "fine"), GRANARY_EINVAL);
    assert_err(granary_object_put_error(client, ids[1], (granary_err)-999, "unheard of"), GRANARY_EINVAL);
    assert_err(granary_object_put_error(client, ids[1], (granary_err)1, "positive"), GRANARY_EINVAL);
    assert_err(granary_object_put_error(client, ids[0], GRANARY_ETYPE, SAID), GRANARY_EEXIST);
    assert_ok(granary_object_put_error(client, ids[1], GRANARY_ETYPE, SAID));
    assert_fails(granary_object_get(other, ids[1], 0, &views[0]));
    assert_fails(granary_object_get(client, ids[1], GRANARY_FOREVER, &views[0]));
    assert_fails(granary_object_get_many(other, ids, 2, 0, views, &at));
    assert_int_equal(at, 1);
    assert_fails(granary_object_get_range(other, ids[1], 0, 0, 0, &views[0]));
    assert_fails(granary_object_get_range(other, ids[1], 0, 10, 0, &views[0]));
    assert_ok(granary_object_wait(other, &ids[1], 1, 1, 0, &there));
    assert_true(there);
    assert_true(granary_object_contains(other, ids[1]));

    assert_ok(granary_object_error(other, ids[1], &err, text, sizeof text));
    assert_int_equal(err, GRANARY_ETYPE);
    assert_string_equal(text, SAID);
    assert_ok(granary_object_error(other, ids[1], &err, little, sizeof little));
    assert_string_equal(little, "node 'x");
    assert_err(granary_object_error(other, ids[0], &err, NULL, 0), GRANARY_ESTATE);
    assert_err(granary_object_error(other, fixture_id(3), &err, NULL, 0), GRANARY_ENOENT);

    assert_ok(granary_alias(client, fixture_id(4), ids[1]));
    assert_fails(granary_object_get(other, fixture_id(4), 0, &views[0]));
    assert_ok(granary_object_move(client, ids[1], GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, 5000));
    assert_fails(granary_object_get_range(other, ids[1], 0, 0, 0, &views[0]));
    assert_fails(granary_object_get(other, ids[1], 0, &views[0]));

    /* An ordinary object of metadata only is what it is. */
    assert_ok(granary_object_put(client, fixture_id(5), NULL, 0, "metadata of an ordinary object, long enough", 43, 0));
    assert_ok(granary_object_get(other, fixture_id(5), 0, &views[0]));
    granary_object_release(other, &views[0]);

    assert_ok(granary_object_delete(client, ids[1], 0));
    assert_err(granary_object_get(other, ids[1], 0, &views[0]), GRANARY_ENOENT);
    fixture_check(other, 1, 1000);
    granary_disconnect(other);
    granary_disconnect(client); /* no lease of a failed get is left: the teardown looks */
}

static void *
wait_for_it(void *argument)
{
    granary_client *client = argument;
    granary_view view;
    granary_err err = granary_object_get(client, fixture_id(1), 20000, &view);

    return (void *)(intptr_t)(err == GRANARY_ETYPE && strstr(granary_error_message(), SAID) != NULL);
}

static void
who_waits_is_told(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    pthread_t thread;
    void *told = NULL;

    assert_int_equal(pthread_create(&thread, NULL, wait_for_it, other), 0);
    assert_ok(granary_object_put_error(client, fixture_id(1), GRANARY_ETYPE, SAID));
    assert_int_equal(pthread_join(thread, &told), 0);
    assert_non_null(told);
    granary_disconnect(other);
    granary_disconnect(client);
}

static void
it_outlives_the_store(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_view view;

    assert_ok(granary_object_put_error(client, fixture_id(1), GRANARY_ETYPE, SAID));
    fixture_restart(state);
    assert_fails(granary_object_get(client, fixture_id(1), 0, &view));
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_get_fails_with_it, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(who_waits_is_told, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(it_outlives_the_store, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
