/* What dialect_pivot() has made of PIVOT and UNPIVOT: a window whose partition has it as a list. */
#include <string.h>

#include "sql/parse/private.h"

#define AS "#as"

/* The item of a list without the name that may stand behind it, which the call of AS has. */
static const PgQuery__Node *
without_name(struct parse *p, const PgQuery__Node *item, const char **ret_name)
{
    const PgQuery__FuncCall *call = item->node_case == PG_QUERY__NODE__NODE_FUNC_CALL ? item->func_call : NULL;
    PgQuery__Node *const *args;

    *ret_name = NULL;
    if (call == NULL || call->n_funcname != 1 || call->n_args != 2 ||
        strcmp(call->funcname[0]->string->sval, AS) != 0) {
        return item;
    }
    (void)parse_last(p, TAKE(p, call, funcname), call->n_funcname);
    (void)TAKE(p, call, funcformat);
    args = TAKE(p, call, args);
    *ret_name = parse_copy(p, TAKE(p, args[1]->a_const->sval, sval));
    return args[0];
}

/* The parts of a row, or what is no row. */
static struct sql_expr **
parse_parts(struct parse *p, const PgQuery__Node *node, size_t *ret_count)
{
    PgQuery__Node *const single[] = {(PgQuery__Node *)node};
    const PgQuery__RowExpr *row = node->node_case == PG_QUERY__NODE__NODE_ROW_EXPR ? node->row_expr : NULL;

    *ret_count = row == NULL ? 1 : row->n_args;
    if (row != NULL) {
        (void)TAKE(p, row, row_format);
    }
    return row == NULL ? parse_exprs(p, single, 1) : parse_exprs(p, TAKE(p, row, args), row->n_args);
}

/* ---- PIVOT ---- */

/* Whether a cast of a literal has its text: of any to text, of a whole number to an integer, of a date in digits. */
static bool
is_as_written(const struct sql_expr *cast)
{
    const char *text = cast->args[0]->text;
    bool date = strlen(text) == 12 && strspn(text, "'-0123456789") == 12 && text[5] == '-' && text[8] == '-';

    return cast->args[0]->kind == SQL_LITERAL &&
           (strcmp(cast->text, "string") == 0 || (date && strcmp(cast->text, "date") == 0) ||
            (strstr(cast->text, "int") != NULL && text[strspn(text, "0123456789")] == '\0' && text[0] != '0'));
}

/* A value as it is written as text. false: it is no constant, which has failed. */
static bool
text_of(struct parse *p, const struct sql_expr *expr, const char **ret_text)
{
    const struct sql_expr *literal = expr;
    const char *sign = "";

    *ret_text = NULL;
    if (expr->kind == SQL_PREFIX && strcmp(expr->text, "-") == 0) {
        literal = expr->args[0];
        sign = "-";
    } else if (expr->kind == SQL_CAST && is_as_written(expr)) {
        literal = expr->args[0];
    }
    if (literal->kind == SQL_LITERAL && strcmp(literal->text, "null") == 0) {
        return true;
    }
    if (literal->kind == SQL_LITERAL && literal->text[0] == '\'') {
        char *text = sql_printf(p->q, "%.*s", (int)strlen(literal->text) - 2, literal->text + 1);
        char *to = text;

        for (const char *at = text; text != NULL && *at != '\0'; at++) {
            *to++ = *at;
            at += at[0] == '\'' && at[1] == '\'';
        }
        if (text != NULL) {
            *to = '\0';
        }
        *ret_text = text;
    } else if (literal->kind == SQL_LITERAL && literal->text[strspn(literal->text, "(-.0123456789)")] == '\0') {
        *ret_text = sql_printf(p->q, "%s%.*s", sign, (int)strcspn(literal->text + (literal->text[0] == '('), ")"),
                               literal->text + (literal->text[0] == '('));
    } else if (literal->kind == SQL_LITERAL &&
               (strcmp(literal->text, "true") == 0 || strcmp(literal->text, "false") == 0)) {
        *ret_text = literal->text;
    } else {
        return sql_fail(p->q, GRANARY_EUNSUPPORTED, expr->position,
                        "a value of PIVOT must be a number, a text, true, false or null: write it as a text, as CAST "
                        "gives it");
    }
    return *ret_text != NULL;
}

static bool
parse_value(struct parse *p, const PgQuery__Node *item, const struct sql_pivot_key *key, struct sql_pivot_value *value)
{
    const PgQuery__Node *node = without_name(p, item, &value->name);
    const char *name = NULL;
    struct sql_expr **parts = parse_parts(p, node, &value->count);

    if (parts == NULL) {
        return false;
    }
    value->position = parts[0]->position;
    value->texts = SQL_ARRAY(p->q, const char *, value->count);
    if (value->count != key->count) {
        return sql_fail(p->q, GRANARY_EINVAL, value->position,
                        "PIVOT is of %zu values side by side here, and this is %zu", key->count, value->count);
    }
    for (size_t i = 0; i < value->count && value->texts != NULL; i++) {
        if (!text_of(p, parts[i], &value->texts[i])) {
            return false;
        }
        name = sql_printf(p->q, "%s%s%s", name == NULL ? "" : name, name == NULL ? "" : "_",
                          value->texts[i] == NULL ? "NULL" : value->texts[i]);
    }
    value->name = value->name != NULL ? value->name : name;
    return p->q->err == GRANARY_OK;
}

static bool
is_same(const struct sql_pivot_value *a, const struct sql_pivot_value *b)
{
    bool same = true;

    for (size_t i = 0; i < a->count && same; i++) {
        same = (a->texts[i] == NULL) == (b->texts[i] == NULL) &&
               (a->texts[i] == NULL || strcmp(a->texts[i], b->texts[i]) == 0);
    }
    return same;
}

/* k IN (1, 2) */
static bool
parse_list(struct parse *p, const PgQuery__AExpr *in, struct sql_pivot_key *key)
{
    const PgQuery__Node *list = TAKE(p, in, rexpr);
    PgQuery__Node *const *items = TAKE(p, list->list, items);

    (void)TAKE(p, in, kind);
    (void)parse_string(p, TAKE(p, in, name)[0]);
    key->exprs = parse_parts(p, TAKE(p, in, lexpr), &key->count);
    key->value_count = list->list->n_items;
    key->values = SQL_ARRAY(p->q, struct sql_pivot_value, key->value_count);
    for (size_t i = 0; i < key->value_count && key->exprs != NULL && key->values != NULL; i++) {
        if (!parse_value(p, items[i], key, &key->values[i])) {
            return false;
        }
        for (size_t k = 0; k < i; k++) {
            if (is_same(&key->values[k], &key->values[i])) {
                return sql_fail(p->q, GRANARY_EINVAL, key->values[i].position, "PIVOT has the value '%s' twice",
                                key->values[i].texts[0] == NULL ? "NULL" : key->values[i].texts[0]);
            }
        }
    }
    return p->q->err == GRANARY_OK;
}

/* k IN (SELECT ...) */
static bool
parse_asked(struct parse *p, const PgQuery__SubLink *link, struct sql_pivot_key *key)
{
    const PgQuery__Node *query = TAKE(p, link, subselect);

    (void)TAKE(p, link, sub_link_type);
    key->exprs = parse_parts(p, TAKE(p, link, testexpr), &key->count);
    key->select = key->exprs == NULL ? NULL : parse_select(p, query->select_stmt);
    key->is_found = true;
    return key->select != NULL;
}

static bool
is_in(const PgQuery__Node *node)
{
    return node->node_case == PG_QUERY__NODE__NODE_A_EXPR && node->a_expr->kind == PG_QUERY__A__EXPR__KIND__AEXPR_IN &&
           strcmp(node->a_expr->name[0]->string->sval, "=") == 0;
}

static bool
parse_pivot_key(struct parse *p, const PgQuery__Node *node, struct sql_pivot_key *key)
{
    bool ok;

    if (is_in(node)) {
        ok = parse_list(p, node->a_expr, key);
    } else if (node->node_case == PG_QUERY__NODE__NODE_SUB_LINK &&
               node->sub_link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK &&
               node->sub_link->n_oper_name == 0) {
        ok = parse_asked(p, node->sub_link, key);
    } else {
        key->exprs = parse_parts(p, node, &key->count);
        key->is_found = true;
        ok = key->exprs != NULL;
    }
    key->position = ok ? key->exprs[0]->position : -1;
    if (ok && key->is_found && key->count > 1) {
        return sql_fail(p->q, GRANARY_EUNSUPPORTED, key->position,
                        "the values of several columns side by side must be written: (a, b) IN ((1, 2), (3, 4))");
    }
    return ok;
}

bool
parse_pivot(struct parse *p, const PgQuery__WindowDef *from, struct sql_select *select)
{
    struct sql_pivot *pivot = SQL_NEW(p->q, struct sql_pivot);
    PgQuery__Node *const *parts = TAKE(p, from, partition_clause);

    (void)TAKE(p, from, frame_options);
    if (pivot == NULL) {
        return false;
    }
    pivot->position = from->location;
    pivot->count = from->n_partition_clause;
    pivot->keys = SQL_ARRAY(p->q, struct sql_pivot_key, pivot->count);
    for (size_t i = 0; i < pivot->count && pivot->keys != NULL; i++) {
        if (!parse_pivot_key(p, parts[i], &pivot->keys[i])) {
            return false;
        }
    }
    select->pivot = pivot;
    p->pivots = true;
    return p->q->err == GRANARY_OK;
}

/* ---- UNPIVOT ---- */

/* A name, as a column or as a text. NULL: it is none. */
static const char *
parse_new_name(struct parse *p, const struct sql_expr *expr)
{
    if (expr->kind == SQL_COLUMN && expr->table == NULL) {
        return expr->text;
    }
    if (expr->kind == SQL_LITERAL && expr->text[0] == '\'') {
        return sql_printf(p->q, "%.*s", (int)strlen(expr->text) - 2, expr->text + 1);
    }
    (void)sql_fail(p->q, GRANARY_EINVAL, expr->position, "the name of a new column must stand here");
    return NULL;
}

static bool
parse_new_names(struct parse *p, const PgQuery__Node *values, const PgQuery__Node *name, struct sql_unpivot *unpivot)
{
    struct sql_expr **exprs = parse_parts(p, values, &unpivot->value_count);
    size_t count = 0;
    struct sql_expr **names = exprs == NULL ? NULL : parse_parts(p, name, &count);

    unpivot->values = SQL_ARRAY(p->q, const char *, unpivot->value_count);
    if (names == NULL || unpivot->values == NULL) {
        return false;
    }
    if (count != 1) {
        return sql_fail(p->q, GRANARY_EINVAL, names[0]->position, "UNPIVOT makes one column of names, not %zu", count);
    }
    unpivot->name = parse_new_name(p, names[0]);
    for (size_t i = 0; i < unpivot->value_count && p->q->err == GRANARY_OK; i++) {
        unpivot->values[i] = parse_new_name(p, exprs[i]);
    }
    return p->q->err == GRANARY_OK;
}

bool
parse_unpivot(struct parse *p, const PgQuery__WindowDef *from, struct sql_select *select)
{
    struct sql_unpivot *unpivot = SQL_NEW(p->q, struct sql_unpivot);
    PgQuery__Node *const *parts = TAKE(p, from, partition_clause);

    (void)TAKE(p, from, frame_options);
    if (unpivot == NULL) {
        return false;
    }
    unpivot->position = from->location;
    unpivot->keeps_nulls = strcmp(TAKE(p, from, name), "#unpivot nulls") == 0;
    if (from->n_partition_clause < 3) {
        return sql_fail(p->q, GRANARY_EINVAL, from->location, "UNPIVOT needs a column at least");
    }
    unpivot->item_count = from->n_partition_clause - 2;
    unpivot->items = SQL_ARRAY(p->q, struct sql_unpivot_item, unpivot->item_count);
    if (unpivot->items == NULL || !parse_new_names(p, parts[0], parts[1], unpivot)) {
        return false;
    }
    for (size_t i = 0; i < unpivot->item_count; i++) {
        struct sql_unpivot_item *item = &unpivot->items[i];

        item->exprs = parse_parts(p, without_name(p, parts[2 + i], &item->name), &item->count);
        if (item->exprs == NULL) {
            return false;
        }
    }
    select->unpivot = unpivot;
    return true;
}

struct sql_expr *
parse_pivoted(struct parse *p, struct sql_expr *condition, int position)
{
    struct sql_expr *here = p->pivots ? sql_parse_new_expr(p, SQL_COLUMN, position, "here", 0) : NULL;

    if (here == NULL) {
        return condition;
    }
    here->table = SQL_PIVOTED;
    return condition == NULL ? here : sql_parse_new_call(p, SQL_AND, position, "", condition, here);
}
