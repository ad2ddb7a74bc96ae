/* Random numbers that vary together: rows of independent ones times a root of their covariances. */
#include <math.h>
#include <string.h>

#include "graph/infer/private.h"
#include "graph/rewrite/private.h"
#include "graph/tensor/types.h"

#define ROUNDING 1e-8 /* of the largest eigenvalue; NumPy's tolerance */

/* The eigenvectors, each as long as its eigenvalue's root. Negative values are 0, or NaN beyond rounding. */
static struct gr_node *
root_by_eigenvalues(struct rewrite *x, struct gr_node *covariances)
{
    struct gr_node *values, *vectors, *least, *choice[3];

    values = rewrite_add(x, GR_TILE_eigh, covariances, NULL, rewrite_string(x, "part", "w"), NULL);
    vectors = rewrite_add(x, GR_TILE_eigh, covariances, NULL, rewrite_string(x, "part", "v"), NULL);
    least = rewrite_reduce(x, GR_TILE_max, rewrite_unary(x, GR_TILE_absolute, values), -1, false);
    least = rewrite_value(x, GR_TILE_multiply, least, -ROUNDING);
    choice[0] = rewrite_binary(x, GR_TILE_less, values, least);
    choice[1] = values;
    choice[2] = rewrite_value(x, GR_TILE_maximum, values, 0);
    values = rewrite_unary(x, GR_TILE_sqrt, rewrite_add_many(x, GR_TILE_where, choice, 3));
    return rewrite_unary(x, GR_TILE_transpose, rewrite_binary(x, GR_TILE_multiply, vectors, values));
}

static struct gr_node *
rewrite_multivariate_normal(struct rewrite *x)
{
    struct gr_node *means = rewrite_input(x, 0), *covariances = rewrite_input(x, 1), *root, *rows;
    int64_t count = means->type.shape[0];
    int64_t shape[2] = {rewrite_param_int(x, "size"), count};

    if (means->type.dims != 1 || count == 0 || covariances->type.dims != 2 || covariances->type.shape[0] != count ||
        covariances->type.shape[1] != count) {
        struct infer_shown shown, other;

        return rewrite_fail(x, "means of shape %s do not fit covariances of shape %s",
                            infer_show_type(&means->type, &shown), infer_show_type(&covariances->type, &other));
    }
    rewrite_set(x, rewrite_ints(x, "shape", shape, 2));
    rows = rewrite_add(x, GR_TILE_random, NULL, NULL, rewrite_int(x, "seed", rewrite_param_int(x, "seed")),
                       rewrite_string(x, "distribution", "normal"));
    root = rewrite_param_is(x, "method", "eigh")
               ? root_by_eigenvalues(x, covariances)
               : rewrite_unary(x, GR_TILE_transpose, rewrite_unary(x, GR_TILE_cholesky, covariances));
    rows = rewrite_binary(x, GR_TILE_matmul, rows, root);
    return rewrite_binary(x, GR_TILE_add, rows, rewrite_astype(x, means, GRANARY_FLOAT64));
}

const struct gr_operator gr_op_multivariate_normal = {.rewrite = rewrite_multivariate_normal};
