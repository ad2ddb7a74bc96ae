/*
 * How many bytes results have: as a driver has found, or guessed from files and operators. Guesses of files weigh formats that
 * pack values. A guess that is wrong costs time and no more: `decided` tells of those that matter.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/text/buf.h"
#include "cut/flow.h"
#include "data/file/paths/paths.h"

/* Bytes in memory for a byte of a file, by its ending. */
static double
weight_of(const char *path)
{
    static const struct {
        const char *ending;
        double weight;
    } weights[] = {{".parquet", 3}, {".gz", 4}, {".zst", 4}, {".lz4", 2}, {".bz2", 5}, {".arrow", 1}};
    size_t size = strlen(path);

    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
        size_t ending = strlen(weights[i].ending);

        if (size > ending && strcmp(path + size - ending, weights[i].ending) == 0) {
            return weights[i].weight;
        }
    }
    return 1;
}

static const struct gr_format *
format_of(const char *op)
{
    for (size_t i = 0; gr_formats[i] != NULL; i++) {
        if (strncmp(op, "read_", 5) == 0 && strcmp(op + 5, gr_formats[i]->name) == 0) {
            return gr_formats[i];
        }
    }
    return NULL;
}

granary_err
source_files(struct cut *cut, Granary__Attr *const *attrs, size_t count, const char *op, struct gr_paths *ret_found)
{
    const Granary__Attr *more = gr_attr_find(attrs, count, "paths");
    const char *path = gr_attr_string(attrs, count, "path", NULL);
    const char **names = cut_room(cut, 1 + (more == NULL ? 0 : more->n_strings), sizeof *names);
    size_t name_count = 0;

    if (path == NULL || cut->err != GRANARY_OK) {
        return GRANARY_EINVAL;
    }
    names[name_count++] = path;
    for (size_t i = 0; more != NULL && i < more->n_strings; i++) {
        names[name_count++] = more->strings[i];
    }
    return gr_paths_find(NULL, names, name_count, format_of(op), ret_found);
}

double
size_of_source(struct cut *cut, const struct gr_node *node)
{
    struct gr_paths found = {0};
    double bytes = 0;

    if (source_files(cut, node->node->attrs, node->node->n_attrs, gr_op_info((enum gr_tile_op)node->op)->name,
                     &found) == GRANARY_OK) {
        for (size_t i = 0; i < found.count; i++) {
            struct stat info;

            if (stat(found.names[i], &info) == 0) {
                bytes += weight_of(found.names[i]) * (double)info.st_size;
            }
        }
    }
    gr_paths_free(&found);
    return bytes;
}

static const granary_cut_size *
found_size(struct cut *cut, struct flow *flow)
{
    for (size_t i = 0; i < cut->options->size_count; i++) {
        if (strcmp(cut->options->sizes[i].digest, flow_digest(cut, flow)) == 0) {
            return &cut->options->sizes[i];
        }
    }
    return NULL;
}

double
size_of(struct cut *cut, struct flow *flow)
{
    const granary_cut_size *found = found_size(cut, flow);

    return found != NULL ? (double)found->bytes : flow->receives ? size_of(cut, flow->inputs[0]) : flow->bytes;
}

bool
size_is_known(struct cut *cut, struct flow *flow)
{
    return found_size(cut, flow) != NULL;
}
