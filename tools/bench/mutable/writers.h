/* writers: how many rows processes append together. */
#ifndef BENCH_MUTABLE_WRITERS_H
#define BENCH_MUTABLE_WRITERS_H

#include "bench/mutable/engine.h"

#define WRITERS_MOST 4u

/*
 * Let processes append to one table, a row at a time, all of them from one moment on.
 *
 * engine   has started
 * count    of writers, at most WRITERS_MOST
 * ns       how long they write
 * Returns  rows a second, of all; 0: one of them failed, and said why
 */
double writers_measure(const struct engine *engine, unsigned count, int64_t ns);

#endif
