/* Attributes into the struct of an operator's parameters: each row finds its attribute, and fills its field. */
#include "graph/params.h"

#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

/* Whether it has the kind that a checked parameter has, and its values (a message may come from anywhere). */
static bool
kind_fits(enum gr_param_kind want, const Granary__Attr *attr)
{
    bool is_int = attr->kind == GRANARY__ATTR__KIND__INT && attr->n_ints == 1;
    bool is_double = attr->kind == GRANARY__ATTR__KIND__DOUBLE && attr->n_doubles == 1;
    bool is_string = attr->kind == GRANARY__ATTR__KIND__STRING && attr->n_strings == 1;

    switch (want) {
    case GR_PARAM_INT:
        return is_int;
    case GR_PARAM_NUMBER:
        return is_int || is_double;
    case GR_PARAM_VALUE:
        return is_int || is_double || is_string;
    case GR_PARAM_BOOL:
        return attr->kind == GRANARY__ATTR__KIND__BOOL && attr->n_ints == 1;
    case GR_PARAM_STRING:
        return is_string;
    case GR_PARAM_INTS:
        return attr->kind == GRANARY__ATTR__KIND__INTS;
    case GR_PARAM_BOOLS:
        return attr->kind == GRANARY__ATTR__KIND__BOOLS;
    case GR_PARAM_STRINGS:
        return attr->kind == GRANARY__ATTR__KIND__STRINGS;
    case GR_PARAM_NUMBERS:
        return is_double || attr->kind == GRANARY__ATTR__KIND__DOUBLES;
    default:
        return attr->kind == GRANARY__ATTR__KIND__MAP && attr->n_keys == attr->n_strings;
    }
}

/* The field of a parameter that is given, or that has a default. */
static void
field_set(const struct gr_param_info *row, const Granary__Attr *attr, void *field)
{
    switch (row->kind) {
    case GR_PARAM_INT:
        *(int64_t *)field = attr != NULL ? attr->ints[0] : strtoll(row->fallback, NULL, 10);
        break;
    case GR_PARAM_NUMBER:
        *(double *)field = attr != NULL ? gr_attr_number(attr) : strtod(row->fallback, NULL);
        break;
    case GR_PARAM_BOOL:
        *(bool *)field = attr != NULL ? attr->ints[0] != 0 : row->fallback[0] == 't';
        break;
    case GR_PARAM_STRING:
        *(const char **)field = attr != NULL ? attr->strings[0] : row->fallback;
        break;
    default:
        *(const Granary__Attr **)field = attr;
        break;
    }
}

/* ... of an optional one that is given. */
static void
field_set_optional(const struct gr_param_info *row, const Granary__Attr *attr, void *field)
{
    if (row->kind == GR_PARAM_INT) {
        *(const int64_t **)field = attr->ints;
    } else if (row->kind == GR_PARAM_STRING) {
        *(const char **)field = attr->strings[0];
    } else {
        *(const Granary__Attr **)field = attr;
    }
}

/* The fields of all rows. Returns the first row whose attribute is missing, or of another kind; NULL: there is none. */
static const struct gr_param_info *
fields_set(const struct gr_param_info *rows, Granary__Attr *const *attrs, size_t count, void *params)
{
    const struct gr_param_info *bad = NULL;

    for (const struct gr_param_info *row = rows; row != NULL; row = row->next) {
        const Granary__Attr *attr = gr_attr_find(attrs, count, row->name);
        void *field = (char *)params + row->offset;

        if (attr == NULL ? row->required : !kind_fits(row->kind, attr)) {
            bad = bad == NULL ? row : bad;
        } else if (row->required || row->fallback != NULL) {
            field_set(row, attr, field);
        } else if (attr != NULL) {
            field_set_optional(row, attr, field);
        }
        *(size_t *)params += attr != NULL;
    }
    return bad;
}

granary_err
gr_params_read(const struct gr_param_info *rows, Granary__Attr *const *attrs, size_t count, void *ret_params)
{
    const struct gr_param_info *bad = fields_set(rows, attrs, count, ret_params);

    return bad == NULL ? GRANARY_OK
                       : gr_fail(GRANARY_EINVAL, "attribute '%s' is missing or of another kind", bad->name);
}

const void *
gr_params_fill(const struct gr_param_info *rows, Granary__Attr *const *attrs, size_t count, void *params)
{
    (void)fields_set(rows, attrs, count, params);
    return params;
}
