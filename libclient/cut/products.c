/*
 * Products, and factorisations of tall matrices. A partition has whole blocks of rows, where the matrix is cut in one place, too
 * (graph/tensor/tall.h): so each block has the digits that it has there.
 *
 *   a product                             rows of its left side where they are; the right side is brought to them
 *   a' b of tall a and b                  product_partial -> product_combine
 *   qr, svd                               qr_partial -> qr_combine; rows of q and u by qr_apply
 */
#include "graph/tensor/tall.h"

#include <string.h>

#include "cut/flow.h"

static const char *const unaligned = "rows of its partitions do not begin where blocks of rows do";

/* ---- blocks ---- */

/* The rows of a block in which the node takes a tall matrix, and how many rows that has; 0: it takes none. */
static int64_t
block_of(const struct gr_node *node, int64_t *ret_rows)
{
    const struct gr_node_type *a = node->input_count > 0 ? &node->inputs[0]->type : NULL;

    if (a == NULL || a->dims != 2 || gr_type_is_unsized(a)) {
        return 0;
    }
    *ret_rows = a->shape[0];
    if (node->op == GR_TILE_matmul && !gr_type_is_unsized(&node->inputs[1]->type)) {
        int64_t n = node->inputs[1]->type.shape[1];

        *ret_rows = a->shape[1];
        return gr_product_way(a->shape[0], a->shape[1], n) == GR_PRODUCT_BY_SUMS ? gr_product_block(a->shape[0], n) : 0;
    }
    return (node->op == GR_TILE_qr || node->op == GR_TILE_svd) && gr_factor_is_tall(a->shape[0], a->shape[1])
               ? gr_factor_block(a->shape[0], a->shape[1])
               : 0;
}

/* The rows of a strip of the left side of a product of matrices, and how many rows that has; 0: it is none. */
static int64_t
strip_of(const struct gr_node *node, int64_t *ret_rows)
{
    const struct gr_node_type *a = node->op == GR_TILE_matmul ? &node->inputs[0]->type : NULL;

    if (a == NULL || a->dims != 2 || gr_type_is_unsized(a)) {
        return 0;
    }
    *ret_rows = a->shape[0];
    return gr_product_strip(a->shape[0]);
}

/* Whether each partition has a block at least. */
static bool
is_enough(const struct cut *cut, int64_t rows, int64_t block)
{
    return rows > 0 && (rows - 1) / block >= (int64_t)cut->parts - 1;
}

/* The driver cuts tensors that it gives at any row, so others of as many rows, which may meet them, are cut so, too. */
int64_t
tensor_align(struct cut *cut, int64_t rows)
{
    int64_t align = 1;

    for (size_t i = 0; i < cut->graph->count; i++) {
        const struct gr_node *node = cut->graph->nodes[i];
        int64_t theirs[2] = {0, 0};
        const int64_t blocks[2] = {block_of(node, &theirs[0]), strip_of(node, &theirs[1])};

        if (node->input_count == 0 && node->type.dims > 0 && node->type.shape[0] == rows &&
            source_given(cut, node) != NULL) {
            return 1;
        }
        for (size_t k = 0; k < 2; k++) {
            if (blocks[k] > align && theirs[k] == rows && is_enough(cut, rows, blocks[k])) {
                align = blocks[k]; /* powers of two: the largest fits all */
            }
        }
    }
    return align;
}

static bool
is_aligned(const struct value *value, int64_t block)
{
    return value->flow->spread == SPREAD_PARTS && value->align > 0 && value->align % block == 0;
}

static void
set_part(struct cut *cut, struct flow *flow, int64_t align)
{
    flow_set(cut, flow, gr_attr_new_int("part", 0));
    flow_set(cut, flow, gr_attr_new_int("parts", (int64_t)cut->parts));
    flow_set(cut, flow, gr_attr_new_int("align", align));
    flow->takes_part = true;
}

static double
bytes_of(const struct gr_node_type *type)
{
    return 8.0 * (double)type->shape[0] * (double)(type->dims > 1 ? type->shape[1] : 1);
}

/* ---- products ---- */

/* Whether rows become the last dimension. */
static bool
is_transposed(const struct gr_node *node)
{
    const Granary__Attr *axes = gr_attr_find(node->node->attrs, node->node->n_attrs, "axes");
    int64_t last;

    if (node->op != GR_TILE_transpose || node->type.dims < 2) {
        return false;
    }
    last = axes == NULL || axes->n_ints == 0 ? 0 : axes->ints[axes->n_ints - 1];
    return last == 0 || last == -node->type.dims;
}

/*
 * What a node turns whose rows become columns, so that a partition can be turned by itself: a matrix; a vector, to a row; or a
 * tensor, to a matrix. NULL: it does not
 */
static const struct gr_node *
turned(const struct gr_node *node)
{
    const struct gr_node *from = node->input_count == 1 ? node->inputs[0] : NULL;
    int64_t rows;

    if (from == NULL || gr_type_is_unsized(&from->type) || node->type.dims < 2) {
        return NULL;
    }
    if (is_transposed(node)) {
        return from;
    }
    rows = node->type.shape[1];
    if (node->op != GR_TILE_reshape || node->type.dims != 2) {
        return NULL;
    }
    if (is_transposed(from) && from->type.shape[from->type.dims - 1] == rows) {
        return turned(from);
    }
    return node->type.shape[0] == 1 && from->type.dims > 0 && from->type.shape[0] == rows ? from : NULL;
}

/* Whether a product goes by sums of partitions. */
static bool
goes_by_sums(struct cut *cut, const struct gr_node *node)
{
    int64_t rows = 0, block = block_of(node, &rows);
    const struct gr_node *left = node->op == GR_TILE_matmul && block > 0 ? turned(node->inputs[0]) : NULL;
    const struct gr_node_type *a = &node->inputs[0]->type;

    return left != NULL && gr_product_way(a->shape[0], a->shape[1], node->type.shape[1]) == GR_PRODUCT_BY_SUMS &&
           is_aligned(&cut->values[left->position], block) &&
           is_aligned(&cut->values[node->inputs[1]->position], block) &&
           cut->values[left->position].align == cut->values[node->inputs[1]->position].align;
}

bool
product_turns(struct cut *cut, const struct gr_node *node)
{
    const struct gr_node *from = turned(node);
    bool read = false;

    if (from == NULL || cut->values[from->position].flow->spread != SPREAD_PARTS) {
        return false;
    }
    for (size_t t = 0; t < cut->graph->target_count; t++) {
        if (cut->graph->targets[t] == node->position) {
            return false;
        }
    }
    for (size_t i = node->position + 1; i < cut->graph->count; i++) {
        const struct gr_node *reader = cut->graph->nodes[i];

        for (size_t k = 0; k < reader->input_count; k++) {
            int64_t rows = 0;

            if (reader->inputs[k] != node) {
                continue;
            }
            if (reader->op == GR_TILE_reshape ? turned(reader) != from || !product_turns(cut, reader)
                                              : k != 0 || reader->op != GR_TILE_matmul ||
                                                    block_of(reader, &rows) == 0 || rows != node->type.shape[1]) {
                return false;
            }
            read = true;
        }
    }
    return read;
}

static struct flow *
turn(struct cut *cut, const struct gr_node *node)
{
    struct flow *flow = flow_of_node(cut, node, SPREAD_PARTS);
    const struct gr_node *from = turned(node);

    if (node->op == GR_TILE_reshape) {
        flow_set(cut, flow, gr_attr_new_ints("shape", (int64_t[]){node->type.shape[0], -1}, 2));
    }
    flow_reads(cut, flow, from == node->inputs[0] ? cut->values[from->position].flow : turn(cut, node->inputs[0]));
    return flow;
}

static struct value
by_sums(struct cut *cut, const struct gr_node *node)
{
    const char *name = node->node->name;
    int64_t rows = 0, block = block_of(node, &rows);
    struct flow *partial =
        flow_add(cut, cut_text(cut, "%s: each", name), "product_partial", SPREAD_PARTS, GR_YIELDS_TENSOR);
    struct flow *combine = flow_add(cut, name, "product_combine", SPREAD_ONE, GR_YIELDS_TENSOR);

    flow_reads(cut, partial, turn(cut, node->inputs[0]));
    flow_reads(cut, partial, cut->values[node->inputs[1]->position].flow);
    flow_set(cut, partial, gr_attr_new_int("block", block));
    partial->bytes = bytes_of(&node->type) * ((double)rows / (double)block + 1);
    partial->about = cut_text(cut, "products of blocks of rows, for '%s'", name);
    flow_set(cut, combine, gr_attr_new_int("rows", node->type.shape[0]));
    flow_set(cut, combine, gr_attr_new_string("dtype", granary_dtype_name(node->type.dtype)));
    combine->bytes = bytes_of(&node->type);
    flow_reads(cut, combine, flow_receive(cut, partial, TAKE_ALL, SPREAD_ONE));
    return value_of(cut, combine, node);
}

/* Rows of the left side, or matrices of stacks, where they are. */
static struct value
by_rows(struct cut *cut, const struct gr_node *node, struct flow *left, struct flow *right)
{
    bool is_stack = node->type.dims > 2;
    struct flow *flow = is_stack ? flow_of_node(cut, node, SPREAD_PARTS)
                                 : flow_add(cut, node->node->name, "product_rows", SPREAD_PARTS, GR_YIELDS_TENSOR);
    struct value value;

    if (!is_stack) {
        flow_set(cut, flow, gr_attr_new_int("rows", node->type.shape[0]));
    }
    flow_reads(cut, flow, left);
    flow_reads(cut, flow, right);
    flow->bytes = bytes_of(&node->type);
    value = value_of(cut, flow, node);
    value.align = cut->values[node->inputs[0]->position].align;
    return value;
}

struct value
place_product(struct cut *cut, const struct gr_node *node)
{
    struct value left = cut->values[node->inputs[0]->position], right = cut->values[node->inputs[1]->position];
    const struct gr_node_type *a = &node->inputs[0]->type;
    int64_t strip;

    if (gr_type_is_unsized(a) || gr_type_is_unsized(&node->inputs[1]->type)) {
        return place_gathered(cut, node, "how many rows operands have in a partition is not known");
    }
    if (a->dims > 2) {
        return left.flow->spread == SPREAD_PARTS && right.flow->spread == SPREAD_PARTS && left.align == right.align
                   ? by_rows(cut, node, left.flow, right.flow)
                   : place_gathered(cut, node, "an operand is in one place");
    }
    if (goes_by_sums(cut, node)) {
        return by_sums(cut, node);
    }
    strip = gr_product_strip(a->shape[0]);
    if (is_aligned(&left, strip)) {
        if (right.flow->spread == SPREAD_PARTS && right.flow->about == NULL) {
            right.flow->about = cut_text(cut, "the right side of '%s', for rows of the left side", node->node->name);
        }
        return by_rows(cut, node, left.flow, value_gather(cut, node->inputs[1], right, SPREAD_ANY).flow);
    }
    return place_gathered(cut, node,
                          left.flow->spread != SPREAD_PARTS     ? "its left side is in one place"
                          : !is_enough(cut, a->shape[0], strip) ? "it is small"
                                                                : unaligned);
}

/* ---- factorisations ---- */

/* All r of the blocks of a matrix, in one place; made once for all that read them. */
static struct flow *
stack_of(struct cut *cut, const struct gr_node *node, int64_t block)
{
    struct value *matrix = &cut->values[node->inputs[0]->position];
    const struct gr_node_type *a = &node->inputs[0]->type;
    struct flow *partial;

    if (matrix->factors == NULL) {
        partial = flow_over(cut, cut_text(cut, "%s: each", node->node->name), "qr_partial", matrix->flow);
        flow_set(cut, partial, gr_attr_new_int("block", block));
        partial->bytes = 8.0 * (double)(a->shape[1] * a->shape[1]) * ((double)a->shape[0] / (double)block + 1);
        partial->about = cut_text(cut, "r of blocks of rows, for '%s'", node->node->name);
        matrix->factors = flow_receive(cut, partial, TAKE_ALL, SPREAD_ONE);
    }
    return matrix->factors;
}

static struct flow *
combined(struct cut *cut, const struct gr_node *node, struct flow *stack, const char *part)
{
    struct flow *flow = flow_over(cut, cut_text(cut, "%s: %s", node->node->name, part), "qr_combine", stack);

    flow_set(cut, flow, gr_attr_new_string("part", part));
    return flow;
}

/* Rows of the matrix become those of q, or u. */
static struct value
applied(struct cut *cut, const struct gr_node *node, struct flow *top, int64_t block)
{
    struct value matrix = cut->values[node->inputs[0]->position], value;
    struct flow *flow = flow_add(cut, node->node->name, "qr_apply", SPREAD_PARTS, GR_YIELDS_TENSOR);

    top->about = cut_text(cut, "q of all blocks, for '%s'", node->node->name);
    flow_reads(cut, flow, matrix.flow);
    flow_reads(cut, flow, flow_receive(cut, top, TAKE_ALL, SPREAD_ANY));
    flow_set(cut, flow, gr_attr_new_int("block", block));
    flow_set(cut, flow, gr_attr_new_int("rows", node->type.shape[0]));
    set_part(cut, flow, matrix.align);
    flow->bytes = bytes_of(&node->type);
    value = value_of(cut, flow, node);
    value.align = matrix.align;
    return value;
}

static struct flow *
svd_of(struct cut *cut, const struct gr_node *node, struct flow *r, const char *part)
{
    struct flow *flow = flow_over(cut, node->node->name, "svd", r);

    flow_set(cut, flow, gr_attr_new_string("part", part));
    flow->bytes = bytes_of(&node->type);
    return flow;
}

struct value
place_factors(struct cut *cut, const struct gr_node *node)
{
    const char *part = GR_NODE_PARAMS(qr, node->node)->part; /* or of svd */
    struct value matrix = cut->values[node->inputs[0]->position];
    int64_t rows = 0, block = block_of(node, &rows);
    struct flow *stack, *top, *product;

    if (block == 0 || !is_aligned(&matrix, block)) {
        return place_gathered(cut, node,
                              gr_type_is_unsized(&node->inputs[0]->type) ? "how many rows there are is not known"
                              : block == 0                               ? "the matrix has fewer rows than two blocks"
                              : !is_enough(cut, rows, block)
                                  ? "the matrix has fewer blocks of rows than there are partitions"
                                  : unaligned);
    }
    stack = stack_of(cut, node, block);
    if (strcmp(part, "q") == 0) {
        return applied(cut, node, combined(cut, node, stack, "q"), block);
    }
    if (strcmp(part, "u") == 0) {
        top = combined(cut, node, stack, "q");
        product = flow_over(cut, cut_text(cut, "%s: q u", node->node->name), "product_partial", top);
        flow_set(cut, product, gr_attr_new_int("block", node->inputs[0]->type.shape[1])); /* at once */
        flow_reads(cut, product, svd_of(cut, node, combined(cut, node, stack, "r"), "u"));
        return applied(cut, node, product, block);
    }
    top = combined(cut, node, stack, "r");
    return value_of(cut, node->op == GR_TILE_svd ? svd_of(cut, node, top, part) : top, node);
}
