/* What keeps objects: pins, references, names, in a live store. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "granary/hold.h"
#include "live.h"

#define MIB ((uint64_t)1 << 20)

static const granary_id none;

static int
setup(void **state)
{
    return live_world_setup(state, 16 * MIB);
}

static unsigned
pins_of(granary_client *client, uint64_t n)
{
    granary_object_info info;

    assert_int_equal(granary_object_info_get(client, live_id(n), &info), GRANARY_OK);
    return info.pins;
}

/* ---- pins ---- */

static void
pins_have_tokens_and_say_why(void **state)
{
    struct live_world *world = *state;
    granary_id id = live_id(1);
    granary_hold *holds;
    uint64_t mine, session;
    size_t count;

    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_pin(world->client, id, GRANARY_PIN_CLIENT, "a graph runs", &mine), GRANARY_OK);
    assert_int_equal(granary_pin(world->client, id, GRANARY_PIN_SESSION, NULL, &session), GRANARY_OK);
    assert_true(session > mine);
    assert_int_equal(pins_of(world->other, 1), 2);
    assert_int_equal(granary_holds(world->other, &id, &holds, &count), GRANARY_OK);
    assert_int_equal(count, 2);
    assert_int_equal(holds[0].kind, GRANARY_HOLD_PIN);
    assert_int_equal(holds[0].token, mine);
    assert_int_equal(holds[0].scope, GRANARY_PIN_CLIENT);
    assert_memory_equal(&holds[0].id, &id, sizeof id);
    assert_string_equal(holds[0].text, "a graph runs");
    assert_int_not_equal(holds[0].client, 0);
    assert_int_not_equal(holds[0].pid, 0);
    assert_true(holds[0].since_ms > 1600000000000);
    assert_int_equal(holds[1].token, session);
    assert_int_equal(holds[1].scope, GRANARY_PIN_SESSION);
    free(holds);

    /* Another client's ends with it and is not for others to take; a session's pin is anybody's. */
    assert_int_equal(granary_unpin(world->other, mine), GRANARY_EPERM);
    assert_int_equal(granary_object_unpin(world->other, id, GRANARY_PIN_CLIENT), GRANARY_ENOENT);
    assert_int_equal(granary_unpin(world->other, session), GRANARY_OK);
    assert_int_equal(granary_unpin(world->other, session), GRANARY_ENOENT);
    assert_int_equal(granary_unpin(world->client, 0), GRANARY_ENOENT);
    assert_int_equal(granary_unpin(world->client, mine), GRANARY_OK);
    assert_int_equal(pins_of(world->client, 1), 0);
    assert_int_equal(granary_object_unpin(world->client, id, GRANARY_PIN_CLIENT), GRANARY_ENOENT);
}

static void
impossible_pins_are_refused(void **state)
{
    struct live_world *world = *state;
    char long_text[100];
    uint64_t token;

    memset(long_text, 'x', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_object_pin(world->client, live_id(2), GRANARY_PIN_SESSION), GRANARY_ENOENT);
    assert_int_equal(granary_object_unpin(world->client, live_id(2), GRANARY_PIN_SESSION), GRANARY_ENOENT);
    assert_int_equal(granary_object_pin(world->client, live_id(1), (granary_pin_scope)7), GRANARY_EINVAL);
    assert_int_equal(granary_pin(world->client, live_id(1), GRANARY_PIN_CLIENT, long_text, &token), GRANARY_EINVAL);
    assert_int_equal(granary_pin(world->client, live_id(1), GRANARY_PIN_CLIENT, "a\nb", &token), GRANARY_EINVAL);
    assert_int_equal(pins_of(world->client, 1), 0);
}

/* Deleting clears pins: an id that is used again is not born pinned. */
static void
a_new_object_is_not_born_pinned(void **state)
{
    struct live_world *world = *state;

    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_object_pin(world->client, live_id(1), GRANARY_PIN_CLIENT), GRANARY_OK);
    assert_int_equal(granary_object_pin(world->client, live_id(1), GRANARY_PIN_SESSION), GRANARY_OK);
    assert_int_equal(granary_object_delete(world->client, live_id(1), 0), GRANARY_OK);
    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(pins_of(world->client, 1), 0);
    assert_int_equal(live_holds(world->client, 1), 0);
    assert_int_equal(granary_object_unpin(world->client, live_id(1), GRANARY_PIN_SESSION), GRANARY_ENOENT);
}

/* What a client pinned is unpinned when it goes, whatever it did not get to do; session pins stay. */
static void
pins_end_with_their_client(void **state)
{
    struct live_world *world = *state;
    granary_client *third = live_connect(&world->live, NULL);

    for (uint64_t n = 1; n <= 600; n++) {
        assert_int_equal(live_put(world->client, n, 100), GRANARY_OK);
        assert_int_equal(granary_object_pin(third, live_id(n), GRANARY_PIN_CLIENT), GRANARY_OK);
    }
    assert_int_equal(granary_object_pin(third, live_id(7), GRANARY_PIN_SESSION), GRANARY_OK);
    assert_int_equal(granary_object_pin(world->client, live_id(7), GRANARY_PIN_CLIENT), GRANARY_OK);
    granary_disconnect(third);
    for (uint64_t n = 1; n <= 600; n++) {
        live_await_holds(world->client, n, n == 7 ? 2 : 0);
        assert_int_equal(pins_of(world->client, n), n == 7 ? 2 : 0);
    }
}

/* A pinned object follows its level: pinned while spilled it is brought back first, and then stays. */
static void
pinned_objects_stay_in_memory(void **state)
{
    struct live_world *world = *state;
    granary_object_info info;
    granary_store_stat stat;

    for (uint64_t n = 1; n <= 64; n++) { /* four times what fits */
        assert_int_equal(live_put(world->client, n, MIB), GRANARY_OK);
    }
    assert_int_equal(granary_store_stat_get(world->client, &stat), GRANARY_OK);
    assert_true(stat.objects_spilled > 0);
    assert_int_equal(granary_object_pin(world->client, live_id(1), GRANARY_PIN_CLIENT), GRANARY_OK);
    for (uint64_t n = 101; n <= 164; n++) {
        assert_int_equal(live_put(world->client, n, MIB), GRANARY_OK);
    }
    assert_int_equal(granary_object_info_get(world->client, live_id(1), &info), GRANARY_OK);
    assert_int_equal(info.state, GRANARY_OBJECT_SEALED);
    assert_int_equal(live_verify(world->client, 1, MIB), GRANARY_OK);
    assert_int_equal(granary_object_unpin(world->client, live_id(1), GRANARY_PIN_CLIENT), GRANARY_OK);
}

/* ---- references ---- */

static void
references_keep_deleted_objects(void **state)
{
    struct live_world *world = *state;
    granary_object_info info;
    granary_hold *holds;
    granary_id id = live_id(1);
    size_t count;

    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_reference(world->client, id, "graph 7", NULL), GRANARY_OK);
    assert_int_equal(granary_reference(world->client, id, "graph 8", NULL), GRANARY_OK);
    assert_int_equal(granary_reference(world->client, id, NULL, NULL), GRANARY_OK);
    assert_int_equal(granary_holds(world->client, &id, &holds, &count), GRANARY_OK);
    assert_int_equal(count, 3);
    assert_int_equal(holds[1].kind, GRANARY_HOLD_REFERENCE);
    assert_string_equal(holds[1].text, "graph 8");
    free(holds);
    assert_int_equal(granary_object_delete(world->other, id, 0), GRANARY_OK);
    assert_int_equal(granary_object_delete(world->other, id, 0), GRANARY_ENOENT);
    assert_int_equal(granary_object_info_get(world->other, id, &info), GRANARY_OK);
    assert_true(info.dropped);
    assert_int_equal(live_verify(world->other, 1, 1000), GRANARY_OK);
    assert_int_equal(live_put(world->other, 1, 1000), GRANARY_EEXIST);
    /* An owner by name is anybody's to end; the one without a name is the client's own. */
    assert_int_equal(granary_unreference(world->other, id, "graph 7"), GRANARY_OK);
    assert_int_equal(granary_unreference(world->other, id, "graph 7"), GRANARY_ENOENT);
    assert_int_equal(granary_unreference(world->other, id, NULL), GRANARY_ENOENT);
    assert_int_equal(granary_unreference(world->client, id, NULL), GRANARY_OK);
    assert_true(granary_object_contains(world->other, id));
    assert_int_equal(granary_unreference(world->client, id, "graph 8"), GRANARY_OK);
    assert_false(granary_object_contains(world->other, id));
    assert_int_equal(live_put(world->other, 1, 1000), GRANARY_OK);
    assert_int_equal(live_holds(world->other, 1), 0);
}

static void
impossible_references_are_refused(void **state)
{
    struct live_world *world = *state;
    char long_text[100];

    memset(long_text, 'x', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_reference(world->client, live_id(2), "o", NULL), GRANARY_ENOENT);
    assert_int_equal(granary_reference(world->client, live_id(1), "", NULL), GRANARY_EINVAL);
    assert_int_equal(granary_reference(world->client, live_id(1), long_text, NULL), GRANARY_EINVAL);
    assert_int_equal(granary_reference(world->client, live_id(1), "\033[31m", NULL), GRANARY_EINVAL);
    assert_int_equal(granary_unreference(world->client, live_id(1), "o"), GRANARY_ENOENT);
    assert_int_equal(live_holds(world->client, 1), 0);
}

/* A dead client's references end; what it had deleted goes then. A reference of an owner by name lasts. */
static void
references_end_with_their_client(void **state)
{
    struct live_world *world = *state;
    granary_client *third = live_connect(&world->live, NULL);

    assert_int_equal(live_put(third, 1, 1000), GRANARY_OK);
    assert_int_equal(live_put(third, 2, 1000), GRANARY_OK);
    assert_int_equal(granary_reference(third, live_id(1), NULL, NULL), GRANARY_OK);
    assert_int_equal(granary_reference(third, live_id(2), NULL, NULL), GRANARY_OK);
    assert_int_equal(granary_reference(third, live_id(2), "it stays", NULL), GRANARY_OK);
    assert_int_equal(granary_object_delete(world->client, live_id(1), 0), GRANARY_OK);
    assert_int_equal(granary_object_delete(world->client, live_id(2), 0), GRANARY_OK);
    assert_true(granary_object_contains(world->client, live_id(1)));
    granary_disconnect(third);
    live_await_gone(world->client, 1);
    live_await_holds(world->client, 2, 1);
    assert_int_equal(live_verify(world->client, 2, 1000), GRANARY_OK);
    assert_int_equal(granary_unreference(world->client, live_id(2), "it stays"), GRANARY_OK);
    assert_false(granary_object_contains(world->client, live_id(2)));
}

/* A deleted object that is leased when its last reference ends goes with the lease. */
static void
leases_outlast_references(void **state)
{
    struct live_world *world = *state;
    granary_store_stat stat;
    granary_view view;

    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_reference(world->client, live_id(1), "o", NULL), GRANARY_OK);
    assert_int_equal(granary_object_get(world->other, live_id(1), 0, &view), GRANARY_OK);
    assert_int_equal(granary_object_delete(world->client, live_id(1), 0), GRANARY_OK);
    assert_int_equal(granary_unreference(world->client, live_id(1), "o"), GRANARY_OK);
    assert_false(granary_object_contains(world->client, live_id(1)));
    assert_int_equal(granary_store_stat_get(world->client, &stat), GRANARY_OK);
    assert_int_equal(((const char *)view.data)[1], 0);
    granary_object_release(world->other, &view);
}

/* Whoever has the answer finds in the account what the request has freed. On one cpu the answer wakes the client before
 * the store goes on. */
static void
the_account_is_as_new_as_the_answer(void **state)
{
    struct live_world *world = *state;
    granary_store_stat before, after;
    cpu_set_t all, one;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(pthread_setaffinity_np(world->live.thread, sizeof one, &one), 0);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
        assert_int_equal(granary_reference(world->client, live_id(1), "o", NULL), GRANARY_OK);
        assert_int_equal(granary_object_delete(world->client, live_id(1), 0), GRANARY_OK);
        assert_int_equal(granary_store_stat_get(world->client, &before), GRANARY_OK);
        assert_int_equal(granary_unreference(world->client, live_id(1), "o"), GRANARY_OK);
        assert_int_equal(granary_store_stat_get(world->client, &after), GRANARY_OK);
        assert_int_equal(before.objects - after.objects, 1);
        assert_true(before.sealed_bytes > after.sealed_bytes);
    }
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

/* ---- names ---- */

static void
names_are_bound_in_one_step(void **state)
{
    struct live_world *world = *state;
    granary_client *client = world->client;
    granary_id id, previous;

    assert_int_equal(live_put(client, 1, 1000), GRANARY_OK);
    assert_int_equal(live_put(client, 2, 1000), GRANARY_OK);
    assert_int_equal(granary_name_get(client, "model", &id), GRANARY_ENOENT);
    assert_int_equal(granary_name_set(client, "model", live_id(3), GRANARY_NAME_ANY, none, NULL), GRANARY_ENOENT);
    assert_int_equal(granary_name_set(client, "model", live_id(1), GRANARY_NAME_ID, live_id(1), NULL), GRANARY_ESTATE);
    assert_int_equal(granary_name_set(client, "model", live_id(1), GRANARY_NAME_NEW, none, &previous), GRANARY_OK);
    assert_memory_equal(&previous, &none, sizeof none);
    assert_int_equal(granary_name_set(client, "model", live_id(2), GRANARY_NAME_NEW, none, NULL), GRANARY_EEXIST);
    assert_int_equal(granary_name_set(client, "model", live_id(2), GRANARY_NAME_ID, live_id(2), NULL), GRANARY_ESTATE);
    assert_int_equal(granary_name_get(world->other, "model", &id), GRANARY_OK);
    assert_memory_equal(&id, &(granary_id[]){live_id(1)}[0], sizeof id);
    assert_int_equal(granary_name_set(client, "model", live_id(2), GRANARY_NAME_ID, live_id(1), &previous), GRANARY_OK);
    assert_memory_equal(&previous, &(granary_id[]){live_id(1)}[0], sizeof id);
    assert_int_equal(granary_name_get(world->other, "model", &id), GRANARY_OK);
    assert_memory_equal(&id, &(granary_id[]){live_id(2)}[0], sizeof id);
    assert_int_equal(live_holds(client, 1), 0);
    assert_int_equal(live_holds(client, 2), 1);
    /* Bound to the same again, and dropped. */
    assert_int_equal(granary_name_set(client, "model", live_id(2), GRANARY_NAME_ANY, none, NULL), GRANARY_OK);
    assert_int_equal(live_holds(client, 2), 1);
    assert_int_equal(granary_name_set(client, "model", none, GRANARY_NAME_ID, live_id(1), NULL), GRANARY_ESTATE);
    assert_int_equal(granary_name_set(client, "model", none, GRANARY_NAME_ANY, none, &previous), GRANARY_OK);
    assert_memory_equal(&previous, &(granary_id[]){live_id(2)}[0], sizeof id);
    assert_int_equal(granary_name_set(client, "model", none, GRANARY_NAME_ANY, none, &previous), GRANARY_OK);
    assert_memory_equal(&previous, &none, sizeof none);
    assert_int_equal(granary_name_get(client, "model", &id), GRANARY_ENOENT);
}

static void
names_keep_their_objects(void **state)
{
    struct live_world *world = *state;
    granary_client *third = live_connect(&world->live, NULL);

    assert_int_equal(live_put(third, 1, 1000), GRANARY_OK);
    assert_int_equal(live_put(third, 2, 1000), GRANARY_OK);
    assert_int_equal(granary_name_set(third, "a", live_id(1), GRANARY_NAME_ANY, none, NULL), GRANARY_OK);
    assert_int_equal(granary_name_set(third, "b", live_id(1), GRANARY_NAME_ANY, none, NULL), GRANARY_OK);
    granary_disconnect(third); /* names are nobody's */
    assert_int_equal(granary_object_delete(world->client, live_id(1), 0), GRANARY_OK);
    assert_int_equal(granary_name_set(world->client, "a", live_id(2), GRANARY_NAME_ANY, none, NULL), GRANARY_OK);
    assert_true(granary_object_contains(world->client, live_id(1)));
    assert_int_equal(granary_name_set(world->client, "b", none, GRANARY_NAME_ANY, none, NULL), GRANARY_OK);
    assert_false(granary_object_contains(world->client, live_id(1)));
    assert_true(granary_object_contains(world->client, live_id(2)));
}

static void
impossible_names_are_refused(void **state)
{
    struct live_world *world = *state;
    char long_name[57];
    granary_id id;

    memset(long_name, 'x', sizeof long_name);
    long_name[56] = '\0';
    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_name_set(world->client, long_name, live_id(1), GRANARY_NAME_ANY, none, NULL),
                     GRANARY_EINVAL);
    assert_int_equal(granary_name_set(world->client, "", live_id(1), GRANARY_NAME_ANY, none, NULL), GRANARY_EINVAL);
    assert_int_equal(granary_name_set(world->client, NULL, live_id(1), GRANARY_NAME_ANY, none, NULL), GRANARY_EINVAL);
    assert_int_equal(granary_name_set(world->client, "a\tb", live_id(1), GRANARY_NAME_ANY, none, NULL), GRANARY_EINVAL);
    assert_int_equal(granary_name_set(world->client, "a\177", live_id(1), GRANARY_NAME_ANY, none, NULL),
                     GRANARY_EINVAL);
    assert_int_equal(granary_name_set(world->client, "a", live_id(1), (granary_name_expect)9, none, NULL),
                     GRANARY_EINVAL);
    assert_int_equal(granary_name_get(world->client, "a\n", &id), GRANARY_EINVAL);
    long_name[55] = '\0';
    assert_int_equal(granary_name_set(world->client, long_name, live_id(1), GRANARY_NAME_ANY, none, NULL), GRANARY_OK);
    assert_int_equal(granary_name_get(world->client, long_name, &id), GRANARY_OK);
    /* Characters beyond ASCII are text like any other; bytes that are none, and what a terminal obeys, are not. */
    assert_int_equal(granary_name_set(world->client, "\303\244", live_id(1), GRANARY_NAME_ANY, none, NULL), GRANARY_OK);
    assert_int_equal(granary_name_set(world->client, "\303\244\377", live_id(1), GRANARY_NAME_ANY, none, NULL),
                     GRANARY_EINVAL);
    assert_int_equal(granary_name_set(world->client, "\302\2332J", live_id(1), GRANARY_NAME_ANY, none, NULL),
                     GRANARY_EINVAL);
    assert_int_equal(granary_pin(world->client, live_id(1), GRANARY_PIN_CLIENT, "why\2332J", NULL), GRANARY_EINVAL);
}

static void
names_are_listed_in_the_order_of_their_bytes(void **state)
{
    enum { NAMES = 2000 };
    struct live_world *world = *state;
    granary_name *names = calloc(NAMES + 10, sizeof *names);
    size_t count;

    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_name_list(world->client, NULL, names, NAMES, &count), GRANARY_OK);
    assert_int_equal(count, 0);
    for (unsigned i = 0; i < NAMES; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "%04u", i * 7 % NAMES);
        assert_int_equal(granary_name_set(world->client, name, live_id(1), GRANARY_NAME_NEW, none, NULL), GRANARY_OK);
    }
    assert_int_equal(granary_name_set(world->client, "\364\217\277\277", live_id(1), GRANARY_NAME_NEW, none, NULL),
                     GRANARY_OK);
    assert_int_equal(granary_name_list(world->client, NULL, names, NAMES + 10, &count), GRANARY_OK);
    assert_int_equal(count, NAMES + 1);
    for (unsigned i = 0; i < NAMES; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "%04u", i);
        assert_string_equal(names[i].name, name);
    }
    assert_string_equal(names[NAMES].name, "\364\217\277\277");
    assert_int_equal(granary_name_list(world->client, "0999x", names, 3, &count), GRANARY_OK);
    assert_int_equal(count, 3);
    assert_string_equal(names[0].name, "1000");
    assert_string_equal(names[2].name, "1002");
    assert_int_equal(granary_name_list(world->client, "\364\217\277\277", names, 3, &count), GRANARY_OK);
    assert_int_equal(count, 0);
    free(names);
}

/* ---- listing ---- */

static void
holds_are_listed_in_pages(void **state)
{
    enum { HOLDS = 1500 };
    struct live_world *world = *state;
    granary_id id = live_id(1);
    granary_hold *holds;
    size_t count;

    assert_int_equal(granary_holds(world->client, NULL, &holds, &count), GRANARY_OK);
    assert_int_equal(count, 0);
    assert_null(holds);
    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(live_put(world->client, 2, 1000), GRANARY_OK);
    for (unsigned i = 0; i < HOLDS; i++) {
        assert_int_equal(granary_object_pin(world->client, live_id(i % 3 == 0 ? 2 : 1), GRANARY_PIN_SESSION),
                         GRANARY_OK);
    }
    assert_int_equal(granary_holds(world->client, NULL, &holds, &count), GRANARY_OK);
    assert_int_equal(count, HOLDS);
    for (size_t i = 1; i < count; i++) {
        assert_true(holds[i].token > holds[i - 1].token);
    }
    free(holds);
    assert_int_equal(granary_holds(world->client, &id, &holds, &count), GRANARY_OK);
    assert_int_equal(count, HOLDS / 3 * 2);
    for (size_t i = 1; i < count; i++) {
        assert_true(holds[i].token > holds[i - 1].token);
        assert_memory_equal(&holds[i].id, &id, sizeof id);
    }
    free(holds);
}

/* Another session has its own. */
static void
sessions_do_not_share_what_is_said(void **state)
{
    struct live_world *world = *state;
    granary_client *elsewhere = live_connect(&world->live, "elsewhere");
    granary_name names[2];
    uint64_t token;
    size_t count;
    granary_id id;

    assert_int_equal(live_put(world->client, 1, 1000), GRANARY_OK);
    assert_int_equal(live_put(elsewhere, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_name_set(world->client, "n", live_id(1), GRANARY_NAME_NEW, none, NULL), GRANARY_OK);
    assert_int_equal(granary_pin(world->client, live_id(1), GRANARY_PIN_SESSION, NULL, &token), GRANARY_OK);
    assert_int_equal(granary_name_get(elsewhere, "n", &id), GRANARY_ENOENT);
    assert_int_equal(granary_name_list(elsewhere, NULL, names, 2, &count), GRANARY_OK);
    assert_int_equal(count, 0);
    assert_int_equal(live_holds(elsewhere, 1), 0);
    assert_int_equal(granary_unpin(elsewhere, token), GRANARY_ENOENT);
    assert_int_equal(pins_of(elsewhere, 1), 0);
    granary_disconnect(elsewhere);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pins_have_tokens_and_say_why, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(impossible_pins_are_refused, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(a_new_object_is_not_born_pinned, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(pins_end_with_their_client, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(pinned_objects_stay_in_memory, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(references_keep_deleted_objects, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(impossible_references_are_refused, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(references_end_with_their_client, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(leases_outlast_references, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(the_account_is_as_new_as_the_answer, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(names_are_bound_in_one_step, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(names_keep_their_objects, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(impossible_names_are_refused, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(names_are_listed_in_the_order_of_their_bytes, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(holds_are_listed_in_pages, setup, live_world_teardown),
        cmocka_unit_test_setup_teardown(sessions_do_not_share_what_is_said, setup, live_world_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
