#include "kernel/eval.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/eval_ops.h"

struct eval {
    char *text; /* for messages */
    struct gr_expr *expr;
    struct eval_node *root;
    uint8_t truth[EVAL_BLOCK];
};

static enum eval_class
class_of(granary_dtype dtype)
{
    switch (dtype) {
    case GRANARY_BOOL:
        return CLASS_BOOL;
    case GRANARY_INT64:
    case GRANARY_INT32:
    case GRANARY_DATE:
    case GRANARY_TIMESTAMP:
        return CLASS_INT;
    case GRANARY_FLOAT64:
    case GRANARY_FLOAT32:
        return CLASS_DOUBLE;
    case GRANARY_STRING:
        return CLASS_TEXT;
    default:
        return CLASS_NULL;
    }
}

/* ---- making the nodes ---- */

static void
node_destroy(struct eval_node *node)
{
    if (node == NULL) {
        return;
    }
    node_destroy(node->operands[0]);
    node_destroy(node->operands[1]);
    free(node->buffer);
    free(node->valid_buffer);
    gr_buf_free(&node->text);
    free(node);
}

static struct eval_node *
node_create(enum gr_expr_kind kind, granary_dtype dtype)
{
    struct eval_node *node = calloc(1, sizeof *node);

    if (node == NULL) {
        return NULL;
    }
    node->kind = kind;
    node->dtype = dtype;
    node->class = class_of(dtype);
    node->buffer = calloc(EVAL_BLOCK, eval_class_size(node->class));
    node->valid_buffer = calloc(EVAL_BLOCK, 1);
    node->values = node->buffer;
    if (node->buffer == NULL || node->valid_buffer == NULL) {
        node_destroy(node);
        return NULL;
    }
    return node;
}

/* A literal fills its block once. */
static void
literal_fill(struct eval_node *node, const struct gr_expr *expr)
{
    if (expr->is_null || node->class == CLASS_NULL) {
        node->valid = node->valid_buffer; /* zeros */
        return;
    }
    for (int64_t i = 0; i < EVAL_BLOCK; i++) {
        switch (node->class) {
        case CLASS_INT:
            ((int64_t *)node->buffer)[i] = expr->value.i;
            break;
        case CLASS_DOUBLE:
            ((double *)node->buffer)[i] = expr->value.d;
            break;
        case CLASS_BOOL:
            ((uint8_t *)node->buffer)[i] = expr->value.i != 0;
            break;
        default:
            ((struct eval_text *)node->buffer)[i] = (struct eval_text){expr->text, expr->text_size};
            break;
        }
    }
}

/* Numbers of two kinds meet as float64; the check says so with conversions of its own, mostly. */
static bool
operand_widen(struct eval_node **operand)
{
    struct eval_node *node;

    if (*operand == NULL || ((*operand)->class != CLASS_INT && (*operand)->class != CLASS_BOOL)) {
        return true;
    }
    node = node_create(GR_EXPR_CALL, GRANARY_FLOAT64);
    if (node == NULL) {
        return false;
    }
    node->op = GR_OP_CONVERT;
    node->operands[0] = *operand;
    *operand = node;
    return true;
}

static bool
operands_agree(struct eval_node *node)
{
    struct eval_node *a = node->operands[0];
    struct eval_node *b = node->operands[1];
    bool arithmetic = node->class == CLASS_DOUBLE && node->op != GR_OP_CONVERT;
    bool mixed = b != NULL && a->class != b->class && (a->class == CLASS_DOUBLE || b->class == CLASS_DOUBLE);

    if (!arithmetic && !mixed) {
        return true;
    }
    return operand_widen(&node->operands[0]) && operand_widen(&node->operands[1]);
}

static struct eval_node *
node_build(const struct gr_expr *expr, const granary_frame *frame)
{
    struct eval_node *node = node_create(expr->kind, expr->dtype);

    if (node == NULL) {
        return NULL;
    }
    if (expr->kind == GR_EXPR_COLUMN) {
        node->column = &frame->columns[expr->column_index].view;
        return node;
    }
    if (expr->kind == GR_EXPR_LITERAL) {
        literal_fill(node, expr);
        return node;
    }
    node->op = expr->op;
    for (size_t i = 0; i < expr->operand_count; i++) {
        if (expr->operands[i] != NULL) {
            node->operands[i] = node_build(expr->operands[i], frame);
            if (node->operands[i] == NULL) {
                node_destroy(node);
                return NULL;
            }
        }
    }
    if (!operands_agree(node)) {
        node_destroy(node);
        return NULL;
    }
    return node;
}

/* Whether the loops here know its dtypes and functions. */
static bool
is_known(const struct gr_expr *expr)
{
    bool known = expr->dtype == GRANARY_NULLTYPE || class_of(expr->dtype) != CLASS_NULL;

    if (expr->kind == GR_EXPR_CALL) {
        known = known &&
                ((expr->op <= GR_OP_IS_NOT_NULL && expr->op != GR_OP_FLOOR_DIVIDE) || expr->op == GR_OP_ABS ||
                 expr->op == GR_OP_SQRT || expr->op == GR_OP_YEAR || expr->op == GR_OP_MONTH || expr->op == GR_OP_DAY ||
                 expr->op == GR_OP_LOWER || expr->op == GR_OP_LENGTH ||
                 (expr->op == GR_OP_CONVERT && (expr->target == GRANARY_FLOAT64 || expr->target == GRANARY_TIMESTAMP)));
    }
    for (size_t i = 0; i < expr->operand_count; i++) {
        known = known && is_known(expr->operands[i]);
    }
    return known;
}

granary_err
eval_create(const char *text, const granary_frame *frame, struct eval **ret_eval)
{
    struct gr_schema schema = {0};
    struct eval *eval = calloc(1, sizeof *eval);
    granary_err err = GRANARY_OK;

    if (eval == NULL || (eval->text = strdup(text)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "expression `%s`: out of memory", text);
        goto fail;
    }
    for (size_t i = 0; i < frame->count && err == GRANARY_OK; i++) {
        err = gr_schema_add(&schema, frame->columns[i].view.name, frame->columns[i].view.dtype);
    }
    if (err == GRANARY_OK) {
        err = gr_expr_parse(text, &eval->expr); /* its messages name the expression */
    }
    if (err != GRANARY_OK) {
        goto fail;
    }
    err = gr_expr_check(eval->expr, &schema);
    if (err != GRANARY_OK) {
        gr_fail_in(err, "expression `%s`", text);
        goto fail;
    }
    if (!is_known(eval->expr)) {
        err =
            gr_fail(GRANARY_EUNSUPPORTED, "expression `%s`: it has a dtype or function that is not computed yet", text);
        goto fail;
    }
    eval->root = node_build(eval->expr, frame);
    if (eval->root == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "expression `%s`: out of memory", text);
        goto fail;
    }
    gr_schema_free(&schema);
    *ret_eval = eval;
    return GRANARY_OK;

fail:
    gr_schema_free(&schema);
    eval_destroy(eval);
    return err;
}

void
eval_destroy(struct eval *eval)
{
    if (eval == NULL) {
        return;
    }
    node_destroy(eval->root);
    gr_expr_destroy(eval->expr);
    free(eval->text);
    free(eval);
}

granary_dtype
eval_dtype(const struct eval *eval)
{
    return eval->root->dtype;
}

/* ---- a block ---- */

static void
column_values(struct eval_node *node, int64_t from, int64_t n)
{
    const granary_column *column = node->column;

    switch (column->dtype) {
    case GRANARY_INT64:
    case GRANARY_TIMESTAMP:
    case GRANARY_FLOAT64:
        node->values = (const char *)column->values + from * 8;
        break;
    case GRANARY_DATE:
    case GRANARY_INT32:
        for (int64_t i = 0; i < n; i++) {
            ((int64_t *)node->buffer)[i] = ((const int32_t *)column->values)[from + i];
        }
        break;
    case GRANARY_FLOAT32:
        for (int64_t i = 0; i < n; i++) {
            ((double *)node->buffer)[i] = (double)((const float *)column->values)[from + i];
        }
        break;
    case GRANARY_BOOL:
        for (int64_t i = 0; i < n; i++) {
            ((uint8_t *)node->buffer)[i] = gr_bit(column->values, from + i);
        }
        break;
    case GRANARY_STRING:
        for (int64_t i = 0; i < n; i++) {
            int32_t begin = column->offsets[from + i];
            size_t size = (size_t)(column->offsets[from + i + 1] - begin);
            const char *bytes = size > 0 ? (const char *)column->values + begin : NULL;

            ((struct eval_text *)node->buffer)[i] = (struct eval_text){bytes, size};
        }
        break;
    default:
        break;
    }
}

static void
column_load(struct eval_node *node, int64_t from, int64_t n)
{
    const granary_column *column = node->column;

    node->valid = NULL;
    if (column->dtype == GRANARY_NULLTYPE) {
        node->valid = node->valid_buffer; /* zeros */
        return;
    }
    if (column->validity != NULL) {
        for (int64_t i = 0; i < n; i++) {
            node->valid_buffer[i] = gr_bit(column->validity, from + i);
        }
        node->valid = node->valid_buffer;
    }
    column_values(node, from, n);
}

/* The values tell where to look; a row would be one of the chunk, which nobody sees. */
static granary_err
fail_overflow(const struct eval *eval, const struct eval_node *node, int64_t i)
{
    const int64_t *a = node->operands[0]->values;
    const int64_t *b = node->operands[1] != NULL ? node->operands[1]->values : NULL;

    return b == NULL
               ? gr_fail(GRANARY_EFAILED, "expression `%s`: integer overflow of %lld", eval->text, (long long)a[i])
               : gr_fail(GRANARY_EFAILED, "expression `%s`: integer overflow of %lld and %lld", eval->text,
                         (long long)a[i], (long long)b[i]);
}

static granary_err
block_compute(const struct eval *eval, struct eval_node *node, int64_t from, int64_t n)
{
    int64_t bad = -1;
    granary_err err = GRANARY_OK;

    if (node->kind == GR_EXPR_LITERAL) {
        return GRANARY_OK;
    }
    if (node->kind == GR_EXPR_COLUMN) {
        column_load(node, from, n);
        return GRANARY_OK;
    }
    for (int i = 0; i < 2 && err == GRANARY_OK; i++) {
        if (node->operands[i] != NULL) {
            err = block_compute(eval, node->operands[i], from, n);
        }
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = eval_call(node, n, &bad);
    if (bad >= 0) {
        return fail_overflow(eval, node, bad);
    }
    return err;
}

granary_err
eval_truth(struct eval *eval, int64_t from, int64_t n, const uint8_t **ret_truth)
{
    const struct eval_node *root = eval->root;
    granary_err err = block_compute(eval, eval->root, from, n);

    if (err != GRANARY_OK) {
        return err;
    }
    if (root->class != CLASS_BOOL) {
        memset(eval->truth, 0, sizeof eval->truth);
    } else {
        const uint8_t *values = root->values;

        for (int64_t i = 0; i < n; i++) {
            eval->truth[i] = values[i] & (root->valid == NULL || root->valid[i]);
        }
    }
    *ret_truth = eval->truth;
    return GRANARY_OK;
}

/* ---- a column ---- */

static void
store_validity(const struct eval_node *root, int64_t from, int64_t n, uint8_t *validity)
{
    for (int64_t i = 0; i < n; i++) {
        if (root->valid == NULL || root->valid[i]) {
            gr_bit_set(validity, from + i);
        }
    }
}

static void
store_values(const struct eval_node *root, int64_t from, int64_t n, void *values)
{
    switch (root->dtype) {
    case GRANARY_INT64:
    case GRANARY_TIMESTAMP:
    case GRANARY_FLOAT64:
        memcpy((char *)values + from * 8, root->values, (size_t)n * 8);
        break;
    case GRANARY_DATE:
    case GRANARY_INT32:
        for (int64_t i = 0; i < n; i++) {
            ((int32_t *)values)[from + i] = (int32_t)((const int64_t *)root->values)[i];
        }
        break;
    case GRANARY_FLOAT32:
        for (int64_t i = 0; i < n; i++) {
            ((float *)values)[from + i] = (float)((const double *)root->values)[i];
        }
        break;
    case GRANARY_BOOL:
        for (int64_t i = 0; i < n; i++) {
            if (((const uint8_t *)root->values)[i]) {
                gr_bit_set(values, from + i);
            }
        }
        break;
    default:
        break;
    }
}

/* Sizes at first, in ends[1 + row]; they become offsets when all is there. */
static void
store_text(const struct eval_node *root, int64_t from, int64_t n, struct gr_buf *text, int64_t *ends)
{
    const struct eval_text *values = root->values;

    for (int64_t i = 0; i < n; i++) {
        if (values[i].size > 0 && (root->valid == NULL || root->valid[i])) {
            gr_buf_add(text, values[i].bytes, values[i].size);
        }
        ends[from + i] = (int64_t)text->size;
    }
}

static granary_err
compute_fixed(struct eval *eval, int64_t rows, struct gr_column *column)
{
    granary_err err = gr_column_alloc(eval->root->dtype, rows, 0, true, column);

    for (int64_t from = 0; from < rows && err == GRANARY_OK; from += EVAL_BLOCK) {
        int64_t n = rows - from < EVAL_BLOCK ? rows - from : EVAL_BLOCK;

        err = block_compute(eval, eval->root, from, n);
        if (err == GRANARY_OK && column->view.dtype != GRANARY_NULLTYPE) {
            store_validity(eval->root, from, n, (uint8_t *)(uintptr_t)column->view.validity);
            store_values(eval->root, from, n, (void *)(uintptr_t)column->view.values);
        }
    }
    return err;
}

static granary_err
compute_text(struct eval *eval, int64_t rows, struct gr_column *column)
{
    struct gr_buf text = {0};
    int64_t *ends = malloc((size_t)(rows > 0 ? rows : 1) * sizeof *ends);
    uint8_t *validity = gr_data_alloc((size_t)gr_bitmap_bytes(rows));
    granary_err err = GRANARY_OK;

    if (ends == NULL || validity == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "expression `%s`: out of memory", eval->text);
    }
    for (int64_t from = 0; from < rows && err == GRANARY_OK; from += EVAL_BLOCK) {
        int64_t n = rows - from < EVAL_BLOCK ? rows - from : EVAL_BLOCK;

        err = block_compute(eval, eval->root, from, n);
        if (err == GRANARY_OK) {
            store_validity(eval->root, from, n, validity);
            store_text(eval->root, from, n, &text, ends);
        }
    }
    if (err == GRANARY_OK && !gr_buf_ok(&text)) {
        err = gr_fail(GRANARY_ENOMEM, "expression `%s`: out of memory", eval->text);
    }
    if (err == GRANARY_OK) {
        err = gr_column_alloc(GRANARY_STRING, rows, (int64_t)text.size, true, column);
    }
    if (err == GRANARY_OK) {
        int32_t *offsets = (int32_t *)(uintptr_t)column->view.offsets;

        for (int64_t i = 0; i < rows; i++) {
            offsets[i + 1] = (int32_t)ends[i];
        }
        if (text.size > 0) {
            memcpy((void *)(uintptr_t)column->view.values, text.bytes, text.size);
        }
        memcpy((void *)(uintptr_t)column->view.validity, validity, (size_t)gr_bitmap_bytes(rows));
    }
    free(ends);
    free(validity);
    gr_buf_free(&text);
    return err;
}

granary_err
eval_column(const char *text, const granary_frame *frame, struct gr_column *ret_column)
{
    struct gr_column column = {0};
    struct eval *eval;
    granary_err err = eval_create(text, frame, &eval);

    if (err != GRANARY_OK) {
        return err;
    }
    err = eval->root->dtype == GRANARY_STRING ? compute_text(eval, frame->rows, &column)
                                              : compute_fixed(eval, frame->rows, &column);
    eval_destroy(eval);
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}
