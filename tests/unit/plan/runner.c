#include "runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "data/layout/packed.h"

/* Every value made in a world, until it ends: later ones may borrow from earlier ones. */
struct values {
    struct gr_value **all; /* in order of making, with how many they are */
    size_t *counts;
    size_t count;
    size_t room;
};

static struct gr_value *
values_make(struct values *values, size_t count)
{
    if (values->count == values->room) {
        values->room = values->room == 0 ? 64 : values->room * 2;
        values->all = realloc(values->all, values->room * sizeof *values->all);
        values->counts = realloc(values->counts, values->room * sizeof *values->counts);
    }
    values->counts[values->count] = count;
    values->all[values->count] = calloc(count + 1, sizeof **values->all);
    return values->all[values->count++];
}

static void
values_free(struct values *values)
{
    while (values->count > 0) {
        values->count--;
        for (size_t i = 0; i < values->counts[values->count]; i++) {
            gr_value_free(&values->all[values->count][i]);
        }
        free(values->all[values->count]);
    }
    free(values->all);
    free(values->counts);
    *values = (struct values){0};
}

static void
fail_done(Granary__Done *done, granary_err err, const Granary__ChunkOp *op)
{
    char text[1200];

    (void)snprintf(text, sizeof text, "node '%s' (%s): %s", op->node, op->op, granary_error_message());
    done->err = err;
    done->message = strdup(text);
}

/* The function of random pipelines: an assign; what it gives must be what was declared. */
static granary_err
run_compute(struct gr_kernel_call *call)
{
    const Granary__Attr *params = gr_attr_find(call->op->attrs, call->op->n_attrs, "params");
    const Granary__Attr *declared = gr_attr_find(call->op->attrs, call->op->n_attrs, "columns");
    Granary__Attr *columns = gr_attr_new_map("columns", &params->strings[0], &params->strings[1], 1);
    Granary__ChunkOp assign = GRANARY__CHUNK_OP__INIT;
    const Granary__ChunkOp *op = call->op;
    granary_err err;

    assert_string_equal(params->keys[0], "column");
    assign.attrs = &columns;
    assign.n_attrs = 1;
    call->op = &assign;
    err = gr_kernel_find("assign")(call);
    call->op = op;
    granary__attr__free_unpacked(columns, NULL);
    if (err == GRANARY_OK) {
        assert_int_equal(granary_frame_columns(call->outputs[0].frame), declared->n_keys);
    }
    for (size_t i = 0; err == GRANARY_OK && i < declared->n_keys; i++) {
        const granary_column *column = granary_frame_column(call->outputs[0].frame, i);

        assert_string_equal(column->name, declared->keys[i]);
        assert_string_equal(granary_dtype_name(column->dtype), declared->strings[i]);
    }
    return err;
}

/* Frame i of a packed object; it lives as long as the world. */
static struct gr_value
frame_unpacked(struct world *world, const struct gr_value *packed, uint32_t i)
{
    struct gr_value *opened = values_make(world->user, 1);
    const char *bytes = packed->bytes;
    struct gr_packed_entry entry;

    assert_int_equal(packed->kind, GR_VALUE_BYTES);
    assert_int_equal(gr_packed_check(bytes, bytes + gr_packed_entry_at(i), i, packed->bytes_size, &entry), GRANARY_OK);
    assert_int_equal(gr_packed_open(bytes + entry.data_offset, &entry, &opened->frame), GRANARY_OK);
    opened->kind = GR_VALUE_FRAME;
    return *opened;
}

static granary_err
run_op(struct world *world, const Granary__ChunkOp *op, struct gr_value **locals, struct gr_value *outputs,
       Granary__Done *done)
{
    struct gr_value *inputs = calloc(op->n_inputs + 1, sizeof *inputs);
    struct gr_buf answer = {0};
    struct gr_kernel_call call = {.op = op,
                                  .inputs = inputs,
                                  .input_count = op->n_inputs,
                                  .outputs = outputs,
                                  .output_count = op->n_outputs,
                                  .answer = &answer,
                                  .find = gr_kernel_find};
    granary_err err;

    for (size_t k = 0; k < op->n_inputs; k++) {
        const Granary__Operand *operand = op->inputs[k];

        if (operand->object.len == 0) {
            inputs[k] = locals[operand->op][operand->output];
        } else {
            inputs[k] = *(struct gr_value *)world_find(world, operand->object.data)->value;
        }
        if (operand->part > 0) {
            inputs[k] = frame_unpacked(world, &inputs[k], operand->part - 1);
        }
    }
    err = strcmp(op->op, "call") == 0 ? run_compute(&call) : gr_kernel_find(op->op)(&call);
    if (err == GRANARY_OK && answer.size > 0) {
        done->inlines = realloc(done->inlines, (done->n_inlines + 1) * sizeof *done->inlines);
        done->inlines[done->n_inlines].len = answer.size;
        done->inlines[done->n_inlines++].data = (uint8_t *)gr_buf_take(&answer);
    }
    gr_buf_free(&answer);
    free(inputs);
    return err;
}

void
runner_run(struct world *world, const Granary__Subtask *subtask, Granary__Done *done)
{
    struct gr_value **locals = calloc(subtask->n_ops, sizeof *locals);

    for (size_t i = 0; i < subtask->n_ops; i++) {
        const Granary__ChunkOp *op = subtask->ops[i];
        granary_err err;

        locals[i] = values_make(world->user, op->n_outputs);
        err = run_op(world, op, locals, locals[i], done);
        if (err != GRANARY_OK) {
            fail_done(done, err, op);
            break;
        }
        for (size_t o = 0; o < op->n_outputs; o++) {
            if (op->outputs[o].len > 0) {
                world_find(world, op->outputs[o].data)->value = &locals[i][o];
            }
        }
    }
    free(locals);
}

void
runner_init(struct world *world)
{
    world->user = calloc(1, sizeof(struct values));
    world->run = runner_run;
}

void
runner_reset(struct world *world)
{
    values_free(world->user);
    world_reset(world);
}

void
runner_fini(struct world *world)
{
    values_free(world->user);
    free(world->user);
    world->user = NULL;
}

/* ---- targets as text ---- */

static void
print_cell(const granary_column *column, int64_t row, struct gr_buf *out)
{
    const char *text;
    size_t length;

    if (gr_is_null(column, row)) {
        gr_buf_addf(out, "|null");
        return;
    }
    switch (column->dtype) {
    case GRANARY_BOOL:
        gr_buf_addf(out, "|%d", gr_bit(column->values, row));
        break;
    case GRANARY_FLOAT64:
        gr_buf_addf(out, "|%a", ((const double *)column->values)[row]);
        break;
    case GRANARY_DATE:
        gr_buf_addf(out, "|%d", ((const int32_t *)column->values)[row]);
        break;
    case GRANARY_STRING:
        gr_buf_addf(out, "|");
        text = gr_text_at(column, row, &length);
        gr_buf_add(out, text, length);
        break;
    case GRANARY_NULLTYPE:
        gr_buf_addf(out, "|null");
        break;
    default:
        gr_buf_addf(out, "|%lld", (long long)((const int64_t *)column->values)[row]);
    }
}

static void
print_frame(const granary_frame *frame, bool with_names, struct gr_buf *out)
{
    for (size_t c = 0; c < frame->count && with_names; c++) {
        gr_buf_addf(out, "%s:%s ", frame->columns[c].view.name, granary_dtype_name(frame->columns[c].view.dtype));
    }
    gr_buf_addf(out, "%s", with_names ? "\n" : "");
    for (int64_t row = 0; row < frame->rows; row++) {
        for (size_t c = 0; c < frame->count; c++) {
            print_cell(&frame->columns[c].view, row, out);
        }
        gr_buf_addf(out, "\n");
    }
}

char *
runner_text(struct world *world, const char *target)
{
    Granary__Result *result = world_result(world, target);
    struct gr_buf out = {0};

    assert_false(result->is_tensor);
    for (size_t i = 0; i < result->n_chunks; i++) {
        struct world_object *object = world_find(world, result->chunks[i]->id.data);

        assert_non_null(object);
        print_frame(((struct gr_value *)object->value)->frame, i == 0, &out);
    }
    granary__result__free_unpacked(result, NULL);
    return gr_buf_take(&out);
}
