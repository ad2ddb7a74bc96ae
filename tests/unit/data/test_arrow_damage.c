/* Arrow files, directories and NPY files with every kind of damage: whatever is read, nothing outside the object is
 * touched (the sanitizers watch) and the answer is a frame or an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fd.h"
#include "data/arrow/arrow.h"
#include "data/layout/directory.h"
#include "data/print/print.h"
#include "frames.h"

/* Look at every value of a frame. */
static void
touch(const granary_frame *frame)
{
    struct gr_buf text = {0};

    if (frame->rows < 10000) {
        gr_print_csv(frame, &text);
    }
    gr_buf_free(&text);
}

/* Read a copy that is exactly as long as the file, so that a sanitizer sees the first byte too many. */
static granary_err
read_exactly(const void *bytes, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);
    granary_frame *frame;
    granary_err err;

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    err = gr_arrow_read(copy, size, NULL, 0, &frame);
    if (err == GRANARY_OK) {
        touch(frame);
        gr_frame_destroy(frame);
    } else {
        assert_true(strlen(granary_error_message()) > 0);
    }
    free(copy);
    return err;
}

static void
damage_every_byte(char *bytes, size_t size, size_t stride)
{
    static const unsigned char flips[] = {0x01, 0x80, 0xff, 0x7f};

    for (size_t i = 0; i < size; i += stride) {
        for (size_t f = 0; f < sizeof flips; f++) {
            bytes[i] = (char)(bytes[i] ^ flips[f]);
            (void)read_exactly(bytes, size);
            bytes[i] = (char)(bytes[i] ^ flips[f]);
        }
    }
}

static void
our_file_damaged_anywhere_is_survived(void **state)
{
    granary_frame *frame = frame_of_everything();
    struct object object = object_of(frame);

    (void)state;
    assert_int_equal(read_exactly(object.data, object.data_size), GRANARY_OK);
    damage_every_byte(object.data, object.data_size, 1);
    assert_int_equal(read_exactly(object.data, object.data_size), GRANARY_OK);
    object_free(&object);
    gr_frame_destroy(frame);
}

static char *
golden(const char *name, size_t *ret_size)
{
    char path[4096];
    char *bytes;

    (void)snprintf(path, sizeof path, "%s/tests/golden/arrow/%s", getenv("GRANARY_SOURCE"), name);
    assert_int_equal(gr_file_read(path, 1 << 20, &bytes, ret_size), GRANARY_OK);
    return bytes;
}

static void
foreign_file_damaged_anywhere_is_survived(void **state)
{
    size_t size;
    char *bytes = golden("foreign.arrow", &size);

    (void)state;
    damage_every_byte(bytes, size, 1);
    free(bytes);
}

static void
compressed_file_damaged_anywhere_is_survived(void **state)
{
    size_t size;
    char *bytes = golden("lz4.arrow", &size);

    (void)state;
    damage_every_byte(bytes, size, 5);
    free(bytes);
}

static void
files_cut_anywhere_are_refused(void **state)
{
    size_t size;
    char *bytes = golden("foreign.arrow", &size);

    (void)state;
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(read_exactly(bytes, i), i < 8 ? GRANARY_ETYPE : GRANARY_ECORRUPT);
    }
    free(bytes);
}

/* Four bytes at a time, as offsets and lengths are, and reproducible. */
static void
words_replaced_at_random_are_survived(void **state)
{
    static const uint32_t words[] = {0, 1, 4, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, 64, 6};
    size_t size;
    char *bytes = golden("foreign.arrow", &size);
    char *copy = malloc(size);
    uint64_t random = 88172645463325252u;

    (void)state;
    assert_non_null(copy);
    for (int round = 0; round < 4000; round++) {
        memcpy(copy, bytes, size);
        for (int i = 0; i < 3; i++) {
            uint32_t word;

            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            word = words[random % (sizeof words / sizeof words[0])];
            memcpy(copy + (random >> 20) % (size - 3) / 4 * 4, &word, sizeof word);
        }
        (void)read_exactly(copy, size);
    }
    free(copy);
    free(bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_file_damaged_anywhere_is_survived),
        cmocka_unit_test(foreign_file_damaged_anywhere_is_survived),
        cmocka_unit_test(compressed_file_damaged_anywhere_is_survived),
        cmocka_unit_test(files_cut_anywhere_are_refused),
        cmocka_unit_test(words_replaced_at_random_are_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
