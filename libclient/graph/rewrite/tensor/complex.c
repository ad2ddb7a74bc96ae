/* Operators on complex tensors: which take them, and those that are written by real and imaginary parts. */
#include <string.h>

#include "graph/infer/private.h"
#include "graph/rewrite/private.h"
#include "graph/tensor/types.h"

enum how {
    REFUSED,
    OWN,
    PARTS,   /* applied to both parts */
    SPREAD,  /* var and std: the parts' variances add up */
    PRODUCT, /* prod: by halves */
};

static const unsigned char how_of[GR_TILE_COUNT] = {
#define TENSOR_COMPLEX_FUNCTION(name, gives) [GR_TILE_##name] = OWN,
#define TENSOR_COMPLEX_OPERATOR(name, how)   [GR_TILE_##name] = how,
#include "contract/ops/tensor_complex.def"
};

bool
rewrite_is_complex(const struct gr_node *node)
{
    bool found = false;

    for (size_t k = 0; k < node->input_count; k++) {
        found = found || (node->inputs[k]->type.is_tensor && gr_dtype_is_complex(node->inputs[k]->type.dtype));
    }
    return found;
}

granary_err
gr_complex_check(const struct gr_node *node)
{
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < node->input_count && how_of[node->op] == REFUSED && err == GRANARY_OK; k++) {
        const struct gr_node_type *type = &node->inputs[k]->type;

        if (type->is_tensor && gr_dtype_is_complex(type->dtype)) {
            err = gr_complex_refuse(gr_op_info((enum gr_tile_op)node->op)->name, type->dtype);
        }
    }
    return err;
}

bool
gr_complex_is_written(const struct gr_node *node)
{
    return how_of[node->op] > OWN && rewrite_is_complex(node);
}

/* ---- both parts ---- */

/* The operator, with its parameters, on one part of its input. */
static struct gr_node *
apply_to(struct rewrite *x, enum gr_tile_op op, enum gr_tile_op part)
{
    struct gr_node *a = rewrite_unary(x, part, rewrite_input(x, 0));

    for (size_t i = 0; i < x->params.count; i++) {
        rewrite_hand_on(x, x->params.attrs[i]->name, x->params.attrs[i]->name);
    }
    return rewrite_unary(x, op, a);
}

static struct gr_node *
write_parts(struct rewrite *x)
{
    enum gr_tile_op op = (enum gr_tile_op)x->node->op;
    struct gr_node *real = apply_to(x, op, GR_TILE_real);

    return rewrite_binary(x, GR_TILE_make_complex, real, apply_to(x, op, GR_TILE_imag));
}

static struct gr_node *
write_spread(struct rewrite *x)
{
    struct gr_node *real = apply_to(x, GR_TILE_var, GR_TILE_real);
    struct gr_node *sum = rewrite_binary(x, GR_TILE_add, real, apply_to(x, GR_TILE_var, GR_TILE_imag));

    return x->node->op == GR_TILE_std ? rewrite_unary(x, GR_TILE_sqrt, sum) : sum;
}

/* ---- products ---- */

/* Elements [from, to) along the first dimension. */
static struct gr_node *
some_of(struct rewrite *x, struct gr_node *a, int64_t from, int64_t to)
{
    const char *index = rewrite_text(x, "%lld:%lld", (long long)from, (long long)to);

    return rewrite_add(x, GR_TILE_getitem, a, NULL, rewrite_string(x, "index", index), NULL);
}

/* One half times the other, until one element is left: as many roundings as levels. */
static struct gr_node *
multiply_halves(struct rewrite *x, struct gr_node *a, int64_t n)
{
    while (n > 1 && x->err == GRANARY_OK) {
        int64_t half = n / 2;
        struct gr_node *product =
            rewrite_binary(x, GR_TILE_multiply, some_of(x, a, 0, half), some_of(x, a, half, 2 * half));

        a = n % 2 == 0 ? product
                       : rewrite_add(x, GR_TILE_concatenate, product, some_of(x, a, 2 * half, n),
                                     rewrite_int(x, "axis", 0), NULL);
        n = half + n % 2;
    }
    return a;
}

static struct gr_node *
write_product(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    const struct gr_node_type type = a->type;
    int64_t order[DIMS_MAX], shape[DIMS_MAX], flat[2] = {1, 1};
    bool reduced[DIMS_MAX];
    size_t placed = 0, dims = 0;

    if (type.dims > 0 && gr_type_is_unsized(&type)) {
        return rewrite_fail(x, "how many complex numbers there are turns out only when it has run");
    }
    x->err = infer_read_axes(rewrite_param(x, "axes"), type.dims, reduced);
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int d = 0; d < type.dims; d++) {
            if (reduced[d] == (pass == 0)) {
                order[placed++] = d;
                flat[pass] *= type.shape[d];
            }
        }
    }
    for (int d = 0; d < type.dims; d++) {
        if (!reduced[d] || rewrite_param_bool(x, "keepdims")) {
            shape[dims++] = reduced[d] ? 1 : type.shape[d];
        }
    }
    if (flat[0] == 0) {
        Granary__Attr *one = rewrite_int(x, "value", 1);

        a = rewrite_full(x, shape, (int)dims, one, type.dtype);
        granary__attr__free_unpacked(one, NULL);
        return a;
    }
    a = rewrite_reshape(x, rewrite_transpose(x, a, order, placed), flat, 2);
    return rewrite_reshape(x, multiply_halves(x, a, flat[0]), shape, dims);
}

struct gr_node *
rewrite_complex(struct rewrite *x)
{
    switch (how_of[x->node->op]) {
    case SPREAD:
        return write_spread(x);
    case PRODUCT:
        return write_product(x);
    default:
        return write_parts(x);
    }
}
