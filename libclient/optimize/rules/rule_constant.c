/*
 * constant-filter: a condition that is the same for all rows is not asked of each. What is always true lets the rows
 * through; what is never true leaves none, and then none of them are made, either.
 */
#include "graph/expr.h"
#include "optimize/rules.h"

enum verdict { VARIES, ALWAYS, NEVER };

static granary_err
judge(const struct gr_step *filter, const struct gr_schema *schema, enum verdict *ret_verdict)
{
    const char *where = gr_step_attr(filter, "where")->strings[0];
    struct gr_expr *expr = NULL;
    granary_err err = gr_trees_check(filter->node->trees, where, schema, &expr); /* folds constants */

    if (err == GRANARY_OK) {
        bool is_true = expr->kind == GR_EXPR_LITERAL && !expr->is_null && expr->value.i != 0;

        *ret_verdict = expr->kind != GR_EXPR_LITERAL ? VARIES : is_true ? ALWAYS : NEVER;
    }
    gr_expr_destroy(expr);
    return err;
}

granary_err
rule_constant(struct gr_steps *steps, size_t i)
{
    struct gr_step *step = &steps->steps[i];
    enum verdict verdict = VARIES;
    granary_err err = GRANARY_OK;

    if (step->op == GR_TILE_filter) {
        err = judge(step, &steps->steps[step->inputs[0]].type->schema, &verdict);
    }
    if (verdict == ALWAYS) {
        rule_fired(steps, "constant-filter", "'%s' lets all rows through", step->origin->name);
        err = rule_let_through(steps, i);
    } else if (verdict == NEVER) {
        rule_fired(steps, "constant-filter", "'%s' leaves no row", step->origin->name);
        err = gr_step_become(step, GR_TILE_head, gr_attr_new_int("rows", 0));
    }
    return err;
}
