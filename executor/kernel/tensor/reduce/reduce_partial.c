/* Partial results: what a reduction keeps as bytes, and other chunks' taken in. */
#include "contract/int128.h"
#include "kernel/tensor/reduce/reduce.h"

#include <string.h>

#include "base/error.h"
#include "kernel/simd/tensor/tensor_sum.h"

/* ---- partial results ---- */

granary_err
reducing_settle(struct reducing *r)
{
    for (int64_t i = 0; i < r->elements && r->exact != NULL; i++) {
        exact_sum_add(&r->exact[i], r->parts[0][i]);
        exact_sum_add(&r->exact[i], r->parts[1][i]);
        r->parts[0][i] = r->parts[1][i] = 0;
        if (!exact_sum_ok(&r->exact[i])) {
            return reducing_no_memory();
        }
    }
    return GRANARY_OK;
}

/* As bytes for merging. Errors: ENOMEM */
static granary_err
reducing_write(struct reducing *r, struct gr_buf *out)
{
    size_t n = (size_t)r->elements;
    granary_err err = reducing_settle(r);

    gr_buf_add(out, &r->header, sizeof r->header);
    if (r->counts != NULL) {
        gr_buf_add(out, r->counts, n * sizeof *r->counts);
    }
    for (size_t i = 0; i < n && r->exact != NULL; i++) {
        void *at = gr_buf_grow(out, exact_sum_size(&r->exact[i]));

        if (at != NULL) {
            (void)exact_sum_write(&r->exact[i], at);
        }
    }
    if (r->integers != NULL) {
        gr_buf_add(out, r->integers, n * sizeof *r->integers);
    }
    if (r->squares != NULL) {
        gr_buf_add(out, r->squares, n * sizeof *r->squares);
    }
    for (int k = r->exact != NULL ? 2 : 0; k < 4; k++) { /* the first two were settled into exact */
        if (r->parts[k] != NULL) {
            gr_buf_add(out, r->parts[k], n * sizeof *r->parts[k]);
        }
    }
    if (r->exponents != NULL) {
        gr_buf_add(out, r->exponents, n * sizeof *r->exponents);
    }
    if (r->values != NULL) {
        gr_buf_add(out, r->values, n * reducing_width(r));
    }
    if (r->positions != NULL) {
        gr_buf_add(out, r->positions, n * sizeof *r->positions);
    }
    return err != GRANARY_OK || gr_buf_ok(out) ? err : reducing_no_memory();
}

/* The next `size` bytes of each element, or NULL. */
static const char *
next_bytes(const struct reducing *r, const char **at, const char *end, size_t size)
{
    const char *bytes = *at;

    if ((size_t)(end - bytes) / size < (size_t)r->elements) {
        return NULL;
    }
    *at += (size_t)r->elements * size;
    return bytes;
}

static granary_err
partial_damaged(void)
{
    return gr_fail(GRANARY_ECORRUPT, "a partial result is damaged");
}

static granary_err
merge_exact(struct reducing *r, const char **ret_at, const char *end)
{
    const char *at = *ret_at;

    for (int64_t i = 0; i < r->elements; i++) {
        struct exact_sum one;
        size_t size;
        granary_err err = exact_sum_read(at, (size_t)(end - at), &one, &size);

        if (err != GRANARY_OK) {
            return err;
        }
        at += size;
        exact_sum_merge(&r->exact[i], &one);
        exact_sum_fini(&one);
        if (!exact_sum_ok(&r->exact[i])) {
            return reducing_no_memory();
        }
    }
    *ret_at = at;
    return GRANARY_OK;
}

/* Pairs of doubles: MOMENTS. */
static granary_err
merge_squares(struct reducing *r, const char *at, const char *end)
{
    const char *highs = next_bytes(r, &at, end, sizeof(double));
    const char *lows = highs == NULL ? NULL : next_bytes(r, &at, end, sizeof(double));

    if (lows == NULL) {
        return partial_damaged();
    }
    for (int64_t i = 0; i < r->elements; i++) {
        double high, low;

        memcpy(&high, highs + (size_t)i * 8, 8);
        memcpy(&low, lows + (size_t)i * 8, 8);
        SIMD_CALL(tensor_pair_lanes)(r->parts[2] + i, r->parts[3] + i, &high, &low, 1);
    }
    return GRANARY_OK;
}

/* Sums of integers, and of their squares: MOMENTS. */
static granary_err
merge_integers(struct reducing *r, const char *at, const char *end)
{
    const char *sums = next_bytes(r, &at, end, sizeof *r->integers);
    const char *squares = sums == NULL || r->squares == NULL ? NULL : next_bytes(r, &at, end, sizeof *r->squares);

    if (sums == NULL || (r->squares != NULL && squares == NULL)) {
        return partial_damaged();
    }
    for (int64_t i = 0; i < r->elements; i++) {
        gr_int128 sum;

        memcpy(&sum, sums + (size_t)i * sizeof sum, sizeof sum);
        r->integers[i] = (gr_int128)((gr_uint128)r->integers[i] + (gr_uint128)sum);
    }
    for (int64_t i = 0; i < r->elements && squares != NULL; i++) {
        struct square_sum sum;

        memcpy(&sum, squares + (size_t)i * sizeof sum, sizeof sum);
        r->squares[i].high += sum.high + __builtin_add_overflow(r->squares[i].low, sum.low, &r->squares[i].low);
    }
    return GRANARY_OK;
}

static granary_err
merge_factors(struct reducing *r, const char *at, const char *end)
{
    const char *high = next_bytes(r, &at, end, 8);
    const char *low = high == NULL ? NULL : next_bytes(r, &at, end, 8);
    const char *exponents = low == NULL ? NULL : next_bytes(r, &at, end, 8);

    if (exponents == NULL) {
        return partial_damaged();
    }
    for (int64_t i = 0; i < r->elements; i++) {
        double x, x_low;
        int64_t exponent;

        memcpy(&x, high + (size_t)i * 8, 8);
        memcpy(&x_low, low + (size_t)i * 8, 8);
        memcpy(&exponent, exponents + (size_t)i * 8, 8);
        reducing_multiply(r, i, x, x_low, exponent);
    }
    return GRANARY_OK;
}

/* Values go through the same code as blocks of a chunk do. */
static granary_err
merge_values(struct reducing *r, const char *at, const char *end)
{
    size_t width = reducing_width(r);
    const char *values = next_bytes(r, &at, end, width);
    const char *positions = values == NULL || r->positions == NULL ? NULL : next_bytes(r, &at, end, 8);

    if (values == NULL || (r->positions != NULL && positions == NULL)) {
        return partial_damaged();
    }
    for (int64_t i = 0; i < r->elements; i += PROGRAM_BLOCK) {
        int64_t n = r->elements - i < PROGRAM_BLOCK ? r->elements - i : PROGRAM_BLOCK;
        _Alignas(64) char block[PROGRAM_BLOCK * 8];

        memcpy(block, values + (size_t)i * width, (size_t)n * width);
        if (positions == NULL) {
            reducing_take_fold(r, i, 1, block, n);
        }
        for (int64_t k = 0; k < n && positions != NULL; k++) {
            const int64_t steps[2] = {0, 0};
            int64_t where[2] = {i + k, 0};

            memcpy(&where[1], positions + (size_t)(i + k) * 8, 8);
            if (where[1] >= 0) {
                reducing_take_positions(r, where, steps, block + (size_t)k * width, 1);
            }
        }
    }
    return GRANARY_OK;
}

granary_err
reducing_merge(struct reducing *r, const void *bytes, uint64_t size)
{
    const char *at = (const char *)bytes + sizeof r->header;
    const char *end = (const char *)bytes + size;

    if (size < sizeof r->header || memcmp(bytes, &r->header, sizeof r->header) != 0) {
        return gr_fail(GRANARY_ETYPE, "an input is no partial result of this block");
    }
    if (r->counts != NULL) {
        const char *counts = next_bytes(r, &at, end, sizeof *r->counts);

        if (counts == NULL) {
            return partial_damaged();
        }
        for (int64_t i = 0; i < r->elements; i++) {
            int64_t count;

            memcpy(&count, counts + (size_t)i * 8, 8);
            r->counts[i] = (int64_t)((uint64_t)r->counts[i] + (uint64_t)count);
        }
    }
    if (r->exact != NULL) {
        granary_err err = merge_exact(r, &at, end);

        return err == GRANARY_OK && r->how == GR_REDUCE_BY_MOMENTS ? merge_squares(r, at, end) : err;
    }
    if (r->integers != NULL) {
        return merge_integers(r, at, end);
    }
    if (r->exponents != NULL) {
        return merge_factors(r, at, end);
    }
    return merge_values(r, at, end);
}

/* ---- outputs ---- */

granary_err
reducing_give(struct reducing *r, struct gr_kernel_call *call, size_t output)
{
    struct gr_buf buf = {0};
    void *bytes = NULL;
    granary_err err = reducing_write(r, &buf);

    if (err == GRANARY_OK && (bytes = gr_data_alloc(buf.size)) == NULL) {
        err = reducing_no_memory();
    }
    if (err == GRANARY_OK) {
        memcpy(bytes, buf.bytes, buf.size);
        call_yield_bytes(call, output, bytes, buf.size);
    }
    gr_buf_free(&buf);
    return err;
}
