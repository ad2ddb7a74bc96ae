/* Reductions over axes, in three steps: a partial result of each chunk, partial results merged, the value. */
#include "kernel/tensor/reduce/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- reduce_map ---- */

/* Strides in the result and, for positions, along the reduced axes of the whole. */
static granary_err
read_axes(const struct gr_chunk_reduce_map *params, struct program *program, struct partial_header *header,
          int64_t *ret_position)
{
    const int64_t *axes, *shape, *offset;
    size_t count, dims, offsets;
    bool reduced[TENSOR_DIMS_MAX] = {false};
    int64_t kept[TENSOR_DIMS_MAX] = {0};
    int64_t along[TENSOR_DIMS_MAX] = {0};
    int64_t stride = 1;
    int64_t position = 1;
    granary_err err = tensor_ints(params->axes, TENSOR_DIMS_MAX, &axes, &count);

    if (err == GRANARY_OK && (err = tensor_ints(params->shape, TENSOR_DIMS_MAX, &shape, &dims)) == GRANARY_OK) {
        err = tensor_ints(params->offset, TENSOR_DIMS_MAX, &offset, &offsets);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < count; i++) {
        if (axes[i] < 0 || axes[i] >= program->dims || reduced[axes[i]]) {
            return gr_fail(GRANARY_EINVAL, "axis %lld: there are %d dimensions", (long long)axes[i], program->dims);
        }
        reduced[axes[i]] = true;
    }
    if (dims != offsets || (dims > 0 && dims != (size_t)program->dims)) {
        return gr_fail(GRANARY_EINVAL, "shape and offset do not fit the input");
    }
    *ret_position = 0;
    for (int d = program->dims - 1; d >= 0; d--) {
        if (reduced[d]) {
            along[d] = position;
            *ret_position += dims > 0 ? offset[d] * position : 0;
            position *= dims > 0 ? shape[d] : program->shape[d];
        } else {
            kept[d] = stride;
            stride *= program->shape[d];
        }
    }
    for (int d = 0; d < program->dims; d++) {
        if (!reduced[d]) {
            header->shape[header->dims++] = program->shape[d];
        }
    }
    program_extra(program, 0, kept);
    if (gr_reduction_how((enum gr_reduction)header->reduction) == GR_REDUCE_BY_ARG) {
        program_extra(program, 1, along);
    }
    return GRANARY_OK;
}

static granary_err
find_reduction(const char *function, enum gr_reduction *ret_reduction)
{
    *ret_reduction = gr_reduction_find(function);
    return *ret_reduction == GR_REDUCE_COUNT ? gr_fail(GRANARY_EINVAL, "no function '%s'", function) : GRANARY_OK;
}

/* Whatever the elements are, a program makes them bool before. */
static bool
takes_bool(enum gr_reduction reduction)
{
    return reduction == GR_REDUCE_any || reduction == GR_REDUCE_all || reduction == GR_REDUCE_count_nonzero;
}

#define TAKING_MOST 8  /* functions */
#define TAKING_ROWS 32 /* that all functions see before the next ones: they stay in the cache */

/* What the functions keep. Where along the reduced axes of the whole the chunk begins is added to every position. */
struct taking {
    size_t count;
    struct reducing of[TAKING_MOST];
    int64_t position;
};

static void
taking_take(void *context, const int64_t *at, const int64_t *steps, const void *values, enum gr_lane lane, int64_t n)
{
    struct taking *taking = context;
    const int64_t moved[PROGRAM_EXTRAS] = {at[0], at[1] + taking->position};

    for (size_t i = 0; i < taking->count; i++) {
        reducing_take(&taking->of[i], moved, steps, values, lane, n);
    }
}

static void
take_rows(void *context, int64_t at, const struct program_rows *rows)
{
    static const int64_t steps[PROGRAM_EXTRAS] = {1, 0};
    const int64_t where[PROGRAM_EXTRAS] = {at, 0};
    struct taking *taking = context;
    struct program_rows some = *rows;

    if (taking->count == 1 && reducing_takes_rows(&taking->of[0])) {
        reducing_take_rows(&taking->of[0], at, rows);
        return;
    }
    for (int64_t row = 0; row < rows->rows; row += TAKING_ROWS) {
        some.rows = rows->rows - row < TAKING_ROWS ? rows->rows - row : TAKING_ROWS;
        some.values = (const char *)rows->values + row * rows->stride * 8;
        for (size_t i = 0; i < taking->count; i++) {
            if (reducing_takes_rows(&taking->of[i])) {
                reducing_take_rows(&taking->of[i], at, &some);
                continue;
            }
            for (int64_t k = 0; k < some.rows; k++) {
                reducing_take(&taking->of[i], where, steps, (const char *)some.values + k * rows->stride * 8,
                              rows->lane, rows->n);
            }
        }
    }
}

/* The functions asked for, made empty. */
static granary_err
taking_init(const struct gr_kernel_call *call, const struct gr_chunk_reduce_map *params, struct program *program,
            struct taking *taking)
{
    const Granary__Attr *functions = params->functions;
    size_t count = functions != NULL ? functions->n_strings : 1;
    granary_err err = GRANARY_OK;

    *taking = (struct taking){.count = 0};
    if (count != call->output_count || count > TAKING_MOST) {
        return gr_fail(GRANARY_EINVAL, "%zu functions do not fit %zu outputs", count, call->output_count);
    }
    program_by_rows(program, take_rows);
    while (taking->count < count && err == GRANARY_OK) {
        struct partial_header header = {.dtype = (int32_t)program->dtype};
        enum gr_reduction reduction;

        err = find_reduction(functions != NULL ? functions->strings[taking->count] : params->function, &reduction);
        if (err == GRANARY_OK && takes_bool(reduction) && program->dtype != GRANARY_BOOL) {
            err = gr_fail(GRANARY_ETYPE, "%s needs bool", gr_reduction_name(reduction));
        }
        if (err != GRANARY_OK) {
            break;
        }
        header.reduction = (int32_t)reduction;
        if (gr_reduction_how(reduction) == GR_REDUCE_BY_ARG) {
            program_by_rows(program, NULL);
        }
        err = read_axes(params, program, &header, &taking->position);
        if (err == GRANARY_OK && (err = reducing_init(&taking->of[taking->count], &header)) == GRANARY_OK) {
            taking->count++;
        }
    }
    return err;
}

static void
taking_fini(struct taking *taking)
{
    while (taking->count > 0) {
        reducing_fini(&taking->of[--taking->count]);
    }
}

granary_err
kernel_reduce_map(struct gr_kernel_call *call, const struct gr_chunk_reduce_map *params)
{
    struct taking taking = {0};
    struct program program;
    granary_err err = tensor_inputs_check_any(call, 1, PROGRAM_INPUTS);

    if (err == GRANARY_OK) {
        err = program_open(call, &(struct gr_chunk_map){.program = params->program}, &program);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_dtype_is_complex(program.dtype) ? gr_complex_refuse("a reduction", program.dtype)
                                             : taking_init(call, params, &program, &taking);
    if (err == GRANARY_OK) {
        program_run(&program, NULL, taking_take, &taking);
    }
    for (size_t i = 0; i < taking.count && err == GRANARY_OK; i++) {
        err = reducing_give(&taking.of[i], call, i);
    }
    taking_fini(&taking);
    program_close(&program);
    return err;
}

/* ---- reduce_merge, reduce_final ---- */

/* Whether so many bytes can have what a head tells: at least one for each element. */
static bool
header_fits(const struct partial_header *header, uint64_t size)
{
    uint64_t elements = 1;

    for (int d = 0; d < header->dims && d < TENSOR_DIMS_MAX && elements <= size; d++) {
        if (header->shape[d] < 0 || __builtin_mul_overflow(elements, (uint64_t)header->shape[d], &elements)) {
            return false;
        }
    }
    return elements <= size;
}

/* All inputs together; to be given to reducing_fini(). *ret_reduction: what is asked of them. */
static granary_err
merge_inputs(const struct gr_kernel_call *call, const char *function, struct reducing *ret_reducing,
             enum gr_reduction *ret_reduction)
{
    struct partial_header header;
    enum gr_reduction reduction = GR_REDUCE_COUNT;
    granary_err err = find_reduction(function, &reduction);

    if (err == GRANARY_OK && (call->output_count != 1 || call->input_count == 0)) {
        err = gr_fail(GRANARY_EINVAL, "%zu inputs and %zu outputs do not fit the operator", call->input_count,
                      call->output_count);
    }
    for (size_t i = 0; i < call->input_count && err == GRANARY_OK; i++) {
        if (call->inputs[i].kind != GR_VALUE_BYTES || call->inputs[i].bytes_size < sizeof header) {
            err = gr_fail(GRANARY_ETYPE, "input %zu is no partial result", i);
        }
    }
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(&header, call->inputs[0].bytes, sizeof header);
    if (!gr_reduction_follows(reduction, header.reduction, (granary_dtype)header.dtype)) {
        return gr_fail(GRANARY_ETYPE, "input 0 is no partial result of %s", gr_reduction_name(reduction));
    }
    if (!header_fits(&header, call->inputs[0].bytes_size)) {
        return gr_fail(GRANARY_ECORRUPT, "input 0, a partial result, is damaged: it is smaller than its shape tells");
    }
    *ret_reduction = reduction;
    err = reducing_init(ret_reducing, &header);
    for (size_t i = 0; i < call->input_count && err == GRANARY_OK; i++) {
        err = reducing_merge(ret_reducing, call->inputs[i].bytes, call->inputs[i].bytes_size);
        if (err != GRANARY_OK) {
            reducing_fini(ret_reducing);
        }
    }
    return err;
}

granary_err
kernel_reduce_merge(struct gr_kernel_call *call, const struct gr_chunk_reduce_merge *params)
{
    struct reducing reducing = {0};
    enum gr_reduction reduction;
    granary_err err = merge_inputs(call, params->function, &reducing, &reduction);

    if (err != GRANARY_OK) {
        return err;
    }
    err = reducing_give(&reducing, call, 0);
    reducing_fini(&reducing);
    return err;
}

/* The result's shape: with keepdims, axes of one element stand where the reduced ones stood. */
static granary_err
result_shape(const struct gr_chunk_reduce_final *params, const struct partial_header *header, int64_t *ret_shape,
             int *ret_dims)
{
    bool keep = params->keepdims;
    const int64_t *axes = NULL;
    size_t count = 0;
    size_t next = 0;
    int dims = 0;
    granary_err err = tensor_ints(params->axes, TENSOR_DIMS_MAX, &axes, &count);

    if (err != GRANARY_OK || (keep && (size_t)header->dims + count > TENSOR_DIMS_MAX)) {
        return err != GRANARY_OK ? err : gr_fail(GRANARY_EINVAL, "axes do not fit the result");
    }
    for (int d = 0; d < header->dims || (keep && next < count);) {
        if (keep && next < count && (axes[next] == dims || d == header->dims)) {
            ret_shape[dims++] = 1;
            next++;
        } else {
            ret_shape[dims++] = header->shape[d++];
        }
    }
    *ret_dims = dims;
    return GRANARY_OK;
}

/* What readers were told must be what there is. */
static granary_err
check_result(const struct gr_chunk_reduce_final *params, granary_dtype dtype, const int64_t *shape, int dims)
{
    const int64_t *wanted;
    size_t count;
    granary_err err = tensor_ints(params->shape, TENSOR_DIMS_MAX, &wanted, &count);

    if (err == GRANARY_OK && params->shape != NULL &&
        ((int)count != dims || (count > 0 && memcmp(wanted, shape, count * sizeof *shape) != 0))) {
        err = gr_fail(GRANARY_EINVAL, "the partial results are of a tensor of another shape");
    }
    if (err == GRANARY_OK && params->dtype != NULL && strcmp(params->dtype, granary_dtype_name(dtype)) != 0) {
        err =
            gr_fail(GRANARY_ETYPE, "the partial results give %s, and not %s", granary_dtype_name(dtype), params->dtype);
    }
    return err;
}

granary_err
kernel_reduce_final(struct gr_kernel_call *call, const struct gr_chunk_reduce_final *params)
{
    int64_t count = params->count;
    double ddof = params->ddof;
    struct reducing reducing = {0};
    enum gr_reduction reduction;
    int64_t shape[TENSOR_DIMS_MAX];
    void *values = NULL;
    int dims = 0;
    granary_err err = merge_inputs(call, params->function, &reducing, &reduction);

    if (err != GRANARY_OK) {
        return err;
    }
    err = result_shape(params, &reducing.header, shape, &dims);
    if (err == GRANARY_OK) {
        err = check_result(params, gr_reduction_dtype(reduction, (granary_dtype)reducing.header.dtype), shape, dims);
    }
    if (err == GRANARY_OK) {
        err = tensor_output(call, gr_reduction_dtype(reduction, (granary_dtype)reducing.header.dtype), dims, shape,
                            &values);
    }
    if (err == GRANARY_OK) {
        err = reducing_finish(&reducing, reduction, count, ddof, values);
    }
    reducing_fini(&reducing);
    return err;
}
