/* Blocks of rows: conditions one by one, then the values wanted of what they leave. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "data/value/bits.h"
#include "graph/dtype_class.h"
#include "kernel/rows/node.h"
#include "kernel/simd/rows_loops.h"

/* column OP constant, computed on the values as they are stored. */
struct quick {
    const granary_column *column;
    enum gr_expr_op op;
    granary_dtype kind;
    size_t size;
    union rows_bound bound;
    size_t place; /* among the conditions as written */
};

struct part {
    struct node *node;
    size_t cost;
    size_t place; /* among the conditions as written */
};

struct rows {
    const granary_frame *frame;
    struct net *net;
    struct quick *quicks;
    size_t quick_count;
    struct part *parts; /* the other conditions */
    size_t part_count;
    struct node **wanted;
    struct rows_vector *vectors;
    size_t wanted_count;
    int64_t at; /* next row of the frame */
    int failed;
    uint8_t mask[ROWS_BLOCK];
    uint16_t selected[2][ROWS_BLOCK + 32];
    /* Which condition could not be computed for a row of the block, plus one; only while any could not. */
    uint16_t pending[ROWS_BLOCK];
};

/* ---- conditions ---- */

/* Whether a comparison with a number is true of nans. */
static bool
is_total_above(enum gr_expr_op op)
{
    return op == GR_OP_TOTAL_GREATER || op == GR_OP_TOTAL_GREATER_EQUAL;
}

/* Whether a condition is column OP constant, both of one form and the constant within what the column can hold. */
static bool
quick_of(const struct node *node, struct quick *ret_quick)
{
    const struct node *column;
    const struct node *constant;
    gr_int128 integer;
    bool turned;

    if (node->kind != NODE_CALL || node->op < GR_OP_EQUAL || node->op > GR_OP_TOTAL_GREATER_EQUAL) {
        return false;
    }
    turned = node->operands[0]->kind == NODE_CONSTANT;
    column = node->operands[turned];
    constant = node->operands[!turned];
    if (column->kind != NODE_COLUMN || constant->kind != NODE_CONSTANT || constant->valid != NULL ||
        (column->base != ROWS_INT && column->base != ROWS_DOUBLE) || column->base != constant->base ||
        gr_dtype_scale(column->dtype) != gr_dtype_scale(constant->dtype)) {
        return false;
    }
    ret_quick->op = turned ? gr_expr_op_mirrored(node->op) : node->op;
    ret_quick->column = column->column;
    ret_quick->kind = gr_dtype_kind(column->column->dtype);
    ret_quick->size = gr_dtype_size(column->column->dtype);
    if (column->base == ROWS_DOUBLE) {
        double real = constant->expr->value.d;

        ret_quick->bound.real = real;
        if (ret_quick->op != gr_expr_op_plain(ret_quick->op) && !is_total_above(ret_quick->op)) {
            return false; /* what the loops know */
        }
        return ret_quick->kind == GRANARY_FLOAT64 || (double)(float)real == real;
    }
    integer = constant->expr->value.i;
    ret_quick->bound.integer = (int64_t)integer;
    return gr_dtype_fits(ret_quick->kind, integer) && gr_dtype_fits(GRANARY_INT64, integer);
}

/* What is known of a column of the frame; NULL: nothing. */
static const struct gr_column_stats *
stats_of(const granary_frame *frame, const granary_column *column)
{
    for (size_t i = 0; column != NULL && i < frame->count; i++) {
        if (&frame->columns[i].view == column) {
            return gr_frame_stats(frame, i);
        }
    }
    return NULL;
}

/* What the zone says of a condition: 1 true in all rows, -1 in none, 0 unknown. */
static int
zone_tells(const granary_frame *frame, const struct quick *quick)
{
    const struct gr_column_stats *stats = stats_of(frame, quick->column);
    enum gr_expr_op op = gr_expr_op_plain(quick->op);
    bool of_nans = op == GR_OP_NOT_EQUAL || is_total_above(quick->op);
    int low;
    int high;

    if (stats == NULL || !stats->has_zone) {
        return 0;
    }
    if (gr_dtype_is_float(quick->kind)) {
        low = (stats->min.real > quick->bound.real) - (stats->min.real < quick->bound.real);
        high = (stats->max.real > quick->bound.real) - (stats->max.real < quick->bound.real);
        if (isnan(quick->bound.real) || (stats->has_nan && of_nans)) {
            return 0;
        }
    } else if (quick->kind == GRANARY_DECIMAL) {
        double bound = (double)quick->bound.integer;

        if (fabs(bound) > 9007199254740992.0) {
            return 0;
        }
        low = (stats->min.real > bound) - (stats->min.real < bound);
        high = (stats->max.real > bound) - (stats->max.real < bound);
    } else {
        low = (stats->min.integer > quick->bound.integer) - (stats->min.integer < quick->bound.integer);
        high = (stats->max.integer > quick->bound.integer) - (stats->max.integer < quick->bound.integer);
    }
    /* All values lie on one side of the bound, or are the bound. */
    if (low > 0 || high < 0 || (low == 0 && high == 0)) {
        bool holds = gr_expr_op_holds(op, low > 0 ? 1 : high < 0 ? -1 : 0);

        return !holds ? -1 : stats->nulls == 0 && !stats->has_nan ? 1 : 0;
    }
    /* They touch it from one side. */
    if (low == 0 && (op == GR_OP_GREATER_EQUAL || op == GR_OP_LESS)) {
        return op == GR_OP_LESS ? -1 : stats->nulls == 0 && !stats->has_nan ? 1 : 0;
    }
    if (high == 0 && (op == GR_OP_LESS_EQUAL || op == GR_OP_GREATER)) {
        return op == GR_OP_GREATER ? -1 : stats->nulls == 0 && !stats->has_nan ? 1 : 0;
    }
    return 0;
}

/* Roughly what a row costs. */
static size_t
cost_of(const struct node *node)
{
    size_t cost = 1;

    if (node->kind != NODE_CALL) {
        return node->base == ROWS_TEXT ? 4 : 1;
    }
    for (size_t k = 0; k < node->count; k++) {
        cost += cost_of(node->operands[k]);
    }
    return cost + call_cost(node);
}

static int
by_cost(const void *a, const void *b)
{
    const struct part *x = a;
    const struct part *y = b;

    return x->cost != y->cost ? (x->cost > y->cost) - (x->cost < y->cost)
                              : (x->place > y->place) - (x->place < y->place);
}

/* Small values first: they decide for less traffic. */
static int
by_size(const void *a, const void *b)
{
    const struct quick *x = a;
    const struct quick *y = b;

    if (x->size != y->size) {
        return x->size < y->size ? -1 : 1;
    }
    return (x->place > y->place) - (x->place < y->place);
}

static granary_err
open_condition(struct rows *rows, const char *where)
{
    struct node **parts = NULL;
    size_t count = 0;
    granary_err err = net_condition(rows->net, where, &parts, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    rows->quicks = calloc(count, sizeof *rows->quicks);
    rows->parts = calloc(count, sizeof *rows->parts);
    if (rows->quicks == NULL || rows->parts == NULL) {
        err = node_no_memory();
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        struct quick *quick = &rows->quicks[rows->quick_count];

        if (parts[i]->kind == NODE_CONSTANT) {
            bool holds = parts[i]->valid == NULL && *(const uint8_t *)parts[i]->values != 0;

            rows->at = holds ? rows->at : rows->frame->rows;
        } else if (quick_of(parts[i], quick)) {
            int told = zone_tells(rows->frame, quick);

            rows->at = told < 0 ? rows->frame->rows : rows->at;
            quick->place = i;
            rows->quick_count += told == 0;
        } else {
            rows->parts[rows->part_count++] = (struct part){parts[i], cost_of(parts[i]), i};
        }
    }
    free(parts);
    if (err == GRANARY_OK) {
        qsort(rows->quicks, rows->quick_count, sizeof *rows->quicks, by_size);
        qsort(rows->parts, rows->part_count, sizeof *rows->parts, by_cost);
    }
    return err;
}

/* ---- opening ---- */

static granary_err
open_wanted(struct rows *rows, const granary_frame *frame, const struct rows_spec *spec)
{
    granary_err err = GRANARY_OK;

    rows->wanted = calloc(spec->wanted_count + 1, sizeof(struct node *));
    rows->vectors = calloc(spec->wanted_count + 1, sizeof *rows->vectors);
    if (rows->wanted == NULL || rows->vectors == NULL) {
        return node_no_memory();
    }
    for (size_t i = 0; i < spec->wanted_count && err == GRANARY_OK; i++) {
        err = net_value(rows->net, spec->wanted[i], &rows->wanted[i]);
        rows->wanted_count = i + 1;
    }
    for (size_t i = 0; i < spec->wanted_count && err == GRANARY_OK; i++) {
        const struct node *node = rows->wanted[i];

        rows->vectors[i] = (struct rows_vector){.dtype = node->dtype,
                                                .class = node->base,
                                                .dictionary = node->base == ROWS_CODE ? node->dictionary : NULL,
                                                .column = node->kind == NODE_COLUMN ? node->column : NULL};
        rows->vectors[i].stats = stats_of(frame, rows->vectors[i].column);
    }
    return err;
}

granary_err
rows_open(const granary_frame *frame, const struct rows_spec *spec, struct rows **ret_rows)
{
    struct rows *rows = calloc(1, sizeof *rows);
    granary_err err;

    if (rows == NULL) {
        return node_no_memory();
    }
    rows->frame = frame;
    rows->failed = -1;
    err = net_create(frame, &rows->net);
    for (size_t i = 0; err == GRANARY_OK && spec->columns != NULL && i < spec->columns->n_keys; i++) {
        err = net_define(rows->net, spec->columns->keys[i], spec->columns->strings[i]);
    }
    if (err == GRANARY_OK && spec->where != NULL) {
        err = open_condition(rows, spec->where);
    }
    if (err == GRANARY_OK) {
        err = open_wanted(rows, frame, spec);
    }
    if (err != GRANARY_OK) {
        rows_close(rows);
        return err;
    }
    *ret_rows = rows;
    return GRANARY_OK;
}

void
rows_close(struct rows *rows)
{
    if (rows == NULL) {
        return;
    }
    net_destroy(rows->net);
    free(rows->quicks);
    free(rows->parts);
    free(rows->wanted);
    free(rows->vectors);
    free(rows);
}

int
rows_failed(const struct rows *rows)
{
    return rows->failed;
}

const struct rows_vector *
rows_vector(const struct rows *rows, size_t i)
{
    return &rows->vectors[i];
}

/* ---- a block ---- */

/* The rows of the block that one condition leaves, of those in the mask. */
static void
mask_quickly(const struct quick *quick, const struct extent *extent, uint8_t *mask)
{
    const uint8_t *validity = quick->column->validity;

    SIMD_CALL(rows_mask)
    (quick->op, quick->kind, (const char *)quick->column->values + (size_t)extent->from * quick->size, quick->bound,
     mask, extent->n);
    if (validity != NULL) {
        uint8_t there[ROWS_BLOCK];

        bits_spread(validity, extent->from, extent->n, there);
        for (int64_t row = 0; row < extent->n; row++) {
            mask[row] &= there[row];
        }
    }
}

/* The same of the rows selected, in place. */
static int64_t
sift_quickly(const struct quick *quick, const struct extent *extent, uint16_t *selected, int64_t n)
{
    const uint8_t *validity = quick->column->validity;
    int64_t left = SIMD_CALL(rows_sift)(quick->op, quick->kind,
                                        (const char *)quick->column->values + (size_t)extent->from * quick->size,
                                        quick->bound, selected, n);
    int64_t there = 0;

    if (validity == NULL) {
        return left;
    }
    for (int64_t i = 0; i < left; i++) {
        selected[there] = selected[i];
        there += gr_bit(validity, extent->from + selected[i]);
    }
    return there;
}

/*
 * The rows of the extent, which is all of the block so far, that the quick conditions leave. It takes whole vectors
 * as long as many rows are left, then those rows alone, so that the others' values need not be fetched.
 */
static void
select_quickly(struct rows *rows, struct extent *extent)
{
    int64_t left;
    size_t i = 0;

    if (rows->quick_count == 0) {
        return;
    }
    memset(rows->mask, 1, (size_t)extent->n);
    do {
        mask_quickly(&rows->quicks[i++], extent, rows->mask);
        left = SIMD_CALL(rows_count)(rows->mask, extent->n);
    } while (i < rows->quick_count && left > extent->n / 4);
    left = SIMD_CALL(rows_positions)(rows->mask, extent->n, rows->selected[0]);
    for (; i < rows->quick_count && left > 0; i++) {
        left = sift_quickly(&rows->quicks[i], extent, rows->selected[0], left);
    }
    extent->selected = left < extent->n ? rows->selected[0] : NULL;
    extent->n = left;
}

static int64_t
position_of(const struct extent *extent, int64_t i)
{
    return extent->selected != NULL ? extent->selected[i] : i;
}

/* Whether a row stays: the condition is true, or could not be told and another one may still leave the row out. */
static void
mask_of(struct rows *rows, size_t part, const struct extent *extent, bool *ret_pending)
{
    const struct node *node = rows->parts[part].node;
    const uint8_t *truth = node->values;

    if (node->class != ROWS_BOOL) {
        memset(rows->mask, 0, (size_t)extent->n);
    } else if (node->valid == NULL) {
        memcpy(rows->mask, truth, (size_t)extent->n);
    } else {
        for (int64_t i = 0; i < extent->n; i++) {
            rows->mask[i] = truth[i] & node->valid[i];
        }
    }
    for (int64_t i = 0; node->bad != NULL && i < extent->n; i++) {
        int64_t at = position_of(extent, i);

        if (node->bad[i] == 0) {
            continue;
        }
        if (!*ret_pending) {
            memset(rows->pending, 0, sizeof rows->pending);
            *ret_pending = true;
        }
        rows->mask[i] = 1;
        rows->pending[at] = rows->pending[at] != 0 ? rows->pending[at] : (uint16_t)(part + 1);
    }
}

static void
extent_narrow(struct rows *rows, struct extent *extent)
{
    uint16_t *to = extent->selected == rows->selected[0] ? rows->selected[1] : rows->selected[0];
    int64_t left = SIMD_CALL(rows_positions)(rows->mask, extent->n, to);

    if (left == extent->n) {
        return;
    }
    for (int64_t i = 0; extent->selected != NULL && i < left; i++) {
        to[i] = extent->selected[to[i]];
    }
    extent->selected = to;
    extent->n = left;
}

/* A row that nothing has left out, but of which one condition could not be told: that is the error. */
static granary_err
fail_pending(struct rows *rows, const struct extent *extent)
{
    for (int64_t i = 0; i < extent->n; i++) {
        int64_t at = position_of(extent, i);

        if (rows->pending[at] != 0) {
            struct node *node = rows->parts[rows->pending[at] - 1].node;
            granary_err err;

            net_move(rows->net, &(struct extent){.from = extent->from + at, .n = 1});
            err = net_compute(rows->net, node);
            return err == GRANARY_OK ? net_fail(rows->net, node, 0) : err;
        }
    }
    return GRANARY_OK;
}

static granary_err
select_rows(struct rows *rows, struct extent *extent)
{
    bool pending = false;

    select_quickly(rows, extent);
    for (size_t i = 0; i < rows->part_count && extent->n > 0; i++) {
        granary_err err;

        net_move(rows->net, extent);
        err = net_compute(rows->net, rows->parts[i].node);
        if (err != GRANARY_OK) {
            return err;
        }
        mask_of(rows, i, extent, &pending);
        extent_narrow(rows, extent);
    }
    return pending ? fail_pending(rows, extent) : GRANARY_OK;
}

static granary_err
compute_wanted(struct rows *rows, const struct extent *extent)
{
    net_move(rows->net, extent);
    for (size_t i = 0; i < rows->wanted_count; i++) {
        struct node *node = rows->wanted[i];
        granary_err err = net_compute(rows->net, node);

        rows->failed = (int)i;
        if (err != GRANARY_OK) {
            return err;
        }
        for (int64_t row = 0; node->bad != NULL && row < extent->n; row++) {
            if (node->bad[row] != 0) {
                return net_fail(rows->net, node, row);
            }
        }
        rows->vectors[i].class = node->class;
        rows->vectors[i].values = node->values;
        rows->vectors[i].valid = node->valid;
    }
    rows->failed = -1;
    return GRANARY_OK;
}

granary_err
rows_next(struct rows *rows, struct rows_block *ret_block)
{
    while (rows->at < rows->frame->rows) {
        int64_t left = rows->frame->rows - rows->at;
        struct extent extent = {.from = rows->at, .n = left < ROWS_BLOCK ? left : ROWS_BLOCK};
        granary_err err = select_rows(rows, &extent);

        rows->at += left < ROWS_BLOCK ? left : ROWS_BLOCK;
        if (err == GRANARY_OK && extent.n > 0) {
            err = compute_wanted(rows, &extent);
        }
        if (err != GRANARY_OK || extent.n > 0) {
            *ret_block = (struct rows_block){extent.from, extent.n, extent.selected};
            return err;
        }
    }
    *ret_block = (struct rows_block){.from = rows->frame->rows};
    return GRANARY_OK;
}
