/* What is said of a file on the command line goes to those operators that have such a parameter. */
#include "cli/work/files.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/file/sketch.h"
#include "graph/ops.h"

#define OP_MAX 64

granary_err
files_take_null(void *target, char *text)
{
    struct files *files = target;

    if (files->null_count == FILES_NULLS) {
        return gr_fail(GRANARY_EINVAL, "more than %d", FILES_NULLS);
    }
    files->nulls[files->null_count++] = text;
    return GRANARY_OK;
}

static bool
is_readable(const struct gr_format *format)
{
    return format->refusal == NULL;
}

static granary_err
fail_ending(const char *path)
{
    struct gr_buf endings = {0};
    granary_err err;

    gr_format_list(is_readable, true, &endings);
    err = gr_fail(GRANARY_EUNSUPPORTED,
                  "%s: its ending tells no format that can be read: %.*s; of text in columns --delimiter says so", path,
                  (int)endings.size, endings.bytes);
    gr_buf_free(&endings);
    return err;
}

granary_err
files_find(const struct files *files, const char *path, struct file *ret_file)
{
    const struct gr_format_ending *ending = NULL;
    const struct gr_format *format = NULL;
    granary_err err = gr_format_of_name(path, &format, &ending);

    if (err != GRANARY_OK && files->delimiter == NULL) {
        return err;
    }
    if (format == NULL && files->delimiter == NULL) {
        return fail_ending(path);
    }
    *ret_file =
        (struct file){.path = path,
                      .format = format != NULL ? format : &gr_format_csv,
                      .delimiter = files->delimiter != NULL                      ? files->delimiter
                                   : ending != NULL && ending->delimiter != NULL ? ending->delimiter
                                                                                 : gr_format_csv.endings[0].delimiter};
    return GRANARY_OK;
}

/* Of read_NAME. */
static enum gr_tile_op
op_of(const struct file *file, char name[OP_MAX])
{
    (void)snprintf(name, OP_MAX, "read_%s", file->format->name);
    return (enum gr_tile_op)gr_op_find(name);
}

granary_node
files_add(const struct files *files, const struct file *file, granary_graph *graph, const char *name)
{
    char op_name[OP_MAX];
    enum gr_tile_op op = op_of(file, op_name);
    granary_node node = granary_graph_add(graph, name, op_name, NULL, 0);

    granary_node_set_string(graph, node, "path", file->path);
    if (gr_param_find(op, "delimiter") != NULL) {
        granary_node_set_string(graph, node, "delimiter", file->delimiter);
        if (files->delimiter == NULL &&
            gr_csv_is_other(file->path, file->delimiter, files->are_many ? GR_SNIFF_TABLE : GR_SNIFF_ANY)) {
            granary_node_set_bool(graph, node, "sniff", true);
        }
    }
    if (files->null_count > 0 && gr_param_find(op, "null_values") != NULL) {
        granary_node_set_strings(graph, node, "null_values", files->nulls, files->null_count);
    }
    return node;
}

void
files_set_dtype(const struct file *file, granary_graph *graph, granary_node node, const char *column, const char *dtype)
{
    char op[OP_MAX];

    if (gr_param_find(op_of(file, op), "dtypes") != NULL) {
        granary_node_set_entry(graph, node, "dtypes", column, dtype);
    }
}
