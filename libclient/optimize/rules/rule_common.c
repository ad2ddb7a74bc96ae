/*
 * common-steps: of steps that compute the same (operator, inputs, parameters), one is left for all readers.
 *
 * Equal steps are found from the sources on, by what each of them says of itself and of the first of its inputs'
 * equals. Some steps cost less to repeat than their result costs to keep: rows passed through, existing objects. They
 * are equal to others but stay, so that each reader can take them into itself. What has effects beside its result, or
 * runs a user's code, is equal to nothing.
 */
#include <string.h>

#include "base/id.h"
#include "optimize/rules.h"

#define NONE SIZE_MAX

struct merging {
    struct gr_steps *steps;
    size_t *same_as;     /* by step: the first that is equal to it */
    struct gr_buf texts; /* what steps say of themselves, one behind the other */
    size_t *text_at;     /* by step, steps + 1: in texts */
    size_t *table;       /* first ones by the hash of their text, open addressing; NONE: free */
    size_t table_mask;
};

static granary_err
add_text(struct merging *m, size_t i)
{
    const struct gr_step *step = &m->steps->steps[i];

    for (size_t k = 0; k < step->input_count; k++) {
        gr_buf_add(&m->texts, &m->same_as[step->inputs[k]], sizeof m->same_as[0]);
    }
    gr_buf_add(&m->texts, &step->subset, sizeof step->subset);
    return gr_step_say(m->steps, step, &m->texts);
}

static bool
says_the_same(const struct merging *m, size_t a, size_t b)
{
    size_t size = m->text_at[a + 1] - m->text_at[a];

    return size == m->text_at[b + 1] - m->text_at[b] &&
           memcmp(m->texts.bytes + m->text_at[a], m->texts.bytes + m->text_at[b], size) == 0;
}

/* The first step that says what step i says: itself, when none did before. */
static size_t
find_first(struct merging *m, size_t i)
{
    size_t at = gr_hash64(m->texts.bytes + m->text_at[i], m->text_at[i + 1] - m->text_at[i]) & m->table_mask;

    while (m->table[at] != NONE && !says_the_same(m, m->table[at], i)) {
        at = (at + 1) & m->table_mask;
    }
    if (m->table[at] == NONE) {
        m->table[at] = i;
    }
    return m->table[at];
}

/* Read the first of equal steps instead of another one. */
static void
redirect_inputs(struct merging *m, struct gr_step *step)
{
    for (size_t k = 0; k < step->input_count; k++) {
        size_t first = m->same_as[step->inputs[k]];

        if (!gr_op_has(m->steps->steps[first].op, GR_OP_IS_CHEAP)) {
            step->inputs[k] = first;
        }
    }
}

static granary_err
merge_step(struct merging *m, size_t i)
{
    struct gr_step *step = &m->steps->steps[i];
    granary_err err = GRANARY_OK;

    m->same_as[i] = i;
    if (!step->dead && gr_step_is_pure(step)) {
        err = add_text(m, i);
    }
    m->text_at[i + 1] = m->texts.size;
    if (err == GRANARY_OK && m->text_at[i + 1] > m->text_at[i]) {
        m->same_as[i] = find_first(m, i);
    }
    if (err != GRANARY_OK || step->dead) {
        return err;
    }
    redirect_inputs(m, step);
    if (m->same_as[i] != i && !step->is_target && !gr_op_has(step->op, GR_OP_IS_CHEAP)) {
        rule_fired(m->steps, "common-steps", "'%s' (%s) is the same as '%s'", step->origin->name,
                   gr_op_info(step->op)->name, m->steps->steps[m->same_as[i]].origin->name);
        step->dead = true;
    }
    return GRANARY_OK;
}

granary_err
rule_common(struct gr_steps *steps)
{
    struct merging m = {.steps = steps, .table_mask = 1};
    granary_err err = GRANARY_OK;

    while (m.table_mask < 2 * steps->count) {
        m.table_mask = 2 * m.table_mask + 1;
    }
    m.same_as = gr_steps_room(steps, steps->count, sizeof *m.same_as);
    m.text_at = gr_steps_room(steps, steps->count + 1, sizeof *m.text_at);
    m.table = gr_steps_room(steps, m.table_mask + 1, sizeof *m.table);
    if (m.same_as == NULL || m.text_at == NULL || m.table == NULL) {
        return optimize_no_memory();
    }
    memset(m.table, 0xff, (m.table_mask + 1) * sizeof *m.table);
    for (size_t i = 0; i < steps->count && err == GRANARY_OK; i++) {
        err = merge_step(&m, i);
    }
    gr_buf_free(&m.texts);
    return err;
}
