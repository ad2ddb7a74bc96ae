/* Names and dtypes of a frame's columns. */
#ifndef GRAPH_SCHEMA_H
#define GRAPH_SCHEMA_H

#include <stddef.h>

#include "granary/frame.h"

struct gr_field {
    char *name;
    granary_dtype dtype;
};

struct gr_schema {
    size_t count;
    struct gr_field *fields;
};

/* Append a field; name is copied. Errors: ENOMEM */
granary_err gr_schema_add(struct gr_schema *schema, const char *name, granary_dtype dtype);
granary_err gr_schema_copy(const struct gr_schema *schema, struct gr_schema *ret_schema);
void gr_schema_free(struct gr_schema *schema);
/* Position of a name, or -1. */
int gr_schema_find(const struct gr_schema *schema, const char *name);
/* The name most like `name`, for messages; NULL when none is near. */
const char *gr_schema_nearest(const struct gr_schema *schema, const char *name);

#endif
