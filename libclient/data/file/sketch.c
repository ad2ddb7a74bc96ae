/* See sketch.h. */
#include "data/file/sketch.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
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
    uint64_t most; /* of any file */
    bool by_position;
    bool is_first;
    bool varies;
};

/* By names: one that comes twice in one file is told, for an error. */
static granary_err
take_column(struct gr_sketch *sketch, const char *name)
{
    struct union_sketch *all = (struct union_sketch *)sketch;
    uint64_t before = all->names.count;
    uint32_t number;
    bool is_new;
    granary_err err = all->by_position ? GRANARY_OK : gr_texts_add(&all->names, name, strlen(name), &number);

    if (err != GRANARY_OK) {
        return err;
    }
    is_new = all->by_position ? all->told == all->most : all->names.count > before;
    all->told++;
    all->most = all->most < all->told ? all->told : all->most;
    all->varies = all->varies || (is_new && !all->is_first);
    return is_new || (all->is_first && !all->by_position) ? all->all->column(all->all, name) : GRANARY_OK;
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

/* The files are looked at that are wanted and not empty; without any, one that is not empty, or else any. */
static bool
is_seen(const struct gr_format *format, const struct gr_sketch_files *files, size_t i, int round)
{
    return (round > 0 || files->wanted == NULL || files->wanted[i]) &&
           (round == 2 || !is_empty(format, files->paths->names[i]));
}

granary_err
gr_sketch_files(const struct gr_format *format, const struct gr_sketch_files *files, const char *delimiter,
                struct gr_sketch *sketch, bool *ret_varies)
{
    struct union_sketch all = {.sketch = *sketch, .all = sketch, .by_position = files->by_position};
    size_t seen = 0;
    granary_err err = GRANARY_OK;

    all.sketch.column = take_column;
    all.sketch.how = sketch->how == GR_SNIFF_ANY ? GR_SNIFF_TABLE : sketch->how;
    sketch->rows = 0;
    sketch->sniffed = false;
    for (int round = 0; round < 3 && seen == 0; round++) {
        for (size_t i = 0; i < files->paths->count && err == GRANARY_OK && (round == 0 || seen == 0); i++) {
            if (!is_seen(format, files, i, round)) {
                continue;
            }
            all.told = 0;
            all.is_first = seen++ == 0;
            all.sketch.rows = 0;
            all.sketch.sniffed = false;
            err = format->sketch(files->paths->names[i], delimiter, &all.sketch);
            sketch->rows += all.sketch.rows;
            sketch->sniffed = sketch->sniffed || all.sketch.sniffed;
            all.varies = all.varies || all.told != (files->by_position ? all.most : all.names.count);
        }
    }
    *ret_varies = all.varies;
    for (size_t k = 0; files->hive != NULL && k < files->hive->count && err == GRANARY_OK; k++) {
        all.told = all.most; /* by position it is one more */
        all.is_first = false;
        err = take_column(&all.sketch, files->hive->keys[k]);
    }
    gr_texts_free(&all.names);
    return err;
}

granary_err
gr_format_sketch(const struct gr_format *format, const char *name, const char *delimiter, struct gr_sketch *sketch,
                 bool *ret_varies)
{
    struct gr_paths paths = {0};
    struct gr_hive hive = {0};
    const struct gr_sketch_files files = {.paths = &paths, .hive = &hive};
    granary_err err;

    *ret_varies = false;
    if (!gr_path_is_many(NULL, name)) {
        return format->sketch(name, delimiter, sketch);
    }
    err = gr_paths_find(NULL, &name, 1, format, &paths);
    err = err == GRANARY_OK ? gr_hive_read(paths.names, paths.count, false, &hive) : err;
    err = err == GRANARY_OK ? gr_sketch_files(format, &files, delimiter, sketch, ret_varies) : err;
    gr_hive_free(&hive);
    gr_paths_free(&paths);
    return err;
}
