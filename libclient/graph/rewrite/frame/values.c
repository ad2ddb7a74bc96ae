/* Values that become others: replace, clip, where, mask, and text that becomes dates and numbers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"
#include "graph/rewrite/private.h"
#include "graph/rewrite/tensor/fit.h"
#include "graph/tensor/map.h"

/* ---- what fits ---- */

/* How many casts there are. */
static size_t
casts_of(const struct gr_expr *expr)
{
    size_t casts = expr->kind == GR_EXPR_CALL && expr->op == GR_OP_CAST;

    for (size_t i = 0; i < expr->operand_count; i++) {
        casts += casts_of(expr->operands[i]);
    }
    return casts;
}

/* Expressions read strings beside numbers, and make numbers of bools: nobody has said that of this column. */
static bool
changes_kinds(const struct gr_expr *plain, const struct gr_expr *checked)
{
    bool changes = casts_of(checked) > casts_of(plain);

    for (size_t i = 0; i < checked->operand_count; i++) {
        const struct gr_expr *operand = checked->operands[i];

        changes = changes || (operand->kind == GR_EXPR_CALL && operand->op == GR_OP_CONVERT &&
                              operand->operands[0]->dtype == GRANARY_BOOL);
    }
    return changes;
}

bool
fits(struct rewrite *x, const char *text, const struct gr_field *field, struct misfit *misfit)
{
    struct gr_trees *trees = &x->graph->trees;
    const struct gr_expr *plain;
    struct gr_expr *expr = NULL;
    bool parsed = gr_trees_find(trees, text, &plain) == GRANARY_OK;
    granary_err err = parsed ? gr_trees_check(trees, text, rewrite_schema(x), &expr) : GRANARY_OK;
    bool good = err != GRANARY_ETYPE && err != GRANARY_EINVAL && (expr == NULL || !changes_kinds(plain, expr));

    if (!good && err == GRANARY_EINVAL && misfit->why[0] == '\0') {
        (void)snprintf(misfit->why, sizeof misfit->why, "column '%.100s': %.500s", field->name,
                       granary_error_message());
    }
    gr_expr_destroy(expr);
    return good;
}

struct gr_node *
fail_misfit(struct rewrite *x, const struct misfit *misfit)
{
    if (x->err == GRANARY_OK && misfit->why[0] == '\0') {
        x->err = gr_fail(GRANARY_ETYPE, "no column has a dtype that the value fits");
    }
    return rewrite_fail(x, "%s", misfit->why);
}

/* ---- columns ---- */

/* One expression for each column that is listed, or that can have one. */
static struct gr_node *
assign_each(struct rewrite *x, const char *(*make)(struct rewrite *, const struct gr_field *),
            bool (*applies)(granary_dtype))
{
    const struct gr_schema *schema = rewrite_schema(x);
    bool is_named = rewrite_param(x, "columns") != NULL;
    struct misfit misfit = {.why = ""};

    for (size_t i = 0; i < schema->count; i++) {
        const struct gr_field *field = &schema->fields[i];
        const char *text;

        if (is_named ? !rewrite_is_listed(x, "columns", field->name) : applies != NULL && !applies(field->dtype)) {
            continue;
        }
        text = make(x, field);
        if (is_named || fits(x, text, field, &misfit)) {
            rewrite_entry(x, field->name, text);
        }
    }
    return x->map.count == 0 ? fail_misfit(x, &misfit) : rewrite_columns(x, GR_TILE_assign);
}

static const char *
make_replaced(struct rewrite *x, const struct gr_field *field)
{
    const Granary__Attr *map = rewrite_param(x, "values");
    const char *name = rewrite_name(x, field->name);
    const char *text = "case";

    for (size_t k = 0; k < map->n_keys; k++) {
        const char *is = strcmp(map->keys[k], "null") == 0 ? rewrite_missing(x, field)
                                                           : rewrite_text(x, "%s = (%s)", name, map->keys[k]);

        text = rewrite_text(x, "%s when %s then (%s)", text, is, map->strings[k]);
    }
    return rewrite_text(x, "%s else %s end", text, name);
}

REWRITE_AS(replace, assign_each(x, make_replaced, NULL))

/* "when NAME SIGN BOUND then BOUND", if there is a bound. */
static const char *
bound_text(struct rewrite *x, const char *parameter, const char *name, char sign)
{
    const Granary__Attr *bound = rewrite_param(x, parameter);
    const char *text;

    if (bound == NULL) {
        return "";
    }
    text = bound->kind == GRANARY__ATTR__KIND__STRING ? rewrite_text(x, "%s^", bound->strings[0])
           : bound->kind == GRANARY__ATTR__KIND__INT  ? rewrite_text(x, "%" PRId64, bound->ints[0])
                                                      : rewrite_text(x, "%.17g", bound->doubles[0]);
    return rewrite_text(x, " when %s %c %s then %s", name, sign, text, text);
}

static const char *
make_clipped(struct rewrite *x, const struct gr_field *field)
{
    const char *name = rewrite_name(x, field->name);

    return rewrite_text(x, "case%s%s else %s end", bound_text(x, "lower", name, '<'), bound_text(x, "upper", name, '>'),
                        name);
}

static struct gr_node *
rewrite_clip_columns(struct rewrite *x)
{
    return assign_each(x, make_clipped, gr_dtype_is_number);
}

static granary_err
check_clip(const Granary__Node *node, enum gr_tile_op op)
{
    static const char *const names[] = {"lower", "upper"};
    bool found = false;

    (void)op;
    for (int i = 0; i < 2; i++) {
        const Granary__Attr *bound = gr_attr_find(node->attrs, node->n_attrs, names[i]);

        if (bound != NULL && gr_attr_is_complex(bound)) {
            return gr_fail(GRANARY_EINVAL, "parameter '%s' is a complex number, and frames have none", names[i]);
        }
        found = found || bound != NULL;
    }
    return found ? GRANARY_OK : gr_fail(GRANARY_EINVAL, "it needs 'lower' or 'upper'");
}

const struct gr_operator gr_op_clip_columns = {.check = check_clip, .rewrite = rewrite_clip_columns};

static const char *
make_kept(struct rewrite *x, const struct gr_field *field)
{
    return rewrite_text(x, "case when (%s) then %s else (%s) end", rewrite_param_text(x, "condition"),
                        rewrite_name(x, field->name), rewrite_param_text(x, "other"));
}

REWRITE_AS(where_columns, assign_each(x, make_kept, NULL))

static const char *
make_masked(struct rewrite *x, const struct gr_field *field)
{
    return rewrite_text(x, "case when (%s) then (%s) else %s end", rewrite_param_text(x, "condition"),
                        rewrite_param_text(x, "other"), rewrite_name(x, field->name));
}

REWRITE_AS(mask_columns, assign_each(x, make_masked, NULL))

/* ---- texts ---- */

static const char *
make_number(struct rewrite *x, const struct gr_field *field)
{
    return rewrite_text(x, "%scast(%s as float64)", rewrite_param_is(x, "errors", "coerce") ? "try_" : "",
                        rewrite_name(x, field->name));
}

REWRITE_AS(to_numeric, assign_each(x, make_number, NULL))

static const char *
make_timestamp(struct rewrite *x, const struct gr_field *field)
{
    const char *try = rewrite_param_is(x, "errors", "coerce") ? "try_" : "";
    const char *format = rewrite_param_text(x, "format");
    const char *name = rewrite_name(x, field->name);

    return format == NULL ? rewrite_text(x, "%scast(%s as timestamp)", try, name)
                          : rewrite_text(x, "%sstrptime(%s, %s)", try, name, rewrite_quote(x, format));
}

REWRITE_AS(to_datetime, assign_each(x, make_timestamp, NULL))
