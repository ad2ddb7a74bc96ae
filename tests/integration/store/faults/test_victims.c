/* Who leaves memory first: importance, the hint of next use, recency. */
#include <stdlib.h>
#include <string.h>

#include "integration/store/fixture.h"

#define MIB    ((uint64_t)1 << 20)
#define BUDGET 64u /* MiB, of the fixture */

static void
put(granary_client *client, uint64_t n, int importance, int next_use)
{
    const granary_object_options options = {.importance = importance, .next_use = next_use};
    granary_buffer buffer;

    assert_ok(granary_object_create_with(client, fixture_id(n), MIB, 0, &options, &buffer));
    fixture_fill(buffer.data, n, MIB);
    assert_ok(granary_object_seal(client, &buffer));
}

static bool
is_spilled(granary_client *client, uint64_t n)
{
    granary_object_info info;

    assert_ok(granary_object_info_get(client, fixture_id(n), &info));
    return info.state == GRANARY_OBJECT_SPILLED;
}

/* How many of the objects first, first + 2, ... below end are spilled. */
static unsigned
spilled_of(granary_client *client, uint64_t first, uint64_t end)
{
    unsigned spilled = 0;

    for (uint64_t n = first; n < end; n += 2) {
        spilled += is_spilled(client, n);
    }
    return spilled;
}

/* What has a copy already goes first, and costs nothing. */
static void
copies_leave_for_free(void **state)
{
    const granary_object_options persistent = {.persist = GRANARY_LEVEL_DISK};
    granary_client *client = fixture_connect(state);
    granary_buffer buffer;

    for (uint64_t n = 0; n < 8; n++) {
        assert_ok(granary_object_create_with(client, fixture_id(n), MIB, 0, &persistent, &buffer));
        fixture_fill(buffer.data, n, MIB);
        assert_ok(granary_object_seal(client, &buffer));
    }
    assert_int_equal(fixture_stat(client).clean_drops, 0);
    for (uint64_t n = 8; n < BUDGET + 4; n++) {
        put(client, n, 0, 0);
    }
    assert_true(spilled_of(client, 0, 8) + spilled_of(client, 1, 8) >= 4);
    assert_in_range(fixture_stat(client).clean_drops, 4, fixture_stat(client).evictions);
    granary_disconnect(client);
}

/* Two that are on disk are read again and again; then room is needed: what nobody reads is written, and goes. */
static void
what_is_read_stays_although_it_has_a_copy(void **state)
{
    granary_client *client = fixture_connect(state);

    for (uint64_t n = 0; n < 2; n++) {
        put(client, n, 0, 0);
        assert_ok(granary_object_move(client, fixture_id(n), GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, 10000));
    }
    for (uint64_t n = 2; n < 52; n++) {
        put(client, n, 0, 0);
    }
    for (uint64_t n = 0; n < 6; n++) {
        fixture_check(client, n % 2, MIB);
    }
    assert_int_equal(fixture_stat(client).evictions, 2);
    assert_ok(fixture_put(client, 1000, 20 * MIB, 0));
    assert_false(is_spilled(client, 0));
    assert_false(is_spilled(client, 1));
    assert_true(spilled_of(client, 2, 52) + spilled_of(client, 3, 52) >= 6);
    granary_disconnect(client);
}

/* Even ones matter less, odd ones more; room is made for a few more, and only even ones go. */
static void
the_less_important_leaves_first(void **state)
{
    granary_client *client = fixture_connect(state);

    for (uint64_t n = 0; n < 56; n++) {
        put(client, n, n % 2 == 0 ? 1 : 2, 0);
    }
    for (uint64_t n = 56; n < 68; n++) {
        put(client, n, 2, 0);
    }
    assert_true(spilled_of(client, 0, 56) > 0);
    assert_int_equal(spilled_of(client, 1, 68), 0);
    for (uint64_t n = 0; n < 68; n++) {
        fixture_check(client, n, MIB);
    }
    granary_disconnect(client);
}

/* ... until none of them is left: then importance is no reason to fail. */
static void
the_more_important_leaves_at_last(void **state)
{
    granary_client *client = fixture_connect(state);

    for (uint64_t n = 0; n < 8; n++) {
        put(client, n, 0, 0);
    }
    for (uint64_t n = 8; n < 2 * BUDGET; n++) {
        put(client, n, 254, 0);
    }
    for (uint64_t n = 0; n < 8; n++) {
        assert_true(is_spilled(client, n));
    }
    assert_true(spilled_of(client, 8, 2 * BUDGET) + spilled_of(client, 9, 2 * BUDGET) > 0);
    granary_disconnect(client);
}

/* 255 stays whatever comes; and when everything is 255, there is no room. */
static void
importance_255_stays(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_buffer buffer;

    for (uint64_t n = 0; n < 40; n++) {
        put(client, n, 255, 0);
    }
    for (uint64_t n = 40; n < 160; n++) {
        put(client, n, 0, 0);
    }
    assert_int_equal(spilled_of(client, 0, 40) + spilled_of(client, 1, 40), 0);
    assert_err(granary_object_create(client, fixture_id(999), 40 * MIB, 0, 300, &buffer), GRANARY_EFULL);
    assert_ok(granary_object_hint(client, fixture_id(0), 0, -1));
    for (uint64_t n = 160; n < 260; n++) {
        put(client, n, 1, 0);
    }
    assert_true(is_spilled(client, 0));
    assert_int_equal(spilled_of(client, 1, 40), 0);
    granary_disconnect(client);
}

/* Never again goes before unknown, unknown before soon; a hint counts when it is given later, too. */
static void
what_is_used_again_last_leaves_first(void **state)
{
    granary_client *client = fixture_connect(state);

    for (uint64_t n = 0; n < 56; n++) {
        put(client, n, 9, n % 4 == 1 ? 1 : 0);
    }
    for (uint64_t n = 0; n < 56; n += 2) {
        assert_ok(granary_object_hint(client, fixture_id(n), -1, 255));
    }
    for (uint64_t n = 56; n < 68; n++) {
        put(client, n, 9, 0);
    }
    assert_true(spilled_of(client, 0, 56) > 0);
    assert_int_equal(spilled_of(client, 1, 68), 0);
    for (uint64_t n = 68; n < 110; n++) {
        put(client, n, 9, 1);
    }
    for (uint64_t n = 3; n < 56; n += 4) {
        assert_true(is_spilled(client, n) || !is_spilled(client, n - 2));
    }
    granary_disconnect(client);
}

/* Some objects are read after every put of ten budgets' worth: none of them ever had to come back. */
static void
what_is_used_stays(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *reader = fixture_connect(state);

    for (uint64_t n = 0; n < 8; n++) {
        put(client, n, 0, 0);
    }
    for (uint64_t n = 8; n < (uint64_t)6 * BUDGET; n++) {
        put(client, n, 0, 0);
        for (uint64_t hot = 0; hot < 8; hot++) {
            granary_view view;

            assert_ok(granary_object_get(reader, fixture_id(hot), 0, &view));
            granary_object_release(reader, &view);
        }
    }
    assert_true(fixture_stat(client).objects_spilled > 4 * BUDGET);
    assert_int_equal(fixture_stat(client).restores, 0);
    granary_disconnect(reader);
    granary_disconnect(client);
}

/* Small objects among others in one room: the important ones stay, and every byte is right. */
static void
objects_of_one_room_differ(void **state)
{
    granary_client *client = fixture_connect(state);
    char bytes[8192];

    for (uint64_t n = 0; n < 4000; n++) {
        const granary_object_options options = {.importance = n % 4 == 0 ? 255 : 0};

        fixture_fill(bytes, n, sizeof bytes);
        assert_ok(granary_object_put_with(client, fixture_id(n), bytes, sizeof bytes, NULL, 0, &options, 0));
    }
    for (uint64_t n = 5000; n < 5100; n++) {
        put(client, n, 1, 0);
    }
    for (uint64_t n = 0; n < 4000; n += 4) {
        assert_false(is_spilled(client, n));
    }
    assert_true(is_spilled(client, 1));
    for (uint64_t n = 0; n < 4000; n += 7) {
        fixture_check(client, n, sizeof bytes);
    }
    granary_disconnect(client);
}

#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(copies_leave_for_free),
        STORE_TEST(what_is_read_stays_although_it_has_a_copy),
        STORE_TEST(the_less_important_leaves_first),
        STORE_TEST(the_more_important_leaves_at_last),
        STORE_TEST(importance_255_stays),
        STORE_TEST(what_is_used_again_last_leaves_first),
        STORE_TEST(what_is_used_stays),
        STORE_TEST(objects_of_one_room_differ),
    };

    return cmocka_run_group_tests_name("victims", tests, NULL, NULL);
}
