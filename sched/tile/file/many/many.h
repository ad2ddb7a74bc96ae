/*
 * One node, many files: a pattern, a folder, a list. They are a source like that of a format, made of the sources of the
 * single files. Its table has the columns of all of them, those that folders tell, and one of the files' names.
 *
 * Files that a condition on folders excludes are not opened: that of filters which stand directly above the node, before
 * any file is; others', when the step is tiled.
 */
#ifndef TILE_FILE_MANY_H
#define TILE_FILE_MANY_H

#include "tile/file/file.h"

/* Whether a node reads many files, or one whose place makes columns. */
bool many_is_meant(const Granary__Node *node, const struct gr_file_options *options);

/* Find the files, and look at those that may be wanted. file: has the source of its format, and gets this one. Errors: as
 * gr_file_create(), gr_paths_find(), gr_hive_read(); ETYPE a column's dtypes that do not go together */
granary_err many_look(struct gr_file *file, const struct gr_node *node, const struct gr_file_options *options);

/* file.c: one of the files. name: borrowed. Errors: as gr_file_create(), without the node */
granary_err file_create_part(const struct gr_file *many, const struct gr_source *source, const char *name,
                             const struct gr_file_options *options, struct gr_file **ret_file);

#endif
