/* Distributions of random numbers and their parameters. */
#ifndef GRAPH_TENSOR_RANDOM_H
#define GRAPH_TENSOR_RANDOM_H

#include "graph/graph.h"

/* name, parameter a (NULL: none), its default, parameter b, its default. low and high are integers. */
#define GR_RANDOM_DISTRIBUTIONS(X)                                                                                     \
    X(uniform, "low", 0, "high", 1)                                                                                    \
    X(normal, "loc", 0, "scale", 1)                                                                                    \
    X(integers, NULL, 0, NULL, 0)                                                                                      \
    X(exponential, "scale", 1, NULL, 0)                                                                                \
    X(gamma, "alpha", 1, "scale", 1)                                                                                   \
    X(beta, "alpha", 1, "beta", 1)                                                                                     \
    X(poisson, "lam", 1, NULL, 0)                                                                                      \
    X(binomial, "p", 0.5, NULL, 0)                                                                                     \
    X(geometric, "p", 0.5, NULL, 0)                                                                                    \
    X(lognormal, "loc", 0, "scale", 1)                                                                                 \
    X(chisquare, "df", 1, NULL, 0)                                                                                     \
    X(standard_t, "df", 1, NULL, 0)                                                                                    \
    X(laplace, "loc", 0, "scale", 1)                                                                                   \
    X(logistic, "loc", 0, "scale", 1)                                                                                  \
    X(gumbel, "loc", 0, "scale", 1)                                                                                    \
    X(weibull, "alpha", 1, "scale", 1)                                                                                 \
    X(pareto, "alpha", 1, NULL, 0)                                                                                     \
    X(rayleigh, "scale", 1, NULL, 0)                                                                                   \
    X(cauchy, "loc", 0, "scale", 1)                                                                                    \
    X(power, "alpha", 1, NULL, 0)

enum gr_random_distribution {
#define X(name, a, a_default, b, b_default) GR_RANDOM_##name,
    GR_RANDOM_DISTRIBUTIONS(X)
#undef X
        GR_RANDOM_COUNT
};

struct gr_random {
    enum gr_random_distribution distribution;
    granary_dtype dtype;
    double a;
    double b; /* of uniform: high - low */
    int64_t low;
    int64_t high; /* of integers: not included; of binomial: how many trials */
};

/* Errors: EINVAL no such distribution, or parameters outside what it knows */
granary_err
gr_random_read(const char *distribution, Granary__Attr *const *attrs, size_t attr_count, struct gr_random *ret_random);

#endif
