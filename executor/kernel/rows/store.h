/* Values of vectors as columns store them. */
#ifndef KERNEL_ROWS_STORE_H
#define KERNEL_ROWS_STORE_H

#include "data/frame.h"
#include "kernel/rows/rows.h"

/* n values of a vector as a column of that dtype has them: 1 to 16 bytes each; bools: from bit `at` on of a zeroed
 * bitmap. Not for texts. values: of that class; of codes, the codes. */
void store_values(granary_dtype dtype, enum rows_class class, const void *values, int64_t n, void *out, int64_t at);

#endif
