/* tensor: how fast elements of a mutable tensor are written, looked at and sealed. */
#ifndef BENCH_MUTABLE_TENSOR_H
#define BENCH_MUTABLE_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/bench.h"

/* Add the lines of a tensor of so many chunks, in the instance of that directory. False: it failed, and said why. */
bool tensor_measure(struct results *results, const char *instance, int64_t chunks);

#endif
