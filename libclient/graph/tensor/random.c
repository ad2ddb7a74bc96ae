/* Distributions: which parameters each has, and which values are allowed. */
#include "graph/tensor/random.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"

static const struct {
    const char *name;
    const char *a;
    const char *b;
} distributions[GR_RANDOM_COUNT] = {
#define X(name, a, b) {#name, a, b},
    GR_RANDOM_DISTRIBUTIONS(X)
#undef X
};

static granary_err
no_distribution(const char *name)
{
    struct gr_buf names = {0};
    granary_err err;

    for (int i = 0; i < GR_RANDOM_COUNT; i++) {
        gr_buf_addf(&names, "%s'%s'", i == 0 ? "" : ", ", distributions[i].name);
    }
    err = gr_fail(GRANARY_EINVAL, "parameter 'distribution' is '%.40s'; it can be %s", name,
                  names.bytes == NULL ? "uniform" : names.bytes);
    gr_buf_free(&names);
    return err;
}

/* A scale must not be negative, a shape must be above 0, a probability lies between. */
static bool
is_good(const char *name, double value)
{
    if (!isfinite(value)) {
        return false;
    }
    if (strcmp(name, "p") == 0) {
        return value >= 0 && value <= 1;
    }
    if (strcmp(name, "scale") == 0) {
        return value >= 0;
    }
    if (strcmp(name, "lam") == 0) {
        return value >= 0 && value < 0x1p62;
    }
    return (strcmp(name, "alpha") != 0 && strcmp(name, "beta") != 0 && strcmp(name, "df") != 0) || value > 0;
}

/* A parameter as a number; without a name 0. The default of high depends on the distribution: here it is that of uniform. */
static double
number_of(const struct gr_params *params, const char *name)
{
    if (name == NULL) {
        return 0;
    }
    return strcmp(name, "high") == 0 && gr_attr_find(params->attrs, params->count, name) == NULL
               ? 1
               : gr_param_number(params, name);
}

/* The chances or shapes of rows. Chances but for the last add up to 1 at most. */
static granary_err
read_row(const struct gr_params *params, const char *name, struct gr_random *r)
{
    const Granary__Attr *attr = gr_attr_find(params->attrs, params->count, name);
    bool chances = r->distribution == GR_RANDOM_multinomial;
    double sum = 0;

    if (attr == NULL || attr->n_doubles == 0 || attr->n_doubles > GR_RANDOM_WIDTH_MAX) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' is missing, or has not 1 to %d numbers", name,
                       GR_RANDOM_WIDTH_MAX);
    }
    for (size_t k = 0; k < attr->n_doubles; k++) {
        double value = attr->doubles[k];

        if (!isfinite(value) || value < 0 || (value > 1 && chances) || (value == 0 && !chances)) {
            return gr_fail(GRANARY_EINVAL, "parameter '%s' has %g; it can have %s", name, value,
                           chances ? "chances of 0 to 1" : "numbers above 0");
        }
        sum += k + 1 < attr->n_doubles ? value : 0;
    }
    if (chances && sum > 1 + 1e-12) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s': all but the last add up to %.17g, more than 1", name, sum);
    }
    r->numbers = attr->doubles;
    r->width = attr->n_doubles;
    return GRANARY_OK;
}

static granary_err
read_trials(const struct gr_params *params, struct gr_random *r)
{
    r->high = gr_param_int(params, "n");
    r->dtype = GRANARY_INT64;
    return r->high < 0 ? gr_fail(GRANARY_EINVAL, "%s cannot have n %lld", distributions[r->distribution].name,
                                 (long long)r->high)
                       : GRANARY_OK;
}

granary_err
gr_random_read(const struct gr_params *params, struct gr_random *ret_random)
{
    const char *distribution = gr_param_text(params, "distribution");
    struct gr_random r = {.dtype = GRANARY_FLOAT64};
    granary_err err = GRANARY_OK;
    int i = 0;

    while (i < GR_RANDOM_COUNT && strcmp(distributions[i].name, distribution) != 0) {
        i++;
    }
    if (i == GR_RANDOM_COUNT) {
        return no_distribution(distribution);
    }
    r.distribution = (enum gr_random_distribution)i;
    r.a = number_of(params, distributions[i].a);
    r.b = number_of(params, distributions[i].b);
    if ((distributions[i].a != NULL && !is_good(distributions[i].a, r.a)) ||
        (distributions[i].b != NULL && !is_good(distributions[i].b, r.b)) ||
        (r.distribution == GR_RANDOM_geometric && r.a == 0)) {
        return gr_fail(GRANARY_EINVAL, "%s: parameter '%s' cannot be %g%s%s%s", distribution, distributions[i].a, r.a,
                       distributions[i].b == NULL ? "" : ", or '", distributions[i].b == NULL ? "" : distributions[i].b,
                       distributions[i].b == NULL ? "" : "' is not what it can be");
    }
    switch (r.distribution) {
    case GR_RANDOM_uniform:
        r.b = r.b - r.a;
        break;
    case GR_RANDOM_integers:
        r.dtype = GRANARY_INT64;
        r.low = gr_attr_int(params->attrs, params->count, "low", 0);
        r.high = gr_attr_int(params->attrs, params->count, "high", 2);
        if (r.high <= r.low) {
            return gr_fail(GRANARY_EINVAL, "integers cannot be from %lld on and below %lld", (long long)r.low,
                           (long long)r.high);
        }
        break;
    case GR_RANDOM_multinomial:
        err = read_row(params, "pvals", &r);
        err = err == GRANARY_OK ? read_trials(params, &r) : err;
        break;
    case GR_RANDOM_binomial:
        err = read_trials(params, &r);
        break;
    case GR_RANDOM_dirichlet:
        err = read_row(params, "alphas", &r);
        break;
    case GR_RANDOM_poisson:
    case GR_RANDOM_geometric:
        r.dtype = GRANARY_INT64;
        break;
    default:
        break;
    }
    if (err == GRANARY_OK) {
        *ret_random = r;
    }
    return err;
}
