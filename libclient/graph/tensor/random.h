/* Distributions of random numbers and their parameters. */
#ifndef GRAPH_TENSOR_RANDOM_H
#define GRAPH_TENSOR_RANDOM_H

#include "graph/graph.h"

/* name, parameters a and b (NULL: none). low and high are integers. */
#define GR_RANDOM_DISTRIBUTIONS(X)                                                                                     \
    X(uniform, "low", "high")                                                                                          \
    X(normal, "loc", "scale")                                                                                          \
    X(integers, NULL, NULL)                                                                                            \
    X(exponential, "scale", NULL)                                                                                      \
    X(gamma, "alpha", "scale")                                                                                         \
    X(beta, "alpha", "beta")                                                                                           \
    X(poisson, "lam", NULL)                                                                                            \
    X(binomial, "p", NULL)                                                                                             \
    X(geometric, "p", NULL)                                                                                            \
    X(lognormal, "loc", "scale")                                                                                       \
    X(chisquare, "df", NULL)                                                                                           \
    X(standard_t, "df", NULL)                                                                                          \
    X(laplace, "loc", "scale")                                                                                         \
    X(logistic, "loc", "scale")                                                                                        \
    X(gumbel, "loc", "scale")                                                                                          \
    X(weibull, "alpha", "scale")                                                                                       \
    X(pareto, "alpha", NULL)                                                                                           \
    X(rayleigh, "scale", NULL)                                                                                         \
    X(cauchy, "loc", "scale")                                                                                          \
    X(power, "alpha", NULL)                                                                                            \
    X(multinomial, NULL, NULL)                                                                                         \
    X(dirichlet, NULL, NULL)

#define GR_RANDOM_WIDTH_MAX 4096

enum gr_random_distribution {
#define X(name, a, b) GR_RANDOM_##name,
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
    int64_t high;          /* of integers: not included; of binomial and multinomial: how many trials */
    const double *numbers; /* of rows: chances or shapes, as the parameters have them */
    size_t width;          /* 0: elements do not come in rows */
};

/* Of the parameters of the operator random. Errors: EINVAL no such distribution, or parameters outside what it knows */
granary_err gr_random_read(const struct gr_params *params, struct gr_random *ret_random);

#endif
