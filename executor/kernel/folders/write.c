/* folders_write: pieces of all chunks become a file in each folder, in the order of rows. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "kernel/core/frame_call.h"
#include "kernel/folders/parcel.h"
#include "kernel/folders/tree.h"
#include "parquet/write/write.h"

struct piece {
    struct parcel_piece of;
    size_t number; /* in the order of rows */
};

struct writing {
    const struct gr_chunk_folders_write *params;
    struct tree *tree;
    struct piece *pieces; /* by folder, then in order */
    size_t count;
    const uint8_t *begins; /* with which each file begins */
    size_t begins_size;
    struct gr_buf paths; /* of the files, one behind the other */
    int32_t *ends;       /* in paths */
    int64_t *bytes;
    int64_t files;
};

static granary_err
no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "folders_write: out of memory");
}

/* ---- pieces ---- */

static int
compare(const void *a, const void *b)
{
    const struct piece *one = a;
    const struct piece *other = b;
    size_t size = one->of.folder_size < other->of.folder_size ? one->of.folder_size : other->of.folder_size;
    int order = memcmp(one->of.folder, other->of.folder, size);

    return order != 0                                     ? order
           : one->of.folder_size != other->of.folder_size ? (one->of.folder_size < other->of.folder_size ? -1 : 1)
                                                          : (one->number < other->number ? -1 : 1);
}

static bool
same_folder(const struct piece *a, const struct piece *b)
{
    return a->of.folder_size == b->of.folder_size && memcmp(a->of.folder, b->of.folder, a->of.folder_size) == 0;
}

static granary_err
take_parcel(struct writing *w, const struct gr_value *input)
{
    struct parcel parcel;
    struct piece *grown;
    granary_err err = input->kind != GR_VALUE_BYTES ? gr_fail(GRANARY_ETYPE, "folders_write: an input is no bytes")
                                                    : parcel_open(input->bytes, (size_t)input->bytes_size, &parcel);

    if (err != GRANARY_OK) {
        return err;
    }
    if (parcel.left > input->bytes_size / 64) { /* each takes as many */
        return gr_fail(GRANARY_ECORRUPT, "folders_write: an input is no parcel of this release");
    }
    grown = reallocarray(w->pieces, w->count + parcel.left + 1, sizeof *grown);
    if (grown == NULL) {
        return no_memory();
    }
    w->pieces = grown;
    w->begins = parcel.begins;
    w->begins_size = parcel.begins_size;
    while (parcel.left > 0 && err == GRANARY_OK) {
        w->pieces[w->count].number = w->count;
        err = parcel_next(&parcel, &w->pieces[w->count].of);
        w->count += err == GRANARY_OK;
    }
    return err;
}

/* ---- a file ---- */

static granary_err
write_to(void *target, const void *bytes, size_t size)
{
    return target_write(target, bytes, size);
}

static granary_err
write_parquet(struct target *target, const struct piece *pieces, size_t count)
{
    struct gr_parquet_writer *writer = NULL;
    granary_err err = gr_parquet_writer_create(write_to, target, &writer);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = gr_parquet_writer_add(writer, pieces[i].of.bytes, pieces[i].of.size);
    }
    err = err == GRANARY_OK ? gr_parquet_writer_finish(writer) : err;
    gr_parquet_writer_destroy(writer);
    return err;
}

/* Files that become one. Each is read from memory as files lie in: aligned. */
static granary_err
add_arrow(struct gr_arrow_stream *stream, const struct parcel_piece *piece)
{
    void *bytes = aligned_alloc(64, (piece->size + 63) & ~(size_t)63);
    granary_frame *frame = NULL;
    granary_err err = bytes == NULL ? no_memory() : GRANARY_OK;

    if (err == GRANARY_OK) {
        memcpy(bytes, piece->bytes, piece->size);
        err = gr_arrow_read(bytes, piece->size, NULL, 0, &frame);
    }
    err = err == GRANARY_OK ? gr_arrow_stream_add(stream, frame) : err;
    gr_frame_destroy(frame);
    free(bytes);
    return err;
}

static granary_err
write_arrow(struct target *target, const struct piece *pieces, size_t count)
{
    struct gr_arrow_stream *stream = NULL;
    granary_err err = gr_arrow_stream_create(write_to, target, &stream);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = add_arrow(stream, &pieces[i].of);
    }
    err = err == GRANARY_OK ? gr_arrow_stream_finish(stream) : err;
    gr_arrow_stream_destroy(stream);
    return err;
}

static granary_err
write_text(const struct writing *w, struct target *target, const struct piece *pieces, size_t count)
{
    granary_err err = target_write(target, w->begins, w->begins_size);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = target_write(target, pieces[i].of.bytes, pieces[i].of.size);
    }
    return err;
}

static granary_err
write_file(struct writing *w, const struct piece *pieces, size_t count)
{
    char *folder = strndup(pieces->of.folder, pieces->of.folder_size);
    struct target target = {.fd = -1};
    granary_err err = folder == NULL ? no_memory() : tree_begin(w->tree, folder, w->params->name, &target);

    if (err == GRANARY_OK) {
        err = strcmp(w->params->format, "parquet") == 0 ? write_parquet(&target, pieces, count)
              : strcmp(w->params->format, "arrow") == 0 ? write_arrow(&target, pieces, count)
                                                        : write_text(w, &target, pieces, count);
    }
    err = tree_end(w->tree, &target, err);
    if (err == GRANARY_OK) {
        gr_buf_addf(&w->paths, "%s/%s/%s", w->params->path, folder, w->params->name);
        w->bytes[w->files] = (int64_t)target.bytes;
        w->ends[++w->files] = (int32_t)w->paths.size;
        err = !gr_buf_ok(&w->paths)       ? no_memory()
              : w->paths.size > INT32_MAX ? gr_fail(GRANARY_EFULL, "folders_write: paths of more than 2 GiB")
                                          : GRANARY_OK;
    }
    free(folder);
    return err;
}

/* ---- all of them ---- */

static granary_err
write_files(struct writing *w)
{
    granary_err err = GRANARY_OK;

    w->ends = calloc(w->count + 1, sizeof *w->ends);
    w->bytes = calloc(w->count + 1, sizeof *w->bytes);
    if (w->ends == NULL || w->bytes == NULL) {
        return no_memory();
    }
    if (w->count > 0) {
        qsort(w->pieces, w->count, sizeof *w->pieces, compare);
    }
    for (size_t from = 0, to; from < w->count && err == GRANARY_OK; from = to) {
        for (to = from + 1; to < w->count && same_folder(&w->pieces[from], &w->pieces[to]); to++) {
        }
        err = write_file(w, &w->pieces[from], to - from);
    }
    return err;
}

static granary_err
yield_files(struct gr_kernel_call *call, const struct writing *w)
{
    granary_frame *frame = gr_frame_create(2, w->files);
    struct gr_column column;
    granary_err err = frame == NULL ? no_memory() : GRANARY_OK;

    err = err == GRANARY_OK ? gr_column_alloc(GRANARY_STRING, w->files, (int64_t)w->paths.size, false, &column) : err;
    if (err == GRANARY_OK) {
        if (w->files > 0) {
            memcpy((char *)(uintptr_t)column.view.values, w->paths.bytes, w->paths.size);
        }
        memcpy((int32_t *)(uintptr_t)column.view.offsets, w->ends, ((size_t)w->files + 1) * sizeof *w->ends);
        err = gr_frame_set(frame, 0, "path", &column);
    }
    err = err == GRANARY_OK ? gr_column_alloc(GRANARY_INT64, w->files, 0, false, &column) : err;
    if (err == GRANARY_OK) {
        if (w->files > 0) {
            memcpy((int64_t *)(uintptr_t)column.view.values, w->bytes, (size_t)w->files * sizeof *w->bytes);
        }
        err = gr_frame_set(frame, 1, "bytes", &column);
    }
    return call_yield(call, 0, frame, err);
}

granary_err
kernel_folders_write(struct gr_kernel_call *call, const struct gr_chunk_folders_write *params)
{
    struct writing w = {.params = params};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < call->input_count && err == GRANARY_OK; i++) {
        err = take_parcel(&w, &call->inputs[i]);
    }
    err = err == GRANARY_OK ? tree_create(params->path, params->existing, &w.tree) : err;
    err = err == GRANARY_OK ? write_files(&w) : err;
    err = err == GRANARY_OK ? tree_finish(w.tree) : err;
    tree_destroy(w.tree);
    err = err == GRANARY_OK ? yield_files(call, &w) : err;
    gr_buf_free(&w.paths);
    free(w.pieces);
    free(w.ends);
    free(w.bytes);
    return err;
}
