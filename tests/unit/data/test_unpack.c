/* Packed texts: each packing there and back, several members, what tells them, cut off anywhere, and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "data/text/unpack.h"

enum { TEXT = 700000 };

/* A text that packs well in part. */
static char *
some_text(void)
{
    char *text = malloc(TEXT);
    uint32_t random = 1;

    assert_non_null(text);
    for (size_t i = 0; i < TEXT; i++) {
        random = random * 1664525 + 1013904223;
        text[i] = (char)(i % 1000 < 600 ? 'a' : (int)(random >> 24));
    }
    return text;
}

struct file {
    int fd;
    char path[64];
};

static void
file_make(struct file *file, const void *bytes, size_t size)
{
    file->fd = memfd_create("packed", MFD_CLOEXEC);
    assert_true(file->fd >= 0);
    assert_int_equal(write(file->fd, bytes, size), size);
    (void)snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->fd);
}

/* All of a file's text, read `step` bytes at a time. */
static granary_err
unpack_all(const char *path, size_t step, struct gr_buf *out)
{
    struct gr_unpack *unpack;
    granary_err err = gr_unpack_open(path, &unpack);
    size_t got = step;

    while (err == GRANARY_OK && got == step) {
        char *to = gr_buf_grow(out, step);

        assert_non_null(to);
        err = gr_unpack_read(unpack, to, step, &got);
        out->size -= step - got;
    }
    gr_unpack_close(unpack);
    return err;
}

static void
each_packing_gives_the_text_back(void **state)
{
    char *text = some_text();

    (void)state;
    for (int p = GR_PACKING_NONE; p < GR_PACKINGS; p++) {
        static const size_t steps[] = {1 << 20, 1000, 262144};

        for (size_t s = 0; s < 3; s++) {
            struct gr_buf packed = {0};
            struct gr_buf back = {0};
            enum gr_packing found;
            struct file file;

            /* Three members, one of them empty. */
            assert_int_equal(gr_pack_text((enum gr_packing)p, text, TEXT / 2, &packed), GRANARY_OK);
            assert_int_equal(gr_pack_text((enum gr_packing)p, "", 0, &packed), GRANARY_OK);
            assert_int_equal(gr_pack_text((enum gr_packing)p, text + TEXT / 2, TEXT / 2, &packed), GRANARY_OK);
            if (p != GR_PACKING_NONE) {
                assert_int_equal(gr_packing_of_bytes(packed.bytes, packed.size), p);
                assert_true(packed.size < TEXT);
            }
            file_make(&file, packed.bytes, packed.size);
            assert_int_equal(unpack_all(file.path, steps[s], &back), GRANARY_OK);
            assert_int_equal(back.size, TEXT);
            assert_memory_equal(back.bytes, text, TEXT);
            assert_true(gr_packing_parse(gr_packing_name((enum gr_packing)p), &found) && found == (enum gr_packing)p);
            (void)close(file.fd);
            gr_buf_free(&packed);
            gr_buf_free(&back);
        }
    }
    free(text);
}

static void
a_file_cut_off_says_where(void **state)
{
    char *text = some_text();

    (void)state;
    for (int p = GR_PACKING_NONE + 1; p < GR_PACKINGS; p++) {
        struct gr_buf packed = {0};

        assert_int_equal(gr_pack_text((enum gr_packing)p, text, 5000, &packed), GRANARY_OK);
        for (size_t size = GR_PACKING_MAGIC; size < packed.size; size += 1 + packed.size / 50) {
            struct gr_buf back = {0};
            struct file file;
            char place[64];

            file_make(&file, packed.bytes, size);
            assert_int_equal(unpack_all(file.path, 4096, &back), GRANARY_EINVAL);
            (void)snprintf(place, sizeof place, "byte %zu of what %s has packed", size,
                           gr_packing_name((enum gr_packing)p));
            assert_non_null(strstr(granary_error_message(), place));
            assert_non_null(strstr(granary_error_message(), file.path));
            assert_true(back.size <= 5000 && (back.size == 0 || memcmp(back.bytes, text, back.size) == 0));
            (void)close(file.fd);
            gr_buf_free(&back);
        }
        gr_buf_free(&packed);
    }
    free(text);
}

/* Each has checksums: a byte that is another one is noticed, or was of no use. */
static void
damage_is_noticed(void **state)
{
    char *text = some_text();

    (void)state;
    for (int p = GR_PACKING_NONE + 1; p < GR_PACKINGS; p++) {
        struct gr_buf packed = {0};
        size_t noticed = 0;
        size_t tried = 0;

        assert_int_equal(gr_pack_text((enum gr_packing)p, text, 5000, &packed), GRANARY_OK);
        for (size_t at = GR_PACKING_MAGIC; at < packed.size; at += 1 + packed.size / 60, tried++) {
            struct gr_buf back = {0};
            struct file file;

            packed.bytes[at] ^= 0x55;
            file_make(&file, packed.bytes, packed.size);
            if (unpack_all(file.path, 4096, &back) != GRANARY_OK) {
                assert_non_null(strstr(granary_error_message(), "has packed: "));
                noticed++;
            } else {
                assert_int_equal(back.size, 5000);
                assert_memory_equal(back.bytes, text, back.size);
            }
            packed.bytes[at] ^= 0x55;
            (void)close(file.fd);
            gr_buf_free(&back);
        }
        assert_true(noticed * 10 >= tried * 9);
        gr_buf_free(&packed);
    }
    free(text);
}

static void
what_follows_a_member_is_another_or_an_error(void **state)
{
    struct gr_buf packed = {0};
    struct gr_buf back = {0};
    struct file file;

    (void)state;
    assert_int_equal(gr_pack_text(GR_PACKING_GZIP, "a\n", 2, &packed), GRANARY_OK);
    gr_buf_add(&packed, "\0\0\0\0\0", 5); /* of a tape */
    file_make(&file, packed.bytes, packed.size);
    assert_int_equal(unpack_all(file.path, 100, &back), GRANARY_OK);
    assert_int_equal(back.size, 2);
    (void)close(file.fd);
    gr_buf_add(&packed, "rest", 4);
    file_make(&file, packed.bytes, packed.size);
    assert_int_equal(unpack_all(file.path, 100, &back), GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), "something else follows"));
    (void)close(file.fd);
    gr_buf_free(&packed);
    gr_buf_free(&back);
}

static void
a_name_tells_by_its_ending(void **state)
{
    static const struct {
        const char *path;
        enum gr_packing packing;
        size_t stem;
    } names[] = {
        {"a.csv", GR_PACKING_NONE, 5}, {"a.csv.gz", GR_PACKING_GZIP, 5},   {"a.csv.ZST", GR_PACKING_ZSTD, 5},
        {"a.lz4", GR_PACKING_LZ4, 1},  {"a.tsv.bz2", GR_PACKING_BZIP2, 5}, {".gz", GR_PACKING_NONE, 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t stem;

        assert_int_equal(gr_packing_of_path(names[i].path, &stem), names[i].packing);
        assert_int_equal(stem, names[i].stem);
    }
    assert_int_equal(gr_packing_of_bytes("BZhello", 7), GR_PACKING_NONE);
    assert_int_equal(gr_packing_of_bytes("BZ", 2), GR_PACKING_NONE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_packing_gives_the_text_back),
        cmocka_unit_test(a_file_cut_off_says_where),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(what_follows_a_member_is_another_or_an_error),
        cmocka_unit_test(a_name_tells_by_its_ending),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
