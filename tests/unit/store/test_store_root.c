/* The root of an instance: numbers given once, whatever dies; and what is believed of a root that is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "store/core/root.h"

struct world {
    char dir[64];
    struct gr_instance instance;
    struct root root;
};

static int
setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    (void)setenv("GRANARY_LOG", "error", 1);
    gr_log_init("test");
    (void)snprintf(world->dir, sizeof world->dir, "/tmp/granary-test-XXXXXX");
    *state = world;
    if (mkdtemp(world->dir) == NULL || gr_instance_resolve(world->dir, &world->instance) != GRANARY_OK) {
        return -1;
    }
    return root_open(&world->root, &world->instance, false) == GRANARY_OK ? 0 : -1;
}

static int
teardown(void **state)
{
    struct world *world = *state;

    root_close(&world->root);
    gr_remove_tree(world->dir);
    (void)gr_instance_sweep_shm(&world->instance);
    free(world);
    return 0;
}

/* As after kill -9: what was written is there, nothing else was done. */
static void
die(struct world *world)
{
    world->root.detached = true;
    root_close(&world->root);
}

static granary_err
reopen(struct world *world)
{
    die(world);
    return root_open(&world->root, &world->instance, false);
}

static void
nothing_is_given_twice(void **state)
{
    struct world *world = *state;
    uint64_t serial = 0;
    uint64_t stamp = 0;
    uint32_t client = 0;
    uint32_t segment = 0;
    uint64_t epoch = 0;

    for (int life = 0; life < 5; life++) {
        uint32_t number;
        struct gr_segment_record *record;

        assert_int_equal(world->root.fresh, life == 0);
        root_set_state(&world->root, GR_CONTROL_SERVING); /* or it would count as never begun */
        assert_true(world->root.shm->epoch > epoch);
        epoch = world->root.shm->epoch;
        for (int i = 0; i < 1000; i++) {
            uint64_t next = root_serial(&world->root);

            assert_true(next > serial && next < world->root.shm->serial_limit);
            serial = next;
            next = root_stamp(&world->root, 1000000 - life);
            assert_true(next > stamp && next <= world->root.shm->stamp_limit);
            stamp = next;
            number = root_number(&world->root.shm->next_client);
            assert_true(number > client);
            client = number;
        }
        assert_int_equal(root_take_segment(&world->root, &number, &record), GRANARY_OK);
        assert_true(number > segment);
        segment = number;
        assert_int_equal(reopen(world), GRANARY_OK);
    }
    /* Restarts do not carry stamps far from the clock. */
    assert_true(GR_STAMP_MS(stamp) < 1000000 + 5 * 1001);
}

static void
a_block_of_serials_ends_in_the_next(void **state)
{
    struct world *world = *state;
    uint64_t limit;

    (void)root_serial(&world->root);
    limit = world->root.shm->serial_limit;
    world->root.serial = limit - 2;
    assert_int_equal(root_serial(&world->root), limit - 1);
    assert_int_equal(world->root.shm->serial_limit, limit);
    assert_int_equal(root_serial(&world->root), limit);
    assert_true(world->root.shm->serial_limit > limit);
}

static void
a_serial_that_a_slot_has_is_not_given(void **state)
{
    struct world *world = *state;
    uint64_t first = root_serial(&world->root);

    root_set_state(&world->root, GR_CONTROL_SERVING);
    root_serial_beyond(&world->root, first);
    assert_int_equal(root_serial(&world->root), first + 1);
    root_serial_beyond(&world->root, ROOT_SERIAL_MOST);
    assert_true(world->root.shm->serial_limit > ROOT_SERIAL_MOST);
    assert_int_equal(reopen(world), GRANARY_OK);
    assert_false(world->root.fresh);
    assert_true(root_serial(&world->root) > ROOT_SERIAL_MOST);
}

static void
a_taken_place_is_skipped(void **state)
{
    struct world *world = *state;
    struct gr_segment_record *first, *second;
    uint32_t one, two;

    assert_int_equal(root_take_segment(&world->root, &one, &first), GRANARY_OK);
    first->word = (uint64_t)one << 8 | GR_SEGMENT_OPEN;
    world->root.shm->next_segment = one + GR_MAX_SEGMENTS;
    assert_int_equal(root_take_segment(&world->root, &two, &second), GRANARY_OK);
    assert_int_equal(two, one + GR_MAX_SEGMENTS + 1);
    assert_ptr_equal(second, first + 1);
    world->root.shm->next_segment = UINT32_MAX;
    assert_int_equal(root_take_segment(&world->root, &two, &second), GRANARY_EFULL);
}

static void
clients_find_no_place_when_all_are_taken(void **state)
{
    struct world *world = *state;
    struct gr_client_record *record;

    for (unsigned i = 0; i < GR_MAX_CLIENTS; i++) {
        assert_int_equal(root_take_client(&world->root, &record), GRANARY_OK);
        record->word = i + 1;
    }
    assert_int_equal(root_take_client(&world->root, &record), GRANARY_EFULL);
    root_drop_client(&world->root.shm->clients[7]);
    assert_int_equal(root_take_client(&world->root, &record), GRANARY_OK);
    assert_ptr_equal(record, &world->root.shm->clients[7]);
}

/* What cannot be adopted makes place, with everything that has the instance's name. */
static void
what_cannot_be_adopted_is_swept(void **state)
{
    struct world *world = *state;
    char other[128];

    for (int way = 0; way < 5; way++) {
        int fd;

        (void)snprintf(other, sizeof other, "%ss1.data1", world->instance.shm_prefix);
        fd = shm_open(other, O_CREAT | O_RDWR, 0600);
        assert_true(fd >= 0);
        gr_fd_close(&fd);
        (void)root_serial(&world->root);
        switch (way) {
        case 0:
            world->root.shm->magic = 0;
            break;
        case 1:
            world->root.shm->boot_id[3] ^= 1;
            break;
        case 2:
            root_set_state(&world->root, GR_CONTROL_CLOSED);
            break;
        case 3:
            assert_int_equal(ftruncate(world->root.fd, 8192), 0);
            break;
        case 4:
            assert_int_equal(ftruncate(world->root.fd, 10), 0);
            break;
        }
        assert_int_equal(reopen(world), GRANARY_OK);
        assert_true(world->root.fresh);
        assert_int_equal(root_serial(&world->root), 1);
        assert_int_equal(shm_open(other, O_RDWR, 0), -1);
    }
}

/* Another release's objects are not thrown away without being asked for. */
static void
another_version_is_refused(void **state)
{
    struct world *world = *state;

    world->root.shm->version = GR_SHM_VERSION + 1;
    assert_int_equal(reopen(world), GRANARY_EVERSION);
    assert_non_null(strstr(granary_error_message(), "granary down"));
    assert_non_null(strstr(granary_error_message(), "--fresh"));
    assert_int_equal(root_open(&world->root, &world->instance, true), GRANARY_OK);
    assert_true(world->root.fresh);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_given_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_of_serials_ends_in_the_next, setup, teardown),
        cmocka_unit_test_setup_teardown(a_serial_that_a_slot_has_is_not_given, setup, teardown),
        cmocka_unit_test_setup_teardown(a_taken_place_is_skipped, setup, teardown),
        cmocka_unit_test_setup_teardown(clients_find_no_place_when_all_are_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_adopted_is_swept, setup, teardown),
        cmocka_unit_test_setup_teardown(another_version_is_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
