/*
 * Rows at equal distances of time: resample groups by the interval of each row, and upsample takes the row of each time.
 *
 * Intervals without rows come from a list: of each group the first and the last interval, all between them by
 * generate_series, and a row for each by explode. What is known of intervals with rows is joined to these.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/rewrite/frame/times.h"

struct grid {
    const char *on;
    struct every every;
    struct every offset;
    bool right; /* an interval ends with its last moment */
    char *const *keys;
    size_t key_count;
};

static bool
read_grid(struct rewrite *x, struct grid *grid)
{
    *grid = (struct grid){.on = rewrite_param_text(x, "on")};
    grid->key_count = rewrite_param_names(x, "keys", &grid->keys);
    for (size_t i = 0; i < grid->key_count; i++) {
        if (strcmp(grid->keys[i], grid->on) == 0) {
            (void)rewrite_fail(x, "parameter 'keys' has '%.80s', which is the column of times", grid->on);
            return false;
        }
    }
    if (!every_read(x, "every", false, &grid->every) ||
        (rewrite_param(x, "offset") != NULL && !every_read(x, "offset", true, &grid->offset))) {
        return false;
    }
    if (grid->offset.months != 0 || (grid->every.months != 0 && grid->offset.micros != 0)) {
        (void)rewrite_fail(x, "parameter 'offset' is of days and less, and intervals of months have none");
        return false;
    }
    return true;
}

/* The keys, and another column. */
static Granary__Attr *
keys_and(struct rewrite *x, const struct grid *grid, const char *param, const char *other)
{
    const char **all = calloc(grid->key_count + 1, sizeof *all);
    Granary__Attr *attr;

    if (all == NULL) {
        (void)rewrite_no_memory(x);
        return NULL;
    }
    for (size_t i = 0; i < grid->key_count; i++) {
        all[i] = grid->keys[i];
    }
    all[grid->key_count] = other;
    attr = rewrite_strings(x, param, all, grid->key_count + (other == NULL ? 0 : 1));
    free(all);
    return attr;
}

static void
enter_keys(struct rewrite *x, const struct grid *grid)
{
    for (size_t i = 0; i < grid->key_count; i++) {
        rewrite_entry(x, grid->keys[i], rewrite_name(x, grid->keys[i]));
    }
}

static struct gr_node *
group(struct rewrite *x, const struct grid *grid, const char *part, struct gr_node *rows)
{
    return rewrite_part(x, part, GR_TILE_groupby, rows, NULL, keys_and(x, grid, "keys", NULL),
                        rewrite_map(x, "aggregate"));
}

/* ---- the interval of each row ---- */

/* Rows with #first, the first time of their group. */
static struct gr_node *
add_first(struct rewrite *x, const struct grid *grid, struct gr_node *rows)
{
    struct gr_node *first;

    rewrite_entry(x, "#first", "min(`#time`)");
    first = group(x, grid, "first times", rows);
    if (grid->key_count > 0) {
        rewrite_set(x, keys_and(x, grid, "on", NULL));
    }
    return rewrite_part(x, "rows with first times", GR_TILE_join, rows, first,
                        rewrite_string(x, "how", grid->key_count > 0 ? "inner" : "cross"), NULL);
}

/* Where the intervals begin, as an expression; NULL: where time_bucket has them begin. *ret_first: it needs #first. */
static const char *
origin_text(struct rewrite *x, const struct grid *grid, bool *ret_first)
{
    static const int64_t day = INT64_C(86400000000);
    const char *origin = rewrite_param_text(x, "origin");
    const char *text;

    *ret_first = false;
    if (strcmp(origin, "start_day") == 0) {
        if (grid->every.weeks || day % grid->every.micros == 0) {
            return grid->offset.micros == 0
                       ? NULL
                       : rewrite_text(x, "timestamp '2000-01-03' + interval '%" PRId64 " microseconds'",
                                      grid->offset.micros);
        }
        *ret_first = true;
        text = "date_trunc('day', `#first`)";
    } else if (strcmp(origin, "start") == 0) {
        *ret_first = true;
        text = "`#first`";
    } else {
        text = strcmp(origin, "epoch") == 0 ? "timestamp '1970-01-01'"
                                            : rewrite_text(x, "cast(%s as timestamp)", rewrite_quote(x, origin));
    }
    return grid->offset.micros == 0
               ? text
               : rewrite_text(x, "%s + interval '%" PRId64 " microseconds'", text, grid->offset.micros);
}

/* Rows whose time is there, with it as #time, and their interval as #bin: its first moment. */
static struct gr_node *
add_bins(struct rewrite *x, const struct grid *grid)
{
    struct gr_node *rows = rewrite_input(x, 0);
    const char *time = time_text(x, "on", grid->on);
    const char *inside = grid->right ? "`#time` - interval '1 microsecond'" : "`#time`";
    const char *origin = NULL;
    bool first = false;

    if (time == NULL) {
        return x->node;
    }
    rewrite_entry(x, "#time", time);
    rows = rewrite_part(x, "times", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
    rows = rewrite_part(x, "rows with times", GR_TILE_filter, rows, NULL,
                        rewrite_string(x, "where", "`#time` is not null"), NULL);
    if (grid->every.months == 0) {
        origin = origin_text(x, grid, &first);
    }
    rows = first ? add_first(x, grid, rows) : rows;
    rewrite_entry(x, "#bin",
                  grid->every.months != 0
                      ? rewrite_text(x, "time_bucket(interval '%" PRId64 " months', %s)", grid->every.months, inside)
                      : rewrite_text(x, "time_bucket(interval '%" PRId64 " microseconds', %s%s%s)", grid->every.micros,
                                     inside, origin == NULL ? "" : ", ", origin == NULL ? "" : origin));
    return rewrite_part(x, "intervals of rows", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
}

/* ---- all intervals ---- */

/* A number for a moment that begins an interval, and the moment for the number. */
static const char *
number_text(struct rewrite *x, const struct grid *grid, const char *moment)
{
    return grid->every.months != 0 ? rewrite_text(x, "(year(%s) * 12 + month(%s) - 1)", moment, moment)
                                   : rewrite_text(x, "cast(%s as int64)", moment);
}

/* The keys and #bin: of each group all from the first #bin of rows to the last one. */
static struct gr_node *
all_bins(struct rewrite *x, const struct grid *grid, struct gr_node *rows)
{
    int64_t step = grid->every.months != 0 ? grid->every.months : grid->every.micros;

    rewrite_entry(x, "#from", "min(`#bin`)");
    rewrite_entry(x, "#to", "max(`#bin`)");
    rows = group(x, grid, "first and last intervals", rows);
    enter_keys(x, grid);
    rewrite_entry(x, "#numbers",
                  rewrite_text(x, "generate_series(%s, %s, %" PRId64 ")", number_text(x, grid, "`#from`"),
                               number_text(x, grid, "`#to`"), step));
    rows = rewrite_part(x, "numbers of intervals", GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
    rows = rewrite_part(x, "each interval", GR_TILE_explode, rows, NULL, rewrite_string(x, "column", "#numbers"),
                        rewrite_bool(x, "outer", false));
    enter_keys(x, grid);
    rewrite_entry(x, "#bin",
                  grid->every.months != 0 ? "cast(make_date(`#numbers` // 12, `#numbers` % 12 + 1, 1) as timestamp)"
                                          : "cast(`#numbers` as timestamp)");
    return rewrite_part(x, "all intervals", GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
}

/* ---- resample ---- */

/* Nulls of the aggregates filled from other intervals of the group. */
static struct gr_node *
fill_rows(struct rewrite *x, struct gr_node *rows, const char *const *names, size_t count)
{
    const char *fill = rewrite_param_text(x, "fill");
    const char *limit =
        rewrite_param(x, "limit") == NULL ? "" : rewrite_text(x, ", %" PRId64, rewrite_param_int(x, "limit"));

    if (strcmp(fill, "null") == 0) {
        return limit[0] == '\0' ? rows : rewrite_fail(x, "parameter 'limit' belongs to 'fill': 'ffill' or 'bfill'");
    }
    if (strcmp(fill, "linear") == 0) {
        if (limit[0] != '\0') {
            return rewrite_fail(x, "'linear' has no 'limit': interpolate has one");
        }
        rewrite_set(x, rewrite_strings(x, "columns", names, count));
        rewrite_hand_on(x, "keys", "keys");
        return rewrite_part(x, "filled", GR_TILE_interpolate, rows, NULL, NULL, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        rewrite_entry(x, names[i], rewrite_text(x, "%s(%s%s)", fill, rewrite_name(x, names[i]), limit));
    }
    rewrite_set(x, rewrite_map(x, "columns"));
    rewrite_hand_on(x, "keys", "partition");
    return rewrite_part(x, "filled", GR_TILE_window, rows, NULL, NULL, NULL);
}

/* What stands in the column of times. */
static const char *
label_text(struct rewrite *x, const struct grid *grid)
{
    const struct gr_schema *schema = rewrite_schema(x);
    int at = gr_schema_find(schema, grid->on);
    bool zoned = at >= 0 && schema->fields[at].dtype == GRANARY_TIMESTAMPTZ;
    bool right = rewrite_param(x, "label") != NULL && rewrite_param_is(x, "label", "right");
    const char *bin = !right ? "`#bin`"
                      : grid->every.months != 0
                          ? rewrite_text(x, "`#bin` + interval '%" PRId64 " months'", grid->every.months)
                          : rewrite_text(x, "`#bin` + interval '%" PRId64 " microseconds'", grid->every.micros);

    return zoned ? rewrite_text(x, "cast(%s as timestamptz)", bin) : bin;
}

/* The result's columns: keys, times, aggregates; those of intervals without rows are what they are of nothing. */
static struct gr_node *
settle_rows(struct rewrite *x, const struct grid *grid, struct gr_node *rows, const struct gr_aggregate *all,
            size_t count)
{
    enter_keys(x, grid);
    rewrite_entry(x, grid->on, label_text(x, grid));
    for (size_t i = 0; i < count; i++) {
        int at = gr_schema_find(&rows->type.schema, all[i].name);
        const char *nothing = at < 0 ? NULL : nothing_text(all[i].function, rows->type.schema.fields[at].dtype);
        const char *name = rewrite_name(x, all[i].name);

        rewrite_entry(x, all[i].name, nothing == NULL ? name : rewrite_text(x, "coalesce(%s, %s)", name, nothing));
    }
    return rewrite_part(x, "intervals", GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
}

static bool
are_new(struct rewrite *x, const struct grid *grid, const struct gr_aggregate *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool taken = strcmp(all[i].name, grid->on) == 0;

        for (size_t k = 0; k < grid->key_count; k++) {
            taken = taken || strcmp(all[i].name, grid->keys[k]) == 0;
        }
        if (taken) {
            (void)rewrite_fail(x, "parameter 'aggregate': '%.80s' is a key or the column of times: use another name",
                               all[i].name);
            return false;
        }
        if (gr_aggregate_is_rows(&all[i])) {
            (void)rewrite_fail(
                x, "parameter 'aggregate': '%.80s' has several values for an interval, which has one row", all[i].name);
            return false;
        }
    }
    return true;
}

static struct gr_node *
resample(struct rewrite *x, const struct grid *grid, const struct gr_aggregate *all, size_t count)
{
    struct gr_node *bins = add_bins(x, grid);
    struct gr_node *rows;
    const char **names = calloc(count + 1, sizeof *names);

    if (names == NULL) {
        return rewrite_no_memory(x);
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = all[i].name;
    }
    rewrite_set(x, keys_and(x, grid, "keys", "#bin"));
    rewrite_hand_on(x, "aggregate", "aggregate");
    rows = rewrite_part(x, "intervals with rows", GR_TILE_groupby, bins, NULL, NULL, NULL);
    if (rewrite_param_bool(x, "empty")) {
        bins = all_bins(x, grid, bins);
        rewrite_set(x, keys_and(x, grid, "on", "#bin"));
        rows = rewrite_part(x, "intervals with and without rows", GR_TILE_join, bins, rows,
                            rewrite_string(x, "how", "left"), NULL);
    }
    rows = settle_rows(x, grid, rows, all, count);
    rows = count == 0 ? rows : fill_rows(x, rows, names, count);
    free(names);
    return rows;
}

static struct gr_node *
rewrite_resample(struct rewrite *x)
{
    struct gr_aggregate *all = NULL;
    size_t count = 0;
    struct grid grid;
    struct gr_node *rows = x->node;

    if (!read_grid(x, &grid)) {
        return rows;
    }
    grid.right = rewrite_param_is(x, "closed", "right");
    x->err = gr_aggregates_parse(rewrite_param(x, "aggregate"), &all, &count);
    if (x->err == GRANARY_OK && are_new(x, &grid, all, count)) {
        rows = resample(x, &grid, all, count);
    }
    gr_aggregates_free(all, count);
    return rows;
}

const struct gr_operator gr_op_resample = {.rewrite = rewrite_resample};

/* ---- upsample ---- */

/* The columns as they were, behind the keys and the times; numbers are on the line between others, if that is wanted. */
static struct gr_node *
settle_times(struct rewrite *x, const struct grid *grid, struct gr_node *rows)
{
    const struct gr_schema *schema = rewrite_schema(x);
    const char **numbers = calloc(schema->count + 1, sizeof *numbers);
    size_t count = 0;

    if (numbers == NULL) {
        return rewrite_no_memory(x);
    }
    enter_keys(x, grid);
    rewrite_entry(x, grid->on, label_text(x, grid));
    for (size_t i = 0; i < schema->count; i++) {
        const char *name = schema->fields[i].name;
        bool own = strcmp(name, grid->on) == 0;

        for (size_t k = 0; k < grid->key_count; k++) {
            own = own || strcmp(name, grid->keys[k]) == 0;
        }
        if (!own) {
            rewrite_entry(x, name, rewrite_name(x, name));
            if (gr_aggregate_describes(schema->fields[i].dtype)) {
                numbers[count++] = name;
            }
        }
    }
    rows = rewrite_part(x, "times", GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
    if (rewrite_param_is(x, "fill", "linear") && count > 0) {
        rewrite_set(x, rewrite_strings(x, "columns", numbers, count));
        rewrite_hand_on(x, "keys", "keys");
        rows = rewrite_part(x, "filled", GR_TILE_interpolate, rows, NULL, NULL, NULL);
    }
    free(numbers);
    return rows;
}

static struct gr_node *
rewrite_upsample(struct rewrite *x)
{
    static const char *const directions[][2] = {{"ffill", "backward"}, {"bfill", "forward"}, {"nearest", "nearest"}};
    const char *direction = NULL;
    struct gr_node *times, *rows;
    struct grid grid;

    if (!read_grid(x, &grid)) {
        return x->node;
    }
    times = all_bins(x, &grid, add_bins(x, &grid));
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    rewrite_entry(x, "#bin", time_text(x, "on", grid.on));
    rows = rewrite_part(x, "rows", GR_TILE_assign, rewrite_input(x, 0), NULL, rewrite_map(x, "columns"), NULL);
    for (size_t i = 0; i < sizeof directions / sizeof directions[0]; i++) {
        direction = rewrite_param_is(x, "fill", directions[i][0]) ? directions[i][1] : direction;
    }
    if (direction != NULL) {
        rewrite_set(x, rewrite_string(x, "on", "#bin"));
        rewrite_hand_on(x, "keys", "by");
        rows = rewrite_part(x, "rows of times", GR_TILE_merge_asof, times, rows,
                            rewrite_string(x, "direction", direction), NULL);
    } else {
        rewrite_set(x, keys_and(x, &grid, "on", "#bin"));
        rows = rewrite_part(x, "rows of times", GR_TILE_join, times, rows, rewrite_string(x, "how", "left"), NULL);
    }
    return settle_times(x, &grid, rows);
}

const struct gr_operator gr_op_upsample = {.rewrite = rewrite_upsample};
