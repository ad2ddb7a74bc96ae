/*
 * The disk level: spill files of LZ4 blocks. docs/formats.md has the layout; the structs below are it.
 *
 * Nothing in a file is believed: each record has a checksum over itself and its block table, each block one over its
 * stored bytes. A reader states what it expects (id, sizes) and gets exactly that or ECORRUPT.
 */
#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "contract/shm.h"
#include "level/level.h"

#define FILE_MAGIC   0x6c6c697073726767ull /* "ggrspill" */
#define RECORD_MAGIC 0x64726f6365727267ull /* "grrecord" */
#define VERSION      1u
#define BLOCK        ((size_t)1 << 20)
#define STORED_RAW   0x80000000u

struct file_header {
    uint64_t magic;
    uint32_t version;
    uint32_t file;
    uint64_t objects;
    uint64_t bytes; /* of the whole file: written last, so a file without it is not complete */
    char session[64];
    uint64_t reserved[3];
    uint64_t checksum; /* of all above */
};
_Static_assert(sizeof(struct file_header) == 128, "part of the file format");

struct record {
    uint64_t magic;
    unsigned char id[16];
    uint64_t data_size;
    uint32_t meta_size;
    uint32_t blocks;
    uint64_t stamp;
    uint64_t reserved;
    uint64_t checksum; /* of all above and the block table that follows */
};
_Static_assert(sizeof(struct record) == 64, "part of the file format");

struct block {
    uint32_t stored; /* bytes; | STORED_RAW when LZ4 did not make it smaller */
    uint32_t reserved;
    uint64_t checksum; /* of the stored bytes */
};

struct disk {
    char dir[512];
};

/* A file being written: records are gathered until a block's worth is there. */
struct writer {
    const struct disk *disk;
    char path[600];
    int fd;
    uint64_t at; /* bytes in the file and in buffer */
    uint64_t flushed;
    uint64_t allowance;
    char *buffer; /* BUFFER bytes */
    char *raw;    /* BLOCK bytes */
};

#define BUFFER (2 * BLOCK + (size_t)LZ4_COMPRESSBOUND(BLOCK))

static void
path_of(const struct disk *disk, uint32_t file, char ret_path[600])
{
    (void)snprintf(ret_path, 600, "%s/spill.%u", disk->dir, file);
}

static granary_err
disk_open(const char *dir, void **ret_self)
{
    struct disk *disk = calloc(1, sizeof *disk);
    granary_err err;

    if (disk == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for the disk level");
    }
    if (strlen(dir) >= sizeof disk->dir) {
        free(disk);
        return gr_fail(GRANARY_EINVAL, "spill directory %s: path too long", dir);
    }
    (void)snprintf(disk->dir, sizeof disk->dir, "%s", dir);
    gr_remove_tree(dir);
    err = gr_mkdir_private(dir);
    if (err != GRANARY_OK) {
        free(disk);
        return gr_fail_in(err, "spill directory");
    }
    *ret_self = disk;
    return GRANARY_OK;
}

static void
disk_close(void *self)
{
    struct disk *disk = self;

    if (disk != NULL) {
        gr_remove_tree(disk->dir);
        free(disk);
    }
}

static void
disk_remove(void *self, uint32_t file)
{
    char path[600];

    path_of(self, file, path);
    (void)unlink(path);
}

static granary_err
writer_flush(struct writer *writer)
{
    granary_err err;

    err = gr_pwrite_all(writer->fd, writer->buffer, writer->at - writer->flushed, (int64_t)writer->flushed);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "spill directory %s", writer->disk->dir);
    }
    writer->flushed = writer->at;
    return GRANARY_OK;
}

/* Where the next `size` bytes of the file are to be put; they count at once. At most 1 block and its bound. */
static granary_err
writer_room(struct writer *writer, size_t size, char **ret_at)
{
    granary_err err;

    if (writer->at + size - writer->flushed > BUFFER && (err = writer_flush(writer)) != GRANARY_OK) {
        return err;
    }
    *ret_at = writer->buffer + (writer->at - writer->flushed);
    return GRANARY_OK;
}

static granary_err
writer_spend(struct writer *writer, size_t size)
{
    if (writer->at + size > writer->allowance) {
        return gr_fail(GRANARY_EFULL, "spill directory %s: the disk quota is used up", writer->disk->dir);
    }
    writer->at += size;
    return GRANARY_OK;
}

static granary_err
write_block(struct writer *writer, const struct level_object *object, uint64_t from, size_t size,
            struct block *ret_block)
{
    granary_err err;
    char *to;
    int packed;

    err = gr_pread_all(object->fd, writer->raw, size, (int64_t)(object->offset + from));
    if (err != GRANARY_OK) {
        return gr_fail_in(GRANARY_ECORRUPT, "an object's shared memory");
    }
    err = writer_room(writer, (size_t)LZ4_COMPRESSBOUND(BLOCK), &to);
    if (err != GRANARY_OK) {
        return err;
    }
    packed = LZ4_compress_default(writer->raw, to, (int)size, LZ4_COMPRESSBOUND((int)BLOCK));
    if (packed <= 0 || (size_t)packed >= size) {
        memcpy(to, writer->raw, size);
        packed = (int)size;
        ret_block->stored = (uint32_t)packed | STORED_RAW;
    } else {
        ret_block->stored = (uint32_t)packed;
    }
    ret_block->reserved = 0;
    ret_block->checksum = gr_hash64(to, (size_t)packed);
    return writer_spend(writer, (size_t)packed);
}

/* The record and its table come first in the file, but are known last: leave room, and write them at the end. */
static granary_err
write_object(struct writer *writer, struct level_object *object)
{
    uint64_t footprint = GR_FOOTPRINT(object->data_size, (uint64_t)object->meta_size);
    uint32_t blocks = (uint32_t)((footprint + BLOCK - 1) / BLOCK);
    size_t head_size = sizeof(struct record) + blocks * sizeof(struct block);
    uint64_t head_at = writer->at;
    struct record *record = calloc(1, head_size);
    struct block *table = (struct block *)(void *)(record + 1);
    granary_err err = GRANARY_OK;
    char *to;

    if (record == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to spill an object");
    }
    if (writer->at + head_size - writer->flushed > BUFFER) {
        err = writer_flush(writer);
    }
    if (err == GRANARY_OK && head_size > BUFFER) {
        /* A table larger than the buffer (objects above 128 GiB): the file gets a hole, filled below. */
        writer->flushed += head_size;
    }
    err = err == GRANARY_OK ? writer_spend(writer, head_size) : err;
    for (uint32_t i = 0; i < blocks && err == GRANARY_OK; i++) {
        uint64_t from = (uint64_t)i * BLOCK;

        err =
            write_block(writer, object, from, footprint - from < BLOCK ? (size_t)(footprint - from) : BLOCK, &table[i]);
    }
    if (err != GRANARY_OK) {
        goto out;
    }
    record->magic = RECORD_MAGIC;
    memcpy(record->id, object->id.bytes, sizeof record->id);
    record->data_size = object->data_size;
    record->meta_size = object->meta_size;
    record->blocks = blocks;
    record->stamp = object->stamp;
    record->checksum = gr_hash64(record, head_size); /* with checksum 0 */
    object->place = head_at;
    if (head_at >= writer->flushed) {
        to = writer->buffer + (head_at - writer->flushed);
        memcpy(to, record, head_size);
    } else {
        err = gr_pwrite_all(writer->fd, record, head_size, (int64_t)head_at);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "spill directory %s", writer->disk->dir);
    }
out:
    free(record);
    return err;
}

static granary_err
write_header(struct writer *writer, uint32_t file, const char *session, size_t count)
{
    struct file_header header = {
        .magic = FILE_MAGIC, .version = VERSION, .file = file, .objects = count, .bytes = writer->at};
    granary_err err;

    (void)snprintf(header.session, sizeof header.session, "%s", session);
    header.checksum = gr_hash64(&header, offsetof(struct file_header, checksum));
    err = writer_flush(writer);
    if (err == GRANARY_OK) {
        err = gr_pwrite_all(writer->fd, &header, sizeof header, 0);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "spill directory %s", writer->disk->dir);
    }
    return err;
}

static granary_err
disk_write(void *self, uint32_t file, const char *session, struct level_object *objects, size_t count,
           uint64_t allowance, uint64_t *ret_written)
{
    struct writer writer = {.disk = self,
                            .fd = -1,
                            .at = sizeof(struct file_header),
                            .flushed = sizeof(struct file_header),
                            .allowance = allowance};
    granary_err err = GRANARY_OK;

    path_of(self, file, writer.path);
    writer.buffer = malloc(BUFFER);
    writer.raw = malloc(BLOCK);
    if (writer.buffer == NULL || writer.raw == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to spill");
        goto out;
    }
    writer.fd = open(writer.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (writer.fd < 0) {
        err = gr_fail_errno("spill file %s", writer.path);
        goto out;
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = write_object(&writer, &objects[i]);
        objects[i].unreadable = err == GRANARY_ECORRUPT;
    }
    if (err == GRANARY_OK) {
        err = write_header(&writer, file, session, count);
    }
    if (err != GRANARY_OK) {
        (void)unlink(writer.path);
    } else {
        *ret_written = writer.at;
    }
out:
    gr_fd_close(&writer.fd);
    free(writer.buffer);
    free(writer.raw);
    return err;
}

/* The record of an object with its block table, verified and to be freed. */
static granary_err
read_record(int fd, const char *path, const struct level_object *object, struct record **ret_record)
{
    uint64_t footprint = GR_FOOTPRINT(object->data_size, (uint64_t)object->meta_size);
    uint32_t blocks = (uint32_t)((footprint + BLOCK - 1) / BLOCK);
    size_t head_size = sizeof(struct record) + blocks * sizeof(struct block);
    struct record *record = calloc(1, head_size);
    char text[GRANARY_ID_TEXT + 1];
    uint64_t checksum;
    granary_err err;

    if (record == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to read an object back");
    }
    granary_id_format(object->id, text);
    err = gr_pread_all(fd, record, head_size, (int64_t)object->place);
    if (err != GRANARY_OK) {
        err = gr_fail_in(GRANARY_ECORRUPT, "object %s: spill file %s", text, path);
        goto out;
    }
    checksum = record->checksum;
    record->checksum = 0;
    if (record->magic != RECORD_MAGIC || gr_hash64(record, head_size) != checksum ||
        memcmp(record->id, object->id.bytes, sizeof record->id) != 0 || record->data_size != object->data_size ||
        record->meta_size != object->meta_size || record->blocks != blocks) {
        err = gr_fail(GRANARY_ECORRUPT, "object %s: spill file %s: its record at byte %llu is damaged", text, path,
                      (unsigned long long)object->place);
        goto out;
    }
    *ret_record = record;
    record = NULL;
out:
    free(record);
    return err;
}

/* Read, verify and unpack one block; `raw` receives exactly size bytes. */
static granary_err
read_block(int fd, const struct block *block, uint64_t at, char *stored, char *raw, size_t size)
{
    size_t stored_size = block->stored & ~STORED_RAW;
    granary_err err;

    if (stored_size > (size_t)LZ4_COMPRESSBOUND(BLOCK)) {
        return gr_fail(GRANARY_ECORRUPT, "impossible block size");
    }
    err = gr_pread_all(fd, stored, stored_size, (int64_t)at);
    if (err != GRANARY_OK) {
        return GRANARY_ECORRUPT;
    }
    if (gr_hash64(stored, stored_size) != block->checksum) {
        return gr_fail(GRANARY_ECORRUPT, "checksum mismatch");
    }
    if (block->stored & STORED_RAW) {
        if (stored_size != size) {
            return gr_fail(GRANARY_ECORRUPT, "impossible block size");
        }
        memcpy(raw, stored, size);
    } else if (LZ4_decompress_safe(stored, raw, (int)stored_size, (int)size) != (int)size) {
        return gr_fail(GRANARY_ECORRUPT, "LZ4 block does not unpack");
    }
    return GRANARY_OK;
}

static granary_err
read_blocks(int fd, const char *path, const struct record *record, const struct level_object *object)
{
    const struct block *table = (const struct block *)(const void *)(record + 1);
    uint64_t footprint = GR_FOOTPRINT(object->data_size, (uint64_t)object->meta_size);
    uint64_t at = object->place + sizeof *record + record->blocks * sizeof *table;
    size_t most = footprint < BLOCK ? (size_t)footprint : BLOCK;
    char *stored = malloc((size_t)LZ4_COMPRESSBOUND(BLOCK));
    char *raw = malloc(most);
    granary_err err = GRANARY_OK;

    if (stored == NULL || raw == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to read an object back");
        goto out;
    }
    for (uint32_t i = 0; i < record->blocks; i++) {
        uint64_t from = (uint64_t)i * BLOCK;
        size_t size = footprint - from < BLOCK ? (size_t)(footprint - from) : BLOCK;

        err = read_block(fd, &table[i], at, stored, raw, size);
        if (err != GRANARY_OK) {
            char text[GRANARY_ID_TEXT + 1];

            granary_id_format(object->id, text);
            err = gr_fail_in(err, "object %s: spill file %s: block %u at byte %llu", text, path, i,
                             (unsigned long long)at);
            goto out;
        }
        err = gr_pwrite_all(object->fd, raw, size, (int64_t)(object->offset + from));
        if (err != GRANARY_OK) {
            err = gr_fail_in(err, "shared memory");
            goto out;
        }
        at += table[i].stored & ~STORED_RAW;
    }
out:
    free(stored);
    free(raw);
    return err;
}

static granary_err
disk_read(void *self, uint32_t file, const struct level_object *object)
{
    struct record *record = NULL;
    char path[600];
    granary_err err;
    int fd;

    path_of(self, file, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        char text[GRANARY_ID_TEXT + 1];
        int error = errno;

        granary_id_format(object->id, text);
        errno = error;
        err = gr_fail_errno("object %s: spill file %s", text, path);
        return error == ENOENT ? GRANARY_ECORRUPT : err;
    }
    err = read_record(fd, path, object, &record);
    if (err == GRANARY_OK) {
        err = read_blocks(fd, path, record, object);
    }
    free(record);
    gr_fd_close(&fd);
    return err;
}

const struct level_ops level_disk = {
    .name = "disk",
    .open = disk_open,
    .close = disk_close,
    .write = disk_write,
    .read = disk_read,
    .remove = disk_remove,
};
