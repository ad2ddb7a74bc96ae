/* What is told of a name before it is read, be it a file, a folder or a pattern. */
#ifndef DATA_FILE_SKETCH_H
#define DATA_FILE_SKETCH_H

#include "data/file/paths/hive.h"
#include "data/file/paths/paths.h"

/*
 * The format of what a name stands for: by its own ending, else by those of the files. All must have one ending.
 *
 * *ret_format  NULL: the name is that of no folder and no pattern, and its ending tells none
 * Errors       EINVAL files of several formats · as gr_paths_find()
 */
granary_err
gr_format_of_name(const char *name, const struct gr_format **ret_format, const struct gr_format_ending **ret_ending);

/* Files that are one table. */
struct gr_sketch_files {
    const struct gr_paths *paths;
    const bool *wanted;         /* by path: no other is opened, unless there is none; NULL: all */
    const struct gr_hive *hive; /* its keys are columns, too; or NULL */
    bool by_position;           /* columns of files meet by their places, not by their names */
};

/*
 * A sketch of many files as one table: columns of all of them, each once.
 *
 * *ret_varies  some files have other columns than others
 * Errors       as gr_format.sketch
 */
granary_err gr_sketch_files(const struct gr_format *format, const struct gr_sketch_files *files, const char *delimiter,
                            struct gr_sketch *sketch, bool *ret_varies);

/*
 * The same of what a name stands for, a file, a folder or a pattern; then the columns that folders tell.
 * Errors: as gr_format.sketch, gr_paths_find(), gr_hive_read()
 */
granary_err gr_format_sketch(const struct gr_format *format, const char *name, const char *delimiter,
                             struct gr_sketch *sketch, bool *ret_varies);

#endif
