/* Expressions as a net: what is written twice is computed once. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "contract/int128.h"
#include "kernel/core/scratch.h"
#include "kernel/rows/node.h"

/* A name and what it stands for. */
struct binding {
    struct node *node; /* NULL: a column of the frame that nothing has read yet */
};

struct root {
    struct gr_expr *expr;
    struct node *node;
};

struct net {
    const granary_frame *frame;
    struct gr_schema schema; /* the frame's columns, then new names */
    struct binding *bindings;
    struct node **nodes; /* owned */
    size_t node_count;
    size_t node_room;
    struct node **buckets; /* of those with a hash, a power of two of them */
    size_t bucket_count;
    size_t hashed;
    struct root *roots; /* owned: nodes lead into their expressions */
    size_t root_count;
    struct extent extent;
    uint64_t generation;
    bool filling;
};

/* ---- nodes ---- */

static void
node_destroy(struct node *node)
{
    if (node == NULL) {
        return;
    }
    lookup_free(node->lookup);
    pattern_free(node->pattern);
    among_free(node->among);
    free(node->operands);
    node_room_fini(node);
    gr_buf_free(&node->text);
    gr_column_free(&node->made);
    free(node);
}

static granary_err
net_add(struct net *net, enum rows_class base, struct node **ret_node)
{
    struct node *node;
    granary_err err;

    if (net->node_count == net->node_room) {
        size_t room = net->node_room * 2 + 16;
        struct node **nodes = realloc(net->nodes, room * sizeof(struct node *));

        if (nodes == NULL) {
            return node_no_memory();
        }
        net->nodes = nodes;
        net->node_room = room;
    }
    node = calloc(1, sizeof *node);
    if (node == NULL) {
        return node_no_memory();
    }
    net->nodes[net->node_count++] = node;
    node->base = base;
    err = node_room_init(node, base == ROWS_TEXT || base == ROWS_CODE || base == ROWS_NULL);
    if (err == GRANARY_OK) {
        *ret_node = node;
    }
    return err;
}

/* A literal is computed once, for all of a block: n values. */
static void
constant_fill(struct node *node, int64_t n)
{
    const struct gr_expr *expr = node->expr;
    bool wide = node->base == ROWS_INT && (expr->value.i > INT64_MAX || expr->value.i < INT64_MIN);
    void *room = node_room(node, wide ? ROWS_WIDE : node->base);

    if (expr->is_null || node->base == ROWS_NULL) {
        memset(node_valid_room(node), 0, (size_t)n);
        memset(room, 0, (size_t)n * sizeof(gr_int128));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        switch (node->class) {
        case ROWS_INT:
            ((int64_t *)room)[i] = (int64_t)expr->value.i;
            break;
        case ROWS_WIDE:
            ((gr_int128 *)room)[i] = expr->value.i;
            break;
        case ROWS_DOUBLE:
            ((double *)room)[i] = expr->value.d;
            break;
        case ROWS_BOOL:
            ((uint8_t *)room)[i] = expr->value.i != 0;
            break;
        default:
            ((struct rows_text *)room)[i] =
                (struct rows_text){expr->text_size > 0 ? expr->text : NULL, expr->text_size};
            break;
        }
    }
}

/* What a node with these operands reads besides them: nothing. */
static void
node_note_source(struct node *node)
{
    bool several = false;

    for (size_t k = 0; k < node->count; k++) {
        const struct node *operand = node->operands[k];

        if (!operand->reads) {
            continue;
        }
        several = several || operand->source == NULL || (node->reads && node->source != operand->source);
        node->reads = true;
        node->source = operand->source;
    }
    if (several) {
        node->source = NULL;
    }
}

static granary_err
column_node(struct net *net, size_t index, struct node **ret_node)
{
    struct node *node = net->bindings[index].node;

    if (node == NULL) {
        const granary_column *column = &net->frame->columns[index].view;
        granary_err err = net_add(net, rows_class_of(column), &node);

        if (err != GRANARY_OK) {
            return err;
        }
        node->kind = NODE_COLUMN;
        node->column = column;
        node->dtype = column->dtype;
        node->dictionary = node->column->dictionary;
        node->reads = true;
        node->source = node->dictionary != NULL ? node : NULL;
        net->bindings[index].node = node;
    }
    *ret_node = node;
    return GRANARY_OK;
}

/* A dtype with fewer digits is all that a function with a mark has of its own. */
static enum gr_expr_op
computed_as(enum gr_expr_op op)
{
    return op >= GR_OP_SHORT_SIGN && op <= GR_OP_SHORT_ROUND ? op - GR_OP_SHORT_SIGN + GR_OP_SIGN : op;
}

/* Never 0. Equal nodes have equal hashes, but for floats that are equal and written otherwise. */
static uint64_t
hash_of(const struct gr_expr *expr, struct node *const *operands, size_t count)
{
    const bool literal = expr->kind == GR_EXPR_LITERAL;
    uint64_t parts[4] = {(uint64_t)expr->kind, (uint64_t)expr->dtype, 0, 0};

    if (!literal) {
        parts[2] = (uint64_t)computed_as(expr->op);
        parts[3] = count > 0 ? gr_hash64(operands, count * sizeof(struct node *)) : 0;
    } else if (expr->text_size > 0) {
        parts[3] = gr_hash64(expr->text, expr->text_size);
    } else {
        memcpy(&parts[3], &expr->value, sizeof parts[3]);
    }
    return gr_hash64(parts, sizeof parts) | 1;
}

/* The same call or literal, made before. */
static struct node *
find_equal(const struct net *net, const struct gr_expr *expr, struct node *const *operands, size_t count, uint64_t hash)
{
    struct node *node = net->bucket_count == 0 ? NULL : net->buckets[hash >> 1 & (net->bucket_count - 1)];

    for (; node != NULL; node = node->next) {
        if (node->hash != hash || node->expr->kind != expr->kind || node->dtype != expr->dtype) {
            continue;
        }
        if (expr->kind == GR_EXPR_LITERAL) {
            if (gr_expr_equal(node->expr, expr)) {
                return node;
            }
        } else if (node->op == computed_as(expr->op) && node->expr->target == expr->target &&
                   node->expr->digits == expr->digits && node->count == count &&
                   memcmp(node->operands, operands, count * sizeof(struct node *)) == 0 &&
                   (count == expr->operand_count || gr_expr_equal(node->expr, expr))) {
            return node;
        }
    }
    return NULL;
}

static void
put_in_bucket(struct net *net, struct node *node)
{
    struct node **bucket = &net->buckets[node->hash >> 1 & (net->bucket_count - 1)];

    node->next = *bucket;
    *bucket = node;
}

/* A node that is to be found again. */
static granary_err
keep_findable(struct net *net, struct node *node, uint64_t hash)
{
    node->hash = hash;
    if (net->hashed == net->bucket_count) {
        size_t count = net->bucket_count == 0 ? 16 : 2 * net->bucket_count;
        struct node **buckets = calloc(count, sizeof(struct node *));

        if (buckets == NULL) {
            return node_no_memory();
        }
        free(net->buckets);
        net->buckets = buckets;
        net->bucket_count = count;
        for (size_t i = 0; i < net->node_count; i++) {
            if (net->nodes[i]->hash != 0 && net->nodes[i] != node) {
                put_in_bucket(net, net->nodes[i]);
            }
        }
    }
    net->hashed++;
    put_in_bucket(net, node);
    return GRANARY_OK;
}

static granary_err node_build(struct net *net, const struct gr_expr *expr, struct node **ret_node);

static granary_err
build_call(struct net *net, const struct gr_expr *expr, struct node **ret_node)
{
    struct node **operands = calloc(expr->operand_count, sizeof(struct node *));
    struct among *among = NULL;
    struct node *node = NULL;
    size_t count = expr->operand_count;
    uint64_t hash = 0;
    granary_err err = operands == NULL ? node_no_memory() : GRANARY_OK;

    if (err == GRANARY_OK && expr->op == GR_OP_IN) {
        err = among_create(expr, &among);
        count = among != NULL ? 1 : count;
    }
    for (size_t k = 0; k < count && err == GRANARY_OK; k++) {
        err = node_build(net, expr->operands[k], &operands[k]);
    }
    hash = err == GRANARY_OK ? hash_of(expr, operands, count) : 0;
    *ret_node = err == GRANARY_OK ? find_equal(net, expr, operands, count, hash) : NULL;
    if (err == GRANARY_OK && *ret_node == NULL) {
        err = net_add(net, rows_class_of_dtype(expr->dtype), &node);
    }
    if (node == NULL) {
        among_free(among);
        free(operands);
        return err;
    }
    node->kind = NODE_CALL;
    node->op = computed_as(expr->op);
    node->dtype = expr->dtype;
    node->among = among;
    node->operands = operands;
    node->count = count;
    node->expr = expr;
    node_note_source(node);
    *ret_node = node;
    return keep_findable(net, node, hash);
}

static granary_err
node_build(struct net *net, const struct gr_expr *expr, struct node **ret_node)
{
    granary_err err = GRANARY_OK;
    struct node *node;
    uint64_t hash;

    if (expr->kind == GR_EXPR_COLUMN) {
        return column_node(net, (size_t)expr->column_index, ret_node);
    }
    if (expr->kind == GR_EXPR_CALL) {
        return build_call(net, expr, ret_node);
    }
    hash = hash_of(expr, NULL, 0);
    node = find_equal(net, expr, NULL, 0, hash);
    if (node == NULL) {
        err = net_add(net, rows_class_of_dtype(expr->dtype), &node);
        if (err != GRANARY_OK) {
            return err;
        }
        node->kind = NODE_CONSTANT;
        node->dtype = expr->dtype;
        node->expr = expr;
        /* A frame, and a dictionary whose entries are computed, may have fewer rows than a block. */
        constant_fill(node, net->frame->rows < 1 ? 1 : net->frame->rows < ROWS_BLOCK ? net->frame->rows : ROWS_BLOCK);
        err = keep_findable(net, node, hash);
    }
    *ret_node = node;
    return err;
}

/* What depends on one dictionary column is computed for its entries, not for its rows. */
static granary_err
make_lookups(struct net *net, struct node *node)
{
    granary_err err = GRANARY_OK;

    if (node->kind != NODE_CALL || !node->reads) {
        return GRANARY_OK;
    }
    if (node->source != NULL && node->base != ROWS_LIST && node->source->column->dictionary->rows <= net->frame->rows) {
        err = lookup_make(net, node);
        if (err != GRANARY_OK || node->kind == NODE_LOOKUP) {
            return err;
        }
    }
    for (size_t k = 0; k < node->count && err == GRANARY_OK; k++) {
        err = make_lookups(net, node->operands[k]);
    }
    return err;
}

/* ---- the net ---- */

granary_err
net_create(const granary_frame *frame, struct net **ret_net)
{
    struct net *net = calloc(1, sizeof *net);
    granary_err err = GRANARY_OK;

    if (net == NULL || (net->bindings = calloc(frame->count + 1, sizeof *net->bindings)) == NULL) {
        free(net);
        return node_no_memory();
    }
    net->frame = frame;
    net->generation = 1;
    for (size_t i = 0; i < frame->count && err == GRANARY_OK; i++) {
        err = gr_schema_add(&net->schema, frame->columns[i].view.name, frame->columns[i].view.dtype);
    }
    if (err != GRANARY_OK) {
        net_destroy(net);
        return err;
    }
    *ret_net = net;
    return GRANARY_OK;
}

void
net_destroy(struct net *net)
{
    if (net == NULL) {
        return;
    }
    for (size_t i = 0; i < net->node_count; i++) {
        node_destroy(net->nodes[i]);
    }
    for (size_t i = 0; i < net->root_count; i++) {
        gr_expr_destroy(net->roots[i].expr);
    }
    free(net->nodes);
    free(net->buckets);
    free(net->roots);
    free(net->bindings);
    gr_schema_free(&net->schema);
    free(net);
}

/* Parse and check; the net keeps the expression. */
static granary_err
add_root(struct net *net, const char *text, struct root **ret_root)
{
    struct root *roots = realloc(net->roots, (net->root_count + 1) * sizeof *roots);
    struct root *root;
    granary_err err;

    if (roots == NULL) {
        return node_no_memory();
    }
    net->roots = roots;
    root = &roots[net->root_count];
    *root = (struct root){0};
    net->root_count++;
    err = gr_expr_parse(text, &root->expr); /* its messages name the expression */
    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_expr_check(root->expr, &net->schema);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "expression `%.240s`", text);
    }
    *ret_root = root;
    return GRANARY_OK;
}

static granary_err
add_value(struct net *net, const char *text, struct node **ret_node)
{
    struct root *root = NULL;
    granary_err err = add_root(net, text, &root);

    if (err == GRANARY_OK) {
        err = node_build(net, root->expr, &root->node);
    }
    if (err == GRANARY_OK) {
        *ret_node = root->node;
    }
    return err;
}

granary_err
net_define(struct net *net, const char *name, const char *text)
{
    struct node *node = NULL;
    int index = gr_schema_find(&net->schema, name);
    granary_err err = add_value(net, text, &node);

    if (err != GRANARY_OK) {
        return gr_fail_in(err, "column '%s'", name);
    }
    if (index < 0) {
        struct binding *bindings = realloc(net->bindings, (net->schema.count + 1) * sizeof *bindings);

        if (bindings == NULL) {
            return node_no_memory();
        }
        net->bindings = bindings;
        err = gr_schema_add(&net->schema, name, node->dtype);
        if (err != GRANARY_OK) {
            return err;
        }
        index = (int)net->schema.count - 1;
    }
    net->schema.fields[index].dtype = node->dtype;
    net->bindings[index].node = node;
    return GRANARY_OK;
}

granary_err
net_value(struct net *net, const char *text, struct node **ret_node)
{
    int index = gr_schema_find(&net->schema, text);
    granary_err err;

    if (index >= 0) {
        err = column_node(net, (size_t)index, ret_node);
    } else {
        err = add_value(net, text, ret_node);
    }
    return err == GRANARY_OK ? make_lookups(net, *ret_node) : err;
}

granary_err
net_condition(struct net *net, const char *text, struct node ***ret_parts, size_t *ret_count)
{
    struct root *root;
    const struct gr_expr **exprs = NULL;
    struct node **parts = NULL;
    size_t count = 0;
    granary_err err = add_root(net, text, &root);

    if (err == GRANARY_OK && root->expr->dtype != GRANARY_BOOL &&
        !(root->expr->kind == GR_EXPR_LITERAL && root->expr->is_null) && root->expr->dtype != GRANARY_NULLTYPE) {
        err = gr_fail(GRANARY_ETYPE, "expression `%.240s` is %s: a condition must be bool", text,
                      granary_dtype_name(root->expr->dtype));
    }
    if (err == GRANARY_OK) {
        err = gr_expr_conjuncts(root->expr, &exprs, &count);
    }
    if (err == GRANARY_OK && (parts = calloc(count, sizeof(struct node *))) == NULL) {
        err = node_no_memory();
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = node_build(net, exprs[i], &parts[i]);
        if (err == GRANARY_OK) {
            err = make_lookups(net, parts[i]);
        }
    }
    free(exprs);
    if (err != GRANARY_OK) {
        free(parts);
        return err;
    }
    *ret_parts = parts;
    *ret_count = count;
    return GRANARY_OK;
}

void
net_move(struct net *net, const struct extent *extent)
{
    net->extent = *extent;
    net->generation++;
}

void
net_fill(struct net *net, bool filling)
{
    net->filling = filling;
}

granary_err
net_compute(struct net *net, struct node *node)
{
    granary_err err = GRANARY_OK;

    if (node->kind == NODE_CONSTANT || node->generation == net->generation) {
        return GRANARY_OK;
    }
    if (node->kind == NODE_COLUMN) {
        load_column(node, &net->extent);
    } else if (node->kind == NODE_LOOKUP && !net->filling) {
        err = net_compute(net, (struct node *)(uintptr_t)node->source);
        if (err == GRANARY_OK) {
            lookup_compute(node, net->extent.n);
        }
    } else {
        for (size_t k = 0; k < node->count && err == GRANARY_OK; k++) {
            err = net_compute(net, node->operands[k]);
        }
        err = err == GRANARY_OK ? call_compute(node, net->extent.n) : err;
    }
    node->generation = net->generation;
    return err;
}

/* The node that failed by itself, among those below node that are bad in row i. */
static const struct node *
find_culprit(const struct node *node, int64_t i)
{
    for (size_t k = 0; node->kind == NODE_CALL && k < node->count; k++) {
        const struct node *operand = node->operands[k];
        /* Of case, the value of a branch counts only when its condition holds. */
        bool value = node->op == GR_OP_CASE && k % 2 == 1 && k + 1 < node->count;

        if (operand->bad != NULL && operand->bad[i] != 0 &&
            (!value ||
             (((const uint8_t *)node->operands[k - 1]->values)[i] != 0 && node_counts(node->operands[k - 1], i)))) {
            return find_culprit(operand, i);
        }
    }
    return node;
}

granary_err
net_fail(const struct net *net, const struct node *node, int64_t i)
{
    const struct node *culprit = find_culprit(node, i);
    int64_t row = net->extent.from + (net->extent.selected != NULL ? net->extent.selected[i] : i);
    char *text = culprit->expr == NULL ? NULL : gr_expr_text(culprit->expr);
    char reason[400];

    op_reason(culprit, i, reason, sizeof reason);
    (void)gr_fail(GRANARY_EFAILED, "expression `%.240s`: %s (row %lld of its chunk)", text != NULL ? text : "?", reason,
                  (long long)row);
    free(text);
    return GRANARY_EFAILED;
}
