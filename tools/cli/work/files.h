/*
 * Files that a command line names, as nodes of a graph that reads them. Their endings tell their formats, options the
 * rest. A command's struct begins with a struct files, and its options with FILES_OPTIONS.
 */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "cli/command/command.h"
#include "data/file/format.h"
#include "granary/graph.h"

#define FILES_NULLS 16

struct files {
    const char *delimiter;          /* of CSV files; NULL: as the ending tells */
    const char *nulls[FILES_NULLS]; /* texts that mean null in CSV files; none: the reader's own */
    size_t null_count;
    bool are_many; /* and become one table */
};

granary_err files_take_null(void *target, char *text);

#define FILES_OPTIONS                                                                                                  \
    {"delimiter", 0, "BYTE", "expect BYTE between the fields of CSV files; default: a comma, in .tsv files a tab",     \
     GR_OPTION_TEXT(struct files, delimiter)},                                                                         \
    {                                                                                                                  \
        "null", 0, "TEXT",                                                                                             \
            "take this text in CSV files for null, instead of '' and '\\N'; may be given several times",               \
            GR_OPTION_TAKE(files_take_null)                                                                            \
    }

/* One of them, and what it is read as. */
struct file {
    const char *path;
    const struct gr_format *format;
    const char *delimiter; /* of a CSV file */
};

/* Errors: EUNSUPPORTED its ending tells no format */
granary_err files_find(const struct files *files, const char *path, struct file *ret_file);

/* The node that reads a file; name: of the node, or NULL. */
granary_node files_add(const struct files *files, const struct file *file, granary_graph *graph, const char *name);

/* Let that node read a column as a dtype. Files that have dtypes of their own keep them. */
void files_set_dtype(const struct file *file, granary_graph *graph, granary_node node, const char *column,
                     const char *dtype);

#endif
