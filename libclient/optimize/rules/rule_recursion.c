/*
 * recursion: what a `recurse` runs round by round is put into it.
 *
 * Its body is every step between the rows of the round before and what a round makes. From here on these steps are its
 * own, and dead to everybody else. Its inputs are the rows with which it begins and what the body reads of other steps.
 * Inner recursions come first, and are one step of an outer body then. A step of a body that somebody else reads would
 * have a value for each round, so it is an error.
 */
#include <string.h>

#include "base/error.h"
#include "optimize/rules.h"

struct bodies {
    struct gr_steps *steps;
    bool *depends; /* by step: on the rows of the round at hand */
    bool *needed;  /* by step: for what a round makes */
};

/* Which steps are between the round and its end. */
static void
mark_body(const struct bodies *b, size_t round, size_t end)
{
    const struct gr_steps *steps = b->steps;

    memset(b->depends, 0, steps->count * sizeof *b->depends);
    memset(b->needed, 0, steps->count * sizeof *b->needed);
    b->depends[round] = true;
    b->needed[end] = true;
    for (size_t i = round + 1; i <= end; i++) {
        for (size_t k = 0; k < steps->steps[i].input_count; k++) {
            b->depends[i] = b->depends[i] || b->depends[steps->steps[i].inputs[k]];
        }
    }
    for (size_t i = end + 1; i-- > round;) {
        b->needed[i] = b->needed[i] && b->depends[i];
        for (size_t k = 0; b->needed[i] && k < steps->steps[i].input_count; k++) {
            b->needed[steps->steps[i].inputs[k]] = true;
        }
    }
    b->needed[round] = false;
}

static bool
is_listed(const size_t *list, size_t count, size_t i)
{
    size_t at = 0;

    while (at < count && list[at] != i) {
        at++;
    }
    return at < count;
}

/* The rows with which it begins, then what the body reads of others, each once. What a round makes may be such, too. */
static granary_err
list_inputs(const struct bodies *b, const struct gr_body *body, size_t **ret_inputs, size_t *ret_count)
{
    const struct gr_step *steps = b->steps->steps;
    size_t room = 2;
    size_t *inputs;
    size_t count = 0;

    for (size_t n = 0; n < body->count; n++) {
        room += steps[body->steps[n]].input_count;
    }
    inputs = gr_steps_room(b->steps, room, sizeof *inputs);
    if (inputs == NULL) {
        return optimize_no_memory();
    }
    inputs[count++] = steps[body->round].inputs[0];
    if (!b->depends[body->end]) {
        inputs[count++] = body->end;
    }
    for (size_t n = 0; n < body->count; n++) {
        const struct gr_step *step = &steps[body->steps[n]];

        for (size_t k = 0; k < step->input_count; k++) {
            if (!b->depends[step->inputs[k]] && !is_listed(inputs + 1, count - 1, step->inputs[k])) {
                inputs[count++] = step->inputs[k];
            }
        }
    }
    *ret_inputs = inputs;
    *ret_count = count;
    return GRANARY_OK;
}

static granary_err
take_body(struct bodies *b, size_t i)
{
    struct gr_steps *steps = b->steps;
    struct gr_step *step = &steps->steps[i];
    struct gr_body *body = gr_steps_room(steps, 1, sizeof *body);
    granary_err err;

    if (body == NULL || (body->steps = gr_steps_room(steps, i + 1, sizeof *body->steps)) == NULL) {
        return optimize_no_memory();
    }
    body->round = step->inputs[0];
    body->end = step->inputs[1];
    mark_body(b, body->round, body->end > body->round ? body->end : body->round);
    for (size_t n = body->round; n < i; n++) {
        if (n != body->round && !(b->needed[n] && b->depends[n])) {
            continue;
        }
        if (steps->steps[n].inner) {
            return gr_fail(GRANARY_EINVAL, "node '%s': what another recursion makes in its rounds, with '%s', is read",
                           step->origin->name, steps->steps[n].origin->name);
        }
        steps->steps[n].inner = true;
        body->steps[body->count] = n;
        body->count += n != body->round;
    }
    err = list_inputs(b, body, &step->inputs, &step->input_count);
    step->body = body;
    rule_fired(steps, "recursion", "'%s' runs %zu step%s each round", step->origin->name, body->count,
               body->count == 1 ? "" : "s");
    return err;
}

/* Nobody else reads what changes from round to round, and each recursion has a name of its own. */
static granary_err
check_others(const struct gr_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++) {
        const struct gr_step *step = &steps->steps[i];
        const struct gr_step *inner = step->inner || step->op == GR_TILE_round_rows ? step : NULL;

        if (step->dead && !step->inner) {
            continue;
        }
        if (inner != NULL && !step->inner) {
            return gr_fail(GRANARY_EINVAL, "node '%s': no 'recurse' takes the rounds that begin with it",
                           step->origin->name);
        }
        if (inner != NULL && inner->is_target) {
            return gr_fail(GRANARY_EINVAL,
                           "node '%s': it is within a recursion, where it has rows of each round: only what 'recurse' "
                           "yields can be a target",
                           step->origin->name);
        }
        for (size_t k = 0; k < step->input_count && !step->inner; k++) {
            if (steps->steps[step->inputs[k]].inner) {
                return gr_fail(GRANARY_EINVAL,
                               "node '%s': it reads '%s', which is within a recursion and has rows of each round: read "
                               "what 'recurse' yields",
                               step->origin->name, steps->steps[step->inputs[k]].origin->name);
            }
        }
        for (size_t k = 0; k < i && step->op == GR_TILE_round_rows; k++) {
            const struct gr_step *other = &steps->steps[k];

            if (other->op == GR_TILE_round_rows && (other->inner || !other->dead) &&
                strcmp(GR_STEP_PARAMS(round_rows, step)->recursion, GR_STEP_PARAMS(round_rows, other)->recursion) ==
                    0) {
                return gr_fail(GRANARY_EINVAL, "nodes '%s' and '%s': two recursions are called '%s'",
                               other->origin->name, step->origin->name, GR_STEP_PARAMS(round_rows, step)->recursion);
            }
        }
    }
    return GRANARY_OK;
}

granary_err
rule_recursion(struct gr_steps *steps)
{
    struct bodies b = {.steps = steps};
    granary_err err = GRANARY_OK;
    bool any = false;

    for (size_t i = 0; i < steps->count && !any; i++) {
        any = !steps->steps[i].dead && (steps->steps[i].op == GR_TILE_round_rows);
    }
    if (!any) {
        return GRANARY_OK;
    }
    b.depends = gr_steps_room(steps, steps->count, sizeof *b.depends);
    b.needed = gr_steps_room(steps, steps->count, sizeof *b.needed);
    if (b.depends == NULL || b.needed == NULL) {
        return optimize_no_memory();
    }
    for (size_t i = 0; i < steps->count && err == GRANARY_OK; i++) {
        if (!steps->steps[i].dead && steps->steps[i].op == GR_TILE_recurse) {
            err = take_body(&b, i);
        }
    }
    if (err == GRANARY_OK) {
        err = check_others(steps);
    }
    for (size_t i = 0; i < steps->count; i++) {
        steps->steps[i].dead = steps->steps[i].dead || steps->steps[i].inner;
    }
    return err;
}
