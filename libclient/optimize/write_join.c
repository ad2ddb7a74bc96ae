/*
 * A join as a node over inputs that have lost columns.
 *
 * The names of its result follow from those of its inputs: what both sides have gets suffixes. So a name may be another one
 * than before once one side has lost its column. A project above the join gives such columns the names they had, and its
 * condition on pairs is written in the names of now. Without its suffix a name may be that of another column: then the
 * suffixes are others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "graph/expr.h"
#include "graph/join.h"
#include "optimize/write.h"

/* The columns of a join, or of its pairs, before and now. */
struct renaming {
    struct gr_join_column *before, *now;
    size_t before_count, now_count;
    const struct gr_join_column **of; /* by column before: what it is now; NULL: it is gone */
    bool differs;                     /* one has another name */
};

static void
renaming_free(struct renaming *r)
{
    gr_join_columns_free(r->before, r->before_count);
    gr_join_columns_free(r->now, r->now_count);
    free(r->of);
}

/* The columns that are left of an input; ret_at: where they were. To be freed, whatever is returned. */
static granary_err
left_of(const struct gr_schema *schema, const bool *takes, struct gr_schema *ret_left, int **ret_at)
{
    granary_err err = GRANARY_OK;

    *ret_at = calloc(schema->count + 1, sizeof **ret_at);
    if (*ret_at == NULL) {
        return optimize_no_memory();
    }
    for (size_t c = 0; c < schema->count && err == GRANARY_OK; c++) {
        if (takes[c]) {
            (*ret_at)[ret_left->count] = (int)c;
            err = gr_schema_add(ret_left, schema->fields[c].name, schema->fields[c].dtype);
        }
    }
    return err;
}

/* Both lists have the left side's columns in order, then the right side's: what is left stands in the same order. */
static granary_err
match_columns(struct renaming *r, const int *left_at, const int *right_at)
{
    size_t c = 0;

    r->of = calloc(r->before_count + 1, sizeof *r->of);
    if (r->of == NULL) {
        return optimize_no_memory();
    }
    for (size_t n = 0; n < r->now_count; n++) {
        int left = r->now[n].left < 0 ? -1 : left_at[r->now[n].left];
        int right = r->now[n].right < 0 ? -1 : right_at[r->now[n].right];

        while (c < r->before_count && (r->before[c].left != left || r->before[c].right != right)) {
            c++;
        }
        if (c == r->before_count) {
            return gr_fail(GRANARY_EFAILED, "a join has the column '%s' only without others: report this",
                           r->now[n].name);
        }
        r->of[c] = &r->now[n];
        r->differs = r->differs || strcmp(r->before[c].name, r->now[n].name) != 0;
    }
    return GRANARY_OK;
}

typedef granary_err list_columns(const struct gr_join *join, const struct gr_schema *left,
                                 const struct gr_schema *right, struct gr_join_column **ret_columns, size_t *ret_count);

static granary_err
renaming_init(const struct gr_op_use *use, const struct gr_join *join, const struct gr_join *now, bool *const takes[2],
              list_columns *list, struct renaming *r)
{
    struct gr_schema left[2] = {{0}};
    int *at[2] = {NULL, NULL};
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < 2 && err == GRANARY_OK; k++) {
        err = left_of(use->inputs[k], takes[k], &left[k], &at[k]);
    }
    if (err == GRANARY_OK) {
        err = list(join, use->inputs[0], use->inputs[1], &r->before, &r->before_count);
    }
    if (err == GRANARY_OK) {
        err = list(now, &left[0], &left[1], &r->now, &r->now_count);
    }
    if (err == GRANARY_OK) {
        err = match_columns(r, at[0], at[1]);
    }
    for (size_t k = 0; k < 2; k++) {
        gr_schema_free(&left[k]);
        free(at[k]);
    }
    return err;
}

/* ---- what the join takes ---- */

static granary_err
find_taken(const struct gr_steps *steps, size_t i, const struct gr_op_use *use, struct written_join *join)
{
    const struct gr_step *step = &steps->steps[i];
    bool *needed = malloc(use->own->count + 1);
    granary_err err = needed == NULL ? optimize_no_memory() : GRANARY_OK;

    for (size_t k = 0; k < 2 && err == GRANARY_OK; k++) {
        join->takes[k] = calloc(use->inputs[k]->count + 1, sizeof(bool));
        err = join->takes[k] == NULL ? optimize_no_memory() : GRANARY_OK;
    }
    for (size_t c = 0; c < use->own->count && err == GRANARY_OK; c++) {
        needed[c] = gr_step_yields(step, c);
    }
    if (err == GRANARY_OK) {
        err = gr_operator(step->op)->reads(use, needed, join->takes);
    }
    for (size_t k = 0; k < 2 && err == GRANARY_OK; k++) {
        const struct gr_step *input = &steps->steps[step->inputs[k]];

        for (size_t c = 0; c < use->inputs[k]->count; c++) {
            join->takes[k][c] = join->takes[k][c] && gr_step_yields(input, c);
            join->is_narrowed[k] = join->is_narrowed[k] || (gr_step_yields(input, c) && !join->takes[k][c]);
        }
    }
    free(needed);
    return err;
}

/* ---- what is asked of pairs ---- */

static const char *
name_now(const char *column, const void *context)
{
    const struct renaming *r = context;
    size_t c = 0;

    while (c < r->before_count && strcmp(r->before[c].name, column) != 0) {
        c++;
    }
    return c < r->before_count && r->of[c] != NULL ? r->of[c]->name : NULL;
}

static granary_err
rename_where(const struct gr_step *step, const char *where, const struct renaming *r, Granary__Attr **ret_where)
{
    const struct gr_expr *tree = NULL;
    struct gr_expr *copy = NULL;
    granary_err err = gr_trees_find(step->node->trees, where, &tree);

    if (err == GRANARY_OK) {
        err = gr_expr_copy(tree, &copy);
    }
    if (err == GRANARY_OK) {
        err = gr_expr_rename(copy, name_now, r);
    }
    if (err == GRANARY_OK) {
        *ret_where = gr_attr_new_expr("where", copy);
        err = *ret_where == NULL ? optimize_no_memory() : GRANARY_OK;
    }
    gr_expr_destroy(copy);
    return err;
}

/* ---- what is above the join ---- */

/* Each column that the step yields, and what it is called now. */
static granary_err
make_picks(const struct gr_step *step, const struct renaming *r, Granary__Attr **ret_picks)
{
    char **names = calloc(r->before_count + 1, sizeof *names);
    char **texts = calloc(r->before_count + 1, sizeof *texts);
    size_t count = 0;
    granary_err err = names == NULL || texts == NULL ? optimize_no_memory() : GRANARY_OK;

    for (size_t c = 0; c < r->before_count && err == GRANARY_OK; c++) {
        struct gr_buf text = {0};

        if (gr_step_yields(step, c)) {
            gr_expr_print_name(r->of[c]->name, &text);
            names[count] = r->before[c].name;
            texts[count++] = gr_buf_take(&text);
            err = texts[count - 1] == NULL ? optimize_no_memory() : GRANARY_OK;
        }
    }
    if (err == GRANARY_OK) {
        *ret_picks =
            r->differs ? gr_attr_new_map("columns", names, texts, count) : gr_attr_new_strings("columns", names, count);
        err = *ret_picks == NULL ? optimize_no_memory() : GRANARY_OK;
    }
    for (size_t c = 0; c < count; c++) {
        free(texts[c]);
    }
    free(names);
    free(texts);
    return err;
}

/* What a join and its pairs have now. `now` has the suffixes. */
struct renamings {
    struct gr_join before, now;
    struct renaming result, pairs; /* pairs: of one that asks something of them */
    char suffixes[2][16];          /* tried in place of those before */
};

static void
renamings_free(struct renamings *r)
{
    renaming_free(&r->result);
    renaming_free(&r->pairs);
    r->result = r->pairs = (struct renaming){.before = NULL};
}

static granary_err
rename_all(const struct gr_op_use *use, bool *const takes[2], struct renamings *r)
{
    granary_err err = renaming_init(use, &r->before, &r->now, takes, gr_join_columns, &r->result);

    if (err == GRANARY_OK && r->before.where != NULL) {
        err = renaming_init(use, &r->before, &r->now, takes, gr_join_pair_columns, &r->pairs);
    }
    return err;
}

/* With the suffixes there are, or others. */
static granary_err
find_names(const struct gr_op_use *use, bool *const takes[2], struct renamings *r)
{
    granary_err err = rename_all(use, takes, r);

    for (int n = 1; err == GRANARY_EINVAL && n < 100; n++) { /* two columns would have one name */
        renamings_free(r);
        for (int k = 0; k < 2; k++) {
            (void)snprintf(r->suffixes[k], sizeof r->suffixes[k], "#%d%c", n, "lr"[k]);
        }
        r->now.left_suffix = r->suffixes[0];
        r->now.right_suffix = r->suffixes[1];
        err = rename_all(use, takes, r);
    }
    return err;
}

granary_err
steps_write_join(const struct gr_steps *steps, size_t i, struct written_join *ret_join)
{
    const struct gr_step *step = &steps->steps[i];
    struct gr_op_use use = gr_steps_use(steps, i);
    struct renamings r = {.suffixes = {""}};
    char *suffixes[] = {r.suffixes[0], r.suffixes[1]};
    granary_err err = gr_join_parse(use.attrs, use.attr_count, &r.before);

    if (err == GRANARY_OK) {
        r.now = r.before;
        err = find_taken(steps, i, &use, ret_join);
    }
    if (err == GRANARY_OK) {
        err = find_names(&use, ret_join->takes, &r);
    }
    if (err == GRANARY_OK && r.now.left_suffix == r.suffixes[0]) {
        ret_join->own[0] = gr_attr_new_strings("suffixes", suffixes, 2);
        err = ret_join->own[0] == NULL ? optimize_no_memory() : GRANARY_OK;
    }
    if (err == GRANARY_OK && r.pairs.differs) {
        err = rename_where(step, r.before.where, &r.pairs, &ret_join->own[1]);
    }
    if (err == GRANARY_OK && (r.result.differs || r.result.now_count > gr_step_width(step))) {
        err = make_picks(step, &r.result, &ret_join->picks);
    }
    renamings_free(&r);
    return err;
}

void
steps_write_join_end(struct written_join *join)
{
    for (size_t k = 0; k < 2; k++) {
        free(join->takes[k]);
        granary__attr__free_unpacked(join->own[k], NULL);
    }
    granary__attr__free_unpacked(join->picks, NULL);
}
