#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/value/bits.h"

static int
bit(const uint8_t *bits, int64_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}

/* Whatever the two alignments and the length: the run is copied and its neighbours are left alone. Reads stay within
 * the source (the sanitizers watch). */
static void
copy_moves_exactly_its_bits(void **state)
{
    (void)state;
    for (int64_t count = 0; count < 200; count += count < 20 ? 1 : 13) {
        for (int64_t from = 0; from < 9; from++) {
            size_t source_size = (size_t)(from + count + 7) / 8;
            uint8_t *source = malloc(source_size > 0 ? source_size : 1);

            for (size_t i = 0; i < source_size; i++) {
                source[i] = (uint8_t)(i * 73 + 41);
            }
            for (int64_t to = 0; to < 9; to++) {
                uint8_t target[40];

                memset(target, 0x5a, sizeof target);
                bits_copy(target, to, source, from, count);
                for (int64_t i = 0; i < (int64_t)sizeof target * 8; i++) {
                    int want = i < to || i >= to + count ? 0x5a >> (i & 7) & 1 : bit(source, from + i - to);

                    assert_int_equal(bit(target, i), want);
                }
            }
            free(source);
        }
    }
}

/* Bytes become bits and bytes again, wherever they begin; neighbours stay, and higher bits of a byte do not count. */
static void
pack_and_spread_are_exact(void **state)
{
    (void)state;
    for (int64_t count = 0; count < 150; count += count < 20 ? 1 : 13) {
        for (int64_t to = 0; to < 17; to++) {
            uint8_t bytes[150];
            uint8_t back[150];
            uint8_t target[40];

            memset(target, 0xa5, sizeof target);
            for (int64_t i = 0; i < count; i++) {
                bytes[i] = (uint8_t)(i * i * 37 % 101 % 3 | (i % 5 == 0 ? 0xfe : 0));
            }
            bits_pack(bytes, count, target, to);
            for (int64_t i = 0; i < (int64_t)sizeof target * 8; i++) {
                int want = i < to || i >= to + count ? 0xa5 >> (i & 7) & 1 : bytes[i - to] & 1;

                assert_int_equal(bit(target, i), want);
            }
            bits_spread(target, to, count, back);
            for (int64_t i = 0; i < count; i++) {
                assert_int_equal(back[i], bytes[i] & 1);
            }
        }
    }
}

static void
set_sets_exactly_its_bits(void **state)
{
    (void)state;
    for (int64_t count = 0; count < 40; count++) {
        for (int64_t to = 0; to < 9; to++) {
            uint8_t target[8] = {0};

            bits_set(target, to, count);
            for (int64_t i = 0; i < 64; i++) {
                assert_int_equal(bit(target, i), i >= to && i < to + count);
            }
            assert_int_equal(bits_count(target, 64), count);
        }
    }
}

static void
count_ignores_what_is_behind(void **state)
{
    uint8_t ones[20];

    (void)state;
    memset(ones, 0xff, sizeof ones);
    for (int64_t count = 0; count <= 160; count++) {
        assert_int_equal(bits_count(ones, count), count);
    }
}

static void
trim_clears_only_the_last_byte(void **state)
{
    (void)state;
    for (int64_t count = 0; count <= 16; count++) {
        uint8_t ones[3] = {0xff, 0xff, 0xff};

        bits_trim(ones, count);
        for (int64_t i = 0; i < 24; i++) {
            int cleared = count % 8 != 0 && i >= count && i / 8 == count / 8;

            assert_int_equal(bit(ones, i), !cleared);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copy_moves_exactly_its_bits),    cmocka_unit_test(pack_and_spread_are_exact),
        cmocka_unit_test(set_sets_exactly_its_bits),      cmocka_unit_test(count_ignores_what_is_behind),
        cmocka_unit_test(trim_clears_only_the_last_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
