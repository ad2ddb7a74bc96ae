/*
 * fuse-map: an element-wise operator that one other element-wise operator or reduction reads becomes a part of its
 * program, so that what lies between them is never stored.
 */
#include "optimize/rules.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/tensor/map.h"

#define LINE 240

/* A step's program while others are put in front of it. */
struct fusion {
    size_t inputs[GR_PROGRAM_INPUTS];
    size_t input_count;
    char *lines[GR_PROGRAM_LENGTH];
    size_t line_count;
};

static void
fusion_fini(struct fusion *f)
{
    for (size_t i = 0; i < f->line_count; i++) {
        free(f->lines[i]);
    }
    f->line_count = 0;
}

Granary__Attr *
gr_step_program(const struct gr_steps *steps, const struct gr_step *step)
{
    const Granary__Attr *program = gr_step_attr(step, "program");
    granary_dtype dtypes[GR_PROGRAM_INPUTS];
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);

    if (program != NULL) {
        return gr_attr_copy(program);
    }
    for (size_t k = 0; k < step->input_count; k++) {
        dtypes[k] = steps->steps[step->inputs[k]].type->dtype;
    }
    return gr_map_program(step->op, attrs, count, dtypes, step->input_count);
}

/* An instruction with its operands renamed: $k is names[k], %j is %(j + shift). false: too long, or no memory */
static bool
add_line(struct fusion *f, const char *line, char (*names)[8], size_t shift)
{
    char text[LINE];
    size_t at = 0;

    while (*line != '\0' && at < LINE - 16) {
        if ((*line == '$' || *line == '%') && isdigit((unsigned char)line[1])) {
            bool input = *line == '$';
            size_t number = strtoul(line + 1, (char **)(uintptr_t)&line, 10);

            at += input ? (size_t)snprintf(text + at, LINE - at, "%s", names[number])
                        : (size_t)snprintf(text + at, LINE - at, "%%%zu", number + shift);
        } else {
            text[at++] = *line++;
        }
    }
    text[at] = '\0';
    if (*line != '\0' || f->line_count == GR_PROGRAM_LENGTH || (f->lines[f->line_count] = strdup(text)) == NULL) {
        return false;
    }
    f->line_count++;
    return true;
}

/* The place of a step among the inputs, a new one when it has none. */
static bool
add_input(struct fusion *f, size_t from, char name[8])
{
    size_t k = 0;

    while (k < f->input_count && f->inputs[k] != from) {
        k++;
    }
    if (k == GR_PROGRAM_INPUTS) {
        return false;
    }
    if (k == f->input_count) {
        f->inputs[f->input_count++] = from;
    }
    (void)snprintf(name, 8, "$%zu", k);
    return true;
}

/* Put the program of a step into the fusion; ret_result: what stands for its result. */
static bool
add_program(const struct gr_steps *steps, struct fusion *f, const struct gr_step *step, char (*names)[8],
            char ret_result[8])
{
    Granary__Attr *program = gr_step_program(steps, step);
    size_t shift = f->line_count;
    bool good = program != NULL;

    for (size_t i = 0; good && i < program->n_strings; i++) {
        good = add_line(f, program->strings[i], names, shift);
    }
    if (program != NULL && program->n_strings == 0) { /* a reduction: what it reads */
        (void)snprintf(ret_result, 8, "%s", names[0]);
    } else {
        (void)snprintf(ret_result, 8, "%%%zu", f->line_count - 1);
    }
    granary__attr__free_unpacked(program, NULL);
    return good;
}

static bool
same_shape(const struct gr_node_type *a, const struct gr_node_type *b)
{
    return a->dims == b->dims && memcmp(a->shape, b->shape, (size_t)a->dims * sizeof a->shape[0]) == 0;
}

/* How often `reader` reads step `from`. */
static uint32_t
reads_of(const struct gr_step *reader, size_t from)
{
    uint32_t count = 0;

    for (size_t k = 0; k < reader->input_count; k++) {
        count += reader->inputs[k] == from;
    }
    return count;
}

static bool
can_fold(const struct gr_steps *steps, size_t i, size_t from)
{
    const struct gr_step *step = &steps->steps[i];
    const struct gr_step *lower = &steps->steps[from];

    /* What is stretched would be computed over and over. */
    return gr_op_is_map(lower->op) && !lower->is_target && steps->readers[from] == reads_of(step, from) &&
           (!gr_op_is_map(step->op) || same_shape(lower->type, step->type));
}

/* Give step i the fused program and its inputs. */
static granary_err
take_fusion(struct gr_steps *steps, size_t i, struct fusion *f)
{
    struct gr_step *step = &steps->steps[i];
    size_t *inputs = gr_steps_room(steps, f->input_count, sizeof *inputs);
    granary_err err = inputs == NULL ? optimize_no_memory()
                                     : gr_step_set_attr(step, gr_attr_new_strings("program", f->lines, f->line_count));

    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(inputs, f->inputs, f->input_count * sizeof *inputs);
    for (size_t k = 0; k < step->input_count; k++) {
        struct gr_step *lower = &steps->steps[step->inputs[k]];
        bool stays = false;

        for (size_t n = 0; n < f->input_count; n++) {
            stays = stays || inputs[n] == step->inputs[k];
        }
        if (!stays && !lower->dead) {
            lower->dead = true;
            rule_fired(steps, "fuse-map", "'%s' (%s) is computed within '%s'", lower->origin->name,
                       gr_op_info(lower->op)->name, step->origin->name);
        }
    }
    step->inputs = inputs;
    step->input_count = f->input_count;
    return GRANARY_OK;
}

static granary_err
fuse_step(struct gr_steps *steps, size_t i)
{
    const struct gr_step *step = &steps->steps[i];
    char names[GR_PROGRAM_INPUTS][8];
    char result[8];
    struct fusion f = {.input_count = 0};
    bool any = false;
    bool good = step->input_count <= GR_PROGRAM_INPUTS;
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < step->input_count && good; k++) {
        const struct gr_step *lower = &steps->steps[step->inputs[k]];
        size_t before = 0;

        while (step->inputs[before] != step->inputs[k]) {
            before++;
        }
        if (before < k) { /* the same as an operand before */
            memcpy(names[k], names[before], sizeof names[k]);
        } else if (can_fold(steps, i, step->inputs[k])) {
            char theirs[GR_PROGRAM_INPUTS][8];

            any = true;
            for (size_t n = 0; n < lower->input_count && good; n++) {
                good = add_input(&f, lower->inputs[n], theirs[n]);
            }
            good = good && add_program(steps, &f, lower, theirs, names[k]);
        } else {
            good = add_input(&f, step->inputs[k], names[k]);
        }
    }
    if (good && any && add_program(steps, &f, step, names, result)) {
        err = take_fusion(steps, i, &f);
    }
    fusion_fini(&f);
    return err;
}

granary_err
rule_fuse_map(struct gr_steps *steps, size_t i)
{
    enum gr_tile_op op = steps->steps[i].op;

    return gr_op_is_map(op) || gr_op_reduction(op) != GR_REDUCE_COUNT || op == GR_TILE_reduce_partial
               ? fuse_step(steps, i)
               : GRANARY_OK;
}
