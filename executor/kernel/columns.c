#include "kernel/columns.h"

#include "base/error.h"
#include "graph/expr.h"
#include "kernel/eval.h"
#include "kernel/frame_call.h"

/* The column of the frame that an expression is, or NULL: it has to be computed. Errors: its syntax */
static granary_err
column_named(const granary_frame *frame, const char *text, const granary_column **ret_column)
{
    struct gr_expr *expr = NULL;
    granary_err err = gr_expr_parse(text, &expr);
    int at = -1;

    if (err == GRANARY_OK && expr->kind == GR_EXPR_COLUMN) {
        at = gr_frame_find(frame, expr->column);
    }
    gr_expr_destroy(expr);
    *ret_column = at >= 0 ? &frame->columns[at].view : NULL;
    return err;
}

granary_err
columns_compute(const granary_frame *frame, char *const *names, char *const *texts, size_t count,
                granary_frame **ret_frame)
{
    granary_frame *made = gr_frame_create(count, frame->rows);
    granary_err err = made == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory for %zu columns", count) : GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        const granary_column *borrowed;
        const granary_frame *plain;
        struct gr_column column;

        err = column_named(frame, texts[i], &borrowed);
        if (err == GRANARY_OK && borrowed != NULL) {
            err = gr_frame_set_borrowed(made, i, names[i], borrowed);
            continue;
        }
        if (err == GRANARY_OK) {
            err = gr_frame_plain(frame, &plain);
        }
        if (err == GRANARY_OK) {
            err = eval_column(texts[i], plain, &column);
        }
        err = err == GRANARY_OK ? gr_frame_set(made, i, names[i], &column) : gr_fail_in(err, "column '%s'", names[i]);
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(made);
        return err;
    }
    *ret_frame = made;
    return GRANARY_OK;
}

granary_err
kernel_project(struct gr_kernel_call *call)
{
    const Granary__Attr *map;
    const granary_frame *frame;
    granary_frame *made = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = call_attr(call, "columns", GRANARY__ATTR__KIND__MAP, &map);
    }
    if (err == GRANARY_OK) {
        err = columns_compute(frame, map->keys, map->strings, map->n_keys, &made);
    }
    return err == GRANARY_OK ? call_yield(call, 0, made) : err;
}
