/* Checks and types of nodes that run user code; their limits are read as amounts. */
#include "graph/user/user.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/operator.h"
#include "graph/user/function.h"

static const Granary__Attr *
find(const Granary__Node *node, const char *name)
{
    return gr_attr_find(node->attrs, node->n_attrs, name);
}

bool
gr_amount_parse(const char *text, uint64_t *ret_amount)
{
    unsigned long long value;
    char *end;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value == 0 || value > INT64_MAX) {
        return false;
    }
    *ret_amount = value;
    return true;
}

/* What every operator with user code may be given. */
static granary_err
check_limits(const Granary__Node *node)
{
    const Granary__Attr *resources = GR_NODE_PARAMS(call, node)->resources;

    for (size_t i = 0; resources != NULL && i < resources->n_keys; i++) {
        uint64_t amount;

        if (resources->keys[i][0] == '\0' || !gr_amount_parse(resources->strings[i], &amount)) {
            return gr_fail(GRANARY_EINVAL, "parameter 'resources', '%.60s': '%.40s' is no whole number above 0",
                           resources->keys[i], resources->strings[i]);
        }
    }
    return GRANARY_OK;
}

static granary_err
check_function(const Granary__Node *node)
{
    struct gr_function_name name;
    granary_err err = gr_function_parse(GR_NODE_PARAMS(call, node)->function, &name);

    return err == GRANARY_OK ? check_limits(node) : gr_fail_in(err, "parameter 'function'");
}

/* ---- the operators ---- */

bool
gr_id_text_good(const char *text)
{
    size_t digits = strspn(text, "0123456789abcdefABCDEF");

    return strncmp(text, "name:", 5) == 0 ? text[5] != '\0'
                                          : digits > 0 && digits <= GRANARY_ID_TEXT && text[digits] == '\0';
}

granary_err
user_check_ids(const Granary__Node *node)
{
    const Granary__Attr *ids = find(node, "ids");

    if (ids->n_strings == 0) {
        return gr_fail(GRANARY_EINVAL, "parameter 'ids' names no object");
    }
    for (size_t i = 0; i < ids->n_strings; i++) {
        if (!gr_id_text_good(ids->strings[i])) {
            return gr_fail(GRANARY_EINVAL,
                           "parameter 'ids': '%.100s' is no id: write up to 32 hex digits, or name:NAME",
                           ids->strings[i]);
        }
    }
    return GRANARY_OK;
}

static granary_err
check_object(const Granary__Node *node, enum gr_tile_op op)
{
    (void)op;
    return user_check_ids(node);
}

const struct gr_operator gr_op_object = {.check = check_object};

static granary_err
check_map_chunk(const Granary__Node *node, enum gr_tile_op op)
{
    const struct gr_params_map_chunk *params = GR_NODE_PARAMS(map_chunk, node);
    const Granary__Attr *columns = params->columns;
    granary_err err = check_function(node);

    (void)op;
    if (err == GRANARY_OK && params->only && (columns == NULL || columns->n_keys == 0)) {
        return gr_fail(GRANARY_EINVAL, "parameter 'only' needs 'columns': which ones the result has");
    }
    for (size_t i = 0; err == GRANARY_OK && columns != NULL && i < columns->n_keys; i++) {
        granary_dtype dtype;

        if (columns->keys[i][0] == '\0') {
            err = gr_fail(GRANARY_EINVAL, "parameter 'columns' has an empty column name");
        } else if (!gr_csv_dtype_parse(columns->strings[i], &dtype)) {
            err =
                gr_fail(GRANARY_EINVAL, "parameter 'columns', column '%s': no dtype '%.40s'; there are: " GR_CSV_DTYPES,
                        columns->keys[i], columns->strings[i]);
        }
    }
    return err;
}

static granary_err
check_call(const Granary__Node *node, enum gr_tile_op op)
{
    const struct gr_params_call *params = GR_NODE_PARAMS(call, node);
    int64_t outputs = params->outputs == NULL ? 1 : *params->outputs;
    int64_t most = GR_CALLS_MAX / params->count;
    granary_err err = check_function(node);

    (void)op;
    return err == GRANARY_OK && (outputs < 1 || outputs > most)
               ? gr_fail(GRANARY_EINVAL, "parameter 'outputs' is %lld; it can be 1 to %lld", (long long)outputs,
                         (long long)most)
               : err;
}

const struct gr_operator gr_op_call = {.check = check_call};

static granary_err
check_exec(const Granary__Node *node, enum gr_tile_op op)
{
    const Granary__Attr *command = GR_NODE_PARAMS(exec, node)->command;
    granary_err err = check_limits(node);

    (void)op;
    return err == GRANARY_OK && (command->n_strings == 0 || command->strings[0][0] == '\0')
               ? gr_fail(GRANARY_EINVAL, "parameter 'command' names no program")
               : err;
}

const struct gr_operator gr_op_exec = {.check = check_exec};
const struct gr_operator gr_op_null = {0};

/* ---- types ---- */

static granary_err
infer_frame(const struct gr_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    const struct gr_params_map_chunk *params = GR_NODE_PARAMS(map_chunk, node->node);
    const Granary__Attr *columns = params->columns;
    granary_err err = params->only ? GRANARY_OK : gr_schema_copy(input, schema);

    if (params->dtype != NULL) {
        return gr_fail(GRANARY_EINVAL, "parameter 'dtype' is for tensors, its input is a frame: use 'columns'");
    }
    for (size_t i = 0; columns != NULL && i < columns->n_keys && err == GRANARY_OK; i++) {
        int at = gr_schema_find(schema, columns->keys[i]);
        granary_dtype dtype = GRANARY_NULLTYPE;

        (void)gr_csv_dtype_parse(columns->strings[i], &dtype);
        if (at >= 0) {
            schema->fields[at].dtype = dtype;
        } else {
            err = gr_schema_add(schema, columns->keys[i], dtype);
        }
    }
    return err;
}

static granary_err
infer_tensor(const struct gr_node *node, const struct gr_node_type *input, struct gr_node_type *type)
{
    const struct gr_params_map_chunk *params = GR_NODE_PARAMS(map_chunk, node->node);
    const char *dtype = params->dtype;

    if (params->columns != NULL) {
        return gr_fail(GRANARY_EINVAL, "parameter 'columns' is for frames, its input is a tensor");
    }
    type->dims = input->dims;
    memcpy(type->shape, input->shape, sizeof type->shape);
    type->dtype = input->dtype;
    if (dtype != NULL && (!gr_csv_dtype_parse(dtype, &type->dtype) ||
                          (type->dtype != GRANARY_INT64 && type->dtype != GRANARY_FLOAT64))) {
        return gr_fail(GRANARY_EINVAL, "parameter 'dtype': no dtype '%.40s' of tensors; there are: int64, float64",
                       dtype);
    }
    return GRANARY_OK;
}

static granary_err
infer_map_chunk(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    return node->yields == GR_YIELDS_FRAME ? infer_frame(node, &inputs[0]->schema, &type->schema)
                                           : infer_tensor(node, inputs[0], type);
}

const struct gr_operator gr_op_map_chunk = {
    .traits = GR_OP_HAS_EFFECTS | GR_OP_TAKES_UNSIZED,
    .check = check_map_chunk,
    .infer = infer_map_chunk,
    .columns = GR_COLUMNS_ALL, /* the function makes what was declared, too */
};
