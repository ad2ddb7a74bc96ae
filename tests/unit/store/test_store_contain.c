/* Objects that contain others, and objects that live only as long as somebody holds them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "granary/hold.h"
#include "live.h"

#define MIB ((uint64_t)1 << 20)

static int
setup(void **state)
{
    return live_world_setup(state, 64 * MIB);
}

/* Object n, which contains the objects first .. first + count - 1. */
static granary_err
put_parent(granary_client *client, uint64_t n, uint64_t first, size_t count, int flags)
{
    granary_id *ids = calloc(count, sizeof *ids);
    granary_object_options options = {.contains = ids, .contains_count = count};
    granary_err err;

    for (size_t i = 0; i < count; i++) {
        ids[i] = live_id(first + i);
    }
    err = granary_object_put_with(client, live_id(n), &n, sizeof n, NULL, 0, &options, flags);
    free(ids);
    return err;
}

static granary_err
put_counted(granary_client *client, uint64_t n)
{
    granary_object_options options = {.counted = true};

    return granary_object_put_with(client, live_id(n), &n, sizeof n, NULL, 0, &options, 0);
}

static uint64_t
objects_of(granary_client *client)
{
    granary_store_stat stat;

    assert_int_equal(granary_store_stat_get(client, &stat), GRANARY_OK);
    return stat.objects;
}

static void
await_objects(granary_client *client, uint64_t objects)
{
    int64_t end = gr_deadline_ns(60000);

    while (objects_of(client) != objects) {
        assert_true(gr_now_ns() < end);
        (void)granary_flush(client);
    }
}

static void
children_live_while_their_parent_does(void **state)
{
    struct live_world *world = *state;
    granary_id id = live_id(1);
    granary_hold *holds;
    size_t count;

    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(live_put(world->client, 2, 1000), GRANARY_OK);
    assert_int_equal(put_parent(world->client, 10, 1, 2, 0), GRANARY_OK);
    assert_int_equal(put_parent(world->client, 11, 1, 1, 0), GRANARY_OK);
    assert_int_equal(granary_holds(world->other, &id, &holds, &count), GRANARY_OK);
    assert_int_equal(count, 2);
    assert_int_equal(holds[0].kind, GRANARY_HOLD_CONTAINER);
    assert_memory_equal(&holds[0].container, &(granary_id[]){live_id(10)}[0], sizeof id);
    assert_memory_equal(&holds[1].container, &(granary_id[]){live_id(11)}[0], sizeof id);
    free(holds);
    assert_int_equal(granary_object_delete(world->client, live_id(1), 0), GRANARY_OK);
    assert_int_equal(live_verify(world->other, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_object_delete(world->client, live_id(10), 0), GRANARY_OK);
    live_await_holds(world->client, 1, 1);
    live_await_holds(world->client, 2, 0);
    assert_int_equal(live_verify(world->other, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_object_delete(world->client, live_id(11), 0), GRANARY_OK);
    live_await_gone(world->client, 1);
    assert_true(granary_object_contains(world->client, live_id(2))); /* nobody has deleted it */
}

/* A deleted parent that is leased holds its children until the lease ends; its id may be used again meanwhile. */
static void
leased_parents_hold_their_children(void **state)
{
    struct live_world *world = *state;
    granary_view view;

    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(put_parent(world->client, 10, 1, 1, 0), GRANARY_OK);
    assert_int_equal(granary_object_get(world->other, live_id(10), 0, &view), GRANARY_OK);
    assert_int_equal(granary_object_delete(world->client, live_id(1), 0), GRANARY_OK);
    assert_int_equal(granary_object_delete(world->client, live_id(10), 0), GRANARY_OK);
    assert_int_equal(put_parent(world->client, 10, 1, 1, 0), GRANARY_OK);
    assert_int_equal(live_holds(world->client, 1), 2);
    granary_object_release(world->other, &view);
    live_await_holds(world->client, 1, 1);
    assert_int_equal(live_verify(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_object_delete(world->client, live_id(10), 0), GRANARY_OK);
    live_await_gone(world->client, 1);
}

static void
impossible_families_are_refused(void **state)
{
    struct live_world *world = *state;
    granary_object_options no_ids = {.contains_count = 3};
    granary_object_options one = {.contains = (granary_id[]){live_id(1)}, .contains_count = 1};
    granary_buffer buffer, theirs;

    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(put_parent(world->client, 10, 1, 2, 0), GRANARY_ENOENT);
    assert_int_equal(put_parent(world->client, 1, 1, 1, 0), GRANARY_EEXIST);
    assert_int_equal(put_parent(world->client, 10, 10, 1, 0), GRANARY_EINVAL);
    assert_int_equal(granary_object_create_with(world->client, live_id(10), 8, 0, &no_ids, &buffer), GRANARY_EINVAL);
    assert_int_equal(live_holds(world->client, 1), 0);
    assert_false(granary_object_contains(world->client, live_id(10)));

    /* Two make the same object: one of them at a time; given up, it is the other's. */
    assert_int_equal(granary_object_create_with(world->client, live_id(10), 8, 0, &one, &buffer), GRANARY_OK);
    assert_int_equal(granary_object_create_with(world->other, live_id(10), 8, 0, &one, &theirs), GRANARY_EBUSY);
    assert_int_equal(live_holds(world->client, 1), 1);
    granary_object_abort(world->client, &buffer);
    live_await_holds(world->client, 1, 0);
    assert_int_equal(granary_object_create_with(world->other, live_id(10), 8, 0, &one, &theirs), GRANARY_OK);

    /* Somebody seals the id without a word of children: whoever prepared them fails, and lets them go. */
    assert_int_equal(live_put(world->client, 10, 8), GRANARY_OK);
    assert_int_equal(granary_object_seal(world->other, &theirs), GRANARY_EEXIST);
    live_await_holds(world->client, 1, 0);
}

/* More than one message holds, and not all of them there. */
static void
large_families_are_noted_whole_or_not_at_all(void **state)
{
    enum { CHILDREN = 5000 };
    struct live_world *world = *state;

    for (uint64_t n = 1; n <= CHILDREN; n++) {
        assert_int_equal(granary_object_put(world->client, live_id(n), &n, sizeof n, NULL, 0, GRANARY_NOWAIT),
                         GRANARY_OK);
    }
    assert_int_equal(granary_flush(world->client), GRANARY_OK);
    assert_int_equal(put_parent(world->client, 100000, 1, CHILDREN + 1, 0), GRANARY_ENOENT);
    live_await_holds(world->client, 1, 0);
    live_await_holds(world->client, CHILDREN, 0);
    assert_int_equal(put_parent(world->client, 100000, 1, CHILDREN, 0), GRANARY_OK);
    for (uint64_t n = 1; n <= CHILDREN; n++) {
        assert_int_equal(granary_object_delete(world->client, live_id(n), GRANARY_NOWAIT), GRANARY_OK);
    }
    assert_int_equal(granary_flush(world->client), GRANARY_OK);
    assert_int_equal(objects_of(world->client), CHILDREN + 1);
    assert_int_equal(granary_object_delete(world->client, live_id(100000), 0), GRANARY_OK);
    await_objects(world->client, 0);
}

/* What a dead client prepared is let go; what it sealed stays. */
static void
unsealed_families_end_with_their_client(void **state)
{
    struct live_world *world = *state;
    granary_client *third = live_connect(&world->live, NULL);
    granary_object_options one = {.contains = (granary_id[]){live_id(1)}, .contains_count = 1};
    granary_buffer buffer;

    assert_int_equal(live_put(third, 1, 1000), GRANARY_OK);
    assert_int_equal(live_put(third, 2, 1000), GRANARY_OK);
    assert_int_equal(granary_object_create_with(third, live_id(10), 8, 0, &one, &buffer), GRANARY_OK);
    assert_int_equal(put_parent(third, 20, 2, 1, 0), GRANARY_OK);
    assert_int_equal(granary_object_delete(third, live_id(1), 0), GRANARY_OK);
    assert_int_equal(granary_object_delete(third, live_id(2), 0), GRANARY_OK);
    assert_true(granary_object_contains(world->client, live_id(1)));
    granary_disconnect(third);
    live_await_gone(world->client, 1);
    assert_int_equal(live_verify(world->client, 2, 1000), GRANARY_OK);
}

/* Each contains the one before: the last one goes, and they all do, however many. Nobody waits for it meanwhile. */
static void
deep_families_end_without_recursion(void **state)
{
    enum { DEEP = 100000 };
    struct live_world *world = *state;
    int64_t slowest_ns = 0;
    uint64_t looks = 0;

    assert_int_equal(put_counted(world->client, 1), GRANARY_OK);
    for (uint64_t n = 2; n <= DEEP; n++) {
        granary_id child = live_id(n - 1);
        granary_object_options options = {.counted = true, .contains = &child, .contains_count = 1};

        assert_int_equal(
            granary_object_put_with(world->client, live_id(n), &n, sizeof n, NULL, 0, &options, GRANARY_NOWAIT),
            GRANARY_OK);
    }
    assert_int_equal(granary_flush(world->client), GRANARY_OK);
    assert_int_equal(objects_of(world->client), DEEP);
    assert_int_equal(granary_object_delete(world->client, live_id(DEEP), 0), GRANARY_OK);
    for (int64_t end = gr_deadline_ns(60000); objects_of(world->client) > 0; looks++) {
        int64_t before = gr_now_ns();

        (void)live_holds(world->client, 1);
        slowest_ns = gr_now_ns() - before > slowest_ns ? gr_now_ns() - before : slowest_ns;
        assert_true(gr_now_ns() < end);
    }
    print_message("%llu requests while it ended, the slowest %.2f ms\n", (unsigned long long)looks,
                  (double)slowest_ns / 1e6);
}

/* ---- counted objects ---- */

static void
counted_objects_end_with_their_last_hold(void **state)
{
    struct live_world *world = *state;
    granary_object_info info;

    assert_int_equal(put_counted(world->client, 1), GRANARY_OK);
    assert_int_equal(granary_object_info_get(world->client, live_id(1), &info), GRANARY_OK);
    assert_true(info.counted);
    assert_int_equal(granary_reference(world->other, live_id(1), "a", NULL), GRANARY_OK);
    assert_int_equal(granary_name_set(world->other, "n", live_id(1), GRANARY_NAME_NEW, (granary_id){{0}}, NULL),
                     GRANARY_OK);
    assert_int_equal(granary_unreference(world->other, live_id(1), "a"), GRANARY_OK);
    assert_true(granary_object_contains(world->client, live_id(1)));
    assert_int_equal(granary_name_set(world->other, "n", (granary_id){{0}}, GRANARY_NAME_ANY, (granary_id){{0}}, NULL),
                     GRANARY_OK);
    assert_false(granary_object_contains(world->client, live_id(1)));
    assert_int_equal(put_counted(world->client, 1), GRANARY_OK);
    assert_int_equal(put_counted(world->client, 1), GRANARY_EEXIST);
    assert_int_equal(granary_object_delete(world->other, live_id(1), 0), GRANARY_OK); /* only its creator's: at once */
    assert_false(granary_object_contains(world->client, live_id(1)));
    assert_int_equal(live_holds(world->client, 1), 0);
}

/* Nobody ever held it: it ends with its creator. Somebody did: it does not. */
static void
counted_objects_nobody_held_end_with_their_creator(void **state)
{
    struct live_world *world = *state;
    granary_client *third = live_connect(&world->live, NULL);

    assert_int_equal(put_counted(third, 1), GRANARY_OK);
    assert_int_equal(put_counted(third, 2), GRANARY_OK);
    assert_int_equal(put_counted(third, 3), GRANARY_OK);
    assert_int_equal(granary_reference(world->client, live_id(2), "me", NULL), GRANARY_OK);
    assert_int_equal(put_parent(third, 10, 3, 1, 0), GRANARY_OK);
    granary_disconnect(third);
    live_await_gone(world->client, 1);
    live_await_holds(world->client, 2, 1);
    live_await_holds(world->client, 3, 1);
    assert_true(granary_object_contains(world->client, live_id(2)));
    assert_true(granary_object_contains(world->client, live_id(3)));
    assert_int_equal(granary_object_delete(world->client, live_id(10), 0), GRANARY_OK);
    live_await_gone(world->client, 3);
    assert_int_equal(granary_unreference(world->client, live_id(2), "me"), GRANARY_OK);
    assert_false(granary_object_contains(world->client, live_id(2)));
}

/* A parent that is given up has not held its counted children yet. */
static void
counted_children_survive_a_parent_that_is_not_made(void **state)
{
    struct live_world *world = *state;
    granary_object_options one = {.contains = (granary_id[]){live_id(1)}, .contains_count = 1};
    granary_buffer buffer;

    assert_int_equal(put_counted(world->client, 1), GRANARY_OK);
    assert_int_equal(granary_object_create_with(world->client, live_id(10), 8, 0, &one, &buffer), GRANARY_OK);
    granary_object_abort(world->client, &buffer);
    live_await_holds(world->client, 1, 1); /* its creator's */
    assert_true(granary_object_contains(world->client, live_id(1)));
}

/* A container that survives the machine's restart has what it contains, however deep, and in whatever order. */
static void
members_are_as_persistent_as_their_container(void **state)
{
    struct live_world *world = *state;
    const granary_levels disk = GRANARY_LEVEL_DISK;

    for (uint64_t n = 1; n <= 3; n++) {
        assert_int_equal(live_put(world->client, n, 1000), GRANARY_OK);
    }
    assert_int_equal(put_parent(world->client, 4, 1, 2, 0), GRANARY_OK);
    assert_int_equal(put_parent(world->client, 5, 2, 3, 0), GRANARY_OK); /* 2, 3, and what has 1 and 2 */
    assert_int_equal(put_parent(world->client, 6, 5, 1, 0), GRANARY_OK);
    assert_int_equal(granary_object_move(world->client, live_id(6), disk, 0, 60000), GRANARY_OK);
    granary_disconnect(world->client);
    granary_disconnect(world->other);
    live_restart(&world->live);
    world->client = live_connect(&world->live, NULL);
    world->other = live_connect(&world->live, NULL);
    for (uint64_t n = 1; n <= 3; n++) {
        assert_int_equal(live_verify(world->client, n, 1000), GRANARY_OK);
    }
    for (uint64_t n = 4; n <= 6; n++) {
        assert_true(granary_object_contains(world->client, live_id(n)));
    }
    for (uint64_t n = 1; n <= 6; n++) {
        assert_int_equal(granary_object_delete(world->client, live_id(n), 0), GRANARY_OK);
    }
    await_objects(world->client, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(children_live_while_their_parent_does, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(leased_parents_hold_their_children, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(impossible_families_are_refused, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(large_families_are_noted_whole_or_not_at_all, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(unsealed_families_end_with_their_client, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(members_are_as_persistent_as_their_container, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(deep_families_end_without_recursion, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(counted_objects_end_with_their_last_hold, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(counted_objects_nobody_held_end_with_their_creator, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(counted_children_survive_a_parent_that_is_not_made, setup, live_world_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
