/* Trees of expressions: made, copied, compared, taken apart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "data/frame.h"
#include "graph/expr.h"
#include "graph/expr/parser.h"

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

/* All but the node itself. */
static void
node_fini(struct gr_expr *expr)
{
    for (size_t i = 0; i < expr->operand_count; i++) {
        gr_expr_destroy(expr->operands[i]);
    }
    free(expr->operands);
    free(expr->column);
    free(expr->text);
}

void
gr_expr_destroy(struct gr_expr *expr)
{
    if (expr != NULL) {
        node_fini(expr);
        free(expr);
    }
}

granary_err
gr_expr_call(enum gr_expr_op op, struct gr_expr *const *operands, size_t count, struct gr_expr **ret_expr)
{
    struct gr_expr *expr = calloc(1, sizeof *expr);
    struct gr_expr **copy = calloc(count > 0 ? count : 1, sizeof(struct gr_expr *));
    bool missing = expr == NULL || copy == NULL;

    for (size_t i = 0; i < count; i++) {
        missing = missing || operands[i] == NULL;
    }
    if (missing) {
        for (size_t i = 0; i < count; i++) {
            gr_expr_destroy(operands[i]);
        }
        free(expr);
        free(copy);
        return out_of_memory();
    }
    memcpy(copy, operands, count * sizeof(struct gr_expr *));
    *expr =
        (struct gr_expr){.kind = GR_EXPR_CALL, .column_index = -1, .op = op, .operand_count = count, .operands = copy};
    *ret_expr = expr;
    return GRANARY_OK;
}

granary_err
gr_expr_copy(const struct gr_expr *expr, struct gr_expr **ret_expr)
{
    struct gr_expr *copy = malloc(sizeof *copy);
    granary_err err = GRANARY_OK;

    if (copy == NULL) {
        return out_of_memory();
    }
    *copy = *expr;
    copy->operand_count = 0;
    copy->operands = NULL;
    copy->text = NULL;
    copy->column = expr->column != NULL ? strdup(expr->column) : NULL;
    if (expr->text != NULL && (copy->text = malloc(expr->text_size + 1)) != NULL) {
        memcpy(copy->text, expr->text, expr->text_size + 1);
    }
    if (expr->operand_count > 0) {
        copy->operands = calloc(expr->operand_count, sizeof(struct gr_expr *));
    }
    if ((expr->column != NULL && copy->column == NULL) || (expr->text != NULL && copy->text == NULL) ||
        (expr->operand_count > 0 && copy->operands == NULL)) {
        err = out_of_memory();
    }
    for (size_t i = 0; i < expr->operand_count && err == GRANARY_OK; i++) {
        err = gr_expr_copy(expr->operands[i], &copy->operands[i]);
        copy->operand_count += err == GRANARY_OK;
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(copy);
        return err;
    }
    *ret_expr = copy;
    return GRANARY_OK;
}

static bool
literal_equal(const struct gr_expr *a, const struct gr_expr *b)
{
    if (a->is_null || b->is_null) {
        return a->is_null && b->is_null;
    }
    if (a->text != NULL || b->text != NULL) {
        return a->text != NULL && b->text != NULL && a->text_size == b->text_size &&
               memcmp(a->text, b->text, a->text_size) == 0;
    }
    return a->is_number == b->is_number && a->is_exact == b->is_exact && a->scale == b->scale &&
           a->is_interval == b->is_interval && a->months == b->months && a->value.i == b->value.i &&
           memcmp(&a->value.d, &b->value.d, sizeof a->value.d) == 0; /* NOLINT: 0.0 is not -0.0, a NaN is itself */
}

bool
gr_expr_equal(const struct gr_expr *a, const struct gr_expr *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype || a->operand_count != b->operand_count) {
        return false;
    }
    if (a->kind == GR_EXPR_COLUMN) {
        return strcmp(a->column, b->column) == 0;
    }
    if (a->kind == GR_EXPR_LITERAL) {
        return literal_equal(a, b);
    }
    if (a->op != b->op || a->target != b->target || a->digits != b->digits) {
        return false;
    }
    for (size_t i = 0; i < a->operand_count; i++) {
        if (!gr_expr_equal(a->operands[i], b->operands[i])) {
            return false;
        }
    }
    return true;
}

bool
expr_is_listed(const struct gr_expr *item)
{
    return item->kind == GR_EXPR_LITERAL ||
           (item->op == GR_OP_NEGATE && item->operand_count == 1 && item->operands[0]->kind == GR_EXPR_LITERAL);
}

size_t
gr_expr_size(const struct gr_expr *expr)
{
    bool lists = expr->kind == GR_EXPR_CALL && expr->op == GR_OP_IN;
    size_t size = 1;

    for (size_t i = 0; i < expr->operand_count; i++) {
        size += lists && i > 0 && expr_is_listed(expr->operands[i]) ? 0 : gr_expr_size(expr->operands[i]);
    }
    return size;
}

granary_err
gr_expr_rename(struct gr_expr *expr, gr_expr_find *find, const void *context)
{
    const char *found = expr->kind == GR_EXPR_COLUMN ? find(expr->column, context) : NULL;
    char *name = found == NULL ? NULL : strdup(found);
    granary_err err = found != NULL && name == NULL ? out_of_memory() : GRANARY_OK;

    if (name != NULL) {
        free(expr->column);
        expr->column = name;
    }
    for (size_t i = 0; i < expr->operand_count && err == GRANARY_OK; i++) {
        err = gr_expr_rename(expr->operands[i], find, context);
    }
    return err;
}

static size_t
conjuncts(const struct gr_expr *expr, const struct gr_expr **parts, size_t at)
{
    if (expr->kind == GR_EXPR_CALL && expr->op == GR_OP_AND) {
        at = conjuncts(expr->operands[0], parts, at);
        return conjuncts(expr->operands[1], parts, at);
    }
    if (parts != NULL) {
        parts[at] = expr;
    }
    return at + 1;
}

granary_err
gr_expr_conjuncts(const struct gr_expr *expr, const struct gr_expr ***ret_parts, size_t *ret_count)
{
    size_t count = conjuncts(expr, NULL, 0);
    const struct gr_expr **parts = calloc(count, sizeof(const struct gr_expr *));

    if (parts == NULL) {
        return out_of_memory();
    }
    *ret_count = conjuncts(expr, parts, 0);
    *ret_parts = parts;
    return GRANARY_OK;
}

/* Copies of the parts of expr, joined to what *and has. */
static granary_err
and_parts(const struct gr_expr *expr, struct gr_expr **and)
{
    struct gr_expr *operands[2] = {*and, NULL};
    granary_err err;

    if (expr->kind == GR_EXPR_CALL && expr->op == GR_OP_AND) {
        err = and_parts(expr->operands[0], and);
        return err == GRANARY_OK ? and_parts(expr->operands[1], and) : err;
    }
    err = gr_expr_copy(expr, &operands[1]);
    if (err == GRANARY_OK && *and == NULL) {
        *and = operands[1];
    } else if (err == GRANARY_OK) {
        *and = NULL; /* the call takes it */
        err = gr_expr_call(GR_OP_AND, operands, 2, and);
    }
    return err;
}

granary_err
gr_expr_and(const struct gr_expr *const *exprs, size_t count, struct gr_expr **ret_expr)
{
    struct gr_expr *and = NULL;
    granary_err err = GRANARY_OK;
    size_t nodes = 0;

    for (size_t i = 0; i < count; i++) {
        nodes += exprs[i] == NULL ? 0 : gr_expr_size(exprs[i]) + (nodes > 0);
    }
    if (nodes > GR_EXPR_NODES) {
        return gr_fail(GRANARY_EINVAL, "conditions have more than %d operands and operators together", GR_EXPR_NODES);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = exprs[i] == NULL ? GRANARY_OK : and_parts(exprs[i], &and);
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(and);
        return err;
    }
    *ret_expr = and;
    return GRANARY_OK;
}

void
gr_expr_columns(const struct gr_expr *expr, const struct gr_schema *schema, bool *used)
{
    if (expr->kind == GR_EXPR_COLUMN) {
        int index = gr_schema_find(schema, expr->column);

        if (index >= 0) {
            used[index] = true;
        }
    }
    for (size_t i = 0; i < expr->operand_count; i++) {
        gr_expr_columns(expr->operands[i], schema, used);
    }
}

const char *
gr_expr_op_text(enum gr_expr_op op)
{
    static const char *const texts[] = {
#define EXPR_OP(id, text, ...) [GR_OP_##id] = text,
#include "graph/expr/ops.def"
    };

    return texts[op];
}

struct gr_expr_failure
gr_expr_op_failure(enum gr_expr_op op)
{
/* clang-format off */
#define NEVER       {GR_FAILS_NEVER, NULL}
#define EXACT       {GR_FAILS_EXACT, NULL}
#define ALWAYS      {GR_FAILS, NULL}
#define ESCAPE      {GR_FAILS_WITH_ESCAPE, "broken pattern (the escape is one character, and something follows it):"}
#define MAY(reason) {GR_FAILS, reason}
    /* clang-format on */
    static const struct gr_expr_failure failures[] = {
#define EXPR_OP(id, text, least, most, rule, kernel, fails, ...) [GR_OP_##id] = fails,
#include "graph/expr/ops.def"
    };
#undef NEVER
#undef EXACT
#undef ALWAYS
#undef ESCAPE
#undef MAY

    return failures[op];
}

/* Whether the operation has a value whatever its operands are. */
static bool
op_is_safe(const struct gr_expr *expr)
{
    granary_dtype kind = gr_dtype_kind(expr->dtype);

    switch (gr_expr_op_failure(expr->op).when) {
    case GR_FAILS_EXACT:
        return kind == GRANARY_FLOAT64 || kind == GRANARY_FLOAT32;
    case GR_FAILS_WITH_ESCAPE:
        return expr->operand_count == 2;
    case GR_FAILS:
        return false;
    default:
        return true;
    }
}

bool
gr_expr_is_safe(const struct gr_expr *expr)
{
    if (expr->kind == GR_EXPR_CALL && !op_is_safe(expr)) {
        return false;
    }
    for (size_t i = 0; i < expr->operand_count; i++) {
        if (!gr_expr_is_safe(expr->operands[i])) {
            return false;
        }
    }
    return true;
}

enum gr_expr_op
gr_expr_op_mirrored(enum gr_expr_op op)
{
    switch (op) {
    case GR_OP_LESS:
        return GR_OP_GREATER;
    case GR_OP_LESS_EQUAL:
        return GR_OP_GREATER_EQUAL;
    case GR_OP_GREATER:
        return GR_OP_LESS;
    case GR_OP_GREATER_EQUAL:
        return GR_OP_LESS_EQUAL;
    case GR_OP_TOTAL_LESS:
        return GR_OP_TOTAL_GREATER;
    case GR_OP_TOTAL_LESS_EQUAL:
        return GR_OP_TOTAL_GREATER_EQUAL;
    case GR_OP_TOTAL_GREATER:
        return GR_OP_TOTAL_LESS;
    case GR_OP_TOTAL_GREATER_EQUAL:
        return GR_OP_TOTAL_LESS_EQUAL;
    default:
        return op;
    }
}

enum gr_expr_op
gr_expr_op_plain(enum gr_expr_op op)
{
    return op >= GR_OP_TOTAL_EQUAL && op <= GR_OP_TOTAL_GREATER_EQUAL ? op - GR_OP_TOTAL_EQUAL + GR_OP_EQUAL : op;
}

int
gr_order_mixed(gr_int128 a, double b)
{
    gr_int128 whole;

    if (b >= 0x1p126 || b <= -0x1p126) {
        return b > 0 ? -1 : 1;
    }
    whole = (gr_int128)b;
    if (a != whole) {
        return (a > whole) - (a < whole);
    }
    return (b < (double)whole) - (b > (double)whole);
}

int
gr_order_scaled(gr_int128 a, gr_int128 factor, gr_int128 b)
{
    gr_int128 scaled;

    if (__builtin_mul_overflow(a, factor, &scaled)) {
        return a > 0 ? 1 : -1; /* no b is as far from 0 */
    }
    return (scaled > b) - (scaled < b);
}

gr_int128
gr_power_of_ten(int power)
{
    gr_int128 result = 1;

    for (int i = 0; i < power; i++) {
        result *= 10;
    }
    return result;
}

gr_int128
gr_decimal_round(gr_int128 units, gr_int128 unit)
{
    gr_int128 rest = units % unit;

    return units / unit + (rest >= unit - rest) - (-rest >= unit + rest);
}

/* More bits than a float64 has, and whether something is left, so that the last rounding is the only one. */
static double
divide_long(gr_int128 units, gr_uint128 power)
{
    gr_uint128 left = units < 0 ? 0 - (gr_uint128)units : (gr_uint128)units;
    gr_uint128 rest = left % power;
    int exponent = 0;
    double real;

    for (left /= power; left >> 64 == 0 && rest != 0; exponent--) {
        rest *= 2;
        left = left * 2 + (rest >= power);
        rest -= rest >= power ? power : 0;
    }
    real = ldexp((double)(left | (rest != 0)), exponent);
    return units < 0 ? -real : real;
}

double
gr_decimal_real(gr_int128 units, int scale)
{
    /* Float64s, as all integers up to 2^53 are: their quotient is rounded once. */
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const gr_int128 most = (gr_int128)1 << 53;

    if (scale == 0) {
        return (double)units;
    }
    return (size_t)scale < sizeof powers / sizeof powers[0] && units <= most && units >= -most
               ? (double)(int64_t)units / powers[scale]
               : divide_long(units, (gr_uint128)gr_power_of_ten(scale));
}

bool
gr_expr_op_holds(enum gr_expr_op op, int order)
{
    switch (op) {
    case GR_OP_EQUAL:
        return order == 0;
    case GR_OP_NOT_EQUAL:
        return order != 0;
    case GR_OP_LESS:
        return order < 0;
    case GR_OP_LESS_EQUAL:
        return order <= 0;
    case GR_OP_GREATER:
        return order > 0;
    default:
        return order >= 0;
    }
}
