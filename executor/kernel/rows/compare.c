/* Comparisons on blocks, and lists of values. */
#include <math.h>
#include <string.h>

#include "contract/int128.h"
#include "kernel/rows/node.h"
#include "kernel/simd/rows_loops.h"

static void
compare_mixed(enum gr_expr_op op, const struct node *a, const struct node *b, uint8_t *out, int64_t n)
{
    enum gr_expr_op plain = gr_expr_op_plain(op);
    bool turned = a->class == ROWS_DOUBLE;
    const double *reals = turned ? a->values : b->values;
    const struct node *exact = turned ? b : a;

    for (int64_t i = 0; i < n; i++) {
        int order = isnan(reals[i]) ? -1 : gr_order_mixed(node_exact_at(exact, i), reals[i]);

        out[i] =
            isnan(reals[i]) && op == plain ? op == GR_OP_NOT_EQUAL : gr_expr_op_holds(plain, turned ? -order : order);
    }
}

/* Decimals of which b has `by` digits more behind the point. */
static void
compare_scaled(enum gr_expr_op op, const struct node *a, const struct node *b, int by, uint8_t *out, int64_t n)
{
    gr_int128 factor = gr_power_of_ten(by < 0 ? -by : by);

    for (int64_t i = 0; i < n; i++) {
        gr_int128 x = node_exact_at(a, i);
        gr_int128 y = node_exact_at(b, i);

        out[i] = gr_expr_op_holds(op, by < 0 ? -gr_order_scaled(y, factor, x) : gr_order_scaled(x, factor, y));
    }
}

/* a OP b; values under nulls do no harm. */
static void
nodes_compare(enum gr_expr_op op, struct node *a, struct node *b, uint8_t *out, int64_t n)
{
    int by = gr_dtype_scale(b->dtype) - gr_dtype_scale(a->dtype);

    if (a->class == ROWS_NULL || b->class == ROWS_NULL) {
        memset(out, 0, (size_t)n);
        return;
    }
    if (by != 0) {
        compare_scaled(op, a, b, by, out, n);
    } else if (a->class == ROWS_INT && b->class == ROWS_INT) {
        SIMD_CALL(rows_compare_int)(op, a->values, b->values, out, n);
    } else if (a->class == ROWS_DOUBLE && b->class == ROWS_DOUBLE) {
        SIMD_CALL(rows_compare_double)(op, a->values, b->values, out, n);
    } else if (a->class == ROWS_DOUBLE || b->class == ROWS_DOUBLE) {
        compare_mixed(op, a, b, out, n);
    } else if (a->class == ROWS_BOOL) {
        const uint8_t *x = a->values;
        const uint8_t *y = b->values;

        for (int64_t i = 0; i < n; i++) {
            out[i] = gr_expr_op_holds(op, x[i] - y[i]);
        }
    } else if (a->class == ROWS_INT || a->class == ROWS_WIDE) {
        for (int64_t i = 0; i < n; i++) {
            gr_int128 x = node_exact_at(a, i);
            gr_int128 y = node_exact_at(b, i);

            out[i] = gr_expr_op_holds(op, (x > y) - (x < y));
        }
    } else {
        const struct rows_text *x = node_texts(a, n);
        const struct rows_text *y = node_texts(b, n);

        for (int64_t i = 0; i < n; i++) {
            bool unlike = (op == GR_OP_EQUAL || op == GR_OP_NOT_EQUAL) && x[i].size != y[i].size;

            out[i] = unlike ? op == GR_OP_NOT_EQUAL : gr_expr_op_holds(op, text_order(&x[i], &y[i]));
        }
    }
}

granary_err
op_compare(struct node *node, int64_t n)
{
    node_strict(node, n);
    nodes_compare(node->op, node->operands[0], node->operands[1], node_room(node, ROWS_BOOL), n);
    return GRANARY_OK;
}

/* The same as op_in(), of literals. */
static void
in_literals(struct node *node, int64_t n)
{
    struct node *a = node->operands[0];
    uint8_t *out = node_room(node, ROWS_BOOL);

    among_find(node->among, a, out, n);
    node->valid = a->valid;
    if (among_has_null(node->among)) {
        uint8_t *valid = node_valid_room(node);

        for (int64_t i = 0; i < n; i++) {
            valid[i] = out[i] & (uint8_t)node_counts(a, i);
        }
    }
}

/* True when any is equal; else null when the value or any of the list is. */
granary_err
op_in(struct node *node, int64_t n)
{
    uint8_t *out = node_room(node, ROWS_BOOL);
    uint8_t one[ROWS_BLOCK];
    uint8_t unknown[ROWS_BLOCK] = {0};
    bool nulls = false;

    node_bad_of_operands(node, n);
    if (node->among != NULL) {
        in_literals(node, n);
        return GRANARY_OK;
    }
    memset(out, 0, (size_t)n);
    for (size_t k = 1; k < node->count; k++) {
        struct node *a = node->operands[0];
        struct node *b = node->operands[k];

        nodes_compare(GR_OP_EQUAL, a, b, one, n);
        for (int64_t i = 0; i < n; i++) {
            out[i] |= one[i] & (uint8_t)node_counts(a, i) & (uint8_t)node_counts(b, i);
        }
        for (int64_t i = 0; i < n && (a->valid != NULL || b->valid != NULL); i++) {
            unknown[i] |= (uint8_t) !(node_counts(a, i) && node_counts(b, i));
            nulls = true;
        }
    }
    node->valid = NULL;
    if (nulls) {
        uint8_t *valid = node_valid_room(node);

        for (int64_t i = 0; i < n; i++) {
            valid[i] = out[i] | !unknown[i];
        }
    }
    return GRANARY_OK;
}
