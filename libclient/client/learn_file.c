/* What files tell of themselves in their headers: dtype and shape of a tensor, and all columns of a frame. */
#include "client/learn_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/file/format.h"
#include "data/file/paths/paths.h"
#include "data/frame.h"
#include "data/tensor.h"
#include "graph/tensor/types.h"

enum { NPY_HEAD = 64 << 10 }; /* of a file, in which its header ends */

/* ---- tensors ---- */

static void
set_tensor(struct gr_node *node, const granary_tensor *tensor)
{
    node->type.known = node->type.is_tensor = true;
    node->type.dtype = tensor->dtype;
    node->type.dims = tensor->dims;
    memcpy(node->type.shape, tensor->shape, sizeof node->type.shape);
}

static granary_err
look_at_npy(struct gr_node *node)
{
    const char *path = GR_NODE_PARAMS(read_npy, node->node)->path;
    granary_tensor tensor = {0};
    char *head = NULL;
    uint64_t file_size, at;
    size_t size;
    bool is_half;
    granary_err err = gr_format_begin(path, NPY_HEAD, &head, &size, &file_size);

    if (err == GRANARY_OK) {
        err = gr_npy_head(head, size, file_size, &tensor, &at, &is_half);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "%s", path);
    }
    if (err == GRANARY_OK) {
        set_tensor(node, &tensor);
    }
    free(head);
    return err;
}

static granary_err
look_at_raw(struct gr_node *node)
{
    const struct gr_params_read_raw *params = GR_NODE_PARAMS(read_raw, node->node);
    granary_tensor tensor = {0};
    granary_err err =
        gr_npy_plan(gr_tensor_dtype_parse(params->dtype), (int)params->shape->n_ints, params->shape->ints, &tensor);

    if (err == GRANARY_OK) {
        set_tensor(node, &tensor);
    }
    return err;
}

/* Of a part there are so many rows: the first ones of `split` have one more. */
static granary_err
take_part(struct gr_node *node)
{
    int64_t parts = gr_attr_int(node->node->attrs, node->node->n_attrs, "parts", 1);
    int64_t part = gr_attr_int(node->node->attrs, node->node->n_attrs, "part", 0);
    int64_t rows = node->type.shape[0];

    if (parts > 1 && node->type.dims == 0) {
        return gr_fail(GRANARY_EINVAL, "parameter 'part': a tensor without dimensions has no parts");
    }
    node->type.shape[0] = rows / parts + (part < rows % parts);
    return GRANARY_OK;
}

granary_err
learn_tensor(struct gr_node *node)
{
    granary_err err = node->op == GR_TILE_read_npy ? look_at_npy(node)
                      : node->op == GR_TILE_read_raw
                          ? look_at_raw(node)
                          : gr_fail(GRANARY_EUNSUPPORTED, "its shape turns out when it runs");

    err = err == GRANARY_OK ? take_part(node) : err;
    return err == GRANARY_OK ? err : gr_fail_in(err, "node '%.100s' (%.40s)", node->node->name, node->node->op);
}

/* ---- columns that cannot be read ---- */

static const struct gr_format *
format_of(const char *op)
{
    size_t f = 0;

    while (gr_formats[f] != NULL && (strncmp(op, "read_", 5) != 0 || strcmp(gr_formats[f]->name, op + 5) != 0)) {
        f++;
    }
    return gr_formats[f];
}

bool
learn_may_have_others(const Granary__Node *node)
{
    static const char *const many[] = {"paths", "also", "filename"};
    const struct gr_format *format = format_of(node->op);
    const char *path = gr_attr_string(node->attrs, node->n_attrs, "path", NULL);
    bool may = format != NULL && !format->is_text && path != NULL && !gr_path_is_many(NULL, path);

    for (size_t i = 0; i < sizeof many / sizeof many[0] && may; i++) {
        may = gr_attr_find(node->attrs, node->n_attrs, many[i]) == NULL;
    }
    return may;
}

/* All columns of a file, in order: those of `readable`, and others. */
struct whole {
    struct gr_sketch sketch;
    const struct gr_schema *readable;
    struct gr_schema schema;
    size_t found;
};

static granary_err
take_column(struct gr_sketch *sketch, const char *name)
{
    struct whole *whole = (struct whole *)sketch;
    int at = gr_schema_find(whole->readable, name);

    whole->found += at >= 0;
    return gr_schema_add(&whole->schema, name, at >= 0 ? whole->readable->fields[at].dtype : GR_DTYPE_OTHER);
}

granary_err
learn_add_unreadable(struct gr_node *source)
{
    const Granary__Node *node = source->node;
    struct gr_schema *schema = &source->type.schema;
    struct whole whole = {
        .sketch = {.column = take_column, .table = gr_attr_string(node->attrs, node->n_attrs, "table", NULL)},
        .readable = schema};
    granary_err err =
        format_of(node->op)->sketch(gr_attr_string(node->attrs, node->n_attrs, "path", ""), NULL, &whole.sketch);

    if (err == GRANARY_OK && whole.found < schema->count) { /* folders are columns, too */
        err = gr_fail(GRANARY_EUNSUPPORTED, "its header does not tell all columns");
    }
    if (err == GRANARY_OK) {
        gr_schema_free(schema);
        *schema = whole.schema;
        return GRANARY_OK;
    }
    gr_schema_free(&whole.schema);
    return gr_fail_in(err, "node '%.100s' (%.40s)", node->name, node->op);
}
