/* Several directories of spill files: who gets how much, and one that is full, fails, goes away or comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "contract/shm.h"
#include "granary/inspect.h"
#include "live.h"
#include "store/core/core.h"
#include "store/segment/depot.h"
#include "support/syscalls.h"

#define MIB    ((uint64_t)1 << 20)
#define PLACES 3u

/* ---- shares ---- */

static uint64_t
speed_of(void *self)
{
    return *(const uint64_t *)self;
}

static const struct level_ops told = {.name = "told", .speed = speed_of};

struct shares {
    struct store store;
    struct depots depots;
    struct gr_spill_place places[PLACES];
    uint64_t speeds[PLACES];
    unsigned files[PLACES]; /* that each was given */
};

static struct shares *
shares_new(const uint64_t speeds[PLACES])
{
    struct shares *shares = calloc(1, sizeof *shares);

    shares->store.depots = &shares->depots;
    for (unsigned i = 0; i < PLACES; i++) {
        shares->speeds[i] = speeds[i];
        shares->depots.of[i] =
            (struct depot){.name = DEPOT_DISK, .ops = &told, .self = &shares->speeds[i], .place = &shares->places[i]};
    }
    return shares;
}

static void
deal(struct shares *shares, unsigned files, int64_t now_ns)
{
    memset(shares->files, 0, sizeof shares->files);
    for (unsigned i = 0; i < files; i++) {
        struct depot *depot = depot_to_spill(&shares->store, MIB, now_ns);

        assert_non_null(depot);
        depot_charge(&shares->store, depot, MIB);
        shares->files[depot - shares->depots.of]++;
    }
}

static void
each_has_its_share_by_its_speed(void **state)
{
    struct shares *shares = shares_new((uint64_t[PLACES]){100 * MIB, 200 * MIB, 500 * MIB});

    (void)state;
    deal(shares, 800, 1);
    assert_in_range(shares->files[0], 99, 102);
    assert_in_range(shares->files[1], 199, 202);
    assert_in_range(shares->files[2], 498, 502);
    shares->speeds[2] = 100 * MIB; /* it became slow */
    deal(shares, 400, 1);
    assert_in_range(shares->files[0], 99, 102);
    assert_in_range(shares->files[2], 97, 102);
    shares->speeds[0] = 0; /* nobody knows: it is tried, and does not get all */
    deal(shares, 400, 1);
    assert_in_range(shares->files[0], 1, 350);
    free(shares);
}

/* One that rests does not get afterwards all that it missed. */
static void
who_fails_rests_and_others_take_its_share(void **state)
{
    struct shares *shares = shares_new((uint64_t[PLACES]){100 * MIB, 100 * MIB, 100 * MIB});

    (void)state;
    depot_failed(&shares->store, &shares->depots.of[1], GRANARY_EIO, 1);
    deal(shares, 300, 2);
    assert_int_equal(shares->files[1], 0);
    assert_in_range(shares->files[0], 149, 151);
    deal(shares, 300, shares->depots.of[1].retry_ns);
    assert_in_range(shares->files[1], 99, 102);
    /* When all fail, each is tried again soon, however often it failed. */
    for (unsigned i = 0; i < 20 * PLACES; i++) {
        depot_failed(&shares->store, &shares->depots.of[i % PLACES], GRANARY_EIO, 3);
    }
    assert_null(depot_to_spill(&shares->store, MIB, 4));
    assert_non_null(depot_to_spill(&shares->store, MIB, 3 + 1000000000));
    free(shares);
}

static void
who_is_full_gets_what_still_fits(void **state)
{
    struct shares *shares = shares_new((uint64_t[PLACES]){900 * MIB, 100 * MIB, 100 * MIB});

    (void)state;
    shares->places[0].quota = MIB;
    shares->places[0].bytes = MIB / 2;
    deal(shares, 100, 1);
    assert_int_equal(shares->files[0], 0);
    assert_ptr_equal(depot_to_spill(&shares->store, MIB / 4, 1), &shares->depots.of[0]);
    free(shares);
}

/* ---- a store ---- */

struct world {
    struct live live;
    char dirs[PLACES][80];
    granary_client *client;
};

static void
world_begin(struct world *world, uint64_t first_limit)
{
    live_options(&world->live, 8 * MIB, 0, 0);
    world->live.options.spill_count = PLACES;
    for (unsigned i = 0; i < PLACES; i++) {
        (void)snprintf(world->dirs[i], sizeof world->dirs[i], "%s/place%u", world->live.dir, i);
        world->live.options.spill[i] = (struct store_place){.dir = world->dirs[i], .quota = i == 0 ? first_limit : 0};
    }
    live_begin(&world->live);
    world->client = live_connect(&world->live, NULL);
}

static void
world_end(struct world *world)
{
    granary_disconnect(world->client);
    live_stop(&world->live);
}

static void
places_of(const struct world *world, granary_spill_dir_info infos[PLACES])
{
    granary_inspector *inspector;
    granary_spill_dir_info *all;
    size_t count;

    assert_int_equal(granary_inspect_open(world->live.instance, &inspector), GRANARY_OK);
    assert_int_equal(granary_inspect_spill_dirs(inspector, &all, &count), GRANARY_OK);
    assert_int_equal(count, PLACES);
    memcpy(infos, all, PLACES * sizeof *infos);
    free(all);
    granary_inspect_close(inspector);
}

static void
put_many(const struct world *world, uint64_t first, uint64_t end)
{
    for (uint64_t n = first; n < end; n++) {
        if (live_put(world->client, n, MIB) != GRANARY_OK) {
            fail_msg("%u: %s", (unsigned)n, granary_error_message());
        }
    }
}

static void
a_directory_with_a_limit_leaves_the_rest_to_others(void **state)
{
    struct world world;
    granary_spill_dir_info infos[PLACES];
    granary_store_stat stat;

    (void)state;
    world_begin(&world, 3 * MIB / 2);
    put_many(&world, 0, 60);
    do { /* files are written behind the puts, and the account is told a little after the directories */
        assert_int_equal(granary_store_stat_get(world.client, &stat), GRANARY_OK);
        places_of(&world, infos);
    } while (stat.disk_bytes != infos[0].bytes + infos[1].bytes + infos[2].bytes);
    assert_int_equal(infos[0].quota_bytes, 3 * MIB / 2);
    for (unsigned i = 0; i < PLACES; i++) {
        assert_int_equal(strncmp(infos[i].path, world.dirs[i], strlen(world.dirs[i])), 0);
        assert_int_equal(infos[i].failures, 0);
        assert_true(infos[i].bytes > 0 && infos[i].bytes_per_s > 0);
    }
    assert_true(infos[0].bytes <= infos[0].quota_bytes);
    for (uint64_t n = 0; n < 60; n++) {
        assert_int_equal(live_verify(world.client, n, MIB), GRANARY_OK);
    }
    world_end(&world);
}

/* A disk is full at one write: that file goes to another directory, and nobody hears of it but who asks. */
static void
a_write_that_fails_is_repeated_elsewhere(void **state)
{
    const granary_object_options persistent = {.persist = GRANARY_LEVEL_DISK};
    struct world world;
    granary_spill_dir_info infos[PLACES];
    granary_buffer buffer;
    uint64_t failures = 0;

    (void)state;
    world_begin(&world, 0);
    syscalls_fail(SYSCALL_WRITE, 0, ENOSPC, false);
    assert_int_equal(granary_object_create_with(world.client, live_id(1), MIB, 0, &persistent, &buffer), GRANARY_OK);
    live_fill(buffer.data, MIB, 1);
    assert_int_equal(granary_object_seal(world.client, &buffer), GRANARY_OK);
    assert_true(syscalls_heal());
    places_of(&world, infos);
    for (unsigned i = 0; i < PLACES; i++) {
        assert_int_equal(infos[i].failed, infos[i].failures == 0 ? GRANARY_OK : GRANARY_EFULL);
        failures += infos[i].failures;
    }
    assert_int_equal(failures, 1);
    put_many(&world, 100, 140);
    for (uint64_t n = 100; n < 140; n++) {
        assert_int_equal(live_verify(world.client, n, MIB), GRANARY_OK);
    }
    assert_int_equal(live_verify(world.client, 1, MIB), GRANARY_OK);
    world_end(&world);
}

/* What was in it is told to be lost, of each object by itself; whatever else there is goes on. */
static void
a_directory_that_goes_takes_only_its_own(void **state)
{
    struct world world;
    granary_spill_dir_info infos[PLACES];
    char gone[96];
    unsigned lost = 0;
    int fd;

    (void)state;
    world_begin(&world, 0);
    put_many(&world, 0, 40);
    (void)snprintf(gone, sizeof gone, "%s.gone", world.dirs[1]);
    /* A file takes its place at once: the store spills meanwhile, and would make the directory again. */
    fd = open(gone, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    gr_fd_close(&fd);
    assert_int_equal(renameat2(AT_FDCWD, world.dirs[1], AT_FDCWD, gone, RENAME_EXCHANGE), 0);
    put_many(&world, 100, 140);
    for (uint64_t n = 0; n < 40; n++) {
        granary_err err = live_verify(world.client, n, MIB);

        if (err != GRANARY_OK) {
            assert_int_not_equal(err, GRANARY_ETIMEDOUT);
            assert_non_null(strstr(granary_error_message(), world.dirs[1]));
            lost++;
        }
    }
    assert_in_range(lost, 1, 35);
    for (uint64_t n = 100; n < 140; n++) {
        assert_int_equal(live_verify(world.client, n, MIB), GRANARY_OK);
    }
    places_of(&world, infos);
    assert_int_not_equal(infos[1].failed, GRANARY_OK);
    assert_int_equal(infos[0].failed, GRANARY_OK);
    assert_int_equal(infos[2].failed, GRANARY_OK);
    world_end(&world);
}

/* Persistent objects come back from all of them. */
static void
a_restart_finds_what_each_holds(void **state)
{
    const granary_object_options persistent = {.persist = GRANARY_LEVEL_DISK};
    struct world world;
    granary_spill_dir_info infos[PLACES];

    (void)state;
    world_begin(&world, 0);
    for (uint64_t n = 0; n < 12; n++) {
        granary_buffer buffer;

        assert_int_equal(granary_object_create_with(world.client, live_id(n), MIB, 0, &persistent, &buffer),
                         GRANARY_OK);
        live_fill(buffer.data, MIB, n);
        assert_int_equal(granary_object_seal(world.client, &buffer), GRANARY_OK);
    }
    places_of(&world, infos);
    for (unsigned i = 0; i < PLACES; i++) {
        assert_true(infos[i].bytes > MIB / 2);
    }
    granary_disconnect(world.client);
    live_restart(&world.live);
    world.client = live_connect(&world.live, NULL);
    for (uint64_t n = 0; n < 12; n++) {
        assert_int_equal(live_verify(world.client, n, MIB), GRANARY_OK);
        assert_int_equal(granary_object_delete(world.client, live_id(n), 0), GRANARY_OK);
    }
    world_end(&world);
}

/* Two names of one directory, and more than there can be. */
static void
a_directory_is_named_once(void **state)
{
    struct world world;
    struct store *store = NULL;

    (void)state;
    live_options(&world.live, 8 * MIB, 0, 0);
    (void)snprintf(world.dirs[0], sizeof world.dirs[0], "%s/twin", world.live.dir);
    assert_int_equal(symlink("spill", world.dirs[0]), 0);
    world.live.options.spill[1] = (struct store_place){.dir = world.dirs[0]};
    world.live.options.spill_count = 2;
    assert_int_equal(store_create(&world.live.options, &store), GRANARY_EINVAL);
    if (strstr(granary_error_message(), "the same directory as") == NULL) {
        fail_msg("%s", granary_error_message());
    }
    live_fini(&world.live);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_share_by_its_speed),
        cmocka_unit_test(who_fails_rests_and_others_take_its_share),
        cmocka_unit_test(who_is_full_gets_what_still_fits),
        cmocka_unit_test(a_directory_with_a_limit_leaves_the_rest_to_others),
        cmocka_unit_test(a_write_that_fails_is_repeated_elsewhere),
        cmocka_unit_test(a_directory_that_goes_takes_only_its_own),
        cmocka_unit_test(a_restart_finds_what_each_holds),
        cmocka_unit_test(a_directory_is_named_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
