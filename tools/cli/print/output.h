/* A target's result as a table, CSV, JSON, Arrow or NPY, or its columns and their dtypes as a table. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/text/buf.h"
#include "data/tensor.h"
#include "granary/granary.h"

enum output_format { OUTPUT_TABLE, OUTPUT_CSV, OUTPUT_JSON, OUTPUT_ARROW, OUTPUT_NPY, OUTPUT_SCHEMA };

/* The format a file name asks for by its ending (.csv .json .arrow .npy .txt). Errors: EINVAL */
granary_err output_format_of(const char *path, enum output_format *ret_format);

/* Append a frame or a tensor to out. Errors: ETYPE it cannot be had in that format */
granary_err output_add_frame(const granary_frame *frame, enum output_format format, struct gr_buf *out);
granary_err output_add_tensor(const granary_tensor *tensor, enum output_format format, struct gr_buf *out);

/* Copy a chunk to where it lies in the whole: `offset` along each dimension. */
void output_place(const granary_tensor *chunk, struct gr_tensor *whole, const int64_t *offset);

/*
 * Append a target's result to out.
 *
 * Errors  ETYPE an Arrow file of a tensor, an NPY file of a frame · what mapping the chunks gives
 */
granary_err output_result(granary_client *client, const char *key, const char *target, enum output_format format,
                          struct gr_buf *out);

#endif
