/* Plain numbers: the codes themselves are sorted, and turned back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/sort/keys.h"
#include "kernel/sort/words.h"

#define SIGN_BIT ((uint64_t)1 << 63)

static granary_err
out_of_memory(size_t count)
{
    return gr_fail(GRANARY_ENOMEM, "sort: out of memory for %zu numbers", count);
}

/* values ^ flip ascend as the numbers shall. */
static granary_err
sort_flipped(uint64_t *values, size_t count, uint64_t flip)
{
    uint64_t *words = scratch_alloc((2 * count + 1) * sizeof *words);

    if (words == NULL) {
        return out_of_memory(count);
    }
    for (size_t i = 0; i < count; i++) {
        words[i] = values[i] ^ flip;
    }
    sort_words64(words, words + count, count, 0);
    for (size_t i = 0; i < count; i++) {
        values[i] = words[i] ^ flip;
    }
    scratch_free(words);
    return GRANARY_OK;
}

granary_err
sort_int64(int64_t *values, size_t count, bool descending)
{
    return sort_flipped((uint64_t *)values, count, descending ? ~SIGN_BIT : SIGN_BIT);
}

granary_err
sort_uint64(uint64_t *values, size_t count, bool descending)
{
    return sort_flipped(values, count, descending ? UINT64_MAX : 0);
}

/* Whether each number has one code and each code one number: no NaN, no -0.0. */
static bool
codes_are_enough(const double *values, size_t count)
{
    bool more = false;

    for (size_t i = 0; i < count; i++) {
        uint64_t bits;

        memcpy(&bits, &values[i], sizeof bits);
        more |= bits == SIGN_BIT || (bits & ~SIGN_BIT) > (uint64_t)0x7ff << 52;
    }
    return !more;
}

static granary_err
argsort(const void *values, granary_dtype dtype, size_t count, bool descending, int64_t *ret_positions)
{
    granary_column column = {.name = "", .dtype = dtype, .rows = (int64_t)count, .values = values};
    struct sort_key key = {.column = &column, .descending = descending};

    for (size_t i = 0; i < count; i++) {
        ret_positions[i] = (int64_t)i;
    }
    return sort_rows_of(&key, 1, ret_positions, (int64_t)count);
}

granary_err
sort_float64(double *values, size_t count, bool descending)
{
    int64_t *positions;
    double *sorted;
    granary_err err;

    if (codes_are_enough(values, count)) {
        uint64_t *words = scratch_alloc((2 * count + 1) * sizeof *words);

        if (words == NULL) {
            return out_of_memory(count);
        }
        for (size_t i = 0; i < count; i++) {
            uint64_t bits;

            memcpy(&bits, &values[i], sizeof bits);
            bits ^= (bits & SIGN_BIT) != 0 ? UINT64_MAX : SIGN_BIT;
            words[i] = descending ? ~bits : bits;
        }
        sort_words64(words, words + count, count, 0);
        for (size_t i = 0; i < count; i++) {
            uint64_t bits = descending ? ~words[i] : words[i];

            bits ^= (bits & SIGN_BIT) != 0 ? SIGN_BIT : UINT64_MAX;
            memcpy(&values[i], &bits, sizeof bits);
        }
        scratch_free(words);
        return GRANARY_OK;
    }
    positions = scratch_alloc((count + 1) * sizeof *positions);
    sorted = scratch_alloc((count + 1) * sizeof *sorted);
    err = positions == NULL || sorted == NULL ? out_of_memory(count)
                                              : argsort(values, GRANARY_FLOAT64, count, descending, positions);
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        sorted[i] = values[positions[i]];
    }
    if (err == GRANARY_OK) {
        memcpy(values, sorted, count * sizeof *values);
    }
    scratch_free(positions);
    scratch_free(sorted);
    return err;
}
