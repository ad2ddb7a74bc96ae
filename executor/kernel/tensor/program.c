/*
 * A program is read once, then run in blocks: dimensions that lie alike in all inputs are made one, constants and
 * broadcast operands are brought once a run, and a result takes the place of an operand that is not needed any more.
 */
#include "kernel/tensor/program.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/tensor/complex_map.h"

#define ELEMENT_MOST 16 /* bytes */
#define SINGLE_MAX   160
#define STREAM_BYTES ((int64_t)1 << 20) /* a result this large will not be read from the cache */

/* ---- reading the text ---- */

struct reader {
    struct program *program;
    int of_instruction[PROGRAM_LENGTH]; /* the value it gave */
    int instructions;
    double numbers[PROGRAM_LENGTH * 3];   /* of weak values, by number */
    double imaginary[PROGRAM_LENGTH * 3]; /* parts of them */
    int64_t integers[PROGRAM_LENGTH * 3];
    bool beyond[PROGRAM_LENGTH * 3]; /* int64: the integer is a uint64's bits */
    int number_of[PROGRAM_INPUTS + 8 * PROGRAM_LENGTH];
    int number_count;
};

static int
new_value(struct program *p, granary_dtype dtype)
{
    p->values[p->value_count] = (struct program_value){.dtype = dtype, .lane = gr_lane_of(dtype), .last_use = -1};
    return p->value_count++;
}

static granary_err
read_number(struct reader *r, const char *text, int *ret_value)
{
    granary_dtype dtype = GRANARY_FLOAT64;
    char *end = (char *)(uintptr_t)text;
    double number = 0, imaginary = 0;
    int64_t integer = 0;
    bool beyond = false;

    if (gr_complex_parse(text, &number, &imaginary)) {
        dtype = GRANARY_COMPLEX128;
        end += strlen(text);
    } else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        dtype = GRANARY_BOOL;
        integer = text[0] == 't';
        end += strlen(text);
    } else if (strpbrk(text, ".enEN") != NULL) { /* 1.5, 1e5, nan, inf */
        number = strtod(text, &end);
    } else {
        dtype = GRANARY_INT64;
        errno = 0;
        integer = strtoll(text, &end, 10);
        if (errno == ERANGE && text[0] != '-') {
            errno = 0;
            beyond = true;
            integer = (int64_t)strtoull(text, &end, 10);
        }
        end = errno == ERANGE ? (char *)(uintptr_t)text : end;
    }
    if (*end != '\0' || end == text || r->number_count == PROGRAM_LENGTH * 3) {
        return gr_fail(GRANARY_EINVAL, "program: '#%.40s' is no number", text);
    }
    *ret_value = new_value(r->program, dtype);
    r->program->values[*ret_value].weak = true;
    r->number_of[*ret_value] = r->number_count;
    r->integers[r->number_count] = integer;
    r->beyond[r->number_count] = beyond;
    r->imaginary[r->number_count] = imaginary;
    r->numbers[r->number_count++] = dtype == GRANARY_FLOAT64 || dtype == GRANARY_COMPLEX128 ? number
                                    : beyond                                                ? (double)(uint64_t)integer
                                                                                            : (double)integer;
    return GRANARY_OK;
}

static granary_err
read_operand(struct reader *r, const char *text, int *ret_value)
{
    char *end;
    long number;

    if (text[0] == '#') {
        return read_number(r, text + 1, ret_value);
    }
    number = strtol(text + 1, &end, 10);
    if ((text[0] != '$' && text[0] != '%') || end == text + 1 || *end != '\0' || number < 0 ||
        number >= (text[0] == '$' ? r->program->input_count : r->instructions)) {
        return gr_fail(GRANARY_EINVAL, "program: there is no operand '%.40s'", text);
    }
    *ret_value = text[0] == '$' ? (int)number : r->of_instruction[number];
    return GRANARY_OK;
}

/* A value in the lane of a dtype: itself, a number in that dtype, or what a new step makes of it. */
static granary_err
value_bring(struct reader *r, int value, granary_dtype dtype, bool *fixed, int *ret_value)
{
    struct program *p = r->program;
    struct program_value *from = &p->values[value];
    enum gr_lane lane = gr_lane_of(dtype);

    *ret_value = value;
    if (from->weak) {
        int n = r->number_of[value];

        if (from->dtype == GRANARY_INT64 && !gr_dtype_holds(dtype, (uint64_t)r->integers[n], r->beyond[n])) {
            return gr_fail(GRANARY_EINVAL, r->beyond[n] ? "%llu does not fit %s" : "%lld does not fit %s",
                           (unsigned long long)r->integers[n], granary_dtype_name(dtype));
        }
        *ret_value = new_value(p, dtype);
        r->number_of[*ret_value] = r->number_of[value];
        fixed[*ret_value] = true;
        return GRANARY_OK;
    }
    if (from->lane != lane) {
        *ret_value = new_value(p, dtype);
        p->steps[p->step_count++] = (struct program_step){
            .function = GR_MAP_COUNT, .lane = lane, .operands = {value, value, value}, .result = *ret_value};
    }
    return GRANARY_OK;
}

static bool
may_leave_range(enum gr_map_function function, granary_dtype dtype)
{
    switch (function) {
    case GR_MAP_where:
    case GR_MAP_maximum:
    case GR_MAP_minimum:
    case GR_MAP_fmax:
    case GR_MAP_fmin:
        return false;
    default:
        return dtype == GRANARY_BOOL || (gr_dtype_is_integer(dtype) && gr_tensor_element(dtype) < 8);
    }
}

/* A step that tells whether a value is 0. */
static int
add_test(struct program *p, int value)
{
    int test = new_value(p, GRANARY_BOOL);

    p->steps[p->step_count++] = (struct program_step){.function = GR_MAP_logical_not,
                                                      .lane = p->values[value].lane,
                                                      .operands = {value, value, value},
                                                      .result = test};
    return test;
}

static granary_err
add_instruction(struct reader *r, enum gr_map_function function, granary_dtype to, const int *values, bool *fixed)
{
    struct program *p = r->program;
    struct gr_map_operand operands[3] = {{0}};
    int brought[3] = {0};
    granary_dtype compute, dtype;
    int count = gr_map_operands(function);
    granary_err err;

    for (int k = 0; k < count; k++) {
        operands[k] = (struct gr_map_operand){p->values[values[k]].dtype, p->values[values[k]].weak};
    }
    err = gr_map_types(function, operands, to, &compute, &dtype);
    for (int k = 0; k < count && err == GRANARY_OK; k++) {
        if (function == GR_MAP_where && k == 0) { /* any number is a condition: see below */
            err = value_bring(r, values[0], operands[0].dtype, fixed, &brought[0]);
        } else {
            err = value_bring(r, values[k], compute, fixed, &brought[k]);
        }
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (int k = count; k < 3; k++) {
        brought[k] = brought[0];
    }
    if (function == GR_MAP_where && operands[0].dtype != GRANARY_BOOL) {
        int test = add_test(p, brought[0]);
        int other = brought[1];

        brought[0] = test; /* whether it is 0: so the two change places */
        brought[1] = brought[2];
        brought[2] = other;
    }
    if (function == GR_MAP_astype) {
        if (to == GRANARY_BOOL &&
            p->values[values[0]].dtype != GRANARY_BOOL) { /* whether it is not 0, before it is cut */
            r->of_instruction[r->instructions++] =
                add_test(p, add_test(p, p->values[values[0]].weak ? brought[0] : values[0]));
            return GRANARY_OK;
        }
        function = GR_MAP_positive;
    }
    r->of_instruction[r->instructions++] = new_value(p, dtype);
    p->steps[p->step_count++] = (struct program_step){.function = function,
                                                      .lane = gr_lane_of(compute),
                                                      .operands = {brought[0], brought[1], brought[2]},
                                                      .result = p->value_count - 1,
                                                      .wraps = may_leave_range(function, dtype)};
    if (function == GR_MAP_invert && dtype == GRANARY_BOOL) {
        p->steps[p->step_count - 1].function = GR_MAP_logical_not;
    }
    return GRANARY_OK;
}

static granary_err
read_instruction(struct reader *r, const char *text, bool *fixed)
{
    char copy[256];
    char *rest = NULL;
    char *word;
    char *colon;
    enum gr_map_function function;
    granary_dtype to = GRANARY_NULLTYPE;
    int values[3] = {0};
    int count = 0;
    granary_err err = GRANARY_OK;

    if (strlen(text) >= sizeof copy || r->instructions == PROGRAM_LENGTH) {
        return gr_fail(GRANARY_EINVAL, "program: it is too long");
    }
    memcpy(copy, text, strlen(text) + 1);
    word = strtok_r(copy, " ", &rest);
    if (word == NULL) {
        return gr_fail(GRANARY_EINVAL, "program: an instruction is empty");
    }
    colon = strchr(word, ':');
    function = gr_map_find(word, colon == NULL ? strlen(word) : (size_t)(colon - word));
    if (function == GR_MAP_COUNT) {
        return gr_fail(GRANARY_EINVAL, "no function '%.60s'", word);
    }
    if (function == GR_MAP_astype) {
        to = colon == NULL ? GRANARY_NULLTYPE : gr_tensor_dtype_parse(colon + 1);
    }
    while (err == GRANARY_OK && (word = strtok_r(NULL, " ", &rest)) != NULL) {
        if (count == 3) {
            return gr_fail(GRANARY_EINVAL, "program: '%.60s' has too many operands", text);
        }
        err = read_operand(r, word, &values[count++]);
    }
    if (err == GRANARY_OK && count != gr_map_operands(function)) {
        err = gr_fail(GRANARY_EINVAL, "%s takes %d operands, not %d", gr_map_name(function), gr_map_operands(function),
                      count);
    }
    return err == GRANARY_OK ? add_instruction(r, function, to, values, fixed) : err;
}

/* "function" and "value" as an instruction. */
static granary_err
single_instruction(const struct gr_kernel_call *call, const struct gr_chunk_map *source, char text[SINGLE_MAX])
{
    const Granary__Attr *value = source->value;
    int at = snprintf(text, SINGLE_MAX, "%.40s", source->function);

    if (call->input_count > 3) {
        return gr_fail(GRANARY_EINVAL, "%zu inputs are too many", call->input_count);
    }
    for (size_t i = 0; i < call->input_count; i++) {
        at += snprintf(text + at, (size_t)(SINGLE_MAX - at), " $%zu", i);
    }
    if (value != NULL && value->kind == GRANARY__ATTR__KIND__INT) {
        (void)snprintf(text + at, (size_t)(SINGLE_MAX - at), " #%lld", (long long)value->ints[0]);
    } else if (value != NULL && value->kind == GRANARY__ATTR__KIND__STRING) {
        (void)snprintf(text + at, (size_t)(SINGLE_MAX - at), " #%.60s", value->strings[0]);
    } else if (value != NULL) {
        (void)snprintf(text + at, (size_t)(SINGLE_MAX - at), " #%.17e", value->doubles[0]);
    }
    return GRANARY_OK;
}

static granary_err
read_program(const struct gr_kernel_call *call, const struct gr_chunk_map *source, struct reader *r, bool *fixed)
{
    const Granary__Attr *program = source->program;
    char text[SINGLE_MAX];
    granary_err err = GRANARY_OK;

    if (program == NULL && source->function != NULL) {
        err = single_instruction(call, source, text);
        return err == GRANARY_OK ? read_instruction(r, text, fixed) : err;
    }
    for (size_t i = 0; program != NULL && i < program->n_strings && err == GRANARY_OK; i++) {
        err = read_instruction(r, program->strings[i], fixed);
    }
    if (err == GRANARY_OK && r->instructions == 0) {
        r->of_instruction[r->instructions++] = 0; /* the input as it is */
    }
    return err;
}

/* ---- blocks ---- */

static void
fill_number(struct program_value *value, double number, double imaginary, int64_t integer)
{
    for (int i = 0; i < PROGRAM_BLOCK; i++) {
        switch (value->lane) {
        case GR_LANE_F:
            ((float *)(void *)value->block)[i] = (float)number;
            break;
        case GR_LANE_D:
            ((double *)(void *)value->block)[i] = number;
            break;
        case GR_LANE_C:
            ((float *)(void *)value->block)[2 * i] = (float)number;
            ((float *)(void *)value->block)[2 * i + 1] = (float)imaginary;
            break;
        case GR_LANE_Z:
            ((double *)(void *)value->block)[2 * i] = number;
            ((double *)(void *)value->block)[2 * i + 1] = imaginary;
            break;
        default:
            ((int64_t *)(void *)value->block)[i] = value->dtype == GRANARY_BOOL ? number != 0 : integer;
        }
    }
}

static size_t
lane_bytes(enum gr_lane lane)
{
    return lane == GR_LANE_F ? 4 : lane == GR_LANE_Z ? 16 : 8;
}

/* Give every value that is made a block; one that nothing reads any more gives its own away. */
static granary_err
give_blocks(struct program *p, const struct reader *r, const bool *fixed)
{
    char *spare[PROGRAM_INPUTS + 8 * PROGRAM_LENGTH];
    int spare_count = 0;
    size_t used = 0;
    size_t block = (size_t)PROGRAM_BLOCK * 8;

    for (int v = 0; v < p->value_count; v++) {
        block = p->values[v].lane == GR_LANE_Z ? (size_t)PROGRAM_BLOCK * ELEMENT_MOST : block;
    }
    p->values[p->result].last_use = p->step_count;
    for (int s = 0; s < p->step_count; s++) {
        for (int k = 0; k < 3; k++) {
            struct program_value *value = &p->values[p->steps[s].operands[k]];

            value->last_use = value->last_use > s ? value->last_use : s;
        }
    }
    p->room = aligned_alloc(64, (size_t)(p->value_count + 1) * block);
    if (p->room == NULL) {
        return gr_fail(GRANARY_ENOMEM, "a program of %d steps: out of memory", p->step_count);
    }
    for (int v = 0; v < p->value_count; v++) {
        if (fixed[v] || (v < p->input_count && !p->in_place[v])) {
            p->values[v].block = p->room + used++ * block;
        }
        if (fixed[v]) {
            fill_number(&p->values[v], r->numbers[r->number_of[v]], r->imaginary[r->number_of[v]],
                        r->integers[r->number_of[v]]);
        }
    }
    for (int s = 0; s < p->step_count; s++) {
        struct program_step *step = &p->steps[s];

        p->values[step->result].block = spare_count > 0 ? spare[--spare_count] : p->room + used++ * block;
        for (int k = 0; k < 3; k++) {
            int v = step->operands[k];

            if (v >= p->input_count && !fixed[v] && p->values[v].last_use == s) {
                spare[spare_count++] = p->values[v].block;
                p->values[v].last_use = -1; /* once, when it stands twice in a step */
            }
        }
    }
    return GRANARY_OK;
}

/* ---- shapes ---- */

static granary_err
broadcast(struct program *p)
{
    int64_t stride[PROGRAM_INPUTS];

    for (int i = 0; i < p->input_count; i++) {
        p->dims = p->inputs[i].dims > p->dims ? p->inputs[i].dims : p->dims;
        stride[i] = 1;
    }
    for (int d = p->dims - 1, back = 1; d >= 0; d--, back++) { /* shapes are aligned at their ends */
        p->shape[d] = 1;
        for (int i = 0; i < p->input_count; i++) {
            const granary_tensor *tensor = &p->inputs[i];
            int64_t extent = back <= tensor->dims ? tensor->shape[tensor->dims - back] : 1;

            if (extent != 1 && p->shape[d] != 1 && extent != p->shape[d]) {
                return gr_fail(GRANARY_EINVAL, "shapes do not broadcast: %lld and %lld in dimension %d",
                               (long long)p->shape[d], (long long)extent, d);
            }
            p->shape[d] = extent == 1 ? p->shape[d] : extent;
            p->stride[i][d] = extent == 1 ? 0 : stride[i];
            stride[i] *= extent;
        }
    }
    return GRANARY_OK;
}

static void
drop_dimension(struct program *p, int d)
{
    size_t behind = (size_t)(p->walk_dims - d - 1);

    memmove(p->extent + d, p->extent + d + 1, behind * sizeof p->extent[0]);
    for (int i = 0; i < PROGRAM_INPUTS + PROGRAM_EXTRAS; i++) {
        memmove(p->stride[i] + d, p->stride[i] + d + 1, behind * sizeof p->stride[i][0]);
    }
    p->walk_dims--;
}

/* Dimensions of one element go; neighbours that everything goes through in one stride become one. */
static void
collapse(struct program *p)
{
    p->walk_dims = p->dims;
    memcpy(p->extent, p->shape, sizeof p->extent);
    for (int d = p->walk_dims - 1; d >= 0; d--) {
        if (p->extent[d] == 1) {
            drop_dimension(p, d);
        }
    }
    for (int d = p->walk_dims - 2; d >= 0; d--) {
        bool together = true;

        for (int i = 0; i < PROGRAM_INPUTS + PROGRAM_EXTRAS; i++) {
            together = together && p->stride[i][d] == p->stride[i][d + 1] * p->extent[d + 1];
        }
        if (together) {
            p->extent[d + 1] *= p->extent[d];
            drop_dimension(p, d);
        }
    }
    if (p->walk_dims == 0) {
        p->extent[p->walk_dims++] = 1;
        for (int i = 0; i < PROGRAM_INPUTS + PROGRAM_EXTRAS; i++) {
            p->stride[i][0] = 0;
        }
    }
}

/* Inputs whose elements need no conversion, and are not stretched along a run. */
static void
find_in_place(struct program *p)
{
    int last = p->dims - 1;

    while (last > 0 && p->shape[last] == 1) {
        last--;
    }
    for (int i = 0; i < p->input_count; i++) {
        granary_dtype dtype = p->inputs[i].dtype;

        p->in_place[i] = (gr_dtype_is_float(dtype) || gr_dtype_is_complex(dtype) || dtype == GRANARY_INT64 ||
                          dtype == GRANARY_UINT64) &&
                         last >= 0 && p->stride[i][last] == 1;
    }
}

void
program_extra(struct program *p, int extra, const int64_t *strides)
{
    memcpy(p->stride[PROGRAM_INPUTS + extra], strides, (size_t)p->dims * sizeof *strides);
}

/* ---- opening ---- */

granary_err
program_open(const struct gr_kernel_call *call, const struct gr_chunk_map *source, struct program *ret_program)
{
    struct program *p = ret_program;
    struct reader *r = calloc(1, sizeof *r);
    bool fixed[PROGRAM_INPUTS + 8 * PROGRAM_LENGTH] = {false};
    granary_err err = GRANARY_OK;

    memset(p, 0, sizeof *p);
    if (r == NULL) {
        return gr_no_memory("a program");
    }
    r->program = p;
    if (call->input_count == 0 || call->input_count > PROGRAM_INPUTS) {
        err = gr_fail(GRANARY_EINVAL, "%zu inputs do not fit the operator", call->input_count);
    }
    for (size_t i = 0; i < call->input_count && err == GRANARY_OK; i++) {
        p->inputs[p->input_count++] = call->inputs[i].tensor.view;
        (void)new_value(p, call->inputs[i].tensor.view.dtype);
    }
    if (err == GRANARY_OK) {
        err = read_program(call, source, r, fixed);
    }
    if (err == GRANARY_OK) {
        err = broadcast(p);
    }
    if (err == GRANARY_OK) {
        p->result = r->of_instruction[r->instructions - 1];
        p->dtype = p->values[p->result].dtype;
        find_in_place(p);
        err = give_blocks(p, r, fixed);
    }
    free(r);
    if (err != GRANARY_OK) {
        program_close(p);
    }
    return err;
}

void
program_close(struct program *p)
{
    free(p->room);
    p->room = NULL;
}

/* ---- running ---- */

static void
apply(const struct program *p, const struct program_step *step, int64_t n)
{
    struct program_value const *values = p->values;
    char *out = values[step->result].block;
    const char *a = values[step->operands[0]].block;
    const char *b = values[step->operands[1]].block;
    const char *c = values[step->operands[2]].block;

    if (gr_lane_is_complex(step->lane) || gr_lane_is_complex(values[step->operands[0]].lane)) {
        if (step->function == GR_MAP_COUNT) {
            complex_lane_convert(values[step->operands[0]].lane, step->lane, out, a, n);
        } else {
            complex_map_apply(step->function, step->lane, out, a, b, c, n);
        }
    } else if (step->function == GR_MAP_COUNT) {
        SIMD_CALL(tensor_lane_convert)(values[step->operands[0]].lane, step->lane, out, a, n);
    } else {
        SIMD_CALL(tensor_map_apply)(step->function, step->lane, out, a, b, c, n);
    }
    if (step->wraps) {
        SIMD_CALL(tensor_lane_wrap)(values[step->result].dtype, out, n);
    }
}

/* Bring the inputs' elements of a block where the steps look for them. `first`: of its run. */
static void
inputs_load(struct program *p, const int64_t *at, int64_t from, int64_t n, bool first)
{
    for (int i = 0; i < p->input_count; i++) {
        const granary_tensor *tensor = &p->inputs[i];
        size_t element = gr_tensor_element(tensor->dtype);
        int64_t step = p->stride[i][p->walk_dims - 1];
        const char *stored = (const char *)tensor->values + (size_t)(at[i] + from * step) * element;

        if (p->in_place[i]) {
            p->values[i].block = (char *)(uintptr_t)stored; /* only read */
        } else if (step != 0) {
            SIMD_CALL(tensor_lane_load)(tensor->dtype, p->values[i].block, stored, n);
        } else if (first) {
            int64_t run = p->extent[p->walk_dims - 1];
            size_t width = lane_bytes(p->values[i].lane);

            run = run < PROGRAM_BLOCK ? run : PROGRAM_BLOCK;
            SIMD_CALL(tensor_lane_load)(tensor->dtype, p->values[i].block, stored, 1);
            for (int64_t k = 1; k < run; k++) {
                memcpy(p->values[i].block + (size_t)k * width, p->values[i].block, width);
            }
        }
    }
}

/* The next run; false after the last. */
static bool
next_run(const struct program *p, int64_t *index, int64_t *at)
{
    for (int d = p->walk_dims - 2; d >= 0; d--) {
        for (int i = 0; i < PROGRAM_INPUTS + PROGRAM_EXTRAS; i++) {
            at[i] += p->stride[i][d];
        }
        if (++index[d] < p->extent[d]) {
            return true;
        }
        for (int i = 0; i < PROGRAM_INPUTS + PROGRAM_EXTRAS; i++) {
            at[i] -= p->stride[i][d] * p->extent[d];
        }
        index[d] = 0;
    }
    return false;
}

void
program_by_rows(struct program *p, program_consume_rows *rows)
{
    p->rows = rows;
}

/* Whether the last two dimensions are rows of an input, each of which goes to the same extra. */
static bool
has_rows(const struct program *p)
{
    int last = p->walk_dims - 1;

    return p->rows != NULL && p->step_count == 0 && p->result < p->input_count && p->in_place[p->result] &&
           gr_tensor_element(p->dtype) == 8 && p->dtype != GRANARY_COMPLEX64 && last > 0 &&
           p->stride[p->result][last] == 1 && p->stride[PROGRAM_INPUTS][last] == 1 &&
           p->stride[PROGRAM_INPUTS][last - 1] == 0;
}

static void
run_rows(struct program *p, void *context)
{
    int64_t index[TENSOR_DIMS_MAX] = {0};
    int64_t at[PROGRAM_INPUTS + PROGRAM_EXTRAS] = {0};
    const char *values = p->inputs[p->result].values;
    int64_t run = p->extent[p->walk_dims - 1];

    p->walk_dims--; /* a row is one step of what is left */
    do {
        for (int64_t from = 0; from < run; from += PROGRAM_BLOCK) {
            const struct program_rows rows = {.lane = gr_lane_of(p->dtype),
                                              .values = values + (at[p->result] + from) * 8,
                                              .rows = p->extent[p->walk_dims - 1],
                                              .stride = p->stride[p->result][p->walk_dims - 1],
                                              .n = run - from < PROGRAM_BLOCK ? run - from : PROGRAM_BLOCK};

            p->rows(context, at[PROGRAM_INPUTS] + from, &rows);
        }
    } while (next_run(p, index, at));
}

/*
 * Two dimensions, the last of them short, along which some inputs begin anew in each row: these are repeated for as many
 * rows as a block has, which then is one run. *Gives* the memory; NULL: the inputs are not so.
 */
static char *
repeat_short_rows(struct program *p)
{
    enum { SHORT = PROGRAM_BLOCK / 8 };
    int64_t run = p->extent[p->walk_dims - 1];
    int64_t block = PROGRAM_BLOCK / run * run;
    bool fits = p->walk_dims == 2 && run <= SHORT && p->extent[0] * run > block;
    char *tiles;

    for (int i = 0; i < PROGRAM_INPUTS + PROGRAM_EXTRAS && fits; i++) {
        fits = p->stride[i][0] == p->stride[i][1] * run || (i < p->input_count && p->stride[i][0] == 0);
    }
    tiles = fits ? malloc((size_t)p->input_count * PROGRAM_BLOCK * ELEMENT_MOST) : NULL;
    if (tiles == NULL) {
        return NULL;
    }
    for (int i = 0; i < PROGRAM_INPUTS; i++) {
        size_t element = i < p->input_count ? gr_tensor_element(p->inputs[i].dtype) : 0;
        char *tile = tiles + (size_t)i * PROGRAM_BLOCK * ELEMENT_MOST;
        int64_t step = p->stride[i][1];

        if (p->stride[i][0] != step * run) {
            for (int64_t k = 0; k < block; k++) {
                memcpy(tile + (size_t)k * element,
                       (const char *)p->inputs[i].values + (size_t)(k % run * step) * element, element);
            }
            p->inputs[i].values = tile;
            p->stride[i][1] = 1;
        } else {
            p->stride[i][0] = step * block;
        }
    }
    p->extent[0] = (p->extent[0] * run + block - 1) / block;
    p->extent[1] = block;
    return tiles;
}

void
program_run(struct program *p, void *out, program_consume *consume, void *context)
{
    int64_t index[TENSOR_DIMS_MAX] = {0};
    int64_t at[PROGRAM_INPUTS + PROGRAM_EXTRAS] = {0};
    int64_t total = 1;
    int64_t run, done = 0;
    size_t element = gr_tensor_element(p->dtype);
    bool plain, stream;
    char *own, *tiles;

    collapse(p);
    for (int d = 0; d < p->walk_dims; d++) {
        total *= p->extent[d];
    }
    if (total == 0) {
        return;
    }
    if (out == NULL && has_rows(p)) {
        run_rows(p, context);
        return;
    }
    tiles = consume == NULL ? repeat_short_rows(p) : NULL;
    run = p->extent[p->walk_dims - 1];
    plain = p->result >= p->input_count && (gr_dtype_is_float(p->dtype) || element >= 8);
    stream = total * (int64_t)element >= STREAM_BYTES;
    own = p->values[p->result].block;
    do {
        for (int64_t from = 0; from < run; from += PROGRAM_BLOCK) {
            int64_t rest = run - from < total - done ? run - from : total - done;
            int64_t n = rest < PROGRAM_BLOCK ? rest : PROGRAM_BLOCK;
            char *to = out == NULL ? NULL : (char *)out + (size_t)done * element;

            inputs_load(p, at, from, n, from == 0 && (tiles == NULL || done == 0));
            if (plain && to != NULL && !stream) {
                p->values[p->result].block = to;
            }
            for (int s = 0; s < p->step_count; s++) {
                apply(p, &p->steps[s], n);
            }
            if (to != NULL && plain && stream) {
                SIMD_CALL(tensor_stream)(to, p->values[p->result].block, n * (int64_t)element);
            } else if (to != NULL && !plain) {
                SIMD_CALL(tensor_lane_store)(p->dtype, to, p->values[p->result].block, n);
            }
            if (consume != NULL) {
                int64_t extras[PROGRAM_EXTRAS], steps[PROGRAM_EXTRAS];

                for (int e = 0; e < PROGRAM_EXTRAS; e++) {
                    steps[e] = p->stride[PROGRAM_INPUTS + e][p->walk_dims - 1];
                    extras[e] = at[PROGRAM_INPUTS + e] + from * steps[e];
                }
                consume(context, extras, steps, p->values[p->result].block, p->values[p->result].lane, n);
            }
            done += n;
        }
    } while (next_run(p, index, at));
    if (plain) {
        p->values[p->result].block = own;
    }
    free(tiles);
}
