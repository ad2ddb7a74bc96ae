/* Functions of integers: bits, divisors, factorials. Values are computed with 128 bits, and must fit their dtype. */
#include "graph/dtype_class.h"
#include "kernel/rows/node.h"

/* Bits that values of an integer dtype have. */
static int
width_of(granary_dtype dtype)
{
    return (int)gr_dtype_size(dtype) * 8;
}

/* false: bits would be lost, or the number of places is negative */
static bool
shift_left(const struct node *node, gr_int128 a, gr_int128 places, gr_int128 *ret_value)
{
    int width = width_of(node->dtype);

    *ret_value = 0;
    if (places < 0 || a < 0) {
        return false;
    }
    if (a == 0 || places >= width) {
        return a == 0;
    }
    *ret_value = a << (int)places;
    return gr_dtype_fits(node->dtype, *ret_value);
}

static gr_int128
common_divisor(gr_int128 a, gr_int128 b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b != 0) {
        gr_int128 rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* false: it has more digits than a decimal, or a is negative */
static bool
factorial(gr_int128 a, gr_int128 *ret_value)
{
    *ret_value = 1;
    if (a < 0 || a > 33) {
        return false;
    }
    for (int i = 2; i <= (int)a; i++) {
        *ret_value *= i;
    }
    return true;
}

static int
ones_in(gr_int128 a, int width)
{
    gr_uint128 bits = (gr_uint128)a & (((gr_uint128)1 << width) - 1);

    return __builtin_popcountll((uint64_t)bits) + __builtin_popcountll((uint64_t)(bits >> 64));
}

static bool
compute_one(const struct node *node, gr_int128 a, gr_int128 b, gr_int128 *ret_value)
{
    bool unsigned_ones = gr_dtype_class(node->dtype) == GR_CLASS_UNSIGNED;

    switch (node->op) {
    case GR_OP_BIT_AND:
        *ret_value = a & b;
        return true;
    case GR_OP_BIT_OR:
        *ret_value = a | b;
        return true;
    case GR_OP_BIT_XOR:
        *ret_value = a ^ b;
        return true;
    case GR_OP_BIT_NOT:
        *ret_value = unsigned_ones ? (((gr_int128)1 << width_of(node->dtype)) - 1) ^ a : ~a;
        return true;
    case GR_OP_SHIFT_LEFT:
        return shift_left(node, a, b, ret_value);
    case GR_OP_SHIFT_RIGHT:
        *ret_value = b < 0 || b >= width_of(node->dtype) ? 0 : a >> (int)b;
        return true;
    case GR_OP_GCD:
        *ret_value = common_divisor(a, b);
        return true;
    case GR_OP_LCM:
        *ret_value = a == 0 || b == 0 ? 0 : a / common_divisor(a, b) * b;
        *ret_value = *ret_value < 0 ? -*ret_value : *ret_value;
        return true;
    case GR_OP_BIT_COUNT:
        *ret_value = ones_in(a, width_of(node->operands[0]->dtype));
        return true;
    default: /* FACTORIAL */
        return factorial(a, ret_value);
    }
}

granary_err
op_whole(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    const struct node *b = node->operands[node->count - 1];
    gr_int128 *out = node_exact_room(node);

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        if (node_counts(node, i) && !compute_one(node, node_exact_at(a, i), node_exact_at(b, i), &out[i])) {
            out[i] = BEYOND;
        }
    }
    node_settle_exact(node, n);
    return GRANARY_OK;
}
