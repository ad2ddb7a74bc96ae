/*
 * Steps whose frames were computed before are read instead, and what others may want to read is kept.
 *
 * A step is looked up by its key (optimize/rules/rule_keys.c), those nearest the targets first: what only it would read need
 * not be looked at. What was found becomes a stored table, which executors look at before it is read. If some of it is
 * gone, it is forgotten, and the steps are made anew.
 *
 * What a step yields is spare when another graph may want it and to compute it again takes longer than to keep it. Its
 * pieces are made anyway, within subtasks. The executor that has one keeps it if that pays (executor/subtask/outputs.c).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "plan/state.h"

#define PIECES_MAX 4096 /* more of a step are not worth their entries */

/* ---- which steps ---- */

static bool
has_twins(const struct gr_schema *schema)
{
    for (size_t c = 0; c < schema->count; c++) {
        if (gr_schema_find(schema, schema->fields[c].name) != (int)c) {
            return true;
        }
    }
    return false;
}

/* Whether what it yields is worth a look: no work to make is, and targets are recalled as wholes. */
static bool
is_candidate(const struct gr_plan *plan, size_t i)
{
    const struct gr_step *step = &plan->steps->steps[i];

    return !step->dead && !step->is_target && step->yields == GR_YIELDS_FRAME && step->type->known &&
           !gr_id_is_zero(plan->steps->keys[i]) && !gr_op_has(step->op, GR_OP_IS_CHEAP) && step->op != GR_TILE_table &&
           !has_twins(&step->type->schema);
}

/* All columns that the step is to yield. */
static bool
covers(const struct gr_recalled *recalled, const struct gr_step *step)
{
    const struct gr_schema *schema = &step->type->schema;

    for (size_t c = 0; c < schema->count; c++) {
        bool there = !gr_step_yields(step, c);

        for (size_t k = 0; k < recalled->column_count && !there; k++) {
            there = strcmp(recalled->columns[k], schema->fields[c].name) == 0;
        }
        if (!there) {
            return false;
        }
    }
    return true;
}

/* By step, with memory of the steps: it is read, directly or through others that are not recalled. */
static bool *
live_steps(const struct gr_plan *plan)
{
    bool *live = gr_steps_room(plan->steps, plan->steps->count + 1, sizeof *live);

    for (size_t t = 0; live != NULL && t < plan->steps->target_count; t++) {
        live[plan->steps->targets[t]] = true;
    }
    return live;
}

static void
make_inputs_live(const struct gr_plan *plan, size_t i, bool *live)
{
    const struct gr_step *step = &plan->steps->steps[i];

    for (size_t k = 0; k < step->input_count && !step->dead; k++) {
        live[step->inputs[k]] = true;
    }
}

/* ---- recall ---- */

static bool
take_recalled(struct gr_plan *plan, size_t i, granary_err *ret_err)
{
    const struct gr_recall *recall = plan->steps->recall;
    const struct gr_step *step = &plan->steps->steps[i];
    const struct gr_recalled *found =
        is_candidate(plan, i) ? recall->find(recall->context, plan->steps->keys[i]) : NULL;

    if (found == NULL || !covers(found, step) || plan->sources.tables[i] != NULL) {
        return false;
    }
    *ret_err = gr_table_recall(step->origin, found->ids, found->id_count, &plan->sources.tables[i]);
    if (*ret_err != GRANARY_OK) {
        return false;
    }
    gr_buf_addf(&plan->text.fired, "  recalled: '%s' (%s), from graph '%s'\n", step->origin->name,
                gr_op_info(step->op)->name, found->by);
    if (!recall->take(recall->context, plan->steps->keys[i])) {
        *ret_err = plan_no_memory();
        return false;
    }
    plan->sources.unready++;
    plan->sources.unasked++;
    plan->sources.asked[i] = false;
    return true;
}

/* Files that nobody asked about because their columns were learnt, but that are to be read: live ones, or all. */
static bool
doubt_files(struct gr_plan *plan, const bool *live)
{
    bool doubts = false;

    for (size_t i = 0; i < plan->graph->count; i++) {
        struct gr_file *file = plan->sources.files[i];

        if ((live == NULL || live[i]) && file != NULL && file->believed && plan->sources.tables[i] == NULL) {
            gr_file_doubt(file);
            plan->sources.unready++;
            plan->sources.unasked++;
            doubts = true;
        }
    }
    return doubts;
}

/* There are no steps until those files are known. */
static void
forget_steps(struct gr_plan *plan)
{
    for (size_t i = 0; i < plan->graph->count; i++) {
        struct gr_table *table = plan->sources.tables[i];

        if (table != NULL && table->recalled) {
            plan->sources.unready -= !gr_table_is_known(table);
            plan->sources.unasked -= !plan->sources.asked[i];
            plan->sources.asked[i] = false; /* of a file there, nothing was asked */
            gr_table_destroy(table);
            plan->sources.tables[i] = NULL;
        }
    }
    gr_steps_destroy(plan->steps);
    plan->steps = NULL;
    gr_buf_free(&plan->text.before);
    gr_buf_free(&plan->text.fired);
}

bool
plan_doubt_all(struct gr_plan *plan)
{
    bool doubts = doubt_files(plan, NULL);

    if (doubts) {
        forget_steps(plan);
    }
    return doubts;
}

/* User code sees how its input is cut, which is another way when that is recalled. */
static bool
has_user_code(const struct gr_steps *steps)
{
    bool has = false;

    for (size_t i = 0; i < steps->count && !has; i++) {
        const struct gr_step *step = &steps->steps[i];

        has = !step->dead && (step->op == GR_TILE_map_chunk || step->op == GR_TILE_call || step->op == GR_TILE_exec);
    }
    return has;
}

granary_err
plan_recall(struct gr_plan *plan)
{
    bool *live;
    granary_err err = GRANARY_OK;

    if (plan->steps->recall != NULL && has_user_code(plan->steps)) {
        plan->steps->recall = NULL;
    }
    if (plan->steps->recall == NULL) {
        (void)plan_doubt_all(plan);
        return GRANARY_OK;
    }
    live = live_steps(plan);
    if (live == NULL) {
        return plan_no_memory();
    }
    for (size_t i = plan->steps->count; i-- > 0 && err == GRANARY_OK;) {
        if (live[i] && !take_recalled(plan, i, &err)) {
            make_inputs_live(plan, i, live);
        }
    }
    if (err == GRANARY_OK && doubt_files(plan, live)) {
        forget_steps(plan);
    }
    return err;
}

/* ---- what was found is there ---- */

/* From here on the step is a source. Its type stays, whose columns others know by their positions. */
static granary_err
become_source(struct gr_plan *plan, size_t i)
{
    struct gr_step *step = &plan->steps->steps[i];

    step->op = GR_TILE_table;
    step->input_count = 0;
    step->limit = GR_STEP_NO_LIMIT;
    return gr_table_spread(plan->sources.tables[i], &step->type->schema);
}

/* Whether its columns are the step's, of the same types and in the same order. Else something is not as it seems. */
static bool
fits(const struct gr_schema *found, const struct gr_schema *whole)
{
    size_t at = 0;

    for (size_t c = 0; c < whole->count && at < found->count; c++) {
        at += strcmp(found->fields[at].name, whole->fields[c].name) == 0 &&
              found->fields[at].dtype == whole->fields[c].dtype;
    }
    return at == found->count;
}

/* Whether some of what was to be read is not there any more: nobody is to be given that again. */
static bool
misses_some(struct gr_plan *plan)
{
    const struct gr_recall *recall = plan->steps->recall;
    bool misses = false;

    for (size_t i = 0; i < plan->steps->count; i++) {
        const struct gr_table *table = plan->sources.tables[i];

        if (table != NULL && table->recalled &&
            (table->gone || !fits(&table->schema, &plan->steps->steps[i].type->schema))) {
            recall->lost(recall->context, plan->steps->keys[i]);
            misses = true;
        }
    }
    return misses;
}

/* A join whose rows go by to the next one: the last of them has all that it has. */
static bool
is_on_the_way(const struct gr_plan *plan, size_t i)
{
    size_t readers = 0;
    size_t streams = 0;

    for (size_t r = i + 1; r < plan->steps->count && plan->steps->steps[i].op == GR_TILE_join; r++) {
        const struct gr_step *reader = &plan->steps->steps[r];

        for (size_t k = 0; k < reader->input_count && !reader->dead; k++) {
            readers += reader->inputs[k] == i;
            streams += reader->inputs[k] == i && k == 0 && reader->op == GR_TILE_join;
        }
    }
    return readers > 0 && readers == streams;
}

/* Object ids follow from what the work is: they are others when some of it is recalled, or kept. */
static granary_err
change_ids(struct gr_plan *plan, const struct gr_buf *decisions)
{
    if (!gr_buf_ok(decisions)) {
        return plan_no_memory();
    }
    plan->early_number = plan->number;
    plan->early_ops = plan->emitted.ops;
    plan->number = gr_hash64_seeded(decisions->bytes, decisions->size, plan->early_number);
    return GRANARY_OK;
}

granary_err
plan_recall_settle(struct gr_plan *plan)
{
    struct gr_buf decisions = {0};
    bool *live;
    granary_err err = GRANARY_OK;

    if (plan->steps->recall == NULL) {
        return GRANARY_OK;
    }
    if (misses_some(plan)) {
        forget_steps(plan);
        return GRANARY_OK;
    }
    live = live_steps(plan);
    if (live == NULL) {
        return plan_no_memory();
    }
    for (size_t i = 0; i < plan->steps->count && err == GRANARY_OK; i++) {
        if (plan->sources.tables[i] != NULL && plan->sources.tables[i]->recalled) {
            err = become_source(plan, i);
        }
    }
    for (size_t i = plan->steps->count; i-- > 0 && err == GRANARY_OK;) {
        struct gr_step *step = &plan->steps->steps[i];

        if (!live[i]) {
            step->dead = true;
            continue;
        }
        make_inputs_live(plan, i, live);
        step->spare = is_candidate(plan, i) && !is_on_the_way(plan, i);
        step->wished = step->spare && plan->recall->missed(plan->recall->context, plan->steps->keys[i]);
        if (step->spare || (plan->sources.tables[i] != NULL && plan->sources.tables[i]->recalled)) {
            gr_buf_addf(&decisions, "%zu%c", i, step->spare ? 's' : 'r');
            for (size_t c = 0; c < step->type->schema.count; c++) {
                gr_buf_add(&decisions, gr_step_yields(step, c) ? "1" : "0", 1);
            }
        }
    }
    if (err == GRANARY_OK && decisions.size > 0) {
        err = change_ids(plan, &decisions);
    }
    gr_buf_free(&decisions);
    return err;
}

/* ---- what was kept ---- */

/* Columns that a spare step yields, and its key. */
static granary_err
name_columns(const struct gr_plan *plan, const struct gr_step *step, struct gr_plan_spare *spare)
{
    const struct gr_schema *schema = &step->type->schema;

    spare->key = plan->steps->keys[step - plan->steps->steps];
    spare->name = step->origin->name;
    spare->columns = calloc(schema->count + 1, sizeof *spare->columns);
    if (spare->columns == NULL) {
        return plan_no_memory();
    }
    for (size_t c = 0; c < schema->count; c++) {
        if (gr_step_yields(step, c)) {
            spare->columns[spare->column_count++] = schema->fields[c].name;
        }
    }
    return GRANARY_OK;
}

/* What executors took to make it from what there was. */
static uint64_t
cost_of(const struct gr_plan *plan, size_t i)
{
    bool *below = calloc(plan->steps->count + 1, sizeof *below);
    uint64_t cost_ns = 0;

    for (size_t s = i + 1; below != NULL && plan->account.of != NULL && s-- > 0;) {
        below[i] = true;
        if (below[s]) {
            cost_ns += plan->account.of[s].nanoseconds;
            make_inputs_live(plan, s, below);
        }
    }
    free(below);
    return cost_ns;
}

/* Some of a step's pieces may be a target's, which others may not have: they go with its graph. */
static bool
is_of_targets(const struct gr_plan *plan, const struct gr_tiled *tiled)
{
    bool is = false;

    for (size_t p = 0; p < tiled->count && !is; p++) {
        is = id_set_has(&plan->emitted.kept, plan_object(plan, tiled->pieces[p]));
    }
    return is;
}

granary_err
gr_plan_spare(const struct gr_plan *plan, size_t *step, struct gr_plan_spare *ret_spare)
{
    size_t count = plan->steps == NULL || plan->steps->recall == NULL || plan->tiling == NULL ? 0 : plan->steps->count;

    for (; *step < count; (*step)++) {
        const struct gr_tiled *tiled = plan->steps->steps[*step].spare ? gr_tiling_step(plan->tiling, *step) : NULL;
        granary_err err;

        if (tiled == NULL || tiled->count == 0 || tiled->count > PIECES_MAX || is_of_targets(plan, tiled)) {
            continue;
        }
        *ret_spare = (struct gr_plan_spare){.cost_ns = cost_of(plan, *step)};
        err = name_columns(plan, &plan->steps->steps[*step], ret_spare);
        ret_spare->ids = calloc(tiled->count, sizeof *ret_spare->ids);
        for (size_t p = 0; p < tiled->count && ret_spare->ids != NULL; p++) {
            ret_spare->ids[ret_spare->id_count++] = plan_object(plan, tiled->pieces[p]);
        }
        if (err != GRANARY_OK || ret_spare->ids == NULL) {
            gr_plan_spare_free(ret_spare);
            return plan_no_memory();
        }
        (*step)++;
        return GRANARY_OK;
    }
    *ret_spare = (struct gr_plan_spare){0};
    return GRANARY_OK;
}

void
gr_plan_spare_free(struct gr_plan_spare *spare)
{
    free(spare->columns);
    free(spare->ids);
    *spare = (struct gr_plan_spare){0};
}
