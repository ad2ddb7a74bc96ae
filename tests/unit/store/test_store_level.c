/* The table of levels: what every writable level must do, one suite for all of them. */
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
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "contract/shm.h"
#include "spill/format.h"
#include "store/level/level.h"

#define KIB ((uint64_t)1 << 10)

enum { OBJECTS = 4 };
static const uint64_t sizes[OBJECTS] = {100, 300 * KIB, 2048 * KIB + 5, 64 * KIB};

struct fixture {
    const struct level_ops *ops;
    void *self;
    char dir[64];
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

static int
setup(void **state, const struct level_ops *ops)
{
    struct fixture *f = calloc(1, sizeof *f);
    uint64_t x = 9;

    f->ops = ops;
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/granary-test-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    assert_int_equal(ops->open(&(struct level_options){.dir = f->dir}, &f->self), GRANARY_OK);
    f->memory = memfd_create("objects", MFD_CLOEXEC);
    for (int i = 0; i < OBJECTS; i++) {
        f->objects[i] = (struct level_object){.id = {{(unsigned char)(i + 1), 7}},
                                              .stamp = 1000 + (uint64_t)i,
                                              .data_size = sizes[i],
                                              .meta_size = (uint32_t)i * 10,
                                              .fd = f->memory,
                                              .offset = f->total};
        f->total += footprint_of(&f->objects[i]);
    }
    f->bytes = malloc(f->total);
    for (uint64_t i = 0; i < f->total; i++) { /* objects 0 and 2 compress, the others do not */
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        f->bytes[i] = i >= f->objects[1].offset && i < f->objects[2].offset ? (char)(x >> 56) : (char)(i / 999);
    }
    assert_int_equal(gr_pwrite_all(f->memory, f->bytes, f->total, 0), GRANARY_OK);
    *state = f;
    return 0;
}

static int
setup_disk(void **state)
{
    return setup(state, &level_disk);
}

static int
setup_remote(void **state)
{
    return setup(state, &level_remote);
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    f->ops->close(f->self);
    gr_remove_tree(f->dir);
    gr_fd_close(&f->memory);
    free(f->bytes);
    free(f);
    return 0;
}

static uint64_t
write_file(struct fixture *f, uint32_t number, uint32_t flags)
{
    const struct level_file file = {.number = number, .flags = flags, .session = "some session"};
    uint64_t written = 0;

    assert_int_equal(f->ops->write(f->self, &file, f->objects, OBJECTS, UINT64_MAX, &written), GRANARY_OK);
    return written;
}

/* A range of an object, brought to memory of its own, is what it was. */
static void
check_range(const struct fixture *f, uint32_t file, const struct level_object *object, uint64_t from, uint64_t size,
            struct level_cost *cost)
{
    struct level_object to = *object;
    char *back = malloc(size);

    to.fd = memfd_create("back", MFD_CLOEXEC);
    to.offset = 128;
    assert_int_equal(f->ops->read(f->self, file, &to, from, size, cost), GRANARY_OK);
    assert_int_equal(gr_pread_all(to.fd, back, size, 128), GRANARY_OK);
    assert_memory_equal(back, f->bytes + object->offset + from, size);
    gr_fd_close(&to.fd);
    free(back);
}

/* Every range of frames comes back alone, at the cost of these frames. */
static void
ranges_touch_only_their_frames(void **state)
{
    struct fixture *f = *state;

    (void)write_file(f, 5, 0);
    for (int i = 0; i < OBJECTS; i++) {
        uint64_t footprint = footprint_of(&f->objects[i]);

        for (uint64_t offset = 0; offset < footprint; offset += LEVEL_FRAME) {
            for (uint64_t length = 1; offset + length <= footprint; length += LEVEL_FRAME) {
                struct level_cost cost = {0};
                uint64_t from, size;

                level_frame_range(footprint, offset, length, &from, &size);
                assert_int_equal(from, offset);
                assert_true(size >= length && size < length + LEVEL_FRAME);
                check_range(f, 5, &f->objects[i], from, size, &cost);
                assert_int_equal(cost.frames, (size + LEVEL_FRAME - 1) / LEVEL_FRAME);
                assert_true(cost.bytes <= size + 8192);
            }
        }
    }
}

struct seen {
    unsigned files, records;
    struct level_file last;
    struct level_record record[64];
};

static granary_err
see_file(void *context, const struct level_file *file)
{
    struct seen *seen = context;

    seen->files++;
    seen->last = *file;
    return GRANARY_OK;
}

static granary_err
see_record(void *context, const struct level_file *file, const struct level_record *record)
{
    struct seen *seen = context;

    assert_int_equal(file->err, GRANARY_OK);
    seen->record[seen->records++ % 64] = *record;
    return GRANARY_OK;
}

static struct seen
scan(const struct fixture *f)
{
    struct seen seen = {0};
    const struct level_visitor visitor = {.context = &seen, .file = see_file, .record = see_record};

    assert_int_equal(f->ops->scan(f->self, &visitor), GRANARY_OK);
    return seen;
}

static void
a_scan_tells_of_every_object(void **state)
{
    struct fixture *f = *state;
    uint64_t written = write_file(f, 17, LEVEL_FILE_PERSISTENT);
    struct seen seen = scan(f);

    assert_int_equal(seen.files, 1);
    assert_int_equal(seen.last.err, GRANARY_OK);
    assert_int_equal(seen.last.number, 17);
    assert_int_equal(seen.last.flags, LEVEL_FILE_PERSISTENT);
    assert_int_equal(seen.last.bytes, written);
    assert_int_equal(seen.last.objects, OBJECTS);
    assert_string_equal(seen.last.session, "some session");
    assert_int_equal(seen.records, OBJECTS);
    for (int i = 0; i < OBJECTS; i++) {
        struct level_object found = {.id = seen.record[i].id,
                                     .stamp = seen.record[i].stamp,
                                     .data_size = seen.record[i].data_size,
                                     .meta_size = seen.record[i].meta_size,
                                     .place = seen.record[i].place,
                                     .offset = f->objects[i].offset};
        struct level_record info;

        assert_memory_equal(&found.id, &f->objects[i].id, sizeof found.id);
        assert_int_equal(found.stamp, f->objects[i].stamp);
        assert_int_equal(found.place, f->objects[i].place);
        assert_int_equal(f->ops->info(f->self, 17, &found, &info), GRANARY_OK);
        assert_int_equal(info.frames, seen.record[i].frames);
        check_range(f, 17, &found, 0, footprint_of(&found), NULL);
    }
}

static void
path_in(const struct fixture *f, const char *name, char path[128])
{
    (void)snprintf(path, 128, "%s/%s", f->dir, name);
}

static void
flip(const char *path, off_t at)
{
    unsigned char byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 4;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    gr_fd_close(&fd);
}

/* Whatever is wrong with a file's own words, a scan says so and gives no record of it. */
static void
a_scan_names_what_is_wrong(void **state)
{
    struct fixture *f = *state;
    char path[128], other[128];
    uint64_t written = write_file(f, 3, 0);

    path_in(f, "spill.3", path);
    path_in(f, "spill.3.partial", other);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(scan(f).last.err, GRANARY_ESTATE);
    path_in(f, "spill.4", path);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(scan(f).last.err, GRANARY_ECORRUPT); /* another number */
    path_in(f, "spill.3", other);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(scan(f).last.err, GRANARY_OK);
    for (size_t at = 0; at < sizeof(struct spill_header); at++) {
        flip(other, (off_t)at);
        assert_int_equal(scan(f).last.err, at >= 8 && at < 12 ? GRANARY_EVERSION : GRANARY_ECORRUPT);
        assert_int_equal(scan(f).records, 0);
        flip(other, (off_t)at);
    }
    for (uint64_t at = written - sizeof(struct spill_footer); at < written; at++) {
        flip(other, (off_t)at);
        assert_int_equal(scan(f).last.err, GRANARY_ECORRUPT);
        flip(other, (off_t)at);
    }
    for (uint64_t at = f->objects[0].place; at < f->objects[0].place + OBJECTS * sizeof(struct spill_record); at++) {
        flip(other, (off_t)at);
        assert_int_equal(scan(f).last.err, GRANARY_ECORRUPT);
        flip(other, (off_t)at);
    }
    assert_int_equal(scan(f).records, OBJECTS);
    for (uint64_t size = 0; size < written; size += written / 13) {
        assert_int_equal(truncate(other, (off_t)size), 0);
        assert_true(scan(f).last.err == GRANARY_ECORRUPT || scan(f).last.err == GRANARY_EIO);
        (void)unlink(other);
        (void)write_file(f, 3, 0);
    }
}

static void
files_of_others_are_not_looked_at(void **state)
{
    static const char *const names[] = {"spill.", "spill.0", "spill.x", "spill.3x", "spill.99999999999", "readme"};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        int fd;

        path_in(f, names[i], path);
        fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        gr_fd_close(&fd);
    }
    assert_int_equal(scan(f).files, 0);
    f->ops->clear(f->self);
    assert_int_equal(scan(f).files, 0);
}

/* clear() keeps what is persistent, and what it does not understand. */
static void
clear_keeps_what_is_persistent(void **state)
{
    struct fixture *f = *state;
    char path[128], old[128];

    (void)write_file(f, 1, LEVEL_FILE_PERSISTENT);
    (void)write_file(f, 2, 0);
    (void)write_file(f, 3, 0);
    (void)write_file(f, 4, 0);
    path_in(f, "spill.3", path);
    assert_int_equal(truncate(path, 4096), 0);
    path_in(f, "spill.4", old);
    flip(old, 8);
    f->ops->clear(f->self);
    path_in(f, "spill.1", path);
    assert_int_equal(scan(f).files, 2);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(access(old, F_OK), 0);
    assert_int_equal(unlink(old), 0);
    f->ops->remove(f->self, 1);
    f->ops->remove(f->self, 1);
    f->ops->settle(f->self);
    assert_int_equal(scan(f).files, 0);
}

/* Frames are copied to another file as they are; a damaged one is not. */
static void
packed_objects_are_copied(void **state)
{
    struct fixture *f = *state;
    const struct level_file file = {.number = 9, .session = "s"};
    struct level_object copies[2] = {f->objects[2], f->objects[0]};
    uint64_t before = write_file(f, 8, 0);
    uint64_t after;
    granary_err err = GRANARY_OK;
    char path[128];
    int fd = f->ops->open_file(f->self, 8, &err);

    copies[0] = f->objects[2];
    copies[1] = f->objects[0];
    for (int i = 0; i < 2; i++) {
        copies[i].packed = true;
        copies[i].fd = fd;
        copies[i].offset = copies[i].place;
    }
    assert_int_equal(f->ops->write(f->self, &file, copies, 2, UINT64_MAX, &after), GRANARY_OK);
    assert_true(after < before);
    for (int i = 0; i < 2; i++) {
        struct level_object copy = f->objects[i == 0 ? 2 : 0];

        copy.place = copies[i].place;
        check_range(f, 9, &copy, 0, footprint_of(&copy), NULL);
    }
    f->ops->remove(f->self, 9);
    path_in(f, "spill.8", path);
    for (off_t at = 128; at < 4096; at += 64) {
        flip(path, at);
    }
    assert_int_equal(f->ops->write(f->self, &file, copies, 2, UINT64_MAX, &after), GRANARY_ECORRUPT);
    assert_true(copies[0].unreadable || copies[1].unreadable);
    assert_int_equal(scan(f).files, 1);
    gr_fd_close(&fd);
    assert_int_equal(f->ops->open_file(f->self, 77, &err), -1);
    assert_int_equal(err, GRANARY_ENOENT);
}

/* The writer of a segment may truncate it: the object is named, and no file is left. */
static void
an_unreadable_object_is_marked(void **state)
{
    struct fixture *f = *state;
    const struct level_file file = {.number = 6, .session = "s"};
    uint64_t written;

    assert_int_equal(ftruncate(f->memory, (off_t)f->objects[2].offset + 100), 0);
    assert_int_equal(f->ops->write(f->self, &file, f->objects, OBJECTS, UINT64_MAX, &written), GRANARY_ECORRUPT);
    assert_false(f->objects[0].unreadable || f->objects[1].unreadable);
    assert_true(f->objects[2].unreadable);
    assert_int_equal(scan(f).files, 0);
}

static void
a_used_up_allowance_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    const struct level_file file = {.number = 6, .session = "s"};
    uint64_t whole = write_file(f, 5, 0);
    uint64_t written = 1;

    for (uint64_t allowance = 0; allowance < whole; allowance += whole / 17) {
        assert_int_equal(f->ops->write(f->self, &file, f->objects, OBJECTS, allowance, &written), GRANARY_EFULL);
        assert_non_null(strstr(granary_error_message(), "spill.6"));
        assert_int_equal(scan(f).files, 1);
    }
    assert_int_equal(f->ops->write(f->self, &file, f->objects, OBJECTS, whole, &written), GRANARY_OK);
    assert_int_equal(written, whole);
}

static void
every_level_says_whether_it_is_there(void **state)
{
    struct level_capacity room = {0};
    const struct level_options nowhere = {.dir = NULL};
    const struct level_options below_tmp = {.dir = "/tmp/not/there/yet"};

    (void)state;
    assert_int_equal(level_memory.probe(&nowhere, &room), GRANARY_OK);
    assert_true(room.total > 0);
    assert_int_equal(level_gpu.probe(&nowhere, &room), GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "GPU"));
    assert_int_equal(level_disk.probe(&nowhere, &room), GRANARY_EUNSUPPORTED);
    room.total = 0;
    assert_int_equal(level_remote.probe(&below_tmp, &room), GRANARY_OK);
    assert_true(room.total > 0);
    assert_int_equal(level_gpu.level | level_memory.level | level_disk.level | level_remote.level, 15);
}

#define FOR_BOTH(test)                                                                                                 \
    {#test " (disk)", test, setup_disk, teardown, NULL},                                                               \
    {                                                                                                                  \
#test " (remote)", test, setup_remote, teardown, NULL                                                          \
    }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        FOR_BOTH(ranges_touch_only_their_frames),
        FOR_BOTH(a_scan_tells_of_every_object),
        FOR_BOTH(a_scan_names_what_is_wrong),
        FOR_BOTH(files_of_others_are_not_looked_at),
        FOR_BOTH(clear_keeps_what_is_persistent),
        FOR_BOTH(packed_objects_are_copied),
        FOR_BOTH(an_unreadable_object_is_marked),
        FOR_BOTH(a_used_up_allowance_leaves_nothing),
        cmocka_unit_test(every_level_says_whether_it_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
