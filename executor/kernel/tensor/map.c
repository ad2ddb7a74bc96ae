/* Element by element, with NumPy's broadcasting and dtypes. */
#include "kernel/tensor/program.h"

granary_err
kernel_map(struct gr_kernel_call *call, const struct gr_chunk_map *params)
{
    struct program program;
    void *values;
    granary_err err = tensor_call_check_any(call, 1, PROGRAM_INPUTS);

    if (err == GRANARY_OK) {
        err = program_open(call, params, &program);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = tensor_output(call, program.dtype, program.dims, program.shape, &values);
    if (err == GRANARY_OK) {
        program_run(&program, values, NULL, NULL);
    }
    program_close(&program);
    return err;
}
