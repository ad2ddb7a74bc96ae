/* See sketch.h. */
#include "data/file/sketch.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/file/hive.h"
#include "data/file/paths.h"
#include "data/texts.h"

granary_err
gr_format_of_name(const char *name, const struct gr_format **ret_format, const struct gr_format_ending **ret_ending)
{
    struct gr_paths paths = {0};
    granary_err err = GRANARY_OK;

    *ret_format = gr_format_of_path(name, ret_ending);
    if (*ret_format != NULL || !gr_path_is_many(NULL, name)) {
        return GRANARY_OK;
    }
    err = gr_paths_find(NULL, &name, 1, NULL, &paths);
    for (size_t i = 0; i < paths.count && err == GRANARY_OK; i++) {
        const struct gr_format_ending *ending = NULL;
        const struct gr_format *format = gr_format_of_path(paths.names[i], &ending);

        if (format == NULL) {
            err = gr_fail(GRANARY_EINVAL, "%s: the ending of %s tells no format", name, paths.names[i]);
        } else if (i > 0 && (format != *ret_format || ending->delimiter != (*ret_ending)->delimiter)) {
            err = gr_fail(GRANARY_EINVAL, "%s: %s and %s are of different formats: write a pattern with the ending",
                          name, paths.names[0], paths.names[i]);
        } else if (i == 0) {
            *ret_format = format;
            *ret_ending = ending;
        }
    }
    gr_paths_free(&paths);
    return err;
}

/* Columns of many files, each told once. */
struct union_sketch {
    struct gr_sketch sketch;
    struct gr_sketch *all;
    struct gr_texts names;
    uint64_t told; /* of this file */
    bool is_first;
    bool varies;
};

static granary_err
take_column(struct gr_sketch *sketch, const char *name)
{
    struct union_sketch *all = (struct union_sketch *)sketch;
    uint64_t before = all->names.count;
    uint32_t number;
    granary_err err = gr_texts_add(&all->names, name, strlen(name), &number);

    if (err != GRANARY_OK) {
        return err;
    }
    all->told++;
    if (all->names.count == before) {
        return all->is_first ? all->all->column(all->all, name)
                             : GRANARY_OK; /* twice in one file: told, for an error */
    }
    all->varies = all->varies || !all->is_first;
    return all->all->column(all->all, name);
}

/* An empty file of text is none. */
static bool
is_empty(const struct gr_format *format, const char *path)
{
    char *bytes = NULL;
    uint64_t file_size = 1;
    size_t size = 0;

    if (format->is_text && gr_format_begin(path, 0, &bytes, &size, &file_size) != GRANARY_OK) {
        file_size = 1;
    }
    free(bytes);
    return file_size == 0;
}

static granary_err
sketch_files(const struct gr_format *format, const struct gr_paths *paths, const char *delimiter,
             struct union_sketch *all)
{
    size_t seen = 0;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < paths->count && err == GRANARY_OK; i++) {
        if (is_empty(format, paths->names[i]) && (seen > 0 || i + 1 < paths->count)) {
            continue;
        }
        all->told = 0;
        all->is_first = seen++ == 0;
        all->sketch.rows = 0;
        all->sketch.sniffed = false;
        err = format->sketch(paths->names[i], delimiter, &all->sketch);
        all->all->rows += all->sketch.rows;
        all->all->sniffed = all->all->sniffed || all->sketch.sniffed;
        all->varies = all->varies || all->told != all->names.count;
    }
    return err;
}

granary_err
gr_format_sketch(const struct gr_format *format, const char *name, const char *delimiter, struct gr_sketch *sketch,
                 bool *ret_varies)
{
    struct union_sketch all = {.sketch = *sketch, .all = sketch};
    struct gr_paths paths = {0};
    struct gr_hive hive = {0};
    granary_err err;

    *ret_varies = false;
    if (!gr_path_is_many(NULL, name)) {
        return format->sketch(name, delimiter, sketch);
    }
    all.sketch.column = take_column;
    sketch->rows = 0;
    err = gr_paths_find(NULL, &name, 1, format, &paths);
    err = err == GRANARY_OK ? sketch_files(format, &paths, delimiter, &all) : err;
    err = err == GRANARY_OK ? gr_hive_read(paths.names, paths.count, false, &hive) : err;
    *ret_varies = all.varies;
    for (size_t k = 0; k < hive.count && err == GRANARY_OK; k++) {
        all.is_first = false;
        err = take_column(&all.sketch, hive.keys[k]);
    }
    gr_hive_free(&hive);
    gr_texts_free(&all.names);
    gr_paths_free(&paths);
    return err;
}
