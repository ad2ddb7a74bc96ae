/*
 * keys: what each step yields with all its columns, as a key, so that another graph knows it again. It is a hash of the
 * operators that lead there as the rules have left them, their parameters and conditions, and the keys of what they read.
 *
 * Which columns a step keeps is no part of its key, so this comes before columns are pruned. When the same rows are there,
 * but with other columns, both are computed: the next graph finds all of them.
 */
#include <string.h>

#include "base/id.h"
#include "optimize/rules.h"

/* A source is told by what it reads, any other step by what it says and by its inputs. */
static granary_err
make_key(struct gr_steps *steps, size_t i)
{
    const struct gr_step *step = &steps->steps[i];
    struct gr_buf text = {0};
    granary_err err = GRANARY_OK;
    bool known = gr_step_is_pure(step);

    gr_buf_add(&text, GRANARY_VERSION, sizeof GRANARY_VERSION);
    if (step->input_count == 0 && known) {
        granary_id source;

        known = steps->recall->source(steps->recall->context, step->origin->name, &source);
        if (known) {
            gr_buf_add(&text, source.bytes, sizeof source.bytes);
            gr_buf_add(&text, &step->subset, step->subset == 0 ? 0 : sizeof step->subset);
        }
    }
    for (size_t k = 0; k < step->input_count && known; k++) {
        known = !gr_id_is_zero(steps->keys[step->inputs[k]]);
        gr_buf_add(&text, steps->keys[step->inputs[k]].bytes, GRANARY_ID_BYTES);
    }
    if (known && step->input_count > 0) {
        err = gr_step_say(steps, step, &text);
    }
    if (known && err == GRANARY_OK && gr_buf_ok(&text)) {
        steps->keys[i] = gr_id_of_bytes(text.bytes, text.size);
    }
    gr_buf_free(&text);
    return err;
}

/* The columns that are there already. */
static granary_err
note_also(struct gr_steps *steps, size_t i)
{
    struct gr_step *step = &steps->steps[i];
    const struct gr_recalled *there =
        step->yields == GR_YIELDS_FRAME && step->type->known && !gr_id_is_zero(steps->keys[i])
            ? steps->recall->find(steps->recall->context, steps->keys[i])
            : NULL;

    if (there == NULL) {
        return GRANARY_OK;
    }
    step->also = gr_steps_room(steps, step->type->schema.count + 1, sizeof *step->also);
    if (step->also == NULL) {
        return optimize_no_memory();
    }
    for (size_t c = 0; c < there->column_count; c++) {
        int at = gr_schema_find(&step->type->schema, there->columns[c]);

        if (at >= 0) {
            step->also[at] = true;
        }
    }
    return GRANARY_OK;
}

granary_err
rule_keys(struct gr_steps *steps)
{
    granary_err err = GRANARY_OK;

    if (steps->recall == NULL) {
        return GRANARY_OK;
    }
    steps->keys = gr_steps_room(steps, steps->count + 1, sizeof *steps->keys);
    if (steps->keys == NULL) {
        return optimize_no_memory();
    }
    for (size_t i = 0; i < steps->count && err == GRANARY_OK; i++) {
        if (!steps->steps[i].dead) {
            err = make_key(steps, i);
            err = err == GRANARY_OK ? note_also(steps, i) : err;
        }
    }
    return err;
}
