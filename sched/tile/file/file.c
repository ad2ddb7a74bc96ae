/* What all formats have in common: the file is found and opened, or its folder is looked at; then its source goes on. */
#include "tile/file/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "contract/int128.h"
#include "data/file/paths/paths.h"
#include "data/file/paths/regular.h"
#include "data/file/target.h"
#include "tile/file/many/many.h"
#include "tile/file/tiles.h"

#define MIB ((int64_t)1 << 20)

/* Automatic chunks: four a slot so that slots stay even, within these, and small beside the store. */
#define CHUNK_MIN       MIB
#define CHUNK_MAX       (32 * MIB)
#define CHUNK_LEAST     (64 * 1024)
#define MEMORY_PARTS    16
#define CHUNKS_PER_SLOT 4
#define BLOCKS_MAX      65536 /* smaller chunks than this allows are made larger */

static const struct gr_source *const sources[GR_TILE_COUNT] = {
#define FORMAT_READ(name, kind) [GR_TILE_read_##name] = &gr_source_##name,
#include "contract/formats.def"
};

bool
gr_file_is(enum gr_tile_op op)
{
    switch (op) {
#define FORMAT_WRITE(name, kind) case GR_TILE_write_##name:
#include "contract/formats.def"
        return true;
    default:
        return sources[op] != NULL;
    }
}

bool
gr_file_asks(int op)
{
    return op >= 0 && sources[op] != NULL && sources[op]->start != NULL;
}

/* How many bytes of a file a chunk should have. */
static int64_t
block_of(const struct gr_file *file, const struct gr_file_options *options)
{
    int64_t block = options->chunk_bytes;

    if (block <= 0) {
        block = (file->to - file->from) / (CHUNKS_PER_SLOT * (options->slots > 0 ? options->slots : 1));
        block = block < CHUNK_MIN ? CHUNK_MIN : block > CHUNK_MAX ? CHUNK_MAX : block;
        if (options->memory_bytes > 0 && (uint64_t)block > options->memory_bytes / MEMORY_PARTS) {
            block = (int64_t)(options->memory_bytes / MEMORY_PARTS);
            block = block < CHUNK_LEAST ? CHUNK_LEAST : block;
        }
    }
    return block > file->file_bytes / BLOCKS_MAX ? block : file->file_bytes / BLOCKS_MAX + 1;
}

static int64_t
clamp(int64_t value, int64_t most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* ceil(a * b / c) */
static uint64_t
scaled(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)(((gr_uint128)a * b + c - 1) / c);
}

void
gr_file_part(const struct gr_file *file, uint64_t count, uint64_t *ret_first, uint64_t *ret_end)
{
    bool all = !file->is_part || file->file_bytes == 0;

    *ret_first = all ? 0 : scaled((uint64_t)file->from, count, (uint64_t)file->file_bytes);
    *ret_end = all ? count : scaled((uint64_t)file->to, count, (uint64_t)file->file_bytes);
}

/* Which of its bytes are read: of many files, one that lies behind the other, the node's part may have some of each. */
static void
choose_bytes(struct gr_file *file, const struct gr_file_options *options)
{
    const struct gr_params_read_csv *params = GR_NODE_PARAMS(read_csv, file->node); /* as of all others */
    int64_t before = file->of_many ? options->bytes_before : 0;
    gr_int128 all = file->of_many ? options->all_bytes : file->file_bytes;

    file->from = 0;
    file->to = file->file_bytes;
    file->is_part = params->part != NULL && params->parts != NULL && *params->parts > 1;
    if (file->is_part) {
        file->from = clamp((int64_t)(all * *params->part / *params->parts) - before, file->file_bytes);
        file->to = clamp((int64_t)(all * (*params->part + (gr_int128)1) / *params->parts) - before, file->file_bytes);
    }
}

/* Open it for a moment: whether it can be read shows now, not in an executor. */
static granary_err
look_at_source(struct gr_file *file, const struct gr_file_options *options)
{
    struct stat info;
    int fd;
    granary_err err = gr_regular_open(file->path, &fd, &info);

    if (err == GRANARY_OK) {
        file->file_bytes = info.st_size;
        file->inode = (int64_t)info.st_ino;
        file->modified_ns = info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
        choose_bytes(file, options);
        file->block_bytes = block_of(file, options);
        file->memory_bytes = options->memory_bytes;
        err = file->source->look(file, fd);
    }
    gr_fd_close(&fd);
    return err;
}

/* A file to be made: its folder is there, and takes new files. */
static granary_err
look_at_target(const struct gr_file *file, const struct gr_file_options *options)
{
    const struct gr_params_write_parquet *params = GR_NODE_PARAMS(write_parquet, file->node);
    const bool is_folder = params->partition_by != NULL;
    char *folder = strdup(file->path);
    struct stat info;
    granary_err err = folder == NULL ? tile_no_memory() : GRANARY_OK;

    if (err == GRANARY_OK) {
        *strrchr(folder, '/') = '\0';
        if (stat(folder[0] == '\0' ? "/" : folder, &info) < 0 || access(folder[0] == '\0' ? "/" : folder, W_OK) < 0) {
            err = gr_fail_errno("%s", folder);
        } else if (!S_ISDIR(info.st_mode)) {
            err = gr_fail(GRANARY_EINVAL, "%s: is no folder", folder);
        } else if (stat(file->path, &info) == 0 && !(is_folder ? S_ISDIR(info.st_mode) : S_ISREG(info.st_mode))) {
            err = gr_fail(GRANARY_EINVAL, "%s: is there, and is no %s", file->path,
                          is_folder ? "folder" : "regular file");
        } else if (is_folder && !options->again && strcmp(params->existing, "error") == 0) {
            err = gr_folder_check_free(file->path); /* before all is computed, and once more when it is written */
        }
    }
    free(folder);
    return err;
}

static granary_err
name_node(const struct gr_file *file, granary_err err)
{
    return gr_fail_in(err, "node '%s' (%s)", file->node->name, file->node->op);
}

granary_err
gr_file_create(const struct gr_node *node, const struct gr_file_options *options, struct gr_file **ret_file)
{
    struct gr_file *file = calloc(1, sizeof *file);
    granary_err err;

    if (file == NULL) {
        return gr_fail(GRANARY_ENOMEM, "node '%s' (%s): out of memory", node->node->name, node->node->op);
    }
    file->source = sources[node->op];
    file->node = node->node;
    file->name = GR_NODE_PARAMS(read_csv, node->node)->path; /* all files have one */
    file->path = gr_path_absolute(options->directory, file->name);
    for (size_t end = file->path == NULL ? 0 : strlen(file->path); file->source == NULL && end > 1; end--) {
        if (file->path[end - 1] != '/') { /* of a folder to be made */
            break;
        }
        file->path[end - 1] = '\0';
    }
    err = file->path == NULL                   ? tile_no_memory()
          : file->source == NULL               ? look_at_target(file, options)
          : many_is_meant(node->node, options) ? many_look(file, node, options)
                                               : look_at_source(file, options);
    if (err != GRANARY_OK) {
        err = name_node(file, err);
        gr_file_destroy(file);
        return err;
    }
    file->known = !file->asks;
    file->type.known = file->known && file->source != NULL;
    *ret_file = file;
    return GRANARY_OK;
}

granary_err
file_create_part(const struct gr_file *many, const struct gr_source *source, const char *name,
                 const struct gr_file_options *options, struct gr_file **ret_file)
{
    struct gr_file *file = calloc(1, sizeof *file);
    granary_err err;

    if (file == NULL) {
        return tile_no_memory();
    }
    *file = (struct gr_file){.source = source, .node = many->node, .name = name, .of_many = true};
    file->path = gr_path_absolute(options->directory, name);
    err = file->path == NULL ? tile_no_memory() : look_at_source(file, options);
    if (err != GRANARY_OK) {
        gr_file_destroy(file);
        return err;
    }
    file->known = !file->asks;
    file->type.known = file->known;
    *ret_file = file;
    return GRANARY_OK;
}

uint64_t
gr_file_distinct(const struct gr_file *file, const char *column)
{
    return file->known && !file->believed && file->source != NULL && file->source->distinct != NULL
               ? file->source->distinct(file, column)
               : 0;
}

granary_err
gr_file_believe(struct gr_file *file, const struct gr_schema *schema)
{
    granary_err err = gr_schema_copy(schema, &file->type.schema);

    file->believed = file->known = file->type.known = err == GRANARY_OK;
    file->asks = err != GRANARY_OK;
    return err;
}

void
gr_file_doubt(struct gr_file *file)
{
    gr_schema_free(&file->type.schema);
    free(file->kinds);
    file->kinds = NULL;
    file->type = (struct gr_node_type){.known = false};
    file->believed = file->known = false;
    file->asks = true;
}

void
gr_file_destroy(struct gr_file *file)
{
    if (file == NULL) {
        return;
    }
    if (file->own != NULL) {
        file->source->free_own(file);
    }
    gr_schema_free(&file->type.schema);
    free(file->kinds);
    free(file->parts);
    free(file->path);
    free(file);
}

void
gr_file_start(struct gr_file *file, uint32_t step, struct gr_chunks *chunks)
{
    file->first_op = chunks->count;
    file->asks = false;
    file->source->start(file, step, chunks);
}

void
gr_file_makers(const struct gr_file *file, gr_file_maker *tell, void *context)
{
    if (file->source != NULL && file->source->makers != NULL) {
        file->source->makers(file, tell, context);
    } else if (file->made > 0 && !file->asks) {
        tell(context, file->made_by, file->made);
    }
}

granary_err
gr_file_feed(struct gr_file *file, size_t job, const ProtobufCBinaryData *answer)
{
    granary_err err = job >= file->jobs || file->known ? gr_fail(GRANARY_EPROTO, "an answer nobody asked for")
                                                       : file->source->feed(file, job, answer);

    if (err == GRANARY_EPROTO || err == GRANARY_ENOMEM) { /* others are about the file, and name the place */
        return name_node(file, err);
    }
    file->type.known = file->known;
    return err;
}

bool
gr_file_tell_odd(const struct gr_file *file, size_t column, struct gr_buf *out)
{
    return file->source != NULL && file->source->tell_odd != NULL && file->source->tell_odd(file, column, out);
}

/* ---- tile rules ---- */

/* All that can be read is tiled by its source. */
static granary_err
tile_source(struct tiling *t, size_t i)
{
    const struct gr_file *file = t->sources->files[i];

    return file->source->tile(t, i, file, &t->steps->steps[i], &t->tiled[i]);
}

#define FORMAT_READ(name, kind) TILE_AS(read_##name, tile_source(t, i))
#include "contract/formats.def"
