/* Dtypes of functions of lists. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#include "graph/expr/check.h"

/* A null becomes a list of strings. Errors: ETYPE it is no list */
static granary_err
need_list(struct gr_expr *expr)
{
    if (expr->operands[0]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], GRANARY_LIST(GRANARY_STRING));
    }
    return expr_is_list(expr->operands[0]->dtype) ? GRANARY_OK : expr_wrong_operand(expr, 0, "a list");
}

/* A null, and a list of nulls, has items of that dtype. */
static granary_err
need_list_of(struct gr_expr *expr, granary_dtype item)
{
    if (expr->operands[0]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], GRANARY_LIST(item));
    }
    (void)expr_nulls_become(expr->operands[0], GRANARY_LIST(item));
    return need_list(expr);
}

static granary_dtype
item_of(const struct gr_expr *expr)
{
    return GRANARY_LIST_ITEM(expr->operands[0]->dtype);
}

static granary_err
need_integer(struct gr_expr *expr, size_t i)
{
    struct gr_expr *operand = expr->operands[i];

    if (operand->dtype == GRANARY_NULLTYPE) {
        expr_become_null(operand, GRANARY_INT64);
    }
    return expr_is_integer(operand->dtype) ? GRANARY_OK : expr_wrong_operand(expr, i, "an integer");
}

granary_err
expr_need_text(struct gr_expr *expr, size_t i)
{
    struct gr_expr *operand = expr->operands[i];

    if (operand->dtype == GRANARY_NULLTYPE) {
        expr_become_null(operand, GRANARY_STRING);
    }
    return operand->dtype == GRANARY_STRING ? GRANARY_OK : expr_wrong_operand(expr, i, "a string");
}

granary_err
expr_check_list_value(struct gr_expr *expr)
{
    granary_dtype item = GRANARY_NULLTYPE;
    granary_err err;

    for (size_t i = 0; i < expr->operand_count; i++) {
        if (expr_is_list(expr->operands[i]->dtype)) {
            return expr_wrong_operand(expr, i, "a value that is no list itself");
        }
    }
    err = expr_check_alike(expr);
    item = expr->dtype;
    for (size_t i = 0; i < expr->operand_count && err == GRANARY_OK; i++) {
        struct gr_expr *operand = expr->operands[i];

        if (operand->dtype != item && !(operand->kind == GR_EXPR_LITERAL && operand->is_null)) {
            err = expr_cast_to(&expr->operands[i], item);
        }
    }
    expr->dtype = GRANARY_LIST(item);
    return err;
}

granary_err
expr_check_list_length(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    expr->dtype = GRANARY_INT64;
    return err;
}

/* Of a list they are the functions of lists. */
granary_err
expr_check_length(struct gr_expr *expr)
{
    if (expr_is_list(expr->operands[0]->dtype)) {
        expr->op = GR_OP_LIST_LENGTH;
        return expr_check_list_length(expr);
    }
    return expr_check_signature(expr);
}

granary_err
expr_check_repeat(struct gr_expr *expr)
{
    if (expr_is_list(expr->operands[0]->dtype)) {
        expr->op = GR_OP_LIST_REPEAT;
        return expr_check_list_pad(expr);
    }
    return expr_check_signature(expr);
}

granary_err
expr_check_contains(struct gr_expr *expr)
{
    if (expr_is_list(expr->operands[0]->dtype)) {
        expr->op = GR_OP_LIST_CONTAINS;
        return expr_check_list_contains(expr);
    }
    return expr_check_signature(expr);
}

granary_err
expr_check_list_extract(struct gr_expr *expr)
{
    granary_err err = GRANARY_OK;

    if (expr->operands[0]->dtype == GRANARY_STRING) {
        expr->op = GR_OP_CHARACTER;
        return expr_check_signature(expr);
    }
    err = need_list(expr);

    err = err == GRANARY_OK ? need_integer(expr, 1) : err;
    expr->dtype = item_of(expr);
    return err;
}

/* The end of a slice that is not written: the number stands for it. */
static void
become_end(struct gr_expr *end, int64_t number)
{
    if (end->kind == GR_EXPR_LITERAL && end->is_null) {
        expr_become_null(end, GRANARY_INT64);
        end->is_null = false;
        end->value.i = number;
    }
}

granary_err
expr_check_list_slice(struct gr_expr *expr)
{
    granary_err err = GRANARY_OK;

    if (gr_dtype_is_text(expr->operands[0]->dtype)) {
        become_end(expr->operands[1], 1);
        become_end(expr->operands[2], INT64_MAX);
        expr->op = GR_OP_TEXT_SLICE;
        return expr_check_signature(expr);
    }
    err = need_list(expr);

    err = err == GRANARY_OK ? need_integer(expr, 1) : err;
    err = err == GRANARY_OK ? need_integer(expr, 2) : err;
    expr->dtype = expr->operands[0]->dtype;
    return err;
}

/* [], and a list of nulls alone: it may be of any dtype. */
static bool
is_of_nulls(const struct gr_expr *expr)
{
    bool nulls = expr->kind == GR_EXPR_CALL &&
                 (expr->op == GR_OP_LIST_VALUE || (expr->op == GR_OP_LIST_DISTINCT && is_of_nulls(expr->operands[0])));

    for (size_t i = 0; nulls && expr->op == GR_OP_LIST_VALUE && i < expr->operand_count; i++) {
        nulls = expr->operands[i]->kind == GR_EXPR_LITERAL && expr->operands[i]->is_null;
    }
    return nulls;
}

static void
become_list_of(struct gr_expr *expr, granary_dtype dtype)
{
    expr->dtype = dtype;
    for (size_t i = 0; i < expr->operand_count; i++) {
        if (expr->op == GR_OP_LIST_VALUE) {
            expr_become_null(expr->operands[i], GRANARY_LIST_ITEM(dtype));
        } else {
            become_list_of(expr->operands[i], dtype);
        }
    }
}

bool
expr_nulls_become(struct gr_expr *list, granary_dtype dtype)
{
    bool nulls = is_of_nulls(list);

    if (nulls) {
        become_list_of(list, dtype);
    }
    return nulls;
}

/* What is looked for is of the items' dtype, or both are numbers. */
granary_err
expr_check_list_contains(struct gr_expr *expr)
{
    struct gr_expr *list = expr->operands[0];
    struct gr_expr *wanted = expr->operands[1];
    struct expr_shown shown;
    granary_dtype item;
    granary_err err;

    if (wanted->dtype != GRANARY_NULLTYPE && !expr_is_list(wanted->dtype) && list->dtype == GRANARY_NULLTYPE) {
        expr_become_null(list, GRANARY_LIST(wanted->dtype));
    } else if (wanted->dtype != GRANARY_NULLTYPE && !expr_is_list(wanted->dtype) && is_of_nulls(list)) {
        become_list_of(list, GRANARY_LIST(wanted->dtype));
    }
    err = need_list(expr);
    item = item_of(expr);

    expr->dtype = expr->op == GR_OP_LIST_CONTAINS ? GRANARY_BOOL : GRANARY_INT64;
    if (err != GRANARY_OK) {
        return err;
    }
    if (wanted->dtype == GRANARY_NULLTYPE) {
        expr_become_null(wanted, item);
    }
    if (expr_is_text(wanted) && item != GRANARY_STRING) {
        err = expr_read_text(wanted, item, expr_show(expr->operands[0], &shown));
    }
    if (err == GRANARY_OK && expr_is_weak(wanted) && expr_is_numeric(item)) {
        expr_adopt_compared(wanted, item);
    }
    if (err != GRANARY_OK || wanted->dtype == item || (expr_is_integer(wanted->dtype) && expr_is_integer(item))) {
        return err;
    }
    if (expr_is_numeric(wanted->dtype) && expr_is_numeric(item)) {
        return expr_is_float(wanted->dtype) || expr_is_float(item) ? GRANARY_OK /* compared as floats */
               : expr_is_decimal(item)                             ? expr_cast_to(&expr->operands[1], item)
                                       : expr_wrong_operand(expr, 1, "a number of the items' dtype");
    }
    return gr_fail(GRANARY_ETYPE, "position %d: '%s' needs a value of the items' dtype as argument 2, not %s beside %s",
                   expr->position, gr_expr_op_text(expr->op), granary_dtype_name(wanted->dtype),
                   granary_dtype_name(expr->operands[0]->dtype));
}

granary_err
expr_check_list_sum(struct gr_expr *expr)
{
    granary_err err = need_list_of(expr, GRANARY_INT64);
    granary_dtype item = item_of(expr);
    bool is_mean = expr->op == GR_OP_LIST_MEAN;

    if (err == GRANARY_OK && !expr_is_numeric(item) && (item != GRANARY_DURATION || is_mean)) {
        return expr_wrong_operand(expr, 0, "a list of numbers");
    }
    expr->dtype = is_mean || expr_is_float(item) ? GRANARY_FLOAT64 : expr_is_integer(item) ? GRANARY_INT64 : item;
    return err;
}

granary_err
expr_check_list_item(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    expr->dtype = item_of(expr);
    return err;
}

granary_err
expr_check_list_same(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    expr->dtype = expr->operands[0]->dtype;
    return err;
}

granary_err
expr_check_list_join(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    expr->dtype = GRANARY_STRING;
    return err == GRANARY_OK ? expr_need_text(expr, 1) : err;
}

granary_err
expr_check_string_split(struct gr_expr *expr)
{
    granary_err err = expr_need_text(expr, 0);

    expr->dtype = GRANARY_LIST(GRANARY_STRING);
    return err == GRANARY_OK ? expr_need_text(expr, 1) : err;
}

granary_err
expr_check_list_parse(struct gr_expr *expr)
{
    expr->dtype = GRANARY_LIST(GRANARY_STRING);
    return expr_need_text(expr, 0);
}

/* The operand of a cast becomes a list of strings. */
static granary_err
parse_first(struct gr_expr *cast, enum gr_expr_op op)
{
    struct gr_expr *call = NULL;
    int position = cast->operands[0]->position;
    granary_err err = gr_expr_call(op, &cast->operands[0], 1, &call);

    cast->operands[0] = call; /* NULL: gone with it */
    if (err != GRANARY_OK) {
        cast->operand_count = 0;
        return err;
    }
    call->position = position;
    return expr_check_list_parse(call);
}

granary_err
expr_parse_list(struct gr_expr *cast)
{
    struct gr_expr *operands[2] = {NULL, NULL};
    struct gr_expr *call = NULL;
    char text[160];
    granary_err err = parse_first(cast, cast->op == GR_OP_CAST ? GR_OP_LIST_PARSE : GR_OP_TRY_LIST_PARSE);

    if (err != GRANARY_OK || cast->op == GR_OP_CAST) {
        return err;
    }
    (void)snprintf(text, sizeof text, "'try_cast(x as %s)'", granary_dtype_name(GRANARY_LIST_ITEM(cast->target)));
    err = gr_expr_parse(text, &operands[1]);
    if (err != GRANARY_OK) {
        return err;
    }
    operands[0] = cast->operands[0];
    err = gr_expr_call(GR_OP_LIST_TRANSFORM, operands, 2, &call);
    cast->operands[0] = call;
    if (err != GRANARY_OK) {
        cast->operand_count = 0;
        return err;
    }
    call->position = cast->position;
    return expr_check_list_lambda(call);
}

granary_err
expr_check_regexp_list(struct gr_expr *expr)
{
    granary_err err = expr_check_string_split(expr);

    return err == GRANARY_OK && expr->operand_count > 2 ? need_integer(expr, 2) : err;
}

/* ---- JSON ---- */

/* A text, and a path or the number of an item. */
static granary_err
need_json(struct gr_expr *expr, granary_dtype dtype)
{
    granary_err err = expr_need_text(expr, 0);

    expr->dtype = dtype;
    if (err == GRANARY_OK && expr->operand_count > 1 && !expr_is_integer(expr->operands[1]->dtype)) {
        err = expr_need_text(expr, 1);
    }
    return err;
}

granary_err
expr_check_json_string(struct gr_expr *expr)
{
    return need_json(expr, GRANARY_STRING);
}

granary_err
expr_check_json_count(struct gr_expr *expr)
{
    return need_json(expr, GRANARY_INT64);
}

granary_err
expr_check_json_ask(struct gr_expr *expr)
{
    return need_json(expr, GRANARY_BOOL);
}

granary_err
expr_check_json_keys(struct gr_expr *expr)
{
    return need_json(expr, GRANARY_LIST(GRANARY_STRING));
}

/* Texts alone. */
static granary_err
need_texts(struct gr_expr *expr)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < expr->operand_count && err == GRANARY_OK; i++) {
        err = expr_need_text(expr, i);
    }
    expr->dtype = GRANARY_LIST(GRANARY_STRING);
    return err;
}

granary_err
expr_check_json_all(struct gr_expr *expr)
{
    return need_texts(expr);
}

/* What it is to tell is known before any row. */
granary_err
expr_check_json_each(struct gr_expr *expr)
{
    static const char *const names[] = {"key", "value", "type", "atom", "id", "parent", "fullkey", "path"};
    const struct gr_expr *what = expr->operands[2];
    bool known = false;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && !known; i++) {
        known = expr_is_literal(what) && what->dtype == GRANARY_STRING && strcmp(what->text, names[i]) == 0;
    }
    return known ? need_texts(expr)
                 : expr_wrong_operand(expr, 2,
                                      "'key', 'value', 'type', 'atom', 'id', 'parent', 'fullkey' or 'path' as written");
}

granary_err
expr_check_list_range(struct gr_expr *expr)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < expr->operand_count && err == GRANARY_OK; i++) {
        err = need_integer(expr, i);
    }
    expr->dtype = GRANARY_LIST(GRANARY_INT64);
    return err;
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
    granary_err err = need_list(expr);

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
    granary_err err = need_list(expr);

    err = err == GRANARY_OK ? need_list_at(expr, 1, GRANARY_LIST(GRANARY_BOOL)) : err;
    expr->dtype = expr->operands[0]->dtype;
    return err == GRANARY_OK && expr->operands[1]->dtype != GRANARY_LIST(GRANARY_BOOL)
               ? expr_wrong_operand(expr, 1, "a list of bools")
               : err;
}

granary_err
expr_check_list_select(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    err = err == GRANARY_OK ? need_list_at(expr, 1, GRANARY_LIST(GRANARY_INT64)) : err;
    expr->dtype = expr->operands[0]->dtype;
    return err == GRANARY_OK && !expr_is_integer(GRANARY_LIST_ITEM(expr->operands[1]->dtype))
               ? expr_wrong_operand(expr, 1, "a list of integers")
               : err;
}

bool
expr_list_is_open(const struct gr_expr *list)
{
    return is_of_nulls(list);
}

void
expr_list_become(struct gr_expr *list, granary_dtype dtype)
{
    become_list_of(list, dtype);
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

        dtype = dtype == GRANARY_NULLTYPE && expr_is_list(expr->dtype) && !is_of_nulls(expr) ? expr->dtype : dtype;
    }
    for (size_t i = 0; i < count && dtype != GRANARY_NULLTYPE; i++) {
        if (is_of_nulls(*slots[i])) {
            become_list_of(*slots[i], dtype);
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

        if (!expr_is_list(own) || is_of_nulls(operand) || (fixed && is_made_here(operand))) {
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

    if (is_of_nulls(list)) {
        become_list_of(list, to);
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

        if (!expr_is_list(expr->operands[i]->dtype) || is_of_nulls(expr->operands[i]) || own == item ||
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
        if (!is_of_nulls(operand) && operand->dtype != dtype && numbers_alike(own, item) &&
            !(is_made_here(operand) && expr_is_numeric(own) && expr_is_numeric(item))) {
            err = expr_cast_to(&expr->operands[i], dtype);
        } else if (is_of_nulls(operand)) {
            become_list_of(operand, dtype);
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

granary_err
expr_check_list_pad(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    expr->dtype = expr->operands[0]->dtype;
    return err == GRANARY_OK ? need_integer(expr, 1) : err;
}

/* ---- keys ---- */

granary_err
expr_check_list_key(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    expr->dtype = GRANARY_BINARY;
    return err;
}

granary_err
expr_check_list_from_key(struct gr_expr *expr)
{
    granary_dtype dtype = expr->operands[1]->dtype;
    granary_dtype key = expr->operands[0]->dtype;

    if (key == GRANARY_NULLTYPE) {
        key = GRANARY_BINARY;
        expr_become_null(expr->operands[0], key);
    }
    expr->dtype = dtype;
    if (!expr_is_list(dtype)) {
        return expr_wrong_operand(expr, 1, "a list");
    }
    if (key == GRANARY_LIST(GRANARY_BINARY)) {
        return expr_is_list(GRANARY_LIST_ITEM(dtype)) ? GRANARY_OK : expr_wrong_operand(expr, 1, "a list of lists");
    }
    return key == GRANARY_BINARY ? GRANARY_OK : expr_wrong_operand(expr, 0, "a key, or a list of keys");
}

/* ---- statistics ---- */

granary_err
expr_check_list_number(struct gr_expr *expr)
{
    granary_err err = need_list_of(expr, GRANARY_FLOAT64);
    granary_dtype item = item_of(expr);

    expr->dtype = GRANARY_FLOAT64;
    return err == GRANARY_OK && !expr_is_numeric(item) && item != GRANARY_NULLTYPE
               ? expr_wrong_operand(expr, 0, "a list of numbers")
               : err;
}

granary_err
expr_check_list_truth(struct gr_expr *expr)
{
    granary_err err = need_list_of(expr, GRANARY_BOOL);

    expr->dtype = GRANARY_BOOL;
    return err == GRANARY_OK && item_of(expr) != GRANARY_BOOL ? expr_wrong_operand(expr, 0, "a list of bools") : err;
}
