/* Types of products and factors of matrices. */
#include <string.h>

#include "base/error.h"
#include "graph/infer/private.h"
#include "graph/operator.h"
#include "graph/tensor/types.h"

granary_err
infer_matmul(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_node_type *a = inputs[0];
    const struct gr_node_type *b = inputs[1];
    struct infer_shown a_shown;
    struct infer_shown b_shown;
    int64_t count;

    (void)node;
    if (a->dims < 2 || b->dims != a->dims ||
        memcmp(a->shape, b->shape, (size_t)(a->dims - 2) * sizeof a->shape[0]) != 0) {
        return gr_fail(GRANARY_EINVAL, "it needs two tensors of 1 dimension or more, not of shapes %s and %s",
                       infer_show_type(a, &a_shown), infer_show_type(b, &b_shown));
    }
    if (a->shape[a->dims - 1] != b->shape[a->dims - 2]) {
        return gr_fail(GRANARY_EINVAL, "shapes %s and %s do not fit: %lld columns meet %lld rows",
                       infer_show_type(a, &a_shown), infer_show_type(b, &b_shown), (long long)a->shape[a->dims - 1],
                       (long long)b->shape[a->dims - 2]);
    }
    *type = *a;
    type->dtype = gr_dtype_promote(a->dtype, b->dtype);
    type->shape[a->dims - 1] = b->shape[a->dims - 1];
    return infer_count(type->dims, type->shape, &count);
}

static void
set_matrix(struct gr_node_type *type, int dims, int64_t rows, int64_t columns)
{
    *type = (struct gr_node_type){.dtype = GRANARY_FLOAT64, .dims = dims, .shape = {rows, columns}};
}

static granary_err
infer_factors(const struct gr_node *node, const struct gr_node_type *a, struct gr_node_type *type)
{
    int64_t m = a->shape[0], n = a->shape[1], k = m < n ? m : n;
    bool svd = node->op == GR_TILE_svd;

    switch (infer_find(node, "part")->strings[0][0]) {
    case 'q':
    case 'l':
        set_matrix(type, 2, m, k);
        break;
    case 'r':
        set_matrix(type, 2, k, n);
        break;
    case 'u':
        set_matrix(type, 2, svd ? m : k, svd ? k : n);
        break;
    case 's':
    case 'w':
        set_matrix(type, 1, k, 0);
        break;
    case 'v':
        set_matrix(type, 2, svd ? k : n, n);
        break;
    default:
        set_matrix(type, 2, m, m);
    }
    return GRANARY_OK;
}

granary_err
infer_linalg(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_node_type *a = inputs[0];
    const struct gr_node_type *b = node->input_count == 2 ? inputs[1] : NULL;
    bool is_complex = gr_dtype_is_complex(a->dtype) || (b != NULL && gr_dtype_is_complex(b->dtype));
    struct infer_shown shown;

    if (a->dims != 2) {
        return gr_fail(GRANARY_EINVAL, "it needs a matrix, not a tensor of shape %s", infer_show_type(a, &shown));
    }
    if (node->op == GR_TILE_qr || node->op == GR_TILE_svd || node->op == GR_TILE_lu) {
        return infer_factors(node, a, type);
    }
    if (a->shape[0] != a->shape[1] && node->op != GR_TILE_lstsq) {
        return gr_fail(GRANARY_EINVAL, "it needs a square matrix, not one of shape %s", infer_show_type(a, &shown));
    }
    if (b != NULL && (b->dims < 1 || b->dims > 2 || b->shape[0] != a->shape[0])) {
        return gr_fail(GRANARY_EINVAL, "a right side of shape %s does not fit a matrix of %lld rows",
                       infer_show_type(b, &shown), (long long)a->shape[0]);
    }
    if (node->op == GR_TILE_eigh || node->op == GR_TILE_eig) {
        (void)infer_factors(node, a, type);
        is_complex = node->op == GR_TILE_eig || (is_complex && type->dims == 2);
    } else if (node->op == GR_TILE_det) {
        set_matrix(type, 0, 0, 0);
    } else if (b != NULL) {
        set_matrix(type, b->dims, a->shape[1], b->shape[1]);
    } else {
        set_matrix(type, 2, a->shape[0], a->shape[0]);
    }
    type->dtype = is_complex ? GRANARY_COMPLEX128 : GRANARY_FLOAT64;
    return GRANARY_OK;
}

#define LINALG(name) const struct gr_operator gr_op_##name = {.infer = infer_linalg};
LINALG(qr)
LINALG(svd)
LINALG(cholesky)
LINALG(det)
LINALG(inv)
LINALG(solve)
LINALG(solve_triangular)
LINALG(lu)
LINALG(eigh)
LINALG(eig)
#undef LINALG
