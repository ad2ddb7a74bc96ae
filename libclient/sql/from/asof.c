/* ASOF JOIN: for each row of the left side the row of the right one that is nearest by one inequality, of those that all
 * other conditions let through. It becomes merge_asof. Conditions of both sides that are no comparisons ask for pairs:
 * rows get numbers, all pairs are made, and the nearest of each left row stays. */
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

/* What ON says, as columns of both sides, and of conditions as text. */
struct nearest {
    const struct nearness *how; /* NULL: no inequality so far */
    const char *on[2];
    const char **by; /* the same on both sides */
    size_t by_count;
    const char *gate; /* which left rows find one at all; or NULL */
    const char *rest; /* which pairs count besides; or NULL */
    int position;     /* of the one or the other */
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

/* A comparison of both sides. left: which operand is of the left side */
static bool
take_comparison(struct sql_block *block, const struct sql_expr *expr, size_t left, struct sql_rel sides[2],
                struct nearest *nearest)
{
    struct sql_statement *q = block->q;
    bool equal = strcmp(expr->text, "=") == 0;
    const char *by = equal ? sql_fresh(q, "by") : NULL;

    for (size_t side = 0; side < 2; side++) {
        const char *name = equal ? by : sql_fresh(q, "asof");
        const char *text = sql_text(block, expr->args[side == 0 ? left : 1 - left]);

        if (name == NULL || text == NULL || !sql_rel_assign(q, &sides[side], &name, &text, 1, expr->position)) {
            return false;
        }
        nearest->on[side] = equal ? nearest->on[side] : name;
    }
    if (equal) {
        nearest->by[nearest->by_count++] = by;
    } else {
        nearest->how = find_nearness(expr, left == 1);
    }
    return true;
}

/* Another condition: of the right side (it leaves rows out), of the left one or of none, or of pairs. */
static bool
take_other(struct sql_block *block, const struct sql_expr *expr, struct sql_rel sides[2], const uint64_t masks[2],
           const struct sql_from *from, struct nearest *nearest)
{
    struct sql_statement *q = block->q;
    uint64_t mask = sql_mask(block, expr);
    bool keeps_right = from->join == SQL_RIGHT || from->join == SQL_FULL;
    const char *text = sql_text(block, expr);
    const char **all = (mask & masks[1]) == 0 ? &nearest->gate : &nearest->rest;

    if (text == NULL) {
        return false;
    }
    if (mask == masks[1] && !keeps_right) {
        return sql_rel_filter(q, &sides[1], text, expr->position);
    }
    *all = *all == NULL ? text : sql_printf(q, "%s and %s", *all, text);
    nearest->position = expr->position;
    return q->err == GRANARY_OK;
}

static bool
take_condition(struct sql_block *block, const struct sql_expr *expr, struct sql_rel sides[2], const uint64_t masks[2],
               const struct sql_from *from, struct nearest *nearest)
{
    size_t left = 0;
    bool compares = find_operands(block, expr, masks, &left);

    if (sql_has(expr, SQL_SUBQUERY)) {
        return sql_fail(block->q, GRANARY_EUNSUPPORTED, expr->position,
                        "a subquery in ON of ASOF JOIN is not supported: write it in WHERE, or in a subquery of FROM");
    }
    if (compares && strcmp(expr->text, "=") == 0) {
        return take_comparison(block, expr, left, sides, nearest);
    }
    if (compares && find_nearness(expr, left == 1) != NULL) {
        if (nearest->how != NULL) {
            return sql_fail(block->q, GRANARY_EUNSUPPORTED, expr->position,
                            "ASOF JOIN takes one inequality (<, <=, >, >=), and equalities");
        }
        return take_comparison(block, expr, left, sides, nearest);
    }
    return take_other(block, expr, sides, masks, from, nearest);
}

/* Left rows that the conditions of their side leave out find nothing: their key is missing. */
static bool
close_gate(struct sql_statement *q, struct sql_rel *left, struct nearest *nearest)
{
    const char *name = sql_fresh(q, "asof");
    const char *text =
        sql_printf(q, "case when %s then %s else null end", nearest->gate, sql_quoted(q, nearest->on[0]));

    nearest->on[0] = name;
    return q->err == GRANARY_OK && sql_rel_assign(q, left, &name, &text, 1, nearest->position);
}

/* Each left row beside the nearest right row. `found` is not null where there is one. */
static bool
merge(struct sql_statement *q, struct sql_rel *left, const struct sql_rel *right, const struct nearest *nearest,
      int position)
{
    const granary_node inputs[2] = {left->node, right->node};

    left->node = sql_node(q, "merge_asof", position, inputs, 2);
    if (left->node == GRANARY_NO_NODE) {
        return false;
    }
    granary_node_set_string(q->graph, left->node, "left_on", nearest->on[0]);
    granary_node_set_string(q->graph, left->node, "right_on", nearest->on[1]);
    granary_node_set_string(q->graph, left->node, "direction", nearest->how->direction);
    granary_node_set_bool(q->graph, left->node, "allow_exact_matches", nearest->how->exact);
    if (nearest->by_count > 0) {
        granary_node_set_strings(q->graph, left->node, "by", nearest->by, nearest->by_count);
    }
    return true;
}

/* The same where pairs have a condition: *left gets the column `number` of right numbers. */
static bool
choose(struct sql_statement *q, struct sql_rel *left, struct sql_rel right, const char *number,
       const struct nearest *nearest)
{
    const struct sql_window_spec all = {.position = nearest->position};
    bool back = strcmp(nearest->how->direction, "backward") == 0;
    const char *of_left = sql_fresh(q, "row");
    const char *pair[2] = {sql_fresh(q, "row"), number};
    const char *order = sql_fresh(q, "order");
    const char *by[2] = {nearest->on[1], number};
    const char *const last[2] = {"last", "last"};
    const bool descending[2] = {back, back};
    const char **keys = SQL_ARRAY(q, const char *, nearest->by_count);
    const char *where = sql_printf(q, "%s %s %s and %s", sql_quoted(q, nearest->on[0]), nearest->how->operator,
                                   sql_quoted(q, nearest->on[1]), nearest->rest);
    struct sql_rel pairs = *left;

    if (q->err != GRANARY_OK || !sql_rel_window(q, left, of_left, "row_number()", &all)) {
        return false;
    }
    pairs.node = left->node;
    for (size_t i = 0; i < nearest->by_count; i++) { /* both sides have the same names: the right ones get others */
        keys[i] = sql_fresh(q, "by");
    }
    if (!sql_rel_rename(q, &right, nearest->by, keys, nearest->by_count, nearest->position) ||
        !sql_rel_rename(q, &pairs, &of_left, &pair[0], 1, nearest->position) ||
        !sql_rel_join(q, &pairs, &right,
                      &(struct sql_join_spec){.how = "inner",
                                              .left_on = nearest->by,
                                              .right_on = keys,
                                              .count = nearest->by_count,
                                              .where = where,
                                              .position = nearest->position})) {
        return false;
    }
    return sql_rel_window(q, &pairs, order, "row_number()",
                          &(struct sql_window_spec){.partition = &pair[0],
                                                    .partition_count = 1,
                                                    .by = by,
                                                    .descending = descending,
                                                    .nulls = last,
                                                    .by_count = 2,
                                                    .position = nearest->position}) &&
           sql_rel_filter(q, &pairs, sql_printf(q, "%s = 1", sql_quoted(q, order)), nearest->position) &&
           sql_rel_select(q, &pairs, pair, 2, nearest->position) &&
           sql_rel_join(q, left, &pairs,
                        &(struct sql_join_spec){.how = "left",
                                                .left_on = &of_left,
                                                .right_on = &pair[0],
                                                .count = 1,
                                                .position = nearest->position});
}

/* Left rows with the number of their right row, joined with these: for joins that keep right rows, or choose pairs. */
static bool
join_numbered(struct sql_statement *q, struct sql_rel sides[2], const struct nearest *nearest,
              const struct sql_from *from)
{
    static const char *const how[] = {
        [SQL_INNER] = "inner", [SQL_LEFT] = "left", [SQL_RIGHT] = "left", [SQL_FULL] = "outer"};
    const struct sql_window_spec all = {.position = from->position};
    const char *number = sql_fresh(q, "row");
    const char *found = sql_fresh(q, "row");
    const char **names = SQL_ARRAY(q, const char *, nearest->by_count + 2);
    const char **others = SQL_ARRAY(q, const char *, nearest->by_count);
    const char **texts = SQL_ARRAY(q, const char *, nearest->by_count + 2);
    int keep = from->join == SQL_RIGHT ? 1 : 0;
    struct sql_rel right;
    size_t count = 0;

    if (q->err != GRANARY_OK || !sql_rel_window(q, &sides[1], number, "row_number()", &all)) {
        return false;
    }
    right = sides[1];
    if (nearest->rest != NULL) {
        if (!sql_rel_rename(q, &right, &number, &found, 1, from->position) ||
            !choose(q, &sides[0], right, found, nearest)) {
            return false;
        }
    } else {
        for (size_t i = 0; i < nearest->by_count; i++) {
            names[count++] = nearest->by[i];
        }
        names[count++] = nearest->on[1];
        names[count++] = found;
        for (size_t i = 0; i < count; i++) {
            texts[i] = sql_quoted(q, names[i] == found ? number : names[i]);
        }
        if (!sql_rel_project(q, &right, names, texts, count, from->position) ||
            !merge(q, &sides[0], &right, nearest, from->position)) {
            return false;
        }
    }
    for (size_t i = 0; i < nearest->by_count; i++) { /* both sides have columns of these names */
        others[i] = sql_fresh(q, "by");
    }
    if (sql_is_semi(from)) {
        return sql_rel_filter(q, &sides[0],
                              sql_printf(q, "%s is %snull", sql_quoted(q, found), from->join == SQL_SEMI ? "not " : ""),
                              from->position);
    }
    return sql_rel_rename(q, &sides[1], nearest->by, others, nearest->by_count, from->position) &&
           sql_rel_join(q, &sides[keep], &sides[1 - keep],
                        &(struct sql_join_spec){.how = how[from->join],
                                                .left_on = keep == 0 ? &found : &number,
                                                .right_on = keep == 0 ? &number : &found,
                                                .count = 1,
                                                .position = from->position});
}

bool
sql_asof_join(struct sql_block *block, struct sql_expr *const *conditions, size_t count, struct sql_rel sides[2],
              const uint64_t masks[2], const struct sql_from *from)
{
    struct sql_statement *q = block->q;
    struct nearest nearest = {.by = SQL_ARRAY(q, const char *, count)};
    const char *met = sql_fresh(q, "met");
    const char *yes = "true";

    for (size_t i = 0; i < count && nearest.by != NULL; i++) {
        if (!take_condition(block, conditions[i], sides, masks, from, &nearest)) {
            return false;
        }
    }
    if (q->err == GRANARY_OK && nearest.how == NULL) {
        return sql_fail(q, GRANARY_EINVAL, from->position,
                        "ASOF JOIN needs an inequality: ON a.id = b.id AND a.t >= b.t");
    }
    if (q->err != GRANARY_OK || (nearest.gate != NULL && !close_gate(q, &sides[0], &nearest))) {
        return false;
    }
    if (nearest.rest != NULL || from->join == SQL_RIGHT || from->join == SQL_FULL) {
        return join_numbered(q, sides, &nearest, from);
    }
    return sql_rel_assign(q, &sides[1], &met, &yes, 1, from->position) &&
           merge(q, &sides[0], &sides[1], &nearest, from->position) &&
           (from->join == SQL_LEFT ||
            sql_rel_filter(q, &sides[0],
                           sql_printf(q, "%s is %snull", sql_quoted(q, met), from->join == SQL_ANTI ? "" : "not "),
                           from->position));
}
