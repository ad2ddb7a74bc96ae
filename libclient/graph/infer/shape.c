/* Shapes: read, counted, shown. */
#include <stdio.h>

#include "base/error.h"
#include "graph/infer/private.h"

const Granary__Attr *
infer_find(const struct gr_node *node, const char *name)
{
    return gr_attr_find(node->node->attrs, node->node->n_attrs, name);
}

static const char *
infer_show(int dims, const int64_t *shape, struct infer_shown *shown)
{
    int used = 0;

    for (int i = 0; i < dims; i++) {
        used += shape[i] == GR_SIZE_UNKNOWN ? snprintf(shown->text + used, sizeof shown->text - (size_t)used, "(?")
                                            : snprintf(shown->text + used, sizeof shown->text - (size_t)used, "%s%lld",
                                                       i == 0 ? "(" : ", ", (long long)shape[i]);
    }
    (void)snprintf(shown->text + used, sizeof shown->text - (size_t)used, "%s",
                   dims == 0   ? "()"
                   : dims == 1 ? ",)"
                               : ")");
    return shown->text;
}

const char *
infer_show_type(const struct gr_node_type *type, struct infer_shown *shown)
{
    return infer_show(type->dims, type->shape, shown);
}

/* Elements of a shape. Errors: EINVAL more bytes than an address space has */
granary_err
infer_count(int dims, const int64_t *shape, int64_t *ret_count)
{
    int64_t count = 1;
    bool over = false;

    for (int i = 0; i < dims; i++) {
        if (shape[i] == GR_SIZE_UNKNOWN) {
            continue;
        }
        if (shape[i] == 0) {
            *ret_count = 0;
            return GRANARY_OK;
        }
        over = __builtin_mul_overflow(count, shape[i], &count) || over;
    }
    if (over || count > INT64_MAX / 16) {
        struct infer_shown shown;

        return gr_fail(GRANARY_EINVAL, "a tensor of shape %s is larger than any memory",
                       infer_show(dims, shape, &shown));
    }
    *ret_count = count;
    return GRANARY_OK;
}

granary_err
infer_read_shape(const Granary__Attr *attr, struct gr_node_type *type)
{
    if (attr->n_ints == 0 || attr->n_ints > DIMS_MAX) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' has %zu dimensions; 1 to %d are possible", attr->name,
                       attr->n_ints, DIMS_MAX);
    }
    type->dims = (int)attr->n_ints;
    for (int i = 0; i < type->dims; i++) {
        if (attr->ints[i] < 0) {
            return gr_fail(GRANARY_EINVAL, "parameter '%s' has %lld elements along dimension %d; it cannot be negative",
                           attr->name, (long long)attr->ints[i], i);
        }
        type->shape[i] = attr->ints[i];
    }
    return GRANARY_OK;
}

granary_err
infer_check_chunk(const struct gr_node *node, const struct gr_node_type *type)
{
    const Granary__Attr *chunk = infer_find(node, "chunk");

    if (chunk == NULL) {
        return GRANARY_OK;
    }
    if (chunk->n_ints != (size_t)type->dims) {
        return gr_fail(GRANARY_EINVAL, "parameter 'chunk' has %zu dimensions, but the tensor %d", chunk->n_ints,
                       type->dims);
    }
    for (size_t i = 0; i < chunk->n_ints; i++) {
        if (chunk->ints[i] < 1) {
            return gr_fail(GRANARY_EINVAL, "parameter 'chunk' is %lld along dimension %zu; it needs 1 or more",
                           (long long)chunk->ints[i], i);
        }
    }
    return GRANARY_OK;
}
