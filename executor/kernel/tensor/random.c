/*
 * Normals by Box and Muller, gamma by Marsaglia and Tsang (2000), Poisson by Knuth's product for small means, else
 * by Hörmann's PTRS (1993). Tries of one element are counted in its own counter, so that no element depends on
 * another.
 */
#include "kernel/tensor/random.h"
#include "contract/int128.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/tensor/random.h"

static void
philox_words(uint64_t counter, uint64_t tries, uint64_t seed, uint64_t ret_bits[2])
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32), c2 = (uint32_t)tries, c3 = (uint32_t)(tries >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)0xD2511F53u * c0;
        uint64_t product1 = (uint64_t)0xCD9E8D57u * c2;

        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)product1;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)product0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    ret_bits[0] = (uint64_t)c1 << 32 | c0;
    ret_bits[1] = (uint64_t)c3 << 32 | c2;
}

/* 53 of the bits, in [0, 1). */
static double
to_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

/* ---- two elements a counter ---- */

static void
uniform_pair(uint64_t counter, uint64_t seed, double ret_pair[2])
{
    uint64_t bits[2];

    philox_words(counter, 0, seed, bits);
    ret_pair[0] = to_unit(bits[0]);
    ret_pair[1] = to_unit(bits[1]);
}

/* Box and Muller: two independent normal numbers from two uniform ones. */
static void
normal_pair(uint64_t counter, uint64_t seed, double ret_pair[2])
{
    double uniform[2];
    double radius, angle;

    uniform_pair(counter, seed, uniform);
    radius = sqrt(-2 * log(1 - uniform[0])); /* of (0, 1] */
    angle = 2 * M_PI * uniform[1];
    ret_pair[0] = radius * cos(angle);
    ret_pair[1] = radius * sin(angle);
}

/* ---- an element's own stream ---- */

struct stream {
    uint64_t position;
    uint64_t tries;
    uint64_t seed;
};

/* Two numbers, in [0, 1). Never those of uniform_pair: tries begin at 1. */
static void
next_pair(struct stream *s, double ret_pair[2])
{
    uint64_t bits[2];

    philox_words(s->position, ++s->tries, s->seed, bits);
    ret_pair[0] = to_unit(bits[0]);
    ret_pair[1] = to_unit(bits[1]);
}

static double
next_normal(struct stream *s)
{
    double pair[2];

    next_pair(s, pair);
    return sqrt(-2 * log(1 - pair[0])) * cos(2 * M_PI * pair[1]);
}

static double
next_uniform(struct stream *s)
{
    double pair[2];

    next_pair(s, pair);
    return 1 - pair[0]; /* (0, 1] */
}

static struct stream
stream_of(const struct random_make *make, uint64_t position)
{
    return (struct stream){.position = position, .seed = make->seed};
}

/* Marsaglia and Tsang, "A simple method for generating gamma variables", 2000. */
static double
next_gamma(struct stream *s, double shape)
{
    double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
    double c = 1 / sqrt(9 * d);
    double boost = shape < 1 ? pow(next_uniform(s), 1 / shape) : 1;

    for (;;) {
        double x = next_normal(s);
        double v = 1 + c * x;

        if (v > 0) {
            v = v * v * v;
            if (log(next_uniform(s)) < 0.5 * x * x + d - d * v + d * log(v)) {
                return boost * d * v;
            }
        }
    }
}

static void
one_gamma(const struct random_make *make, uint64_t position, void *to)
{
    struct stream s = stream_of(make, position);

    *(double *)to = make->b * next_gamma(&s, make->a);
}

static void
one_beta(const struct random_make *make, uint64_t position, void *to)
{
    struct stream s = stream_of(make, position);
    double x = next_gamma(&s, make->a);
    double y = next_gamma(&s, make->b);

    *(double *)to = x + y > 0 ? x / (x + y) : 0;
}

static void
one_t(const struct random_make *make, uint64_t position, void *to)
{
    struct stream s = stream_of(make, position);
    double x = next_normal(&s);

    *(double *)to = x / sqrt(2 * next_gamma(&s, make->a / 2) / make->a);
}

/* Knuth's product for few; Hörmann's rejection (PTRS, "The transformed rejection method for generating Poisson random
 * variables", 1993) for many. */
static double
next_poisson(struct stream *s, double mean)
{
    double root = sqrt(mean);
    double b = 0.931 + 2.53 * root;
    double a = -0.059 + 0.02483 * b;
    double alpha = 1.1239 + 1.1328 / (b - 3.4);
    double limit = 0.9277 - 3.6224 / (b - 2);

    if (mean < 10) {
        double product = next_uniform(s);
        double least = exp(-mean);
        unsigned count = 0;

        for (; product > least; count++) {
            product *= next_uniform(s);
        }
        return count;
    }
    for (;;) {
        double u = next_uniform(s) - 0.5;
        double v = next_uniform(s);
        double distance = 0.5 - fabs(u);
        double k = floor((2 * a / distance + b) * u + mean + 0.43);

        if (distance >= 0.07 && v <= limit) {
            return k;
        }
        if (k >= 0 && (distance >= 0.013 || v <= distance) &&
            log(v) + log(alpha) - log(a / (distance * distance) + b) <= -mean + k * log(mean) - lgamma(k + 1)) {
            return k;
        }
    }
}

static void
one_poisson(const struct random_make *make, uint64_t position, void *to)
{
    struct stream s = stream_of(make, position);

    *(int64_t *)to = make->a > 0 ? (int64_t)next_poisson(&s, make->a) : 0;
}

/* Geometric gaps between successes for few. For many, a beta variable tells where the middle one of the sorted
 * uniform numbers lies, which halves the trials (Devroye, "Non-uniform random variate generation", 1986, X.4.4). */
static int64_t
next_binomial(struct stream *s, int64_t n, double p)
{
    int64_t count = 0;

    while (n > 32 && p > 0 && p < 1) {
        int64_t middle = n / 2 + 1;
        double x = next_gamma(s, (double)middle);
        double y = next_gamma(s, (double)(n + 1 - middle));
        double at = x / (x + y);

        if (at <= p) {
            count += middle;
            n -= middle;
            p = (p - at) / (1 - at);
        } else {
            n = middle - 1;
            p = p / at;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        count += p >= 1 || next_uniform(s) <= p;
    }
    return count;
}

static void
one_binomial(const struct random_make *make, uint64_t position, void *to)
{
    struct stream s = stream_of(make, position);

    *(int64_t *)to = next_binomial(&s, make->low, make->a);
}

/* ---- rows ---- */

/* Each outcome but the last has its share of the trials that those before it left. */
static void
row_multinomial(const struct random_make *make, uint64_t row, void *to)
{
    struct stream s = stream_of(make, row);
    int64_t left = make->low, *counts = to;
    double chance = 1;

    for (size_t k = 0; k + 1 < make->width; k++) {
        double p = make->numbers[k] < chance ? make->numbers[k] / chance : 1;

        counts[k] = make->numbers[k] > 0 ? next_binomial(&s, left, p) : 0;
        left -= counts[k];
        chance -= make->numbers[k];
        chance = chance > 0 ? chance : 0;
    }
    counts[make->width - 1] = left;
}

/* Shares of gamma variables. Logarithms keep those of tiny shapes, which are too small for a double. */
static void
row_dirichlet(const struct random_make *make, uint64_t row, void *to)
{
    struct stream s = stream_of(make, row);
    double *shares = to, most = -INFINITY, sum = 0;

    for (size_t k = 0; k < make->width; k++) {
        double shape = make->numbers[k];
        double boost = shape < 1 ? log(next_uniform(&s)) / shape : 0;

        shares[k] = log(next_gamma(&s, shape < 1 ? shape + 1 : shape)) + boost;
        most = shares[k] > most ? shares[k] : most;
    }
    for (size_t k = 0; k < make->width; k++) {
        shares[k] = exp(shares[k] - most);
        sum += shares[k];
    }
    for (size_t k = 0; k < make->width; k++) {
        shares[k] /= sum;
    }
}

static void
one_geometric(const struct random_make *make, uint64_t position, void *to)
{
    struct stream s = stream_of(make, position);

    *(int64_t *)to = make->a >= 1 ? 1 : (int64_t)(floor(log(next_uniform(&s)) / log1p(-make->a)) + 1);
}

/* Each of range with the same chance: the product's high word, its low word rejecting what is too many (Lemire, "Fast
 * random integer generation in an interval", 2019). */
static void
one_integer(const struct random_make *make, uint64_t position, void *to)
{
    uint64_t tries = 0;
    uint64_t bits[2];
    gr_uint128 product;

    do {
        philox_words(position, ++tries, make->seed, bits);
        product = (gr_uint128)bits[0] * make->range;
    } while (make->range != 0 && (uint64_t)product < -make->range % make->range);
    *(int64_t *)to = (int64_t)((uint64_t)make->low + (make->range == 0 ? bits[0] : (uint64_t)(product >> 64)));
}

/* Functions of one uniform number of (0, 1]. */
#define OF_UNIFORM(name, expression)                                                                                   \
    static void one_##name(const struct random_make *make, uint64_t position, void *to)                                \
    {                                                                                                                  \
        struct stream s = stream_of(make, position);                                                                   \
        double a = make->a, b = make->b;                                                                               \
        double u = next_uniform(&s);                                                                                   \
                                                                                                                       \
        (void)a;                                                                                                       \
        (void)b;                                                                                                       \
        *(double *)to = (expression);                                                                                  \
    }
OF_UNIFORM(exponential, -log(u) * a)
OF_UNIFORM(laplace, a + b * (u < 0.5 ? log(2 * u) : -log(2 - 2 * u + 0x1p-53)))
OF_UNIFORM(logistic, a + b * (log(u) - log1p(-u + 0x1p-54)))
OF_UNIFORM(gumbel, a - b * log(-log(u - 0x1p-54)))
OF_UNIFORM(weibull, b *pow(-log(u), 1 / a))
OF_UNIFORM(pareto, pow(u, -1 / a) - 1)
OF_UNIFORM(rayleigh, a *sqrt(-2 * log(u)))
OF_UNIFORM(cauchy, a + b * tan(M_PI * (u - 0.5)))
OF_UNIFORM(power, pow(u, 1 / a))

static void
one_lognormal(const struct random_make *make, uint64_t position, void *to)
{
    struct stream s = stream_of(make, position);

    *(double *)to = exp(make->a + make->b * next_normal(&s));
}

static void
one_chisquare(const struct random_make *make, uint64_t position, void *to)
{
    struct stream s = stream_of(make, position);

    *(double *)to = 2 * next_gamma(&s, make->a / 2);
}

/* ---- by name ---- */

granary_err
random_make_init(const struct gr_params *params, int64_t seed, struct random_make *ret_make)
{
    static random_fill_one *const ones[GR_RANDOM_COUNT] = {
        [GR_RANDOM_integers] = one_integer,
        [GR_RANDOM_exponential] = one_exponential,
        [GR_RANDOM_gamma] = one_gamma,
        [GR_RANDOM_beta] = one_beta,
        [GR_RANDOM_poisson] = one_poisson,
        [GR_RANDOM_binomial] = one_binomial,
        [GR_RANDOM_geometric] = one_geometric,
        [GR_RANDOM_lognormal] = one_lognormal,
        [GR_RANDOM_chisquare] = one_chisquare,
        [GR_RANDOM_standard_t] = one_t,
        [GR_RANDOM_laplace] = one_laplace,
        [GR_RANDOM_logistic] = one_logistic,
        [GR_RANDOM_gumbel] = one_gumbel,
        [GR_RANDOM_weibull] = one_weibull,
        [GR_RANDOM_pareto] = one_pareto,
        [GR_RANDOM_rayleigh] = one_rayleigh,
        [GR_RANDOM_cauchy] = one_cauchy,
        [GR_RANDOM_power] = one_power,
        [GR_RANDOM_multinomial] = row_multinomial,
        [GR_RANDOM_dirichlet] = row_dirichlet,
    };
    struct gr_random random;
    granary_err err = gr_random_read(params, &random);

    if (err != GRANARY_OK) {
        return err;
    }
    *ret_make = (struct random_make){.dtype = random.dtype,
                                     .seed = (uint64_t)seed,
                                     .a = random.a,
                                     .b = random.b,
                                     .low = random.low,
                                     .range = (uint64_t)random.high - (uint64_t)random.low,
                                     .one = ones[random.distribution],
                                     .numbers = random.numbers,
                                     .width = random.width};
    if (random.distribution == GR_RANDOM_binomial || random.distribution == GR_RANDOM_multinomial) {
        ret_make->low = random.high;
    }
    if (ret_make->one == NULL) {
        ret_make->pair = random.distribution == GR_RANDOM_normal ? normal_pair : uniform_pair;
    }
    return GRANARY_OK;
}

/* Two a counter: elements 2 j and 2 j + 1 are of counter j. */
static void
fill_pairs(const struct random_make *make, double *values, int64_t position, int64_t count)
{
    double pair[2];
    int64_t i = 0;

    if (count > 0 && position % 2 != 0) {
        make->pair((uint64_t)position / 2, make->seed, pair);
        values[i++] = pair[1];
    }
    for (; i + 2 <= count; i += 2) {
        make->pair((uint64_t)(position + i) / 2, make->seed, values + i);
    }
    if (i < count) {
        make->pair((uint64_t)(position + i) / 2, make->seed, pair);
        values[i] = pair[0];
    }
}

/* Whole rows are made, and what is wanted of each is taken. */
static void
fill_rows(const struct random_make *make, char *values, int64_t position, int64_t count)
{
    int64_t width = (int64_t)make->width;
    _Alignas(8) char row[GR_RANDOM_WIDTH_MAX * 8];

    while (count > 0) {
        int64_t from = position % width;
        int64_t n = width - from < count ? width - from : count;

        make->one(make, (uint64_t)(position / width), row);
        memcpy(values, row + from * 8, (size_t)n * 8);
        values += n * 8;
        position += n;
        count -= n;
    }
}

void
random_fill(const struct random_make *make, void *values, int64_t position, int64_t count)
{
    double *numbers = values;

    if (make->width > 0) {
        fill_rows(make, values, position, count);
        return;
    }
    if (make->pair != NULL) {
        fill_pairs(make, numbers, position, count);
        if (make->a != 0 || make->b != 1) {
            for (int64_t i = 0; i < count; i++) {
                numbers[i] = make->a + numbers[i] * make->b;
            }
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        make->one(make, (uint64_t)(position + i), (char *)values + i * 8);
    }
}
