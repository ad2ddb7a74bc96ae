/* Dtypes of lists that meet: [] and lists of nulls as written may be of any, numbers are widened. */
#include <string.h>

#include "base/error.h"
#include "graph/expr/check/check.h"

/* ---- lists of nulls ---- */

bool
expr_list_is_open(const struct gr_expr *list)
{
    bool nulls =
        list->kind == GR_EXPR_CALL &&
        (list->op == GR_OP_LIST_VALUE || (list->op == GR_OP_LIST_DISTINCT && expr_list_is_open(list->operands[0])));

    for (size_t i = 0; nulls && list->op == GR_OP_LIST_VALUE && i < list->operand_count; i++) {
        nulls = list->operands[i]->kind == GR_EXPR_LITERAL && list->operands[i]->is_null;
    }
    return nulls;
}

void
expr_list_become(struct gr_expr *list, granary_dtype dtype)
{
    list->dtype = dtype;
    for (size_t i = 0; i < list->operand_count; i++) {
        if (list->op == GR_OP_LIST_VALUE) {
            expr_become_null(list->operands[i], GRANARY_LIST_ITEM(dtype));
        } else {
            expr_list_become(list->operands[i], dtype);
        }
    }
}

bool
expr_nulls_become(struct gr_expr *list, granary_dtype dtype)
{
    bool nulls = expr_list_is_open(list);

    if (nulls) {
        expr_list_become(list, dtype);
    }
    return nulls;
}

/* ---- several lists ---- */

/* Operand i is a list, or a null that becomes one. */
static granary_err
need_list_at(struct gr_expr *expr, size_t i, granary_dtype otherwise)
{
    if (expr->operands[i]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[i], otherwise);
    }
    return expr_is_list(expr->operands[i]->dtype) ? GRANARY_OK : expr_wrong_operand(expr, i, "a list");
}

/* "a", "df,a": so many of them. */
static bool
is_order(const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (*text != 'a' && *text != 'd') {
            return false;
        }
        text += text[1] == 'f' ? 2 : 1;
        if (i + 1 < count && *text++ != ',') {
            return false;
        }
    }
    return *text == '\0';
}

granary_err
expr_check_list_order_by(struct gr_expr *expr)
{
    const struct gr_expr *order = expr->operands[1];
    granary_err err = expr_need_list(expr, 0);

    for (size_t i = 2; i < expr->operand_count && err == GRANARY_OK; i++) {
        err = need_list_at(expr, i, GRANARY_LIST(GRANARY_INT64));
    }
    if (err == GRANARY_OK && (!expr_is_literal(order) || order->dtype != GRANARY_STRING ||
                              !is_order(order->text, expr->operand_count - 2))) {
        err = expr_wrong_operand(expr, 1, "'a' or 'd' for each list that follows, such as 'a,df',");
    }
    expr->dtype = expr->operands[0]->dtype;
    return err;
}

granary_err
expr_check_list_where(struct gr_expr *expr)
{
    granary_err err = expr_need_list(expr, 0);

    err = err == GRANARY_OK ? need_list_at(expr, 1, GRANARY_LIST(GRANARY_BOOL)) : err;
    expr->dtype = expr->operands[0]->dtype;
    return err == GRANARY_OK && expr->operands[1]->dtype != GRANARY_LIST(GRANARY_BOOL)
               ? expr_wrong_operand(expr, 1, "a list of bools")
               : err;
}

granary_err
expr_check_list_select(struct gr_expr *expr)
{
    granary_err err = expr_need_list(expr, 0);

    err = err == GRANARY_OK ? need_list_at(expr, 1, GRANARY_LIST(GRANARY_INT64)) : err;
    expr->dtype = expr->operands[0]->dtype;
    return err == GRANARY_OK && !expr_is_integer(GRANARY_LIST_ITEM(expr->operands[1]->dtype))
               ? expr_wrong_operand(expr, 1, "a list of integers")
               : err;
}

granary_err
expr_need_list(struct gr_expr *expr, size_t i)
{
    return need_list_at(expr, i, GRANARY_LIST(GRANARY_STRING));
}

void
expr_adopt_lists(struct gr_expr ***slots, size_t count)
{
    granary_dtype dtype = GRANARY_NULLTYPE;

    for (size_t i = 0; i < count; i++) {
        const struct gr_expr *expr = *slots[i];

        dtype =
            dtype == GRANARY_NULLTYPE && expr_is_list(expr->dtype) && !expr_list_is_open(expr) ? expr->dtype : dtype;
    }
    for (size_t i = 0; i < count && dtype != GRANARY_NULLTYPE; i++) {
        if (expr_list_is_open(*slots[i])) {
            expr_list_become(*slots[i], dtype);
        }
    }
}

static bool
is_made_here(const struct gr_expr *expr)
{
    return expr->kind == GR_EXPR_CALL && expr->op == GR_OP_LIST_VALUE;
}

/* The dtype that all lists have or can be made to have: that of the first that is no list of values as written, which
 * are integers then; else the one that all values have together. */
static granary_dtype
lists_dtype(const struct gr_expr *expr)
{
    granary_dtype found = GRANARY_NULLTYPE;
    bool fixed = false;

    for (size_t i = 0; i < expr->operand_count; i++) {
        const struct gr_expr *operand = expr->operands[i];
        granary_dtype own = operand->dtype;

        if (!expr_is_list(own) || expr_list_is_open(operand) || (fixed && is_made_here(operand))) {
            continue;
        }
        if (found == GRANARY_NULLTYPE || !is_made_here(operand)) {
            found = fixed ? found : own;
            fixed = fixed || !is_made_here(operand);
        } else if (expr_is_numeric(GRANARY_LIST_ITEM(found)) && expr_is_numeric(GRANARY_LIST_ITEM(own))) {
            found = GRANARY_LIST(expr_promote(GRANARY_LIST_ITEM(found), GRANARY_LIST_ITEM(own)));
        }
    }
    return found == GRANARY_NULLTYPE ? GRANARY_LIST(GRANARY_STRING) : found;
}

/* A list of values as written gets items of that dtype, which can hold them. */
static granary_err
list_items_to(struct gr_expr *list, granary_dtype dtype)
{
    granary_dtype item = GRANARY_LIST_ITEM(dtype);
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < list->operand_count && err == GRANARY_OK; i++) {
        struct gr_expr *operand = list->operands[i];

        if (operand->kind == GR_EXPR_LITERAL && operand->is_null) {
            expr_become_null(operand, item);
        } else if (operand->dtype != item) {
            err = expr_cast_to(&list->operands[i], item);
        }
    }
    list->dtype = dtype;
    return err;
}

granary_err
expr_cast_items(struct gr_expr *list, granary_dtype to)
{
    granary_err err = GRANARY_OK;

    if (expr_list_is_open(list)) {
        expr_list_become(list, to);
        return GRANARY_OK;
    }
    for (size_t i = 0; is_made_here(list) && i < list->operand_count && err == GRANARY_OK; i++) {
        struct gr_expr *call = NULL;
        int position = list->operands[i]->position;

        err = gr_expr_call(GR_OP_CAST, &list->operands[i], 1, &call);
        list->operands[i] = call; /* NULL: gone with it */
        if (err == GRANARY_OK) {
            call->target = GRANARY_LIST_ITEM(to);
            call->position = position;
            err = expr_check_cast(call);
        }
    }
    if (err == GRANARY_OK && is_made_here(list)) {
        list->dtype = to;
    }
    return err;
}

/* Bools and numbers, of which the items of lists become one dtype. */
static bool
numbers_alike(granary_dtype a, granary_dtype b)
{
    return (expr_is_numeric(a) || a == GRANARY_BOOL) && (expr_is_numeric(b) || b == GRANARY_BOOL) &&
           (expr_is_numeric(a) || expr_is_numeric(b));
}

granary_err
expr_widen_lists(struct gr_expr ***slots, size_t count)
{
    granary_dtype dtype = GRANARY_NULLTYPE;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count; i++) {
        granary_dtype own = (*slots[i])->dtype;

        if (!expr_is_list(own)) {
            continue;
        }
        if (dtype == GRANARY_NULLTYPE) {
            dtype = own;
        } else if (own != dtype && expr_is_numeric(GRANARY_LIST_ITEM(own)) &&
                   expr_is_numeric(GRANARY_LIST_ITEM(dtype))) {
            dtype = GRANARY_LIST(expr_promote(GRANARY_LIST_ITEM(own), GRANARY_LIST_ITEM(dtype)));
        }
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        granary_dtype own = (*slots[i])->dtype;

        if (own != dtype && expr_is_list(own) && expr_is_numeric(GRANARY_LIST_ITEM(own)) &&
            expr_is_numeric(GRANARY_LIST_ITEM(dtype))) {
            err = expr_cast_to(slots[i], dtype);
        }
    }
    return err;
}

/* The dtype that lists have together: that of lists_dtype(), or one that holds the numbers of all. */
static granary_dtype
wide_dtype(const struct gr_expr *expr)
{
    granary_dtype dtype = lists_dtype(expr);

    for (size_t i = 0; i < expr->operand_count; i++) {
        granary_dtype item = GRANARY_LIST_ITEM(dtype);
        granary_dtype own = GRANARY_LIST_ITEM(expr->operands[i]->dtype);

        if (!expr_is_list(expr->operands[i]->dtype) || expr_list_is_open(expr->operands[i]) || own == item ||
            !numbers_alike(own, item)) {
            continue;
        }
        if (item == GRANARY_BOOL) {
            dtype = GRANARY_LIST(own);
        } else if (own != GRANARY_BOOL && !(is_made_here(expr->operands[i]) && expr_is_integer(own))) {
            dtype = GRANARY_LIST(expr_promote(item, own));
        }
    }
    return dtype;
}

static bool
any_list(const struct gr_expr *expr)
{
    bool any = false;

    for (size_t i = 0; i < expr->operand_count; i++) {
        any = any || expr_is_list(expr->operands[i]->dtype);
    }
    return any;
}

/* Lists of one dtype: nulls, lists of nulls alone, and texts as written take that of the others. */
static granary_err
lists_alike(struct gr_expr *expr)
{
    granary_dtype dtype = wide_dtype(expr);
    granary_dtype item = GRANARY_LIST_ITEM(dtype);
    granary_err err = GRANARY_OK;
    bool one = any_list(expr);

    for (size_t i = 0; i < expr->operand_count && err == GRANARY_OK; i++) {
        struct gr_expr *operand = expr->operands[i];
        granary_dtype own;

        err = one && expr_is_text(operand) ? expr_read_text(operand, dtype, "") : need_list_at(expr, i, dtype);
        if (err != GRANARY_OK || operand->dtype == dtype) {
            continue;
        }
        own = GRANARY_LIST_ITEM(operand->dtype);
        if (!expr_list_is_open(operand) && operand->dtype != dtype && numbers_alike(own, item) &&
            !(is_made_here(operand) && expr_is_numeric(own) && expr_is_numeric(item))) {
            err = expr_cast_to(&expr->operands[i], dtype);
        } else if (expr_list_is_open(operand)) {
            expr_list_become(operand, dtype);
        } else if (is_made_here(operand) && expr_is_numeric(item) &&
                   (expr_is_integer(own) || (expr_is_numeric(own) && expr_promote(own, item) == item))) {
            err = list_items_to(operand, dtype);
        } else {
            struct expr_shown first;
            struct expr_shown other;

            err = gr_fail(GRANARY_ETYPE, "position %d: '%s' needs lists of one type, not %s and %s", expr->position,
                          gr_expr_op_text(expr->op), expr_show(expr->operands[0], &first), expr_show(operand, &other));
        }
    }
    expr->dtype = dtype;
    return err;
}

granary_err
expr_check_list_concat(struct gr_expr *expr)
{
    return lists_alike(expr);
}

granary_err
expr_check_list_compare(struct gr_expr *expr)
{
    granary_err err = lists_alike(expr);

    expr->dtype = GRANARY_INT64;
    return err;
}
