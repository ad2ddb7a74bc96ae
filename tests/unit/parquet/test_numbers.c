/* Runs of small numbers, levels and differences, against plain models with random inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/parquet/bits.h"
#include "kernel/parquet/delta.h"
#include "kernel/parquet/levels.h"
#include "kernel/parquet/pages.h"
#include "parquet/write/thrift_out.h"

enum { MOST = 4000 };

static uint64_t seed = 7;

static uint32_t
draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % below);
}

struct bytes {
    uint8_t bytes[MOST * 16];
    size_t size;
};

static void
put_varint(struct bytes *out, uint64_t value)
{
    while (value > 0x7f) {
        out->bytes[out->size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out->bytes[out->size++] = (uint8_t)value;
}

static void
put_bits(struct bytes *out, const uint64_t *numbers, size_t count, unsigned width)
{
    memset(out->bytes + out->size, 0, (count * width + 7) / 8);
    for (size_t i = 0; i < count * width; i++) {
        if (numbers[i / width] >> (i % width) & 1) {
            out->bytes[out->size + i / 8] = (uint8_t)(out->bytes[out->size + i / 8] | 1u << (i % 8));
        }
    }
    out->size += (count * width + 7) / 8;
}

/* Runs of both kinds; the numbers they stand for. */
static size_t
make_runs(struct bytes *out, unsigned width, uint32_t *numbers)
{
    uint32_t below = width == 32 ? UINT32_MAX : (uint32_t)1 << width;
    size_t count = 0;

    while (count < MOST - 600) {
        size_t run = 8 * (1 + draw(20));

        if (draw(2) == 0) {
            uint64_t packed[160];

            put_varint(out, (run / 8) << 1 | 1);
            for (size_t i = 0; i < run; i++) {
                numbers[count + i] = draw(below);
                packed[i] = numbers[count + i];
            }
            put_bits(out, packed, run, width);
        } else {
            uint64_t value = draw(below);

            run += draw(300);
            put_varint(out, run << 1);
            memcpy(out->bytes + out->size, &value, (width + 7) / 8);
            out->size += (width + 7) / 8;
            for (size_t i = 0; i < run; i++) {
                numbers[count + i] = (uint32_t)value;
            }
        }
        count += run;
    }
    return count;
}

static void
test_hybrid(void **state)
{
    (void)state;
    for (unsigned width = 0; width <= 32; width++) {
        struct bytes *in = calloc(1, sizeof *in);
        uint32_t want[MOST + 600];
        uint32_t got[MOST + 600];
        size_t count = make_runs(in, width, want);
        struct hybrid hybrid;
        size_t at = 0;

        hybrid_open(&hybrid, in->bytes, in->size, width);
        while (at < count) {
            size_t step = draw(100);

            step = step < count - at ? step : count - at;
            if (draw(3) == 0) {
                assert_true(hybrid_skip(&hybrid, step));
            } else {
                assert_true(hybrid_take(&hybrid, got, step));
                assert_memory_equal(got, want + at, step * sizeof *got);
            }
            at += step;
        }
        assert_false(hybrid_take(&hybrid, got, 1));
        free(in);
    }
}

static void
test_levels(void **state)
{
    (void)state;
    for (uint32_t full = 1; full <= 5; full++) {
        struct bytes *in = calloc(1, sizeof *in);
        uint32_t want[MOST + 600];
        uint8_t bits[MOST / 4] = {0};
        size_t count = make_runs(in, bits_for(full), want);
        struct levels levels;
        int64_t at = 3; /* not where a byte begins */

        levels_open(&levels, in->bytes, in->size, full);
        for (size_t i = 0; i < count;) {
            size_t step = draw(90);
            bool passed = draw(3) == 0;
            int64_t ones = 0;

            step = step < count - i ? step : count - i;
            for (size_t k = 0; k < step; k++) {
                ones += want[i + k] == full;
            }
            assert_int_equal(levels_take(&levels, (int64_t)step, passed ? NULL : bits, at), ones);
            for (size_t k = 0; k < step && !passed; k++) {
                assert_int_equal(bits[(at + (int64_t)k) >> 3] >> ((at + (int64_t)k) & 7) & 1, want[i + k] == full);
            }
            at += passed ? 0 : (int64_t)step;
            i += step;
        }
        assert_int_equal(levels_take(&levels, 1, NULL, 0), -1);
        free(in);
    }
}

/* Blocks of 128 in four miniblocks, whose least width fits. */
static void
put_deltas(struct bytes *out, const int64_t *numbers, size_t count)
{
    put_varint(out, 128);
    put_varint(out, 4);
    put_varint(out, count);
    put_varint(out, (uint64_t)numbers[0] << 1 ^ (uint64_t)(numbers[0] >> 63));
    for (size_t b = 1; b < count; b += 128) {
        uint64_t deltas[128] = {0};
        size_t size = count - b < 128 ? count - b : 128;
        int64_t least = INT64_MAX;
        size_t widths;

        for (size_t i = 0; i < size; i++) {
            int64_t delta = (int64_t)((uint64_t)numbers[b + i] - (uint64_t)numbers[b + i - 1]);

            deltas[i] = (uint64_t)delta;
            least = delta < least ? delta : least;
        }
        for (size_t i = 0; i < size; i++) {
            deltas[i] -= (uint64_t)least;
        }
        put_varint(out, (uint64_t)least << 1 ^ (uint64_t)(least >> 63));
        widths = out->size;
        out->size += 4;
        for (size_t m = 0; m < 4; m++) {
            uint64_t all = 0;

            for (size_t i = 0; i < 32; i++) {
                all |= deltas[m * 32 + i];
            }
            out->bytes[widths + m] = all == 0 ? 0 : (uint8_t)(64 - __builtin_clzll(all));
            if (m * 32 < size) {
                put_bits(out, deltas + m * 32, 32, out->bytes[widths + m]);
            }
        }
    }
}

static void
test_deltas(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        struct bytes *in = calloc(1, sizeof *in);
        int64_t want[1000];
        int64_t got[1000];
        size_t count = 1 + draw(1000);
        struct delta delta;
        size_t at = 0;

        for (size_t i = 0; i < count; i++) {
            want[i] = (int64_t)((uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX)) >> (round % 64);
        }
        put_deltas(in, want, count);
        assert_true(delta_open(&delta, in->bytes, in->size));
        while (at < count) {
            size_t step = 1 + draw(50);

            step = step < count - at ? step : count - at;
            assert_true(delta_take(&delta, got, step));
            assert_memory_equal(got, want + at, step * sizeof *got);
            at += step;
        }
        assert_false(delta_take(&delta, got, 1));
        assert_ptr_equal(delta_end(&delta), in->bytes + in->size);
        free(in);
    }
}

/* Levels as BIT_PACKED has them: the highest bit of each first, from the highest bit of each byte on. */
static void
put_old(const uint32_t *numbers, size_t count, unsigned width, struct gr_buf *out)
{
    size_t bytes = (count * width + 7) / 8;
    uint8_t *at = gr_buf_grow(out, bytes);

    memset(at, 0, bytes);
    for (size_t i = 0; i < count * width; i++) {
        unsigned bit = numbers[i / width] >> (width - 1 - i % width) & 1;

        at[i / 8] = (uint8_t)(at[i / 8] | bit << (7 - i % 8));
    }
}

static void
put_page(const struct gr_buf *body, size_t values, struct gr_buf *out)
{
    struct thrift_out head = {.buf = out};

    thrift_put_int(&head, 1, THRIFT_I32, GR_PARQUET_PAGE_DATA);
    thrift_put_int(&head, 2, THRIFT_I32, (int64_t)body->size);
    thrift_put_int(&head, 3, THRIFT_I32, (int64_t)body->size);
    thrift_put_struct(&head, 5);
    thrift_put_int(&head, 1, THRIFT_I32, (int64_t)values);
    thrift_put_int(&head, 2, THRIFT_I32, GR_PARQUET_PLAIN);
    thrift_put_int(&head, 3, THRIFT_I32, GR_PARQUET_BIT_PACKED);
    thrift_put_int(&head, 4, THRIFT_I32, GR_PARQUET_BIT_PACKED);
    thrift_end(&head);
    gr_buf_add(out, "", 1);
    gr_buf_add(out, body->bytes, body->size);
}

/* Pages of lists whose levels are BIT_PACKED, and such pages cut short. */
static void
test_old_levels(void **state)
{
    (void)state;
    for (size_t count = 0; count < 300; count++) {
        uint32_t full = 1 + draw(7);
        unsigned width = bits_for(full);
        uint32_t repeats[300];
        uint32_t want[300];
        uint32_t got[300];
        struct gr_buf body = {0};
        struct gr_buf bytes = {0};
        struct pages pages = {.full = full, .repeats = true};
        struct gr_parquet_page head;
        struct hybrid hybrid;
        struct page page;
        size_t levels;
        bool any;

        for (size_t i = 0; i < count; i++) {
            repeats[i] = draw(2);
            want[i] = draw(full + 1);
        }
        put_old(repeats, count, 1, &body);
        put_old(want, count, width, &body);
        levels = body.size;
        gr_buf_add(&body, "value", 5);
        put_page(&body, count, &bytes);
        pages.bytes = (const uint8_t *)bytes.bytes;
        pages.size = bytes.size;
        assert_int_equal(pages_peek(&pages, &head, &any), GRANARY_OK);
        assert_int_equal(pages_open(&pages, &head, &page), GRANARY_OK);
        hybrid_open(&hybrid, page.repeats, page.repeats_size, 1);
        assert_true(hybrid_take(&hybrid, got, count));
        assert_memory_equal(got, repeats, count * sizeof *got);
        hybrid_open(&hybrid, page.levels, page.levels_size, width);
        assert_true(hybrid_take(&hybrid, got, count));
        assert_memory_equal(got, want, count * sizeof *got);
        assert_int_equal(page.body_size, 5);
        assert_memory_equal(page.body, "value", 5);
        pages_free(&pages);

        if (levels > 0) {
            body.size = draw((uint32_t)levels);
            bytes.size = 0;
            put_page(&body, count, &bytes);
            pages = (struct pages){
                .full = full, .repeats = true, .bytes = (const uint8_t *)bytes.bytes, .size = bytes.size};
            assert_int_equal(pages_peek(&pages, &head, &any), GRANARY_OK);
            assert_int_equal(pages_open(&pages, &head, &page), GRANARY_ECORRUPT);
            pages_free(&pages);
        }
        gr_buf_free(&body);
        gr_buf_free(&bytes);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hybrid), cmocka_unit_test(test_levels),
                                       cmocka_unit_test(test_deltas), cmocka_unit_test(test_old_levels)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
