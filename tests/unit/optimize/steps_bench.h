/* A graph over two files t and u whose columns k, a, b, c are int64, its steps after optimisation, and what fired. */
#ifndef TESTS_PLAN_STEPS_BENCH_H
#define TESTS_PLAN_STEPS_BENCH_H

#include "base/text/buf.h"
#include "optimize/optimize.h"

struct bench {
    struct gr_graph *graph;
    struct gr_steps *steps;
    struct gr_buf fired;
};

/* nodes, targets: as in JSON, without the brackets. */
void bench_open(struct bench *bench, const char *nodes, const char *targets);
void bench_close(struct bench *bench);
void assert_fired(const struct bench *bench, const char *line);
void assert_not_fired(const struct bench *bench, const char *rule);
/* The live steps as text, the lines behind one another. */
void assert_steps(const struct bench *bench, const char *text);

#endif
