/* Chunks in files. A text of lines says which there are, with each file's size and the checksum at its end. */
#include "cli/cluster/chunks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/text/buf.h"
#include "granary/stream.h"
#include "object/write/portable.h"

#define MANIFEST_MAX ((size_t)64 << 20)
#define FIRST_LINE   "granary fragment 1"

static void
done_path(const struct chunks_of *of, char ret_path[PATH_MAX])
{
    (void)snprintf(ret_path, PATH_MAX, "%s/%s-%u.done", of->directory, of->digest, of->partition);
}

static void
chunk_path(const struct chunks_of *of, size_t k, char ret_path[PATH_MAX])
{
    (void)snprintf(ret_path, PATH_MAX, "%s/%s-%u.%zu.object", of->directory, of->digest, of->partition, k);
}

/*
 * Who writes into the directory makes the answer. So a file counts that is this user's. Where the directory's owner alone
 * may write, all files are that one's; some file systems tell no other owner. Errors: EPERM, EINVAL no file
 */
static granary_err
check_writer(const struct chunks_of *of, int fd, const char *path)
{
    struct stat st, above;

    if (fstat(fd, &st) < 0 || stat(of->directory, &above) < 0) {
        return gr_fail_errno("%s", path);
    }
    if (!S_ISREG(st.st_mode)) {
        return gr_fail(GRANARY_EPERM, "%s: is no regular file: remove it", path);
    }
    if (st.st_uid == geteuid() || ((above.st_mode & (S_IWGRP | S_IWOTH)) == 0 && st.st_uid == above.st_uid)) {
        return GRANARY_OK;
    }
    return gr_fail(GRANARY_EPERM,
                   "%s belongs to uid %u, and others may write into the directory: name one of your own with "
                   "--directory",
                   path, (unsigned)st.st_uid);
}

static granary_err
open_own(const struct chunks_of *of, const char *path, int *ret_fd)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    granary_err err = fd >= 0          ? check_writer(of, fd, path)
                      : errno == ELOOP ? gr_fail(GRANARY_EPERM, "%s: is a link: remove it", path)
                                       : gr_fail_errno("%s", path);

    if (err != GRANARY_OK) {
        gr_fd_close(&fd);
        return err;
    }
    *ret_fd = fd;
    return GRANARY_OK;
}

/* ---- what there is ---- */

/* A line of the text, which is ended there; NULL: there is none. */
static char *
next_line(char **text)
{
    char *line = *text;
    char *end = strchr(line, '\n');

    if (end == NULL) {
        return NULL;
    }
    *end = '\0';
    *text = end + 1;
    return line;
}

static bool
parse_shape(const char *line, struct chunks *chunks)
{
    int used = 0;

    while (chunks->dims < CHUNKS_DIMS && sscanf(line, " %" SCNd64 "%n", &chunks->shape[chunks->dims], &used) == 1) {
        line += used;
        chunks->dims++;
    }
    return *line == '\0';
}

/* Lines in the order in which chunks_write() has them. False: they are not. */
static bool
parse(char *text, struct chunks *chunks)
{
    const char *line = next_line(&text);
    unsigned long long count;

    if (line == NULL || strcmp(line, FIRST_LINE) != 0 || (line = next_line(&text)) == NULL ||
        sscanf(line, "node %64s", chunks->node) != 1 || (line = next_line(&text)) == NULL) {
        return false;
    }
    chunks->is_tensor = strncmp(line, "tensor", 6) == 0;
    chunks->is_objects = strcmp(line, "objects") == 0;
    if ((chunks->is_tensor ? !parse_shape(line + 6, chunks) : !chunks->is_objects && strcmp(line, "frame") != 0) ||
        (line = next_line(&text)) == NULL || sscanf(line, "chunks %llu", &count) != 1 || count > MANIFEST_MAX / 20) {
        return false;
    }
    chunks->files = calloc((size_t)count + 1, sizeof *chunks->files);
    while (chunks->files != NULL && chunks->count < count && (line = next_line(&text)) != NULL &&
           sscanf(line, "%" SCNu64 " %" SCNx64, &chunks->files[chunks->count].bytes,
                  &chunks->files[chunks->count].chain) == 2) {
        chunks->count++;
    }
    return chunks->files != NULL && chunks->count == count && (line = next_line(&text)) != NULL &&
           strcmp(line, "end") == 0;
}

granary_err
chunks_read(const struct chunks_of *of, struct chunks *ret_chunks)
{
    struct chunks chunks = {.count = 0};
    char path[PATH_MAX];
    char *text = NULL;
    size_t size;
    int fd = -1;
    granary_err err;

    done_path(of, path);
    err = open_own(of, path, &fd);
    err = err == GRANARY_OK ? gr_fd_read(fd, path, MANIFEST_MAX, &text, &size) : err;
    if (err == GRANARY_OK && (strlen(text) != size || !parse(text, &chunks))) {
        chunks_free(&chunks);
        err = gr_fail(GRANARY_ECORRUPT, "%s: is damaged", path);
    }
    free(text);
    if (err == GRANARY_OK) {
        *ret_chunks = chunks;
    }
    return err;
}

void
chunks_free(struct chunks *chunks)
{
    free(chunks->files);
    chunks->files = NULL;
    chunks->count = 0;
}

/* ---- files read ---- */

static granary_err
read_at(int fd, const char *path, void *to, size_t size, int64_t at)
{
    granary_err err = gr_pread_all(fd, to, size, at);

    return err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "%s", path);
}

/* Open chunk k and compare its size and its end with what is told of it. */
static granary_err
open_chunk(const struct chunks_of *of, const struct chunks *chunks, size_t k, char ret_path[PATH_MAX], int *ret_fd)
{
    const struct chunk_file *file = &chunks->files[k];
    struct stat st;
    uint64_t chain = 0;
    granary_id id = {{0}};
    granary_err err;
    int fd = -1;

    chunk_path(of, k, ret_path);
    err = open_own(of, ret_path, &fd);
    if (err != GRANARY_OK) {
        return err == GRANARY_ENOENT ? gr_fail(GRANARY_ECORRUPT, "%s: is not there any more", ret_path) : err;
    }
    if (fstat(fd, &st) < 0) {
        err = gr_fail_errno("%s", ret_path);
    } else if ((uint64_t)st.st_size != file->bytes || file->bytes < sizeof chain) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: has %lld bytes where %" PRIu64 " were written", ret_path,
                      (long long)st.st_size, file->bytes);
    } else {
        err = read_at(fd, ret_path, &chain, sizeof chain, (int64_t)(file->bytes - sizeof chain));
    }
    if (err == GRANARY_OK && chain != file->chain) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: is not the file that was written: its checksum is another one", ret_path);
    }
    if (err == GRANARY_OK) {
        err = read_at(fd, ret_path, &id, sizeof id, PORTABLE_ID_AT);
    }
    if (err == GRANARY_OK && !gr_id_equal(id, gr_id_of_name(strrchr(ret_path, '/') + 1))) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: is another file, which somebody has renamed", ret_path);
    }
    if (err != GRANARY_OK) {
        gr_fd_close(&fd);
        return err;
    }
    *ret_fd = fd;
    return GRANARY_OK;
}

struct check {
    int fd;
    char *room;
};

static granary_err
check_read(void *context, void *to, size_t size, size_t *ret_size)
{
    const struct check *check = context;
    size_t done = 0;
    ssize_t n = 1;

    while (done < size && n != 0) {
        n = read(check->fd, (char *)to + done, size - done);
        if (n < 0 && errno != EINTR) {
            return gr_fail_errno("read");
        }
        done += n > 0 ? (size_t)n : 0;
    }
    *ret_size = done;
    return GRANARY_OK;
}

static granary_err
check_begin(void *context, const struct portable_header *header)
{
    struct check *check = context;

    check->room = malloc(header->chunk_size);
    return check->room == NULL ? gr_no_memory("chunk") : GRANARY_OK;
}

/* Its checksum is computed there, and the next bytes take their place. */
static granary_err
check_place(void *context, bool meta, uint32_t size, void **ret_at)
{
    (void)meta;
    (void)size;
    *ret_at = ((const struct check *)context)->room;
    return GRANARY_OK;
}

granary_err
chunks_verify(const struct chunks_of *of, const struct chunks *chunks)
{
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < chunks->count && err == GRANARY_OK; k++) {
        struct check check = {.fd = -1};
        const struct portable_source source = {
            .read = check_read, .begin = check_begin, .place = check_place, .context = &check};
        char path[PATH_MAX];

        err = open_chunk(of, chunks, k, path, &check.fd);
        if (err == GRANARY_OK && (err = portable_read(&source)) != GRANARY_OK) {
            err = gr_fail_in(err == GRANARY_ENOENT ? GRANARY_ECORRUPT : err, "%s", path);
        }
        free(check.room);
        gr_fd_close(&check.fd);
    }
    return err;
}

granary_err
chunks_take(const struct chunks_of *of, const struct chunks *chunks, size_t k, granary_client *client,
            granary_id *ret_id)
{
    granary_id id = granary_id_random();
    char path[PATH_MAX];
    int fd = -1;
    granary_err err = open_chunk(of, chunks, k, path, &fd);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_object_import(client, fd, &id, NULL);
    err = err == GRANARY_ENOENT ? GRANARY_ECORRUPT : err;
    /* A reference of this client alone is left, so a kill frees the object, too. */
    err = err == GRANARY_OK ? granary_reference(client, id, NULL, NULL) : err;
    err = err == GRANARY_OK ? granary_object_delete(client, id, 0) : err;
    gr_fd_close(&fd);
    *ret_id = id;
    return err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "%s", path);
}

/* ---- files written ---- */

/* A name that no other writer has; hidden until it is renamed. */
static int
open_new(const struct chunks_of *of, const char *node, char ret_path[PATH_MAX])
{
    (void)snprintf(ret_path, PATH_MAX, "%s/.%s-%u.%s-%d.new", of->directory, of->digest, of->partition, node,
                   (int)getpid());
    (void)unlink(ret_path); /* a killed writer's, or somebody's who waits for what is written */
    return open(ret_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Close and rename, or remove after an error. */
static granary_err
close_new(int *fd, const char *made, const char *path, granary_err err)
{
    if (*fd >= 0 && close(*fd) < 0 && err == GRANARY_OK) {
        err = gr_fail_errno("close");
    }
    *fd = -1;
    if (err == GRANARY_OK && rename(made, path) < 0) {
        err = gr_fail_errno("rename");
    }
    if (err != GRANARY_OK) {
        (void)unlink(made);
        return gr_fail_in(err, "%s", path);
    }
    return GRANARY_OK;
}

static granary_err
write_to(void *context, const void *bytes, size_t size)
{
    return gr_write_all(*(const int *)context, bytes, size);
}

/* As granary_object_export() does it, but under an id that is the same whoever writes it. */
static granary_err
export_chunk(const struct chunks_of *of, size_t k, granary_client *client, granary_id id, int fd)
{
    const struct portable_sink sink = {.write = write_to, .context = &fd};
    struct portable_header header = {.chunk_size = PORTABLE_CHUNK_BYTES};
    char path[PATH_MAX];
    granary_view view;
    granary_err err = granary_object_get(client, id, GRANARY_FOREVER, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    chunk_path(of, k, path);
    header.id = gr_id_of_name(strrchr(path, '/') + 1);
    header.data_size = view.data_size;
    header.meta_size = view.meta_size;
    err = portable_write(&sink, &header, view.data, view.meta);
    granary_object_release(client, &view);
    return err;
}

static granary_err
write_chunk(const struct chunks_of *of, size_t k, granary_client *client, granary_id id, const char *node,
            struct chunk_file *ret_file)
{
    char path[PATH_MAX], made[PATH_MAX];
    granary_err err = GRANARY_OK;
    struct stat st;
    int fd;

    chunk_path(of, k, path);
    fd = open_new(of, node, made);
    if (fd < 0) {
        return gr_fail_errno("%s", path);
    }
    err = export_chunk(of, k, client, id, fd);
    if (err == GRANARY_OK && fstat(fd, &st) < 0) {
        err = gr_fail_errno("stat");
    }
    if (err == GRANARY_OK) {
        ret_file->bytes = (uint64_t)st.st_size;
        err = gr_pread_all(fd, &ret_file->chain, sizeof ret_file->chain,
                           (int64_t)(ret_file->bytes - sizeof ret_file->chain));
    }
    return close_new(&fd, made, path, err);
}

static granary_err
write_done(const struct chunks_of *of, const char *node, const struct gr_buf *text)
{
    char path[PATH_MAX], made[PATH_MAX];
    granary_err err;
    int fd;

    done_path(of, path);
    if (!gr_buf_ok(text)) {
        return gr_no_memory(path);
    }
    fd = open_new(of, node, made);
    if (fd < 0) {
        return gr_fail_errno("%s", path);
    }
    err = gr_write_all(fd, text->bytes, text->size);
    return close_new(&fd, made, path, err);
}

granary_err
chunks_write(const struct chunks_of *of, granary_client *client, const granary_result *result, const char *node,
             uint64_t *ret_bytes)
{
    struct gr_buf text = {0};
    granary_err err = GRANARY_OK;

    *ret_bytes = 0;
    gr_buf_addf(&text, FIRST_LINE "\nnode %s\n%s", node,
                result->is_tensor    ? "tensor"
                : result->is_objects ? "objects"
                                     : "frame");
    for (int d = 0; result->is_tensor && d < result->dims; d++) {
        gr_buf_addf(&text, " %" PRId64, result->shape[d]);
    }
    gr_buf_addf(&text, "\nchunks %zu\n", result->chunk_count);
    for (size_t k = 0; k < result->chunk_count && err == GRANARY_OK; k++) {
        struct chunk_file file = {.bytes = 0};

        err = write_chunk(of, k, client, result->chunks[k], node, &file);
        gr_buf_addf(&text, "%" PRIu64 " %" PRIx64 "\n", file.bytes, file.chain);
        *ret_bytes += file.bytes;
    }
    gr_buf_addf(&text, "end\n");
    err = err == GRANARY_OK ? write_done(of, node, &text) : err;
    gr_buf_free(&text);
    return err;
}

/* ---- files removed ---- */

void
chunks_spoil(const struct chunks_of *of)
{
    char path[PATH_MAX];

    done_path(of, path);
    (void)unlink(path);
}

void
chunks_sweep(const char *directory, const char *const *digests, size_t count)
{
    DIR *stream = opendir(directory);
    const struct dirent *entry;

    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        const char *name = entry->d_name + (entry->d_name[0] == '.'); /* with a dot: of a killed writer */

        for (size_t i = 0; i < count; i++) {
            if (strncmp(name, digests[i], strlen(digests[i])) == 0 && name[strlen(digests[i])] == '-') {
                (void)unlinkat(dirfd(stream), entry->d_name, 0);
                break;
            }
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
}
