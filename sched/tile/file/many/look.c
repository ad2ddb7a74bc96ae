/* See many.h: files are found, and looked at in the stages of their format. */
#include "tile/file/many/many.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "tile/file/many/own.h"

static const struct gr_source source_many;

bool
many_is_meant(const Granary__Node *node, const struct gr_file_options *options)
{
    const struct gr_params_read_parquet *params = GR_NODE_PARAMS(read_parquet, node);

    return gr_op_info((enum gr_tile_op)gr_op_find(node->op))->yields == GR_YIELDS_FRAME &&
           (params->paths != NULL || params->filename != NULL || params->also != NULL ||
            strcmp(params->hive, "true") == 0 || gr_path_is_many(options->directory, params->path));
}

/* ---- the files ---- */

/* The format of files that a node reads. */
static const struct gr_format *
format_of(const Granary__Node *node)
{
    const struct gr_format *const *format = gr_formats;

    while (*format != NULL && strcmp((*format)->name, node->op + strlen("read_")) != 0) {
        format++;
    }
    return *format;
}

static granary_err
find_paths(struct many *many, const struct gr_file *file, const struct gr_file_options *options)
{
    const struct gr_params_read_parquet *params = GR_NODE_PARAMS(read_parquet, file->node);
    size_t more = params->paths == NULL ? 0 : params->paths->n_strings;
    const char **names = calloc(more + 1, sizeof *names);
    granary_err err;

    if (names == NULL) {
        return tile_no_memory();
    }
    names[0] = params->path;
    for (size_t i = 0; i < more; i++) {
        names[i + 1] = params->paths->strings[i];
    }
    err = gr_paths_find(options->directory, names, more + 1, format_of(file->node), &many->paths);
    free(names);
    return err;
}

/* A file without a byte has no rows and no columns, but in a format whose files begin with something. */
static bool
is_empty(const struct gr_file *file, const char *name, const struct gr_file_options *options)
{
    struct stat info;
    char *path = format_of(file->node)->is_text ? gr_path_absolute(options->directory, name) : NULL;
    bool is = path != NULL && stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0;

    free(path);
    return is;
}

/* Of a node that reads a part: how many bytes each file has, wanted or not. NULL: no memory */
static int64_t *
sizes_of(const struct gr_file *file, const struct gr_file_options *options, struct gr_file_options *ret_options)
{
    const struct many *many = file->own;
    bool is_part = GR_NODE_PARAMS(read_parquet, file->node)->part != NULL;
    int64_t *sizes = calloc(many->paths.count + 1, sizeof *sizes);

    *ret_options = *options;
    for (size_t i = 0; sizes != NULL && is_part && i < many->paths.count; i++) {
        char *path = gr_path_absolute(options->directory, many->paths.names[i]);
        struct stat info;

        sizes[i] =
            path != NULL && stat(path, &info) == 0 ? info.st_size : 0; /* what is wrong shows when it is opened */
        ret_options->all_bytes += sizes[i];
        free(path);
    }
    return sizes;
}

/* Look at those that are wanted; without any, at one, which tells the columns. */
static granary_err
look_at_parts(struct gr_file *file, const bool *wanted, const struct gr_file_options *given)
{
    struct many *many = file->own;
    struct gr_file_options own;
    struct gr_file_options *options = &own;
    int64_t *sizes = sizes_of(file, given, &own);
    granary_err err = GRANARY_OK;

    many->parts = calloc(many->paths.count, sizeof *many->parts);
    many->stage = calloc(many->paths.count, sizeof *many->stage);
    if (many->parts == NULL || many->stage == NULL || sizes == NULL) {
        free(sizes);
        return tile_no_memory();
    }
    for (int round = 0; round < 3 && many->count == 0 && err == GRANARY_OK; round++) {
        options->bytes_before = 0;
        for (size_t i = 0; i < many->paths.count && err == GRANARY_OK && (round == 0 || many->count == 0); i++) {
            const char *name = many->paths.names[i];
            struct many_part *part = &many->parts[many->count];

            if ((round > 0 || wanted[i]) && (round == 2 || !is_empty(file, name, options))) {
                err = file_create_part(file, many->source, name, options, &part->file);
                part->number = i;
                many->count += err == GRANARY_OK;
            }
            options->bytes_before += sizes[i];
        }
    }
    free(sizes);
    return err;
}

static uint64_t
mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Of all that was looked at. */
static void
sum_up(struct gr_file *file)
{
    const struct many *many = file->own;
    uint64_t hash = many->paths.count;
    uint64_t numbers = 0;

    for (size_t p = 0; p < many->count; p++) {
        const struct gr_file *part = many->parts[p].file;

        hash = mixed(hash, (uint64_t)part->modified_ns ^ (uint64_t)part->file_bytes << 20 ^ many->parts[p].number);
        numbers = mixed(numbers, many->parts[p].number + 1);
        file->file_bytes += part->file_bytes;
        file->block_bytes = part->block_bytes > file->block_bytes ? part->block_bytes : file->block_bytes;
    }
    file->modified_ns = (int64_t)hash;
    file->subset = many->count == many->paths.count ? 0 : numbers | 1;
}

/* The parts that ask are a stage; without any, the table is known. */
static granary_err
next_stage(struct gr_file *file)
{
    const struct many *many = file->own;

    file->jobs = file->waiting = 0;
    for (size_t p = 0; p < many->count; p++) {
        if (many->parts[p].file->asks) {
            file->stage = many->parts[p].file->stage;
            file->jobs += many->parts[p].file->jobs;
            file->waiting++;
        }
    }
    file->asks = file->waiting > 0;
    return file->asks ? GRANARY_OK : many_settle(file);
}

granary_err
many_look(struct gr_file *file, const struct gr_node *node, const struct gr_file_options *options)
{
    const struct gr_params_read_parquet *params = GR_NODE_PARAMS(read_parquet, file->node);
    struct many *many = calloc(1, sizeof *many);
    bool *wanted = NULL;
    granary_err err;

    if (many == NULL) {
        return tile_no_memory();
    }
    many->source = file->source;
    file->source = &source_many;
    file->own = many;
    err = find_paths(many, file, options);
    err = err == GRANARY_OK
              ? gr_partition_read(many->paths.names, many->paths.count, params->hive,
                                  gr_attr_find(file->node->attrs, file->node->n_attrs, "dtypes"), &many->partition)
              : err;
    if (err == GRANARY_OK) {
        wanted = calloc(many->paths.count, sizeof *wanted);
        err = wanted == NULL ? tile_no_memory() : GRANARY_OK;
    }
    if (err == GRANARY_OK && many->partition.hive.count > 0 && options->graph != NULL) {
        err = many_wanted(many, node, options->graph, wanted);
    } else if (err == GRANARY_OK) {
        memset(wanted, true, many->paths.count);
    }
    err = err == GRANARY_OK ? look_at_parts(file, wanted, options) : err;
    free(wanted);
    if (err != GRANARY_OK) {
        return err;
    }
    sum_up(file);
    return next_stage(file);
}

static void
many_free(struct gr_file *file)
{
    struct many *many = file->own;

    for (size_t p = 0; p < many->count; p++) {
        gr_file_destroy(many->parts[p].file);
        free(many->parts[p].to);
    }
    free(many->parts);
    free(many->stage);
    free(many->columns);
    gr_partition_free(&many->partition);
    gr_paths_free(&many->paths);
    free(many);
}

/* ---- stages ---- */

static void
many_start(struct gr_file *file, uint32_t step, struct gr_chunks *chunks)
{
    struct many *many = file->own;
    struct many_group group = {0};

    many->stage_count = 0;
    for (size_t p = 0; p < many->count; p++) {
        struct gr_file *part = many->parts[p].file;

        if (part->asks) {
            bool joins = many_group_takes(&group, part->jobs, (uint64_t)part->file_bytes);

            many->stage[many->stage_count++] = p;
            gr_file_start(part, step, chunks);
            if (joins && part->first_op < chunks->count) {
                chunks->chunks[part->first_op].joins = true;
            }
        }
    }
}

/* The part that an operator of this stage is on. */
static struct gr_file *
part_of(const struct many *many, uint32_t op)
{
    struct gr_file *found = NULL;

    for (size_t low = 0, high = many->stage_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        struct gr_file *part = many->parts[many->stage[middle]].file;

        if (part->first_op <= op) {
            found = part;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return found;
}

static granary_err
many_feed(struct gr_file *file, size_t job, const ProtobufCBinaryData *answer)
{
    struct gr_file *part = part_of(file->own, file->first_op + (uint32_t)job);
    granary_err err;

    if (part == NULL || part->known || part->asks) {
        return GRANARY_OK; /* it was told before */
    }
    err = gr_file_feed(part, file->first_op + job - part->first_op, answer);
    if (err == GRANARY_OK && (part->known || part->asks) && --file->waiting == 0) {
        err = next_stage(file);
        err = err == GRANARY_OK || err == GRANARY_ENOMEM
                  ? err
                  : gr_fail_in(err, "node '%s' (%s)", file->node->name, file->node->op);
    }
    file->known = err == GRANARY_OK && !file->asks && file->waiting == 0;
    return err;
}

static void
many_makers(const struct gr_file *file, gr_file_maker *tell, void *context)
{
    const struct many *many = file->own;

    for (size_t p = 0; p < many->count; p++) {
        gr_file_makers(many->parts[p].file, tell, context);
    }
}

static bool
many_tell_odd(const struct gr_file *file, size_t column, struct gr_buf *out)
{
    const struct many *many = file->own;
    bool told = false;

    for (size_t p = 0; p < many->count && !told && many->columns[column].key < 0 && !many->columns[column].is_name;
         p++) {
        const struct gr_schema *schema = &many->parts[p].file->type.schema;

        for (size_t c = 0; c < schema->count && !told; c++) {
            told = many->parts[p].to[c] == column && gr_file_tell_odd(many->parts[p].file, c, out);
        }
    }
    return told;
}

static const struct gr_source source_many = {.tile = many_tile,
                                             .makers = many_makers,
                                             .start = many_start,
                                             .feed = many_feed,
                                             .tell_odd = many_tell_odd,
                                             .free_own = many_free};
