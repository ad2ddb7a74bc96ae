/* Passes over a line, one for each factor of its length; convolutions for lengths with a large prime factor. */
#include "kernel/tensor/linalg/fft_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define FACTORS_MOST 30
#define PRIME_MOST   64 /* a pass of a larger one would take longer than a convolution */

typedef struct fft_number number;

struct pass {
    int64_t radix;
    int64_t before; /* product of the factors before it */
    int64_t inside; /* n / (radix before): numbers that lie side by side */
    number *turns;  /* e^(-2 pi i j k before / n), for 1 <= j < radix and 0 <= k < inside; j after j */
    number *roots;  /* of a radix without a loop of its own: e^(-2 pi i j / radix) */
};

struct fft_plan {
    int64_t n;
    int pass_count;
    struct pass passes[FACTORS_MOST];
    number *spare; /* n */
    /* A convolution. */
    struct fft_plan *longer; /* NULL: there are passes */
    number *chirp;           /* e^(-pi i k^2 / n) */
    number *spectrum;        /* of the chirp turned back, by the longer length */
    number *line;            /* longer */
};

/* ---- numbers ---- */

static inline number
plus(number a, number b)
{
    return (number){a.re + b.re, a.im + b.im};
}

static inline number
minus(number a, number b)
{
    return (number){a.re - b.re, a.im - b.im};
}

static inline number
times(number a, number b)
{
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* -i a */
static inline number
turned(number a)
{
    return (number){a.im, -a.re};
}

static inline number
scaled(number a, double by)
{
    return (number){a.re * by, a.im * by};
}

number
fft_root(int64_t k, int64_t n)
{
    /* To an eighth of the circle: there sine and cosine are exact but for one rounding of their argument. */
    int64_t eighth = 8 * k / n;
    int64_t rest = eighth % 2 == 0 ? 8 * k - eighth * n : (eighth + 1) * n - 8 * k; /* of n: 8 times the angle */
    double angle = M_PI / 4 * ((double)rest / (double)n);
    double c = cos(angle), s = sin(angle);

    switch (eighth) {
    case 0:
        return (number){c, s};
    case 1:
        return (number){s, c};
    case 2:
        return (number){-s, c};
    case 3:
        return (number){-c, s};
    case 4:
        return (number){-c, -s};
    case 5:
        return (number){-s, -c};
    case 6:
        return (number){s, -c};
    default:
        return (number){c, -s};
    }
}

static number
conjugate(number a)
{
    return (number){a.re, -a.im};
}

/* ---- lengths ---- */

/* The factors of n, 4 before 2: the large ones first. Returns the largest prime factor. */
static int64_t
find_factors(int64_t n, int64_t factors[FACTORS_MOST], int *ret_count)
{
    int64_t largest = 1;
    int count = 0;

    while (n % 4 == 0) {
        factors[count++] = 4;
        n /= 4;
    }
    for (int64_t p = 2; p * p <= n; p += p == 2 ? 1 : 2) {
        while (n % p == 0) {
            factors[count++] = p;
            n /= p;
            largest = p;
        }
    }
    if (n > 1) {
        factors[count++] = n;
        largest = n;
    }
    *ret_count = count;
    return largest > 2 ? largest : 2;
}

/* The least length not below n whose prime factors are 2, 3 and 5. */
static int64_t
smooth_length(int64_t n)
{
    int64_t best = 1;

    while (best < n) {
        best *= 2;
    }
    for (int64_t five = 1; five < best; five *= 5) {
        for (int64_t three = five; three < best; three *= 3) {
            int64_t length = three;

            while (length < n) {
                length *= 2;
            }
            best = length < best ? length : best;
        }
    }
    return best;
}

/* ---- plans ---- */

static bool
plan_pass(struct fft_plan *plan, int64_t radix, int64_t before)
{
    struct pass *p = &plan->passes[plan->pass_count];
    int64_t inside = plan->n / radix / before;

    *p = (struct pass){.radix = radix, .before = before, .inside = inside};
    p->turns = malloc((size_t)(radix * inside) * sizeof *p->turns);
    p->roots = radix > 5 ? malloc((size_t)radix * sizeof *p->roots) : NULL;
    plan->pass_count++;
    if (p->turns == NULL || (radix > 5 && p->roots == NULL)) {
        return false;
    }
    for (int64_t j = 1; j < radix; j++) {
        for (int64_t k = 0; k < inside; k++) {
            p->turns[(j - 1) * inside + k] = conjugate(fft_root(j * k * before % plan->n, plan->n));
        }
    }
    for (int64_t j = 0; p->roots != NULL && j < radix; j++) {
        p->roots[j] = conjugate(fft_root(j, radix));
    }
    return true;
}

/* The chirp and its spectrum. */
static bool
plan_convolution(struct fft_plan *plan)
{
    int64_t n = plan->n, length = smooth_length(2 * n - 1);

    plan->chirp = malloc((size_t)n * sizeof *plan->chirp);
    plan->spectrum = calloc((size_t)length, sizeof *plan->spectrum);
    plan->line = malloc((size_t)length * sizeof *plan->line);
    if (plan->chirp == NULL || plan->spectrum == NULL || plan->line == NULL ||
        fft_plan_create(length, &plan->longer) != GRANARY_OK) {
        return false;
    }
    for (int64_t k = 0, square = 0; k < n; k++) {
        number root = fft_root(square, 2 * n);

        plan->chirp[k] = conjugate(root);
        plan->spectrum[k] = scaled(root, 1 / (double)length);
        plan->spectrum[k == 0 ? 0 : length - k] = plan->spectrum[k];
        square = (square + 2 * k + 1) % (2 * n); /* k^2 modulo 2 n */
    }
    fft_plan_run(plan->longer, plan->spectrum, false);
    return true;
}

granary_err
fft_plan_create(int64_t n, struct fft_plan **ret_plan)
{
    struct fft_plan *plan = calloc(1, sizeof *plan);
    int64_t factors[FACTORS_MOST];
    int64_t before = 1;
    int count;
    bool good = plan != NULL;

    if (good) {
        plan->n = n;
        if (find_factors(n, factors, &count) > PRIME_MOST) {
            good = plan_convolution(plan);
        } else {
            plan->spare = malloc((size_t)n * sizeof *plan->spare);
            good = plan->spare != NULL;
            for (int f = 0; f < count && good; f++) {
                good = plan_pass(plan, factors[f], before);
                before *= factors[f];
            }
        }
    }
    if (!good) {
        fft_plan_destroy(plan);
        return gr_no_memory("a transform");
    }
    *ret_plan = plan;
    return GRANARY_OK;
}

void
fft_plan_destroy(struct fft_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (int p = 0; p < plan->pass_count; p++) {
        free(plan->passes[p].turns);
        free(plan->passes[p].roots);
    }
    fft_plan_destroy(plan->longer);
    free(plan->spare);
    free(plan->chirp);
    free(plan->spectrum);
    free(plan->line);
    free(plan);
}

/* ---- passes: radix numbers, `inside` apart, become as many, `inside * before` apart ---- */

#define IN(j)  in[k + inside * ((j) + radix * b)]
#define OUT(j) out[k + inside * (b + before * (j))]
#define EACH                                                                                                           \
    for (int64_t b = 0; b < before; b++)                                                                               \
        for (int64_t k = 0; k < inside; k++)

static void
pass_2(const struct pass *p, const number *in, number *out)
{
    int64_t inside = p->inside, before = p->before, radix = 2;

    EACH
    {
        number x = IN(0), y = IN(1);

        OUT(0) = plus(x, y);
        OUT(1) = times(minus(x, y), p->turns[k]);
    }
}

static void
pass_3(const struct pass *p, const number *in, number *out)
{
    int64_t inside = p->inside, before = p->before, radix = 3;
    const double sine = 0.86602540378443864676;

    EACH
    {
        number x = IN(0), sum = plus(IN(1), IN(2)), across = scaled(turned(minus(IN(1), IN(2))), sine);
        number half = minus(x, scaled(sum, 0.5));

        OUT(0) = plus(x, sum);
        OUT(1) = times(plus(half, across), p->turns[k]);
        OUT(2) = times(minus(half, across), p->turns[inside + k]);
    }
}

static void
pass_4(const struct pass *p, const number *in, number *out)
{
    int64_t inside = p->inside, before = p->before, radix = 4;

    EACH
    {
        number even = plus(IN(0), IN(2)), even_less = minus(IN(0), IN(2));
        number odd = plus(IN(1), IN(3)), odd_less = turned(minus(IN(1), IN(3)));

        OUT(0) = plus(even, odd);
        OUT(1) = times(plus(even_less, odd_less), p->turns[k]);
        OUT(2) = times(minus(even, odd), p->turns[inside + k]);
        OUT(3) = times(minus(even_less, odd_less), p->turns[2 * inside + k]);
    }
}

static void
pass_5(const struct pass *p, const number *in, number *out)
{
    int64_t inside = p->inside, before = p->before, radix = 5;
    const double c1 = 0.3090169943749474241, s1 = 0.95105651629515357212;
    const double c2 = -0.8090169943749474241, s2 = 0.58778525229247312917;

    EACH
    {
        number x = IN(0), outer = plus(IN(1), IN(4)), inner = plus(IN(2), IN(3));
        number outer_less = turned(minus(IN(1), IN(4))), inner_less = turned(minus(IN(2), IN(3)));
        number near = plus(x, plus(scaled(outer, c1), scaled(inner, c2)));
        number far = plus(x, plus(scaled(outer, c2), scaled(inner, c1)));
        number near_across = plus(scaled(outer_less, s1), scaled(inner_less, s2));
        number far_across = minus(scaled(outer_less, s2), scaled(inner_less, s1));

        OUT(0) = plus(x, plus(outer, inner));
        OUT(1) = times(plus(near, near_across), p->turns[k]);
        OUT(2) = times(plus(far, far_across), p->turns[inside + k]);
        OUT(3) = times(minus(far, far_across), p->turns[2 * inside + k]);
        OUT(4) = times(minus(near, near_across), p->turns[3 * inside + k]);
    }
}

/* Any odd radix: numbers j and radix - j together, as sums and differences. */
static void
pass_any(const struct pass *p, const number *in, number *out)
{
    int64_t inside = p->inside, before = p->before, radix = p->radix;
    number sums[PRIME_MOST / 2 + 1], differences[PRIME_MOST / 2 + 1];

    EACH
    {
        number x = IN(0), all = x;

        for (int64_t j = 1; 2 * j < radix; j++) {
            sums[j] = plus(IN(j), IN(radix - j));
            differences[j] = turned(minus(IN(j), IN(radix - j)));
            all = plus(all, sums[j]);
        }
        OUT(0) = all;
        for (int64_t m = 1; 2 * m < radix; m++) {
            number along = x, across = {0, 0};

            for (int64_t j = 1, at = m; 2 * j < radix; j++, at = (at + m) % radix) {
                along = plus(along, scaled(sums[j], p->roots[at].re));
                across = minus(across, scaled(differences[j], p->roots[at].im));
            }
            OUT(m) = times(plus(along, across), p->turns[(m - 1) * inside + k]);
            OUT(radix - m) = times(minus(along, across), p->turns[(radix - m - 1) * inside + k]);
        }
    }
}

static void
run_passes(struct fft_plan *plan, number *line)
{
    number *in = line, *out = plan->spare;

    for (int f = 0; f < plan->pass_count; f++) {
        const struct pass *p = &plan->passes[f];
        number *swap = in;

        switch (p->radix) {
        case 2:
            pass_2(p, in, out);
            break;
        case 3:
            pass_3(p, in, out);
            break;
        case 4:
            pass_4(p, in, out);
            break;
        case 5:
            pass_5(p, in, out);
            break;
        default:
            pass_any(p, in, out);
        }
        in = out;
        out = swap;
    }
    if (in != line) {
        memcpy(line, in, (size_t)plan->n * sizeof *line);
    }
}

/* j k = (j^2 + k^2 - (k - j)^2) / 2: the sum is a convolution with the chirp. */
static void
run_convolution(struct fft_plan *plan, number *line)
{
    int64_t n = plan->n, length = plan->longer->n;

    for (int64_t k = 0; k < n; k++) {
        plan->line[k] = times(line[k], plan->chirp[k]);
    }
    memset(plan->line + n, 0, (size_t)(length - n) * sizeof *line);
    fft_plan_run(plan->longer, plan->line, false);
    for (int64_t k = 0; k < length; k++) {
        plan->line[k] = times(plan->line[k], plan->spectrum[k]);
    }
    fft_plan_run(plan->longer, plan->line, true);
    for (int64_t k = 0; k < n; k++) {
        line[k] = times(plan->line[k], plan->chirp[k]);
    }
}

static void
swap_parts(number *line, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        line[k] = (number){line[k].im, line[k].re};
    }
}

void
fft_plan_run(struct fft_plan *plan, number *line, bool backward)
{
    if (backward) { /* with its parts in each other's place it turns the other way */
        swap_parts(line, plan->n);
    }
    if (plan->longer != NULL) {
        run_convolution(plan, line);
    } else {
        run_passes(plan, line);
    }
    if (backward) {
        swap_parts(line, plan->n);
    }
}
