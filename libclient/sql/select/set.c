/* UNION, INTERSECT and EXCEPT: rows of two queries, whose columns go by their places. */
#include <string.h>
#include <strings.h>

#include "sql/block.h"

/* One side of a set operation. */
struct side {
    const struct sql_select *select;
    struct sql_result *result;
    const char *number;              /* by which rows of both sides are told apart */
    const struct sql_expr **untyped; /* by column: a text or null as written, which takes the other side's dtype */
    const size_t *places;            /* BY NAME: which of SELECT's values each column is, + 1; 0: none. Else NULL */
};

/* In place of a column that a side does not have. */
static const struct sql_expr missing = {.kind = SQL_LITERAL, .position = -1, .text = "null"};

static bool
is_null(const struct sql_expr *expr)
{
    return expr != NULL && strcmp(expr->text, "null") == 0;
}

static const struct sql_expr *untyped_target(const struct sql_select *select, size_t i);

/* The column of the only query in FROM that a value names, or that `*` has at that place; -1: it is none. */
static long
column_of_query(const struct sql_select *select, size_t i)
{
    const struct sql_from *from = select->from_count == 1 ? select->from[0] : NULL;
    const struct sql_expr *expr = i < select->target_count ? select->targets[i].expr : NULL;

    if (from == NULL || from->kind != SQL_FROM_SELECT || from->about != SQL_ABOUT_NOTHING ||
        select->target_count == 0) {
        return -1;
    }
    if (select->target_count == 1 && select->targets[0].expr->kind == SQL_STAR &&
        select->targets[0].expr->star == NULL) {
        return select->targets[0].expr->table == NULL ? (long)i : -1;
    }
    for (size_t k = 0; k < from->column_count && expr != NULL && expr->kind == SQL_COLUMN && expr->table == NULL; k++) {
        if (strcasecmp(from->columns[k], expr->text) == 0) {
            return (long)k;
        }
    }
    for (size_t k = 0; k < from->select->target_count && from->column_count == 0 && from->select->set == SQL_NO_SET &&
                       expr != NULL && expr->kind == SQL_COLUMN && expr->table == NULL;
         k++) {
        const struct sql_target *target = &from->select->targets[k];

        if (sql_star_in(target->expr) != NULL) {
            return -1; /* places are not those of the list */
        }
        if (target->alias != NULL && strcasecmp(target->alias, expr->text) == 0) {
            return (long)k;
        }
    }
    return -1;
}

/* A null that a query within gives: in all rows, and of no dtype. */
static const struct sql_expr *
null_within(const struct sql_select *select, size_t i)
{
    const struct sql_expr *expr = i < select->target_count ? select->targets[i].expr : NULL;
    const struct sql_select *inner = NULL;
    const struct sql_expr *found;
    long column = column_of_query(select, i);

    if (column >= 0) {
        inner = select->from[0]->select;
        i = (size_t)column;
    } else if (expr != NULL && expr->kind == SQL_SUBQUERY && expr->subquery == SQL_SCALAR && expr->count == 0 &&
               expr->select->set == SQL_NO_SET && expr->select->from_count == 1 &&
               expr->select->from[0]->kind == SQL_FROM_ROWS && expr->select->from[0]->stop == 1) {
        inner = expr->select; /* of one row */
        i = 0;
    }
    found = inner == NULL ? NULL : untyped_target(inner, i);
    return is_null(found) ? found : NULL;
}

/* [] and a list of nulls as written, which may be of any dtype. */
static bool
is_open_list(const struct sql_expr *expr)
{
    bool open = expr->kind == SQL_FUNCTION;

    if (open && strcmp(expr->text, "list_distinct") == 0 && expr->count == 1) {
        return is_open_list(expr->args[0]);
    }
    open = open && strcmp(expr->text, "list_value") == 0;
    for (size_t i = 0; open && i < expr->count; i++) {
        open = expr->args[i]->kind == SQL_LITERAL && is_null(expr->args[i]);
    }
    return open;
}

/* What stands for a value without a dtype in an expression. */
static const char *
untyped_text(struct sql_statement *q, const struct sql_expr *expr)
{
    const char *text = "";

    if (expr->kind != SQL_FUNCTION) {
        return expr->text;
    }
    for (size_t i = 0; i < expr->count && text != NULL; i++) {
        text = sql_printf(q, "%s%s%s", text, i == 0 ? "" : ", ", untyped_text(q, expr->args[i]));
    }
    return text == NULL ? NULL : sql_printf(q, "%s(%s)", expr->text, text);
}

/* The text, null or list of nulls that stands as the i-th value of a list; NULL: it is something else. (What ROLLUP lists may be null
 * in some rows.) */
static const struct sql_expr *
untyped_value(const struct sql_select *select, size_t i)
{
    bool plain = select->set == SQL_NO_SET && select->group_count == 0 && !select->group_all;
    const struct sql_expr *expr;

    if (plain && null_within(select, i) != NULL) {
        return null_within(select, i);
    }
    for (size_t t = 0; t < select->target_count && plain; t++) {
        plain = sql_star_in(select->targets[t].expr) == NULL;
    }
    plain = plain && i < select->target_count; /* behind them, rows of the query around are numbered */
    expr = plain ? select->targets[i].expr : NULL;
    return plain && ((expr->kind == SQL_LITERAL && (expr->text[0] == '\'' || is_null(expr))) || is_open_list(expr))
               ? expr
               : NULL;
}

/* The same of a set operation, whose sides may all have null there. */
static const struct sql_expr *
untyped_target(const struct sql_select *select, size_t i)
{
    const struct sql_expr *left = select->set == SQL_NO_SET ? NULL : untyped_target(select->left, i);
    const struct sql_expr *right = is_null(left) ? untyped_target(select->right, i) : NULL;

    if (select->set != SQL_NO_SET) {
        return is_null(right) ? right : NULL; /* null in all rows, of no dtype */
    }
    return untyped_value(select, i);
}

static const struct sql_expr *
untyped_column(const struct side *side, size_t i)
{
    if (side->places == NULL) {
        return untyped_target(side->select, i);
    }
    return side->places[i] == 0 ? &missing : untyped_target(side->select, side->places[i] - 1);
}

/* Where the other side has a dtype. Whether there is any. */
static bool
find_untyped(struct sql_statement *q, struct side sides[2])
{
    size_t count = sides[0].result->count;
    bool any = false;

    sides[0].untyped = SQL_ARRAY(q, const struct sql_expr *, count);
    sides[1].untyped = SQL_ARRAY(q, const struct sql_expr *, count);
    for (size_t i = 0; i < count && q->err == GRANARY_OK; i++) {
        const struct sql_expr *left = untyped_column(&sides[0], i);
        const struct sql_expr *right = untyped_column(&sides[1], i);

        sides[0].untyped[i] = right == NULL || (is_null(left) && !is_null(right)) ? left : NULL;
        sides[1].untyped[i] = left == NULL || (is_null(right) && !is_null(left)) ? right : NULL;
        any = any || sides[0].untyped[i] != NULL || sides[1].untyped[i] != NULL;
    }
    return any;
}

/* The outputs under new names, which both sides then have, but those without a dtype; and mark, if it is not NULL: the
 * side's number. */
static bool
rename_outputs(struct sql_statement *q, const struct side *side, const char *mark, const char *const *names,
               int position)
{
    struct sql_result *result = side->result;
    const char **to = SQL_ARRAY(q, const char *, result->count + 1);
    const char **texts = SQL_ARRAY(q, const char *, result->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < result->count && to != NULL && texts != NULL; i++) {
        if (side->untyped[i] == NULL) {
            to[count] = names[i];
            texts[count++] = sql_quoted(q, result->outputs[i].frame);
        }
        result->outputs[i].frame = names[i]; /* also where a side has no such column */
    }
    if (mark != NULL && q->err == GRANARY_OK) {
        to[count] = mark;
        texts[count++] = side->number;
    }
    return q->err == GRANARY_OK && sql_rel_project(q, &result->rel, to, texts, count, position);
}

/* The texts of a side, in the rows of both, beside the values of the other one. */
static bool
put_untyped(struct sql_statement *q, struct sql_rel *rel, const struct side *side, const char *mark,
            const char *const *names)
{
    for (size_t i = 0; i < side->result->count; i++) {
        const struct sql_expr *text = side->untyped[i];

        if (text != NULL && !is_null(text)) {
            const char *value = sql_printf(q, "case when `%s` = %s then %s else %s end", mark, side->number,
                                           untyped_text(q, text), sql_quoted(q, names[i]));

            if (q->err != GRANARY_OK || !sql_rel_assign(q, rel, &names[i], &value, 1, text->position)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- ORDER BY ---- */

/* Whether a table of FROM is called so. */
static bool
has_table(const struct sql_from *from, const char *name)
{
    const char *own = from->alias != NULL ? from->alias : from->name;

    if (from->kind == SQL_FROM_JOIN) {
        return has_table(from->left, name) || has_table(from->right, name);
    }
    return sql_is_table(own, name);
}

/* Whether a column of ORDER BY may be of the SELECT: by its table, if it names one. */
static bool
may_be_of(const struct sql_select *select, const char *table)
{
    bool found = table == NULL;

    for (size_t i = 0; i < select->from_count && !found; i++) {
        found = has_table(select->from[i], table);
    }
    return found;
}

/* Whether two expressions, which are not bound, are written alike: `a` of ORDER BY, `b` of the SELECT's list. */
static bool
is_alike(const struct sql_select *select, const struct sql_expr *a, const struct sql_expr *b)
{
    bool alike = a->kind == b->kind && a->count == b->count && a->negated == b->negated && a->over == NULL &&
                 b->over == NULL && a->condition == NULL && b->condition == NULL && a->kind != SQL_SUBQUERY &&
                 a->kind != SQL_STAR && a->distinct == b->distinct;

    if (alike && a->kind == SQL_COLUMN) {
        return a->row_place == 0 && b->row_place == 0 && strcasecmp(a->text, b->text) == 0 &&
               (a->table != NULL && b->table != NULL ? strcasecmp(a->table, b->table) == 0
                                                     : may_be_of(select, a->table));
    }
    alike = alike && strcmp(a->text, b->text) == 0;
    for (size_t i = 0; i < a->count && alike; i++) {
        alike = is_alike(select, a->args[i], b->args[i]);
    }
    return alike;
}

/* What the columns of a query in a set operation are called. */
struct set_names {
    const char **names;
    size_t count;
};

static size_t
find_name(const struct set_names *list, const char *name)
{
    size_t i = 0;

    while (i < list->count && strcasecmp(list->names[i], name) != 0) {
        i++;
    }
    return i;
}

static bool list_names(struct sql_statement *q, const struct sql_select *set, struct set_names *ret_list);

static bool
list_side(struct sql_statement *q, struct sql_select *side, struct set_names *ret_list)
{
    if (side->set != SQL_NO_SET) {
        return list_names(q, side, ret_list);
    }
    *ret_list = (struct set_names){.count = 0};
    if (!sql_name_outputs(q, side)) {
        return false;
    }
    *ret_list = (struct set_names){side->output_names, side->output_count};
    return true;
}

/* Of a set operation: as its left side has them, and BY NAME what only the right one has. */
static bool
list_names(struct sql_statement *q, const struct sql_select *set, struct set_names *ret_list)
{
    struct set_names left;
    struct set_names right;
    const char **names;

    if (!set->by_name) {
        return list_side(q, set->left, ret_list);
    }
    names = list_side(q, set->left, &left) && list_side(q, set->right, &right)
                ? SQL_ARRAY(q, const char *, left.count + right.count)
                : NULL;
    if (names == NULL) {
        return false;
    }
    *ret_list = (struct set_names){names, 0};
    for (size_t i = 0; i < left.count + right.count; i++) {
        const char *name = i < left.count ? left.names[i] : right.names[i - left.count];

        if (i < left.count || find_name(ret_list, name) == ret_list->count) {
            names[ret_list->count++] = name;
        }
    }
    return true;
}

/* The same of a single SELECT. */
static long
place_in(const struct sql_select *select, const struct set_names *list, const struct sql_expr *expr)
{
    const struct sql_expr *only = select->target_count == 1 ? select->targets[0].expr : NULL;

    if (only != NULL && only->kind == SQL_STAR && only->star == NULL && select->from_count == 1 &&
        expr->kind == SQL_COLUMN && expr->row_place == 0 && select->from[0]->kind != SQL_FROM_JOIN &&
        may_be_of(select, expr->table)) {
        const size_t at = find_name(list, expr->text);

        return at < list->count ? (long)at + 1 : 0;
    }
    for (size_t t = 0; t < select->target_count && select->target_count == list->count; t++) {
        const struct sql_target *target = &select->targets[t];

        if (sql_star_in(target->expr) == NULL &&
            ((target->alias != NULL && expr->kind == SQL_COLUMN && expr->table == NULL && expr->row_place == 0 &&
              strcasecmp(target->alias, expr->text) == 0) ||
             is_alike(select, expr, target->expr))) {
            return (long)t + 1;
        }
    }
    return 0;
}

/* The place of what a SELECT of a set operation, the first that does, lists as `expr`; 0: none does, or the statement
 * has failed. */
static long
place_of(struct sql_statement *q, const struct sql_select *set, const struct sql_expr *expr)
{
    struct sql_select *const sides[2] = {set->left, set->right};
    long place = 0;

    for (int i = 0; i < 2 && place == 0; i++) {
        struct set_names own;
        struct set_names all;

        if (!list_side(q, sides[i], &own)) {
            return 0;
        }
        place = sides[i]->set != SQL_NO_SET ? place_of(q, sides[i], expr) : place_in(sides[i], &own, expr);
        if (place > 0 && set->by_name) {
            place = list_names(q, set, &all) ? (long)find_name(&all, own.names[place - 1]) + 1 : 0;
        }
    }
    return place;
}

/* What ORDER BY of a set operation names that is no column of its result: as a SELECT of it lists it. */
static long
place_beside(struct sql_statement *q, const struct sql_select *select, const struct sql_result *result,
             const struct sql_expr *expr)
{
    bool is_own = expr->kind == SQL_LITERAL;

    for (size_t i = 0; i < result->count && !is_own && expr->kind == SQL_COLUMN && expr->table == NULL; i++) {
        is_own = strcasecmp(result->outputs[i].name, expr->text) == 0;
    }
    return is_own ? 0 : place_of(q, select, expr);
}

static bool
order_set(struct sql_statement *q, const struct sql_select *select, bool ordered, struct sql_result *result)
{
    struct sql_block block = {.q = q, .rel = result->rel};
    const char **columns;

    for (size_t i = 0; i < result->count; i++) {
        if (!sql_add_column(&block, NULL, result->outputs[i].name, result->outputs[i].frame, 0)) {
            return false;
        }
    }
    select = sql_write_all_out(q, select, NULL, result->count);
    select = select == NULL ? NULL : sql_expand_order(&block, select);
    columns = select == NULL ? NULL : SQL_ARRAY(q, const char *, select->order_count);
    block.select = select;
    for (size_t i = 0; i < select->order_count && columns != NULL; i++) {
        struct sql_expr *expr = select->order[i].expr;
        long position = sql_position_in(&block, expr, result->count);

        position = position == 0 ? place_beside(q, select, result, expr) : position;
        position = position <= (long)result->count ? position : 0;
        if (q->err != GRANARY_OK || position < 0 || (position == 0 && !sql_bind(&block, expr))) {
            return false;
        }
        columns[i] = position > 0 ? result->outputs[position - 1].frame : sql_column_of(&block, &block.rel, expr);
        if (columns[i] == NULL) {
            return false;
        }
    }
    if (columns == NULL || !sql_sort_and_cut(q, &block.rel, select, select->order, columns, ordered, result->number)) {
        return false;
    }
    result->rel = block.rel;
    return true;
}

/* INTERSECT, EXCEPT: rows of both sides in groups, nulls equal to nulls, which are on both sides, or on the left alone.
 */
static bool
compare_sides(struct sql_statement *q, struct sql_rel *both, const char *mark, const char *const *names, size_t count,
              const struct sql_select *select)
{
    const char *sides[2] = {sql_fresh(q, "first"), sql_fresh(q, "last")};
    const char *texts[2] = {sql_printf(q, "min(`%s`)", mark), sql_printf(q, "max(`%s`)", mark)};
    const char *where = select->set == SQL_EXCEPT ? sql_printf(q, "`%s` = 1", sides[1])
                                                  : sql_printf(q, "`%s` = 1 and `%s` = 2", sides[0], sides[1]);

    size_t key_count = count;
    const char **keys = SQL_ARRAY(q, const char *, count + 1);

    if (keys == NULL || q->err != GRANARY_OK) {
        return false;
    }
    memcpy(keys, names, count * sizeof *keys);
    if (select->all) { /* equal rows of a side are told apart by numbers, which those of the other side have, too */
        const char *copy = sql_fresh(q, "copy");

        keys[count] = mark;
        if (copy == NULL ||
            !sql_rel_window(q, both, copy, "row_number()",
                            &(struct sql_window_spec){
                                .partition = keys, .partition_count = count + 1, .position = select->position})) {
            return false;
        }
        keys[key_count++] = copy;
    }
    return sql_rel_group(q, both, keys, key_count, &(struct sql_aggregates){sides, texts, 2}, select->position) &&
           sql_rel_filter(q, both, where, select->position) && sql_rel_select(q, both, names, count, select->position);
}

/* Rows of both sides in one frame; with `mark` a column that tells which side they are of. */
static bool
join_sides(struct sql_statement *q, const struct side sides[2], const char *mark, const char *const *names,
           int position)
{
    struct sql_rel *rel = &sides[0].result->rel;

    for (int i = 0; i < 2; i++) {
        if (!rename_outputs(q, &sides[i], mark, names, position)) {
            return false;
        }
    }
    return sql_rel_concat(q, rel, &sides[1].result->rel, position) && put_untyped(q, rel, &sides[0], mark, names) &&
           put_untyped(q, rel, &sides[1], mark, names);
}

/* The number of the row of the query around, as one more output of a side. */
static bool
add_number(struct sql_statement *q, struct sql_result *result)
{
    struct sql_output *outputs = SQL_ARRAY(q, struct sql_output, result->count + 1);

    if (outputs == NULL) {
        return false;
    }
    memcpy(outputs, result->outputs, result->count * sizeof *outputs);
    outputs[result->count++] = (struct sql_output){"outer", result->number};
    result->outputs = outputs;
    return true;
}

/* The place of a name among outputs, + 1; 0: none has it. */
static size_t
find_output(const struct sql_result *result, const char *name)
{
    size_t i = 0;

    while (i < result->count && strcasecmp(result->outputs[i].name, name) != 0) {
        i++;
    }
    return i < result->count ? i + 1 : 0;
}

static bool
check_names(struct sql_statement *q, const struct sql_result *result, int position)
{
    for (size_t i = 0; i < result->count; i++) {
        if (find_output(result, result->outputs[i].name) != i + 1) {
            return sql_fail(q, GRANARY_EINVAL, position, "BY NAME: a side has more than one column '%s'",
                            result->outputs[i].name);
        }
    }
    return true;
}

/* The columns of a side in the order of both: those of the left one, and behind them what only the right one has. */
static bool
order_side(struct sql_statement *q, struct side *side, const struct sql_output *all, size_t count)
{
    struct sql_output *outputs = SQL_ARRAY(q, struct sql_output, count + 1);
    size_t *places = SQL_ARRAY(q, size_t, count + 1);

    for (size_t i = 0; outputs != NULL && places != NULL && i < count; i++) {
        const size_t place = find_output(side->result, all[i].name);

        places[i] = place;
        outputs[i] = (struct sql_output){all[i].name, place == 0 ? "" : side->result->outputs[place - 1].frame};
    }
    side->places = places;
    side->result->outputs = outputs;
    side->result->count = count;
    return q->err == GRANARY_OK;
}

static bool
order_by_name(struct sql_statement *q, struct side sides[2], int position)
{
    const struct sql_result *left = sides[0].result;
    const struct sql_result *right = sides[1].result;
    struct sql_output *all = SQL_ARRAY(q, struct sql_output, left->count + right->count);
    size_t count = 0;

    if (all == NULL || !check_names(q, left, position) || !check_names(q, right, position)) {
        return false;
    }
    for (; count < left->count; count++) {
        all[count] = left->outputs[count];
    }
    for (size_t i = 0; i < right->count; i++) {
        if (find_output(left, right->outputs[i].name) == 0) {
            all[count++] = right->outputs[i];
        }
    }
    return order_side(q, &sides[0], all, count) && order_side(q, &sides[1], all, count);
}

/* Rows of both sides, as UNION and its kin have them. */
static bool
plan_sides(struct sql_statement *q, const struct sql_select *select, const struct sql_around *around,
           struct sql_result *ret_result)
{
    struct sql_rel *rel = &ret_result->rel;
    struct sql_result right;
    struct side sides[2] = {{select->left, ret_result, "1", NULL, NULL}, {select->right, &right, "2", NULL, NULL}};
    const char **names;
    const char *mark = NULL;

    if (!sql_plan_for(q, select->left, around, ret_result) || !sql_plan_for(q, select->right, around, &right)) {
        return false;
    }
    if (select->by_name && around != NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, select->position,
                        "BY NAME in a subquery that names columns of the query around is not supported");
    }
    if (select->by_name && !order_by_name(q, sides, select->position)) {
        return false;
    }
    if (ret_result->count != right.count) {
        return sql_fail(q, GRANARY_EINVAL, select->position, "one side lists %zu values, the other %zu",
                        ret_result->count, right.count);
    }
    if (around != NULL && (!add_number(q, ret_result) || !add_number(q, &right))) {
        return false;
    }
    names = SQL_ARRAY(q, const char *, right.count);
    for (size_t i = 0; i < right.count && names != NULL; i++) {
        names[i] = sql_fresh(q, ret_result->outputs[i].name);
    }
    if (find_untyped(q, sides) || select->set != SQL_UNION) {
        mark = sql_fresh(q, "side");
    }
    if (q->err != GRANARY_OK || !join_sides(q, sides, mark, names, select->position)) {
        return false;
    }
    if (select->set != SQL_UNION) {
        return compare_sides(q, rel, mark, names, right.count, select);
    }
    return !select->all   ? sql_rel_distinct(q, rel, names, right.count, select->position)
           : mark != NULL ? sql_rel_select(q, rel, names, right.count, select->position)
                          : true;
}

/* Whether lists of nulls as written of a side, and there are some, take a dtype from another one. */
static bool
takes_dtypes(const struct sql_select *select, const struct sql_select *other)
{
    bool open = false;

    for (size_t i = 0; i < select->target_count && select->set == SQL_NO_SET; i++) {
        const struct sql_expr *value = untyped_value(select, i);

        if (value != NULL && is_open_list(value)) {
            open = true;
            if (untyped_target(other, i) != NULL) {
                return false;
            }
        }
    }
    return open;
}

static bool
is_plain_union(const struct sql_select *select)
{
    return select->set == SQL_UNION && select->all && !select->by_name && select->with_count == 0 &&
           select->order_count == 0 && select->order_all == NULL && select->limit < 0 && select->offset == 0 &&
           select->limit_value == NULL && select->offset_value == NULL;
}

/* (a UNION ALL []) UNION ALL c is a UNION ALL ([] UNION ALL c), so that [] takes its dtype from c. */
static const struct sql_select *
open_list_last(struct sql_statement *q, const struct sql_select *select)
{
    const struct sql_select *left = select->left;
    struct sql_select *outer, *inner;

    if (select->set != SQL_UNION || !select->all || select->by_name || !is_plain_union(left) ||
        !takes_dtypes(left->right, select->right)) {
        return select;
    }
    outer = SQL_NEW(q, struct sql_select);
    inner = SQL_NEW(q, struct sql_select);
    if (outer == NULL || inner == NULL) {
        return NULL;
    }
    *inner = *left;
    inner->left = left->right;
    inner->right = select->right;
    *outer = *select;
    outer->left = left->left;
    outer->right = inner;
    return outer;
}

bool
sql_plan_set(struct sql_statement *q, const struct sql_select *select, const struct sql_around *around, bool ordered,
             struct sql_result *ret_result)
{
    select = open_list_last(q, select);
    if (select == NULL || !plan_sides(q, select, around, ret_result)) {
        return false;
    }
    ret_result->number = around == NULL ? NULL : ret_result->outputs[--ret_result->count].frame;
    return order_set(q, select, ordered, ret_result);
}
