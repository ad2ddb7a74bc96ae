/*
 * Element-wise programs: a few instructions over broadcast tensors, evaluated a block of elements at a time so that
 * what lies between them never leaves the cache.
 *
 * Text: a list of instructions. Each is a function of contract/ops/tensor_functions.def (or where, astype:DTYPE) and its
 * operands, separated by spaces. $k is input k, and %j the result of instruction j. #5, #2.5, #nan, #true are
 * numbers. The last instruction's result is the program's.
 */
#ifndef KERNEL_TENSOR_PROGRAM_H
#define KERNEL_TENSOR_PROGRAM_H

#include "kernel/simd/tensor/tensor_map.h"
#include "kernel/tensor/call.h"

#define PROGRAM_INPUTS 16
#define PROGRAM_LENGTH 64
#define PROGRAM_BLOCK  1024
#define PROGRAM_EXTRAS 2

/* Some rows of an input as they lie there: float64, int64 or uint64. */
struct program_rows {
    enum gr_lane lane;
    const void *values;
    int64_t rows;
    int64_t stride; /* elements from one to the next */
    int64_t n;      /* elements each */
};

/* All rows are for the same extra; at: where it is of the first element of each. */
typedef void program_consume_rows(void *context, int64_t at, const struct program_rows *rows);

struct program_value {
    granary_dtype dtype;
    bool weak;
    enum gr_lane lane;
    int last_use; /* instruction that reads it last */
    char *block;  /* PROGRAM_BLOCK lane values; of an input that is used where it lies: there */
};

struct program_step {
    enum gr_map_function function; /* GR_MAP_COUNT: brings operand 0 to `lane` */
    enum gr_lane lane;
    int operands[3]; /* values */
    int result;
    bool wraps; /* the result may have to be brought into its dtype's range */
};

struct program {
    granary_dtype dtype; /* of the result */
    int dims;            /* of the result: what broadcasting gives */
    int64_t shape[TENSOR_DIMS_MAX];
    int result; /* value */

    /* How the inputs are gone through; dimensions may be fewer than the shape's. */
    int walk_dims;
    int64_t extent[TENSOR_DIMS_MAX];
    int64_t stride[PROGRAM_INPUTS + PROGRAM_EXTRAS][TENSOR_DIMS_MAX];

    int input_count;
    granary_tensor inputs[PROGRAM_INPUTS];
    bool in_place[PROGRAM_INPUTS]; /* read where it lies */
    int value_count;
    struct program_value values[PROGRAM_INPUTS + 8 * PROGRAM_LENGTH];
    int step_count;
    struct program_step steps[6 * PROGRAM_LENGTH];
    char *room; /* of blocks */
    program_consume_rows *rows;
};

/*
 * The call's program over all its inputs: its attribute "program", or "function" with "value", or neither: the input as
 * it is.
 *
 * Errors  EINVAL, ETYPE, ENOMEM
 */
granary_err
program_open(const struct gr_kernel_call *call, const struct gr_chunk_map *source, struct program *ret_program);
void program_close(struct program *program);

/* Strides along the result's dimensions of what the caller keeps beside it, for program_run(). */
void program_extra(struct program *program, int extra, const int64_t *strides);

/* From now on give rows to this instead of consume, on two conditions: program_run() has nothing to compute, and
 * extra 0 steps by 1 along rows, and not from one to the next. */
void program_by_rows(struct program *program, program_consume_rows *rows);

/* Elements [.., n) of a run: lane values of program.dtype; at: where the extras are, steps: how they go on. */
typedef void program_consume(void *context, const int64_t *at, const int64_t *steps, const void *values,
                             enum gr_lane lane, int64_t n);

/*
 * Evaluate it, row-major.
 *
 * out      room for all elements, stored; or NULL
 * consume  is given every block; or NULL
 */
void program_run(struct program *program, void *out, program_consume *consume, void *context);

#endif
