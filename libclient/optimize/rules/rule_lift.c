/*
 * lift-project: what only picks and renames columns does not stand between a join and the rows that it reads.
 *
 * A join takes of its inputs the columns that it needs, so it need not be told which ones there are. And only what reads a
 * filter directly takes its rows without a copy. So projects and selects that compute nothing move:
 *
 *   all columns, in order, under their names   whoever reads it reads past it
 *   right of a semi or anti join               the join reads past it
 *   any other input of a join                  join(project(x), y) becomes project(join(x, y)): the two change places
 *
 * The last two ask that nobody else reads the project or x, which then needs no columns but the join's.
 * The new join has more columns, some perhaps of equal names. It is made only when each column of the old one is there
 * and comes from the same sides: a key that is there once must not become two, nor two of them one.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/expr.h"
#include "graph/join.h"
#include "optimize/rules.h"

#define NOWHERE (-1)

/* An input of the join: as it sees it, and as it will. */
struct side {
    const struct gr_schema *seen;
    const struct gr_schema *under;
    size_t input; /* position of the step that it will read */
    bool taken;   /* past a project or select */
    int *from;    /* by column of seen: where it is in under */
    char **keys;  /* under their names there */
};

struct lift {
    struct gr_steps *steps;
    size_t at; /* the join's position */
    struct gr_join join;
    struct side sides[2];
    size_t place; /* where the new join will stand: its own place, unless something changes places with it */
};

/* ---- what computes nothing ---- */

static bool
picks_columns(const struct gr_step *step)
{
    return (step->op == GR_TILE_select || step->op == GR_TILE_project) && step->where[0] == NULL &&
           step->limit == GR_STEP_NO_LIMIT;
}

/* Where column c of a select or project is in its input; NOWHERE: it is computed. */
static int
source_of(const struct gr_steps *steps, size_t position, size_t c)
{
    const struct gr_step *step = &steps->steps[position];
    struct gr_op_use use = gr_steps_use(steps, position);
    const char *name;
    size_t input;

    return gr_operator(step->op)->origin(&use, step->type->schema.fields[c].name, &input, &name)
               ? gr_schema_find(use.inputs[0], name)
               : NOWHERE;
}

/* Whether it yields what it reads. */
static bool
changes_nothing(const struct gr_steps *steps, size_t position)
{
    const struct gr_step *step = &steps->steps[position];
    const struct gr_schema *own = &step->type->schema;
    const struct gr_schema *input = step->input_count > 0 ? &steps->steps[step->inputs[0]].type->schema : NULL;
    bool same = picks_columns(step) && step->type->known && own->count == input->count;

    for (size_t c = 0; c < own->count && same; c++) {
        same = source_of(steps, position, c) == (int)c && strcmp(own->fields[c].name, input->fields[c].name) == 0;
    }
    return same;
}

static void
read_past(struct gr_steps *steps, struct gr_step *step, size_t k)
{
    rule_fired(steps, "lift-project", "'%s' (%s) reads past '%s'", step->origin->name, gr_op_info(step->op)->name,
               steps->steps[step->inputs[k]].origin->name);
    rule_pass_by(steps, &step->inputs[k]);
}

/* ---- what the join would read ---- */

static bool
leaves_right_out(const struct lift *lift)
{
    return lift->join.how == GR_JOIN_SEMI || lift->join.how == GR_JOIN_ANTI;
}

static bool
has_one_reader(const struct gr_steps *steps, size_t position)
{
    return steps->readers[position] == 1 && !steps->steps[position].is_target;
}

/* Whether the join gains by reading what stands below: fewer rows pass a semi or anti join, and a filter is taken over. */
static bool
is_worth(const struct lift *lift, const struct gr_step *below)
{
    const struct gr_step *under = &lift->steps->steps[below->inputs[0]];

    return leaves_right_out(lift) || under->op == GR_TILE_filter || picks_columns(under);
}

/* Look through the step below input k. What others read, too, has columns for them: the join would have to copy these. */
static granary_err
side_init(struct lift *lift, size_t k)
{
    struct side *side = &lift->sides[k];
    const struct gr_step *join = &lift->steps->steps[lift->at];
    const struct gr_step *below = &lift->steps->steps[join->inputs[k]];

    *side = (struct side){.seen = &below->type->schema, .input = join->inputs[k]};
    side->taken = picks_columns(below) && below->type->known && join->where[k] == NULL &&
                  has_one_reader(lift->steps, join->inputs[k]) && has_one_reader(lift->steps, below->inputs[0]) &&
                  is_worth(lift, below);
    side->from = gr_steps_room(lift->steps, side->seen->count + 1, sizeof *side->from);
    if (side->from == NULL) {
        return optimize_no_memory();
    }
    for (size_t c = 0; c < side->seen->count && side->taken; c++) {
        side->from[c] = source_of(lift->steps, join->inputs[k], c);
        side->taken = side->from[c] != NOWHERE;
    }
    return GRANARY_OK;
}

/* Take side k for what it is when the step below it stays. */
static granary_err
side_settle(struct lift *lift, size_t k)
{
    struct side *side = &lift->sides[k];
    char *const *keys = k == 0 ? lift->join.left_on : lift->join.right_on;

    side->input = side->taken ? lift->steps->steps[side->input].inputs[0] : side->input;
    side->under = &lift->steps->steps[side->input].type->schema;
    side->keys = gr_steps_room(lift->steps, lift->join.key_count + 1, sizeof *side->keys);
    if (side->keys == NULL) {
        return optimize_no_memory();
    }
    for (size_t c = 0; c < side->seen->count && !side->taken; c++) {
        side->from[c] = (int)c;
    }
    for (size_t i = 0; i < lift->join.key_count; i++) {
        int at = gr_schema_find(side->seen, keys[i]);

        side->keys[i] = at < 0 ? keys[i] : side->under->fields[side->from[at]].name;
    }
    return GRANARY_OK;
}

/* The place of the new join: behind all that it reads, so that of the last step that changes places with it. A project of
 * the left side may stand too early. */
static void
find_place(struct lift *lift)
{
    const struct gr_step *join = &lift->steps->steps[lift->at];
    bool lifts_right = lift->sides[1].taken && !leaves_right_out(lift);
    size_t right = lift->sides[1].taken ? lift->steps->steps[join->inputs[1]].inputs[0] : join->inputs[1];

    if (lift->sides[0].taken && !lifts_right && right >= join->inputs[0]) {
        lift->sides[0].taken = false;
    }
    if (lifts_right && !lift->sides[0].taken && join->inputs[0] >= join->inputs[1]) {
        lift->sides[1].taken = false;
        lifts_right = false;
    }
    lift->place = lift->at;
    if (lifts_right && (!lift->sides[0].taken || join->inputs[1] > join->inputs[0])) {
        lift->place = join->inputs[1];
    } else if (lift->sides[0].taken) {
        lift->place = join->inputs[0];
    }
}

/* ---- the new join's columns ---- */

typedef granary_err list_columns(const struct gr_join *join, const struct gr_schema *left,
                                 const struct gr_schema *right, struct gr_join_column **ret_columns, size_t *ret_count);

struct columns {
    struct gr_join_column *before, *after;
    size_t before_count, after_count;
};

/* Those of the join as it is and as it will be. *ret_fits false: it cannot be. */
static granary_err
columns_init(const struct lift *lift, list_columns *list, struct columns *columns, bool *ret_fits)
{
    struct gr_join join = lift->join;
    granary_err err =
        list(&lift->join, lift->sides[0].seen, lift->sides[1].seen, &columns->before, &columns->before_count);

    join.left_on = lift->sides[0].keys;
    join.right_on = lift->sides[1].keys;
    if (err == GRANARY_OK) {
        err = list(&join, lift->sides[0].under, lift->sides[1].under, &columns->after, &columns->after_count);
        *ret_fits = err == GRANARY_OK;
        err = err == GRANARY_EINVAL || err == GRANARY_ETYPE ? GRANARY_OK : err; /* two would have one name */
    }
    return err;
}

static void
columns_fini(struct columns *columns)
{
    gr_join_columns_free(columns->before, columns->before_count);
    gr_join_columns_free(columns->after, columns->after_count);
}

static int
moved(const struct side *side, int column)
{
    return column < 0 ? NOWHERE : side->from[column];
}

/* The new join's column that is that one of the old join; NULL: none is. */
static const struct gr_join_column *
find_same(const struct lift *lift, const struct columns *columns, const struct gr_join_column *column)
{
    for (size_t c = 0; c < columns->after_count; c++) {
        const struct gr_join_column *other = &columns->after[c];

        if (other->left == moved(&lift->sides[0], column->left) &&
            other->right == moved(&lift->sides[1], column->right) && other->dtype == column->dtype) {
            return other;
        }
    }
    return NULL;
}

/* The columns of the old join, named as in the new one, as the entries of a project. *ret_entries NULL: one is lost. */
static granary_err
make_entries(const struct lift *lift, const struct columns *columns, Granary__Attr **ret_entries)
{
    char **names = gr_steps_room(lift->steps, columns->before_count + 1, sizeof *names);
    char **texts = gr_steps_room(lift->steps, columns->before_count + 1, sizeof *texts);
    granary_err err = names == NULL || texts == NULL ? optimize_no_memory() : GRANARY_OK;
    size_t count = 0;

    for (; count < columns->before_count && err == GRANARY_OK; count++) {
        const struct gr_join_column *same = find_same(lift, columns, &columns->before[count]);
        struct gr_buf text = {0};

        if (same == NULL) {
            break;
        }
        names[count] = columns->before[count].name;
        gr_expr_print_name(same->name, &text);
        texts[count] = gr_buf_take(&text);
        err = texts[count] == NULL ? optimize_no_memory() : GRANARY_OK;
    }
    if (err == GRANARY_OK && count == columns->before_count) {
        *ret_entries = gr_attr_new_map("columns", names, texts, count);
        err = *ret_entries == NULL ? optimize_no_memory() : GRANARY_OK;
    }
    for (size_t c = 0; c < count && texts != NULL; c++) {
        free(texts[c]);
    }
    return err;
}

/* What the new join yields, as long as the steps live. Errors: ENOMEM */
static granary_err
make_type(struct gr_steps *steps, const struct columns *columns, const struct gr_node_type **ret_type)
{
    struct gr_node_type *type = gr_steps_room(steps, 1, sizeof *type);
    struct gr_field *fields = gr_steps_room(steps, columns->after_count + 1, sizeof *fields);

    if (type == NULL || fields == NULL) {
        return optimize_no_memory();
    }
    for (size_t c = 0; c < columns->after_count; c++) {
        size_t size = strlen(columns->after[c].name) + 1;

        fields[c] = (struct gr_field){.name = gr_steps_room(steps, size, 1), .dtype = columns->after[c].dtype};
        if (fields[c].name == NULL) {
            return optimize_no_memory();
        }
        memcpy(fields[c].name, columns->after[c].name, size);
    }
    *type = (struct gr_node_type){.known = true, .schema = {.count = columns->after_count, .fields = fields}};
    *ret_type = type;
    return GRANARY_OK;
}

/* ---- the condition on pairs ---- */

struct renaming {
    const struct lift *lift;
    const struct columns *columns;
    bool *lost;
};

static const char *
find_new_name(const char *column, const void *context)
{
    const struct renaming *renaming = context;

    for (size_t c = 0; c < renaming->columns->before_count; c++) {
        const struct gr_join_column *before = &renaming->columns->before[c];

        if (strcmp(before->name, column) == 0) {
            const struct gr_join_column *same = find_same(renaming->lift, renaming->columns, before);

            *renaming->lost = *renaming->lost || same == NULL;
            return same == NULL ? NULL : same->name;
        }
    }
    return NULL;
}

/* The condition under the new names; *ret_where NULL: there is none, or *ret_fits is false. */
static granary_err
make_where(const struct lift *lift, Granary__Attr **ret_where, bool *ret_fits)
{
    struct columns columns = {0};
    const struct gr_expr *where;
    struct gr_expr *copy = NULL;
    bool lost = false;
    granary_err err =
        lift->join.where == NULL ? GRANARY_OK : columns_init(lift, gr_join_pair_columns, &columns, ret_fits);

    if (err == GRANARY_OK && lift->join.where != NULL && *ret_fits) {
        struct renaming renaming = {.lift = lift, .columns = &columns, .lost = &lost};

        err = gr_trees_find(lift->steps->steps[lift->at].node->trees, lift->join.where, &where);
        err = err == GRANARY_OK ? gr_expr_copy(where, &copy) : err;
        err = err == GRANARY_OK ? gr_expr_rename(copy, find_new_name, &renaming) : err;
        *ret_fits = !lost;
    }
    if (err == GRANARY_OK && copy != NULL && !lost) {
        *ret_where = gr_attr_new_expr("where", copy);
        err = *ret_where == NULL ? optimize_no_memory() : GRANARY_OK;
    }
    gr_expr_destroy(copy);
    columns_fini(&columns);
    return err;
}

/* ---- the rule ---- */

/* Keys of one name on both sides may be told once, and then keep it. */
static bool
keys_can_be_told(const struct lift *lift)
{
    bool same = true;

    for (size_t i = 0; i < lift->join.key_count; i++) {
        same = same && strcmp(lift->sides[0].keys[i], lift->join.left_on[i]) == 0 &&
               strcmp(lift->sides[1].keys[i], lift->join.right_on[i]) == 0;
    }
    return same || gr_step_attr(&lift->steps->steps[lift->at], "on") == NULL;
}

static granary_err
set_keys(const struct lift *lift, struct gr_step *join)
{
    granary_err err = GRANARY_OK;

    if (gr_step_attr(join, "left_on") != NULL) {
        err = gr_step_set_attr(join, gr_attr_new_strings("left_on", lift->sides[0].keys, lift->join.key_count));
        err = err == GRANARY_OK
                  ? gr_step_set_attr(join, gr_attr_new_strings("right_on", lift->sides[1].keys, lift->join.key_count))
                  : err;
    }
    return err;
}

/* The join goes to its new place; the project takes the join's, which keeps what it yields. */
static granary_err
change_places(const struct lift *lift, const struct gr_node_type *type, Granary__Attr *entries)
{
    struct gr_step *join = &lift->steps->steps[lift->at];
    struct gr_step *lower = &lift->steps->steps[lift->place];
    const Granary__Node *origin = lower->origin;

    gr_step_clear_attrs(lower);
    lower->origin = join->origin;
    lower->given = join->given;
    lower->op = join->op;
    lower->own_attrs = join->own_attrs;
    lower->own_attr_count = join->own_attr_count;
    lower->input_count = 2;
    lower->inputs = join->inputs;
    lower->type = type;
    join->origin = origin;
    join->own_attrs = NULL;
    join->own_attr_count = 0;
    join->input_count = 1;
    join->inputs = gr_steps_room(lift->steps, 1, sizeof *join->inputs);
    if (join->inputs == NULL) {
        granary__attr__free_unpacked(entries, NULL);
        return optimize_no_memory();
    }
    join->inputs[0] = lift->place;
    return gr_step_become(join, GR_TILE_project, entries);
}

/* Read past what is taken. What stands in the new join's place is read no more, but replaced. */
static void
take_inputs(const struct lift *lift, struct gr_step *join)
{
    for (size_t k = 0; k < 2; k++) {
        if (lift->sides[k].taken) {
            read_past(lift->steps, join, k);
        }
    }
}

static granary_err
apply(struct lift *lift, const struct columns *columns, Granary__Attr *where, Granary__Attr *entries)
{
    struct gr_step *join = &lift->steps->steps[lift->at];
    struct gr_step *lower = &lift->steps->steps[lift->place];
    const struct gr_node_type *type = NULL;
    granary_err err = entries == NULL ? GRANARY_OK : make_type(lift->steps, columns, &type);

    take_inputs(lift, join);
    if (err == GRANARY_OK) {
        err = set_keys(lift, join);
    }
    if (err == GRANARY_OK && where != NULL) {
        err = gr_step_set_attr(join, where);
        where = NULL;
    }
    if (err == GRANARY_OK && entries != NULL) {
        lower->dead = false;
        lift->steps->readers[lift->place] = 1;
        err = change_places(lift, type, entries);
        entries = NULL;
    }
    granary__attr__free_unpacked(where, NULL);
    granary__attr__free_unpacked(entries, NULL);
    return err;
}

/* Past what stands below those inputs (a bit each). *at becomes the new join's place; *ret_done false: nothing has
 * changed. */
static granary_err
lift_over_join(struct gr_steps *steps, unsigned inputs, size_t *at, bool *ret_done)
{
    size_t i = *at;
    struct lift lift = {.steps = steps, .at = i};
    struct columns columns = {0};
    Granary__Attr *where = NULL;
    Granary__Attr *entries = NULL;
    bool fits = true;
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(&steps->steps[i], &count);
    granary_err err = gr_join_parse(attrs, count, &lift.join);

    for (size_t k = 0; k < 2 && err == GRANARY_OK; k++) {
        err = side_init(&lift, k);
        lift.sides[k].taken = lift.sides[k].taken && (inputs & 1U << k) != 0;
    }
    if (err != GRANARY_OK) {
        return err;
    }
    find_place(&lift);
    if (!lift.sides[0].taken && !lift.sides[1].taken) {
        return GRANARY_OK;
    }
    for (size_t k = 0; k < 2 && err == GRANARY_OK; k++) {
        err = side_settle(&lift, k);
    }
    if (err == GRANARY_OK && (fits = keys_can_be_told(&lift))) {
        err = make_where(&lift, &where, &fits);
    }
    if (err == GRANARY_OK && fits && lift.place != i) {
        err = columns_init(&lift, gr_join_columns, &columns, &fits);
        err = err == GRANARY_OK && fits ? make_entries(&lift, &columns, &entries) : err;
        fits = fits && entries != NULL;
    }
    if (err == GRANARY_OK && fits) {
        err = apply(&lift, &columns, where, entries);
        where = entries = NULL;
        *at = lift.place;
        *ret_done = true;
    }
    granary__attr__free_unpacked(where, NULL);
    granary__attr__free_unpacked(entries, NULL);
    columns_fini(&columns);
    return err;
}

granary_err
rule_lift(struct gr_steps *steps, size_t i)
{
    struct gr_step *step = &steps->steps[i];
    size_t at = i;
    bool again = step->op == GR_TILE_join;
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < step->input_count; k++) {
        while (changes_nothing(steps, step->inputs[k])) {
            read_past(steps, step, k);
        }
    }
    while (again && err == GRANARY_OK) {           /* projects may stand on one another */
        static const unsigned tried[] = {3, 1, 2}; /* both, or else one */

        again = false;
        for (size_t k = 0; k < 3 && !again && err == GRANARY_OK; k++) {
            err = lift_over_join(steps, tried[k], &at, &again);
        }
    }
    return err;
}
