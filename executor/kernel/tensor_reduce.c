/*
 * Sums and means over axes, in three steps: a partial result of each chunk, partial results merged, the value. Partial
 * results are exact (128 bits for integers, exact_sum.h for floats), so the value does not depend on the chunks.
 *
 * A partial result is a header and, for each element of the output in order, 16 bytes or a written exact_sum.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/exact_sum.h"
#include "kernel/tensor_call.h"

struct partial_header {
    char magic[8];
    int32_t dtype; /* of what is summed: INT64 or FLOAT64 */
    int32_t dims;  /* of the output */
    int64_t shape[TENSOR_DIMS_MAX];
};

static const char magic[8] = "GRSUM01";

/* Sums side by side while a chunk is gone through row by row. */
#define LANES 1024

struct sums {
    granary_dtype dtype;
    struct exact_sum *floats; /* LANES of one of them */
    __int128 *ints;
};

/* ---- reduce_map ---- */

/* A chunk, as kept dimensions (walked through outside) and reduced ones (inside); the last one is a run. */
struct plan {
    struct tensor_walk kept;    /* offset 0: into the chunk */
    struct tensor_walk reduced; /* the same */
    int64_t run;
    bool run_is_reduced;
};

static granary_err
make_plan(const struct gr_kernel_call *call, struct plan *ret_plan, struct partial_header *ret_header)
{
    const granary_tensor *tensor = &call->inputs[0].tensor.view;
    struct plan plan = {.run = 1, .run_is_reduced = true};
    const int64_t *axes;
    size_t count;
    bool reduced[TENSOR_DIMS_MAX] = {false};
    int64_t stride = 1;
    granary_err err = tensor_ints(call, "axes", TENSOR_DIMS_MAX, &axes, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < count; i++) {
        if (axes[i] < 0 || axes[i] >= tensor->dims || reduced[axes[i]]) {
            return gr_fail(GRANARY_EINVAL, "axis %lld: there are %d dimensions", (long long)axes[i], tensor->dims);
        }
        reduced[axes[i]] = true;
    }
    memcpy(ret_header->magic, magic, sizeof magic);
    ret_header->dtype = (int32_t)tensor->dtype;
    for (int d = 0; d < tensor->dims; d++) {
        struct tensor_walk *walk = reduced[d] ? &plan.reduced : &plan.kept;

        if (!reduced[d]) {
            ret_header->shape[ret_header->dims++] = tensor->shape[d];
        }
        stride = 1;
        for (int after = d + 1; after < tensor->dims; after++) {
            stride *= tensor->shape[after];
        }
        if (d == tensor->dims - 1) {
            plan.run = tensor->shape[d];
            plan.run_is_reduced = reduced[d];
        } else {
            walk->extent[walk->dims] = tensor->shape[d];
            walk->stride[0][walk->dims++] = stride;
        }
    }
    *ret_plan = plan;
    return GRANARY_OK;
}

static bool
sums_init(struct sums *sums, granary_dtype dtype)
{
    *sums = (struct sums){.dtype = dtype};
    if (dtype == GRANARY_FLOAT64) {
        sums->floats = calloc(LANES, sizeof *sums->floats);
    } else {
        sums->ints = calloc(LANES, sizeof *sums->ints);
    }
    return sums->floats != NULL || sums->ints != NULL;
}

static void
sums_fini(struct sums *sums)
{
    free(sums->floats); /* each was written and is empty */
    free(sums->ints);
}

/* Append lanes [0, count) to out; they are empty then. */
static granary_err
sums_flush(struct sums *sums, int64_t count, struct gr_buf *out)
{
    bool ok = true;

    for (int64_t i = 0; i < count; i++) {
        if (sums->dtype == GRANARY_INT64) {
            gr_buf_add(out, &sums->ints[i], sizeof sums->ints[i]);
            sums->ints[i] = 0;
        } else {
            void *at = gr_buf_grow(out, exact_sum_size(&sums->floats[i]));

            ok = ok && at != NULL && exact_sum_ok(&sums->floats[i]);
            if (at != NULL) {
                (void)exact_sum_write(&sums->floats[i], at);
            }
            exact_sum_fini(&sums->floats[i]);
            sums->floats[i] = (struct exact_sum){0};
        }
    }
    return ok && gr_buf_ok(out) ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "no memory for sums");
}

/* Add a run at offset: to lane 0, or, when the run is kept, one element to each lane. */
static void
sums_add(struct sums *sums, const void *values, int64_t offset, int64_t count, bool run_is_reduced)
{
    if (sums->dtype == GRANARY_FLOAT64) {
        const double *x = (const double *)values + offset;

        if (run_is_reduced) {
            exact_sum_add_many(&sums->floats[0], x, (size_t)count);
            return;
        }
        for (int64_t i = 0; i < count; i++) {
            exact_sum_add(&sums->floats[i], x[i]);
        }
    } else {
        const int64_t *x = (const int64_t *)values + offset;

        for (int64_t i = 0; i < count; i++) {
            sums->ints[run_is_reduced ? 0 : i] += x[i];
        }
    }
}

static granary_err
sum_chunk(const granary_tensor *tensor, struct plan *plan, struct gr_buf *out)
{
    int64_t lanes = plan->run_is_reduced ? 1 : LANES;
    bool empty = tensor_walk_count(&plan->reduced) == 0 || (plan->run_is_reduced && plan->run == 0);
    struct sums sums;
    granary_err err = GRANARY_OK;

    if (tensor_walk_count(&plan->kept) == 0) {
        return GRANARY_OK;
    }
    if (!sums_init(&sums, tensor->dtype)) {
        sums_fini(&sums);
        return gr_fail(GRANARY_ENOMEM, "no memory for sums");
    }
    do {
        for (int64_t from = 0; err == GRANARY_OK && from < (plan->run_is_reduced ? 1 : plan->run); from += lanes) {
            int64_t width = plan->run_is_reduced ? 1 : plan->run - from < lanes ? plan->run - from : lanes;

            if (!empty) {
                do {
                    sums_add(&sums, tensor->values, plan->kept.at[0] + plan->reduced.at[0] + from,
                             plan->run_is_reduced ? plan->run : width, plan->run_is_reduced);
                } while (tensor_walk_next(&plan->reduced));
            }
            err = sums_flush(&sums, width, out);
        }
    } while (err == GRANARY_OK && tensor_walk_next(&plan->kept));
    sums_fini(&sums);
    return err;
}

/* A partial result as the call's output; takes buf's bytes. */
static granary_err
give_bytes(struct gr_kernel_call *call, struct gr_buf *buf)
{
    void *bytes = gr_buf_ok(buf) ? gr_data_alloc(buf->size) : NULL;

    if (bytes == NULL) {
        gr_buf_free(buf);
        return gr_fail(GRANARY_ENOMEM, "no memory for a partial sum");
    }
    memcpy(bytes, buf->bytes, buf->size);
    call->outputs[0].kind = GR_VALUE_BYTES;
    call->outputs[0].bytes = bytes;
    call->outputs[0].owned_bytes = bytes;
    call->outputs[0].bytes_size = buf->size;
    gr_buf_free(buf);
    return GRANARY_OK;
}

granary_err
kernel_reduce_map(struct gr_kernel_call *call)
{
    struct partial_header header = {0};
    struct plan plan;
    struct gr_buf out = {0};
    granary_err err = tensor_call_check(call, 1, 1);

    if (err == GRANARY_OK) {
        err = make_plan(call, &plan, &header);
    }
    if (err == GRANARY_OK) {
        gr_buf_add(&out, &header, sizeof header);
        err = sum_chunk(&call->inputs[0].tensor.view, &plan, &out);
    }
    if (err != GRANARY_OK) {
        gr_buf_free(&out);
        return err;
    }
    return give_bytes(call, &out);
}

/* ---- reduce_merge, reduce_final ---- */

/* Partial results of one output block, read element by element side by side. */
struct partials {
    struct partial_header header;
    int64_t elements;
    size_t count;
    const char **at;
    const char **end;
};

static granary_err
partials_open(const struct gr_kernel_call *call, struct partials *ret_partials)
{
    struct partials partials = {.count = call->input_count, .elements = 1};

    if (call->output_count != 1 || call->input_count == 0) {
        return gr_fail(GRANARY_EINVAL, "%zu inputs and %zu outputs do not fit the operator", call->input_count,
                       call->output_count);
    }
    for (size_t i = 0; i < call->input_count; i++) {
        const struct gr_value *input = &call->inputs[i];

        if (input->kind != GR_VALUE_BYTES || input->bytes_size < sizeof partials.header ||
            memcmp(input->bytes, magic, sizeof magic) != 0 ||
            (i > 0 && memcmp(input->bytes, call->inputs[0].bytes, sizeof partials.header) != 0)) {
            return gr_fail(GRANARY_ETYPE, "input %zu is no partial sum of this block", i);
        }
    }
    memcpy(&partials.header, call->inputs[0].bytes, sizeof partials.header);
    if (partials.header.dims < 0 || partials.header.dims > TENSOR_DIMS_MAX ||
        (partials.header.dtype != GRANARY_INT64 && partials.header.dtype != GRANARY_FLOAT64)) {
        return gr_fail(GRANARY_ECORRUPT, "a partial sum is damaged");
    }
    for (int d = 0; d < partials.header.dims; d++) {
        if (partials.header.shape[d] < 0 ||
            __builtin_mul_overflow(partials.elements, partials.header.shape[d], &partials.elements)) {
            return gr_fail(GRANARY_ECORRUPT, "a partial sum is damaged");
        }
    }
    partials.at = malloc(partials.count * sizeof(char *));
    partials.end = malloc(partials.count * sizeof(char *));
    if (partials.at == NULL || partials.end == NULL) {
        free(partials.at);
        free(partials.end);
        return gr_fail(GRANARY_ENOMEM, "no memory for %zu partial sums", partials.count);
    }
    for (size_t i = 0; i < partials.count; i++) {
        partials.at[i] = (const char *)call->inputs[i].bytes + sizeof partials.header;
        partials.end[i] = (const char *)call->inputs[i].bytes + call->inputs[i].bytes_size;
    }
    *ret_partials = partials;
    return GRANARY_OK;
}

static void
partials_close(struct partials *partials)
{
    free(partials->at);
    free(partials->end);
}

/* The next element, of all partial results together. */
static granary_err
next_int(struct partials *partials, __int128 *ret_sum)
{
    __int128 sum = 0;

    for (size_t i = 0; i < partials->count; i++) {
        __int128 value;

        if (partials->end[i] - partials->at[i] < (ptrdiff_t)sizeof value) {
            return gr_fail(GRANARY_ECORRUPT, "a partial sum is damaged");
        }
        memcpy(&value, partials->at[i], sizeof value);
        partials->at[i] += sizeof value;
        sum = (__int128)((unsigned __int128)sum + (unsigned __int128)value);
    }
    *ret_sum = sum;
    return GRANARY_OK;
}

/* ret_sum is to be given to exact_sum_fini(), success or not. */
static granary_err
next_float(struct partials *partials, struct exact_sum *ret_sum)
{
    *ret_sum = (struct exact_sum){0};
    for (size_t i = 0; i < partials->count; i++) {
        struct exact_sum one;
        size_t size;
        granary_err err = exact_sum_read(partials->at[i], (size_t)(partials->end[i] - partials->at[i]), &one, &size);

        if (err != GRANARY_OK) {
            return err;
        }
        partials->at[i] += size;
        exact_sum_merge(ret_sum, &one);
        exact_sum_fini(&one);
    }
    return exact_sum_ok(ret_sum) ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "no memory for sums");
}

static granary_err
merge_next(struct partials *partials, struct gr_buf *out)
{
    struct exact_sum sum;
    __int128 integer = 0;
    granary_err err;
    void *at;

    if (partials->header.dtype == GRANARY_INT64) {
        err = next_int(partials, &integer);
        gr_buf_add(out, &integer, sizeof integer);
        return err;
    }
    err = next_float(partials, &sum);
    if (err == GRANARY_OK) {
        at = gr_buf_grow(out, exact_sum_size(&sum));
        if (at != NULL) {
            (void)exact_sum_write(&sum, at);
        }
    }
    exact_sum_fini(&sum);
    return err;
}

granary_err
kernel_reduce_merge(struct gr_kernel_call *call)
{
    struct partials partials;
    struct gr_buf out = {0};
    granary_err err = partials_open(call, &partials);

    if (err != GRANARY_OK) {
        return err;
    }
    gr_buf_add(&out, &partials.header, sizeof partials.header);
    for (int64_t i = 0; err == GRANARY_OK && i < partials.elements; i++) {
        err = merge_next(&partials, &out);
    }
    partials_close(&partials);
    if (err != GRANARY_OK) {
        gr_buf_free(&out);
        return err;
    }
    return give_bytes(call, &out);
}

/* Element i of the result. */
static granary_err
finish_next(struct partials *partials, bool mean, double count, int64_t i, void *values)
{
    struct exact_sum sum;
    __int128 integer = 0;
    granary_err err;

    if (partials->header.dtype == GRANARY_FLOAT64) {
        err = next_float(partials, &sum);
        if (err == GRANARY_OK) {
            ((double *)values)[i] = mean ? exact_sum_value(&sum) / count : exact_sum_value(&sum);
        }
        exact_sum_fini(&sum);
        return err;
    }
    err = next_int(partials, &integer);
    if (err == GRANARY_OK && mean) {
        ((double *)values)[i] = (double)integer / count;
    } else if (err == GRANARY_OK) {
        if (integer > INT64_MAX || integer < INT64_MIN) {
            return gr_fail(GRANARY_EFAILED, "the sum does not fit int64; multiply by 1.0 first to sum float64");
        }
        ((int64_t *)values)[i] = (int64_t)integer;
    }
    return err;
}

granary_err
kernel_reduce_final(struct gr_kernel_call *call)
{
    const char *function = gr_attr_string(call->op->attrs, call->op->n_attrs, "function", "");
    double count = (double)gr_attr_int(call->op->attrs, call->op->n_attrs, "count", 0);
    bool mean = strcmp(function, "mean") == 0;
    struct partials partials;
    void *values;
    granary_err err;

    if (!mean && strcmp(function, "sum") != 0) {
        return gr_fail(GRANARY_EINVAL, "no function '%s'", function);
    }
    err = partials_open(call, &partials);
    if (err != GRANARY_OK) {
        return err;
    }
    err = tensor_output(call, mean ? GRANARY_FLOAT64 : (granary_dtype)partials.header.dtype, partials.header.dims,
                        partials.header.shape, &values);
    for (int64_t i = 0; err == GRANARY_OK && i < partials.elements; i++) {
        err = finish_next(&partials, mean, count, i, values);
    }
    partials_close(&partials);
    return err;
}
