/* The kernel of each operator and function: the column of graph/expr/ops.def that only executors read. */
#include <math.h>

#include "kernel/rows/node.h"
#include "kernel/rows/reals.h"
#include "kernel/rows/text/text.h"
#include "kernel/rows/text/utf8.h"

/* Functions that the C library has under the name that ops.def says. */
typedef double real_function(double value);
typedef double reals_function(double a, double b);

struct function_kernel {
    granary_err (*block)(struct node *node, int64_t n);
    text_function *text;
    real_function *real;
    reals_function *reals;
    bool letters; /* it asks Unicode of letters */
    size_t cost;  /* roughly, of a row, above that of a number's */
};

static granary_err op_text(struct node *node, int64_t n);
static granary_err op_real(struct node *node, int64_t n);

/* clang-format off */
#define BLOCK(name)   {.block = op_##name}
#define DEAR(name, c) {.block = op_##name, .cost = (c)}
#define TEXT(name)    {.block = op_text, .text = text_##name, .cost = 40}
#define LETTERS(name) {.block = op_text, .text = text_##name, .cost = 40, .letters = true}
#define REAL(name)    {.block = op_real, .real = name}
#define REALS(name)   {.block = op_real, .reals = name}
/* clang-format on */
static const struct function_kernel kernels[] = {
#define EXPR_OP(id, text, least, most, rule, kernel, ...) [GR_OP_##id] = kernel,
#include "graph/expr/ops.def"
};

static granary_err
op_text(struct node *node, int64_t n)
{
    const struct function_kernel *kernel = &kernels[node->op];

    if (kernel->letters && rows_unicode() == (locale_t)0) {
        return gr_fail(GRANARY_EUNSUPPORTED, "%s: the locale C.UTF-8 is missing; install the C library's locales",
                       gr_expr_op_text(node->op));
    }
    return text_compute(node, kernel->text, n);
}

static double
next_float32(double a, double b)
{
    return nextafterf((float)a, (float)b);
}

/* float32 values are computed as float64 and rounded, but for the value next to one. */
static granary_err
op_real(struct node *node, int64_t n)
{
    const struct function_kernel *kernel = &kernels[node->op];
    bool small_next = node->op == GR_OP_NEXTAFTER && node->dtype == GRANARY_FLOAT32;
    reals_function *reals = small_next ? next_float32 : kernel->reals;
    const double *a = node->operands[0]->values;
    const double *b = node->operands[node->count - 1]->values;
    double *out = node_room(node, ROWS_DOUBLE);

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        out[i] = kernel->real != NULL ? kernel->real(a[i]) : reals(a[i], b[i]);
    }
    node_round_to_float32(node, n);
    return GRANARY_OK;
}

granary_err
call_compute(struct node *node, int64_t n)
{
    node->dictionary = NULL;
    return kernels[node->op].block(node, n);
}

size_t
call_cost(const struct node *node)
{
    return kernels[node->op].cost;
}
