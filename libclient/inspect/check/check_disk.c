/* Spill files: that each object whose bytes or whose copy lie on disk is there, and what is there is whole. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/memory/grow.h"
#include "inspect/check/check.h"
#include "spill/image.h"
#include "spill/spill.h"

/* An object in a spill file. */
struct copy {
    uint64_t id[2];
    uint64_t stamp;
    uint64_t data_size;
    uint64_t meta_size;
    uint64_t place;
    uint32_t file;
    bool needed; /* an object of the index is this one */
};

struct spill_file_copy {
    uint32_t number;
    uint64_t bytes;
    bool readable; /* its objects are known */
    bool needed;
    char path[600];
};

struct disk {
    struct check *check;
    struct copy *copies; /* sorted by stamp and id once all are there */
    size_t copy_count;
    size_t copy_room;
    struct spill_file_copy *files;
    size_t file_count;
    size_t file_room;
};

/* ---- what is there ---- */

static granary_err
note_file(void *context, const struct level_file *file)
{
    struct disk *disk = context;
    struct check *check = disk->check;
    struct spill_file_copy *copy;

    if (file->err == GRANARY_ESTATE || file->err == GRANARY_EVERSION) {
        check_found(check, GRANARY_FINDING_NOTE, file->err == GRANARY_ESTATE ? "spill-partial" : "spill-version", 0,
                    NULL, file->number, "%s", granary_error_message());
    } else if (file->err != GRANARY_OK) {
        check_found(check, GRANARY_FINDING_DAMAGE, "spill-file", 0, NULL, file->number, "%s", granary_error_message());
    }
    if (!gr_grow(&disk->files, &disk->file_room, disk->file_count, sizeof *disk->files)) {
        return gr_fail(GRANARY_ENOMEM, "no memory to check spill files");
    }
    copy = &disk->files[disk->file_count++];
    *copy = (struct spill_file_copy){.number = file->number, .bytes = file->bytes, .readable = file->err == GRANARY_OK};
    memcpy(copy->path, file->path, sizeof copy->path);
    check->summary.spill_files++;
    return check->err;
}

static granary_err
note_record(void *context, const struct level_file *file, const struct level_record *record)
{
    struct disk *disk = context;
    struct copy *copy;

    if (!gr_grow(&disk->copies, &disk->copy_room, disk->copy_count, sizeof *disk->copies)) {
        return gr_fail(GRANARY_ENOMEM, "no memory to check %zu spilled objects", disk->copy_count);
    }
    copy = &disk->copies[disk->copy_count++];
    *copy = (struct copy){.stamp = record->stamp,
                          .data_size = record->data_size,
                          .meta_size = record->meta_size,
                          .place = record->place,
                          .file = file->number};
    memcpy(copy->id, record->id.bytes, sizeof copy->id);
    disk->check->summary.spill_records++;
    return GRANARY_OK;
}

static void
scan(struct disk *disk, const char *dir)
{
    const struct level_visitor visitor = {.context = disk, .file = note_file, .record = note_record};
    granary_err err = dir[0] == '/' ? level_scan_directory(dir, &visitor) : GRANARY_OK;

    if (err == GRANARY_ENOMEM) {
        disk->check->err = err;
    } else if (err != GRANARY_OK && err != GRANARY_ENOENT) {
        check_found(disk->check, GRANARY_FINDING_NOTE, "spill-directory", 0, NULL, 0,
                    "%s: its spill files were not looked at", granary_error_message());
    }
}

static int
by_stamp(const void *left, const void *right)
{
    const struct copy *a = left;
    const struct copy *b = right;

    if (a->stamp != b->stamp) {
        return a->stamp < b->stamp ? -1 : 1;
    }
    return memcmp(a->id, b->id, sizeof a->id);
}

/* The first copy of an object; copies are in several files while one is rewritten, and at several levels. */
static struct copy *
find_copy(const struct disk *disk, const struct slot_copy *slot)
{
    struct copy key = {.id = {slot->id[0], slot->id[1]}, .stamp = slot->stamp};
    struct copy *found =
        disk->copy_count == 0 ? NULL : bsearch(&key, disk->copies, disk->copy_count, sizeof key, by_stamp);

    while (found != NULL && found > disk->copies && by_stamp(found - 1, &key) == 0) {
        found--;
    }
    return found;
}

/* ---- what is needed ---- */

/* Whether a session was being deleted when its store died: its files go first, and the next store deletes the rest. */
static bool
is_ended(const struct check *check, uint32_t session)
{
    struct control_copy control;

    return control_read(check->inspector, session, &control) == GRANARY_OK && control.state == GR_CONTROL_CLOSED;
}

static void
check_copy(struct disk *disk, const struct check_object *object)
{
    const struct slot_copy *slot = &object->slot;
    enum gr_slot_state state = GR_WORD_STATE(slot->word);
    uint32_t where = (uint32_t)(slot->where_meta >> 32);
    struct copy *first = find_copy(disk, slot);
    bool in_place = state != GR_SLOT_SPILLED;
    char id[GRANARY_ID_TEXT + 1];

    (void)check_id(slot->id, id);
    if (first == NULL) {
        granary_finding_kind kind =
            is_ended(disk->check, object->session) ? check_torn(disk->check) : GRANARY_FINDING_DAMAGE;

        if (state == GR_SLOT_SPILLED) {
            check_found(disk->check, kind, "spill-missing", object->session, slot->id, where,
                        "object %s: is on disk, but spill file %u has no record of it", id, where);
        } else {
            check_found(disk->check, kind, "spill-missing", object->session, slot->id, 0,
                        "object %s: should have a copy on disk, but no spill file has a record of it", id);
        }
        return;
    }
    for (struct copy *copy = first; copy < disk->copies + disk->copy_count && by_stamp(copy, first) == 0; copy++) {
        copy->needed = true;
        in_place = in_place || (copy->file == where && copy->place == slot->offset);
        if (copy->data_size != slot->data_size || copy->meta_size != (slot->where_meta & UINT32_MAX)) {
            check_found(disk->check, GRANARY_FINDING_DAMAGE, "spill-size", object->session, slot->id, copy->file,
                        "object %s: the index says %llu and %llu bytes, spill file %u %llu and %llu", id,
                        (unsigned long long)slot->data_size, (unsigned long long)(slot->where_meta & UINT32_MAX),
                        copy->file, (unsigned long long)copy->data_size, (unsigned long long)copy->meta_size);
        }
    }
    if (!in_place) {
        check_found(disk->check, GRANARY_FINDING_DAMAGE, "spill-place", object->session, slot->id, where,
                    "object %s: the index says spill file %u, byte %llu, but it is in file %u, byte %llu", id, where,
                    (unsigned long long)slot->offset, first->file, (unsigned long long)first->place);
    }
    if ((slot->flags & GR_FLAG_DAMAGED) != 0) {
        check_found(disk->check, GRANARY_FINDING_DAMAGE, "object-damaged", object->session, slot->id, where,
                    "object %s: the store could not bring it back from spill file %u", id, where);
    }
}

static bool
is_on_disk(const struct slot_copy *slot)
{
    enum gr_slot_state state = GR_WORD_STATE(slot->word);

    return state == GR_SLOT_SPILLED || state == GR_SLOT_BETWEEN ||
           ((state == GR_SLOT_SEALED || state == GR_SLOT_RETIRING) && (slot->flags & GR_FLAG_COPIED) != 0);
}

static struct spill_file_copy *
find_file(const struct disk *disk, uint32_t number)
{
    for (size_t i = 0; i < disk->file_count; i++) {
        if (disk->files[i].number == number) {
            return &disk->files[i];
        }
    }
    return NULL;
}

static void
check_files(struct disk *disk)
{
    uint32_t last = 0;
    struct spill_file_copy *file = NULL;

    for (size_t i = 0; i < disk->copy_count; i++) {
        if (disk->copies[i].needed) {
            if (file == NULL || disk->copies[i].file != last) {
                last = disk->copies[i].file;
                file = find_file(disk, last);
            }
            if (file != NULL) {
                file->needed = true;
            }
        }
    }
    for (size_t i = 0; i < disk->file_count; i++) {
        if (disk->files[i].readable && !disk->files[i].needed) {
            check_found(disk->check, GRANARY_FINDING_NOTE, "spill-unused", 0, NULL, disk->files[i].number,
                        "%s: no object needs it; %llu bytes", disk->files[i].path,
                        (unsigned long long)disk->files[i].bytes);
        }
        if (disk->files[i].number >= disk->check->limits.file) {
            check_found(disk->check, GRANARY_FINDING_DAMAGE, "spill-number", 0, NULL, disk->files[i].number,
                        "%s: its number was not given yet: the next one is %u", disk->files[i].path,
                        disk->check->limits.file);
        }
    }
}

/* ---- every byte ---- */

static granary_err
frame_is_whole(void *context, const struct image *image, uint32_t frame, const char *stored)
{
    (void)context;
    (void)image;
    (void)frame;
    (void)stored;
    return GRANARY_OK;
}

static void
verify(struct disk *disk, const struct copy *copy, int fd, const char *path)
{
    struct level_object object = {
        .data_size = copy->data_size, .meta_size = (uint32_t)copy->meta_size, .stamp = copy->stamp};
    struct level_cost cost = {0};
    struct image image;
    granary_err err;

    memcpy(object.id.bytes, copy->id, sizeof object.id.bytes);
    if (copy->data_size > GR_MAX_OBJECT || copy->meta_size > GR_MAX_META) {
        check_found(disk->check, GRANARY_FINDING_DAMAGE, "spill-size", 0, copy->id, copy->file,
                    "%s: the record at byte %llu has impossible sizes", path, (unsigned long long)copy->place);
        return;
    }
    err = image_open(&image, fd, path, &object, copy->place);
    if (err == GRANARY_OK) {
        err = image_read(&image, 0, image.record.frames, frame_is_whole, NULL, &cost);
    }
    image_close(&image);
    disk->check->summary.verified_bytes += cost.bytes;
    if (err == GRANARY_ENOMEM) {
        disk->check->err = err;
    } else if (err != GRANARY_OK) {
        check_found(disk->check, copy->needed ? GRANARY_FINDING_DAMAGE : GRANARY_FINDING_NOTE, "spill-bytes", 0,
                    copy->id, copy->file, "%s", granary_error_message());
    }
}

static int
by_file(const void *left, const void *right)
{
    const struct copy *a = left;
    const struct copy *b = right;

    if (a->file != b->file) {
        return a->file < b->file ? -1 : 1;
    }
    return a->place < b->place ? -1 : a->place > b->place;
}

static void
verify_all(struct disk *disk)
{
    const struct spill_file_copy *file = NULL;
    int fd = -1;

    qsort(disk->copies, disk->copy_count, sizeof *disk->copies, by_file);
    for (size_t i = 0; i < disk->copy_count && disk->check->err == GRANARY_OK; i++) {
        if (file == NULL || file->number != disk->copies[i].file) {
            gr_fd_close(&fd);
            file = find_file(disk, disk->copies[i].file);
            fd = file == NULL ? -1 : open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        }
        if (fd >= 0) { /* else it went since it was listed */
            verify(disk, &disk->copies[i], fd, file->path);
        }
    }
    gr_fd_close(&fd);
}

void
check_disk(struct check *check)
{
    struct disk disk = {.check = check};
    char path[PATH_MAX];

    if (check->inspector->copy) {
        (void)snprintf(path, sizeof path, "%.4000s/spill", check->inspector->directory);
        if (path[0] != '/') {
            char *absolute = realpath(path, NULL);

            (void)snprintf(path, sizeof path, "%s", absolute == NULL ? "" : absolute);
            free(absolute);
        }
        scan(&disk, path);
    } else {
        granary_spill_dir_info *dirs = NULL;
        size_t count = 0;

        check->err = granary_inspect_spill_dirs(check->inspector, &dirs, &count);
        for (size_t i = 0; i < count && check->err == GRANARY_OK; i++) {
            scan(&disk, dirs[i].path);
        }
        free(dirs);
    }
    if (disk.copy_count > 0) {
        qsort(disk.copies, disk.copy_count, sizeof *disk.copies, by_stamp);
    }
    for (size_t i = 0; i < check->object_count && check->err == GRANARY_OK; i++) {
        if (is_on_disk(&check->objects[i].slot)) {
            check_copy(&disk, &check->objects[i]);
        }
    }
    check_files(&disk);
    if ((check->flags & GRANARY_CHECK_VERIFY) != 0 && disk.copy_count > 0) {
        verify_all(&disk);
    }
    free(disk.copies);
    free(disk.files);
}
