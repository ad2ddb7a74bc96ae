/* Frames packed and unpacked: all kinds of numbers at the borders of their widths, text, noise, and damaged frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pack/numbers.h"
#include "pack/pack.h"

enum { COUNT = LEVEL_FRAME / 8 };

static uint64_t state = 7;

static uint64_t
next(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return state >> 11;
}

/* Pack and unpack, at an odd address, as frames lie in files. Returns what is stored. */
static uint32_t
check(const void *raw, size_t size)
{
    char *packed = aligned_alloc(64, PACK_ROOM);
    char *back = aligned_alloc(64, LEVEL_FRAME);
    char *odd;
    const char *stored;
    uint32_t entry = frame_pack(raw, size, packed, &stored);

    assert_true(FRAME_SIZE(entry) <= size);
    assert_ptr_equal(stored, (entry & FRAME_RAW) != 0 ? raw : packed);
    odd = malloc(FRAME_SIZE(entry) + 1); /* no byte more: AddressSanitizer sees what is read behind it */
    memcpy(odd + 1, stored, FRAME_SIZE(entry));
    memset(back, 0x5a, LEVEL_FRAME);
    assert_true(frame_unpack(entry, odd + 1, back, size));
    assert_memory_equal(back, raw, size);
    free(odd);
    free(back);
    free(packed);
    return entry;
}

/* That numbers were recognised, with this width. */
static void
expect_width(const void *raw, size_t size, size_t values, unsigned width)
{
    assert_int_equal(check(raw, size), FRAME_NUMBERS | (uint32_t)(sizeof(struct numbers) + values * width));
}

static void
integers_take_the_bytes_of_their_range(void **unused)
{
    static const int64_t bases[] = {0, -5, INT64_MIN, 1700000000000000};
    int64_t *longs = malloc(LEVEL_FRAME);
    int32_t *ints = malloc(LEVEL_FRAME);

    (void)unused;
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++) {
        for (unsigned width = 0; width <= 6; width++) {
            uint64_t most = width == 0 ? 0 : ((uint64_t)1 << (8 * width)) - 1;

            for (size_t i = 0; i < COUNT; i++) {
                longs[i] = (int64_t)((uint64_t)bases[b] + (i == 9 ? most : next() & most));
            }
            longs[3] = bases[b];
            expect_width(longs, LEVEL_FRAME, COUNT, width);
        }
    }
    for (unsigned width = 1; width <= 3; width++) {
        for (size_t i = 0; i < (size_t)2 * COUNT; i++) {
            ints[i] = (int32_t)(next() & ((1u << (8 * width)) - 1)) - 70000;
        }
        ints[8] = -70000;
        ints[11] = -70000 + (int32_t)((1u << (8 * width)) - 1);
        expect_width(ints, LEVEL_FRAME, (size_t)2 * COUNT, width);
    }
    longs[0] = INT64_MIN;
    longs[1] = INT64_MAX;
    assert_int_equal(check(longs, LEVEL_FRAME) & FRAME_NUMBERS, 0);
    free(ints);
    free(longs);
}

static void
decimals_come_back_bit_by_bit(void **unused)
{
    static const double powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    double *values = malloc(LEVEL_FRAME);

    (void)unused;
    for (size_t e = 0; e < sizeof powers / sizeof powers[0]; e++) {
        for (size_t i = 0; i < COUNT; i++) {
            values[i] = (double)((int64_t)(next() % 10000000) - 4000000) / powers[e];
        }
        values[0] = 1 / powers[e];
        expect_width(values, LEVEL_FRAME, COUNT, 3);
    }
    values[COUNT - 1] =
        nextafter(values[COUNT - 1], 1e9); /* one that is no decimal, beyond those that are tried first */
    assert_int_equal(check(values, LEVEL_FRAME) & FRAME_NUMBERS, 0);
    values[COUNT - 1] = -0.0;
    assert_int_equal(check(values, LEVEL_FRAME) & FRAME_NUMBERS, 0);
    values[COUNT - 1] = (double)NAN;
    (void)check(values, LEVEL_FRAME);
    values[COUNT - 1] = (double)INFINITY;
    (void)check(values, LEVEL_FRAME);
    values[COUNT - 1] = 5e-324;
    (void)check(values, LEVEL_FRAME);
    values[COUNT - 1] = -1e300;
    (void)check(values, LEVEL_FRAME);
    free(values);
}

static void
text_takes_lz4_and_noise_stays(void **unused)
{
    char *bytes = aligned_alloc(64, LEVEL_FRAME);

    (void)unused;
    for (size_t i = 0; i < LEVEL_FRAME; i++) {
        bytes[i] = "the quick brown fox jumps over a lazy dog and sleeps "[(i + i / 777) % 53];
    }
    assert_int_equal(check(bytes, LEVEL_FRAME) & (FRAME_RAW | FRAME_NUMBERS), 0);
    for (size_t i = 0; i < LEVEL_FRAME; i++) {
        bytes[i] = (char)(next() >> 20);
    }
    assert_int_equal(check(bytes, LEVEL_FRAME), FRAME_RAW | (uint32_t)LEVEL_FRAME);
    for (size_t size = 64; size <= 4096; size += 64) { /* small objects */
        (void)check(bytes, size);
        memset(bytes, (int)size, size / 2);
        (void)check(bytes, size);
    }
    free(bytes);
}

/* Values of all magnitudes in random places of a frame: whatever is chosen, it comes back. */
static void
mixtures_come_back(void **unused)
{
    uint64_t *values = malloc(LEVEL_FRAME);

    (void)unused;
    for (int round = 0; round < 200; round++) {
        size_t count = 8 * (1 + next() % 200);
        unsigned bits = (unsigned)(next() % 64);

        for (size_t i = 0; i < count; i++) {
            double decimal = (double)(next() % 100000) / 100;

            memcpy(&values[i], &decimal, sizeof decimal);
            values[i] = round % 3 == 0 ? values[i] : round % 3 == 1 ? next() >> bits : next() % 7 << bits;
        }
        (void)check(values, count * 8);
    }
    free(values);
}

static void
damaged_heads_are_refused(void **unused)
{
    char *raw = calloc(1, LEVEL_FRAME);
    char *packed = aligned_alloc(64, PACK_ROOM);
    char *back = aligned_alloc(64, LEVEL_FRAME);
    const char *stored;
    struct numbers head, wrong;
    uint32_t entry;

    (void)unused;
    for (size_t i = 0; i < LEVEL_FRAME; i += 8) {
        raw[i] = (char)(i / 8);
    }
    entry = frame_pack(raw, LEVEL_FRAME, packed, &stored);
    memcpy(&head, packed, sizeof head);
    assert_int_equal(head.width, 1);
    assert_false(frame_unpack(entry - 1, packed, back, LEVEL_FRAME));
    assert_false(frame_unpack(FRAME_NUMBERS | 15, packed, back, LEVEL_FRAME));
    assert_false(frame_unpack(entry, packed, back, LEVEL_FRAME / 2));
    assert_false(frame_unpack(FRAME_RAW | 64, packed, back, 128));
    assert_false(frame_unpack(FRAME_RAW | FRAME_NUMBERS | 64, packed, back, 64));
    for (unsigned what = 0; what < 5; what++) {
        wrong = head;
        wrong.kind = what == 0 ? 0 : what == 1 ? 9 : head.kind;
        wrong.kind = what == 4 ? NUMBERS_INTS : wrong.kind;
        wrong.width = what == 2 ? 7 : head.width;
        wrong.count = what == 3 ? head.count + 1 : head.count;
        memcpy(packed, &wrong, sizeof wrong);
        assert_false(frame_unpack(entry, packed, back, LEVEL_FRAME));
    }
    wrong = head;
    wrong.exponent = 7;
    memcpy(packed, &wrong, sizeof wrong);
    assert_false(frame_unpack(entry, packed, back, LEVEL_FRAME));
    memcpy(packed, &head, sizeof head);
    assert_true(frame_unpack(entry, packed, back, LEVEL_FRAME));
    free(back);
    free(packed);
    free(raw);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_take_the_bytes_of_their_range),
        cmocka_unit_test(decimals_come_back_bit_by_bit),
        cmocka_unit_test(text_takes_lz4_and_noise_stays),
        cmocka_unit_test(mixtures_come_back),
        cmocka_unit_test(damaged_heads_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
