/* Graphs of any operators, run whole on the real kernels: the same targets with the optimiser's rules and without, and
 * however the work is cut. What can be computed without rules can be computed with them; an error in one cutting is one
 * in every other. GRANARY_FUZZ_SHOW=1 prints the graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "data/print/print.h"
#include "fuzz/fuzz.h"
#include "graph/graph.h"
#include "graph_json/json.h"
#include "graph_maker.h"
#include "unit/plan/optimized.h"
#include "unit/plan/runner.h"

#define ELEMENTS_MAX 4096 /* of a tensor */
#define ROWS_MAX     20000

struct way {
    int64_t chunk_bytes;
    uint64_t memory_bytes;
    uint32_t without_rules;
    bool written; /* the graph that rules make of it */
};

static struct world world;

static void
forget_world(void)
{
    runner_fini(&world);
    world_fini(&world);
}

static void
make_world(void)
{
    world_init(&world);
    runner_init(&world);
    world_file(&world, "rows.csv",
               "name,g,n,x,day,flag\n"
               "one,g1,1,0.5,1990-01-01,true\n"
               "two,g2,2,-1.5,1990-01-02,false\n"
               "\"a,b\",g1,3,2.5,1990-01-02,true\n"
               ",g3,,nan,,\n"
               "five,,5,1e300,1999-12-31,false\n"
               "six,g2,-6,,2000-02-29,true\n"
               "one,g1,1,0.5,1990-01-01,true\n"
               "ae\xc3\xa9,g7,9223372036854775807,inf,1990-01-01,\n"
               "nine,g3,0,-0.0,1969-12-31,false\n"
               "ten,g1,10,100.25,2024-06-30,true\n"
               "two,g2,2,0.1,1990-01-02,false\n");
    world_file(&world, "groups.csv", "g,label,n\ng1,one,1\ng3,three,3\ng1,uno,10\n,none,0\ng9,nine,\n");
    (void)atexit(forget_world);
}

/* ---- targets as text ---- */

static void
print_frames(const Granary__Result *result, struct gr_buf *out)
{
    int64_t row = 0;

    for (size_t i = 0; i < result->n_chunks; i++) {
        const struct gr_value *value = world_find(&world, result->chunks[i]->id.data)->value;
        const granary_frame *frame = value->frame;

        for (size_t c = 0; i == 0 && c < frame->count; c++) {
            gr_buf_addf(out, "%s:%s ", frame->columns[c].view.name, granary_dtype_name(frame->columns[c].view.dtype));
        }
        for (int64_t r = 0; r < frame->rows; r++, row++) {
            gr_buf_addf(out, "\n");
            for (size_t c = 0; c < frame->count; c++) {
                const granary_column *column = &frame->columns[c].view;

                gr_buf_addf(out, "|");
                if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, r)) {
                    gr_buf_addf(out, "-");
                } else {
                    gr_value_format(column, r, out);
                }
            }
        }
    }
    gr_buf_addf(out, "\n%lld rows\n", (long long)row);
}

static void
print_element(const granary_tensor *tensor, int64_t at, struct gr_buf *out)
{
    granary_column column = {.dtype = tensor->dtype, .rows = at + 1, .values = tensor->values};

    if (tensor->dtype == GRANARY_BOOL) {
        gr_buf_addf(out, " %d", ((const uint8_t *)tensor->values)[at]);
    } else {
        gr_buf_addf(out, " ");
        gr_value_format(&column, at, out);
    }
}

/* Element by element in row-major order: `at` is a position along each dimension. */
static void
print_position(const Granary__Result *result, const int64_t *at, struct gr_buf *out)
{
    size_t chunk = 0;
    int64_t inner = 0;
    const granary_tensor *tensor;
    int64_t begins[8];

    for (size_t d = 0; d < result->n_shape; d++) {
        begins[d] = at[d] / (result->block[d] > 0 ? result->block[d] : 1);
        chunk = chunk * (size_t)result->splits[d] + (size_t)begins[d];
    }
    if (chunk >= result->n_chunks) {
        abort();
    }
    tensor = &((const struct gr_value *)world_find(&world, result->chunks[chunk]->id.data)->value)->tensor.view;
    for (size_t d = 0; d < result->n_shape; d++) {
        inner = inner * tensor->shape[d] + (at[d] - begins[d] * result->block[d]);
    }
    print_element(tensor, inner, out);
}

static void
print_tensors(const Granary__Result *result, struct gr_buf *out)
{
    int64_t at[8] = {0};
    int64_t count = 1;

    gr_buf_addf(out, "%s", result->dtype);
    for (size_t d = 0; d < result->n_shape; d++) {
        gr_buf_addf(out, ",%lld", (long long)result->shape[d]);
        count *= result->shape[d];
    }
    gr_buf_addf(out, ":");
    for (int64_t i = 0; i < count && result->n_block == result->n_shape; i++) {
        print_position(result, at, out);
        for (size_t d = result->n_shape; d-- > 0 && ++at[d] == result->shape[d];) {
            at[d] = 0;
        }
    }
    gr_buf_addf(out, "\n");
}

static char *
targets_text(void)
{
    struct gr_buf out = {0};

    for (size_t i = 0; i < gr_plan_target_count(world.plan); i++) {
        Granary__Result *result = world_result(&world, gr_plan_target_name(world.plan, i));

        gr_buf_addf(&out, "%s ", gr_plan_target_name(world.plan, i));
        if (result->is_tensor) {
            print_tensors(result, &out);
        } else if (!result->is_objects) {
            print_frames(result, &out);
        }
        granary__result__free_unpacked(result, NULL);
    }
    return gr_buf_take(&out);
}

/* ---- runs ---- */

/* The text of all targets; NULL: it failed, and the message tells why. */
static char *
run_in(const char *json, const struct way *way, granary_err *ret_err)
{
    char *optimized = NULL;
    char *text = NULL;

    world.options.chunk_bytes = way->chunk_bytes;
    world.options.memory_bytes = way->memory_bytes;
    world.options.without_rules = way->without_rules;
    *ret_err = world_plan(&world, json);
    if (*ret_err == GRANARY_OK) {
        *ret_err = world_run(&world);
    }
    if (*ret_err == GRANARY_OK && way->written) {
        optimized = world_optimized(&world);
        runner_reset(&world);
        *ret_err = optimized == NULL ? GRANARY_EFAILED : world_plan(&world, optimized);
        *ret_err = *ret_err == GRANARY_OK ? world_run(&world) : *ret_err;
    }
    if (*ret_err == GRANARY_OK) {
        text = targets_text();
    }
    free(optimized);
    runner_reset(&world);
    return text;
}

/* What there are types for is small: larger things only take time. */
static bool
is_small(const char *json)
{
    Granary__Graph *message = NULL;
    struct gr_graph *graph = NULL;
    bool small = gr_graph_from_json(json, strlen(json), &message) == GRANARY_OK;

    if (!small) {
        return false;
    }
    if (gr_graph_create(message, &graph) != GRANARY_OK) {
        granary__graph__free_unpacked(message, NULL);
        return false;
    }
    (void)gr_graph_infer(graph);
    for (size_t i = 0; i < graph->count && small; i++) {
        const struct gr_node_type *type = &graph->nodes[i]->type;
        int64_t elements = 1;

        for (int d = 0; d < type->dims && type->is_tensor && small; d++) {
            elements *= type->shape[d] > 1 ? type->shape[d] : 1;
            small = elements <= ELEMENTS_MAX;
        }
    }
    gr_graph_destroy(graph);
    return small;
}

/* Operators whose sums of products are rounded as the library that computes them likes, which depends on the blocks. */
static bool
is_rounded(const char *json)
{
    static const char *const ops[] = {"matmul", "inner",  "\"dot", "vdot",   "tensordot", "einsum",     "norm",
                                      "cov",    "\"corr", "qr",    "svd",    "cholesky",  "pinv",       "det",
                                      "inv",    "solve",  "lstsq", "\"lu\"", "eigh",      "matrix_rank"};
    bool rounded = false;

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        rounded = rounded || strstr(json, ops[i]) != NULL;
    }
    return rounded;
}

static void
differ(const char *json, const char *what, const char *one, const char *other)
{
    (void)fprintf(stderr, "%s\n%s:\n%s\nand:\n%s\n", json, what, one, other);
    abort();
}

static void
compare(const char *json)
{
    static const struct way ways[] = {
        {1 << 30, 0, UINT32_MAX, false}, {1 << 30, 0, 0, false},     {64, 0, 0, false},
        {200, 4096, 0, false},           {16, 0, UINT32_MAX, false}, {1 << 30, 0, 0, true}};
    char *want = NULL;
    char why[512];
    granary_err whole = GRANARY_OK;

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        granary_err err;
        char *text = run_in(json, &ways[i], &err);

        if (i == 0 || (i == 1 && whole != GRANARY_OK)) { /* a rule may leave out what fails */
            free(want);
            want = text;
            whole = err;
            (void)snprintf(why, sizeof why, "%s", granary_error_message());
            if (i == 0 && err == GRANARY_OK && strlen(text) > 20 * ROWS_MAX) {
                break;
            }
            continue;
        }
        if (i == 4 && (whole == GRANARY_OK) != (err == GRANARY_OK)) {
            free(text); /* with rules it was no error */
            continue;
        }
        if (whole == GRANARY_OK && err != GRANARY_OK) {
            differ(json, "computed in one way, not in another", want, granary_error_message());
        } else if (whole != GRANARY_OK && err == GRANARY_OK) {
            differ(json, "an error in one way, none in another", why, text);
        } else if (text != NULL && strcmp(text, want) != 0 && !is_rounded(json)) {
            differ(json, "results differ", want, text);
        }
        free(text);
    }
    free(want);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct choices choices = {.bytes = bytes, .left = size};
    struct gr_buf json = {0};

    if (world.directory[0] == '\0') {
        make_world();
    }
    make_graph(&choices, &json);
    if (getenv("GRANARY_FUZZ_SHOW") != NULL) {
        (void)fprintf(stderr, "%s\n", json.bytes);
    }
    if (is_small(json.bytes)) {
        compare(json.bytes);
    }
    gr_buf_free(&json);
    return 0;
}
