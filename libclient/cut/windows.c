/*
 * Windows over all rows. Partitions get rows in the window's order, equal ones together; each computes what it can see, and what
 * stands before it is carried in:
 *
 *   counts, ranks, running sums of integers   what all partitions before come to: one row of each, added up in one place
 *   lag, lead, rolling                        the last rows of the partitions before, or the first ones behind
 *   aggregates of all rows                    a groupby without keys
 *
 * Rows keep a number of where they stood. The method is the prefix sum of blocks (Blelloch: "Prefix Sums and Their Applications",
 * 1990).
 */
#include <string.h>

#include "cut/flow.h"
#include "data/frame.h"
#include "graph/operator.h"
#include "graph/window.h"

/* No rows of others are taken that are further away. */
#define NEAR_MOST 100000

enum kind { KIND_NONE, KIND_WHOLE, KIND_ADDED, KIND_SMALLEST, KIND_LARGEST, KIND_NEAR };

struct column {
    const struct gr_window *window;
    const char *text; /* the function, as it is written */
    enum kind kind;
    const char
        *stat;  /* what is carried, as an aggregate of a partition; over the local column, if it has a place for that */
    bool fills; /* a row without a value has what is so far */
    const char *local; /* the column of a partition's own result, or of the whole aggregate */
    const char *mine;  /* the column of what is before */
};

struct windowing {
    struct cut *cut;
    const struct gr_node *node;
    struct column *columns;
    size_t count;
    int64_t before, behind; /* rows that windows see beyond their own */
    bool peers;             /* rows equal in the order must be in one partition */
    const char *why;        /* it cannot be cut */
    struct value value;
};

static const Granary__Attr *
param(const struct gr_node *node, const char *name)
{
    return gr_attr_find(node->node->attrs, node->node->n_attrs, name);
}

static bool
is_counted(granary_dtype dtype)
{
    return dtype == GRANARY_INT64;
}

/* ---- which are cut ---- */

/* An aggregate of all rows, or of those so far. */
static void
classify_aggregate(struct windowing *w, struct column *c, granary_dtype gives)
{
    const struct gr_window *window = c->window;
    const struct gr_window_frame *frame = &window->frame;
    const struct gr_schema *schema = &w->node->inputs[0]->type.schema;
    granary_dtype dtype = GRANARY_INT64;
    bool whole = frame->mode == GR_FRAME_NONE || (frame->from.end == GR_END_FIRST && frame->to.end == GR_END_LAST);
    bool blind = (window->aggregate.column == NULL ||
                  gr_aggregate_argument(w->node->trees, window->aggregate.column, schema, &dtype) == GRANARY_OK) &&
                 gr_aggregate_is_blind(window->aggregate.function, dtype);

    if (frame->exclude != GR_EXCLUDE_NONE || !blind) {
        return;
    }
    c->stat = window->aggregate_text;
    if (whole) {
        c->kind = KIND_WHOLE;
    } else if (frame->from.end == GR_END_FIRST && frame->to.end == GR_END_CURRENT) {
        bool is_float = dtype == GRANARY_FLOAT64 || dtype == GRANARY_FLOAT32;

        switch (window->aggregate.function) {
        case GR_AGGREGATE_SUM:
        case GR_AGGREGATE_SIZE:
        case GR_AGGREGATE_COUNT:
            c->kind = is_counted(gives) ? KIND_ADDED : KIND_NONE;
            break;
        case GR_AGGREGATE_MIN:
            c->kind = is_float ? KIND_NONE : KIND_SMALLEST;
            break;
        case GR_AGGREGATE_MAX:
            c->kind = is_float ? KIND_NONE : KIND_LARGEST;
            break;
        default:
            break;
        }
        w->peers = w->peers || frame->mode != GR_FRAME_ROWS;
        c->fills = true;
    }
}

static const char *
aggregate_of(struct windowing *w, const char *function, const struct gr_window *window)
{
    return window->value == NULL ? function : cut_text(w->cut, "%s(%s)", function, window->value);
}

static void
classify(struct windowing *w, struct column *c)
{
    const struct gr_window *window = c->window;
    const struct gr_schema *gives = &w->node->type.schema;
    granary_dtype dtype = gives->fields[gr_schema_find(gives, window->name)].dtype;
    int64_t rows = 0;

    if (window->aggregate_text != NULL) {
        classify_aggregate(w, c, dtype);
        return;
    }
    if (window->frame.mode != GR_FRAME_NONE) {
        return;
    }
    switch (window->function) {
    case GR_WINDOW_MIN:
    case GR_WINDOW_MAX:
    case GR_WINDOW_SUM:
    case GR_WINDOW_MEAN:
    case GR_WINDOW_COUNT:
    case GR_WINDOW_SIZE:
        c->kind = KIND_WHOLE;
        c->stat = aggregate_of(w, cut_text(w->cut, "%.*s", (int)strcspn(c->text, "( "), c->text), window);
        break;
    case GR_WINDOW_ROW_NUMBER:
    case GR_WINDOW_CUMCOUNT:
        c->kind = KIND_ADDED;
        c->stat = "size";
        break;
    case GR_WINDOW_RANK:
        if (window->value == NULL && window->method == GR_RANK_MIN && !window->pct && !window->descending) {
            c->kind = KIND_ADDED;
            c->stat = "size";
            w->peers = true;
        }
        break;
    case GR_WINDOW_DENSE_RANK:
        if (window->value == NULL && !window->descending) {
            c->kind = KIND_ADDED;
            c->stat = cut_text(w->cut, "max(%s)", cut_column(w->cut, c->local));
            w->peers = true;
        }
        break;
    case GR_WINDOW_CUMSUM:
        if (is_counted(dtype)) {
            c->kind = KIND_ADDED;
            c->stat = aggregate_of(w, "sum", window);
            c->fills = window->fill;
        }
        break;
    case GR_WINDOW_CUMMAX:
    case GR_WINDOW_CUMMIN:
        if (dtype != GRANARY_FLOAT64 && dtype != GRANARY_FLOAT32) {
            c->kind = window->function == GR_WINDOW_CUMMAX ? KIND_LARGEST : KIND_SMALLEST;
            c->stat = aggregate_of(w, c->kind == KIND_LARGEST ? "max" : "min", window);
            c->fills = window->fill;
        }
        break;
    case GR_WINDOW_SHIFT:
    case GR_WINDOW_LAG:
    case GR_WINDOW_LEAD:
    case GR_WINDOW_DIFF:
    case GR_WINDOW_PCT_CHANGE:
        rows = window->offset;
        c->kind = window->ignores_nulls ? KIND_NONE : KIND_NEAR;
        break;
    case GR_WINDOW_ROLLING_SUM:
    case GR_WINDOW_ROLLING_MEAN:
    case GR_WINDOW_ROLLING_MIN:
    case GR_WINDOW_ROLLING_MAX:
    case GR_WINDOW_ROLLING_COUNT:
    case GR_WINDOW_ROLLING_MEDIAN:
    case GR_WINDOW_ROLLING_QUANTILE:
    case GR_WINDOW_MOVING_SUM:
    case GR_WINDOW_MOVING_MEAN:
    case GR_WINDOW_MOVING_MIN:
    case GR_WINDOW_MOVING_MAX:
        rows = window->window;
        w->behind = window->center && rows > w->behind ? rows : w->behind;
        c->kind = KIND_NEAR;
        break;
    default:
        break;
    }
    if (rows > NEAR_MOST || rows < -NEAR_MOST) {
        c->kind = KIND_NONE;
    } else if (c->kind == KIND_NEAR) {
        w->before = rows > w->before ? rows : w->before;
        w->behind = -rows > w->behind ? -rows : w->behind;
    }
}

/* ---- the order ---- */

static struct flow *
numbered(struct windowing *w, struct flow *from, const char *key, const char *number, const char *name)
{
    return flow_numbered(w->cut, cut_text(w->cut, "%s: %s", w->node->node->name, name), from, key, number);
}

/* Rows in the window's order, each partition behind the one before. */
static void
take_order(struct windowing *w)
{
    const struct gr_params_window *params = GR_NODE_PARAMS(window, w->node->node);
    struct value in_order;
    const char *number = value_hidden(w->cut, w->node, "row");

    if (params->by == NULL || params->by->n_strings == 0) {
        w->value = value_in_order(w->cut, w->node, w->value);
        return;
    }
    if (w->value.key_count > 0 && w->value.nan_largest != params->nan_largest) {
        w->value = value_in_order(w->cut, w->node, w->value);
    }
    w->value.flow = numbered(w, w->value.flow, cut_dealable(w->value.schema), number, "rows");
    value_add_key(w->cut, &w->value, (struct order_key){.column = number});
    value_add_extra(w->cut, &w->value, number);
    in_order = w->value;
    value_order_first(w->cut, &in_order, params->by, params->descending, params->nulls, params->nan_largest);
    w->value.flow =
        value_by_ranges(w->cut, w->node, in_order, w->peers ? params->by->n_strings : in_order.key_count).flow;
    w->value.local = false;
    w->value.dealt_count = 0;
}

/* ---- rows of other partitions ---- */

static struct flow *
crossed(struct windowing *w, struct flow *left, struct flow *row, const char *name)
{
    struct flow *flow = flow_over(w->cut, cut_text(w->cut, "%s: %s", w->node->node->name, name), "join", left);

    flow->spread = SPREAD_PARTS;
    flow_reads(w->cut, flow, row);
    flow_set(w->cut, flow, gr_attr_new_string("how", "cross"));
    return flow;
}

static struct flow *
with_text(struct windowing *w, struct flow *from, const char *op, const char *column, const char *text,
          const char *name)
{
    struct flow *flow = flow_over(w->cut, cut_text(w->cut, "%s: %s", w->node->node->name, name), op, from);
    char *key = cut_borrow(column), *value = cut_borrow(text);

    if (column == NULL) {
        flow_set(w->cut, flow, gr_attr_new_string("where", text));
    } else {
        flow_set(w->cut, flow, gr_attr_new_map("columns", &key, &value, 1));
    }
    return flow;
}

/* The rows of others on one side: the last of those before, or the first of those behind. */
static struct flow *
neighbours(struct windowing *w, struct flow *own, struct flow *begin, bool before, const char *at, const char *mine)
{
    const char *side = before ? "before" : "behind";
    double width = 16.0 * (double)(w->value.schema->count + w->value.extra_count + 1);
    size_t count = w->value.schema->count;
    char **names = cut_room(w->cut, count + w->value.extra_count + 1, sizeof *names);
    struct flow *rows =
        flow_over(w->cut, cut_text(w->cut, "%s: rows %s", w->node->node->name, side), before ? "slice" : "head", own);

    flow_set(w->cut, rows, before ? gr_attr_new_int("start", -w->before) : gr_attr_new_int("rows", w->behind));
    rows->bytes = width * (double)(w->cut->parts * (size_t)(before ? w->before : w->behind));
    rows->about = cut_text(w->cut, "rows that others see, for '%s'", w->node->node->name);
    rows = crossed(w, flow_receive(w->cut, rows, TAKE_ALL, SPREAD_ANY), begin, side);
    rows = with_text(w, rows, "filter", NULL,
                     cut_text(w->cut, "%s %s %s", cut_column(w->cut, at), before ? "<" : ">", cut_column(w->cut, mine)),
                     side);
    for (size_t c = 0; c < count && w->cut->err == GRANARY_OK; c++) {
        names[c] = w->value.schema->fields[c].name;
    }
    for (size_t i = 0; i < w->value.extra_count && w->cut->err == GRANARY_OK; i++) {
        names[count++] = cut_borrow(w->value.extra[i]);
    }
    if (w->cut->err == GRANARY_OK) {
        names[count++] = cut_borrow(at);
    }
    rows = flow_over(w->cut, cut_text(w->cut, "%s: columns %s", w->node->node->name, side), "select", rows);
    flow_set(w->cut, rows, gr_attr_new_strings("columns", names, count));
    return with_text(w, rows, "assign", value_hidden(w->cut, w->node, "own"), "false", side);
}

/* The functions of one kind, as columns of the partition's own. */
static struct flow *
computed(struct windowing *w, struct flow *from, bool near)
{
    static const char *const order[] = {"by", "descending", "nulls", "nan_largest"};
    char **names = cut_room(w->cut, w->count, sizeof *names), **texts = cut_room(w->cut, w->count, sizeof *texts);
    struct flow *flow = flow_over(w->cut, cut_text(w->cut, "%s: each", w->node->node->name), "window", from);
    size_t count = 0;

    for (size_t i = 0; i < w->count && w->cut->err == GRANARY_OK; i++) {
        if (w->columns[i].kind != KIND_WHOLE && (w->columns[i].kind == KIND_NEAR) == near) {
            names[count] = cut_borrow(w->columns[i].local);
            texts[count++] = cut_borrow(w->columns[i].text);
        }
    }
    flow_set(w->cut, flow, gr_attr_new_map("columns", names, texts, count));
    for (size_t i = 0; i < 4 && !near; i++) {
        const Granary__Attr *attr = param(w->node, order[i]);

        if (attr != NULL) {
            flow_set(w->cut, flow, gr_attr_copy(attr));
        }
    }
    return flow;
}

/* Functions that see some rows before or behind: over the partition's own rows with these around them. */
static struct flow *
with_neighbours(struct windowing *w)
{
    const char *at = value_hidden(w->cut, w->node, "at"), *own = value_hidden(w->cut, w->node, "own"),
               *mine = value_hidden(w->cut, w->node, "begin"), *last = value_hidden(w->cut, w->node, "end");
    struct flow *rows = numbered(w, w->value.flow, cut_dealable(w->value.schema), at, "at"), *begin, *all;

    begin = flow_over(w->cut, cut_text(w->cut, "%s: own place", w->node->node->name), "groupby", rows);
    flow_set(w->cut, begin, gr_attr_new_strings("keys", NULL, 0));
    flow_set(w->cut, begin,
             gr_attr_new_map("aggregate", (char *[]){cut_borrow(mine), cut_borrow(last)},
                             (char *[]){cut_borrow(cut_text(w->cut, "min(%s)", cut_column(w->cut, at))),
                                        cut_borrow(cut_text(w->cut, "max(%s)", cut_column(w->cut, at)))},
                             2));
    begin->bytes = 64;
    all =
        flow_add(w->cut, cut_text(w->cut, "%s: around", w->node->node->name), "concat", SPREAD_PARTS, GR_YIELDS_FRAME);
    if (w->before > 0) {
        flow_reads(w->cut, all, neighbours(w, rows, begin, true, at, mine));
    }
    flow_reads(w->cut, all, with_text(w, rows, "assign", own, "true", "own"));
    if (w->behind > 0) {
        flow_reads(w->cut, all, neighbours(w, rows, begin, false, at, last));
    }
    all->bytes = rows->bytes;
    return with_text(w, computed(w, all, true), "filter", NULL, cut_column(w->cut, own), "own rows");
}

/* ---- what is before ---- */

/* What partitions come to, so far: a window over one row of each, then the row before. */
static struct flow *
so_far(struct windowing *w, struct flow *stats)
{
    char **names = cut_room(w->cut, w->count, sizeof *names), **texts = cut_room(w->cut, w->count, sizeof *texts);
    struct flow *flow = flow_receive(w->cut, stats, TAKE_ALL, SPREAD_ONE);

    for (int round = 0; round < 2; round++) {
        size_t count = 0;

        flow = flow_over(w->cut, cut_text(w->cut, "%s: %s", w->node->node->name, round == 0 ? "sums" : "before"),
                         "window", flow);
        for (size_t i = 0; i < w->count && w->cut->err == GRANARY_OK; i++) {
            const struct column *c = &w->columns[i];
            const char *column = cut_column(w->cut, c->mine);

            if (c->stat != NULL && c->kind != KIND_WHOLE) {
                names[count] = cut_borrow(c->mine);
                texts[count++] = cut_borrow(round == 1 ? cut_text(w->cut, "shift(%s, 1)", column)
                                                       : cut_text(w->cut, "%s(%s, true)",
                                                                  c->kind == KIND_ADDED      ? "cumsum"
                                                                  : c->kind == KIND_SMALLEST ? "cummin"
                                                                                             : "cummax",
                                                                  column));
            }
        }
        flow_set(w->cut, flow, gr_attr_new_map("columns", names, texts, count));
    }
    flow->about = cut_text(w->cut, "what is before each partition, for '%s'", w->node->node->name);
    return flow;
}

static struct flow *
with_before(struct windowing *w, struct flow *rows)
{
    char **names = cut_room(w->cut, w->count, sizeof *names), **texts = cut_room(w->cut, w->count, sizeof *texts);
    const char *place = value_hidden(w->cut, w->node, "partition");
    char *key = cut_borrow(place);
    struct flow *stats, *mine;
    size_t count = 0;

    rows = computed(w, rows, false);
    stats = flow_over(w->cut, cut_text(w->cut, "%s: sum", w->node->node->name), "groupby", rows);
    for (size_t i = 0; i < w->count && w->cut->err == GRANARY_OK; i++) {
        if (w->columns[i].stat != NULL && w->columns[i].kind != KIND_WHOLE) {
            names[count] = cut_borrow(w->columns[i].mine);
            texts[count++] = cut_borrow(w->columns[i].stat);
        }
    }
    flow_set(w->cut, stats, gr_attr_new_strings("keys", NULL, 0));
    flow_set(w->cut, stats, gr_attr_new_map("aggregate", names, texts, count));
    stats->bytes = 64.0 * (double)count;
    stats = numbered(w, stats, names[0], place, "place");
    stats->about = cut_text(w->cut, "what a partition comes to, for '%s'", w->node->node->name);
    mine = flow_over(w->cut, cut_text(w->cut, "%s: own place", w->node->node->name), "select", stats);
    flow_set(w->cut, mine, gr_attr_new_strings("columns", &key, 1));
    mine = flow_over(w->cut, cut_text(w->cut, "%s: mine", w->node->node->name), "join", mine);
    flow_reads(w->cut, mine, flow_receive(w->cut, so_far(w, stats), TAKE_ALL, SPREAD_ANY));
    flow_set(w->cut, mine, gr_attr_new_strings("on", &key, 1));
    return crossed(w, rows, mine, "with before");
}

/* ---- the result ---- */

static const char *
result_of(struct windowing *w, const struct column *c)
{
    const char *local = cut_column(w->cut, c->local), *mine = cut_column(w->cut, c->mine);

    switch (c->kind) {
    case KIND_ADDED:
        return c->fills ? cut_text(w->cut, "coalesce(%s + %s, %s, %s)", local, mine, local, mine)
                        : cut_text(w->cut, "%s + coalesce(%s, 0)", local, mine);
    case KIND_SMALLEST:
    case KIND_LARGEST: {
        const char *best = cut_text(w->cut, "%s(%s, %s)", c->kind == KIND_SMALLEST ? "least" : "greatest", local, mine);

        return c->fills ? best : cut_text(w->cut, "case when %s is not null then %s end", local, best);
    }
    default:
        return local;
    }
}

static struct flow *
with_totals(struct windowing *w, struct flow *rows, struct flow *from)
{
    char **names = cut_room(w->cut, w->count, sizeof *names), **texts = cut_room(w->cut, w->count, sizeof *texts);
    struct flow *total;
    size_t count = 0;

    for (size_t i = 0; i < w->count && w->cut->err == GRANARY_OK; i++) {
        if (w->columns[i].kind == KIND_WHOLE) {
            names[count] = cut_borrow(w->columns[i].local);
            texts[count++] = cut_borrow(w->columns[i].stat);
        }
    }
    total = groups_of_all(w->cut, w->node, from, names, texts, count);
    return crossed(w, rows, flow_receive(w->cut, total, TAKE_ALL, SPREAD_ANY), "with totals");
}

static bool
stays(const void *context, const char *column)
{
    const Granary__Attr *columns = param(context, "columns");

    for (size_t i = 0; i < columns->n_keys; i++) {
        if (strcmp(columns->keys[i], column) == 0) {
            return false;
        }
    }
    return true;
}

/* The node's columns, and those of the plan. */
static struct value
finish(struct windowing *w, struct flow *rows)
{
    const struct gr_schema *schema = &w->node->type.schema;
    size_t count = schema->count, all = count + w->value.extra_count;
    char **names = cut_room(w->cut, all, sizeof *names), **texts = cut_room(w->cut, all, sizeof *texts);
    struct value value = w->value;

    for (size_t c = 0; c < all && w->cut->err == GRANARY_OK; c++) {
        const char *column = c < count ? schema->fields[c].name : w->value.extra[c - count];

        names[c] = cut_borrow(column);
        texts[c] = cut_borrow(cut_column(w->cut, column));
        for (size_t i = 0; i < w->count; i++) {
            if (strcmp(w->columns[i].window->name, column) == 0) {
                texts[c] = cut_borrow(result_of(w, &w->columns[i]));
            }
        }
    }
    value.flow = flow_over(w->cut, w->node->node->name, "project", rows);
    flow_set(w->cut, value.flow, gr_attr_new_map("columns", names, texts, all));
    value.flow->bytes = w->value.flow->bytes;
    value.schema = schema;
    value.dealt_count = 0;
    return value;
}

static struct value
place_columns(struct windowing *w)
{
    struct flow *rows, *from;
    bool carries = false, sums_up = false;

    w->value = value_guard(w->cut, w->node, w->value, "key", stays, w->node);
    from = w->value.flow;
    for (size_t i = 0; i < w->count; i++) {
        carries = carries || (w->columns[i].kind != KIND_WHOLE && w->columns[i].kind != KIND_NEAR);
        sums_up = sums_up || w->columns[i].kind == KIND_WHOLE;
    }
    if (carries || w->before > 0 || w->behind > 0) {
        take_order(w);
    }
    rows = w->value.flow;
    if (w->before > 0 || w->behind > 0) {
        rows = with_neighbours(w);
    }
    if (carries) {
        rows = with_before(w, rows);
    }
    if (sums_up) {
        rows = with_totals(w, rows, from);
    }
    return finish(w, rows);
}

struct value
place_window_of_all(struct cut *cut, const struct gr_node *node)
{
    struct windowing w = {.cut = cut, .node = node, .value = cut->values[node->inputs[0]->position]};
    const Granary__Attr *columns = param(node, "columns");
    struct gr_window *windows = NULL;
    struct value value;

    cut_fail(cut, gr_windows_parse(columns, &windows, &w.count));
    w.columns = cut_room(cut, w.count, sizeof *w.columns);
    for (size_t i = 0; i < w.count && cut->err == GRANARY_OK; i++) {
        struct column *c = &w.columns[i];

        c->window = &windows[i];
        c->text = columns->strings[i];
        c->local = value_hidden(cut, node, cut_text(cut, "window %zu", i));
        c->mine = value_hidden(cut, node, cut_text(cut, "before %zu", i));
        classify(&w, c);
        if (c->kind == KIND_NONE) {
            w.why = cut_text(cut, "'%s' of all rows is not the same when it is put together", c->text);
        }
    }
    if (cut->err == GRANARY_OK && w.why == NULL && cut_dealable(w.value.schema) == NULL) {
        w.why = "rows cannot be dealt by lists";
    }
    value = cut->err == GRANARY_OK && w.why == NULL ? place_columns(&w) : place_gathered(cut, node, w.why);
    gr_windows_free(windows, w.count);
    return value;
}
