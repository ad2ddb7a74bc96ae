/*
 * Functions that compute an expression for each item of a list: transform, filter and reduce. The items of a block are rows of
 * a frame, beside which the other arguments are repeated, and the expression is computed for that frame as any is. A
 * reduction takes the first items of all rows, then the second ones, and so on.
 *
 * When an item cannot be computed, each row is tried by itself, and those that fail are bad.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/dtype_class.h"
#include "kernel/core/scratch.h"
#include "kernel/rows/lists/lists.h"

/* What an expression is computed of. */
struct lambda {
    const struct node *node;
    const char *body;
    char *cast;                  /* the expression in a cast, owned; or NULL */
    size_t first;                /* operand behind the expression */
    struct lists_view *view;     /* of the list */
    struct gr_column *arguments; /* the operands behind the expression, a value each row */
    /* Items that are rows now: of which row each is, which item of the list's column, and its place. */
    int64_t *rows;
    int64_t *items;
    int64_t *places;
    int64_t count;
};

static void
lambda_close(struct lambda *lambda)
{
    for (size_t k = 0; lambda->arguments != NULL && k < lambda->node->count; k++) {
        gr_column_free(&lambda->arguments[k]);
    }
    free(lambda->cast);
    free(lambda->arguments);
    free(lambda->rows);
    free(lambda->items);
    free(lambda->places);
    lists_close(lambda->view);
}

static granary_err
lambda_open(const struct node *node, int64_t n, struct lambda *lambda)
{
    size_t body = node->op == GR_OP_LIST_FOLD ? 2 : 1;
    size_t most;
    granary_err err;

    *lambda = (struct lambda){.node = node,
                              .body = node->expr->operands[body]->text,
                              .first = body + 1,
                              .arguments = calloc(node->count + 1, sizeof(struct gr_column))};
    err = lambda->arguments == NULL ? node_no_memory() : lists_open(node->operands[0], n, &lambda->view);
    for (size_t k = lambda->first; k < node->count && err == GRANARY_OK; k++) {
        err = lists_node_column(node->operands[k], n, &lambda->arguments[k]);
    }
    if (err == GRANARY_OK && lambda->view->all > INT32_MAX) {
        err = gr_fail(GRANARY_EFULL, "%s: %lld items in %lld rows, and there is room for 2147483647",
                      gr_expr_op_text(node->op), (long long)lambda->view->all, (long long)n);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    most = (size_t)(lambda->view->all > n ? lambda->view->all : n) + 1;
    lambda->rows = malloc(most * sizeof *lambda->rows);
    lambda->items = malloc(most * sizeof *lambda->items);
    lambda->places = malloc(most * sizeof *lambda->places);
    return lambda->rows == NULL || lambda->items == NULL || lambda->places == NULL ? node_no_memory() : GRANARY_OK;
}

/* What a reduction makes keeps its dtype. */
static granary_err
cast_body(struct lambda *lambda, granary_dtype dtype)
{
    if (asprintf(&lambda->cast, "cast((%s) as %s)", lambda->body, granary_dtype_name(dtype)) < 0) {
        lambda->cast = NULL;
        return node_no_memory();
    }
    lambda->body = lambda->cast;
    return GRANARY_OK;
}

/* One item more. */
static void
lambda_add(struct lambda *lambda, int64_t row, int64_t place)
{
    lambda->rows[lambda->count] = row;
    lambda->items[lambda->count] = lambda->view->from[row] + place;
    lambda->places[lambda->count] = place + 1;
    lambda->count++;
}

static granary_err
set_taken(granary_frame *frame, size_t position, const char *name, const granary_column *column, const int64_t *indices,
          granary_dtype dtype)
{
    struct gr_column taken;
    struct gr_column typed;
    granary_err err = gr_column_take(column, indices, frame->rows, &taken);

    if (err == GRANARY_OK && taken.view.dtype != dtype) { /* of nulls alone */
        struct gr_run all = {&taken.view, 0, frame->rows};

        err = gr_column_concat(&all, 1, dtype, &typed);
        gr_column_free(&taken);
        taken = typed;
    }
    return err == GRANARY_OK ? gr_frame_set(frame, position, name, &taken) : err;
}

static granary_err
set_places(granary_frame *frame, size_t position, const int64_t *places)
{
    struct gr_column column;
    granary_err err = gr_column_alloc_unset(GRANARY_INT64, frame->rows, 0, false, &column);

    if (err != GRANARY_OK) {
        return err;
    }
    if (frame->rows > 0) {
        memcpy((int64_t *)(uintptr_t)column.view.values, places, (size_t)frame->rows * sizeof *places);
    }
    return gr_frame_set(frame, position, "i", &column);
}

/* The items as rows. y: what they had made before, a value each row of the block; NULL: there is none. */
static granary_err
lambda_frame(const struct lambda *lambda, const granary_column *y, granary_frame **ret_frame)
{
    size_t arguments = lambda->node->count - lambda->first;
    granary_frame *frame = gr_frame_create(2 + (y != NULL) + arguments, lambda->count);
    granary_err err = frame == NULL ? node_no_memory() : GRANARY_OK;
    size_t at = 2;

    err = err == GRANARY_OK ? set_taken(frame, 0, "x", lambda->view->items, lambda->items,
                                        GRANARY_LIST_ITEM(lambda->node->operands[0]->dtype))
                            : err;
    err = err == GRANARY_OK ? set_places(frame, 1, lambda->places) : err;
    if (y != NULL && err == GRANARY_OK) {
        err = set_taken(frame, at++, "y", y, lambda->rows, y->dtype);
    }
    for (size_t k = 0; k < arguments && err == GRANARY_OK; k++) {
        const granary_column *column = &lambda->arguments[lambda->first + k].view;
        char name[32];

        (void)snprintf(name, sizeof name, "a%zu", k + 1);
        err = set_taken(frame, at++, name, column, lambda->rows, column->dtype);
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

/* The expression's values, of that dtype. */
static granary_err
lambda_compute(const struct lambda *lambda, const granary_column *y, granary_dtype dtype, struct gr_column *ret_column)
{
    static const char *const names[] = {"value"};
    const char *const wanted[] = {lambda->body};
    const struct rows_spec spec = {.wanted = wanted, .wanted_count = 1};
    granary_frame *frame = NULL;
    granary_frame *made = NULL;
    granary_err err = lambda_frame(lambda, y, &frame);

    err = err == GRANARY_OK ? rows_frame(frame, &spec, names, &made) : err;
    if (err == GRANARY_OK) {
        struct gr_run all = {&made->columns[0].view, 0, made->rows};

        err = gr_column_concat(&all, 1, dtype, ret_column);
    }
    gr_frame_destroy(made);
    gr_frame_destroy(frame);
    return err;
}

static bool
row_counts(const struct node *node, int64_t i)
{
    return node_counts(node, i) && (node->bad == NULL || node->bad[i] == 0);
}

/* A row is null when the list is; the other arguments are the expression's matter. */
static void
lambda_rows(struct node *node, int64_t n)
{
    const struct node *list = node->operands[0];

    node->valid = list->class == ROWS_LIST ? list->valid : NULL;
    node_bad_of_operands(node, n);
    if (list->class != ROWS_LIST) {
        memset(node_valid_room(node), 0, (size_t)n);
    }
}

/* ---- transform, filter ---- */

static void
add_items(struct lambda *lambda, int64_t row)
{
    for (int64_t k = 0; k < lambda->view->count[row]; k++) {
        lambda_add(lambda, row, k);
    }
}

/* Rows that cannot be computed by themselves are bad. */
static granary_err
mark_failing(struct node *node, struct lambda *lambda, granary_dtype dtype, int64_t n)
{
    granary_err err = GRANARY_OK;

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        struct gr_column made;

        lambda->count = 0;
        if (!row_counts(node, i) || lambda->view->count[i] == 0) {
            continue;
        }
        add_items(lambda, i);
        err = lambda_compute(lambda, NULL, dtype, &made);
        if (err == GRANARY_OK) {
            gr_column_free(&made);
        } else if (err == GRANARY_EFAILED) {
            node_mark_bad(node, i, n);
            err = GRANARY_OK;
        }
    }
    return err;
}

static granary_err
compute_items(struct node *node, struct lambda *lambda, granary_dtype dtype, int64_t n, int32_t *ends,
              struct gr_column *ret_made)
{
    granary_err err = GRANARY_EFAILED;

    for (int round = 0; round < 2 && err == GRANARY_EFAILED; round++) {
        if (round == 1 && (err = mark_failing(node, lambda, dtype, n)) != GRANARY_OK) {
            break;
        }
        lambda->count = 0;
        for (int64_t i = 0; i < n; i++) {
            if (row_counts(node, i)) {
                add_items(lambda, i);
            }
            ends[i] = (int32_t)lambda->count;
        }
        err = lambda_compute(lambda, NULL, dtype, ret_made);
    }
    return err;
}

/* The items whose condition holds. */
static granary_err
keep_items(const struct lambda *lambda, const granary_column *holds, int64_t n, int32_t *ends,
           struct gr_column *ret_items)
{
    int64_t at = 0;
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++) {
        for (; at < ends[i]; at++) {
            if (holds->dtype == GRANARY_BOOL && !gr_is_null(holds, at) && gr_bit(holds->values, at)) {
                lambda->items[kept++] = lambda->items[at];
            }
        }
        ends[i] = (int32_t)kept;
    }
    return gr_column_take(lambda->view->items, lambda->items, kept, ret_items);
}

granary_err
op_list_transform(struct node *node, int64_t n)
{
    bool filter = node->op == GR_OP_LIST_FILTER;
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    struct gr_column made = {.owned = false};
    struct gr_column items = {.owned = false};
    struct lambda lambda;
    granary_err err = lambda_open(node, n, &lambda);

    err = err == GRANARY_OK && ends == NULL ? node_no_memory() : err;
    err = err == GRANARY_OK && filter ? cast_body(&lambda, GRANARY_BOOL) : err; /* a number is true when it is not 0 */
    if (err == GRANARY_OK) {
        lambda_rows(node, n);
        err = compute_items(node, &lambda, filter ? GRANARY_BOOL : GRANARY_LIST_ITEM(node->dtype), n, ends, &made);
    }
    if (err == GRANARY_OK && filter) {
        err = keep_items(&lambda, &made.view, n, ends, &items);
        gr_column_free(&made);
    } else {
        items = made;
    }
    if (err == GRANARY_OK) {
        lists_give(node, &items, ends, n);
    }
    lambda_close(&lambda);
    scratch_free(ends);
    return err;
}

/* ---- reduce ---- */

/* What all rows have made before the first step: the first items, or what they were given. */
static granary_err
begin_reduction(struct node *node, struct lambda *lambda, int64_t n, struct gr_column *ret_y)
{
    granary_err err;

    if (node->op == GR_OP_LIST_FOLD) {
        return lists_node_column(node->operands[1], n, ret_y);
    }
    for (int64_t i = 0; i < n; i++) {
        bool counts = row_counts(node, i);

        if (counts && lambda->view->count[i] == 0) {
            node_mark_bad(node, i, n);
        }
        lambda->items[i] = counts && lambda->view->count[i] > 0 ? lambda->view->from[i] : -1;
    }
    err = gr_column_take(lambda->view->items, lambda->items, n, ret_y);
    return err;
}

/* Values of some rows, in order, in place of those that they had. */
static granary_err
put_values(struct gr_column *y, const struct gr_column *made, const struct lambda *lambda, int64_t n)
{
    struct gr_run both[] = {{&y->view, 0, n}, {&made->view, 0, lambda->count}};
    int64_t *indices = malloc((size_t)(n + 1) * sizeof *indices);
    struct gr_column all = {.owned = false};
    struct gr_column put;
    granary_err err = indices == NULL ? node_no_memory() : gr_column_concat(both, 2, y->view.dtype, &all);

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        indices[i] = i;
    }
    for (int64_t k = 0; k < lambda->count && err == GRANARY_OK; k++) {
        indices[lambda->rows[k]] = n + k;
    }
    err = err == GRANARY_OK ? gr_column_take(&all.view, indices, n, &put) : err;
    if (err == GRANARY_OK) {
        gr_column_free(y);
        *y = put;
    }
    gr_column_free(&all);
    free(indices);
    return err;
}

/* The items at a place of all rows that have it; of one row alone where only is not below 0. */
static void
add_place(const struct node *node, struct lambda *lambda, int64_t place, int64_t only, int64_t n)
{
    lambda->count = 0;
    for (int64_t i = only < 0 ? 0 : only; i < (only < 0 ? n : only + 1); i++) {
        if (row_counts(node, i) && place < lambda->view->count[i]) {
            lambda_add(lambda, i, place);
        }
    }
}

/* One step; rows that cannot be computed are bad. */
static granary_err
step(struct node *node, struct lambda *lambda, int64_t place, int64_t n, struct gr_column *y)
{
    struct gr_column made;
    granary_err err = lambda_compute(lambda, &y->view, y->view.dtype, &made);

    if (err == GRANARY_EFAILED) {
        err = GRANARY_OK;
        for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
            add_place(node, lambda, place, i, n);
            if (lambda->count == 0) {
                continue;
            }
            err = lambda_compute(lambda, &y->view, y->view.dtype, &made);
            if (err == GRANARY_OK) {
                gr_column_free(&made);
            } else if (err == GRANARY_EFAILED) {
                node_mark_bad(node, i, n);
                err = GRANARY_OK;
            }
        }
        add_place(node, lambda, place, -1, n);
        err = err == GRANARY_OK ? lambda_compute(lambda, &y->view, y->view.dtype, &made) : err;
    }
    if (err == GRANARY_OK) {
        err = put_values(y, &made, lambda, n);
        gr_column_free(&made);
    }
    return err;
}

granary_err
op_list_reduce(struct node *node, int64_t n)
{
    struct gr_column y = {.owned = false};
    struct lambda lambda;
    int64_t *own = malloc((size_t)(n + 1) * sizeof *own);
    uint8_t *bad = calloc((size_t)n + 1, 1);
    granary_err err = lambda_open(node, n, &lambda);

    err = err == GRANARY_OK && (own == NULL || bad == NULL) ? node_no_memory() : err;
    if (err == GRANARY_OK && gr_dtype_is_number(node->dtype)) {
        err = cast_body(&lambda, node->dtype);
    }
    if (err == GRANARY_OK) {
        lambda_rows(node, n);
        err = begin_reduction(node, &lambda, n, &y);
    }
    for (int64_t place = node->op == GR_OP_LIST_FOLD ? 0 : 1; err == GRANARY_OK; place++) {
        add_place(node, &lambda, place, -1, n);
        if (lambda.count == 0) {
            break;
        }
        err = step(node, &lambda, place, n, &y);
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        own[i] = row_counts(node, i) ? i : -1;
        bad[i] = node->bad != NULL && node->bad[i] != 0;
    }
    err = err == GRANARY_OK ? lists_give_taken(node, &y.view, own, n) : err;
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        if (bad[i] != 0) {
            node_mark_bad(node, i, n);
        }
    }
    free(bad);
    gr_column_free(&y);
    lambda_close(&lambda);
    free(own);
    return err;
}
