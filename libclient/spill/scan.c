/* What lies in a directory of spill files: headers, footers and indexes are read, and verified; frames are not. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/id.h"
#include "contract/shm.h"
#include "spill/format.h"
#include "spill/image.h"
#include "spill/spill.h"

static granary_err
damaged(const struct level_file *file, const char *why)
{
    return gr_fail(GRANARY_ECORRUPT, "spill file %s: %s", file->path, why);
}

static granary_err
read_at(int fd, const struct level_file *file, void *bytes, size_t size, uint64_t at)
{
    enum gr_fault_action fault = FAULT_MEET(spill_scan);
    granary_err err = fault == GR_FAULT_ERRNO ? gr_fail_errno("read") : gr_pread_all(fd, bytes, size, (int64_t)at);

    if (fault == GR_FAULT_CORRUPT) {
        gr_fault_spoil(bytes, size);
    }
    return err == GRANARY_OK ? err : gr_fail_in(err, "spill file %s", file->path);
}

static granary_err
read_header(int fd, struct level_file *file)
{
    struct spill_header header;
    granary_err err = read_at(fd, file, &header, sizeof header, 0);

    if (err != GRANARY_OK) {
        return err;
    }
    if (header.magic != SPILL_MAGIC) {
        return damaged(file, "it is none");
    }
    if (header.version < SPILL_OLDEST || header.version > SPILL_VERSION) {
        return gr_fail(
            GRANARY_EVERSION,
            "spill file %s has version %u, this release knows %u to %u: start the release that wrote it and bring "
            "its objects back, or remove the file",
            file->path, header.version, SPILL_OLDEST, SPILL_VERSION);
    }
    if (gr_hash64(&header, offsetof(struct spill_header, checksum)) != header.checksum ||
        memchr(header.session, '\0', sizeof header.session) == NULL) {
        return damaged(file, "its header does not match its checksum");
    }
    if (header.number != file->number) {
        return damaged(file, "its header names another number");
    }
    file->flags = header.flags;
    file->created_ms = header.created_ms;
    memcpy(file->session, header.session, sizeof file->session);
    file->uid = header.uid;
    file->session_flags = header.session_flags;
    return GRANARY_OK;
}

static granary_err
read_footer(int fd, struct level_file *file, struct spill_footer *ret_footer)
{
    struct spill_footer footer;
    granary_err err;

    if (file->bytes < sizeof(struct spill_header) + sizeof footer || file->bytes % SPILL_BLOCK != 0) {
        return damaged(file, "it is too short, or was truncated");
    }
    err = read_at(fd, file, &footer, sizeof footer, file->bytes - sizeof footer);
    if (err != GRANARY_OK) {
        return err;
    }
    if (footer.magic != FOOTER_MAGIC ||
        gr_hash64(&footer, offsetof(struct spill_footer, checksum)) != footer.checksum || footer.bytes != file->bytes ||
        footer.number != file->number || footer.flags != file->flags ||
        footer.objects > (file->bytes - sizeof footer) / sizeof(struct spill_record) ||
        footer.index_at > file->bytes - sizeof footer - footer.objects * sizeof(struct spill_record)) {
        return damaged(file, "its footer is damaged, or it was truncated");
    }
    file->objects = footer.objects;
    *ret_footer = footer;
    return GRANARY_OK;
}

/* Sizes that an object can have, and frames that fit into the file. */
static bool
is_possible(const struct spill_record *record, uint64_t file_bytes)
{
    return record->data_size <= GR_MAX_OBJECT && record->meta_size <= GR_MAX_META &&
           image_frame_bytes(GR_FOOTPRINT(record->data_size, (uint64_t)record->meta_size), record->frames) > 0 &&
           record->frames <= file_bytes / sizeof(struct spill_frame);
}

/* The index of a file; *ret_index is to be freed. */
static granary_err
read_index(int fd, struct level_file *file, struct spill_record **ret_index)
{
    struct spill_footer footer;
    struct spill_record *index;
    struct stat st;
    granary_err err;

    if (fstat(fd, &st) < 0) {
        return gr_fail_errno("spill file %s", file->path);
    }
    file->bytes = (uint64_t)st.st_size;
    if ((err = read_header(fd, file)) != GRANARY_OK || (err = read_footer(fd, file, &footer)) != GRANARY_OK) {
        return err;
    }
    index = calloc(footer.objects + 1, sizeof *index);
    if (index == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to read the index of spill file %s", file->path);
    }
    err = read_at(fd, file, index, footer.objects * sizeof *index, footer.index_at);
    if (err == GRANARY_OK && gr_hash64(index, footer.objects * sizeof *index) != footer.index_checksum) {
        err = damaged(file, "its index does not match its checksum");
    }
    for (uint64_t i = 0; i < footer.objects && err == GRANARY_OK; i++) {
        err = is_possible(&index[i], file->bytes) ? err : damaged(file, "its index names an object that cannot be");
    }
    if (err != GRANARY_OK) {
        free(index);
        return err;
    }
    for (uint64_t i = 0; i < footer.objects; i++) {
        index[i].checksum = footer.index_at + i * sizeof *index; /* from here on: its place */
    }
    *ret_index = index;
    return GRANARY_OK;
}

static granary_err
open_index(struct level_file *file, struct spill_record **ret_index)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    granary_err err = fd < 0 ? gr_fail_errno("spill file %s", file->path) : read_index(fd, file, ret_index);

    gr_fd_close(&fd);
    return err;
}

/* missing_too: the visitor is told of a file that is not there. */
static granary_err
scan_file(struct level_file *file, const struct level_visitor *visitor, bool missing_too)
{
    struct spill_record *index = NULL;
    granary_err err;

    file->err = open_index(file, &index);
    if (file->err == GRANARY_EIO || file->err == GRANARY_EFULL) {
        file->err = open_index(file, &index); /* a disk may say so once; its objects would be missed for a life */
    }
    if (file->err == GRANARY_ENOENT && !missing_too) {
        return GRANARY_OK;
    }
    err = visitor->file(visitor->context, file);
    for (uint64_t i = 0; index != NULL && i < file->objects && err == GRANARY_OK; i++) {
        struct level_record record = {
            .stamp = index[i].stamp,
            .data_size = index[i].data_size,
            .meta_size = index[i].meta_size,
            .frames = index[i].frames,
            .place = index[i].checksum,
        };

        memcpy(record.id.bytes, index[i].id, sizeof record.id.bytes);
        err = visitor->record(visitor->context, file, &record);
    }
    free(index);
    return err;
}

granary_err
level_scan_file(const char *path, uint32_t number, const struct level_visitor *visitor)
{
    struct level_file file = {.number = number};

    (void)snprintf(file.path, sizeof file.path, "%s", path);
    return scan_file(&file, visitor, true);
}

/* "spill.N" or "spill.N.partial"; anything else is not ours. */
static bool
parse_name(const char *name, uint32_t *ret_number, bool *ret_partial)
{
    static const char prefix[] = "spill.";
    unsigned long long number;
    char *end;

    if (strncmp(name, prefix, sizeof prefix - 1) != 0 || name[sizeof prefix - 1] < '1' ||
        name[sizeof prefix - 1] > '9') {
        return false;
    }
    errno = 0;
    number = strtoull(name + sizeof prefix - 1, &end, 10);
    *ret_partial = strcmp(end, ".partial") == 0;
    *ret_number = (uint32_t)number;
    return errno == 0 && number <= UINT32_MAX && (*end == '\0' || *ret_partial);
}

granary_err
level_scan_directory(const char *dir, const struct level_visitor *visitor)
{
    DIR *files = opendir(dir);
    const struct dirent *entry;
    granary_err err = GRANARY_OK;

    if (files == NULL) {
        return gr_fail_errno("spill directory %s", dir);
    }
    while (err == GRANARY_OK && (errno = 0, entry = readdir(files)) != NULL) {
        struct level_file file = {0};
        bool partial;

        if (!parse_name(entry->d_name, &file.number, &partial)) {
            continue;
        }
        (void)snprintf(file.path, sizeof file.path, "%s/%s", dir, entry->d_name);
        if (partial) {
            file.err = gr_fail(GRANARY_ESTATE, "spill file %s was never completed", file.path);
            err = visitor->file(visitor->context, &file);
        } else {
            err = scan_file(&file, visitor, false); /* gone since the directory was read: fine */
        }
    }
    if (err == GRANARY_OK && errno != 0) {
        err = gr_fail_errno("spill directory %s", dir);
    }
    (void)closedir(files);
    return err;
}
