/* Reading a part of an object back from a spill file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "contract/shm.h"
#include "pack/pack.h"
#include "spill/image.h"
#include "store/level/spillfile.h"

#define DIRECT_LEAST ((uint64_t)1 << 20) /* less is read through the page cache: its neighbours come with it */

struct reader {
    const struct level_object *object;
    uint64_t from;
    uint64_t size;
    char *raw; /* LEVEL_FRAME_MOST bytes */
};

static int
open_to_read(const char *path, bool direct, const struct level_object *object, granary_err *ret_err)
{
    char text[GRANARY_ID_TEXT + 1];
    int flags = O_RDONLY | O_CLOEXEC;
    int fd = FAULT_FAILS(spill_open) ? -1 : open(path, direct ? flags | O_DIRECT : flags);

    if (fd < 0 && direct && errno == EINVAL) {
        fd = open(path, flags);
    }
    if (fd < 0) {
        int error = errno;

        granary_id_format(object->id, text);
        errno = error;
        *ret_err = gr_fail_errno("object %s: spill file %s", text, path);
        *ret_err = error == ENOENT ? GRANARY_ECORRUPT : *ret_err;
    }
    return fd;
}

/* Of a frame that is larger than what ranges are made of, a part may be wanted. */
static granary_err
unpack(void *context, const struct image *image, uint32_t frame, const char *stored)
{
    struct reader *reader = context;
    uint64_t at = frame * image->frame_bytes;
    size_t size = image_frame_size(image, frame);
    uint64_t begin, end;
    uint32_t entry = image->table[frame].stored;
    const char *raw = (entry & FRAME_RAW) != 0 ? stored : reader->raw;
    granary_err err;

    if (raw != stored && !frame_unpack(entry, stored, reader->raw, size)) {
        return image_damaged(image, image->record.at, "a frame does not unpack");
    }
    begin = at < reader->from ? reader->from : at;
    end = at + size < reader->from + reader->size ? at + size : reader->from + reader->size;
    err = FAULT_FAILS(restore_write) ? gr_fail_errno("write")
                                     : gr_pwrite_all(reader->object->fd, raw + (begin - at), end - begin,
                                                     (int64_t)(reader->object->offset + begin - reader->from));
    return err == GRANARY_OK ? err : gr_fail_in(err, "shared memory");
}

granary_err
spillfile_read(const char *path, bool direct, const struct level_object *object, uint64_t from, uint64_t size,
               struct level_cost *cost)
{
    struct reader reader = {.object = object, .from = from, .size = size, .raw = malloc(LEVEL_FRAME_MOST)};
    struct image image = {0};
    granary_err err = GRANARY_OK;
    uint32_t first, count;
    int fd = -1;

    if (reader.raw == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to read an object back");
        goto out;
    }
    fd = open_to_read(path, direct && size >= DIRECT_LEAST, object, &err);
    if (fd < 0) {
        goto out;
    }
    err = image_open(&image, fd, path, object, object->place);
    if (err == GRANARY_OK) {
        count = image_frames_of(&image, from, size, &first);
        err = image_read(&image, first, count, unpack, &reader, cost);
    }
out:
    image_close(&image);
    gr_fd_close(&fd);
    free(reader.raw);
    return err;
}

granary_err
spillfile_info(const char *path, const struct level_object *object, struct level_record *ret_record)
{
    struct image image = {0};
    granary_err err;
    int fd = open_to_read(path, false, object, &err);

    if (fd < 0) {
        return err;
    }
    err = image_open(&image, fd, path, object, object->place);
    if (err == GRANARY_OK) {
        *ret_record = (struct level_record){
            .id = object->id,
            .stamp = object->stamp,
            .data_size = object->data_size,
            .meta_size = object->meta_size,
            .frames = image.record.frames,
            .place = object->place,
        };
    }
    image_close(&image);
    gr_fd_close(&fd);
    return err;
}
