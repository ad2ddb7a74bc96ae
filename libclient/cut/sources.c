/*
 * Sources: a large file is read in parts, a small one as a whole wherever it is needed. Paths become absolute. CSV files get
 * the dtypes that were found, so that no machine has to look at the whole file again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "cut/flow.h"
#include "data/file/paths/paths.h"

static Granary__Attr *
absolute(struct cut *cut, const char *directory, const Granary__Attr *attr)
{
    Granary__Attr *copy = gr_attr_copy(attr);

    for (size_t i = 0; copy != NULL && i < copy->n_strings; i++) {
        char *path = gr_path_absolute(directory, copy->strings[i]);

        if (path == NULL) {
            cut_fail(cut, gr_fail(GRANARY_ENOMEM, "cutting: out of memory"));
            break;
        }
        free(copy->strings[i]);
        copy->strings[i] = path;
    }
    return copy;
}

void
source_set_paths(struct cut *cut, struct flow *flow)
{
    char *directory = getcwd(NULL, 0);
    const char *names[] = {"path", "paths"};

    for (size_t i = 0; i < 2 && cut->err == GRANARY_OK; i++) {
        const Granary__Attr *attr = flow_attr(flow, names[i]);

        if (attr != NULL) {
            flow_set(cut, flow, absolute(cut, directory, attr));
        }
    }
    free(directory);
}

/* The dtypes of all columns of a text file, but for a column that it does not have. */
static void
tell_dtypes(struct cut *cut, const struct gr_node *node, struct flow *flow)
{
    const struct gr_schema *schema = &node->type.schema;
    const char *filename = gr_attr_string(flow->attrs.attrs, flow->attrs.count, "filename", "");
    char **names = cut_room(cut, schema->count, sizeof *names);
    char **texts = cut_room(cut, schema->count, sizeof *texts);
    size_t count = 0;

    for (size_t c = 0; c < schema->count && cut->err == GRANARY_OK; c++) {
        granary_dtype dtype;

        names[count] = schema->fields[c].name;
        texts[count] = cut_borrow(granary_dtype_name(schema->fields[c].dtype));
        if (strcmp(names[count], filename) != 0) {
            if (!gr_csv_dtype_parse(texts[count++], &dtype) || dtype != schema->fields[c].dtype) {
                return;
            }
        }
    }
    if (cut->err == GRANARY_OK && count > 0) {
        flow_set(cut, flow, gr_attr_new_map("dtypes", names, texts, count));
        if (node->op == GR_TILE_read_ndjson) {
            flow_set(cut, flow, gr_attr_new_bool("complete", true));
        }
    }
}

void
source_set_parts(struct cut *cut, struct flow *flow)
{
    flow_set(cut, flow, gr_attr_new_int("part", 0));
    flow_set(cut, flow, gr_attr_new_int("parts", (int64_t)cut->parts));
    flow->takes_part = true;
    source_set_paths(cut, flow);
}

static size_t
count_relative(const Granary__Attr *attr)
{
    size_t count = 0;

    for (size_t i = 0; attr != NULL && i < attr->n_strings; i++) {
        count += attr->strings[i][0] != '/';
    }
    return count;
}

/* A column of files' names has them as they were written: a folder in front of relative paths is taken off again. */
static void
keep_names(struct cut *cut, const struct gr_node *node, struct value *value)
{
    const Granary__Attr *path = gr_attr_find(node->node->attrs, node->node->n_attrs, "path");
    const Granary__Attr *paths = gr_attr_find(node->node->attrs, node->node->n_attrs, "paths");
    size_t relative = count_relative(path) + count_relative(paths);
    char *name = cut_borrow(gr_attr_string(node->node->attrs, node->node->n_attrs, "filename", NULL));
    char *directory, *text;
    size_t characters = 0;

    if (name == NULL || relative == 0 || value->schema == NULL || gr_schema_find(value->schema, name) < 0) {
        return;
    }
    if (relative < (path == NULL ? 0 : path->n_strings) + (paths == NULL ? 0 : paths->n_strings)) {
        cut_fail(cut, gr_fail(GRANARY_EINVAL, "column '%s' has names of files: name all files by whole paths, or none",
                              name));
        return;
    }
    directory = getcwd(NULL, 0);
    for (const char *at = directory; at != NULL && *at != '\0'; at++) {
        characters += ((unsigned char)*at & 0xc0) != 0x80; /* not the rest of one */
    }
    free(directory);
    if (characters > 0) {
        text = cut_borrow(cut_text(cut, "substring(%s, %zu)", cut_column(cut, name), characters + 2));
        value->flow = flow_over(cut, cut_text(cut, "%s: names", node->node->name), "assign", value->flow);
        flow_set(cut, value->flow, gr_attr_new_map("columns", &name, &text, 1));
    }
}

struct value
place_source(struct cut *cut, const struct gr_node *node)
{
    double bytes = size_of_source(cut, node);
    bool in_parts = bytes >= cut->smallest && cut->parts > 1 &&
                    gr_param_find((enum gr_tile_op)node->op, "part") != NULL && node->yields == GR_YIELDS_FRAME;
    struct flow *flow = flow_of_node(cut, node, in_parts ? SPREAD_PARTS : SPREAD_ANY);
    struct value value;

    flow->reads = true;
    flow->bytes = bytes;
    source_set_paths(cut, flow);
    if (node->op == GR_TILE_read_csv || node->op == GR_TILE_read_ndjson) {
        tell_dtypes(cut, node, flow);
    }
    if (in_parts) {
        source_set_parts(cut, flow);
    }
    value = value_of(cut, flow, node);
    keep_names(cut, node, &value);
    return value;
}

void
source_say(struct cut *cut, const struct flow *flow, struct gr_buf *out)
{
    struct gr_paths found = {0};

    if (flow->reads && source_files(cut, flow->attrs.attrs, flow->attrs.count, flow->op, &found) == GRANARY_OK) {
        for (size_t i = 0; i < found.count; i++) {
            struct stat info;

            if (stat(found.names[i], &info) == 0) {
                gr_buf_addf(out, "%s %" PRId64 " %" PRId64 ".%09ld\n", found.names[i], (int64_t)info.st_size,
                            (int64_t)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
            }
        }
    }
    gr_paths_free(&found);
}
