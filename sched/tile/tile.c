#include "tile/tile.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tile/rules.h"

#define OP(name, yields, min_inputs, max_inputs, summary) [GR_TILE_##name] = tile_##name,
#define PARAM(op, name, kind, need, summary)
static tile_rule *const rules[GR_TILE_COUNT] = {
#include "contract/ops.def"
};
#undef OP
#undef PARAM

granary_err
tiled_init(struct gr_tiled *tiled, size_t count, bool is_frame)
{
    *tiled = (struct gr_tiled){.count = count};
    tiled->pieces = calloc(count + 1, sizeof *tiled->pieces);
    tiled->bytes = calloc(count + 1, sizeof *tiled->bytes);
    if (is_frame) {
        tiled->rows = malloc((count + 1) * sizeof *tiled->rows);
        for (size_t i = 0; tiled->rows != NULL && i < count; i++) {
            tiled->rows[i] = -1;
        }
    }
    if (tiled->pieces == NULL || tiled->bytes == NULL || (is_frame && tiled->rows == NULL)) {
        tiled_fini(tiled);
        return gr_fail(GRANARY_ENOMEM, "%zu chunks: out of memory", count);
    }
    return GRANARY_OK;
}

void
tiled_fini(struct gr_tiled *tiled)
{
    if (tiled->pieces != &tiled->one) {
        free(tiled->pieces);
    }
    free(tiled->bytes);
    free(tiled->rows);
    free(tiled->grid);
    *tiled = (struct gr_tiled){0};
}

void
gr_tiled_free(struct gr_tiled *tiled, size_t count)
{
    for (size_t i = 0; tiled != NULL && i < count; i++) {
        tiled_fini(&tiled[i]);
    }
    free(tiled);
}

uint64_t
bytes_sum(const uint64_t *bytes, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += bytes[i];
    }
    return sum;
}

uint64_t
bytes_max(const uint64_t *bytes, size_t count)
{
    uint64_t max = 0;

    for (size_t i = 0; i < count; i++) {
        max = bytes[i] > max ? bytes[i] : max;
    }
    return max;
}

gr_attrs
tiling_attrs(struct tiling *t, size_t i, const char *const *names, size_t count)
{
    gr_attrs set = gr_chunks_attrs(t->chunks);

    for (size_t n = 0; n < count; n++) {
        const Granary__Attr *attr = gr_step_attr(&t->steps->steps[i], names[n]);

        if (attr != NULL) {
            gr_attrs_add(t->chunks, set, gr_attr_copy(attr));
        }
    }
    return set;
}

struct gr_piece
tiling_add(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs shared, const struct gr_piece *inputs,
           size_t input_count, uint64_t bytes)
{
    struct gr_chunk_spec spec = {.op = op,
                                 .step = (uint32_t)i,
                                 .shared = shared,
                                 .inputs = inputs,
                                 .input_count = input_count,
                                 .outputs = 1,
                                 .bytes = bytes};

    return gr_chunks_add(t->chunks, &spec);
}

size_t
tiling_tree(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs attrs, struct gr_piece *pieces, uint64_t *bytes,
            size_t count, size_t fan_in, enum tile_growth growth)
{
    while (count > fan_in) {
        size_t made = 0;

        for (size_t from = 0; from < count; from += fan_in) {
            size_t many = count - from < fan_in ? count - from : fan_in;
            uint64_t size = growth == TILE_SUM ? bytes_sum(bytes + from, many) : bytes_max(bytes + from, many);

            pieces[made] = many == 1 ? pieces[from] : tiling_add(t, i, op, attrs, pieces + from, many, size);
            bytes[made++] = size;
        }
        count = made;
    }
    return count;
}

/* The input's pieces through a select of the columns that are read. */
static granary_err
narrow_input(struct tiling *t, size_t i, size_t k)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_step *from = &t->steps->steps[step->inputs[k]];
    const struct gr_tiled *input = &t->tiled[step->inputs[k]];
    const struct gr_schema *schema = &from->type->schema;
    size_t count = 0;
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    char **names = calloc(schema->count + 1, sizeof *names);
    granary_err err = tiled_init(&t->scratch[k], input->count, true);

    if (err != GRANARY_OK || names == NULL) {
        free(names);
        return err != GRANARY_OK ? err : gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t c = 0; c < schema->count; c++) {
        if (step->narrow[k][c] && gr_step_yields(from, c)) {
            names[count++] = schema->fields[c].name;
        }
    }
    gr_attrs_add(t->chunks, attrs, gr_attr_new_strings("columns", names, count));
    free(names);
    for (size_t p = 0; p < input->count; p++) {
        t->scratch[k].bytes[p] = input->bytes[p] * count / (gr_step_width(from) + 1) + 1;
        t->scratch[k].rows[p] = input->rows[p];
        t->scratch[k].pieces[p] =
            tiling_add(t, i, GR_CHUNK_select, attrs, &input->pieces[p], 1, t->scratch[k].bytes[p]);
    }
    return GRANARY_OK;
}

const struct gr_tiled *
tiling_input(struct tiling *t, size_t i, size_t k)
{
    const struct gr_step *step = &t->steps->steps[i];

    if (k >= 2 || step->narrow[k] == NULL) {
        return &t->tiled[step->inputs[k]];
    }
    tiled_fini(&t->scratch[k]);
    return narrow_input(t, i, k) == GRANARY_OK ? &t->scratch[k] : NULL;
}

/* What tiling knows by itself. */
const struct gr_measured *
tiling_measured(struct tiling *t, size_t i, size_t k)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *input = &t->tiled[step->inputs[k]];
    struct gr_measured *guess;

    if (k >= 2) {
        return NULL;
    }
    gr_measured_destroy(t->guess[k]);
    t->guess[k] = guess = gr_measured_create(input->count, &t->steps->steps[step->inputs[k]].type->schema);
    if (guess == NULL) {
        t->chunks->failed = GRANARY_ENOMEM;
        return NULL;
    }
    for (size_t p = 0; p < input->count; p++) {
        guess->rows[p] = input->rows[p];
        guess->bytes[p] = input->bytes[p];
    }
    gr_measured_total(guess);
    return guess;
}

granary_err
gr_tile(const struct gr_steps *steps, struct gr_csv *const *csvs, struct gr_function *const *functions,
        const struct gr_tile_options *options, struct gr_chunks *chunks, struct gr_tiled **ret_tiled)
{
    struct tiling t = {.steps = steps, .csvs = csvs, .functions = functions, .options = options, .chunks = chunks};
    granary_err err = GRANARY_OK;

    t.tiled = calloc(steps->count + 1, sizeof *t.tiled);
    if (t.tiled == NULL) {
        return gr_fail(GRANARY_ENOMEM, "tiling a graph of %zu nodes: out of memory", steps->count);
    }
    for (size_t i = 0; i < steps->count && err == GRANARY_OK; i++) {
        const struct gr_step *step = &steps->steps[i];

        if (step->dead) {
            continue;
        }
        err = rules[step->op](&t, i);
        if (err == GRANARY_OK) {
            err = gr_chunks_error(chunks);
        }
        for (size_t k = 0; k < 2; k++) {
            tiled_fini(&t.scratch[k]);
            gr_measured_destroy(t.guess[k]);
            t.guess[k] = NULL;
        }
        if (err != GRANARY_OK) {
            err = gr_fail_in(err, "node '%s' (%s)", step->origin->name, gr_op_info(step->op)->name);
        }
    }
    if (err != GRANARY_OK) {
        gr_tiled_free(t.tiled, steps->count);
        return err;
    }
    *ret_tiled = t.tiled;
    return GRANARY_OK;
}
