/*
 * Stars: the columns that `*`, `t.* EXCLUDE (a)` and COLUMNS('pattern') stand for. An expression around COLUMNS is
 * written out for each of them.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "sql/block.h"
#include "sql/select/star_names.h"

/* ---- the columns of a star ---- */

static bool
is_named(const struct sql_column *column, const struct sql_expr *name)
{
    return strcasecmp(column->name, name->text) == 0 &&
           (name->table == NULL || sql_is_table(column->table, name->table));
}

/* Which of the columns that USING has joined is of that table, from 0; -1: none. *ret_count: how many there are. */
static int
joined_side(const struct sql_block *block, const struct sql_column *joined, const char *table, int *ret_count)
{
    int found = -1;

    *ret_count = 0;
    for (size_t i = 0; i < block->column_count; i++) {
        const struct sql_column *column = block->columns[i];

        if (column->hidden && column->table != NULL && strcasecmp(column->name, joined->name) == 0) {
            found = found < 0 && sql_is_table(column->table, table) ? *ret_count : found;
            ++*ret_count;
        }
    }
    return found;
}

/* The same of a column that USING has joined: by the first of its tables. */
static bool
is_named_joined(const struct sql_block *block, const struct sql_column *column, const struct sql_expr *name)
{
    int count;

    return is_named(column, name) ||
           (column->table == NULL && name->table != NULL && strcasecmp(column->name, name->text) == 0 &&
            joined_side(block, column, name->table, &count) == 0);
}

/* A column of what the star is of, whether it is shown or not. */
static bool
is_of(const struct sql_column *column, const struct sql_expr *star)
{
    return star->table == NULL ? !column->hidden : sql_is_table(column->table, star->table);
}

/* All names in EXCLUDE, REPLACE and RENAME are columns of the star. */
static bool
check_name(struct sql_block *block, const struct sql_expr *star, const char *clause, const struct sql_expr *name)
{
    for (size_t i = 0; i < block->column_count; i++) {
        const struct sql_column *column = block->columns[i];
        int count;

        if (is_of(column, star) && (is_named(column, name) || (column->table == NULL && name->table != NULL &&
                                                               strcasecmp(column->name, name->text) == 0 &&
                                                               joined_side(block, column, name->table, &count) >= 0))) {
            return true;
        }
    }
    block->q->no_column = true;
    return sql_fail(block->q, GRANARY_ENOENT, name->position, "%s: there is no column '%s' in *", clause, name->text);
}

static bool
check_names(struct sql_block *block, const struct sql_expr *star)
{
    const struct sql_star *more = star->star;

    for (size_t i = 0; i < more->exclude_count; i++) {
        if (!check_name(block, star, "EXCLUDE", more->exclude[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < more->replace_count; i++) {
        const struct sql_expr name = {
            .kind = SQL_COLUMN, .position = more->replace[i].expr->position, .text = more->replace[i].alias};

        if (!check_name(block, star, "REPLACE", &name)) {
            return false;
        }
    }
    for (size_t i = 0; i < more->rename_count; i++) {
        if (!check_name(block, star, "RENAME", more->rename[i].expr)) {
            return false;
        }
    }
    return true;
}

/* One value of a star. */
struct starred {
    const struct sql_column *column;
    struct sql_expr *expr; /* the column, or what REPLACE has in its place */
    const char *name;
    regmatch_t parts[SQL_GROUPS_MAX];
};

static bool
make_starred(struct sql_block *block, const struct sql_expr *star, const struct sql_column *column, struct starred *to)
{
    const struct sql_star *more = star->star;

    *to = (struct starred){.column = column, .name = column->name};
    for (size_t i = 0; more != NULL && i < more->replace_count; i++) {
        if (strcasecmp(more->replace[i].alias, column->name) == 0) {
            to->expr = more->replace[i].expr;
        }
    }
    for (size_t i = 0; more != NULL && i < more->rename_count; i++) {
        if (is_named_joined(block, column, more->rename[i].expr)) {
            to->name = more->rename[i].alias;
        }
    }
    if (to->expr == NULL && (to->expr = SQL_NEW(block->q, struct sql_expr)) != NULL) {
        *to->expr = (struct sql_expr){.kind = SQL_COLUMN,
                                      .position = star->position,
                                      .text = column->name,
                                      .table = column->table,
                                      .column = column};
    }
    return to->expr != NULL;
}

/* A column that USING has joined is left out when those of all its tables are. false, and *ret_moves: it would stand where
 * the right one does. */
static bool
is_excluded(const struct sql_block *block, const struct sql_star *star, const struct sql_column *column,
            bool *ret_moves)
{
    int sides = 0;
    int left_out = 0;

    *ret_moves = false;
    for (size_t i = 0; i < star->exclude_count; i++) {
        const struct sql_expr *name = star->exclude[i];
        int side;

        if (is_named(column, name)) {
            return true;
        }
        side = column->table == NULL && name->table != NULL && strcasecmp(column->name, name->text) == 0
                   ? joined_side(block, column, name->table, &sides)
                   : -1;
        left_out += side >= 0;
        *ret_moves = *ret_moves || side == 0;
    }
    *ret_moves = *ret_moves && left_out < sides;
    return left_out > 0 && left_out == sides;
}

/* In an array with room for all columns. */
static bool
list_starred(struct sql_block *block, const struct sql_expr *star, struct starred *list, size_t *ret_count)
{
    struct sql_matcher m = {.compiled = false};
    const char *of_table = NULL;
    bool ok = star->star == NULL || (check_names(block, star) && sql_open_matcher(block->q, star, &m));

    *ret_count = 0;
    for (size_t i = 0; i < block->column_count && ok; i++) {
        const struct sql_column *column = block->columns[i];
        regmatch_t parts[SQL_GROUPS_MAX];
        bool moves = false;

        if (!is_of(column, star)) {
            continue;
        }
        if (of_table != NULL && star->table != NULL && strcmp(of_table, column->table) != 0) {
            ok = sql_fail(block->q, GRANARY_EINVAL, star->position,
                          "'%s' and '%s' are both called %s: give one an alias", of_table, column->table, star->table);
            break;
        }
        of_table = column->table != NULL ? column->table : "";
        if (star->star == NULL ||
            (!is_excluded(block, star->star, column, &moves) && sql_matches(star->star, &m, column->name, parts))) {
            ok = make_starred(block, star, column, &list[*ret_count]);
            if (star->star != NULL && m.compiled) {
                memcpy(list[*ret_count].parts, parts, sizeof parts);
            }
            ++*ret_count;
        }
        ok = ok && (!moves || sql_fail(block->q, GRANARY_EUNSUPPORTED, star->position,
                                       "EXCLUDE of one side of a joined column '%s' is not supported: leave both out",
                                       column->name));
    }
    sql_close_matcher(&m);
    if (!ok) {
        return false;
    }
    if (*ret_count == 0 && of_table == NULL) {
        return star->table == NULL
                   ? sql_fail(block->q, GRANARY_EINVAL, star->position, "SELECT * needs FROM")
                   : sql_fail(block->q, GRANARY_ENOENT, star->position, "no table in FROM is called '%s'", star->table);
    }
    if (*ret_count == 0 && (star->star->match != SQL_MATCH_ALL || star->star->is_columns || block->select == NULL ||
                            block->select->target_count == 1)) {
        block->q->no_column = true;
        return sql_fail(block->q, GRANARY_ENOENT, star->position, "no column is left of *%s%s%s",
                        star->star->pattern == NULL ? "" : ": none matches '",
                        star->star->pattern == NULL ? "" : star->star->pattern, star->star->pattern == NULL ? "" : "'");
    }
    return true;
}

/* ---- expressions around COLUMNS ---- */

/* Whether it is a call of SQL_UNPACK. */
static bool
is_unpack(const struct sql_expr *expr)
{
    return expr->kind == SQL_FUNCTION && expr->count == 1 && strcmp(expr->text, SQL_UNPACK) == 0;
}

const struct sql_expr *
sql_star_in(const struct sql_expr *expr)
{
    const struct sql_expr *star = expr->kind == SQL_STAR ? expr : NULL;

    for (size_t i = 0; i < expr->count && star == NULL && !is_unpack(expr); i++) {
        star = sql_star_in(expr->args[i]);
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->partition_count && star == NULL; i++) {
        star = sql_star_in(expr->over->partition[i]);
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->order_count && star == NULL; i++) {
        star = sql_star_in(expr->over->order[i].expr);
    }
    for (size_t i = 0; expr->over != NULL && i < 2 && star == NULL; i++) {
        star = expr->over->bounds[i].distance != NULL ? sql_star_in(expr->over->bounds[i].distance) : NULL;
    }
    return star != NULL || expr->condition == NULL ? star : sql_star_in(expr->condition);
}

static bool
same_names(const struct sql_star *x, const struct sql_star *y)
{
    bool same = x->exclude_count == y->exclude_count;

    for (size_t i = 0; same && i < x->exclude_count; i++) {
        const struct sql_expr *a = x->exclude[i];
        const struct sql_expr *b = y->exclude[i];

        same = strcasecmp(a->text, b->text) == 0 && (a->table == NULL) == (b->table == NULL) &&
               (a->table == NULL || strcasecmp(a->table, b->table) == 0);
    }
    return same;
}

static bool
same_list(const struct sql_star *x, const struct sql_star *y)
{
    bool same = x->name_count == y->name_count;

    for (size_t i = 0; same && i < x->name_count; i++) {
        same = strcasecmp(x->names[i], y->names[i]) == 0;
    }
    return same;
}

/* Whether two stars of an expression say the same. */
static bool
same_star(const struct sql_expr *a, const struct sql_expr *b)
{
    const struct sql_star *x = a->star;
    const struct sql_star *y = b->star;

    if (a == b) {
        return true;
    }
    return x != NULL && y != NULL && x->match == y->match && x->negated == y->negated && x->replace_count == 0 &&
           y->replace_count == 0 && same_names(x, y) && same_list(x, y) && x->escape == y->escape &&
           (a->table == NULL) == (b->table == NULL) && (a->table == NULL || strcasecmp(a->table, b->table) == 0) &&
           (x->pattern == NULL) == (y->pattern == NULL) && (x->pattern == NULL || strcmp(x->pattern, y->pattern) == 0);
}

static struct sql_expr *
copy_with(struct sql_block *block, const struct sql_expr *expr, const struct sql_expr *star, struct sql_expr *value);

static bool
copy_list(struct sql_block *block, struct sql_expr *const *from, size_t count, const struct sql_expr *star,
          struct sql_expr *value, struct sql_expr ***ret_list)
{
    struct sql_expr **list = SQL_ARRAY(block->q, struct sql_expr *, count);

    for (size_t i = 0; i < count && list != NULL; i++) {
        list[i] = copy_with(block, from[i], star, value);
        if (list[i] == NULL) {
            return false;
        }
    }
    *ret_list = list;
    return list != NULL;
}

static struct sql_window *
copy_window(struct sql_block *block, const struct sql_window *from, const struct sql_expr *star, struct sql_expr *value)
{
    struct sql_window *to = SQL_NEW(block->q, struct sql_window);

    if (to == NULL) {
        return NULL;
    }
    *to = *from;
    to->order = SQL_ARRAY(block->q, struct sql_order, from->order_count);
    if (to->order == NULL || !copy_list(block, from->partition, from->partition_count, star, value, &to->partition)) {
        return NULL;
    }
    for (size_t i = 0; i < from->order_count; i++) {
        to->order[i] = from->order[i];
        to->order[i].expr = copy_with(block, from->order[i].expr, star, value);
        if (to->order[i].expr == NULL) {
            return NULL;
        }
    }
    for (size_t i = 0; i < 2; i++) {
        struct sql_expr **distance = &to->bounds[i].distance;

        if (*distance != NULL && (*distance = copy_with(block, *distance, star, value)) == NULL) {
            return NULL;
        }
    }
    return to;
}

/* The expression with a value in the place of its star. */
static struct sql_expr *
copy_with(struct sql_block *block, const struct sql_expr *expr, const struct sql_expr *star, struct sql_expr *value)
{
    struct sql_expr *copy;

    if (expr->kind == SQL_STAR) {
        if (!same_star(expr, star) || expr->star == NULL || !expr->star->is_columns) {
            (void)sql_fail(block->q, GRANARY_EUNSUPPORTED, expr->position,
                           expr->star != NULL && expr->star->is_columns
                               ? "an expression has one choice of COLUMNS: give each an expression of its own"
                               : "* stands for columns of SELECT, and in count(*); in an expression write COLUMNS(*)");
            return NULL;
        }
        return value;
    }
    copy = SQL_NEW(block->q, struct sql_expr);
    if (copy == NULL) {
        return NULL;
    }
    *copy = *expr;
    if (!copy_list(block, expr->args, expr->count, star, value, &copy->args)) {
        return NULL;
    }
    if (expr->over != NULL && (copy->over = copy_window(block, expr->over, star, value)) == NULL) {
        return NULL;
    }
    if (expr->condition != NULL && (copy->condition = copy_with(block, expr->condition, star, value)) == NULL) {
        return NULL;
    }
    return copy;
}

/* The same for one of the star's columns, where the star may be all of it. */
static struct sql_expr *
written_for(struct sql_block *block, struct sql_expr *expr, const struct sql_expr *star, const struct starred *one)
{
    return expr == star ? one->expr : copy_with(block, expr, star, one->expr);
}

/* An alias in which \1 is the first part of the name that the pattern has in brackets, and \0 all of it. */
static const char *
write_alias(struct sql_statement *q, const char *alias, const struct starred *one, enum sql_match match)
{
    const bool by_parts = match == SQL_MATCH_PART || match == SQL_MATCH_WHOLE;
    struct gr_buf out = {0};
    const char *text;

    for (; *alias != '\0'; alias++) {
        /* a pattern for all of a name stands in brackets of ours */
        const int which = alias[0] != '\\' || isdigit((unsigned char)alias[1]) == 0
                              ? -1
                              : alias[1] - '0' + (match == SQL_MATCH_WHOLE && alias[1] != '0');
        const regmatch_t *part = which >= 0 && which < SQL_GROUPS_MAX ? &one->parts[which] : NULL;

        if (part == NULL) {
            alias += alias[0] == '\\' && alias[1] == '\\';
            gr_buf_add(&out, alias, 1);
        } else if (!by_parts) {
            alias++;
            gr_buf_addf(&out, "%s", which == 0 ? one->column->name : "");
        } else {
            alias++;
            gr_buf_add(&out, one->column->name + (part->rm_so > 0 ? part->rm_so : 0),
                       part->rm_so < 0 ? 0 : (size_t)(part->rm_eo - part->rm_so));
        }
    }
    text = gr_buf_ok(&out) ? sql_printf(q, "%s", out.bytes == NULL ? "" : out.bytes) : NULL;
    gr_buf_free(&out);
    return text;
}

/* What a value is called: by its alias, else as its column, whatever is around that. */
static const char *
name_starred(struct sql_statement *q, const struct sql_target *target, const struct sql_expr *star,
             const struct starred *one)
{
    const char *alias = target->alias;

    return alias == NULL                                       ? one->name
           : star->star != NULL && strchr(alias, '\\') != NULL ? write_alias(q, alias, one, star->star->match)
                                                               : alias;
}

/* How many arguments stand for one of them, and these. 0: the statement has failed. */
static size_t
unpack_one(struct sql_block *block, struct sql_expr *arg, struct starred *list, struct sql_expr **to)
{
    struct sql_expr *of = is_unpack(arg) ? arg->args[0] : arg;
    const struct sql_expr *star = of != arg ? sql_star_in(of) : NULL;
    size_t count = 0;

    to[0] = of;
    if (star == NULL) {
        return of != arg || sql_unpack(block, arg) ? 1 : 0;
    }
    if (!list_starred(block, star, list, &count)) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        to[i] = written_for(block, of, star, &list[i]);
        if (to[i] == NULL) {
            return 0;
        }
    }
    return count;
}

bool
sql_unpack(struct sql_block *block, struct sql_expr *expr)
{
    struct starred *list = NULL;
    struct sql_expr **args = NULL;
    size_t count = 0;
    bool any = false;

    for (size_t i = 0; i < expr->count && !any; i++) {
        any = is_unpack(expr->args[i]);
    }
    if (any) {
        list = SQL_ARRAY(block->q, struct starred, block->column_count + 1);
        args = SQL_ARRAY(block->q, struct sql_expr *, expr->count * (block->column_count + 1));
    }
    for (size_t i = 0; i < expr->count && !any; i++) {
        if (!sql_unpack(block, expr->args[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < expr->count && any; i++) {
        const size_t made = list == NULL || args == NULL ? 0 : unpack_one(block, expr->args[i], list, args + count);

        if (made == 0) {
            return false;
        }
        count += made;
    }
    if (any) {
        expr->args = args;
        expr->count = count;
    }
    return true;
}

bool
sql_expand_star(struct sql_block *block, const struct sql_target *target, struct sql_targets *targets)
{
    const struct sql_expr *star = sql_star_in(target->expr);
    struct starred *list = SQL_ARRAY(block->q, struct starred, block->column_count + 1);
    size_t count = 0;

    if (list == NULL || !list_starred(block, star, list, &count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct sql_target *to = &targets->list[targets->count++];

        to->alias = name_starred(block->q, target, star, &list[i]);
        to->expr = written_for(block, target->expr, star, &list[i]);
        if (to->expr == NULL || to->alias == NULL) {
            return false;
        }
        if (to->expr->kind == SQL_COLUMN && to->expr->column != NULL && strcmp(to->alias, to->expr->text) == 0) {
            to->alias = NULL; /* it is the column's name */
            continue;
        }
        if (!sql_bind(block, to->expr) || !sql_check_inner(block, to->expr)) {
            return false;
        }
    }
    return true;
}

/* A key of ORDER BY for each column of its star, or itself. Returns how many; 0: the statement has failed. */
static size_t
expand_key(struct sql_block *block, const struct sql_order *key, struct starred *list, struct sql_order *to)
{
    const struct sql_expr *star = sql_star_in(key->expr);
    size_t count = 0;

    to[0] = *key;
    if (star == NULL) {
        return 1;
    }
    if (!list_starred(block, star, list, &count)) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        to[i] = *key;
        to[i].expr = written_for(block, key->expr, star, &list[i]);
        if (to[i].expr == NULL) {
            return 0;
        }
    }
    return count;
}

const struct sql_select *
sql_expand_order(struct sql_block *block, const struct sql_select *select)
{
    struct sql_select *written;
    struct starred *list;
    struct sql_order *order;
    size_t stars = 0;

    for (size_t i = 0; i < select->order_count; i++) {
        stars += sql_star_in(select->order[i].expr) != NULL;
    }
    if (stars == 0) {
        return select;
    }
    written = SQL_NEW(block->q, struct sql_select);
    list = SQL_ARRAY(block->q, struct starred, block->column_count + 1);
    order = SQL_ARRAY(block->q, struct sql_order, select->order_count + stars * block->column_count);
    if (written == NULL || list == NULL || order == NULL) {
        return NULL;
    }
    *written = *select;
    written->order = order;
    written->order_count = 0;
    written->distinct_on = 0;
    for (size_t i = 0; i < select->order_count; i++) {
        const size_t count = expand_key(block, &select->order[i], list, order + written->order_count);

        if (count == 0) {
            return NULL;
        }
        written->order_count += count;
        written->distinct_on += i + select->distinct_on >= select->order_count ? count : 0;
    }
    return written;
}

bool
sql_expand_condition(struct sql_block *block, struct sql_expr **condition)
{
    const struct sql_expr *star;
    struct starred *list = SQL_ARRAY(block->q, struct starred, block->column_count + 1);
    struct sql_expr *all = SQL_NEW(block->q, struct sql_expr);

    if (!sql_unpack(block, *condition)) {
        return false;
    }
    star = sql_star_in(*condition);
    if (star != NULL && (*condition)->kind == SQL_AND) { /* each has a choice of its own */
        for (size_t i = 0; i < (*condition)->count; i++) {
            if (!sql_expand_condition(block, &(*condition)->args[i])) {
                return false;
            }
        }
        return true;
    }

    if (star == NULL || list == NULL || all == NULL) {
        return star == NULL;
    }
    *all = (struct sql_expr){.kind = SQL_AND, .position = (*condition)->position, .text = ""};
    if (!list_starred(block, star, list, &all->count)) {
        return false;
    }
    all->args = SQL_ARRAY(block->q, struct sql_expr *, all->count);
    for (size_t i = 0; i < all->count && all->args != NULL; i++) {
        all->args[i] = copy_with(block, *condition, star, list[i].expr);
        if (all->args[i] == NULL) {
            return false;
        }
    }
    *condition = all->count == 1 && all->args != NULL ? all->args[0] : all;
    return all->args != NULL;
}
