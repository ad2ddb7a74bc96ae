/* ASOF JOIN: for each row of the left side the row of the right one that is nearest by one inequality, of those that the
 * equalities let through. It becomes merge_asof. */
#include <string.h>

#include "sql/block.h"

/* How a comparison looks for the nearest key, and the one with its sides exchanged. */
static const struct nearness {
    const char *operator;
    const char *exchanged;
    const char *direction;
    bool exact;
} nearnesses[] = {
    {">=", "<=", "backward", true},
    {">", "<", "backward", false},
    {"<=", ">=", "forward", true},
    {"<", ">", "forward", false},
};

/* What ON says, as columns of both sides. */
struct nearest {
    const struct nearness *how; /* NULL: no inequality so far */
    const char *on[2];
    const char **by; /* the same on both sides */
    size_t by_count;
};

/* Which side's columns each operand names: 0, 1; false: something else. */
static bool
find_operands(const struct sql_block *block, const struct sql_expr *expr, const uint64_t masks[2], size_t *ret_left)
{
    uint64_t a;
    uint64_t b;

    if (expr->kind != SQL_INFIX || expr->count != 2 || sql_has(expr, SQL_SUBQUERY)) {
        return false;
    }
    a = sql_mask(block, expr->args[0]);
    b = sql_mask(block, expr->args[1]);
    *ret_left = a == masks[0] ? 0 : 1;
    return (a == masks[0] && b == masks[1]) || (a == masks[1] && b == masks[0]);
}

static const struct nearness *
find_nearness(const struct sql_expr *expr, bool exchanged)
{
    for (size_t i = 0; i < sizeof nearnesses / sizeof nearnesses[0]; i++) {
        if (strcmp(exchanged ? nearnesses[i].exchanged : nearnesses[i].operator, expr->text) == 0) {
            return &nearnesses[i];
        }
    }
    return NULL;
}

/* A condition of ON. left: which operand is of the left side */
static bool
take_condition(struct sql_block *block, const struct sql_expr *expr, size_t left, struct sql_rel sides[2],
               struct nearest *nearest)
{
    struct sql_statement *q = block->q;
    bool equal = strcmp(expr->text, "=") == 0;
    const struct nearness *how = equal ? NULL : find_nearness(expr, left == 1);
    const char *by = equal ? sql_fresh(q, "by") : NULL;

    if (!equal && (how == NULL || nearest->how != NULL)) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, expr->position,
                        "ASOF JOIN takes one inequality (<, <=, >, >=), and equalities");
    }
    for (size_t side = 0; side < 2; side++) {
        const char *name = equal ? by : sql_fresh(q, "asof");
        const char *text = sql_text(block, expr->args[side == 0 ? left : 1 - left]);

        if (name == NULL || text == NULL || !sql_rel_assign(q, &sides[side], &name, &text, 1, expr->position)) {
            return false;
        }
        nearest->on[side] = equal ? nearest->on[side] : name;
    }
    nearest->how = equal ? nearest->how : how;
    if (equal) {
        nearest->by[nearest->by_count++] = by;
    }
    return true;
}

bool
sql_asof_join(struct sql_block *block, struct sql_expr *const *conditions, size_t count, struct sql_rel sides[2],
              const uint64_t masks[2], const struct sql_from *from)
{
    struct sql_statement *q = block->q;
    struct nearest nearest = {.by = SQL_ARRAY(q, const char *, count)};
    const char *met = sql_fresh(q, "met");
    const char *yes = "true";
    granary_node inputs[2];

    for (size_t i = 0; i < count && nearest.by != NULL; i++) {
        size_t left = 0;

        if (!find_operands(block, conditions[i], masks, &left)) {
            return sql_fail(q, GRANARY_EUNSUPPORTED, conditions[i]->position,
                            "ASOF JOIN takes comparisons of both sides alone: write others in WHERE, or in a subquery");
        }
        if (!take_condition(block, conditions[i], left, sides, &nearest)) {
            return false;
        }
    }
    if (q->err == GRANARY_OK && nearest.how == NULL) {
        return sql_fail(q, GRANARY_EINVAL, from->position,
                        "ASOF JOIN needs an inequality: ON a.id = b.id AND a.t >= b.t");
    }
    if (q->err != GRANARY_OK || !sql_rel_assign(q, &sides[1], &met, &yes, 1, from->position)) {
        return false;
    }
    inputs[0] = sides[0].node;
    inputs[1] = sides[1].node;
    sides[0].node = sql_node(q, "merge_asof", from->position, inputs, 2);
    if (sides[0].node == GRANARY_NO_NODE) {
        return false;
    }
    granary_node_set_string(q->graph, sides[0].node, "left_on", nearest.on[0]);
    granary_node_set_string(q->graph, sides[0].node, "right_on", nearest.on[1]);
    granary_node_set_string(q->graph, sides[0].node, "direction", nearest.how->direction);
    granary_node_set_bool(q->graph, sides[0].node, "allow_exact_matches", nearest.how->exact);
    if (nearest.by_count > 0) {
        granary_node_set_strings(q->graph, sides[0].node, "by", nearest.by, nearest.by_count);
    }
    return from->join == SQL_LEFT ||
           sql_rel_filter(q, &sides[0], sql_printf(q, "%s is not null", sql_quoted(q, met)), from->position);
}
