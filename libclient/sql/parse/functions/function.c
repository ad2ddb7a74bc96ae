/* Calls: functions, aggregates, and windows over which they are. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "graph/expr.h"
#include "graph/operators/nearest.h"
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

/* 1 - x of a fraction as written, exactly. */
struct sql_expr *
sql_parse_complement(struct parse *p, const struct sql_expr *fraction)
{
    const char *point = strchr(fraction->text, '.');
    int digits = point == NULL ? 0 : (int)strlen(point + 1);
    long long units = 0;
    long long one = 1;

    if (fraction->kind != SQL_LITERAL || strspn(fraction->text, "0123456789.") != strlen(fraction->text) ||
        strlen(fraction->text) > 18) {
        (void)sql_fail(p->q, GRANARY_EINVAL, fraction->position,
                       "the fraction must be a number from 0 to 1, of up to 16 digits");
        return NULL;
    }
    for (const char *c = fraction->text; *c != '\0'; c++) {
        units = *c == '.' ? units : 10 * units + (*c - '0');
        one *= point != NULL && c > point ? 10 : 1;
    }
    if (units > one) {
        (void)sql_fail(p->q, GRANARY_EINVAL, fraction->position, "the fraction must be a number from 0 to 1");
        return NULL;
    }
    return sql_parse_new_expr(p, SQL_LITERAL, fraction->position,
                              sql_printf(p->q, "%lld.%0*lld", (one - units) / one, digits, (one - units) % one), 0);
}

static struct sql_expr *
parse_aggregate(struct parse *p, const PgQuery__FuncCall *call, const char *name)
{
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_AGGREGATE, call->location, name, 0);

    if (expr == NULL) {
        return NULL;
    }
    expr->written = parse_copy(p, parse_last(p, TAKE(p, call, funcname), call->n_funcname));
    expr->args = sql_parse_call_arguments(p, call, &expr->count);
    if (expr->args != NULL) {
        sql_parse_type_null(p, name, expr->args, expr->count);
    }
    expr->distinct =
        TAKE(p, call, agg_distinct) != 0 && (call->over != NULL || sql_parse_minds_distinct(expr->written));
    expr->unseen_count = call->n_agg_order;
    if (!parse_order(p, TAKE(p, call, agg_order), call->n_agg_order, &expr->unseen)) {
        return NULL;
    }
    if (strcmp(name, "count") == 0) { /* of rows, as without an argument */
        parse_take(p, &call->agg_star);
    }
    if (expr->args != NULL && call->agg_filter != NULL) {
        expr->condition = parse_condition(p, TAKE(p, call, agg_filter));
    }
    expr->condition = parse_pivoted(p, expr->condition, call->location);
    if (expr->args != NULL && call->over != NULL) {
        expr->over = sql_parse_window(p, TAKE(p, call, over));
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
}

/* rank(ORDER BY x) OVER (...): a window of its own in that order, where the function looks at all of the partition. Over a
 * frame, what the rows are ordered by stands behind the arguments. false: the statement has failed. */
static bool
order_window(struct parse *p, const PgQuery__FuncCall *call, struct sql_expr *expr)
{
    static const char *const ranks[] = {"rank", "dense_rank", "percent_rank", "cume_dist", "fill", NULL};
    const size_t count = call->n_agg_order;
    /* of the window's order, which tells equals apart */
    const size_t behind = sql_parse_is_one_of(expr->text, ranks) ? 0 : expr->over->order_count;
    struct sql_window *window = SQL_NEW(p->q, struct sql_window);
    struct sql_expr **args = SQL_ARRAY(p->q, struct sql_expr *, expr->count + count);
    struct sql_order *order = NULL;

    (void)TAKE(p, call, agg_within_group);
    if (window == NULL || args == NULL || !parse_order(p, TAKE(p, call, agg_order), count, &order)) {
        return false;
    }
    if (strcmp(expr->text, "fill") == 0 || (expr->over->frame == SQL_FRAME_PARTITION && expr->over->exclude == NULL)) {
        *window = *expr->over;
        window->order_count = count + behind;
        window->order = SQL_ARRAY(p->q, struct sql_order, count + behind);
        for (size_t i = 0; i < count + behind && window->order != NULL; i++) {
            window->order[i] = i < count ? order[i] : expr->over->order[i - count];
        }
        expr->over = window;
        return window->order != NULL;
    }
    for (size_t i = 0; i < expr->count; i++) {
        args[i] = expr->args[i];
    }
    for (size_t i = 0; i < count; i++) {
        args[expr->count + i] = order[i].expr;
        order[i].expr = NULL;
    }
    expr->args = args;
    expr->count += count;
    expr->within = order;
    expr->within_count = count;
    return true;
}

/* row_number() OVER (...) and its like. */
static struct sql_expr *
parse_window_function(struct parse *p, const PgQuery__FuncCall *call, const char *name)
{
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_AGGREGATE, call->location, name, 0);

    if (expr == NULL) {
        return NULL;
    }
    expr->written = parse_copy(p, parse_last(p, TAKE(p, call, funcname), call->n_funcname));
    expr->args = sql_parse_call_arguments(p, call, &expr->count);
    expr->ignores_nulls = parse_is_noted(p, call->location, NOTED_IGNORE_NULLS);
    expr->over = expr->args == NULL ? NULL : sql_parse_window(p, TAKE(p, call, over));
    return expr->over == NULL || (call->n_agg_order > 0 && !order_window(p, call, expr)) ? NULL : expr;
}

/* Whether a function is told of nulls which does not know of them; then the statement has failed. */
static bool
refuse_nulls(struct parse *p, const PgQuery__FuncCall *call, const char *name)
{
    static const char *const knowing[] = {"lag", "lead", "first_value", "last_value", "nth_value"};

    if (!parse_is_noted(p, call->location, NOTED_IGNORE_NULLS) &&
        !parse_is_noted(p, call->location, NOTED_RESPECT_NULLS)) {
        return false;
    }
    for (size_t i = 0; i < sizeof knowing / sizeof knowing[0] && call->over != NULL; i++) {
        if (strcmp(knowing[i], name) == 0) {
            return false;
        }
    }
    return !sql_fail(
        p->q, GRANARY_EUNSUPPORTED, call->location,
        "IGNORE NULLS and RESPECT NULLS are for lag, lead, first_value, last_value and nth_value with OVER");
}

/* ---- windows ---- */

/* PostgreSQL's bits of a frame. */
enum {
    FRAME_GIVEN = 0x1,
    FRAME_RANGE = 0x2,
    FRAME_ROWS = 0x4,
    FRAME_GROUPS = 0x8,
};

/* Bits of the bounds: of where a frame begins, and where it ends. */
static const struct {
    int bits[2];
    const char *text;
    bool has_distance;
} frame_bounds[] = {
    {{0x20, 0x40}, "unbounded preceding", false}, {{0x80, 0x100}, "unbounded following", false},
    {{0x200, 0x400}, "current row", false},       {{0x800, 0x1000}, "preceding", true},
    {{0x2000, 0x4000}, "following", true},
};

static const struct {
    int bit;
    const char *text;
} frame_excludes[] = {{0x8000, "exclude current row"}, {0x10000, "exclude group"}, {0x20000, "exclude ties"}};

/* A distance in quotes is a number, which may be infinite. */
static struct sql_expr *
number_of(struct parse *p, struct sql_expr *text)
{
    static const char *const words[] = {"'inf'", "'infinity'", "'nan'"};
    size_t size = strlen(text->text);

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(text->text, words[i]) == 0) {
            return sql_parse_new_call(p, SQL_CAST, text->position, "float64", text, NULL);
        }
    }
    if (size < 3 || strspn(text->text + 1, "0123456789.") != size - 2) {
        return text;
    }
    return sql_parse_new_expr(p, SQL_LITERAL, text->position, sql_printf(p->q, "%.*s", (int)size - 2, text->text + 1),
                              0);
}

/* Where a frame begins (end 0), or ends. */
static bool
parse_bound(struct parse *p, const PgQuery__Node *distance, int options, int end, struct sql_window *window)
{
    for (size_t i = 0; i < sizeof frame_bounds / sizeof frame_bounds[0]; i++) {
        if ((options & frame_bounds[i].bits[end]) != 0) {
            window->bounds[end].text = frame_bounds[i].text;
            window->bounds[end].distance = frame_bounds[i].has_distance ? parse_expr(p, distance) : NULL;
            if (window->bounds[end].distance != NULL && window->bounds[end].distance->kind == SQL_LITERAL &&
                window->bounds[end].distance->text[0] == '\'') {
                window->bounds[end].distance = number_of(p, window->bounds[end].distance);
            }
            return !frame_bounds[i].has_distance || window->bounds[end].distance != NULL;
        }
    }
    return sql_fail(p->q, GRANARY_EUNSUPPORTED, window->position, "this frame of a window is not supported");
}

/* The frames that functions know without their bounds. */
static enum sql_frame
name_frame(struct sql_window *window)
{
    const struct sql_bound *bounds = window->bounds;
    bool rows = strcmp(window->mode, "rows") == 0;
    const struct sql_expr *distance = bounds[0].distance;

    if (window->exclude != NULL || strcmp(window->mode, "groups") == 0) {
        return SQL_FRAME_OTHER;
    }
    if (strcmp(bounds[0].text, "unbounded preceding") == 0 && strcmp(bounds[1].text, "unbounded following") == 0) {
        return SQL_FRAME_PARTITION;
    }
    if (strcmp(bounds[1].text, "current row") != 0) {
        return SQL_FRAME_OTHER;
    }
    if (strcmp(bounds[0].text, "unbounded preceding") == 0) {
        return rows ? SQL_FRAME_SO_FAR : window->order_count == 0 ? SQL_FRAME_PARTITION : SQL_FRAME_PEERS;
    }
    if (rows && distance != NULL && strcmp(bounds[0].text, "preceding") == 0 && distance->kind == SQL_LITERAL &&
        strspn(distance->text, "0123456789") == strlen(distance->text) && strlen(distance->text) < 10) {
        window->back = strtoll(distance->text, NULL, 10);
        return SQL_FRAME_LAST;
    }
    return SQL_FRAME_OTHER;
}

static bool
parse_frame(struct parse *p, const PgQuery__WindowDef *from, struct sql_window *window)
{
    int options = TAKE(p, from, frame_options);
    const PgQuery__Node *const distances[2] = {TAKE(p, from, start_offset), TAKE(p, from, end_offset)};

    window->mode = (options & FRAME_ROWS) != 0 ? "rows" : (options & FRAME_GROUPS) != 0 ? "groups" : "range";
    for (size_t i = 0; i < sizeof frame_excludes / sizeof frame_excludes[0]; i++) {
        window->exclude = (options & frame_excludes[i].bit) != 0 ? frame_excludes[i].text : window->exclude;
    }
    if (!parse_bound(p, distances[0], options, 0, window) || !parse_bound(p, distances[1], options, 1, window)) {
        return false;
    }
    if ((options & FRAME_GROUPS) != 0 && window->order_count == 0) {
        return sql_fail(p->q, GRANARY_EINVAL, from->location, "a frame of GROUPS needs ORDER BY in its window");
    }
    if ((options & FRAME_RANGE) != 0 && (distances[0] != NULL || distances[1] != NULL) && window->order_count != 1) {
        return sql_fail(p->q, GRANARY_EINVAL, from->location,
                        "a frame of RANGE with a distance needs one column in its window's ORDER BY");
    }
    window->frame = name_frame(window);
    return true;
}

/* The window of that name in the WINDOW clause, so far as that is read; NULL: there is none. */
static const struct named_window *
find_window(const struct parse *p, const char *name)
{
    for (size_t i = 0; i < p->window_count; i++) {
        if (strcmp(p->windows[i].name, name) == 0) {
            return &p->windows[i];
        }
    }
    return NULL;
}

static const struct named_window *
base_window(struct parse *p, const char *name, int position)
{
    const struct named_window *base = find_window(p, name);

    if (base == NULL) {
        (void)sql_fail(p->q, GRANARY_ENOENT, position, "there is no window '%s'", name);
    }
    return base;
}

/* (base ORDER BY ...): the base's partition, which stays as it is, and its order or one of its own. */
static bool
inherit_window(struct parse *p, const PgQuery__WindowDef *from, struct sql_window *window)
{
    const struct named_window *base = base_window(p, TAKE(p, from, refname), from->location);

    if (base == NULL) {
        return false;
    }
    if (from->n_partition_clause > 0 || (from->n_order_clause > 0 && base->window->order_count > 0) ||
        (base->from->frame_options & FRAME_GIVEN) != 0) {
        return sql_fail(p->q, GRANARY_EINVAL, from->location,
                        "a window made of '%s' takes its partition and order, and '%s' can have no frame: write the "
                        "window out",
                        base->name, base->name);
    }
    *window = *base->window;
    window->position = from->location;
    return true;
}

static struct sql_window *
make_window(struct parse *p, const PgQuery__WindowDef *from)
{
    struct sql_window *window = SQL_NEW(p->q, struct sql_window);

    if (window == NULL) {
        return NULL;
    }
    window->position = from->location;
    if (from->refname[0] != '\0' && !inherit_window(p, from, window)) {
        return NULL;
    }
    if (from->n_partition_clause > 0) {
        window->partition_count = from->n_partition_clause;
        window->partition = parse_exprs(p, TAKE(p, from, partition_clause), from->n_partition_clause);
        for (size_t i = 0; window->partition != NULL && i < window->partition_count; i++) {
            window->partition[i] = parse_key(p, window->partition[i]);
        }
    }
    if (from->n_order_clause > 0) {
        window->order_count = from->n_order_clause;
        (void)parse_order(p, TAKE(p, from, order_clause), from->n_order_clause, &window->order);
    }
    return p->q->err == GRANARY_OK && parse_frame(p, from, window) ? window : NULL;
}

struct sql_window *
sql_parse_window(struct parse *p, const PgQuery__WindowDef *from)
{
    const struct named_window *named;

    if (from->name[0] == '\0') {
        return make_window(p, from);
    }
    (void)TAKE(p, from, frame_options); /* OVER name has none */
    named = base_window(p, TAKE(p, from, name), from->location);
    return named == NULL ? NULL : named->window;
}

/* QUALIFY, which a window's partition has. */
static bool
parse_qualify(struct parse *p, const PgQuery__WindowDef *def, struct sql_select *select)
{
    (void)TAKE(p, def, frame_options);
    select->qualify = parse_expr(p, TAKE(p, def, partition_clause)[0]);
    return select->qualify != NULL;
}

/* Whether a window is what a rule has made of something else, which is then taken. */
static bool
take_noted(struct parse *p, const PgQuery__WindowDef *def, struct sql_select *select)
{
    static const struct {
        enum parse_noted noted;
        bool (*take)(struct parse *p, const PgQuery__WindowDef *def, struct sql_select *select);
    } kinds[] = {{NOTED_QUALIFY, parse_qualify},
                 {NOTED_PIVOT, parse_pivot},
                 {NOTED_UNPIVOT, parse_unpivot},
                 {NOTED_SAMPLE, parse_sample}};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (parse_is_noted(p, def->location, kinds[i].noted)) {
            (void)kinds[i].take(p, def, select); /* the statement tells whether it has failed */
            return true;
        }
    }
    return false;
}

bool
parse_windows(struct parse *p, PgQuery__Node *const *from, size_t count, struct sql_select *select)
{
    struct named_window *windows = SQL_ARRAY(p->q, struct named_window, count);

    p->windows = windows;
    p->window_count = 0;
    for (size_t i = 0; i < count && windows != NULL; i++) {
        const PgQuery__WindowDef *def = from[i]->window_def;
        const char *name = TAKE(p, def, name);

        if (take_noted(p, def, select)) {
            continue;
        }
        if (find_window(p, name) != NULL) {
            return sql_fail(p->q, GRANARY_EINVAL, def->location, "two windows are called '%s'", name);
        }
        windows[i] = (struct named_window){name, def, make_window(p, def)};
        if (windows[i].window == NULL) {
            return false;
        }
        p->window_count++;
    }
    return windows != NULL && p->q->err == GRANARY_OK;
}

/* ---- which function ---- */

static const struct {
    const char *name;
    enum gr_expr_op becomes;
    size_t least;
    size_t most;
    enum { AS_IS, SWAPPED, BLANKS } how;
} functions[] = {
#define SQL_NAME(id, name, least, most, how) {name, GR_OP_##id, least, most, how},
#include "graph/expr/ops.def"
};

static const struct {
    const char *name;
    const char *becomes;
} aggregates[] = {
#define SQL_NAME(name, becomes) {name, becomes},
#include "graph/operators/aggregates.def"
};

static const char *const windows[] = {
#define SQL_NAME(name) name,
#include "graph/window/functions.def"
};

enum {
    FUNCTIONS = sizeof functions / sizeof functions[0],
    AGGREGATES = sizeof aggregates / sizeof aggregates[0],
    WINDOWS = sizeof windows / sizeof windows[0],
};

static struct sql_expr *
no_function(struct parse *p, const PgQuery__FuncCall *call, const char *name, granary_err err)
{
    struct gr_nearest nearest = {.name = name};
    char hint[GR_HINT_MAX] = "";

    for (size_t i = 0; i < AGGREGATES; i++) {
        gr_nearest_offer(&nearest, aggregates[i].name);
    }
    if (strstr(granary_error_message(), "did you mean") == NULL) { /* functions of expressions come first */
        (void)gr_nearest_hint(&nearest, hint);
    }
    (void)sql_fail(p->q, err, call->location, "%s%s", granary_error_message(), hint);
    return NULL;
}

/* A function of one row, by one of SQL's names or by its own. */
static struct sql_expr *
parse_row_function(struct parse *p, const PgQuery__FuncCall *call, const char *name)
{
    PgQuery__Node *const *args = TAKE(p, call, args);
    struct sql_expr *made = NULL;
    size_t which;
    granary_err err;

    if (sql_parse_is_regexp(name, call->n_args, &which)) {
        return sql_parse_regexp(p, which, args, call->n_args, call->location);
    }
    if (sql_parse_written_out(p, call, name, args, &made)) {
        return made;
    }
    for (size_t i = 0; i < FUNCTIONS; i++) {
        const char *becomes = gr_expr_op_text(functions[i].becomes);

        if (strcmp(functions[i].name, name) != 0 || call->n_args < functions[i].least ||
            call->n_args > functions[i].most) {
            continue;
        }
        if (functions[i].how == BLANKS) {
            return sql_parse_new_call(p, SQL_FUNCTION, call->location, becomes, parse_expr(p, args[0]),
                                      sql_parse_new_expr(p, SQL_LITERAL, call->location, "' '", 0));
        }
        return sql_parse_arguments(p, becomes,
                                   functions[i].how == SWAPPED ? (PgQuery__Node *const[]){args[1], args[0]} : args,
                                   call->n_args, call->location);
    }
    err = gr_expr_check_function(name);
    return err != GRANARY_OK ? no_function(p, call, name, err)
                             : sql_parse_arguments(p, parse_copy(p, name), args, call->n_args, call->location);
}

struct sql_expr *
sql_parse_null_list(struct parse *p, struct sql_expr *list)
{
    return list != NULL && list->kind == SQL_LITERAL && strcmp(list->text, "null") == 0
               ? sql_parse_new_call(p, SQL_CAST, list->position, "list(int64)", list, NULL)
               : list;
}

struct sql_expr *
sql_parse_function(struct parse *p, const PgQuery__FuncCall *call)
{
    const char *name = parse_last(p, TAKE(p, call, funcname), call->n_funcname);
    struct sql_expr *composed;
    struct sql_expr *made;

    if (parse_is_noted(p, call->location, NOTED_STAR)) {
        return sql_parse_star(p, call);
    }
    if (strcmp(name, "grouping_id") == 0) {
        return sql_parse_grouping(p, TAKE(p, call, args), call->n_args, call->location);
    }
    if (strcmp(name, "columns") == 0 && (call->agg_star || call->n_args == 1) && call->over == NULL) {
        return sql_parse_columns(p, call);
    }
    if (strcmp(name, SQL_UNPACK) == 0 && call->n_args == 1 && call->over == NULL) {
        return sql_parse_arguments(p, SQL_UNPACK, TAKE(p, call, args), 1, call->location);
    }
    if (sql_parse_lambda(p, call, name, &made)) {
        return made;
    }
    if (call->over == NULL && sql_parse_moment_function(p, call, name, &made)) {
        return made;
    }
    if (sql_parse_nested(p, call, name, &made)) {
        return made;
    }
    if (call->over != NULL && (strcmp(name, "first") == 0 || strcmp(name, "last") == 0)) {
        name = name[0] == 'f' ? "first_value" : "last_value"; /* the same over windows, where nulls count */
    }
    if (sql_parse_random(p, call, name, &made)) {
        return made;
    }
    if (refuse_nulls(p, call, name)) {
        return NULL;
    }
    if (sql_parse_composed(p, call, name, &composed)) {
        return composed;
    }
    for (size_t i = 0; i < AGGREGATES; i++) {
        if (strcmp(aggregates[i].name, name) == 0) {
            return parse_aggregate(p, call, aggregates[i].becomes);
        }
    }
    for (size_t i = 0; i < WINDOWS && call->over != NULL; i++) {
        if (strcmp(windows[i], name) == 0) {
            return parse_window_function(p, call, windows[i]);
        }
    }
    if (call->over != NULL) {
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, call->location, "window function '%s' is not supported", name);
        return NULL;
    }
    if (call->agg_star || call->agg_distinct || call->agg_filter != NULL || call->n_agg_order > 0 ||
        call->agg_within_group) {
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, call->location,
                       gr_expr_check_function(name) == GRANARY_OK
                           ? "'%s' is a function of one row: FILTER, DISTINCT, ORDER BY and * stand in aggregates only"
                           : "aggregate '%s' is not supported",
                       name);
        return NULL;
    }
    made = parse_row_function(p, call, name);
    if (made != NULL && made->kind == SQL_FUNCTION) {
        made->written = parse_copy(p, name);
    }
    return made;
}
