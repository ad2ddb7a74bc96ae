/*
 * Missing values filled from their neighbours. A window tells each row the value before it and behind it, and where these
 * are; an expression makes the missing value of that.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/dtype_class.h"
#include "graph/rewrite/frame/times.h"
#include "graph/tensor/types.h"

/* What is known of a column's neighbours. */
enum known { BEFORE, BEFORE_ROW, BEFORE_AT, BEHIND, BEHIND_ROW, BEHIND_AT, KNOWN };

struct filling {
    const char *by;    /* NULL: rows are equally far apart */
    const char *at;    /* where a row is, as an expression: `#position` or `#by` */
    bool ahead, back;  /* from values on forward, backward */
    bool within, past; /* between two values; before the first and behind the last */
    bool line;         /* outside the values, too, the nearest of them stands */
    const char *limit; /* "": none */
};

static const char *
known_name(struct rewrite *x, enum known what, size_t column)
{
    static const char *const names[] = {"before", "before row", "before at", "behind", "behind row", "behind at"};

    return rewrite_text(x, "#%s %zu", names[what], column);
}

/* ---- parameters ---- */

static bool
read_parameters(struct rewrite *x, struct filling *f)
{
    const char *method = rewrite_param_text(x, "method");
    bool told = rewrite_param(x, "limit_direction") != NULL;
    bool forward_only = strcmp(method, "ffill") == 0;
    bool backward_only = strcmp(method, "bfill") == 0;

    *f = (struct filling){.by = rewrite_param_text(x, "by"), .limit = "", .at = "`#position`"};
    f->ahead = told ? !rewrite_param_is(x, "limit_direction", "backward") : !backward_only;
    f->back = told ? !rewrite_param_is(x, "limit_direction", "forward") : backward_only;
    if ((forward_only && f->back) || (backward_only && f->ahead)) {
        (void)rewrite_fail(x, "the method '%s' has one direction: leave 'limit_direction' out", method);
        return false;
    }
    f->within = !rewrite_param_is(x, "limit_area", "outside");
    f->past = !rewrite_param_is(x, "limit_area", "inside");
    f->line = strcmp(method, "nearest") != 0 && strcmp(method, "zero") != 0;
    if (rewrite_param(x, "limit") != NULL) {
        f->limit = rewrite_text(x, "%" PRId64, rewrite_param_int(x, "limit"));
    }
    return true;
}

/* The column `by` as a number. NULL: it is none. */
static const char *
by_text(struct rewrite *x, const struct filling *f)
{
    const struct gr_schema *schema = rewrite_schema(x);
    int at = gr_schema_find(schema, f->by);
    granary_dtype dtype = at < 0 ? GRANARY_NULLTYPE : schema->fields[at].dtype;
    const char *name = rewrite_name(x, f->by);

    if (gr_dtype_class(dtype) == GR_CLASS_MOMENT) {
        const char *time = time_text(x, "by", f->by);

        return time == NULL ? NULL : rewrite_text(x, "cast(%s as int64)", time);
    }
    if (!gr_aggregate_describes(dtype)) {
        (void)rewrite_fail(x, "parameter 'by': column '%.80s' is %s: numbers or times are needed", f->by,
                           granary_dtype_name(dtype));
        return NULL;
    }
    return gr_dtype_is_float(dtype)
               ? rewrite_text(x, "case when isnan(%s) then null else cast(%s as float64) end", name, name)
               : rewrite_text(x, "cast(%s as float64)", name);
}

/* ---- neighbours ---- */

/* The value before or behind each row, its row, and where that is. */
static void
enter_fill(struct rewrite *x, const struct filling *f, const char *fill, const char *column, size_t number,
           enum known first)
{
    const char *value = rewrite_text(x, "cast(%s as float64)", rewrite_name(x, column));
    const char *gone =
        rewrite_text(x, "%s%s is null or isnan(%s)", f->by == NULL ? "" : "`#by` is null or ", value, value);

    rewrite_entry(x, known_name(x, first, number),
                  rewrite_text(x, "%s(case when %s then null else %s end)", fill, gone, value));
    rewrite_entry(x, known_name(x, first + 1, number),
                  rewrite_text(x, "%s(case when %s then null else `#position` end)", fill, gone));
    if (f->by != NULL) {
        rewrite_entry(x, known_name(x, first + 2, number),
                      rewrite_text(x, "%s(case when %s then null else `#by` end)", fill, gone));
    }
}

static struct gr_node *
add_window(struct rewrite *x, const struct filling *f, const char *part, struct gr_node *rows)
{
    rewrite_set(x, rewrite_map(x, "columns"));
    if (rewrite_param(x, "keys") != NULL && rewrite_param(x, "keys")->n_strings > 0) {
        rewrite_hand_on(x, "keys", "partition");
    }
    if (f->by != NULL) {
        rewrite_set(x, rewrite_string(x, "by", "#by"));
    }
    return rewrite_part(x, part, GR_TILE_window, rows, NULL, NULL, NULL);
}

static struct gr_node *
add_neighbours(struct rewrite *x, struct filling *f, char *const *columns, size_t count)
{
    struct gr_node *rows = rewrite_input(x, 0);

    if (f->by != NULL) {
        const char *by = by_text(x, f);

        if (by == NULL) {
            return rows;
        }
        rewrite_entry(x, "#by", by);
        rows = rewrite_part(x, "places", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
        f->at = "`#by`";
    }
    rewrite_entry(x, "#position", "cumcount()");
    rows = add_window(x, f, "positions", rows);
    for (size_t i = 0; i < count; i++) {
        enter_fill(x, f, "ffill", columns[i], i, BEFORE);
        enter_fill(x, f, "bfill", columns[i], i, BEHIND);
    }
    return add_window(x, f, "neighbours", rows);
}

/* ---- values ---- */

/* Between two values. */
static const char *
between_text(struct rewrite *x, const struct filling *f, size_t i)
{
    const char *before = rewrite_name(x, known_name(x, BEFORE, i)), *behind = rewrite_name(x, known_name(x, BEHIND, i));
    const char *from = rewrite_name(x, known_name(x, f->by == NULL ? BEFORE_ROW : BEFORE_AT, i));
    const char *to = rewrite_name(x, known_name(x, f->by == NULL ? BEHIND_ROW : BEHIND_AT, i));

    if (rewrite_param_is(x, "method", "bfill")) {
        return behind;
    }
    if (rewrite_param_is(x, "method", "ffill") || rewrite_param_is(x, "method", "zero")) {
        return before;
    }
    if (rewrite_param_is(x, "method", "nearest")) {
        return rewrite_text(x, "case when %s - %s <= %s - %s then %s else %s end", f->at, from, to, f->at, before,
                            behind);
    }
    return rewrite_text(x, "case when %s = %s then %s else (%s - %s) / (%s - %s) * (%s - %s) + %s end", from, to,
                        before, behind, before, to, from, f->at, from, before);
}

/* Whether a row is near enough to the values from which it is seen. */
static const char *
near_text(struct rewrite *x, const struct filling *f, size_t i)
{
    const char *ahead =
        rewrite_text(x, "`#position` - %s <= %s", rewrite_name(x, known_name(x, BEFORE_ROW, i)), f->limit);
    const char *back =
        rewrite_text(x, "%s - `#position` <= %s", rewrite_name(x, known_name(x, BEHIND_ROW, i)), f->limit);

    return f->limit[0] == '\0' ? "true"
           : !f->back          ? ahead
           : !f->ahead         ? back
                               : rewrite_text(x, "(coalesce(%s, false) or coalesce(%s, false))", ahead, back);
}

static const char *
value_text(struct rewrite *x, const struct filling *f, const char *column, size_t i)
{
    const char *own = rewrite_text(x, "cast(%s as float64)", rewrite_name(x, column));
    const char *first = rewrite_name(x, known_name(x, BEFORE_ROW, i)),
               *last = rewrite_name(x, known_name(x, BEHIND_ROW, i));
    bool past = f->line && f->past;

    return rewrite_text(x,
                        "case when %s%s is not null and not isnan(%s) then %s when not %s then %s "
                        "when %s is not null and %s is not null then %s when %s is not null then %s "
                        "when %s is not null then %s else %s end",
                        f->by == NULL ? "" : "`#by` is null or ", own, own, own, near_text(x, f, i), own, first, last,
                        f->within ? between_text(x, f, i) : own, first,
                        past && f->ahead ? rewrite_name(x, known_name(x, BEFORE, i)) : own, last,
                        past && f->back ? rewrite_name(x, known_name(x, BEHIND, i)) : own, own);
}

/* All columns that are made on the way go. */
static struct gr_node *
drop_own(struct rewrite *x, const struct filling *f, struct gr_node *rows, size_t count)
{
    const char **own = calloc(KNOWN * count + 2, sizeof *own);
    size_t many = 0;
    Granary__Attr *columns;

    if (own == NULL) {
        return rewrite_no_memory(x);
    }
    for (size_t i = 0; i < count; i++) {
        for (enum known what = BEFORE; what < KNOWN; what++) {
            if (f->by != NULL || (what != BEFORE_AT && what != BEHIND_AT)) {
                own[many++] = known_name(x, what, i);
            }
        }
    }
    own[many++] = "#position";
    if (f->by != NULL) {
        own[many++] = "#by";
    }
    columns = rewrite_strings(x, "columns", own, many);
    free(own);
    return rewrite_add(x, GR_TILE_drop, rows, NULL, columns, NULL);
}

static struct gr_node *
rewrite_interpolate(struct rewrite *x)
{
    char *const *columns;
    size_t count = rewrite_param_names(x, "columns", &columns);
    struct filling f;
    struct gr_node *rows;

    if (!read_parameters(x, &f)) {
        return x->node;
    }
    if (count == 0) {
        return rewrite_fail(x, "parameter 'columns' is empty");
    }
    rows = add_neighbours(x, &f, columns, count);
    for (size_t i = 0; i < count; i++) {
        rewrite_entry(x, columns[i], value_text(x, &f, columns[i], i));
    }
    rows = rewrite_part(x, "values", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
    return drop_own(x, &f, rows, count);
}

const struct gr_operator gr_op_interpolate = {.rewrite = rewrite_interpolate};
