/* Spill files: what was written comes back, and what was damaged does not. */
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
#include "store/level/level.h"

enum { OBJECTS = 5 };
static const uint64_t sizes[OBJECTS] = {0, 1, 1000, 1 << 20, (5 << 20) + 12345};

struct fixture {
    char root[64];
    char dir[80];
    char path[96];
    void *disk;
    int from;
    int to;
    char *bytes;
    uint64_t total;
    uint64_t written;
    struct level_object objects[OBJECTS];
};

static const struct level_file file_3 = {.number = 3, .session = "default"};

static uint64_t
footprint_of(const struct level_object *object)
{
    return GR_FOOTPRINT(object->data_size, (uint64_t)object->meta_size);
}

static granary_err
read_whole(const struct fixture *f, int i)
{
    return level_disk.read(f->disk, 3, &f->objects[i], 0, footprint_of(&f->objects[i]), NULL);
}

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    uint64_t x = 1;

    (void)snprintf(f->root, sizeof f->root, "/tmp/granary-test-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    (void)snprintf(f->dir, sizeof f->dir, "%s/spill", f->root);
    (void)snprintf(f->path, sizeof f->path, "%s/spill.3", f->dir);
    assert_int_equal(level_disk.open(&(struct level_options){.dir = f->dir}, &f->disk), GRANARY_OK);
    for (int i = 0; i < OBJECTS; i++) {
        f->objects[i] = (struct level_object){.id = {{(unsigned char)(i + 1)}},
                                              .stamp = 77 + (uint64_t)i,
                                              .data_size = sizes[i],
                                              .meta_size = i == 2 ? 77 : 0,
                                              .offset = f->total};
        f->total += GR_FOOTPRINT(sizes[i], (uint64_t)f->objects[i].meta_size);
    }
    f->bytes = malloc(f->total);
    for (uint64_t i = 0; i < f->total; i++) { /* the first half does not compress, the second does */
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        f->bytes[i] = i < f->total / 2 ? (char)(x >> 56) : (char)(i / 1000);
    }
    f->from = memfd_create("from", MFD_CLOEXEC);
    f->to = memfd_create("to", MFD_CLOEXEC);
    assert_int_equal(gr_pwrite_all(f->from, f->bytes, f->total, 0), GRANARY_OK);
    assert_int_equal(ftruncate(f->to, (off_t)f->total), 0);
    for (int i = 0; i < OBJECTS; i++) {
        f->objects[i].fd = f->from;
    }
    assert_int_equal(level_disk.write(f->disk, &file_3, f->objects, OBJECTS, UINT64_MAX, &f->written), GRANARY_OK);
    for (int i = 0; i < OBJECTS; i++) {
        f->objects[i].fd = f->to;
    }
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    level_disk.clear(f->disk);
    level_disk.close(f->disk);
    assert_int_not_equal(access(f->dir, F_OK), 0);
    gr_remove_tree(f->root);
    gr_fd_close(&f->from);
    gr_fd_close(&f->to);
    free(f->bytes);
    free(f);
    return 0;
}

static void
what_was_written_comes_back(void **state)
{
    struct fixture *f = *state;
    char *back = malloc(f->total);
    struct stat st;

    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_size, f->written);
    assert_true(f->written < f->total);
    for (int i = OBJECTS - 1; i >= 0; i--) {
        assert_int_equal(read_whole(f, i), GRANARY_OK);
    }
    assert_int_equal(gr_pread_all(f->to, back, f->total, 0), GRANARY_OK);
    assert_memory_equal(back, f->bytes, f->total);
    free(back);
}

/* Whatever one bit is flipped, an object is either read back right or refused as damaged, by name. */
static void
no_flipped_bit_goes_unnoticed(void **state)
{
    struct fixture *f = *state;
    char *back = malloc(f->total);
    int fd = open(f->path, O_RDWR | O_CLOEXEC);
    int refused = 0;

    srand(4);
    for (int round = 0; round < 120; round++) {
        off_t at = rand() % (int)f->written;
        unsigned char good, bad;

        assert_int_equal(pread(fd, &good, 1, at), 1);
        bad = good ^ (unsigned char)(1u << rand() % 8);
        assert_int_equal(pwrite(fd, &bad, 1, at), 1);
        for (int i = 0; i < OBJECTS; i++) {
            uint64_t size = footprint_of(&f->objects[i]);
            granary_err err = read_whole(f, i);

            if (err == GRANARY_OK) {
                assert_int_equal(gr_pread_all(f->to, back, size, (int64_t)f->objects[i].offset), GRANARY_OK);
                assert_memory_equal(back, f->bytes + f->objects[i].offset, size);
            } else {
                assert_int_equal(err, GRANARY_ECORRUPT);
                assert_non_null(strstr(granary_error_message(), f->path));
                refused++;
            }
        }
        assert_int_equal(pwrite(fd, &good, 1, at), 1);
    }
    assert_true(refused >= 100); /* what lies between index and footer is nobody's */
    (void)close(fd);
    free(back);
}

static void
truncated_files_are_damaged_not_wrong(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(truncate(f->path, (off_t)f->written / 2), 0);
    for (int i = 0; i < OBJECTS; i++) {
        assert_int_equal(read_whole(f, i), GRANARY_ECORRUPT);
        assert_non_null(strstr(granary_error_message(), f->path));
    }
    assert_int_equal(truncate(f->path, 10), 0);
    assert_int_equal(read_whole(f, 1), GRANARY_ECORRUPT);
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(read_whole(f, 1), GRANARY_ECORRUPT);
    assert_non_null(strstr(granary_error_message(), f->path));
}

/* Another object's record is not this object's, even if it is intact. */
static void
another_objects_record_is_refused(void **state)
{
    struct fixture *f = *state;
    struct level_object stranger = f->objects[1];

    stranger.place = f->objects[2].place;
    assert_int_equal(level_disk.read(f->disk, 3, &stranger, 0, footprint_of(&stranger), NULL), GRANARY_ECORRUPT);
    stranger.place = UINT64_MAX / 2;
    assert_int_not_equal(level_disk.read(f->disk, 3, &stranger, 0, footprint_of(&stranger), NULL), GRANARY_OK);
}

static void
quota_stops_a_file_and_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    const struct level_file file = {.number = 4, .session = "default"};
    uint64_t written = 99;
    char path[96];

    (void)snprintf(path, sizeof path, "%s/spill.4", f->dir);
    for (int i = 0; i < OBJECTS; i++) {
        f->objects[i].fd = f->from;
    }
    assert_int_equal(level_disk.write(f->disk, &file, f->objects, OBJECTS, 100000, &written), GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), f->dir));
    assert_int_equal(written, 99);
    assert_int_not_equal(access(path, F_OK), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_written_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(no_flipped_bit_goes_unnoticed, setup, teardown),
        cmocka_unit_test_setup_teardown(truncated_files_are_damaged_not_wrong, setup, teardown),
        cmocka_unit_test_setup_teardown(another_objects_record_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(quota_stops_a_file_and_leaves_nothing, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
