/* Stars with more to them: `* EXCLUDE (a)` and its kin, which dialect_star() has made a call of, and COLUMNS(...). */
#include <string.h>

#include "sql/parse/private.h"

static struct sql_expr *
new_star(struct parse *p, int position)
{
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_STAR, position, "*", 0);

    if (expr != NULL) {
        expr->star = SQL_NEW(p->q, struct sql_star);
    }
    return expr == NULL || expr->star == NULL ? NULL : expr;
}

/* A name of a column behind AS. NULL: it is something else. */
static const char *
name_of(struct parse *p, const PgQuery__Node *node)
{
    const struct sql_expr *expr = parse_expr(p, node);

    if (expr != NULL && (expr->kind != SQL_COLUMN || expr->table != NULL)) {
        (void)sql_fail(p->q, GRANARY_EINVAL, expr->position, "the name of a column must stand here");
    }
    return p->q->err == GRANARY_OK ? expr->text : NULL;
}

/* Pairs of REPLACE (expression AS name) and RENAME (name AS name). */
static bool
parse_pairs(struct parse *p, PgQuery__Node *const *args, size_t count, int position, struct sql_target **ret_pairs)
{
    struct sql_target *pairs = SQL_ARRAY(p->q, struct sql_target, count / 2);

    if (count % 2 != 0) {
        return sql_fail(p->q, GRANARY_EINVAL, position, "each item needs AS and a name: (x + 1 AS x)");
    }
    for (size_t i = 0; i < count / 2 && pairs != NULL; i++) {
        pairs[i].expr = parse_expr(p, args[2 * i]);
        pairs[i].alias = pairs[i].expr == NULL ? NULL : name_of(p, args[2 * i + 1]);
        if (pairs[i].alias == NULL) {
            return false;
        }
    }
    *ret_pairs = pairs;
    return pairs != NULL;
}

static bool
only_columns(struct parse *p, struct sql_expr *const *exprs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (exprs[i]->kind != SQL_COLUMN) {
            return sql_fail(p->q, GRANARY_EINVAL, exprs[i]->position, "the name of a column must stand here");
        }
    }
    return true;
}

/* A text as written. NULL: it is none. */
static const char *
text_of(struct parse *p, const PgQuery__Node *node)
{
    const PgQuery__AConst *value = node->node_case == PG_QUERY__NODE__NODE_A_CONST ? node->a_const : NULL;

    return value != NULL && value->val_case == PG_QUERY__A__CONST__VAL_SVAL ? parse_copy(p, TAKE(p, value->sval, sval))
                                                                            : NULL;
}

static bool
parse_modifier(struct parse *p, const PgQuery__FuncCall *call, struct sql_star *star)
{
    static const struct {
        const char *name;
        enum sql_match match;
        bool negated;
    } matches[] = {{"#like", SQL_MATCH_LIKE, false},     {"#notlike", SQL_MATCH_LIKE, true},
                   {"#ilike", SQL_MATCH_ILIKE, false},   {"#notilike", SQL_MATCH_ILIKE, true},
                   {"#similar", SQL_MATCH_WHOLE, false}, {"#notsimilar", SQL_MATCH_WHOLE, true}};
    const char *name = parse_last(p, TAKE(p, call, funcname), call->n_funcname);
    PgQuery__Node *const *args = TAKE(p, call, args);

    if (strcmp(name, "#exclude") == 0) {
        star->exclude_count = call->n_args;
        star->exclude = parse_exprs(p, args, call->n_args);
        return star->exclude != NULL && only_columns(p, star->exclude, call->n_args);
    }
    if (strcmp(name, "#replace") == 0) {
        star->replace_count = call->n_args / 2;
        return parse_pairs(p, args, call->n_args, call->location, &star->replace);
    }
    if (strcmp(name, "#rename") == 0) {
        star->rename_count = call->n_args / 2;
        if (!parse_pairs(p, args, call->n_args, call->location, &star->rename)) {
            return false;
        }
        for (size_t i = 0; i < star->rename_count; i++) {
            if (!only_columns(p, &star->rename[i].expr, 1)) {
                return false;
            }
        }
        return true;
    }
    for (size_t i = 0; i < sizeof matches / sizeof matches[0]; i++) {
        if (strcmp(matches[i].name, name) == 0 && call->n_args > 0) {
            star->match = matches[i].match;
            star->negated = matches[i].negated;
            star->pattern = text_of(p, args[0]);
        }
    }
    if (star->pattern != NULL && call->n_args == 2) {
        const char *escape = text_of(p, args[1]);

        if (escape == NULL || strlen(escape) != 1) {
            return sql_fail(p->q, GRANARY_EUNSUPPORTED, call->location, "ESCAPE takes one sign in single quotes here");
        }
        star->escape = escape[0];
    }
    return star->pattern != NULL ||
           sql_fail(p->q, GRANARY_EINVAL, call->location, "a pattern of names is a text in single quotes");
}

struct sql_expr *
sql_parse_star(struct parse *p, const PgQuery__FuncCall *call)
{
    struct sql_expr *star = new_star(p, call->location);
    PgQuery__Node *const *args = TAKE(p, call, args);

    for (size_t i = 0; i < call->n_args && star != NULL; i++) {
        if (args[i]->node_case == PG_QUERY__NODE__NODE_COLUMN_REF) { /* t.* */
            const struct sql_expr *of = parse_expr(p, args[i]);

            star->table = of == NULL ? NULL : of->table;
        } else if (!parse_modifier(p, args[i]->func_call, star->star)) {
            return NULL;
        }
    }
    return p->q->err == GRANARY_OK ? star : NULL;
}

/* COLUMNS(['a', 'b']) */
static bool
parse_names_list(struct parse *p, const PgQuery__AArrayExpr *list, struct sql_star *star)
{
    PgQuery__Node *const *elements = TAKE(p, list, elements);

    star->name_count = list->n_elements;
    star->names = SQL_ARRAY(p->q, const char *, list->n_elements);
    for (size_t i = 0; i < list->n_elements && star->names != NULL; i++) {
        star->names[i] = text_of(p, elements[i]);
        if (star->names[i] == NULL) {
            return sql_fail(p->q, GRANARY_EINVAL, list->location, "COLUMNS([...]) takes names in single quotes");
        }
    }
    star->match = SQL_MATCH_NAMES;
    return star->names != NULL;
}

struct sql_expr *
sql_parse_columns(struct parse *p, const PgQuery__FuncCall *call)
{
    struct sql_expr *star = new_star(p, call->location);
    const PgQuery__Node *arg = call->n_args == 1 ? TAKE(p, call, args)[0] : NULL;

    if (star == NULL) {
        return NULL;
    }
    if (arg != NULL && arg->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR) {
        (void)parse_names_list(p, arg->a_array_expr, star->star);
    } else if (arg != NULL && text_of(p, arg) != NULL) {
        star->star->match = SQL_MATCH_PART;
        star->star->pattern = text_of(p, arg);
    } else if (arg != NULL) {
        star = parse_expr(p, arg);
        if (star != NULL && star->kind == SQL_STAR && star->star == NULL) {
            star->star = SQL_NEW(p->q, struct sql_star);
        }
        if (star != NULL && (star->kind != SQL_STAR || star->star == NULL)) {
            (void)sql_fail(
                p->q, GRANARY_EUNSUPPORTED, call->location,
                "COLUMNS takes a pattern or names in single quotes, or *: COLUMNS('a.*'), COLUMNS(['a', 'b'])");
        }
    } else {
        (void)TAKE(p, call, agg_star);
    }
    if (p->q->err == GRANARY_OK) {
        star->star->is_columns = true;
        star->position = call->location;
    }
    return p->q->err == GRANARY_OK ? star : NULL;
}
