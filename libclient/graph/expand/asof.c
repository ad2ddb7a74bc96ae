/*
 * Joins by the nearest key. The keys of both sides are put one below the other. A window in the order of the keys
 * carries on which row of the right side was there last (backward), or is next (forward). Rows of the left side then
 * know theirs by its position, and a join brings it.
 */
#include <string.h>

#include "graph/expand/private.h"

struct asof {
    const char *left_on;
    const char *right_on;
    char *const *by;
    size_t by_count;
    bool exact;
    bool back;
    bool forward;
    int right_side; /* of #side: what stands first of equal keys, when they are in ascending order */
};

static void
read_parameters(struct expansion *e, struct asof *asof)
{
    const char *on = expand_string(e, "on", NULL);
    const char *direction = expand_string(e, "direction", "backward");

    asof->left_on = expand_string(e, "left_on", on);
    asof->right_on = expand_string(e, "right_on", on);
    asof->by_count = expand_strings(e, "by", &asof->by);
    asof->exact = gr_attr_bool(e->node->attrs, e->node->n_attrs, "allow_exact_matches", true);
    asof->back = strcmp(direction, "forward") != 0;
    asof->forward = strcmp(direction, "backward") != 0;
    asof->right_side = asof->exact ? 0 : 1;
    if (asof->left_on == NULL || asof->right_on == NULL) {
        expand_fail(e, "it needs 'on', or 'left_on' and 'right_on'");
    }
    if (strcmp(direction, "backward") != 0 && strcmp(direction, "forward") != 0 && strcmp(direction, "nearest") != 0) {
        expand_fail(e, "parameter 'direction' is '%.40s'; it can be 'backward', 'forward' or 'nearest'", direction);
    }
}

/* Key, side and position of each row of a side, as the other side has them. */
static const char *
add_keys(struct expansion *e, const struct asof *asof, const char *part, const char *input, const char *on,
         bool is_right)
{
    const char *keys = expand_add(e, part, "project", input, NULL);

    expand_map(e, "columns", "#key", expand_name(e, on));
    for (size_t i = 0; i < asof->by_count; i++) {
        expand_map(e, "columns", asof->by[i], expand_name(e, asof->by[i]));
    }
    expand_map(e, "columns", "#side", is_right == (asof->right_side == 1) ? "1" : "0");
    expand_map(e, "columns", "#right", is_right ? "`#right`" : "0");
    return keys;
}

/* The nearest row of the right side before each row, or behind it. */
static const char *
add_window(struct expansion *e, const struct asof *asof, const char *input, bool back)
{
    static const char *const by[] = {"#key", "#side"};
    const bool descending[] = {false, !back};
    const char *fill = back ? "ffill" : "bfill";
    const char *window = expand_add(e, back ? "before" : "behind", "window", input, NULL);

    expand_map(e, "columns", back ? "#back" : "#forward",
               expand_text(e, "%s(case when `#side` = %d then `#right` else null end)", fill, asof->right_side));
    expand_map(e, "columns", back ? "#back key" : "#forward key",
               expand_text(e, "%s(case when `#side` = %d then `#key` else null end)", fill, asof->right_side));
    if (asof->by_count > 0) {
        expand_set_strings(e, "partition", (const char *const *)asof->by, asof->by_count);
    }
    expand_set_strings(e, "by", by, 2);
    expand_set(e, gr_attr_new_bools("descending", descending, 2));
    return window;
}

/* Whether what the window found is near enough; also false of keys that are missing. */
static const char *
near_text(struct expansion *e, bool back)
{
    const char *tolerance = expand_string(e, "tolerance", NULL);

    if (tolerance == NULL) {
        return back ? "`#key` >= `#back key`" : "`#key` <= `#forward key`";
    }
    return back ? expand_text(e, "`#key` >= `#back key` and `#key` <= `#back key` + (%s)", tolerance)
                : expand_text(e, "`#key` <= `#forward key` and `#forward key` <= `#key` + (%s)", tolerance);
}

static const char *
match_text(struct expansion *e, const struct asof *asof)
{
    const char *back = near_text(e, true);
    const char *forward = near_text(e, false);

    if (!asof->forward) {
        return expand_text(e, "case when %s then `#back` else null end", back);
    }
    if (!asof->back) {
        return expand_text(e, "case when %s then `#forward` else null end", forward);
    }
    return expand_text(e,
                       "case when %s and (`#forward key` is null or `#key` - `#back key` <= `#forward key` - `#key`) "
                       "then `#back` when %s then `#forward` when %s then `#back` else null end",
                       back, forward, back);
}

static void
expand_merge_asof(struct expansion *e)
{
    const char *left = e->node->inputs[0];
    const Granary__Attr *suffixes = gr_attr_find(e->node->attrs, e->node->n_attrs, "suffixes");
    struct asof asof;
    const char *right, *rows, *keys, *matches;

    read_parameters(e, &asof);
    if (e->err != GRANARY_OK) {
        return;
    }
    right = expand_add(e, "right rows", "reset_index", e->node->inputs[1], NULL);
    expand_set_string1(e, "name", "#right");
    keys = add_keys(e, &asof, "right keys", right, asof.right_on, true);
    keys = expand_add(e, "right keys that are there", "dropna", keys, NULL);
    expand_set_string1(e, "subset", "#key");
    rows = add_keys(e, &asof, "left keys", left, asof.left_on, false);
    rows = expand_add(e, "keys", "concat", keys, rows);
    rows = asof.back ? add_window(e, &asof, rows, true) : rows;
    rows = asof.forward ? add_window(e, &asof, rows, false) : rows;
    rows = expand_add(e, "left rows", "filter", rows, NULL);
    expand_set_string1(e, "where", expand_text(e, "`#side` = %d", 1 - asof.right_side));
    matches = expand_add(e, "matches", "project", rows, NULL);
    expand_map(e, "columns", "#right", match_text(e, &asof));
    matches = expand_add(e, "left with matches", "concat", left, matches);
    expand_set(e, gr_attr_new_int("axis", 1));
    if (asof.by_count > 0 || strcmp(asof.left_on, asof.right_on) == 0) { /* columns that come once */
        const Granary__Attr *by = gr_attr_find(e->node->attrs, e->node->n_attrs, "by");
        const char *input = right;

        if (by != NULL) {
            right = expand_add(e, "right without groups", "drop", input, NULL);
            expand_set_strings(e, "columns", (const char *const *)by->strings, by->n_strings);
        }
        if (strcmp(asof.left_on, asof.right_on) == 0) {
            right = expand_add(e, "right without key", "drop", right, NULL);
            expand_set_strings(e, "columns", &asof.right_on, 1);
        }
    }
    rows = expand_add(e, "joined", "join", matches, right);
    expand_set_string1(e, "on", "#right");
    expand_set_string1(e, "how", "left");
    if (suffixes != NULL) {
        expand_set(e, gr_attr_copy(suffixes));
    }
    (void)expand_add(e, NULL, "drop", rows, NULL);
    expand_set_string1(e, "columns", "#right");
}

const struct gr_operator gr_op_merge_asof = {.expand = expand_merge_asof};
