/* Loops over a frame's values, one for each width, plain enough for compilers to make vectors of. */
#include "pack/numbers.h"

#include <string.h>

#define EXPONENTS 7
#define WIDEST    6        /* bytes of a distance */
#define MAGIC     0x1.8p52 /* x + MAGIC - MAGIC rounds to an integer, of less than 2^51 */
#define LARGEST   0x1p50   /* of a decimal's digits: base, distance and their sum are exact as doubles */
#define TRIED     256      /* values that tell whether an exponent is worth trying all */
#define BLOCK     512

static const double powers[EXPONENTS] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};

/* Compiled for AVX2 as well, where that is there. Not with sanitizers, which begin after the choice. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(GRANARY_SANITIZED)
#define CLONES __attribute__((target_clones("default", "avx2")))
#else
#define CLONES
#endif

struct range {
    int64_t least, most;
};

static unsigned
width_of(const struct range *range)
{
    uint64_t distance = (uint64_t)range->most - (uint64_t)range->least;
    unsigned width = 0;

    while (width < 8 && distance >> (8 * width) != 0) {
        width++;
    }
    return width;
}

/* ---- planning ---- */

CLONES static struct range
range_of_longs(const int64_t *values, size_t count)
{
    struct range range = {values[0], values[0]};

    for (size_t i = 0; i < count; i++) {
        range.least = values[i] < range.least ? values[i] : range.least;
        range.most = values[i] > range.most ? values[i] : range.most;
    }
    return range;
}

CLONES static struct range
range_of_ints(const int32_t *values, size_t count)
{
    int32_t least = values[0];
    int32_t most = values[0];

    for (size_t i = 0; i < count; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    return (struct range){least, most};
}

/* Widen the range by these values' digits; false: one does not come back bit by bit. */
CLONES static bool
add_decimals(const double *values, size_t count, double power, double *least, double *most)
{
    uint64_t differs = 0;
    bool large = false;

    for (size_t i = 0; i < count; i++) {
        double digits = values[i] * power + MAGIC - MAGIC;
        double back = digits / power;
        uint64_t is, was;

        memcpy(&is, &back, sizeof is);
        memcpy(&was, &values[i], sizeof was);
        differs |= is ^ was;
        large |= !(digits < LARGEST && digits > -LARGEST);
        *least = digits < *least ? digits : *least;
        *most = digits > *most ? digits : *most;
    }
    return differs == 0 && !large;
}

static bool
all_decimals(const double *values, size_t count, double power, struct range *ret_range)
{
    double least = LARGEST;
    double most = -LARGEST;

    for (size_t i = 0; i < count; i += BLOCK) {
        if (!add_decimals(values + i, count - i < BLOCK ? count - i : BLOCK, power, &least, &most)) {
            return false;
        }
    }
    *ret_range = (struct range){(int64_t)least, (int64_t)most};
    return true;
}

/* The first exponent that serves for all of them; -1: none. */
static int
find_exponent(const double *values, size_t count, struct range *ret_range)
{
    for (int e = 0; e < EXPONENTS; e++) {
        if (all_decimals(values, count < TRIED ? count : TRIED, powers[e], ret_range) &&
            all_decimals(values, count, powers[e], ret_range)) {
            return e;
        }
    }
    return -1;
}

bool
numbers_plan(const char *raw, size_t size, struct numbers *ret_numbers)
{
    struct range longs, ints, decimals;
    unsigned long_width, int_width;
    int exponent;

    if (size == 0 || size % sizeof(int64_t) != 0) {
        return false;
    }
    longs = range_of_longs((const int64_t *)(const void *)raw, size / sizeof(int64_t));
    ints = range_of_ints((const int32_t *)(const void *)raw, size / sizeof(int32_t));
    long_width = width_of(&longs);
    int_width = width_of(&ints);
    *ret_numbers = 2 * int_width < long_width ? (struct numbers){.kind = NUMBERS_INTS,
                                                                 .width = (uint8_t)int_width,
                                                                 .count = (uint32_t)(size / sizeof(int32_t)),
                                                                 .base = ints.least}
                                              : (struct numbers){.kind = NUMBERS_LONGS,
                                                                 .width = (uint8_t)long_width,
                                                                 .count = (uint32_t)(size / sizeof(int64_t)),
                                                                 .base = longs.least};
    if (numbers_size(ret_numbers) > size / 2) {
        exponent = find_exponent((const double *)(const void *)raw, size / sizeof(double), &decimals);
        if (exponent >= 0 && width_of(&decimals) * (size / sizeof(double)) < numbers_size(ret_numbers)) {
            *ret_numbers = (struct numbers){.kind = NUMBERS_DECIMALS,
                                            .width = (uint8_t)width_of(&decimals),
                                            .exponent = (uint8_t)exponent,
                                            .count = (uint32_t)(size / sizeof(double)),
                                            .base = decimals.least};
        }
    }
    return ret_numbers->width <= (ret_numbers->kind == NUMBERS_INTS ? 3 : WIDEST);
}

/* ---- packing ---- */

/* Frames lie one behind the other in a file, so these are where they happen to be. */
typedef uint16_t stored16 __attribute__((aligned(1)));
typedef uint32_t stored32 __attribute__((aligned(1)));

#define PACK_AS(type)                                                                                                  \
    for (size_t i = 0; i < count; i++) {                                                                               \
        ((type *)(void *)packed)[i] = (type)distances[i];                                                              \
    }

static void
pack_distances(const uint64_t *distances, size_t count, unsigned width, char *packed)
{
    switch (width) {
    case 0:
        break;
    case 1:
        PACK_AS(uint8_t)
        break;
    case 2:
        PACK_AS(stored16)
        break;
    case 4:
        PACK_AS(stored32)
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            memcpy(packed + i * width, &distances[i], width);
        }
        break;
    }
}

void
numbers_pack(const struct numbers *numbers, const char *raw, char *packed)
{
    const uint64_t base = (uint64_t)numbers->base;
    uint64_t distances[BLOCK];

    memcpy(packed, numbers, sizeof *numbers);
    packed += sizeof *numbers;
    for (size_t begin = 0; begin < numbers->count; begin += BLOCK) {
        size_t count = numbers->count - begin < BLOCK ? numbers->count - begin : BLOCK;

        if (numbers->kind == NUMBERS_LONGS) {
            const uint64_t *values = (const uint64_t *)(const void *)raw + begin;

            for (size_t i = 0; i < count; i++) {
                distances[i] = values[i] - base;
            }
        } else if (numbers->kind == NUMBERS_INTS) {
            const int32_t *values = (const int32_t *)(const void *)raw + begin;

            for (size_t i = 0; i < count; i++) {
                distances[i] = (uint64_t)(int64_t)values[i] - base;
            }
        } else {
            const double *values = (const double *)(const void *)raw + begin;

            for (size_t i = 0; i < count; i++) {
                double digits = values[i] * powers[numbers->exponent] + MAGIC - MAGIC;

                distances[i] = (uint64_t)((int64_t)digits - numbers->base);
            }
        }
        pack_distances(distances, count, numbers->width, packed);
        packed += count * numbers->width;
    }
}

/* ---- unpacking ---- */

/* A distance of a width that no type has. */
static inline uint64_t
odd_distance(const char *stored, size_t i, size_t count, unsigned width)
{
    uint64_t distance = 0;

    if ((count - i) * width >= sizeof distance) {
        memcpy(&distance, stored + i * width, sizeof distance);
        return distance & (((uint64_t)1 << (8 * width)) - 1);
    }
    memcpy(&distance, stored + i * width, width);
    return distance;
}

/* Every value of the frame by `value`, an expression of `distance`. */
#define UNPACK_AS(type, value)                                                                                         \
    for (size_t i = 0; i < count; i++) {                                                                               \
        uint64_t distance = ((const type *)(const void *)stored)[i];                                                   \
                                                                                                                       \
        to[i] = (value);                                                                                               \
    }
#define UNPACK(value)                                                                                                  \
    switch (width) {                                                                                                   \
    case 0:                                                                                                            \
        for (size_t i = 0; i < count; i++) {                                                                           \
            const uint64_t distance = 0;                                                                               \
                                                                                                                       \
            to[i] = (value);                                                                                           \
        }                                                                                                              \
        break;                                                                                                         \
    case 1:                                                                                                            \
        UNPACK_AS(uint8_t, value)                                                                                      \
        break;                                                                                                         \
    case 2:                                                                                                            \
        UNPACK_AS(stored16, value)                                                                                     \
        break;                                                                                                         \
    case 4:                                                                                                            \
        UNPACK_AS(stored32, value)                                                                                     \
        break;                                                                                                         \
    default:                                                                                                           \
        for (size_t i = 0; i < count; i++) {                                                                           \
            uint64_t distance = odd_distance(stored, i, count, width);                                                 \
                                                                                                                       \
            to[i] = (value);                                                                                           \
        }                                                                                                              \
        break;                                                                                                         \
    }

CLONES static void
unpack_longs(const char *stored, size_t count, unsigned width, uint64_t base, uint64_t *to){UNPACK(base + distance)}

CLONES static void unpack_ints(const char *stored, size_t count, unsigned width, uint64_t base, uint32_t *to)
{
    UNPACK((uint32_t)(base + distance))
}

/* A distance below 2^52 as a double, without the instruction that SSE2 does not have. */
static inline double
double_of(uint64_t distance)
{
    uint64_t bits = distance | 0x4330000000000000u;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x - 0x1p52;
}

CLONES static void
unpack_decimals(const char *stored, size_t count, unsigned width, double base, double power, double *to)
{
    if (power == 1) {
        UNPACK(base + double_of(distance))
    } else {
        UNPACK((base + double_of(distance)) / power)
    }
}

bool
numbers_unpack(const char *stored, size_t stored_size, char *raw, size_t size)
{
    struct numbers head;
    size_t value_size;

    if (stored_size < sizeof head) {
        return false;
    }
    memcpy(&head, stored, sizeof head);
    value_size = head.kind == NUMBERS_INTS ? sizeof(int32_t) : sizeof(int64_t);
    if (head.kind < NUMBERS_LONGS || head.kind > NUMBERS_DECIMALS || head.width > WIDEST ||
        head.count != size / value_size || size % value_size != 0 || numbers_size(&head) != stored_size ||
        head.exponent >= EXPONENTS) {
        return false;
    }
    stored += sizeof head;
    switch ((enum numbers_kind)head.kind) {
    case NUMBERS_LONGS:
        unpack_longs(stored, head.count, head.width, (uint64_t)head.base, (uint64_t *)(void *)raw);
        break;
    case NUMBERS_INTS:
        unpack_ints(stored, head.count, head.width, (uint64_t)head.base, (uint32_t *)(void *)raw);
        break;
    case NUMBERS_DECIMALS:
        unpack_decimals(stored, head.count, head.width, (double)head.base, powers[head.exponent],
                        (double *)(void *)raw);
        break;
    }
    return true;
}
