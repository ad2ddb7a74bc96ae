/* Schemas: lists of names and dtypes, searched by name. */
#include "graph/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "data/frame.h"
#include "graph/operators/nearest.h"

granary_err
gr_schema_add(struct gr_schema *schema, const char *name, granary_dtype dtype)
{
    char *copy = strdup(name);
    struct gr_field *fields = realloc(schema->fields, (schema->count + 1) * sizeof *fields);

    if (fields != NULL) {
        schema->fields = fields;
    }
    if (copy == NULL || fields == NULL) {
        free(copy);
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    fields[schema->count++] = (struct gr_field){.name = copy, .dtype = dtype};
    gr_names_add(&schema->names, GR_NAMED(fields, name, schema->count));
    return GRANARY_OK;
}

granary_err
gr_schema_copy(const struct gr_schema *schema, struct gr_schema *ret_schema)
{
    struct gr_schema copy = {0};

    for (size_t i = 0; i < schema->count; i++) {
        granary_err err = gr_schema_add(&copy, schema->fields[i].name, schema->fields[i].dtype);

        if (err != GRANARY_OK) {
            gr_schema_free(&copy);
            return err;
        }
    }
    *ret_schema = copy;
    return GRANARY_OK;
}

void
gr_schema_free(struct gr_schema *schema)
{
    for (size_t i = 0; i < schema->count; i++) {
        free(schema->fields[i].name);
    }
    free(schema->fields);
    gr_names_free(&schema->names);
    *schema = (struct gr_schema){0};
}

bool
gr_field_is_readable(const struct gr_field *field)
{
    return field->dtype != GR_DTYPE_OTHER;
}

int
gr_schema_find(const struct gr_schema *schema, const char *name)
{
    return gr_names_find(&schema->names, GR_NAMED(schema->fields, name, schema->count), name);
}

const char *
gr_schema_nearest(const struct gr_schema *schema, const char *name)
{
    struct gr_nearest nearest = {.name = name};

    for (size_t i = 0; i < schema->count; i++) {
        gr_nearest_offer(&nearest, schema->fields[i].name);
    }
    return nearest.best;
}

granary_err
gr_schema_no_column(const struct gr_schema *schema, const char *name)
{
    enum { SHOWN = 12 };
    const char *nearest = gr_schema_nearest(schema, name);
    struct gr_buf names = {0};

    if (nearest != NULL) {
        return gr_fail(GRANARY_ENOENT, "no column '%s'; did you mean '%s'?", name, nearest);
    }
    for (size_t i = 0; i < schema->count && i < SHOWN; i++) {
        gr_buf_addf(&names, "%s'%s'", i == 0 ? "" : ", ", schema->fields[i].name);
    }
    if (schema->count > SHOWN) {
        gr_buf_addf(&names, ", ... (%zu in all)", schema->count);
    }
    (void)gr_fail(GRANARY_ENOENT, "no column '%s'; there are: %s", name,
                  names.bytes == NULL ? "no columns at all" : names.bytes);
    gr_buf_free(&names);
    return GRANARY_ENOENT;
}

granary_dtype
gr_dtype_of_kinds(uint32_t kinds)
{
    if ((kinds & GR_KIND_LIST) != 0) {
        uint32_t others = kinds & ~(uint32_t)(GR_KIND_LIST | GR_KIND_NULL) & ((1u << GR_KIND_ITEM_SHIFT) - 1);

        return others == 0 ? GRANARY_LIST(gr_dtype_of_kinds(kinds >> GR_KIND_ITEM_SHIFT)) : GRANARY_STRING;
    }
    switch (kinds & ~(uint32_t)GR_KIND_NULL) {
    case GR_KIND_BOOL:
        return GRANARY_BOOL;
    case GR_KIND_INT64:
        return GRANARY_INT64;
    case GR_KIND_WIDE:
    case GR_KIND_INT64 | GR_KIND_WIDE:
        return GRANARY_DECIMAL(0);
    case GR_KIND_FLOAT64:
    case GR_KIND_INT64 | GR_KIND_FLOAT64:
    case GR_KIND_WIDE | GR_KIND_FLOAT64:
    case GR_KIND_INT64 | GR_KIND_WIDE | GR_KIND_FLOAT64:
        return GRANARY_FLOAT64;
    case GR_KIND_DATE:
        return GRANARY_DATE;
    case GR_KIND_TIMESTAMP:
    case GR_KIND_DATE | GR_KIND_TIMESTAMP:
        return GRANARY_TIMESTAMP;
    case GR_KIND_TIME:
        return GRANARY_TIME;
    case GR_KIND_TIMESTAMPTZ:
    case GR_KIND_TIMESTAMPTZ | GR_KIND_TIMESTAMP:
    case GR_KIND_TIMESTAMPTZ | GR_KIND_DATE:
    case GR_KIND_TIMESTAMPTZ | GR_KIND_TIMESTAMP | GR_KIND_DATE:
        return GRANARY_TIMESTAMPTZ;
    default:
        return GRANARY_STRING;
    }
}

bool
gr_kinds_are_text(uint32_t kinds)
{
    return (kinds & ~(uint32_t)GR_KIND_NULL) != 0 && gr_dtype_of_kinds(kinds) == GRANARY_STRING;
}

bool
gr_csv_dtype_parse(const char *name, granary_dtype *ret_dtype)
{
    granary_dtype dtype = gr_dtype_parse(name);

    if (dtype == GRANARY_NULLTYPE) {
        return false;
    }
    *ret_dtype = dtype;
    return true;
}
