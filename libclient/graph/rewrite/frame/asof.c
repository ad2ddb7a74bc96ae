/*
 * Joins by the nearest key. The keys of both sides are put one below the other. A window in the order of the keys
 * carries on which row of the right side was there last (backward), or is next (forward). Rows of the left side then
 * know theirs by its position, and a join brings it.
 */
#include <string.h>

#include "graph/rewrite/private.h"

struct asof {
    const char *left_on;
    const char *right_on;
    char *const *by;
    size_t by_count;
    bool back;
    bool forward;
    int right_side; /* of #side: what stands first of equal keys, when they are in ascending order */
};

static void
read_parameters(struct rewrite *x, struct asof *asof)
{
    const char *on = rewrite_param_text(x, "on");
    const char *left = rewrite_param_text(x, "left_on"), *right = rewrite_param_text(x, "right_on");

    asof->left_on = left == NULL ? on : left;
    asof->right_on = right == NULL ? on : right;
    asof->by_count = rewrite_param_names(x, "by", &asof->by);
    asof->back = !rewrite_param_is(x, "direction", "forward");
    asof->forward = !rewrite_param_is(x, "direction", "backward");
    asof->right_side = rewrite_param_bool(x, "allow_exact_matches") ? 0 : 1;
    if (asof->left_on == NULL || asof->right_on == NULL) {
        (void)rewrite_fail(x, "it needs 'on', or 'left_on' and 'right_on'");
    }
}

/* Key, side and position of each row of a side, as the other side has them. */
static struct gr_node *
add_keys(struct rewrite *x, const struct asof *asof, const char *part, struct gr_node *input, const char *on,
         bool is_right)
{
    rewrite_entry(x, "#key", rewrite_name(x, on));
    for (size_t i = 0; i < asof->by_count; i++) {
        rewrite_entry(x, asof->by[i], rewrite_name(x, asof->by[i]));
    }
    rewrite_entry(x, "#side", is_right == (asof->right_side == 1) ? "1" : "0");
    rewrite_entry(x, "#right", is_right ? "`#right`" : "0");
    return rewrite_part(x, part, GR_TILE_project, input, NULL, rewrite_map(x, "columns"), NULL);
}

/* The nearest row of the right side before each row, or behind it. */
static struct gr_node *
add_window(struct rewrite *x, const struct asof *asof, struct gr_node *input, bool back)
{
    static const char *const by[] = {"#key", "#side"};
    const bool descending[] = {false, !back};
    const char *fill = back ? "ffill" : "bfill";

    rewrite_entry(x, back ? "#back" : "#forward",
                  rewrite_text(x, "%s(case when `#side` = %d then `#right` else null end)", fill, asof->right_side));
    rewrite_entry(x, back ? "#back key" : "#forward key",
                  rewrite_text(x, "%s(case when `#side` = %d then `#key` else null end)", fill, asof->right_side));
    rewrite_set(x, rewrite_map(x, "columns"));
    if (asof->by_count > 0) {
        rewrite_hand_on(x, "by", "partition");
    }
    return rewrite_part(x, back ? "before" : "behind", GR_TILE_window, input, NULL, rewrite_strings(x, "by", by, 2),
                        rewrite_bools(x, "descending", descending, 2));
}

/* Whether what the window found is near enough; also false of keys that are missing. */
static const char *
near_text(struct rewrite *x, bool back)
{
    const char *tolerance = rewrite_param_text(x, "tolerance");

    if (tolerance == NULL) {
        return back ? "`#key` >= `#back key`" : "`#key` <= `#forward key`";
    }
    return back ? rewrite_text(x, "`#key` >= `#back key` and `#key` <= `#back key` + (%s)", tolerance)
                : rewrite_text(x, "`#key` <= `#forward key` and `#forward key` <= `#key` + (%s)", tolerance);
}

static const char *
match_text(struct rewrite *x, const struct asof *asof)
{
    const char *back = near_text(x, true);
    const char *forward = near_text(x, false);

    if (!asof->forward) {
        return rewrite_text(x, "case when %s then `#back` else null end", back);
    }
    if (!asof->back) {
        return rewrite_text(x, "case when %s then `#forward` else null end", forward);
    }
    return rewrite_text(x,
                        "case when %s and (`#forward key` is null or `#key` - `#back key` <= `#forward key` - `#key`) "
                        "then `#back` when %s then `#forward` when %s then `#back` else null end",
                        back, forward, back);
}

/* For each row of the left side the position of its match. */
static struct gr_node *
find_matches(struct rewrite *x, const struct asof *asof, struct gr_node *right)
{
    struct gr_node *keys = add_keys(x, asof, "right keys", right, asof->right_on, true);
    struct gr_node *rows;

    keys = rewrite_part(x, "right keys that are there", GR_TILE_dropna, keys, NULL, rewrite_string(x, "subset", "#key"),
                        NULL);
    rows = add_keys(x, asof, "left keys", rewrite_input(x, 0), asof->left_on, false);
    rows = rewrite_part(x, "keys", GR_TILE_concat, keys, rows, NULL, NULL);
    rows = asof->back ? add_window(x, asof, rows, true) : rows;
    rows = asof->forward ? add_window(x, asof, rows, false) : rows;
    rows = rewrite_part(x, "left rows", GR_TILE_filter, rows, NULL,
                        rewrite_string(x, "where", rewrite_text(x, "`#side` = %d", 1 - asof->right_side)), NULL);
    rewrite_entry(x, "#right", match_text(x, asof));
    return rewrite_part(x, "matches", GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
}

/* The right side without columns that come once. */
static struct gr_node *
narrow_right(struct rewrite *x, const struct asof *asof, struct gr_node *right)
{
    if (rewrite_param(x, "by") != NULL) {
        rewrite_hand_on(x, "by", "columns");
        right = rewrite_part(x, "right without groups", GR_TILE_drop, right, NULL, NULL, NULL);
    }
    return strcmp(asof->left_on, asof->right_on) != 0
               ? right
               : rewrite_part(x, "right without key", GR_TILE_drop, right, NULL,
                              rewrite_strings(x, "columns", &asof->right_on, 1), NULL);
}

static struct gr_node *
rewrite_merge_asof(struct rewrite *x)
{
    struct gr_node *left = rewrite_input(x, 0);
    struct gr_node *right, *rows, *matches;
    struct asof asof;

    read_parameters(x, &asof);
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    right = rewrite_part(x, "right rows", GR_TILE_reset_index, rewrite_input(x, 1), NULL,
                         rewrite_string(x, "name", "#right"), NULL);
    matches = find_matches(x, &asof, right);
    matches = rewrite_part(x, "left with matches", GR_TILE_concat, left, matches, rewrite_int(x, "axis", 1), NULL);
    right = narrow_right(x, &asof, right);
    rewrite_set(x, rewrite_string(x, "on", "#right"));
    rewrite_set(x, rewrite_string(x, "how", "left"));
    rewrite_hand_on(x, "suffixes", "suffixes");
    rows = rewrite_part(x, "joined", GR_TILE_join, matches, right, NULL, NULL);
    return rewrite_add(x, GR_TILE_drop, rows, NULL, rewrite_string(x, "columns", "#right"), NULL);
}

const struct gr_operator gr_op_merge_asof = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_merge_asof};
