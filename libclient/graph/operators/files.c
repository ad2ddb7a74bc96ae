/* Tables, arrays and files: operators that read what is stored, and that write it. */
#include <string.h>

#include "base/error.h"
#include "data/file/format.h"
#include "data/frame.h"
#include "data/tensor.h"
#include "graph/infer/private.h"
#include "graph/operators/private.h"
#include "graph/tensor/types.h"
#include "graph/user/user.h"

/* ---- what is in the store ---- */

static granary_err
check_table(const Granary__Node *node, enum gr_tile_op op)
{
    const struct gr_params_table *params = GR_NODE_PARAMS(table, node);
    const Granary__Attr *ids = params->ids;

    (void)op;
    if ((params->name == NULL) == (ids == NULL)) {
        return gr_fail(GRANARY_EINVAL, "it needs either parameter 'name' or parameter 'ids'");
    }
    if (ids != NULL && (params->time != NULL || params->version != NULL)) {
        return gr_fail(GRANARY_EINVAL, "parameter 'time' goes with 'name': objects do not change");
    }
    return ids != NULL && ids->n_strings == 0 ? gr_fail(GRANARY_EINVAL, "parameter 'ids' is empty") : GRANARY_OK;
}

const struct gr_operator gr_op_table = {.traits = GR_OP_IS_CHEAP, .check = check_table, .columns = GR_COLUMNS_SOURCE};

/* What was appended: where, how much, and when. */
static granary_err
infer_append(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    granary_err err = gr_schema_add(&type->schema, "table", GRANARY_STRING);

    (void)node;
    (void)inputs;
    err = err == GRANARY_OK ? gr_schema_add(&type->schema, "rows", GRANARY_INT64) : err;
    return err == GRANARY_OK ? gr_schema_add(&type->schema, "time", GRANARY_INT64) : err;
}

const struct gr_operator gr_op_append_to = {
    .traits = GR_OP_HAS_EFFECTS, .infer = infer_append, .columns = GR_COLUMNS_ALL};

static granary_err
check_array(const Granary__Node *node, enum gr_tile_op op)
{
    const struct gr_params_array *params = GR_NODE_PARAMS(array, node);
    bool named = params->name != NULL;
    size_t parts = (size_t)(params->part != NULL) + (size_t)(params->parts != NULL);

    (void)op;
    if (named ? params->given > 1 + parts : params->ids == NULL || params->shape == NULL || params->dtype == NULL) {
        return gr_fail(GRANARY_EINVAL, "it needs either parameter 'name', or 'ids', 'shape' and 'dtype'");
    }
    return named ? GRANARY_OK : user_check_ids(node);
}

const struct gr_operator gr_op_array = {.check = check_array, .infer = infer_array};

/* ---- files ---- */

static granary_err
check_delimiter(const char *delimiter)
{
    return strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0]) != NULL || (unsigned char)delimiter[0] >= 0x80
               ? gr_fail(GRANARY_EINVAL, "parameter 'delimiter' needs one ASCII character, no quote and no line end")
               : GRANARY_OK;
}

static granary_err
check_dtypes(const struct gr_format *format, const Granary__Attr *dtypes)
{
    for (size_t i = 0; i < dtypes->n_strings; i++) {
        granary_dtype dtype = GRANARY_NULLTYPE;

        if (format == &gr_format_csv && gr_csv_dtype_parse(dtypes->strings[i], &dtype) && gr_dtype_is_list(dtype)) {
            return gr_fail(GRANARY_EINVAL,
                           "parameter 'dtypes', column '%s': a field of a CSV file is no list: read it as string, and "
                           "string_split() it",
                           dtypes->keys[i]);
        }

        if (!gr_csv_dtype_parse(dtypes->strings[i], &dtype)) {
            return gr_fail(GRANARY_EINVAL,
                           "parameter 'dtypes', column '%s': no dtype '%.40s'; there are: " GR_CSV_DTYPES,
                           dtypes->keys[i], dtypes->strings[i]);
        }
    }
    return GRANARY_OK;
}

static granary_err
check_shape(const Granary__Node *node, const Granary__Attr *shape)
{
    const char *name = GR_NODE_PARAMS(read_raw, node)->dtype;
    granary_tensor tensor;

    return gr_tensor_dtype_parse(name) == GRANARY_NULLTYPE
               ? gr_fail(GRANARY_EINVAL, "parameter 'dtype': there is no dtype '%.40s'", name)
               : gr_npy_plan(gr_tensor_dtype_parse(name), (int)shape->n_ints, shape->ints, &tensor);
}

/* A parameter means the same in every format that has it. */
static granary_err
check_read(const struct gr_format *format, const Granary__Node *node)
{
    const struct gr_params_read_csv *params = GR_NODE_PARAMS(read_csv, node);
    const Granary__Attr *shape = op_param(node, "shape");
    granary_err err = GRANARY_OK;

    if (format->refusal != NULL) {
        return gr_fail(GRANARY_EUNSUPPORTED, "%s", format->refusal);
    }
    err = params->dtypes != NULL ? check_dtypes(format, params->dtypes) : GRANARY_OK;
    err = err == GRANARY_OK && shape != NULL ? check_shape(node, shape) : err;
    return err == GRANARY_OK ? check_delimiter(params->delimiter) : err;
}

/* How hard a codec may try. */
static granary_err
check_level(const Granary__Node *node)
{
    const struct gr_params_write_parquet *params = GR_NODE_PARAMS(write_parquet, node);
    bool zstd = strcmp(params->compression, "zstd") == 0;
    int64_t most = zstd ? 22 : strcmp(params->compression, "gzip") == 0 ? 9 : 0;

    if (params->level >= 0 && params->level <= most) {
        return GRANARY_OK;
    }
    return most == 0 ? gr_fail(GRANARY_EINVAL,
                               "parameter 'level': '%s' has no levels, but 'zstd' (1 to 22) and 'gzip' (1 to 9) have",
                               params->compression)
                     : gr_fail(GRANARY_EINVAL, "parameter 'level' is %lld, and '%s' has 1 to %lld; 0 is its own choice",
                               (long long)params->level, params->compression, (long long)most);
}

static granary_err
check_folders(const Granary__Node *node)
{
    const struct gr_params_write_parquet *params = GR_NODE_PARAMS(write_parquet, node); /* as of all others */

    return params->partition_by != NULL || strcmp(params->existing, "error") == 0
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL,
                         "parameter 'existing' goes with 'partition_by': a single file replaces an older one");
}

static granary_err
check_write(const Granary__Node *node, enum gr_tile_op op)
{
    const struct gr_params_write_csv *params = GR_NODE_PARAMS(write_csv, node); /* of others it has the defaults */
    const char *null = params->null_value;
    granary_err err = check_delimiter(params->delimiter);

    err = err == GRANARY_OK && op == GR_TILE_write_parquet ? check_level(node) : err;
    err = err == GRANARY_OK ? check_folders(node) : err;
    return err == GRANARY_OK && (strpbrk(null, "\"\r\n") != NULL || strchr(null, params->delimiter[0]) != NULL)
               ? gr_fail(GRANARY_EINVAL,
                         "parameter 'null_value' has a quote, a line end or the delimiter, and could not "
                         "be read back: choose another text")
               : err;
}

/* Columns that can have Bloom filters, and are in the files. */
static granary_err
check_bloom(const struct gr_schema *schema, const Granary__Attr *bloom, const Granary__Attr *keys)
{
    for (size_t i = 0; bloom != NULL && i < bloom->n_strings; i++) {
        int at = gr_schema_find(schema, bloom->strings[i]);
        granary_dtype dtype = at < 0 ? GRANARY_NULLTYPE : schema->fields[at].dtype;

        if (gr_dtype_is_list(dtype) || dtype == GRANARY_BOOL) {
            return gr_fail(GRANARY_EINVAL,
                           "parameter 'bloom': column '%s' is %s, and has no Bloom filter: leave it out",
                           bloom->strings[i], granary_dtype_name(dtype));
        }
        for (size_t k = 0; keys != NULL && k < keys->n_strings; k++) {
            if (strcmp(bloom->strings[i], keys->strings[k]) == 0) {
                return gr_fail(GRANARY_EINVAL,
                               "parameter 'bloom': column '%s' is in names of folders, not in files: leave it out",
                               bloom->strings[i]);
            }
        }
    }
    return GRANARY_OK;
}

/* Written files: their paths, and how large they are. */
static granary_err
infer_write(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_params_write_parquet *params = GR_NODE_PARAMS(write_parquet, node->node); /* as of all others */
    const Granary__Attr *keys = params->partition_by;
    granary_err err = keys == NULL ? GRANARY_OK : op_refuse_lists(&inputs[0]->schema, keys, "names of folders");

    if (err != GRANARY_OK) {
        return err;
    }
    if (keys != NULL && keys->n_strings == inputs[0]->schema.count) {
        return gr_fail(GRANARY_EINVAL, "parameter 'partition_by' has all columns: none is left for the files");
    }
    err = node->op == GR_TILE_write_parquet ? check_bloom(&inputs[0]->schema, params->bloom, keys) : GRANARY_OK;
    err = err == GRANARY_OK ? gr_schema_add(&type->schema, "path", GRANARY_STRING) : err;
    return err == GRANARY_OK ? gr_schema_add(&type->schema, "bytes", GRANARY_INT64) : err;
}

#define COLUMNS_FRAME  GR_COLUMNS_SOURCE
#define COLUMNS_TENSOR GR_COLUMNS_NONE
#define FORMAT_READ(name, kind)                                                                                        \
    static granary_err check_read_##name(const Granary__Node *node, enum gr_tile_op op)                                \
    {                                                                                                                  \
        (void)op;                                                                                                      \
        return check_read(&gr_format_##name, node);                                                                    \
    }                                                                                                                  \
    const struct gr_operator gr_op_read_##name = {.check = check_read_##name, .columns = COLUMNS_##kind};
#define FORMAT_WRITE(name, kind)                                                                                       \
    const struct gr_operator gr_op_write_##name = {                                                                    \
        .traits = GR_OP_HAS_EFFECTS, .check = check_write, .infer = infer_write, .columns = GR_COLUMNS_ALL};
#include "contract/formats.def"
