/* Record batches as columns. */
#include <stdlib.h>
#include <string.h>

#include "arrow/in/in.h"
#include "base/error.h"
#include "data/value/bits.h"
#include "data/value/utf8.h"

/* What the columns of a batch rest on; they are behind it. */
struct batch {
    struct ArrowArray array; /* release NULL: none */
    struct in_kept *kept;
    size_t count;
    char **names;
    granary_column columns[];
};

static void
batch_free(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        free(batch->names[i]);
    }
    free(batch->names);
    in_kept_free(batch->kept);
    if (batch->array.release != NULL) {
        batch->array.release(&batch->array);
    }
    free(batch);
}

/* ---- the struct that a batch is ---- */

static granary_err
check_schema(const struct ArrowSchema *schema)
{
    char text[48];

    if (schema == NULL || schema->release == NULL) {
        return gr_fail(GRANARY_EINVAL, "the Arrow schema is missing, or was released already");
    }
    if (schema->format == NULL || strcmp(schema->format, "+s") != 0 || schema->dictionary != NULL) {
        return gr_fail(GRANARY_EINVAL,
                       "the Arrow schema has the format '%s': a record batch is needed, a struct ('+s') of columns",
                       in_type_shown(schema->format == NULL ? "" : schema->format, text));
    }
    if (schema->n_children < 0 || schema->n_children > INT32_MAX ||
        (schema->n_children > 0 && schema->children == NULL)) {
        return gr_fail(GRANARY_EINVAL, "the Arrow schema has %lld columns, or they are missing",
                       (long long)schema->n_children);
    }
    return GRANARY_OK;
}

static granary_err
check_batch(const struct ArrowSchema *schema, const struct ArrowArray *array)
{
    if (array->n_children != schema->n_children || (array->n_children > 0 && array->children == NULL)) {
        return gr_fail(GRANARY_EINVAL, "the Arrow array has %lld columns, its schema has %lld",
                       (long long)array->n_children, (long long)schema->n_children);
    }
    if (array->length < 0 || array->offset < 0 || array->length > INT64_MAX / 64 || array->offset > INT64_MAX / 64 ||
        array->null_count < -1 || array->null_count > array->length) {
        return gr_fail(GRANARY_EINVAL, "the Arrow array has %lld rows from row %lld, and %lld nulls",
                       (long long)array->length, (long long)array->offset, (long long)array->null_count);
    }
    return GRANARY_OK;
}

/* Rows are never null themselves. */
static granary_err
check_no_nulls(struct batch *batch)
{
    const struct ArrowArray *array = &batch->array;
    const uint8_t *bits = array->n_buffers > 0 && array->buffers != NULL ? array->buffers[0] : NULL;
    bool has_nulls = array->null_count > 0;
    granary_err err = GRANARY_OK;

    if (array->null_count < 0 && bits != NULL && array->length > 0) {
        err = in_bits(&batch->kept, bits, array->offset, array->length, &bits);
        has_nulls = err == GRANARY_OK && bits_count(bits, array->length) < array->length;
    }
    return err == GRANARY_OK && has_nulls
               ? gr_fail(GRANARY_EUNSUPPORTED, "the record batch has rows that are null as a whole: filter them, or "
                                               "move the nulls into the columns")
               : err;
}

/* ---- columns ---- */

/* The name of column i, copied. */
static granary_err
column_name(struct batch *batch, const struct ArrowSchema *schema, size_t i)
{
    const struct ArrowSchema *child = schema->children[i];
    const char *name;

    if (child == NULL || child->release == NULL) {
        return gr_fail(GRANARY_EINVAL, "column %zu: its schema is missing, or was released already", i);
    }
    name = child->name == NULL ? "" : child->name;
    if (utf8_first_invalid(name, strlen(name)) != NULL) {
        return gr_fail(GRANARY_EINVAL, "column %zu: its name is not UTF-8", i);
    }
    batch->names[i] = strdup(name);
    return batch->names[i] == NULL ? gr_no_memory("a column") : GRANARY_OK;
}

static granary_err
make_columns(struct batch *batch, const struct ArrowSchema *schema)
{
    const struct ArrowArray *array = &batch->array;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < batch->count; i++) {
        err = column_name(batch, schema, i);
        if (err != GRANARY_OK) {
            break;
        }
        err = array->release == NULL
                  ? in_column_empty(&batch->kept, batch->names[i], schema->children[i], &batch->columns[i])
                  : in_column(&batch->kept, batch->names[i], schema->children[i], array->children[i], array->offset,
                              array->length, &batch->columns[i]);
    }
    return err;
}

/* *Takes* the array, whose release is NULL when there is none. */
static granary_err
import(const struct ArrowSchema *schema, struct ArrowArray *array, granary_columns *ret_columns)
{
    size_t count = 0;
    struct batch *batch = NULL;
    granary_err err = check_schema(schema);

    if (err == GRANARY_OK && array->release != NULL) {
        err = check_batch(schema, array);
    }
    if (err == GRANARY_OK) {
        count = (size_t)schema->n_children;
        batch = calloc(1, sizeof *batch + count * sizeof batch->columns[0]);
        err = batch == NULL ? gr_no_memory("columns") : GRANARY_OK;
    }
    if (err != GRANARY_OK) {
        if (array->release != NULL) {
            array->release(array);
        }
        return err;
    }
    batch->array = *array; /* moved */
    array->release = NULL;
    batch->names = calloc(count + 1, sizeof *batch->names);
    if (batch->names == NULL) {
        err = gr_no_memory("columns");
    } else {
        batch->count = count;
        err = batch->array.release == NULL ? GRANARY_OK : check_no_nulls(batch);
    }
    err = err == GRANARY_OK ? make_columns(batch, schema) : err;
    if (err != GRANARY_OK) {
        batch_free(batch);
        return err;
    }
    *ret_columns =
        (granary_columns){.columns = batch->columns, .count = count, .rows = batch->array.length, .owned = batch};
    return GRANARY_OK;
}

granary_err
in_columns_empty(const struct ArrowSchema *schema, granary_columns *ret_columns)
{
    struct ArrowArray none = {.release = NULL};

    return import(schema, &none, ret_columns);
}

granary_err
granary_columns_import(const struct ArrowSchema *schema, struct ArrowArray *array, granary_columns *ret_columns)
{
    if (array == NULL || array->release == NULL) {
        return gr_fail(GRANARY_EINVAL, "the Arrow array is missing, or was released already");
    }
    return import(schema, array, ret_columns);
}

void
granary_columns_free(granary_columns *columns)
{
    if (columns->owned != NULL) {
        batch_free(columns->owned);
    }
    *columns = (granary_columns){.count = 0};
}
