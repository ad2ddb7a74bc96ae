/*
 * Which columns of a spilled input are read, and which of a file are read first. Tables with columns that nobody wants are read by select, filter, concat and
 * join_probe alone (tile/core/tiled.h: wide), which name the columns. Of other inputs all is wanted.
 */
#include "executor/subtask/wanted.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/chunk/ops.h"
#include "graph/expr.h"
#include "graph/params.h"

void
wanted_fini(struct wanted *columns)
{
    gr_schema_free(&columns->schema);
    free(columns->entries);
    free(columns->wanted);
}

granary_err
wanted_init(struct wanted *columns, const void *meta, uint64_t meta_size, uint64_t data_size)
{
    struct gr_directory_reader reader;
    granary_err err = gr_directory_open(meta, meta_size, data_size, &reader);

    *columns = (struct wanted){.entries = NULL};
    if (err != GRANARY_OK) {
        return err;
    }
    columns->entries = calloc((size_t)reader.head.columns + 1, sizeof *columns->entries);
    columns->wanted = calloc((size_t)reader.head.columns + 1, sizeof *columns->wanted);
    err = columns->entries == NULL || columns->wanted == NULL ? gr_fail(GRANARY_ENOMEM, "columns of an input")
                                                              : GRANARY_OK;
    for (size_t i = 0; err == GRANARY_OK && i < reader.head.columns; i++) {
        const char *name;

        err = gr_directory_next(&reader, &name, &columns->entries[i]);
        err = err == GRANARY_OK ? gr_schema_add(&columns->schema, name, GRANARY_NULLTYPE) : err;
    }
    return err;
}

static void
want_all(struct wanted *columns)
{
    memset(columns->wanted, true, columns->schema.count * sizeof *columns->wanted);
}

bool
wanted_is_all(const struct wanted *columns)
{
    size_t count = 0;

    while (count < columns->schema.count && columns->wanted[count]) {
        count++;
    }
    return count == columns->schema.count;
}

static void
want_names(struct wanted *columns, const Granary__Attr *names)
{
    for (size_t i = 0; names != NULL && i < names->n_strings; i++) {
        int at = gr_schema_find(&columns->schema, names->strings[i]);

        if (at >= 0) {
            columns->wanted[at] = true;
        }
    }
}

/* What does not parse wants nothing: the operator will say so. */
static void
want_expression(struct wanted *columns, const char *text)
{
    struct gr_expr *expr = NULL;

    if (text != NULL && gr_expr_parse(text, &expr) == GRANARY_OK) {
        gr_expr_columns(expr, &columns->schema, columns->wanted);
    }
    gr_expr_destroy(expr);
}

/* "probe.NAME" among a map's values: columns of the probing side. */
static void
want_probed(struct wanted *columns, const Granary__Attr *map)
{
    static const char side[] = "probe.";

    for (size_t i = 0; map != NULL && i < map->n_strings; i++) {
        int at = strncmp(map->strings[i], side, sizeof side - 1) != 0
                     ? -1
                     : gr_schema_find(&columns->schema, map->strings[i] + sizeof side - 1);

        if (at >= 0) {
            columns->wanted[at] = true;
        }
    }
}

static void
want_join_probe(struct wanted *columns, const struct gr_chunk_join_probe *params, size_t input)
{
    if (input >= (size_t)params->probes) {
        want_all(columns);
        return;
    }
    want_names(columns, params->keys);
    want_probed(columns, params->result);
    want_probed(columns, params->where_columns);
    want_expression(columns, params->filter);
}

static void
want_filter(struct wanted *columns, const struct gr_chunk_filter *params)
{
    if (params->select == NULL) {
        want_all(columns);
        return;
    }
    want_names(columns, params->select);
    want_expression(columns, params->where);
    for (size_t i = 0; params->columns != NULL && i < params->columns->n_strings; i++) {
        want_expression(columns, params->columns->strings[i]);
    }
}

/* The parameters of an operator on chunks, as its kernel gets them. */
#define PARAMS_OF(name, op, params)                                                                                    \
    (gr_params_read(gr_chunk_params_of(GR_CHUNK_##name), (op)->attrs, (op)->n_attrs, (params)) == GRANARY_OK)

/* What an operator reads of its input. What is wrong with its parameters the operator will say. */
static void
want_for(struct wanted *columns, const Granary__ChunkOp *op, size_t input)
{
    struct gr_chunk_select select = {.given = 0};
    struct gr_chunk_concat concat = {.given = 0};
    struct gr_chunk_filter filter = {.given = 0};
    struct gr_chunk_join_probe probe = {.given = 0};
    int which = gr_chunk_op_find(op->op);

    if (which == GR_CHUNK_select && PARAMS_OF(select, op, &select)) {
        want_names(columns, select.columns);
    } else if (which == GR_CHUNK_concat && PARAMS_OF(concat, op, &concat) && concat.columns != NULL) {
        want_names(columns, concat.columns);
    } else if (which == GR_CHUNK_filter && PARAMS_OF(filter, op, &filter)) {
        want_filter(columns, &filter);
    } else if (which == GR_CHUNK_join_probe && PARAMS_OF(join_probe, op, &probe)) {
        want_join_probe(columns, &probe, input);
    } else {
        want_all(columns);
    }
}

void
wanted_by_all(const struct run *run, size_t position, struct wanted *columns)
{
    const struct input *input = &run->inputs[position];

    for (size_t o = 0; o < run->subtask->n_ops; o++) {
        const Granary__ChunkOp *op = run->subtask->ops[o];

        for (size_t i = 0; i < op->n_inputs; i++) {
            if (is_object(op->inputs[i]) && op->inputs[i]->part == input->part &&
                memcmp(op->inputs[i]->object.data, input->id.bytes, sizeof input->id.bytes) == 0) {
                want_for(columns, op, i);
            }
        }
    }
}

/* The one operator that reads what that one yields, and which nobody keeps. NULL: there are others, or none */
static const Granary__ChunkOp *
only_reader(const struct run *run, size_t position)
{
    const Granary__Subtask *subtask = run->subtask;
    const Granary__ChunkOp *reader = NULL;
    size_t count = subtask->ops[position]->n_outputs == 1 && subtask->ops[position]->outputs[0].len == 0 ? 0 : 2;

    for (size_t o = position + 1; o < subtask->n_ops; o++) {
        for (size_t i = 0; i < subtask->ops[o]->n_inputs; i++) {
            const Granary__Operand *operand = subtask->ops[o]->inputs[i];

            if (!is_object(operand) && operand->op == position) {
                count += i == 0 ? 1 : 2;
                reader = subtask->ops[o];
            }
        }
    }
    return count == 1 ? reader : NULL;
}

bool *
wanted_first(const struct run *run, size_t position)
{
    const Granary__ChunkOp *op = run->subtask->ops[position];
    const Granary__ChunkOp *reader = strcmp(op->op, "parquet_read") == 0 ? only_reader(run, position) : NULL;
    struct gr_chunk_parquet_read read = {.given = 0};
    struct gr_chunk_join_probe probe = {.given = 0};
    struct wanted columns = {.entries = NULL};
    bool *first = NULL;
    bool good = reader != NULL && strcmp(reader->op, "join_probe") == 0 && PARAMS_OF(join_probe, reader, &probe) &&
                probe.probes == 1 && PARAMS_OF(parquet_read, op, &read);

    for (size_t i = 0; good && i < read.columns->n_strings; i++) {
        good = gr_schema_add(&columns.schema, read.columns->strings[i], GRANARY_NULLTYPE) == GRANARY_OK;
    }
    columns.wanted = good ? calloc(columns.schema.count + 1, sizeof *columns.wanted) : NULL;
    if (columns.wanted != NULL) {
        want_names(&columns, probe.keys);
        want_expression(&columns, probe.filter);
    }
    if (columns.wanted != NULL && !wanted_is_all(&columns)) {
        first = columns.wanted;
        columns.wanted = NULL;
    }
    wanted_fini(&columns);
    return first;
}
