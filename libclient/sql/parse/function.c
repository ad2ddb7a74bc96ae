/* Calls: functions, aggregates, and windows over which they are. */
#include <string.h>
#include <strings.h>

#include "graph/expr.h"
#include "graph/nearest.h"
#include "sql/parse/private.h"

/* ---- functions ---- */

/* A call of these arguments by a fixed name. */
struct sql_expr *
sql_parse_arguments(struct parse *p, const char *name, PgQuery__Node *const *args, size_t count, int position)
{
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_FUNCTION, position, name, 0);

    if (expr == NULL) {
        return NULL;
    }
    expr->count = count;
    expr->args = parse_exprs(p, args, count);
    return expr->args == NULL ? NULL : expr;
}

/* The day of the week as SQL counts: from Sunday, 0, or (iso) from Monday, 1. Expressions count from Monday, 0. */
static struct sql_expr *
parse_weekday(struct parse *p, PgQuery__Node *const *args, bool iso, int position)
{
    struct sql_expr *day = sql_parse_arguments(p, "dayofweek", args, 1, position);
    struct sql_expr *next =
        sql_parse_new_call(p, SQL_INFIX, position, "+", day, sql_parse_new_expr(p, SQL_LITERAL, position, "1", 0));

    return iso ? next
               : sql_parse_new_call(p, SQL_FUNCTION, position, "remainder", next,
                                    sql_parse_new_expr(p, SQL_LITERAL, position, "7", 0));
}

/* EXTRACT(part FROM x), date_part('part', x) */
static struct sql_expr *
parse_extract(struct parse *p, const PgQuery__FuncCall *call)
{
    static const char *const parts[][2] = {
        {"year", "year"},     {"quarter", "quarter"}, {"month", "month"},   {"week", "week"},     {"day", "day"},
        {"doy", "dayofyear"}, {"hour", "hour"},       {"minute", "minute"}, {"second", "second"}, {"epoch", "epoch"},
    };
    const PgQuery__Node *part = call->args[0];

    if (part->node_case == PG_QUERY__NODE__NODE_A_CONST && part->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL) {
        bool iso = strcasecmp("isodow", part->a_const->sval->sval) == 0;

        if (iso || strcasecmp("dow", part->a_const->sval->sval) == 0) {
            return parse_weekday(p, call->args + 1, iso, call->location);
        }
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            if (strcasecmp(parts[i][0], part->a_const->sval->sval) == 0) {
                return sql_parse_arguments(p, parts[i][1], call->args + 1, 1, call->location);
            }
        }
    }
    (void)sql_fail(
        p->q, GRANARY_EUNSUPPORTED, call->location,
        "this part of a date is not supported: year, quarter, month, week, day, dow, isodow, doy, hour, minute, "
        "second and epoch are");
    return NULL;
}

static struct sql_window *parse_window(struct parse *p, const PgQuery__WindowDef *from);

static struct sql_expr *
parse_aggregate(struct parse *p, const PgQuery__FuncCall *call, const char *name)
{
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_AGGREGATE, call->location, name, 0);

    if (expr == NULL) {
        return NULL;
    }
    if (call->agg_within_group && strcmp(name, "quantile") == 0 && call->n_agg_order == 1 && call->n_args == 1) {
        expr->count = 2; /* percentile_cont(0.5) within group (order by x) */
        expr->args = parse_exprs(p, (PgQuery__Node *[]){call->agg_order[0]->sort_by->node, call->args[0]}, 2);
        return expr->args == NULL ? NULL : expr;
    }
    if (call->n_agg_order > 0 || call->agg_within_group) {
        return sql_parse_refuse(p, call->location, "ORDER BY in an aggregate is");
    }
    expr->distinct = call->agg_distinct != 0;
    expr->count = call->n_args;
    expr->args = parse_exprs(p, call->args, call->n_args);
    if (expr->args != NULL && call->agg_filter != NULL) {
        expr->condition = parse_expr(p, call->agg_filter);
        if (expr->condition == NULL) {
            return NULL;
        }
    }
    if (expr->args != NULL && call->over != NULL) {
        expr->over = parse_window(p, call->over);
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
}

/* ---- windows ---- */

/* PostgreSQL's bits of a frame. */
enum {
    FRAME_GIVEN = 0x1,
    FRAME_RANGE = 0x2,
    FRAME_ROWS = 0x4,
    FRAME_FROM_BEGINNING = 0x20,
    FRAME_TO_END = 0x100,
    FRAME_TO_CURRENT = 0x400,
    FRAME_FROM_OFFSET = 0x800,
    FRAME_KNOWN = 0x1 | 0x2 | 0x4 | 0x10 | 0x20 | 0x100 | 0x400 | 0x800,
};

static bool
parse_frame(struct parse *p, const PgQuery__WindowDef *from, struct sql_window *window)
{
    int options = from->frame_options;
    bool from_beginning = (options & FRAME_FROM_BEGINNING) != 0;

    window->frame = window->order_count > 0 ? SQL_FRAME_PEERS : SQL_FRAME_PARTITION;
    if ((options & FRAME_GIVEN) == 0) {
        return true;
    }
    if ((options & ~FRAME_KNOWN) != 0) {
        return parse_unsupported(p, from->location, "this frame of a window is");
    }
    if (from_beginning && (options & FRAME_TO_END) != 0) {
        window->frame = SQL_FRAME_PARTITION;
    } else if (from_beginning && (options & FRAME_TO_CURRENT) != 0) {
        window->frame = (options & FRAME_ROWS) != 0 ? SQL_FRAME_SO_FAR
                        : window->order_count == 0  ? SQL_FRAME_PARTITION
                                                    : SQL_FRAME_PEERS;
    } else if ((options & FRAME_ROWS) != 0 && (options & FRAME_FROM_OFFSET) != 0 && (options & FRAME_TO_CURRENT) != 0) {
        window->frame = SQL_FRAME_LAST;
        return parse_count(p, from->start_offset, "ROWS ... PRECEDING", 0, &window->back);
    } else {
        return parse_unsupported(p, from->location, "this frame of a window is");
    }
    return true;
}

/* The window of that name in the WINDOW clause; NULL: there is none. */
static const PgQuery__WindowDef *
find_window(const struct parse *p, const char *name)
{
    for (size_t i = 0; p->select != NULL && i < p->select->n_window_clause; i++) {
        if (strcmp(p->select->window_clause[i]->window_def->name, name) == 0) {
            return p->select->window_clause[i]->window_def;
        }
    }
    return NULL;
}

static struct sql_window *
parse_window(struct parse *p, const PgQuery__WindowDef *from)
{
    struct sql_window *window = SQL_NEW(p->q, struct sql_window);
    bool is_name = from->name[0] != '\0'; /* OVER name */

    if (window == NULL) {
        return NULL;
    }
    window->position = from->location;
    if (is_name || from->refname[0] != '\0') {
        const PgQuery__WindowDef *named = find_window(p, is_name ? from->name : from->refname);

        if (named == NULL) {
            (void)sql_fail(p->q, GRANARY_ENOENT, from->location, "there is no window '%s'",
                           is_name ? from->name : from->refname);
            return NULL;
        }
        if (!is_name) {
            (void)parse_unsupported(p, from->location, "a window made of another one is");
            return NULL;
        }
        from = named;
    }
    window->partition_count = from->n_partition_clause;
    window->partition = parse_exprs(p, from->partition_clause, from->n_partition_clause);
    window->order_count = from->n_order_clause;
    return window->partition != NULL && parse_order(p, from->order_clause, from->n_order_clause, &window->order) &&
                   parse_frame(p, from, window)
               ? window
               : NULL;
}

struct sql_expr *
sql_parse_function(struct parse *p, const PgQuery__FuncCall *call)
{
#define FUNCTION(name, least, most, becomes) {#name, becomes, least, most, false},
#define SWAPPED(name, becomes)               {#name, becomes, 2, 2, true},
#define AGGREGATE(name, becomes)
    static const struct {
        const char *name;
        const char *becomes;
        size_t least;
        size_t most;
        bool swapped;
    } functions[] = {
#include "sql/parse/functions.def"
    };
#undef FUNCTION
#undef SWAPPED
#undef AGGREGATE
#define FUNCTION(name, least, most, becomes)
#define SWAPPED(name, becomes)
#define AGGREGATE(name, becomes) {#name, becomes},
    static const struct {
        const char *name;
        const char *becomes;
    } aggregates[] = {
#include "sql/parse/functions.def"
    };
#undef FUNCTION
#undef SWAPPED
#undef AGGREGATE
    static const char *const windows[] = {"row_number", "rank",        "dense_rank", "ntile",    "lag",
                                          "lead",       "first_value", "last_value", "nth_value"};
    const char *name = parse_string(call->funcname[call->n_funcname - 1]);
    granary_err err;

    if ((strcmp(name, "extract") == 0 || strcmp(name, "date_part") == 0) && call->n_args == 2) {
        return parse_extract(p, call);
    }
    if ((strcmp(name, "dayofweek") == 0 || strcmp(name, "weekday") == 0 || strcmp(name, "isodow") == 0) &&
        call->n_args == 1) {
        return parse_weekday(p, call->args, name[0] == 'i', call->location);
    }
    for (size_t i = 0; i < sizeof aggregates / sizeof aggregates[0]; i++) {
        if (strcmp(aggregates[i].name, name) == 0) {
            return parse_aggregate(p, call, aggregates[i].becomes);
        }
    }
    if (call->over != NULL) {
        for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
            if (strcmp(windows[i], name) == 0) {
                return parse_aggregate(p, call, windows[i]);
            }
        }
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, call->location, "window function '%s' is not supported", name);
        return NULL;
    }
    if (call->agg_star || call->agg_distinct || call->agg_filter != NULL || call->n_agg_order > 0 ||
        call->agg_within_group) {
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, call->location, "aggregate '%s' is not supported", name);
        return NULL;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strcmp(functions[i].name, name) == 0 && call->n_args >= functions[i].least &&
            call->n_args <= functions[i].most) {
            PgQuery__Node *const swapped[2] = {call->args[call->n_args - 1], call->args[0]};

            return sql_parse_arguments(p, functions[i].becomes, functions[i].swapped ? swapped : call->args,
                                       call->n_args, call->location);
        }
    }
    if ((err = gr_expr_check_function(name)) != GRANARY_OK) {
        struct gr_nearest nearest = {.name = name};
        char hint[GR_HINT_MAX] = "";

        for (size_t i = 0; i < sizeof aggregates / sizeof aggregates[0]; i++) {
            gr_nearest_offer(&nearest, aggregates[i].name);
        }
        if (strstr(granary_error_message(), "did you mean") == NULL) { /* functions of expressions come first */
            (void)gr_nearest_hint(&nearest, hint);
        }
        (void)sql_fail(p->q, err, call->location, "%s%s", granary_error_message(), hint);
        return NULL;
    }
    return sql_parse_arguments(p, parse_copy(p, name), call->args, call->n_args, call->location);
}
