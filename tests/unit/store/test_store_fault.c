/* Disks that fail: at each system call, with each error, and what is left of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "contract/shm.h"
#include "live.h"
#include "store/level/level.h"
#include "support/syscalls.h"

#define MIB ((uint64_t)1 << 20)

enum { OBJECTS = 3 };
static const uint64_t sizes[OBJECTS] = {1000, 5 * MIB / 2, 20000};

static const struct {
    int error;
    granary_err err;
} errors[] = {{EIO, GRANARY_EIO}, {ENOSPC, GRANARY_EFULL}};

struct fixture {
    const struct level_ops *ops;
    void *self;
    char root[64];
    char dir[80];
    int memory;
    char *bytes;
    uint64_t total;
    struct level_object objects[OBJECTS];
};

static uint64_t
footprint_of(const struct level_object *object)
{
    return GR_FOOTPRINT(object->data_size, (uint64_t)object->meta_size);
}

static void
fixture_open(struct fixture *f, const struct level_ops *ops)
{
    uint64_t x = 5;

    *f = (struct fixture){.ops = ops, .root = "/dev/shm/granary-test-XXXXXX"};
    assert_non_null(mkdtemp(f->root));
    (void)snprintf(f->dir, sizeof f->dir, "%s/spill", f->root);
    assert_int_equal(ops->open(&(struct level_options){.dir = f->dir}, &f->self), GRANARY_OK);
    f->memory = memfd_create("objects", MFD_CLOEXEC);
    for (int i = 0; i < OBJECTS; i++) {
        f->objects[i] = (struct level_object){.id = {{(unsigned char)(i + 1)}},
                                              .stamp = 9 + (uint64_t)i,
                                              .data_size = sizes[i],
                                              .fd = f->memory,
                                              .offset = f->total};
        f->total += footprint_of(&f->objects[i]);
    }
    f->bytes = malloc(f->total);
    for (uint64_t i = 0; i < f->total; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        f->bytes[i] = (char)(x >> 56);
    }
    assert_int_equal(gr_pwrite_all(f->memory, f->bytes, f->total, 0), GRANARY_OK);
}

static void
fixture_close(struct fixture *f)
{
    f->ops->clear(f->self);
    f->ops->close(f->self);
    assert_int_not_equal(access(f->dir, F_OK), 0); /* it was empty */
    gr_remove_tree(f->root);
    gr_fd_close(&f->memory);
    free(f->bytes);
}

static granary_err
write_file(struct fixture *f, uint32_t flags)
{
    const struct level_file file = {.number = 7, .flags = flags, .session = "s"};
    uint64_t written;

    return f->ops->write(f->self, &file, f->objects, OBJECTS, UINT64_MAX, &written);
}

static granary_err
read_back(struct fixture *f, int i)
{
    struct level_object to = f->objects[i];
    uint64_t size = footprint_of(&to);
    granary_err err;

    to.fd = memfd_create("back", MFD_CLOEXEC);
    to.offset = 0;
    err = f->ops->read(f->self, 7, &to, 0, size, NULL);
    if (err == GRANARY_OK) {
        char *back = malloc(size);

        assert_int_equal(gr_pread_all(to.fd, back, size, 0), GRANARY_OK);
        assert_memory_equal(back, f->bytes + f->objects[i].offset, size);
        free(back);
    }
    gr_fd_close(&to.fd);
    return err;
}

/* Write with the n-th call of a kind failing, n = 0, 1, ... until none is left to fail. Returns how many did. */
static unsigned
fail_each_write(struct fixture *f, enum syscall which, uint32_t flags, size_t error)
{
    for (unsigned n = 0;; n++) {
        granary_err err;

        syscalls_fail(which, n, errors[error].error, false);
        err = write_file(f, flags);
        if (!syscalls_heal()) {
            assert_int_equal(err, GRANARY_OK);
            f->ops->remove(f->self, 7);
            f->ops->settle(f->self);
            return n;
        }
        assert_int_equal(err, errors[error].err);
        assert_non_null(strstr(granary_error_message(), f->dir));
        assert_int_equal(rmdir(f->dir), 0); /* nothing is left */
        assert_int_equal(gr_mkdir_private(f->dir), GRANARY_OK);
        assert_int_equal(write_file(f, flags), GRANARY_OK);
        for (int i = 0; i < OBJECTS && n == 0; i++) {
            assert_int_equal(read_back(f, i), GRANARY_OK);
        }
        f->ops->remove(f->self, 7);
    }
}

static void
a_failing_write_leaves_nothing(void **state)
{
    static const struct level_ops *const levels[] = {&level_disk, &level_remote};

    (void)state;
    for (size_t level = 0; level < 2; level++) {
        for (size_t error = 0; error < sizeof errors / sizeof errors[0]; error++) {
            struct fixture f;

            fixture_open(&f, levels[level]);
            for (uint32_t flags = 0; flags <= LEVEL_FILE_PERSISTENT; flags++) {
                unsigned syncs = fail_each_write(&f, SYSCALL_SYNC, flags, error);

                assert_int_equal(syncs, flags == LEVEL_FILE_PERSISTENT ? 2 : level);
                assert_int_equal(fail_each_write(&f, SYSCALL_RENAME, flags, error), 1);
                assert_true(fail_each_write(&f, SYSCALL_OPEN, flags, error) >= 1);
                assert_true(fail_each_write(&f, SYSCALL_WRITE, flags, error) >= 3);
            }
            fixture_close(&f);
        }
    }
}

/* A read that fails is an error of the disk, not damage; the next one may work. */
static void
a_failing_read_names_the_file(void **state)
{
    struct fixture f;
    unsigned failed = 0;

    (void)state;
    fixture_open(&f, &level_disk);
    assert_int_equal(write_file(&f, 0), GRANARY_OK);
    for (int i = 0; i < OBJECTS; i++) {
        for (unsigned n = 0;; n++) {
            granary_err err;

            syscalls_fail(SYSCALL_READ, n, EIO, false);
            err = read_back(&f, i);
            if (!syscalls_heal()) {
                assert_int_equal(err, GRANARY_OK);
                break;
            }
            assert_int_equal(err, GRANARY_EIO);
            assert_non_null(strstr(granary_error_message(), "spill.7"));
            failed++;
        }
        syscalls_fail(SYSCALL_OPEN, 0, EIO, false);
        assert_int_equal(read_back(&f, i), GRANARY_EIO);
        assert_true(syscalls_heal());
    }
    assert_true(failed >= 8);
    fixture_close(&f);
}

/* A file system that takes O_DIRECT at open() and refuses it later is written and read all the same. */
static void
direct_io_may_be_refused_late(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, &level_disk);
    syscalls_fail(SYSCALL_WRITE, 1, EINVAL, false);
    assert_int_equal(write_file(&f, 0), GRANARY_OK);
    (void)syscalls_heal();
    syscalls_fail(SYSCALL_READ, 2, EINVAL, false);
    assert_int_equal(read_back(&f, 1), GRANARY_OK);
    (void)syscalls_heal();
    fixture_close(&f);
}

static granary_err
put(granary_client *client, uint64_t n)
{
    granary_buffer buffer;
    granary_err err = granary_object_create(client, live_id(n), MIB / 2, 0, 500, &buffer);

    if (err == GRANARY_OK) {
        live_fill(buffer.data, MIB / 2, n);
        err = granary_object_seal(client, &buffer);
    }
    return err;
}

/* A store whose disk fails says so to who needs room, loses nothing, and goes on when the disk does. */
static void
a_store_outlives_its_disk_failing(void **state)
{
    static const enum syscall kinds[] = {SYSCALL_WRITE, SYSCALL_OPEN, SYSCALL_RENAME};
    struct live live;
    granary_client *client;
    unsigned n = 0;

    (void)state;
    live_start(&live, 4 * MIB, 0);
    client = live_connect(&live, NULL);
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        granary_err err = GRANARY_OK;

        syscalls_fail(kinds[kind], 0, ENOSPC, true);
        for (unsigned tries = 0; tries < 20 && err == GRANARY_OK; tries++) {
            err = put(client, n);
            n += err == GRANARY_OK;
        }
        assert_int_equal(err, GRANARY_EFULL);
        assert_non_null(strstr(granary_error_message(), "spill."));
        assert_true(syscalls_heal());
        for (unsigned i = 0; i < 6; i++) {
            /* The disk is tried again a second after it failed. */
            do {
                err = put(client, n);
            } while (err == GRANARY_EFULL);
            assert_int_equal(err, GRANARY_OK);
            n++;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(live_verify(client, i, MIB / 2), GRANARY_OK);
    }
    granary_disconnect(client);
    live_stop(&live);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_write_leaves_nothing),
        cmocka_unit_test(a_failing_read_names_the_file),
        cmocka_unit_test(direct_io_may_be_refused_late),
        cmocka_unit_test(a_store_outlives_its_disk_failing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
