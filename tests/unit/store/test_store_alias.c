/* Aliases: they lead to objects, whether those are there yet or not, and never to themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "granary/hold.h"
#include "live.h"

#define MIB ((uint64_t)1 << 20)

struct world {
    struct live live;
    granary_client *client;
};

static int
setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    live_start(&world->live, 16 * MIB, 0);
    world->client = live_connect(&world->live, NULL);
    *state = world;
    return 0;
}

static int
teardown(void **state)
{
    struct world *world = *state;

    granary_disconnect(world->client);
    live_stop(&world->live);
    free(world);
    return 0;
}

static granary_err
alias(granary_client *client, uint64_t from, uint64_t to)
{
    return granary_alias(client, live_id(from), live_id(to));
}

/* A get of `from` yields object n. */
static void
assert_leads_to(granary_client *client, uint64_t from, uint64_t n)
{
    granary_view view, want;

    assert_int_equal(granary_object_get(client, live_id(from), 0, &view), GRANARY_OK);
    assert_int_equal(granary_object_get(client, live_id(n), 0, &want), GRANARY_OK);
    assert_ptr_equal(view.data, want.data);
    granary_object_release(client, &view);
    granary_object_release(client, &want);
    assert_true(granary_object_contains(client, live_id(from)));
}

static void
aliases_stand_for_their_objects(void **state)
{
    struct world *world = *state;
    granary_client *client = world->client;
    granary_store_stat stat;

    assert_int_equal(live_put(client, 1, 1000), GRANARY_OK);
    assert_int_equal(alias(client, 10, 1), GRANARY_OK);
    assert_leads_to(client, 10, 1);
    assert_int_equal(alias(client, 10, 1), GRANARY_OK); /* as it is */
    assert_int_equal(granary_store_stat_get(client, &stat), GRANARY_OK);
    assert_int_equal(stat.objects, 1);

    /* What is said about an alias is said about its object. */
    assert_int_equal(granary_object_pin(client, live_id(10), GRANARY_PIN_SESSION), GRANARY_OK);
    assert_int_equal(granary_reference(client, live_id(10), "o", NULL), GRANARY_OK);
    assert_int_equal(granary_name_set(client, "n", live_id(10), GRANARY_NAME_ANY, (granary_id){{0}}, NULL), GRANARY_OK);
    assert_int_equal(live_holds(client, 1), 3);
    assert_int_equal(live_holds(client, 10), 3);

    /* Deleting the alias deletes nothing else. */
    assert_int_equal(granary_object_delete(client, live_id(10), 0), GRANARY_OK);
    assert_int_equal(granary_object_delete(client, live_id(10), 0), GRANARY_ENOENT);
    assert_false(granary_object_contains(client, live_id(10)));
    assert_int_equal(live_verify(client, 1, 1000), GRANARY_OK);
    assert_int_equal(live_put(client, 10, 1000), GRANARY_OK);
}

static void
impossible_aliases_are_refused(void **state)
{
    struct world *world = *state;
    granary_client *client = world->client;

    assert_int_equal(live_put(client, 1, 1000), GRANARY_OK);
    assert_int_equal(live_put(client, 2, 1000), GRANARY_OK);
    assert_int_equal(alias(client, 1, 2), GRANARY_EEXIST);
    assert_int_equal(alias(client, 1, 1), GRANARY_EEXIST);
    assert_int_equal(alias(client, 3, 3), GRANARY_EINVAL);
    assert_int_equal(granary_alias(client, (granary_id){{0}}, live_id(1)), GRANARY_EINVAL);
    assert_int_equal(granary_alias(client, live_id(3), (granary_id){{0}}), GRANARY_EINVAL);
    assert_int_equal(alias(client, 10, 1), GRANARY_OK);
    assert_int_equal(alias(client, 10, 2), GRANARY_EEXIST);
    assert_int_equal(live_put(client, 10, 1000), GRANARY_EEXIST);
    /* Rings of one, two and three. */
    assert_int_equal(alias(client, 20, 21), GRANARY_OK);
    assert_int_equal(alias(client, 21, 20), GRANARY_EINVAL);
    assert_int_equal(alias(client, 21, 22), GRANARY_OK);
    assert_int_equal(alias(client, 22, 20), GRANARY_EINVAL);
    assert_int_equal(alias(client, 22, 21), GRANARY_EINVAL);
    assert_false(granary_object_contains(client, live_id(20)));
    assert_int_equal(live_put(client, 22, 1000), GRANARY_OK);
    assert_leads_to(client, 20, 22);
    assert_leads_to(client, 21, 22);
}

/* However long the chain, and whichever end is made first, every alias is one step from the end. */
static void
long_chains_are_resolved_once(void **state)
{
    enum { LONG = 1000 };
    struct world *world = *state;
    granary_client *client = world->client;
    granary_object_info *infos;
    granary_id last = live_id(1);
    unsigned aliases = 0;
    size_t count;

    for (uint64_t n = LONG; n > LONG / 2; n--) { /* n leads to n - 1, which is not there yet */
        assert_int_equal(alias(client, n, n - 1), GRANARY_OK);
    }
    for (uint64_t n = 2; n <= LONG / 2; n++) { /* n leads to n - 1, which is there */
        assert_int_equal(alias(client, n, n - 1), GRANARY_OK);
    }
    assert_int_equal(alias(client, 1, LONG), GRANARY_EINVAL);
    assert_int_equal(live_put(client, 1, 1000), GRANARY_OK);
    for (uint64_t n = 2; n <= LONG; n++) {
        assert_leads_to(client, n, 1);
    }
    assert_int_equal(granary_object_list(client, &infos, &count), GRANARY_OK);
    for (size_t i = 0; i < count; i++) {
        if (infos[i].state == GRANARY_OBJECT_ALIAS) {
            assert_memory_equal(&infos[i].target, &last, sizeof last);
            aliases++;
        }
    }
    assert_int_equal(aliases, LONG - 1);
    free(infos);
    for (uint64_t n = 2; n <= LONG; n += 2) {
        assert_int_equal(granary_object_delete(client, live_id(n), 0), GRANARY_OK);
    }
    assert_leads_to(client, 3, 1);
    /* The object goes: its aliases wait for the next one of its id. */
    assert_int_equal(granary_object_delete(client, live_id(1), 0), GRANARY_OK);
    assert_false(granary_object_contains(client, live_id(3)));
    assert_int_equal(live_put(client, 1, 500), GRANARY_OK);
    assert_leads_to(client, 999, 1);
}

struct waiter {
    struct live *live;
    uint64_t n;
    granary_err err;
};

static void *
wait_for(void *argument)
{
    struct waiter *waiter = argument;
    granary_client *client = live_connect(waiter->live, NULL);
    granary_view view;

    waiter->err = granary_object_get(client, live_id(waiter->n), 10000, &view);
    if (waiter->err == GRANARY_OK) {
        granary_object_release(client, &view);
    }
    granary_disconnect(client);
    return NULL;
}

static bool
somebody_sleeps(const struct world *world, unsigned clients)
{
    granary_store_stat stat;

    assert_int_equal(granary_store_stat_get(world->client, &stat), GRANARY_OK);
    return stat.clients >= clients;
}

/* Who waits for an id is woken when it becomes an alias of what is there, and when the end of a chain comes. */
static void
waiters_follow_aliases(void **state)
{
    struct world *world = *state;
    struct waiter waiters[] = {{&world->live, 10, 1}, {&world->live, 11, 1}, {&world->live, 12, 1}};
    pthread_t threads[3];

    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(alias(world->client, 12, 11), GRANARY_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for, &waiters[i]), 0);
    }
    while (!somebody_sleeps(world, 4)) {
    }
    assert_int_equal(alias(world->client, 10, 1), GRANARY_OK);
    assert_int_equal(alias(world->client, 11, 2), GRANARY_OK);
    assert_int_equal(live_put(world->client, 2, 1000), GRANARY_OK);
    for (int i = 0; i < 3; i++) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(waiters[i].err, GRANARY_OK);
    }
}

/* As many as are led on in no time; more are refused, and so is what would bring more together. */
static void
only_so_many_aliases_lead_to_one_object(void **state)
{
    enum { MOST = 4096 };
    granary_client *client = ((struct world *)*state)->client;

    assert_int_equal(live_put(client, 1, 1000), GRANARY_OK);
    for (uint64_t n = 0; n < MOST; n++) {
        assert_int_equal(alias(client, 10000 + n, 1), GRANARY_OK);
    }
    assert_int_equal(alias(client, 9000, 1), GRANARY_EFULL);
    assert_int_equal(alias(client, 9000, 10000), GRANARY_EFULL);
    assert_int_equal(alias(client, 10000, 1), GRANARY_OK); /* as it is */
    assert_int_equal(alias(client, 9001, 9000), GRANARY_OK);
    assert_int_equal(granary_object_delete(client, live_id(10000), 0), GRANARY_OK);
    assert_int_equal(alias(client, 9000, 1), GRANARY_EFULL); /* 9001 would come along */
    assert_int_equal(granary_object_delete(client, live_id(10001), 0), GRANARY_OK);
    assert_int_equal(alias(client, 9000, 1), GRANARY_OK);
    assert_leads_to(client, 9001, 1);
    assert_leads_to(client, 10000 + MOST - 1, 1);
    /* All of them go along when what they lead to leads on. */
    assert_int_equal(granary_object_delete(client, live_id(1), 0), GRANARY_OK);
    assert_int_equal(live_put(client, 2, 1000), GRANARY_OK);
    assert_int_equal(alias(client, 1, 2), GRANARY_EFULL);
    assert_int_equal(granary_object_delete(client, live_id(9001), 0), GRANARY_OK);
    assert_int_equal(alias(client, 1, 2), GRANARY_OK);
    assert_leads_to(client, 9000, 2);
    assert_leads_to(client, 10000 + MOST - 1, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(aliases_stand_for_their_objects, setup, teardown),
        cmocka_unit_test_setup_teardown(impossible_aliases_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(long_chains_are_resolved_once, setup, teardown),
        cmocka_unit_test_setup_teardown(only_so_many_aliases_lead_to_one_object, setup, teardown),
        cmocka_unit_test_setup_teardown(waiters_follow_aliases, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
