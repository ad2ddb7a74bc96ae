/* The least and the greatest of values, and how statistics have them. NaN is never one of them; zeros are -0.0 below and
 * 0.0 above, whichever was there. */
#include <math.h>
#include <string.h>

#include "parquet/write/private.h"

/* ---- of values ---- */

/* FIELD of union put_number from values of TYPE. */
#define EXTREMES(TYPE, FIELD)                                                                                          \
    do {                                                                                                               \
        const TYPE *values = dense->values;                                                                            \
        TYPE min = values[from];                                                                                       \
        TYPE max = values[from];                                                                                       \
        for (int64_t i = from; i < to; i++) {                                                                          \
            min = values[i] < min ? values[i] : min;                                                                   \
            max = values[i] > max ? values[i] : max;                                                                   \
        }                                                                                                              \
        bounds.min.number.FIELD = min;                                                                                 \
        bounds.max.number.FIELD = max;                                                                                 \
    } while (0)

/* The same without NaN, which is neither less nor more than anything. */
#define EXTREMES_REAL(TYPE, FIELD)                                                                                     \
    do {                                                                                                               \
        const TYPE *values = dense->values;                                                                            \
        TYPE min = (TYPE)INFINITY;                                                                                     \
        TYPE max = -(TYPE)INFINITY;                                                                                    \
        int64_t nans = 0;                                                                                              \
        for (int64_t i = from; i < to; i++) {                                                                          \
            min = values[i] < min ? values[i] : min;                                                                   \
            max = values[i] > max ? values[i] : max;                                                                   \
            nans += values[i] != values[i];                                                                            \
        }                                                                                                              \
        bounds.min.number.FIELD = min;                                                                                 \
        bounds.max.number.FIELD = max;                                                                                 \
        bounds.nans = nans;                                                                                            \
        bounds.known = nans < to - from;                                                                               \
    } while (0)

static void
extremes_decimal(const struct put_dense *dense, int64_t from, int64_t to, struct put_bounds *bounds)
{
    const uint8_t *values = dense->values;

    for (int64_t i = from; i < to; i++) {
        gr_int128 value;

        memcpy(&value, values + (size_t)i * sizeof value, sizeof value);
        if (i == from || value < bounds->min.number.wide) {
            bounds->min.number.wide = value;
        }
        if (i == from || value > bounds->max.number.wide) {
            bounds->max.number.wide = value;
        }
    }
}

static void
extremes_bool(const struct put_dense *dense, int64_t from, int64_t to, struct put_bounds *bounds)
{
    int64_t ones = 0;

    for (int64_t i = from; i < to; i++) {
        ones += put_bit(dense->values, i);
    }
    bounds->min.number.integer = ones == to - from;
    bounds->max.number.integer = ones > 0;
}

static int
compare_text(struct put_text a, struct put_text b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size == 0 ? 0 : memcmp(a.bytes, b.bytes, size);

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static void
extremes_text(const struct put_dense *dense, int64_t from, int64_t to, struct put_bounds *bounds)
{
    bounds->min.text = bounds->max.text = put_dense_text(dense, from);
    for (int64_t i = from + 1; i < to; i++) {
        struct put_text text = put_dense_text(dense, i);

        if (compare_text(text, bounds->min.text) < 0) {
            bounds->min.text = text;
        } else if (compare_text(text, bounds->max.text) > 0) {
            bounds->max.text = text;
        }
    }
}

/* By the places of entries in their order. */
static void
extremes_ranked(const struct put_dense *dense, const struct put_dictionary *dictionary, int64_t from, int64_t to,
                struct put_bounds *bounds)
{
    uint32_t min = UINT32_MAX;
    uint32_t max = 0;

    for (int64_t i = from; i < to; i++) {
        uint32_t rank = dictionary->ranks[dictionary->codes[i]];

        min = rank < min ? rank : min;
        max = rank > max ? rank : max;
    }
    bounds->min.text = put_dense_text(dense, dictionary->firsts[dictionary->ranked[min]]);
    bounds->max.text = put_dense_text(dense, dictionary->firsts[dictionary->ranked[max]]);
}

struct put_bounds
put_bounds_of(const struct put_dense *dense, const struct put_dictionary *dictionary, int64_t from, int64_t to)
{
    struct put_bounds bounds = {.known = from < to};

    if (from == to) {
        return bounds;
    }
    switch (dense->kind) {
    case PUT_NULLS:
        break;
    case PUT_BOOL:
        extremes_bool(dense, from, to, &bounds);
        break;
    case PUT_I32:
        EXTREMES(int32_t, integer);
        break;
    case PUT_U32:
        EXTREMES(uint32_t, natural);
        break;
    case PUT_I64:
        EXTREMES(int64_t, integer);
        break;
    case PUT_U64:
        EXTREMES(uint64_t, natural);
        break;
    case PUT_F32:
        EXTREMES_REAL(float, single);
        break;
    case PUT_F64:
        EXTREMES_REAL(double, real);
        break;
    case PUT_DECIMAL:
        extremes_decimal(dense, from, to, &bounds);
        break;
    case PUT_TEXT:
    case PUT_BYTES:
        if (dictionary->ranks != NULL) {
            extremes_ranked(dense, dictionary, from, to, &bounds);
        } else {
            extremes_text(dense, from, to, &bounds);
        }
    }
    return bounds;
}

/* ---- together ---- */

#define ORDER(a, b) ((a) > (b)) - ((a) < (b))

static int
compare(enum put_kind kind, const struct put_bound *a, const struct put_bound *b)
{
    switch (kind) {
    case PUT_NULLS:
        return 0;
    case PUT_BOOL:
    case PUT_I32:
    case PUT_I64:
        return ORDER(a->number.integer, b->number.integer);
    case PUT_U32:
    case PUT_U64:
        return ORDER(a->number.natural, b->number.natural);
    case PUT_F32:
        return ORDER(a->number.single, b->number.single);
    case PUT_F64:
        return ORDER(a->number.real, b->number.real);
    case PUT_DECIMAL:
        return ORDER(a->number.wide, b->number.wide);
    case PUT_TEXT:
    case PUT_BYTES:
        return compare_text(a->text, b->text);
    }
    return 0;
}

void
put_bounds_join(enum put_kind kind, struct put_bounds *into, const struct put_bounds *other)
{
    into->nans += other->nans;
    if (other->known && (!into->known || compare(kind, &other->min, &into->min) < 0)) {
        into->min = other->min;
    }
    if (other->known && (!into->known || compare(kind, &other->max, &into->max) > 0)) {
        into->max = other->max;
    }
    into->known = into->known || other->known;
}

/* ---- as bytes ---- */

/* A text cut at a whole character; 0: there is none to cut at. */
static size_t
cut_size(struct put_text text)
{
    size_t size = PUT_BOUND_MOST;

    while (size > 0 && (text.bytes[size] & 0xc0) == 0x80) {
        size--;
    }
    return size;
}

/* The last character becomes the next one of as many bytes; one that has none goes, and the one before it is raised.
 * Returns the new size, or 0: none can be. */
static size_t
raise(uint8_t *bytes, size_t size)
{
    static const uint32_t most[] = {0, 0x7f, 0x7ff, 0xffff, 0x10ffff};

    while (size > 0) {
        size_t at = size - 1;
        size_t length;
        uint32_t code;

        while (at > 0 && (bytes[at] & 0xc0) == 0x80) {
            at--;
        }
        length = size - at;
        if (length > 4) {
            return 0;
        }
        code = length == 1 ? bytes[at] : bytes[at] & (0x7fU >> length);
        for (size_t i = 1; i < length; i++) {
            code = code << 6 | (bytes[at + i] & 0x3fU);
        }
        code = code == 0xd7ff ? 0xe000 : code + 1; /* those between are no characters */
        if (code <= most[length]) {
            for (size_t i = length; i-- > 1; code >>= 6) {
                bytes[at + i] = (uint8_t)(0x80 | (code & 0x3f));
            }
            bytes[at] = (uint8_t)(length == 1 ? code : (0xf00U >> length & 0xff) | code);
            return size;
        }
        size = at;
    }
    return 0;
}

/* The same of bytes that are no characters. */
static size_t
raise_bytes(uint8_t *bytes, size_t size)
{
    while (size > 0 && bytes[size - 1] == 0xff) {
        size--;
    }
    if (size > 0) {
        bytes[size - 1]++;
    }
    return size;
}

static bool
add_text(enum put_kind kind, struct put_text text, bool up, struct gr_buf *out)
{
    uint8_t cut[PUT_BOUND_MOST];
    size_t size = text.size <= PUT_BOUND_MOST ? 0 : kind == PUT_BYTES ? PUT_BOUND_MOST : cut_size(text);

    if (size > 0) {
        memcpy(cut, text.bytes, size);
        size = !up ? size : kind == PUT_BYTES ? raise_bytes(cut, size) : raise(cut, size);
    }
    gr_buf_add(out, size > 0 ? cut : text.bytes, size > 0 ? size : text.size);
    return size == 0;
}

bool
put_bound_add(enum put_kind kind, const struct put_bound *bound, bool up, struct gr_buf *out)
{
    union put_number number = bound->number;
    uint64_t halves[2];

    switch (kind) {
    case PUT_NULLS:
        break;
    case PUT_BOOL:
        gr_buf_add(out, number.integer != 0 ? "\1" : "\0", 1);
        break;
    case PUT_F32:
        number.single = number.single == 0 ? (up ? 0.0F : -0.0F) : number.single;
        gr_buf_add(out, &number.single, sizeof number.single);
        break;
    case PUT_F64:
        number.real = number.real == 0 ? (up ? 0.0 : -0.0) : number.real;
        gr_buf_add(out, &number.real, sizeof number.real);
        break;
    case PUT_DECIMAL:
        halves[0] = __builtin_bswap64((uint64_t)(number.wide >> 64));
        halves[1] = __builtin_bswap64((uint64_t)number.wide);
        gr_buf_add(out, halves, sizeof halves);
        break;
    case PUT_I32:
    case PUT_U32:
    case PUT_I64:
    case PUT_U64: /* the lower half lies first */
        gr_buf_add(out, &number.natural, put_width(kind));
        break;
    case PUT_TEXT:
    case PUT_BYTES:
        return add_text(kind, bound->text, up, out);
    }
    return true;
}

static struct put_bound
bound_of(enum put_kind kind, const uint8_t *bytes, size_t size)
{
    struct put_bound bound = {.number = {.wide = 0}, .text = {.bytes = bytes, .size = size}};
    uint64_t halves[2];

    switch (kind) {
    case PUT_I32: {
        int32_t narrow;

        memcpy(&narrow, bytes, sizeof narrow);
        bound.number.integer = narrow;
        break;
    }
    case PUT_DECIMAL:
        memcpy(halves, bytes, sizeof halves);
        bound.number.wide = (gr_int128)((gr_uint128)__builtin_bswap64(halves[0]) << 64 | __builtin_bswap64(halves[1]));
        break;
    case PUT_NULLS:
    case PUT_TEXT:
    case PUT_BYTES:
        break;
    case PUT_BOOL:
        bound.number.integer = bytes[0];
        break;
    default:
        memcpy(&bound.number, bytes, put_width(kind));
    }
    return bound;
}

int
put_bounds_compare(enum put_kind kind, const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    struct put_bound left = bound_of(kind, a, a_size);
    struct put_bound right = bound_of(kind, b, b_size);

    return compare(kind, &left, &right);
}
