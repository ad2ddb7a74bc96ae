/*
 * prune-columns: only the columns a target needs are read, computed and carried along.
 *
 * Readers first, each step says which columns of its inputs it reads, given which of its own are needed. An operator
 * not known here reads everything. Then, sources first, the real yield of each step is settled. Attributes lose what
 * is not needed. Steps that copy rows (sort, join, ...) take only what they need of an input that has more.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "graph/expr.h"
#include "graph/operator.h"
#include "optimize/rules.h"

/* One rule at work. Flags are by column of the step's (or the input's) schema. */
struct pruning {
    struct gr_steps *steps;
    bool **needed;     /* by step; NULL: no frame */
    bool *(*reads)[2]; /* by step and input */
};

static const struct gr_schema *
input_schema(const struct pruning *p, const struct gr_step *step, size_t k)
{
    return &p->steps->steps[step->inputs[k]].type->schema;
}

static bool
is_frame(const struct gr_step *step)
{
    return step->yields == GR_YIELDS_FRAME;
}

/* ---- what each step then yields ---- */

static bool *
flags_create(struct gr_steps *steps, const struct gr_schema *schema)
{
    return gr_steps_room(steps, schema->count, sizeof(bool));
}

/* Keep of a list (or mapping) attribute the names that are needed. */
static granary_err
keep_needed(struct gr_steps *steps, struct gr_step *step, const char *attr_name, const struct gr_schema *schema,
            const bool *needed)
{
    const Granary__Attr *attr = gr_step_attr(step, attr_name);
    bool is_map = attr->kind == GRANARY__ATTR__KIND__MAP;
    size_t all = attr->n_strings;
    size_t count = 0;
    char **keys = gr_steps_room(steps, all, sizeof *keys);
    char **values = gr_steps_room(steps, all, sizeof *values);

    if (keys == NULL || values == NULL) {
        return optimize_no_memory();
    }
    for (size_t i = 0; i < all; i++) {
        int at = gr_schema_find(schema, is_map ? attr->keys[i] : attr->strings[i]);

        if (at < 0 || needed[at]) {
            keys[count] = is_map ? attr->keys[i] : NULL;
            values[count++] = attr->strings[i];
        }
    }
    return count == all ? GRANARY_OK
                        : gr_step_set_attr(step, is_map ? gr_attr_new_map(attr_name, keys, values, count)
                                                        : gr_attr_new_strings(attr_name, values, count));
}

/* An assign of which no new column is needed: only the columns that pass through are left. */
static granary_err
assign_to_select(struct gr_steps *steps, struct gr_step *step, const struct gr_schema *schema, const bool *reads)
{
    char **names = gr_steps_room(steps, schema->count, sizeof *names);
    size_t count = 0;

    if (names == NULL) {
        return optimize_no_memory();
    }
    for (size_t c = 0; c < schema->count; c++) {
        if (reads[c]) {
            names[count++] = schema->fields[c].name;
        }
    }
    rule_fired(steps, "prune-columns", "'%s' (assign) makes no column that is needed", step->origin->name);
    return gr_step_become(step, GR_TILE_select, gr_attr_new_strings("columns", names, count));
}

static bool
assigns_needed(const struct gr_step *step, const bool *needed)
{
    const Granary__Attr *columns = gr_step_attr(step, "columns");
    bool any = false;

    for (size_t k = 0; k < columns->n_keys; k++) {
        int at = gr_schema_find(&step->type->schema, columns->keys[k]);

        any = any || at < 0 || needed[at];
    }
    return any;
}

/* Have the step take of input k only what it reads, when the input yields more. */
static granary_err
narrow(struct pruning *p, struct gr_step *step, size_t k, const bool *reads)
{
    const struct gr_step *input = &p->steps->steps[step->inputs[k]];
    const struct gr_schema *schema = &input->type->schema;
    bool more = false;
    bool any = false;

    for (size_t c = 0; c < schema->count; c++) {
        more = more || (gr_step_yields(input, c) && !reads[c]);
        any = any || reads[c];
    }
    if (!more || !any) {
        return GRANARY_OK;
    }
    step->narrow[k] = flags_create(p->steps, schema);
    if (step->narrow[k] == NULL) {
        return optimize_no_memory();
    }
    memcpy(step->narrow[k], reads, schema->count * sizeof *reads);
    rule_fired(p->steps, "prune-columns", "'%s' (%s) takes only what it needs of '%s'", step->origin->name,
               gr_op_info(step->op)->name, input->origin->name);
    return GRANARY_OK;
}

static bool
comes_in(const struct gr_step *step, const struct gr_step *input, size_t k, size_t column)
{
    return gr_step_yields(input, column) && (step->narrow[k] == NULL || step->narrow[k][column]);
}

/* A step whose columns are its input's, by name. */
static void
present_from_input(const struct pruning *p, struct gr_step *step)
{
    const struct gr_step *input = &p->steps->steps[step->inputs[0]];
    const struct gr_schema *schema = &input->type->schema;

    for (size_t c = 0; c < schema->count; c++) {
        if (comes_in(step, input, 0, c)) {
            gr_columns_mark(&step->type->schema, step->present, schema->fields[c].name);
        }
    }
}

static granary_err
settle_source(struct pruning *p, struct gr_step *step, const bool *needed)
{
    size_t count = step->type->schema.count;

    memcpy(step->present, needed, count * sizeof *needed);
    if (gr_step_width(step) < count) {
        rule_fired(p->steps, "prune-columns", "'%s' reads %zu of %zu columns", step->origin->name, gr_step_width(step),
                   count);
    }
    return GRANARY_OK;
}

static granary_err
settle_assign(struct pruning *p, size_t i)
{
    struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *own = &step->type->schema;
    granary_err err;

    if (!assigns_needed(step, p->needed[i])) {
        err = assign_to_select(p->steps, step, input_schema(p, step, 0), p->reads[i][0]);
        memcpy(step->present, p->needed[i], own->count * sizeof(bool));
        return err;
    }
    err = keep_needed(p->steps, step, "columns", own, p->needed[i]);
    present_from_input(p, step);
    if (err == GRANARY_OK) {
        const Granary__Attr *columns = gr_step_attr(step, "columns");

        gr_columns_mark_names(own, step->present, columns->keys, columns->n_keys);
    }
    return err;
}

/* Columns that a groupby computes of its input are left out when no key and no aggregate reads them. */
static granary_err
keep_computed(struct pruning *p, size_t i)
{
    struct gr_step *step = &p->steps->steps[i];
    const Granary__Attr *columns = gr_step_attr(step, "columns");
    struct gr_op_use use = gr_steps_use(p->steps, i);
    struct gr_schema schema = {0};
    bool *read = NULL;
    granary_err err = columns == NULL ? GRANARY_OK : gr_groupby_schema(&use, &schema);

    if (err == GRANARY_OK && columns != NULL) {
        read = flags_create(p->steps, &schema);
        err = read == NULL ? optimize_no_memory() : gr_groupby_reads(&use, &schema, p->needed[i], read);
    }
    if (err == GRANARY_OK && columns != NULL) {
        size_t before = use.inputs[0]->count;
        struct gr_schema computed = {.fields = schema.fields + before, .count = schema.count - before};

        err = keep_needed(p->steps, step, "columns", &computed, read + before);
    }
    gr_schema_free(&schema);
    return err;
}

/* A filter before a join would copy what is for its condition alone. */
static granary_err
narrow_conditions(struct pruning *p, size_t i)
{
    struct gr_step *step = &p->steps->steps[i];
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < 2 && err == GRANARY_OK; k++) {
        err = step->where[k] != NULL ? narrow(p, step, k, p->reads[i][k]) : GRANARY_OK;
    }
    return err;
}

static granary_err
settle(struct pruning *p, size_t i)
{
    struct gr_step *step = &p->steps->steps[i];
    const struct gr_operator *op = gr_operator(step->op);
    const struct gr_schema *own = &step->type->schema;
    granary_err err = GRANARY_OK;

    step->present = flags_create(p->steps, own);
    if (step->present == NULL) {
        return optimize_no_memory();
    }
    switch (op->columns) {
    case GR_COLUMNS_SOURCE:
        return settle_source(p, step, p->needed[i]);
    case GR_COLUMNS_ENTRIES:
        err = step->op == GR_TILE_groupby ? keep_computed(p, i) : GRANARY_OK;
        err = err == GRANARY_OK ? keep_needed(p->steps, step, op->entries, own, p->needed[i]) : err;
        break;
    case GR_COLUMNS_ADDED:
        return settle_assign(p, i);
    case GR_COLUMNS_INPUT:
        err = narrow(p, step, 0, p->reads[i][0]);
        present_from_input(p, step);
        return err;
    case GR_COLUMNS_PICKED:
        err = narrow_conditions(p, i);
        break;
    case GR_COLUMNS_ALL:
        memset(step->present, true, own->count * sizeof(bool));
        return GRANARY_OK;
    case GR_COLUMNS_NONE: /* it yields a frame, and its object does not say of which columns */
        return gr_fail(GRANARY_EFAILED, "node '%s': pruning columns does not know what %s yields: report this",
                       step->origin->name, gr_op_info(step->op)->name);
    }
    memcpy(step->present, p->needed[i], own->count * sizeof(bool));
    return err;
}

/* ---- columns that are replaced unread ---- */

/* Whether an assign replaces a column that cannot be read. Any other is read: it keeps the place. */
static bool
replaces_unreadable(const struct pruning *p, const struct gr_step *step)
{
    const struct gr_schema *schema = input_schema(p, step, 0);
    const Granary__Attr *columns = gr_step_attr(step, "columns");
    bool any = false;

    for (size_t k = 0; k < columns->n_keys; k++) {
        int at = gr_schema_find(schema, columns->keys[k]);

        any = any || (at >= 0 && !gr_field_is_readable(&schema->fields[at]));
    }
    return any;
}

/* The expression of a column: what it is assigned, or itself. */
static granary_err
assigned(const Granary__Attr *columns, const char *name, char **ret_text)
{
    struct gr_buf text = {0};
    size_t k = 0;

    while (k < columns->n_keys && strcmp(columns->keys[k], name) != 0) {
        k++;
    }
    if (k < columns->n_keys) {
        gr_buf_add(&text, columns->strings[k], strlen(columns->strings[k]));
    } else {
        gr_expr_print_name(name, &text);
    }
    *ret_text = gr_buf_take(&text);
    return *ret_text == NULL ? optimize_no_memory() : GRANARY_OK;
}

/* Each column named, so that those which are replaced need not be there. */
static granary_err
assign_to_project(struct gr_steps *steps, struct gr_step *step)
{
    const struct gr_schema *own = &step->type->schema;
    const Granary__Attr *columns = gr_step_attr(step, "columns");
    char **names = gr_steps_room(steps, own->count, sizeof *names);
    char **texts = gr_steps_room(steps, own->count, sizeof *texts);
    granary_err err = names == NULL || texts == NULL ? optimize_no_memory() : GRANARY_OK;

    for (size_t c = 0; c < own->count && err == GRANARY_OK; c++) {
        names[c] = own->fields[c].name;
        err = assigned(columns, names[c], &texts[c]);
    }
    if (err == GRANARY_OK) {
        step->op = GR_TILE_project;
        err = gr_step_set_attr(step, gr_attr_new_map("columns", names, texts, own->count));
    }
    for (size_t c = 0; c < own->count && texts != NULL; c++) {
        free(texts[c]);
    }
    return err;
}

/* ---- the rule ---- */

static granary_err
prepare(struct pruning *p, size_t i)
{
    const struct gr_step *step = &p->steps->steps[i];

    p->needed[i] = flags_create(p->steps, &step->type->schema);
    if (p->needed[i] == NULL) {
        return optimize_no_memory();
    }
    if (step->is_target) {
        memset(p->needed[i], true, step->type->schema.count * sizeof(bool));
    } else if (step->also != NULL) {
        memcpy(p->needed[i], step->also, step->type->schema.count * sizeof(bool));
    }
    for (size_t k = 0; k < step->input_count && k < 2; k++) {
        p->reads[i][k] = flags_create(p->steps, input_schema(p, step, k));
        if (p->reads[i][k] == NULL) {
            return optimize_no_memory();
        }
    }
    return GRANARY_OK;
}

/* A frame without a column would forget how many rows it has; one that can be read will do. */
static void
need_one(bool *needed, const struct gr_schema *schema)
{
    size_t first = 0;

    for (size_t c = 0; c < schema->count; c++) {
        if (needed[c]) {
            return;
        }
    }
    while (first + 1 < schema->count && !gr_field_is_readable(&schema->fields[first])) {
        first++;
    }
    if (schema->count > 0) {
        needed[first] = true;
    }
}

/* A concat reads of each of its inputs, however many, the columns that have needed names. */
static void
need_named(struct pruning *p, size_t i)
{
    const struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *schema = &step->type->schema;

    for (size_t k = 0; k < step->input_count; k++) {
        for (size_t c = 0; c < schema->count; c++) {
            if (p->needed[i][c]) {
                gr_columns_mark(input_schema(p, step, k), p->needed[step->inputs[k]], schema->fields[c].name);
            }
        }
    }
}

/* What the step reads of its inputs. */
static granary_err
find_reads(struct pruning *p, size_t i)
{
    const struct gr_step *step = &p->steps->steps[i];
    struct gr_op_use use = gr_steps_use(p->steps, i);

    if (gr_operator(step->op)->reads != NULL) {
        return gr_operator(step->op)->reads(&use, p->needed[i], p->reads[i]);
    }
    for (size_t k = 0; k < step->input_count && k < 2; k++) {
        memset(p->reads[i][k], true, use.inputs[k]->count * sizeof(bool));
    }
    return GRANARY_OK;
}

/* ... which its inputs then have. */
static granary_err
need_inputs(struct pruning *p, size_t i)
{
    const struct gr_step *step = &p->steps->steps[i];
    granary_err err = find_reads(p, i);

    for (size_t k = 0; k < step->input_count && k < 2 && err == GRANARY_OK; k++) {
        for (size_t c = 0; c < input_schema(p, step, k)->count; c++) {
            p->needed[step->inputs[k]][c] |= p->reads[i][k][c];
        }
        if (step->where[k] != NULL) {
            gr_expr_columns(step->where[k], input_schema(p, step, k), p->needed[step->inputs[k]]);
        }
    }
    return err;
}

/* What a step that yields no frame needs of frames: user code is given them as they are, to_tensor names columns, and
 * half a groupby says what it reads. */
static granary_err
need_read(struct pruning *p, size_t i)
{
    const struct gr_step *step = &p->steps->steps[i];
    const Granary__Attr *columns = step->op == GR_TILE_to_tensor ? gr_step_attr(step, "columns") : NULL;
    bool all = step->yields == GR_YIELDS_OBJECTS || (step->op == GR_TILE_to_tensor && columns == NULL);

    if (step->op == GR_TILE_groupby_partial) {
        granary_err err = prepare(p, i);

        err = err == GRANARY_OK ? need_inputs(p, i) : err;
        return err == GRANARY_OK ? keep_computed(p, i) : err;
    }
    for (size_t k = 0; k < step->input_count; k++) {
        const struct gr_step *input = &p->steps->steps[step->inputs[k]];

        if (columns != NULL) {
            gr_columns_mark_names(input_schema(p, step, k), p->needed[step->inputs[k]], columns->strings,
                                  columns->n_strings);
        } else if (all && is_frame(input)) {
            memset(p->needed[step->inputs[k]], true, input->type->schema.count * sizeof(bool));
        }
    }
    return GRANARY_OK;
}

static granary_err
collect_needs(struct pruning *p)
{
    granary_err err = GRANARY_OK;

    for (size_t i = p->steps->count; i-- > 0 && err == GRANARY_OK;) {
        const struct gr_step *step = &p->steps->steps[i];

        if (step->dead || !is_frame(step)) {
            err = step->dead ? GRANARY_OK : need_read(p, i);
            continue;
        }
        need_one(p->needed[i], &step->type->schema);
        if (step->op == GR_TILE_concat) {
            need_named(p, i);
            continue;
        }
        err = need_inputs(p, i);
    }
    return err;
}

granary_err
rule_prune(struct gr_steps *steps)
{
    struct pruning p = {.steps = steps};
    granary_err err = GRANARY_OK;
    bool any = false;

    for (size_t i = 0; i < steps->count && !any; i++) {
        any = !steps->steps[i].dead && is_frame(&steps->steps[i]);
    }
    if (!any) {
        return GRANARY_OK;
    }
    p.needed = gr_steps_room(steps, steps->count, sizeof *p.needed);
    p.reads = gr_steps_room(steps, steps->count, sizeof *p.reads);
    if (p.needed == NULL || p.reads == NULL) {
        return optimize_no_memory();
    }
    for (size_t i = 0; i < steps->count && err == GRANARY_OK; i++) {
        struct gr_step *step = &steps->steps[i];

        if (!step->dead && is_frame(step)) {
            err = step->op == GR_TILE_assign && replaces_unreadable(&p, step) ? assign_to_project(steps, step)
                                                                              : GRANARY_OK;
            err = err == GRANARY_OK ? prepare(&p, i) : err;
        }
    }
    if (err == GRANARY_OK) {
        err = collect_needs(&p);
    }
    for (size_t i = 0; i < steps->count && err == GRANARY_OK; i++) {
        if (!steps->steps[i].dead && is_frame(&steps->steps[i])) {
            err = settle(&p, i);
        }
    }
    return err;
}
