/* The columns of frames that are given out: as a schema, and as what every frame of a stream must have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/out/out.h"
#include "base/error.h"

/* ---- shapes ---- */

granary_err
out_shape_of(const granary_frame *frame, struct out_shape *ret_shape)
{
    struct out_shape shape = {.fields = calloc(frame->count + 1, sizeof *shape.fields)};
    bool failed = shape.fields == NULL;

    for (; !failed && shape.count < frame->count; shape.count++) {
        const granary_column *column = &frame->columns[shape.count].view;

        shape.fields[shape.count] = (struct out_field){.name = strdup(column->name),
                                                       .dtype = column->dtype,
                                                       .given = column->dtype,
                                                       .is_encoded = column->dictionary != NULL};
        failed = shape.fields[shape.count].name == NULL;
    }
    if (failed) {
        out_shape_free(&shape);
        return gr_no_memory("an Arrow schema");
    }
    *ret_shape = shape;
    return GRANARY_OK;
}

void
out_shape_free(struct out_shape *shape)
{
    for (size_t i = 0; i < shape->count; i++) {
        free(shape->fields[i].name);
    }
    free(shape->fields);
    *shape = (struct out_shape){.count = 0};
}

/* ---- schemas ---- */

/* As in array.c: every schema is a block of its own, and can be moved out. */
struct schema_block {
    struct ArrowSchema **pointers;
    char *name;
    char format[16];
    struct ArrowSchema schemas[];
};

static void
schema_release(struct ArrowSchema *schema)
{
    struct schema_block *block = schema->private_data;

    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL) {
            schema->children[i]->release(schema->children[i]);
        }
    }
    if (schema->dictionary != NULL && schema->dictionary->release != NULL) {
        schema->dictionary->release(schema->dictionary);
    }
    free(block->name);
    free(block);
    schema->release = NULL;
}

static granary_err
schema_create(size_t below, const char *name, const char *format, int64_t flags, struct ArrowSchema *ret_schema)
{
    struct schema_block *block =
        calloc(1, sizeof *block + below * (sizeof block->schemas[0] + sizeof block->pointers[0]));
    char *copy = strdup(name);

    if (block == NULL || copy == NULL) {
        free(block);
        free(copy);
        return gr_no_memory("an Arrow schema");
    }
    block->name = copy;
    (void)snprintf(block->format, sizeof block->format, "%s", format);
    block->pointers = (struct ArrowSchema **)(void *)(block->schemas + below);
    for (size_t i = 0; i < below; i++) {
        block->pointers[i] = &block->schemas[i];
    }
    *ret_schema = (struct ArrowSchema){
        .format = block->format, .name = copy, .flags = flags, .release = schema_release, .private_data = block};
    return GRANARY_OK;
}

static const char *const formats[] = {
    [GRANARY_NULLTYPE] = "n",   [GRANARY_BOOL] = "b",    [GRANARY_INT8] = "c",
    [GRANARY_UINT8] = "C",      [GRANARY_INT16] = "s",   [GRANARY_UINT16] = "S",
    [GRANARY_INT32] = "i",      [GRANARY_UINT32] = "I",  [GRANARY_INT64] = "l",
    [GRANARY_UINT64] = "L",     [GRANARY_FLOAT32] = "f", [GRANARY_FLOAT64] = "g",
    [GRANARY_STRING] = "u",     [GRANARY_DATE] = "tdD",  [GRANARY_TIMESTAMP] = "tsu:",
    [GRANARY_DURATION] = "tDu", [GRANARY_TIME] = "ttu",  [GRANARY_TIMESTAMPTZ] = "tsu:UTC",
    [GRANARY_BINARY] = "z",
};

bool
out_dtype_of(const char *format, granary_dtype *ret_dtype)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (formats[i] != NULL && strcmp(formats[i], format) == 0) {
            *ret_dtype = (granary_dtype)i;
            return true;
        }
    }
    return false;
}

static void
format_of(granary_dtype dtype, char ret_text[16])
{
    if (gr_dtype_is_list(dtype)) {
        (void)snprintf(ret_text, 16, "+l");
    } else if (gr_dtype_kind(dtype) == GRANARY_DECIMAL) {
        (void)snprintf(ret_text, 16, "d:%d,%d", GRANARY_DECIMAL_DIGITS, gr_dtype_scale(dtype));
    } else {
        (void)snprintf(ret_text, 16, "%s", formats[dtype]);
    }
}

static granary_err
field_schema(const struct out_field *field, struct ArrowSchema *ret_schema)
{
    struct ArrowSchema schema;
    char format[16];
    granary_err err;

    format_of(field->is_encoded ? GRANARY_INT32 : field->given, format);
    err = schema_create(field->is_encoded || gr_dtype_is_list(field->given), field->name, format, ARROW_FLAG_NULLABLE,
                        &schema);
    if (err == GRANARY_OK && gr_dtype_is_list(field->given)) {
        struct schema_block *block = schema.private_data;

        format_of(GRANARY_LIST_ITEM(field->given), format);
        err = schema_create(0, "item", format, ARROW_FLAG_NULLABLE, &block->schemas[0]);
        if (err != GRANARY_OK) {
            schema_release(&schema);
            return err;
        }
        schema.children = block->pointers;
        schema.n_children = 1;
    }
    if (err == GRANARY_OK && field->is_encoded) {
        struct schema_block *block = schema.private_data;

        format_of(field->given, format);
        err = schema_create(0, "", format, ARROW_FLAG_NULLABLE, &block->schemas[0]);
        if (err != GRANARY_OK) {
            schema_release(&schema);
            return err;
        }
        schema.dictionary = &block->schemas[0];
    }
    if (err == GRANARY_OK) {
        *ret_schema = schema;
    }
    return err;
}

granary_err
out_schema(const struct out_shape *shape, struct ArrowSchema *ret_schema)
{
    struct ArrowSchema schema;
    struct schema_block *block;
    granary_err err = schema_create(shape->count, "", "+s", 0, &schema);

    if (err != GRANARY_OK) {
        return err;
    }
    block = schema.private_data;
    schema.children = block->pointers;
    for (size_t i = 0; err == GRANARY_OK && i < shape->count; i++) {
        err = field_schema(&shape->fields[i], schema.children[i]);
        schema.n_children += err == GRANARY_OK;
    }
    if (err != GRANARY_OK) {
        schema_release(&schema);
        return err;
    }
    *ret_schema = schema;
    return GRANARY_OK;
}

/* ---- a frame with the columns of a shape ---- */

static bool
column_fits(const struct out_field *field, const granary_column *column)
{
    return column->dtype == field->given && (column->dictionary != NULL) == field->is_encoded;
}

/* Plain strings with a dictionary. */
static granary_err
encode(const granary_column *column, struct gr_column *ret_column)
{
    struct gr_dictionary *dictionary = NULL;
    struct gr_column entries = {.owned = false};
    struct gr_column codes = {.owned = false};
    bool fits = false;
    granary_err err = gr_dictionaries_join(&column, 1, INT32_MAX, &fits, &entries);

    if (err == GRANARY_OK && !fits) {
        err = gr_fail(GRANARY_EFULL, "more strings than a dictionary can have");
    }
    if (err == GRANARY_OK) {
        err = gr_column_alloc(GRANARY_INT32, column->rows, 0, column->validity != NULL, &codes);
    }
    if (err == GRANARY_OK) {
        err = gr_dictionary_positions(&entries.view, column, (int32_t *)(uintptr_t)codes.view.values);
    }
    err = err == GRANARY_OK ? gr_dictionary_create(&entries, &dictionary) : err;
    if (err != GRANARY_OK) {
        gr_column_free(&entries);
        gr_column_free(&codes);
        return err;
    }
    if (column->validity != NULL) {
        memcpy((void *)(uintptr_t)codes.view.validity, column->validity, (size_t)gr_bitmap_bytes(column->rows));
    }
    gr_column_finish(&codes);
    gr_column_set_dictionary(&codes, dictionary);
    *ret_column = codes;
    return GRANARY_OK;
}

static granary_err
convert(const struct out_field *field, const granary_column *column, struct gr_column *ret_column)
{
    const struct gr_run run = {column, 0, column->rows};
    struct gr_column nulls;
    granary_err err;

    if (column->dtype == GRANARY_NULLTYPE) {
        err = gr_column_concat(&run, 1, field->given, &nulls);
        if (err != GRANARY_OK || !field->is_encoded) {
            *ret_column = err == GRANARY_OK ? nulls : (struct gr_column){.owned = false};
            return err;
        }
        err = encode(&nulls.view, ret_column);
        gr_column_free(&nulls);
        return err;
    }
    if (field->given != column->dtype) {
        return out_widen(column, field->given, ret_column);
    }
    return field->is_encoded ? encode(column, ret_column) : gr_column_decode(column, ret_column);
}

static granary_err
check_columns(const struct out_shape *shape, const granary_frame *frame)
{
    if (frame->count != shape->count) {
        return gr_fail(GRANARY_ETYPE, "a frame of the stream has %zu columns, the first one has %zu: all must agree",
                       frame->count, shape->count);
    }
    for (size_t i = 0; i < shape->count; i++) {
        const granary_column *column = &frame->columns[i].view;

        if (strcmp(column->name, shape->fields[i].name) != 0) {
            return gr_fail(GRANARY_ETYPE,
                           "column %zu is '%s' in a frame of the stream, '%s' in the first one: all must agree", i,
                           column->name, shape->fields[i].name);
        }
        if (column->dtype != shape->fields[i].dtype && column->dtype != GRANARY_NULLTYPE) {
            return gr_fail(GRANARY_ETYPE,
                           "column '%s' is %s in a frame of the stream, %s in the first one: all must agree",
                           column->name, granary_dtype_name(column->dtype), granary_dtype_name(shape->fields[i].dtype));
        }
    }
    return GRANARY_OK;
}

granary_err
out_conform(const struct out_shape *shape, const granary_frame *frame, granary_frame **ret_frame)
{
    granary_frame *other = NULL;
    bool fits = true;
    granary_err err = check_columns(shape, frame);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; fits && i < shape->count; i++) {
        fits = column_fits(&shape->fields[i], &frame->columns[i].view);
    }
    *ret_frame = NULL;
    if (fits) {
        return GRANARY_OK;
    }
    other = gr_frame_create(shape->count, frame->rows);
    for (size_t i = 0; err == GRANARY_OK && i < shape->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        struct gr_column converted;

        if (column_fits(&shape->fields[i], column)) {
            err = gr_frame_set_borrowed(other, i, column->name, column);
            continue;
        }
        err = convert(&shape->fields[i], column, &converted);
        err = err == GRANARY_OK ? gr_frame_set(other, i, column->name, &converted)
                                : gr_fail_in(err, "column '%s'", column->name);
    }
    return gr_frame_give(other, err, ret_frame);
}
