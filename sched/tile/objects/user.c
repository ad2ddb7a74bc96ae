/* User code, objects that are there already, and arrays. */
#include <string.h>

#include "base/id.h"
#include "graph/user/user.h"
#include "tile/core/rules.h"

/* What an object of a function that has not run yet is taken for. */
#define OBJECT_BYTES 65536

/* The pieces of all inputs, in order. NULL: no memory */
static const struct gr_piece *
gather_inputs(struct tiling *t, size_t i, size_t *ret_count)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_piece *pieces;
    size_t count = 0;

    for (size_t k = 0; k < step->input_count; k++) {
        count += t->tiled[step->inputs[k]].count;
    }
    pieces = tiling_scratch(t, count, sizeof *pieces);
    *ret_count = 0;
    for (size_t k = 0; pieces != NULL && k < step->input_count; k++) {
        const struct gr_tiled *input = &t->tiled[step->inputs[k]];

        memcpy(pieces + *ret_count, input->pieces, input->count * sizeof *pieces);
        *ret_count += input->count;
    }
    return pieces;
}

static void
add_count(struct tiling *t, gr_attrs shared, uint64_t count)
{
    gr_attrs_add(t->chunks, shared, gr_attr_new_int("count", (int64_t)count));
}

/* ---- objects ---- */

granary_err
tile_object(struct tiling *t, size_t i)
{
    const Granary__Attr *ids = gr_step_attr(&t->steps->steps[i], "ids");
    struct gr_tiled *out = &t->tiled[i];
    struct gr_piece first;
    granary_err err = tiled_init(t, out, ids->n_strings, false);

    if (err == GRANARY_OK) {
        err = tile_objects(t, i, ids, &first);
    }
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        out->pieces[n] = (struct gr_piece){.op = first.op, .output = (uint32_t)n};
    }
    return err;
}

/* ---- functions ---- */

static gr_attrs
function_attrs(struct tiling *t, size_t i)
{
    const struct gr_function_name *name = &t->sources->functions[i]->name;
    gr_attrs attrs = tiling_attrs(t, i, NAMES("params"));

    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("library", name->library));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("version", name->version));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("function", name->name));
    return attrs;
}

/* An array of operators that all read the same. */
static granary_err
tile_calls(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs shared, uint32_t outputs,
           const struct gr_piece *inputs, size_t input_count)
{
    const struct gr_params_call *params = GR_STEP_PARAMS(call, &t->steps->steps[i]); /* exec has these, too */
    size_t count = (size_t)params->count;
    size_t block = (size_t)params->block;
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = tiled_init(t, out, count * outputs, false);

    if (err == GRANARY_OK && count > 1) {
        add_count(t, shared, count);
    }
    for (size_t n = 0; n < count && err == GRANARY_OK; n++) {
        struct gr_chunk_spec spec = {.op = op,
                                     .joins = n % block != 0,
                                     .step = (uint32_t)i,
                                     .shared = shared,
                                     .own = count > 1 ? tiling_number(t, "index", n) : 0,
                                     .inputs = inputs,
                                     .input_count = input_count,
                                     .outputs = outputs,
                                     .bytes = (uint64_t)OBJECT_BYTES * outputs};
        struct gr_piece first = gr_chunks_add(t->chunks, &spec);

        for (uint32_t o = 0; o < outputs; o++) {
            out->pieces[n * outputs + o] = (struct gr_piece){.op = first.op, .output = o};
            out->bytes[n * outputs + o] = OBJECT_BYTES;
        }
        err = gr_chunks_error(t->chunks);
    }
    return err;
}

granary_err
tile_call(struct tiling *t, size_t i)
{
    size_t count;
    const struct gr_piece *inputs = gather_inputs(t, i, &count);
    granary_err err = inputs == NULL ? tile_no_memory() : gr_function_check_inputs(t->sources->functions[i], count);

    return err != GRANARY_OK ? err
                             : tile_calls(t, i, GR_CHUNK_call, function_attrs(t, i), t->sources->functions[i]->outputs,
                                          inputs, count);
}

granary_err
tile_exec(struct tiling *t, size_t i)
{
    size_t count;
    const struct gr_piece *inputs = gather_inputs(t, i, &count);

    return inputs == NULL
               ? tile_no_memory()
               : tile_calls(t, i, GR_CHUNK_exec, tiling_attrs(t, i, NAMES("command", "params")), 1, inputs, count);
}

/* What a frame must look like that the function gives. */
static void
add_columns(struct tiling *t, const struct gr_schema *schema, gr_attrs attrs)
{
    char **names = tiling_scratch(t, schema->count, sizeof *names);
    char **dtypes = tiling_scratch(t, schema->count, sizeof *dtypes);

    for (size_t c = 0; names != NULL && dtypes != NULL && c < schema->count; c++) {
        names[c] = schema->fields[c].name;
        dtypes[c] = (char *)(uintptr_t)granary_dtype_name(schema->fields[c].dtype); /* copied, not written */
    }
    gr_attrs_add(t->chunks, attrs,
                 names == NULL || dtypes == NULL ? NULL : gr_attr_new_map("columns", names, dtypes, schema->count));
}

/* Room for as many pieces as the input has, of the same kind. */
static granary_err
init_same(struct tiling *t, size_t i, const struct gr_tiled *in)
{
    struct gr_tiled *out = &t->tiled[i];

    if (in->grid != NULL) {
        return tiled_init_grid(t, out, in->grid->dims, in->grid->shape, in->grid->block);
    }
    return tiled_init(t, out, in->count, t->steps->steps[i].yields == GR_YIELDS_FRAME);
}

granary_err
tile_map_chunk(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = tiling_input(t, i, 0);
    gr_attrs shared = function_attrs(t, i);
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = gr_function_check_inputs(t->sources->functions[i], 1);

    if (err == GRANARY_OK && step->yields == GR_YIELDS_FRAME) {
        add_columns(t, &step->type->schema, shared);
    } else if (err == GRANARY_OK && step->yields == GR_YIELDS_TENSOR) {
        gr_attrs_add(t->chunks, shared, gr_attr_new_string("dtype", granary_dtype_name(step->type->dtype)));
    }
    if (err == GRANARY_OK) {
        add_count(t, shared, in->count);
        err = init_same(t, i, in);
    }
    for (size_t p = 0; err == GRANARY_OK && p < in->count; p++) {
        const gr_attrs attrs[2] = {shared, tiling_number(t, "index", p)};

        if (out->grid != NULL) {
            int64_t offset[8], size[8];

            grid_block(out->grid, p, offset, size);
            gr_attrs_add(t->chunks, attrs[1], gr_attr_new_ints("shape", size, (size_t)out->grid->dims));
        }
        out->bytes[p] = in->bytes[p] > OBJECT_BYTES ? in->bytes[p] : OBJECT_BYTES;
        out->pieces[p] = tiling_add_own(t, i, GR_CHUNK_call, attrs, &in->pieces[p], 1, out->bytes[p]);
        err = gr_chunks_error(t->chunks);
    }
    return err;
}

/* ---- null: nothing but "after"; reads no bytes ---- */

granary_err
tile_null(struct tiling *t, size_t i)
{
    uint64_t count = (uint64_t)GR_STEP_PARAMS(null, &t->steps->steps[i])->count;
    struct gr_tiled *out = &t->tiled[i];
    struct gr_chunk_spec spec = {.op = GR_CHUNK_null, .step = (uint32_t)i};
    granary_err err;

    spec.inputs = gather_inputs(t, i, &spec.input_count);
    err = spec.inputs == NULL ? tile_no_memory() : GRANARY_OK;
    if (err == GRANARY_OK && count == 1) { /* a graph may have a million of these */
        out->one = gr_chunks_add(t->chunks, &spec);
        out->pieces = &out->one;
        out->count = 1;
    } else if (err == GRANARY_OK) {
        err = tiled_init(t, out, (size_t)((count - 1) / GR_BLOCK_MAX + 1), false);
        spec.shared = gr_chunks_attrs(t->chunks);
        add_count(t, spec.shared, count);
    }
    for (size_t n = 0; count > 1 && n < out->count && err == GRANARY_OK; n++) {
        uint64_t first = (uint64_t)n * GR_BLOCK_MAX;
        uint64_t left = count - first;

        spec.own = tiling_number(t, "index", first);
        gr_attrs_add(t->chunks, spec.own,
                     gr_attr_new_int("instances", (int64_t)(left < GR_BLOCK_MAX ? left : GR_BLOCK_MAX)));
        out->pieces[n] = gr_chunks_add(t->chunks, &spec);
        err = gr_chunks_error(t->chunks);
    }
    return err;
}
