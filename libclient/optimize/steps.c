/* Steps made of a checked graph, and what all rules do with them. */
#include "optimize/steps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

granary_err
gr_steps_create(const struct gr_graph *graph, struct gr_buf *fired, struct gr_steps **ret_steps)
{
    struct gr_steps *steps = calloc(1, sizeof *steps);
    size_t edges = 0;
    size_t *pool = NULL;

    for (size_t i = 0; i < graph->count; i++) {
        edges += graph->nodes[i]->input_count;
    }
    if (steps != NULL && (steps->memory = gr_region_create()) != NULL) {
        steps->steps = gr_steps_room(steps, graph->count, sizeof *steps->steps);
        steps->readers = gr_steps_room(steps, graph->count, sizeof *steps->readers);
        pool = gr_steps_room(steps, edges, sizeof *pool);
    }
    if (pool == NULL || steps->steps == NULL || steps->readers == NULL) {
        gr_steps_destroy(steps);
        return gr_fail(GRANARY_ENOMEM, "optimising a graph of %zu nodes: out of memory", graph->count);
    }
    steps->count = graph->count;
    steps->targets = graph->targets;
    steps->target_count = graph->target_count;
    steps->fired = fired;
    for (size_t i = 0; i < graph->count; i++) {
        const struct gr_node *node = graph->nodes[i];

        steps->steps[i] = (struct gr_step){.node = node,
                                           .origin = node->shown,
                                           .given = node->shown,
                                           .name = node->shown->name,
                                           .op = (enum gr_tile_op)gr_op_find(node->shown->op),
                                           .yields = node->yields,
                                           .input_count = node->input_count,
                                           .inputs = pool,
                                           .type = &node->type,
                                           .limit = GR_STEP_NO_LIMIT};
        for (size_t k = 0; k < node->input_count; k++) {
            *pool++ = node->inputs[k]->position;
        }
    }
    for (size_t t = 0; t < graph->target_count; t++) {
        steps->steps[graph->targets[t]].is_target = true;
        steps->steps[graph->targets[t]].name = graph->target_names[t];
    }
    *ret_steps = steps;
    return GRANARY_OK;
}

void
gr_steps_destroy(struct gr_steps *steps)
{
    if (steps == NULL) {
        return;
    }
    for (size_t i = 0; i < steps->count; i++) {
        gr_step_clear_attrs(&steps->steps[i]);
        gr_expr_destroy(steps->steps[i].where[0]);
        gr_expr_destroy(steps->steps[i].where[1]);
        gr_expr_destroy(steps->steps[i].within);
    }
    gr_region_destroy(steps->memory);
    free(steps);
}

void *
gr_steps_room(struct gr_steps *steps, size_t count, size_t size)
{
    return gr_region_zalloc(steps->memory, count, size);
}

Granary__Attr *const *
gr_step_attrs(const struct gr_step *step, size_t *ret_count)
{
    if (step->own_attrs != NULL) {
        *ret_count = step->own_attr_count;
        return step->own_attrs;
    }
    *ret_count = step->given->n_attrs;
    return step->given->attrs;
}

const Granary__Attr *
gr_step_attr(const struct gr_step *step, const char *name)
{
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);

    return gr_attr_find(attrs, count, name);
}

struct gr_op_use
gr_steps_use(const struct gr_steps *steps, size_t i)
{
    const struct gr_step *step = &steps->steps[i];
    struct gr_op_use use = {.op = step->op, .own = &step->type->schema, .trees = step->node->trees};

    use.attrs = gr_step_attrs(step, &use.attr_count);
    for (size_t k = 0; k < step->input_count && k < 2; k++) {
        use.inputs[k] = &steps->steps[step->inputs[k]].type->schema;
    }
    use.there = step->input_count > 0 ? steps->steps[step->inputs[0]].also : NULL;
    return use;
}

const void *
gr_step_fill(const struct gr_step *step, const struct gr_param_info *rows, void *params)
{
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);

    return gr_params_fill(rows, attrs, count, params);
}

size_t
gr_step_width(const struct gr_step *step)
{
    size_t width = 0;

    for (size_t i = 0; i < step->type->schema.count; i++) {
        width += gr_step_yields(step, i);
    }
    return width;
}

/* The first column that it yields from there on, or how many there are. */
static size_t
next_yielded(const struct gr_step *step, size_t at)
{
    while (at < step->type->schema.count && !gr_step_yields(step, at)) {
        at++;
    }
    return at;
}

bool
gr_step_yields_as(const struct gr_step *step, const struct gr_step *other)
{
    const struct gr_schema *ours = &step->type->schema;
    const struct gr_schema *theirs = &other->type->schema;
    size_t a = next_yielded(step, 0);
    size_t b = next_yielded(other, 0);

    while (step != other && a < ours->count && b < theirs->count && ours->fields[a].dtype == theirs->fields[b].dtype &&
           strcmp(ours->fields[a].name, theirs->fields[b].name) == 0) {
        a = next_yielded(step, a + 1);
        b = next_yielded(other, b + 1);
    }
    return step == other || (a == ours->count && b == theirs->count);
}

void
gr_step_clear_attrs(struct gr_step *step)
{
    for (size_t i = 0; i < step->own_attr_count; i++) {
        granary__attr__free_unpacked(step->own_attrs[i], NULL);
    }
    free(step->own_attrs);
    step->own_attrs = NULL;
    step->own_attr_count = 0;
}

/* From now on the step's attributes are its own, with room for one more. */
static granary_err
own_attrs(struct gr_step *step)
{
    const Granary__Node *given = step->given;

    if (step->own_attrs != NULL) {
        return GRANARY_OK;
    }
    step->own_attrs = calloc(given->n_attrs + 1, sizeof *step->own_attrs);
    for (size_t i = 0; step->own_attrs != NULL && i < given->n_attrs; i++) {
        Granary__Attr *copy = gr_attr_copy(given->attrs[i]);

        if (copy == NULL) {
            gr_step_clear_attrs(step);
            break;
        }
        step->own_attrs[step->own_attr_count++] = copy;
    }
    return step->own_attrs == NULL ? optimize_no_memory() : GRANARY_OK;
}

granary_err
gr_step_set_attr(struct gr_step *step, Granary__Attr *attr)
{
    granary_err err = attr == NULL ? optimize_no_memory() : own_attrs(step);
    Granary__Attr **attrs;

    if (err != GRANARY_OK) {
        goto fail;
    }
    for (size_t i = 0; i < step->own_attr_count; i++) {
        if (strcmp(step->own_attrs[i]->name, attr->name) == 0) {
            granary__attr__free_unpacked(step->own_attrs[i], NULL);
            step->own_attrs[i] = attr;
            return GRANARY_OK;
        }
    }
    attrs = realloc(step->own_attrs, (step->own_attr_count + 1) * sizeof *attrs);
    if (attrs == NULL) {
        err = optimize_no_memory();
        goto fail;
    }
    step->own_attrs = attrs;
    step->own_attrs[step->own_attr_count++] = attr;
    return GRANARY_OK;

fail:
    granary__attr__free_unpacked(attr, NULL);
    return err;
}

granary_err
gr_step_become(struct gr_step *step, enum gr_tile_op op, Granary__Attr *attr)
{
    Granary__Attr **attrs = attr == NULL ? NULL : malloc(sizeof(Granary__Attr *));

    if (attrs == NULL) {
        granary__attr__free_unpacked(attr, NULL);
        return optimize_no_memory();
    }
    attrs[0] = attr;
    gr_step_clear_attrs(step);
    step->own_attrs = attrs;
    step->own_attr_count = 1;
    step->op = op;
    step->limit = GR_STEP_NO_LIMIT;
    return GRANARY_OK;
}

granary_err
gr_step_become_select(struct gr_steps *steps, struct gr_step *step)
{
    const struct gr_schema *schema = &step->type->schema;
    char **names = gr_steps_room(steps, schema->count, sizeof *names);

    if (names == NULL) {
        return optimize_no_memory();
    }
    for (size_t c = 0; c < schema->count; c++) {
        names[c] = schema->fields[c].name;
    }
    return gr_step_become(step, GR_TILE_select, gr_attr_new_strings("columns", names, schema->count));
}

/* ---- text ---- */

#define SHOWN_VALUES 20

static void
print_value(const Granary__Attr *attr, size_t i, struct gr_buf *out)
{
    switch (attr->kind) {
    case GRANARY__ATTR__KIND__BOOL:
    case GRANARY__ATTR__KIND__BOOLS:
        gr_buf_addf(out, "%s", attr->ints[i] != 0 ? "true" : "false");
        break;
    case GRANARY__ATTR__KIND__MAP:
        gr_buf_addf(out, "%s: %s", attr->keys[i], attr->strings[i]);
        break;
    case GRANARY__ATTR__KIND__DOUBLE:
    case GRANARY__ATTR__KIND__DOUBLES:
        gr_buf_addf(out, "%.17g", attr->doubles[i]);
        break;
    case GRANARY__ATTR__KIND__STRING:
    case GRANARY__ATTR__KIND__STRINGS:
        gr_buf_addf(out, "%s", attr->strings[i]);
        break;
    default:
        gr_buf_addf(out, "%" PRId64, attr->ints[i]);
    }
}

static void
print_attr(const Granary__Attr *attr, struct gr_buf *out)
{
    size_t count = attr->n_ints + attr->n_doubles + attr->n_strings;
    bool is_list = attr->kind == GRANARY__ATTR__KIND__INTS || attr->kind == GRANARY__ATTR__KIND__DOUBLES ||
                   attr->kind == GRANARY__ATTR__KIND__STRINGS || attr->kind == GRANARY__ATTR__KIND__BOOLS ||
                   attr->kind == GRANARY__ATTR__KIND__MAP;

    gr_buf_addf(out, " %s=%s", attr->name, is_list ? "[" : "");
    for (size_t i = 0; i < count && i < SHOWN_VALUES; i++) {
        if (i > 0) {
            gr_buf_addf(out, ", ");
        }
        print_value(attr, i, out);
    }
    gr_buf_addf(out, "%s%s", count > SHOWN_VALUES ? ", ..." : "", is_list ? "]" : "");
}

static void
print_columns(const struct gr_step *step, struct gr_buf *out)
{
    const struct gr_schema *schema = &step->type->schema;
    size_t shown = 0;

    gr_buf_addf(out, "  -> %zu of %zu columns: ", gr_step_width(step), schema->count);
    for (size_t i = 0; i < schema->count && shown < SHOWN_VALUES; i++) {
        if (gr_step_yields(step, i)) {
            gr_buf_addf(out, "%s%s", shown++ > 0 ? ", " : "", schema->fields[i].name);
        }
    }
}

static void
print_step(const struct gr_steps *steps, const struct gr_step *step, struct gr_buf *out)
{
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);

    if (!step->is_target) {
        gr_buf_addf(out, "  %s", step->origin->name);
    } else if (step->name == step->origin->name) {
        gr_buf_addf(out, "  %s *", step->name);
    } else {
        gr_buf_addf(out, "  %s * (%s)", step->name, step->origin->name); /* a rule has put it there */
    }
    gr_buf_addf(out, " = %s(", gr_op_info(step->op)->name);
    for (size_t k = 0; k < step->input_count; k++) {
        gr_buf_addf(out, "%s%s", k > 0 ? ", " : "", steps->steps[step->inputs[k]].origin->name);
        if (k < 2 && step->where[k] != NULL) {
            gr_buf_addf(out, " where ");
            gr_expr_print(step->where[k], out);
        }
    }
    gr_buf_addf(out, ")");
    for (size_t i = 0; i < count; i++) {
        print_attr(attrs[i], out);
    }
    if (step->limit != GR_STEP_NO_LIMIT) {
        gr_buf_addf(out, " limit=%" PRId64, step->limit);
    }
    if (step->present != NULL && gr_step_width(step) < step->type->schema.count) {
        print_columns(step, out);
    }
    gr_buf_addf(out, "\n");
}

void
gr_steps_print(const struct gr_steps *steps, size_t max, struct gr_buf *out)
{
    size_t live = 0;

    for (size_t i = 0; i < steps->count; i++) {
        if ((!steps->steps[i].dead || steps->steps[i].inner) && live++ < max) {
            print_step(steps, &steps->steps[i], out);
        }
    }
    if (live > max) {
        gr_buf_addf(out, "  ... and %zu more\n", live - max);
    }
}

/* ---- what a step says of itself ---- */

bool
gr_step_is_pure(const struct gr_step *step)
{
    return !gr_op_has(step->op, GR_OP_HAS_EFFECTS) &&
           (step->yields == GR_YIELDS_FRAME || step->yields == GR_YIELDS_TENSOR);
}

static int
by_name(const void *a, const void *b)
{
    return strcmp((*(Granary__Attr *const *)a)->name, (*(Granary__Attr *const *)b)->name);
}

/* The parameters in the order of their names. */
static granary_err
say_attrs(struct gr_steps *steps, const struct gr_step *step, struct gr_buf *out)
{
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);
    Granary__Attr **sorted = gr_steps_room(steps, count, sizeof(Granary__Attr *));

    if (sorted == NULL) {
        return optimize_no_memory();
    }
    if (count > 0) {
        memcpy(sorted, attrs, count * sizeof *sorted);
        qsort(sorted, count, sizeof(Granary__Attr *), by_name);
    }
    for (size_t i = 0; i < count; i++) {
        size_t size = granary__attr__get_packed_size(sorted[i]);
        uint8_t *bytes;

        gr_buf_add(out, &size, sizeof size);
        bytes = gr_buf_grow(out, size);
        if (bytes != NULL) {
            (void)granary__attr__pack(sorted[i], bytes);
        }
    }
    return gr_buf_ok(out) ? GRANARY_OK : optimize_no_memory();
}

granary_err
gr_step_say(struct gr_steps *steps, const struct gr_step *step, struct gr_buf *out)
{
    const char *name = gr_op_info(step->op)->name;

    gr_buf_add(out, name, strlen(name) + 1);
    gr_buf_add(out, &step->limit, sizeof step->limit);
    gr_buf_add(out, &step->input_count, sizeof step->input_count);
    for (size_t k = 0; k < 2; k++) {
        if (step->where[k] != NULL) {
            gr_expr_print(step->where[k], out);
        }
        gr_buf_add(out, "", 1);
    }
    return say_attrs(steps, step, out);
}
