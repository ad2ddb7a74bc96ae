/* Logic, null tests and choices on blocks. */
#include <math.h>
#include <string.h>

#include "contract/int128.h"
#include "kernel/core/scratch.h"
#include "kernel/rows/node.h"
#include "kernel/simd/rows_loops.h"

/* What decides (false for and, true for or) wins over null, and over what could not be computed. */
granary_err
op_and_or(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    const struct node *b = node->operands[1];
    const uint8_t *x = a->values;
    const uint8_t *y = b->values;
    uint8_t decides = node->op == GR_OP_OR;
    uint8_t *out = node_room(node, ROWS_BOOL);
    uint8_t *valid;
    uint8_t *bad;

    node->valid = NULL;
    node->bad = NULL;
    if (a->valid == NULL && b->valid == NULL && a->bad == NULL && b->bad == NULL) {
        for (int64_t i = 0; i < n; i++) {
            out[i] = decides ? x[i] | y[i] : x[i] & y[i];
        }
        return GRANARY_OK;
    }
    valid = node_valid_room(node);
    bad = a->bad != NULL || b->bad != NULL ? node_bad_room(node, n) : NULL;
    for (int64_t i = 0; i < n; i++) {
        bool bad_a = a->bad != NULL && a->bad[i] != 0;
        bool bad_b = b->bad != NULL && b->bad[i] != 0;
        bool there_a = node_counts(a, i) && !bad_a;
        bool there_b = node_counts(b, i) && !bad_b;
        bool decided = (there_a && x[i] == decides) || (there_b && y[i] == decides);

        out[i] = decided ? decides : !decides;
        valid[i] = (uint8_t)(decided || (there_a && there_b));
        if (bad != NULL) {
            bad[i] = (uint8_t)(!decided && (bad_a || bad_b));
        }
    }
    return GRANARY_OK;
}

granary_err
op_not(struct node *node, int64_t n)
{
    const uint8_t *a = node->operands[0]->values;
    uint8_t *out = node_room(node, ROWS_BOOL);

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        out[i] = !a[i];
    }
    return GRANARY_OK;
}

granary_err
op_null_test(struct node *node, int64_t n)
{
    const uint8_t *there = node->operands[0]->valid;
    uint8_t *out = node_room(node, ROWS_BOOL);

    node_bad_of_operands(node, n);
    node->valid = NULL;
    for (int64_t i = 0; i < n; i++) {
        out[i] = (there == NULL || there[i] != 0) == (node->op == GR_OP_IS_NOT_NULL);
    }
    return GRANARY_OK;
}

/* What the check has made a constant of. */
granary_err
op_never(struct node *node, int64_t n)
{
    (void)n;
    return gr_fail(GRANARY_EUNSUPPORTED, "'%s' has no value of a row", gr_expr_op_text(node->op));
}

/* ---- choices: each row takes the value of one operand ---- */

enum { PICK_NULL = UINT16_MAX, PICK_BAD = UINT16_MAX - 1 };

/* The class in which values of all the operands lie: wide when one is, texts when they are strings. */
static enum rows_class
common_class(const struct node *node)
{
    enum rows_class class = node->base;

    if (class == ROWS_CODE) {
        class = ROWS_TEXT;
    }
    for (size_t k = 0; k < node->count && class == ROWS_INT; k++) {
        class = node->operands[k]->class == ROWS_WIDE ? ROWS_WIDE : class;
    }
    return class;
}

/* Rows of operand k that are picked. */
static void
take_picked(struct node *node, size_t k, const uint16_t *pick, int64_t n)
{
    struct node *operand = node->operands[k];

    switch (node->class) {
    case ROWS_BOOL:
        for (int64_t i = 0; i < n; i++) {
            if (pick[i] == k) {
                ((uint8_t *)node->buffer)[i] = ((const uint8_t *)operand->values)[i];
            }
        }
        break;
    case ROWS_INT:
    case ROWS_DOUBLE: {
        const uint64_t *from = operand->values;
        uint64_t *to = node->buffer;

        for (int64_t i = 0; i < n; i++) {
            to[i] = pick[i] == k ? from[i] : to[i];
        }
        break;
    }
    case ROWS_LIST:
        for (int64_t i = 0; i < n; i++) {
            if (pick[i] == k) {
                ((struct rows_list *)node->buffer)[i] = operand->class == ROWS_LIST
                                                            ? ((const struct rows_list *)operand->values)[i]
                                                            : (struct rows_list){0};
            }
        }
        break;
    case ROWS_WIDE:
        for (int64_t i = 0; i < n; i++) {
            if (pick[i] == k) {
                ((gr_int128 *)node->buffer)[i] = node_exact_at(operand, i);
            }
        }
        break;
    default:
        break;
    }
}

/* Row by row, for numbers of 8 bytes, of many operands, and texts; any: an operand that is picked. */
static void
take_each(struct node *node, size_t any, const uint16_t *pick, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const struct node *operand = node->operands[pick[i] < PICK_BAD ? pick[i] : any];

        if (node->class == ROWS_TEXT) {
            ((struct rows_text *)node->buffer)[i] =
                ((const struct rows_text *)(operand->class == ROWS_TEXT ? operand->values : operand->texts))[i];
        } else {
            ((uint64_t *)node->buffer)[i] = ((const uint64_t *)operand->values)[i];
        }
    }
}

/* used[k]: some row picks operand k. */
static void
take_all_picked(struct node *node, const uint16_t *pick, const uint8_t *used, int64_t n)
{
    enum { FEW = 3 }; /* operands: then a loop with vectors for each is faster than one that looks at each row */
    enum rows_class class = common_class(node);
    uint8_t *valid = node_valid_room(node);
    uint16_t most = 0;
    size_t count = 0;
    size_t any = 0;
    bool plain = true;
    bool nulls = false;

    node->bad = NULL;
    node->valid = NULL;
    (void)node_room(node, class);
    for (size_t k = 0; k < node->count; k++) {
        if (used[k]) {
            count++;
            any = k;
            plain = plain && node->operands[k]->valid == NULL && node->operands[k]->bad == NULL;
            if (class == ROWS_TEXT) {
                (void)node_texts(node->operands[k], n);
            }
        }
    }
    if (count > 0 && (class == ROWS_TEXT || (count > FEW && (class == ROWS_INT || class == ROWS_DOUBLE)))) {
        take_each(node, any, pick, n);
    } else {
        for (size_t k = 0; k < node->count; k++) {
            if (used[k]) {
                take_picked(node, k, pick, n);
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        most = pick[i] > most ? pick[i] : most;
    }
    if (plain && most < PICK_BAD) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const struct node *operand = pick[i] < PICK_BAD ? node->operands[pick[i]] : NULL;

        valid[i] = operand != NULL && node_counts(operand, i);
        nulls = nulls || !valid[i];
        if (pick[i] == PICK_BAD || (operand != NULL && operand->bad != NULL && operand->bad[i] != 0)) {
            node_mark_bad(node, i, n);
        }
        if (operand == NULL && node->class == ROWS_TEXT) {
            ((struct rows_text *)node->buffer)[i] = (struct rows_text){0};
        }
    }
    node->valid = nulls ? valid : NULL;
}

/* Where a condition is true and no null; room: for that, of a block. */
static const uint8_t *
truth_of(const struct node *condition, uint8_t *room, int64_t n)
{
    const uint8_t *truth = condition->values;

    if (condition->valid == NULL) {
        return truth;
    }
    for (int64_t i = 0; i < n; i++) {
        room[i] = truth[i] & condition->valid[i];
    }
    return room;
}

/* One condition and two numbers, none of which can be null or bad: no row is looked at by itself. */
static bool
choose_quickly(struct node *node, int64_t n)
{
    const struct node *condition = node->operands[0];
    const struct node *a = node->operands[1];
    const struct node *b = node->operands[2];
    uint8_t truth[ROWS_BLOCK];

    if (node->count != 3 || (node->base != ROWS_INT && node->base != ROWS_DOUBLE) || a->class != node->base ||
        b->class != node->base || condition->bad != NULL || a->bad != NULL || b->bad != NULL || a->valid != NULL ||
        b->valid != NULL) {
        return false;
    }
    node->valid = NULL;
    node->bad = NULL;
    SIMD_CALL(rows_choose)
    (truth_of(condition, truth, n), a->values, b->values, node_room(node, node->base), n);
    return true;
}

/* Rows in which a condition is true, and those in which it cannot be told. */
static void
pick_where(const struct node *condition, uint16_t picked, uint16_t *pick, int64_t n)
{
    uint8_t truth[ROWS_BLOCK];

    SIMD_CALL(rows_pick)(truth_of(condition, truth, n), picked, pick, n);
    if (condition->bad != NULL) {
        SIMD_CALL(rows_pick)(condition->bad, PICK_BAD, pick, n);
    }
}

granary_err
op_case(struct node *node, int64_t n)
{
    uint16_t pick[ROWS_BLOCK];
    uint8_t *used;

    if (choose_quickly(node, n)) {
        return GRANARY_OK;
    }
    used = scratch_alloc(node->count);
    if (used == NULL) {
        return node_no_memory();
    }
    memset(used, 0, node->count);
    for (int64_t i = 0; i < n; i++) {
        pick[i] = (uint16_t)(node->count - 1);
    }
    for (size_t k = (node->count - 1) / 2 * 2; k > 0; k -= 2) { /* what comes first has the last word */
        pick_where(node->operands[k - 2], (uint16_t)(k - 1), pick, n);
    }
    for (int64_t i = 0; i < n; i++) {
        if (pick[i] < PICK_BAD) {
            used[pick[i]] = 1;
        }
    }
    take_all_picked(node, pick, used, n);
    scratch_free(used);
    return GRANARY_OK;
}

granary_err
op_coalesce(struct node *node, int64_t n)
{
    uint16_t pick[ROWS_BLOCK];
    uint8_t *used = scratch_alloc(node->count);

    if (used == NULL) {
        return node_no_memory();
    }
    memset(used, 0, node->count);
    for (int64_t i = 0; i < n; i++) {
        pick[i] = PICK_NULL;
        for (size_t k = 0; k < node->count && pick[i] == PICK_NULL; k++) {
            const struct node *operand = node->operands[k];

            if (operand->bad != NULL && operand->bad[i] != 0) {
                pick[i] = PICK_BAD;
            } else if (node_counts(operand, i)) {
                pick[i] = (uint16_t)k;
                used[k] = 1;
            }
        }
    }
    take_all_picked(node, pick, used, n);
    scratch_free(used);
    return GRANARY_OK;
}

/* Order of two values of one class, or of an integer and a float (by their exact values); a NaN is after all numbers, and
 * equal to itself. */
static int
order_at(const struct node *a, const struct node *b, int64_t i, const struct rows_text *x, const struct rows_text *y)
{
    if (a->base == ROWS_INT && b->base == ROWS_DOUBLE) {
        double q = ((const double *)b->values)[i];

        return isnan(q) ? -1 : gr_order_mixed(node_exact_at(a, i), q);
    }
    if (a->base == ROWS_DOUBLE && b->base == ROWS_INT) {
        return -order_at(b, a, i, y, x);
    }
    if (a->base == ROWS_DOUBLE) {
        double p = ((const double *)a->values)[i];
        double q = ((const double *)b->values)[i];

        return isnan(p) || isnan(q) ? isnan(p) - isnan(q) : (p > q) - (p < q);
    }
    if (a->base == ROWS_BOOL) {
        return ((const uint8_t *)a->values)[i] - ((const uint8_t *)b->values)[i];
    }
    if (a->base == ROWS_INT) {
        int by = gr_dtype_scale(b->dtype) - gr_dtype_scale(a->dtype);

        return by < 0 ? -order_at(b, a, i, y, x)
                      : gr_order_scaled(node_exact_at(a, i), gr_power_of_ten(by), node_exact_at(b, i));
    }
    return text_order(&x[i], &y[i]);
}

/* Texts of a string operand; anything else needs none. */
static const struct rows_text *
texts_of(struct node *node, int64_t n)
{
    return node->base == ROWS_TEXT || node->base == ROWS_CODE ? node_texts(node, n) : NULL;
}

granary_err
op_nullif(struct node *node, int64_t n)
{
    struct node *a = node->operands[0];
    struct node *b = node->operands[1];
    const struct rows_text *x = texts_of(a, n);
    const struct rows_text *y = texts_of(b, n);
    uint16_t pick[ROWS_BLOCK];
    uint8_t used[2] = {1, 0};

    if (a->base == ROWS_NULL) {
        memset(pick, 0xff, sizeof pick);
    }
    for (int64_t i = 0; i < n && a->base != ROWS_NULL; i++) {
        bool bad = (a->bad != NULL && a->bad[i] != 0) || (b->bad != NULL && b->bad[i] != 0);
        bool both = node_counts(a, i) && node_counts(b, i);

        pick[i] = bad ? PICK_BAD : both && order_at(a, b, i, x, y) == 0 ? PICK_NULL : 0;
    }
    take_all_picked(node, pick, used, n);
    return GRANARY_OK;
}

/* single(x, rows): a value that stands for the only one of its rows. */
granary_err
op_single(struct node *node, int64_t n)
{
    struct node *x = node->operands[0];
    const struct node *rows = node->operands[1];
    uint16_t pick[ROWS_BLOCK];
    uint8_t used[2] = {1, 0};

    if (x->base == ROWS_NULL) {
        memset(pick, 0xff, sizeof pick);
    }
    for (int64_t i = 0; i < n; i++) {
        bool bad = (x->bad != NULL && x->bad[i] != 0) || (rows->bad != NULL && rows->bad[i] != 0);
        bool several = node_counts(rows, i) && node_int_at(rows, i) > 1;

        pick[i] = bad || several ? PICK_BAD : x->base != ROWS_NULL && node_counts(x, i) ? 0 : PICK_NULL;
    }
    take_all_picked(node, pick, used, n);
    return GRANARY_OK;
}

/* greatest, least: nulls are passed over. */
granary_err
op_extreme(struct node *node, int64_t n)
{
    int wanted = node->op == GR_OP_GREATEST ? 1 : -1;
    uint16_t pick[ROWS_BLOCK];
    uint8_t *used = scratch_alloc(node->count);
    const struct rows_text **texts = scratch_alloc(node->count * sizeof(const struct rows_text *));
    granary_err err = used == NULL || texts == NULL ? node_no_memory() : GRANARY_OK;

    for (size_t k = 0; k < node->count && err == GRANARY_OK; k++) {
        used[k] = 1;
        texts[k] = texts_of(node->operands[k], n);
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        pick[i] = PICK_NULL;
        for (size_t k = 0; k < node->count; k++) {
            const struct node *operand = node->operands[k];

            if (operand->bad != NULL && operand->bad[i] != 0) {
                pick[i] = PICK_BAD;
                break;
            }
            if (node_counts(operand, i) && operand->base != ROWS_NULL &&
                (pick[i] == PICK_NULL ||
                 order_at(operand, node->operands[pick[i]], i, texts[k], texts[pick[i]]) == wanted)) {
                pick[i] = (uint16_t)k;
            }
        }
    }
    if (err == GRANARY_OK) {
        take_all_picked(node, pick, used, n);
    }
    scratch_free(used);
    scratch_free((void *)(uintptr_t)texts);
    return err;
}
