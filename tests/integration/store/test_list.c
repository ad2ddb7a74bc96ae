/* Listings: page by page, with filters, while objects come and go. */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define MIB ((uint64_t)1 << 20)

/* Everything a filter lets through, page by page; frees nothing: *ret_infos is the caller's. */
static size_t
list_all(granary_client *client, const granary_object_filter *filter, size_t most, granary_object_info **ret_infos)
{
    granary_object_info *infos = NULL;
    uint64_t cursor = 0;
    size_t count = 0;

    do {
        size_t got = SIZE_MAX;

        infos = realloc(infos, (count + most) * sizeof *infos);
        assert_non_null(infos);
        assert_ok(granary_object_list_page(client, filter, &cursor, most, infos + count, &got));
        assert_true(got <= most);
        count += got;
    } while (cursor != 0);
    *ret_infos = infos;
    return count;
}

static size_t
count_all(granary_client *client, const granary_object_filter *filter)
{
    granary_object_info *infos;
    size_t count = list_all(client, filter, 100, &infos);

    free(infos);
    return count;
}

static uint64_t
number_of(granary_id id)
{
    uint64_t words[2];

    memcpy(words, id.bytes, sizeof words);
    return words[1];
}

static void
each_object_comes_once(void **state)
{
    enum { COUNT = 20000 }; /* several pages of the index */
    static const size_t sizes[] = {1000, 4096, 100000};
    granary_client *client = fixture_connect(state);
    unsigned char *seen = calloc(COUNT, 1);

    assert_int_equal(count_all(client, NULL), 0);
    for (uint64_t n = 0; n < COUNT; n++) {
        assert_ok(fixture_put(client, n, n % 100, GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(client));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        granary_object_info *infos;
        size_t count = list_all(client, NULL, sizes[i], &infos);

        memset(seen, 0, COUNT);
        for (size_t j = 0; j < count; j++) {
            uint64_t n = number_of(infos[j].id);

            assert_true(n < COUNT && !seen[n]);
            seen[n] = 1;
            assert_int_equal(infos[j].data_size, n % 100);
        }
        assert_int_equal(count, COUNT);
        free(infos);
    }
    free(seen);
    granary_disconnect(client);
}

/* Small pages, and others come and go between them: what stays comes once. */
static void
what_stays_comes_once(void **state)
{
    enum { COUNT = 1500, PAGE = 40 };
    granary_client *client = fixture_connect(state);
    unsigned char *seen = calloc(COUNT, 1);
    granary_object_info infos[PAGE];
    uint64_t cursor = 0;
    uint64_t other = 100000;
    size_t stayed = 0;

    for (uint64_t n = 0; n < COUNT; n++) {
        assert_ok(fixture_put(client, n, 10, GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(client));
    do {
        size_t got;

        assert_ok(granary_object_list_page(client, NULL, &cursor, PAGE, infos, &got));
        for (size_t i = 0; i < got; i++) {
            uint64_t n = number_of(infos[i].id);

            assert_true(n >= COUNT || !seen[n]);
            if (n < COUNT) {
                seen[n] = 1;
                stayed++;
            }
        }
        for (int i = 0; i < 10; i++, other++) {
            assert_ok(fixture_put(client, other, 10, 0));
            if (i > 0) {
                assert_ok(granary_object_delete(client, fixture_id(other - 1), 0));
            }
        }
    } while (cursor != 0);
    assert_int_equal(stayed, COUNT);
    free(seen);
    granary_disconnect(client);
}

static void
filters_choose(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_object_info *infos;
    granary_object_info info;
    granary_view view;
    size_t count;
    size_t size;
    uint64_t cursor = 0;
    char text[GRANARY_ID_TEXT + 1];

    for (uint64_t n = 0; n < 100; n++) {
        assert_ok(fixture_put(client, n, n, 0));
    }
    assert_int_equal(count_all(client, &(granary_object_filter){.least_size = 90}), 10);
    assert_int_equal(count_all(client, &(granary_object_filter){.most_size = 9}), 10);
    assert_int_equal(count_all(client, &(granary_object_filter){.least_size = 10, .most_size = 19}), 10);
    assert_ok(granary_object_pin(client, fixture_id(7), GRANARY_PIN_CLIENT));
    assert_int_equal(count_all(client, &(granary_object_filter){.pinned = true}), 1);
    granary_id_format(fixture_id(42), text);
    count = list_all(client, &(granary_object_filter){.prefix = text}, 10, &infos);
    assert_int_equal(count, 1);
    assert_int_equal(number_of(infos[0].id), 42);
    free(infos);
    for (char *at = text; *at != '\0'; at++) { /* upper case will do */
        *at = (char)(*at >= 'a' ? *at - 'a' + 'A' : *at);
    }
    text[8] = '\0';
    assert_int_equal(count_all(client, &(granary_object_filter){.prefix = text}), 1);
    assert_int_equal(count_all(client, &(granary_object_filter){.prefix = ""}), 100);
    assert_err(granary_object_list_page(client, &(granary_object_filter){.prefix = "xyz"}, &cursor, 1, &info, &size),
               GRANARY_EINVAL);
    assert_err(granary_object_list_page(client, NULL, &cursor, 0, &info, &size), GRANARY_EINVAL);

    assert_ok(granary_object_get(client, fixture_id(3), 0, &view));
    assert_ok(granary_object_delete(client, fixture_id(3), 0));
    assert_int_equal(count_all(client, &(granary_object_filter){.states = 1u << GRANARY_OBJECT_DELETING}), 1);
    granary_object_release(client, &view);
    assert_int_equal(count_all(client, &(granary_object_filter){.states = 1u << GRANARY_OBJECT_SPILLED}), 0);
    assert_ok(granary_object_move(client, fixture_id(8), GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, 10000));
    assert_int_equal(count_all(client, &(granary_object_filter){.states = 1u << GRANARY_OBJECT_SPILLED}), 1);
    assert_int_equal(count_all(client, &(granary_object_filter){.levels = GRANARY_LEVEL_DISK}), 1);
    assert_true(count_all(client, &(granary_object_filter){.levels = GRANARY_LEVEL_MEMORY}) >= 98);
    granary_disconnect(client);
}

static void
owners_are_found(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_object_info *infos;
    unsigned seen = 0;
    size_t count;

    for (uint64_t n = 0; n < 1000; n++) {
        assert_ok(fixture_put(client, n, n, GRANARY_NOWAIT));
    }
    for (uint64_t n = 0; n < 1000; n++) {
        assert_ok(granary_reference(client, fixture_id(n), n % 100 == 0 ? "mine" : "yours", NULL));
    }
    assert_ok(granary_reference(client, fixture_id(300), "mine", NULL)); /* twice: told once */
    for (size_t most = 1; most <= 100; most *= 10) {
        count = list_all(client, &(granary_object_filter){.owner = "mine"}, most, &infos);
        assert_int_equal(count, 10);
        seen = 0;
        for (size_t i = 0; i < count; i++) {
            seen |= 1u << number_of(infos[i].id) / 100;
        }
        assert_int_equal(seen, 0x3ff);
        free(infos);
    }
    assert_int_equal(count_all(client, &(granary_object_filter){.owner = "mine", .least_size = 500}), 5);
    assert_int_equal(count_all(client, &(granary_object_filter){.owner = "nobody"}), 0);
    granary_disconnect(client);
}

/* What is known of an object changes as it moves; what it is does not. */
static void
an_object_can_be_moved_and_followed(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_object_options options = {.persist = GRANARY_LEVEL_DISK, .importance = 5};
    granary_object_info info;
    granary_id ids[2] = {fixture_id(1), fixture_id(2)};
    granary_view view;

    assert_ok(granary_object_put_with(client, ids[0], "abc", 3, NULL, 0, &options, GRANARY_NOWAIT));
    assert_ok(granary_object_info_get(client, ids[0], &info));
    assert_true(info.persistent);
    assert_int_equal(info.levels, GRANARY_LEVEL_MEMORY | GRANARY_LEVEL_DISK);
    assert_ok(fixture_put(client, 2, MIB, 0));
    assert_ok(granary_object_get(client, ids[1], 0, &view));
    assert_err(granary_object_move(client, ids[1], GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, 10000), GRANARY_EBUSY);
    granary_object_release(client, &view);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(granary_object_move(client, ids[i], GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, 10000));
        assert_ok(granary_object_info_get(client, ids[i], &info));
        assert_int_equal(info.state, GRANARY_OBJECT_SPILLED);
        assert_int_equal(info.levels, GRANARY_LEVEL_DISK);
    }
    assert_ok(granary_object_prefetch(client, ids, 2));
    assert_ok(granary_object_prefetch(client, (granary_id[]){fixture_id(9)}, 1)); /* not there: nothing to do */
    for (size_t i = 0; i < 2; i++) {
        assert_ok(granary_object_move(client, ids[i], GRANARY_LEVEL_MEMORY, 0, 10000));
        assert_ok(granary_object_info_get(client, ids[i], &info));
        assert_int_equal(info.state, GRANARY_OBJECT_SEALED);
    }
    assert_ok(granary_object_info_get(client, ids[0], &info));
    assert_int_equal(info.importance, 5);
    fixture_check(client, 2, MIB);
    assert_err(granary_object_move(client, fixture_id(9), GRANARY_LEVEL_DISK, 0, 1000), GRANARY_ENOENT);
    assert_err(granary_object_move(client, ids[0], GRANARY_LEVEL_GPU, 0, 1000), GRANARY_EUNSUPPORTED);
    granary_disconnect(client);
}

static void
containers_hold_what_they_name(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_id children[2] = {fixture_id(1), fixture_id(2)};
    granary_object_options options = {.contains = children, .contains_count = 2};
    granary_object_info info;
    granary_buffer buffer;

    assert_err(granary_object_put_with(client, fixture_id(10), "p", 1, NULL, 0, &options, 0), GRANARY_ENOENT);
    assert_ok(fixture_put(client, 1, 10, 0));
    assert_ok(fixture_put(client, 2, 10, 0));
    assert_ok(granary_object_create_with(client, fixture_id(10), 1, 0, &options, &buffer));
    granary_object_abort(client, &buffer);
    assert_ok(granary_object_delete(client, fixture_id(2), 0)); /* the parent never was: gone at once */
    assert_false(granary_object_contains(client, fixture_id(2)));
    assert_ok(fixture_put(client, 2, 10, 0));
    assert_ok(granary_object_put_with(client, fixture_id(10), "p", 1, NULL, 0, &options, 0));
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    assert_ok(granary_object_info_get(client, fixture_id(1), &info));
    assert_true(info.dropped);
    fixture_check(client, 1, 10);
    assert_ok(granary_object_delete(client, fixture_id(10), 0));
    assert_true(granary_object_contains(client, fixture_id(2)));
    granary_disconnect(client);
}

int
main(void)
{
#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)
    const struct CMUnitTest tests[] = {
        STORE_TEST(each_object_comes_once),
        STORE_TEST(what_stays_comes_once),
        STORE_TEST(filters_choose),
        STORE_TEST(owners_are_found),
        STORE_TEST(an_object_can_be_moved_and_followed),
        STORE_TEST(containers_hold_what_they_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
