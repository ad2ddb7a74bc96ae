/* Tables, arrays and files: operators that read what is stored, and that write it. */
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "data/tensor.h"
#include "graph/infer/private.h"
#include "graph/operators/private.h"
#include "graph/user/user.h"

/* ---- what is in the store ---- */

static granary_err
check_table(const Granary__Node *node, enum gr_tile_op op)
{
    const Granary__Attr *ids = op_param(node, "ids");

    (void)op;
    if ((op_param(node, "name") == NULL) == (ids == NULL)) {
        return gr_fail(GRANARY_EINVAL, "it needs either parameter 'name' or parameter 'ids'");
    }
    return ids != NULL && ids->n_strings == 0 ? gr_fail(GRANARY_EINVAL, "parameter 'ids' is empty") : GRANARY_OK;
}

const struct gr_operator gr_op_table = {.traits = GR_OP_IS_CHEAP, .check = check_table, .columns = GR_COLUMNS_SOURCE};

static granary_err
check_array(const Granary__Node *node, enum gr_tile_op op)
{
    static const char *const parts[] = {"ids", "shape", "dtype", "chunk"};
    bool named = op_param(node, "name") != NULL;
    size_t given = 0;
    size_t needed = 0;

    (void)op;
    for (size_t i = 0; i < 4; i++) {
        given += op_param(node, parts[i]) != NULL;
        needed += i < 3 && op_param(node, parts[i]) != NULL;
    }
    if (named ? given > 0 : needed < 3) {
        return gr_fail(GRANARY_EINVAL, "it needs either parameter 'name', or 'ids', 'shape' and 'dtype'");
    }
    return named ? GRANARY_OK : user_check_ids(node);
}

const struct gr_operator gr_op_array = {.check = check_array, .infer = infer_array};

/* ---- CSV ---- */

static granary_err
check_delimiter(const Granary__Node *node)
{
    const char *delimiter = gr_attr_string(node->attrs, node->n_attrs, "delimiter", ",");

    return strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0]) != NULL || (unsigned char)delimiter[0] >= 0x80
               ? gr_fail(GRANARY_EINVAL, "parameter 'delimiter' needs one ASCII character, no quote and no line end")
               : GRANARY_OK;
}

static granary_err
check_read_csv(const Granary__Node *node, enum gr_tile_op op)
{
    const Granary__Attr *dtypes = op_param(node, "dtypes");

    (void)op;
    for (size_t i = 0; dtypes != NULL && i < dtypes->n_strings; i++) {
        granary_dtype dtype;

        if (!gr_csv_dtype_parse(dtypes->strings[i], &dtype)) {
            return gr_fail(GRANARY_EINVAL,
                           "parameter 'dtypes', column '%s': no dtype '%.40s'; there are: " GR_CSV_DTYPES,
                           dtypes->keys[i], dtypes->strings[i]);
        }
    }
    return check_delimiter(node);
}

const struct gr_operator gr_op_read_csv = {.check = check_read_csv, .columns = GR_COLUMNS_SOURCE};

/* A written file: its path and how large it is. */
static granary_err
infer_write(const struct gr_graph_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    granary_err err = gr_schema_add(&type->schema, "path", GRANARY_STRING);

    (void)node;
    (void)inputs;
    return err == GRANARY_OK ? gr_schema_add(&type->schema, "bytes", GRANARY_INT64) : err;
}

static granary_err
check_write_csv(const Granary__Node *node, enum gr_tile_op op)
{
    const char *null = gr_attr_string(node->attrs, node->n_attrs, "null_value", "");
    const char *delimiter = gr_attr_string(node->attrs, node->n_attrs, "delimiter", ",");
    granary_err err = check_delimiter(node);

    (void)op;
    return err == GRANARY_OK && (strpbrk(null, "\"\r\n") != NULL || strchr(null, delimiter[0]) != NULL)
               ? gr_fail(GRANARY_EINVAL,
                         "parameter 'null_value' has a quote, a line end or the delimiter, and could not "
                         "be read back: choose another text")
               : err;
}

const struct gr_operator gr_op_write_csv = {
    .traits = GR_OP_HAS_EFFECTS, .check = check_write_csv, .infer = infer_write, .columns = GR_COLUMNS_ALL};

/* ---- Arrow, Parquet, NPY, raw bytes ---- */

const struct gr_operator gr_op_read_arrow = {.columns = GR_COLUMNS_SOURCE};
const struct gr_operator gr_op_read_npy = {0};
const struct gr_operator gr_op_write_arrow = {
    .traits = GR_OP_HAS_EFFECTS, .infer = infer_write, .columns = GR_COLUMNS_ALL};
const struct gr_operator gr_op_write_npy = {
    .traits = GR_OP_HAS_EFFECTS, .infer = infer_write, .columns = GR_COLUMNS_ALL};

static granary_err
check_read_parquet(const Granary__Node *node, enum gr_tile_op op)
{
    (void)node;
    (void)op;
    return gr_fail(GRANARY_EUNSUPPORTED, "Parquet files cannot be read yet: write the data as an Arrow file");
}

const struct gr_operator gr_op_read_parquet = {.check = check_read_parquet, .columns = GR_COLUMNS_SOURCE};

static granary_err
check_read_raw(const Granary__Node *node, enum gr_tile_op op)
{
    const Granary__Attr *shape = op_param(node, "shape");
    const char *name = gr_attr_string(node->attrs, node->n_attrs, "dtype", "");
    granary_tensor tensor;

    (void)op;
    return gr_dtype_parse(name) == GRANARY_NULLTYPE
               ? gr_fail(GRANARY_EINVAL, "parameter 'dtype': there is no dtype '%.40s'", name)
               : gr_npy_plan(gr_dtype_parse(name), (int)shape->n_ints, shape->ints, &tensor);
}

const struct gr_operator gr_op_read_raw = {.check = check_read_raw};
