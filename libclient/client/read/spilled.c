/* A spilled object's file is found by the instance's root, its image by the index. */
#include "client/read/spilled.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "contract/shm.h"
#include "object/object.h"
#include "pack/pack.h"

/* In the directory that the root names at that byte. Errors: ENOENT it is not there · ESTATE there is none · errno's */
static granary_err
open_in(int root_fd, size_t at, uint32_t number, struct spilled *spilled)
{
    char directory[sizeof((struct gr_root *)0)->spill_dir] = "";

    if (root_fd < 0 || pread(root_fd, directory, sizeof directory, (off_t)at) != (ssize_t)sizeof directory ||
        directory[0] == '\0' || memchr(directory, '\0', sizeof directory) == NULL) {
        return gr_fail(GRANARY_ESTATE, "the instance's root names no directory of spill file %u", number);
    }
    (void)snprintf(spilled->path, sizeof spilled->path, "%s/spill.%u", directory, number);
    spilled->fd = open(spilled->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return spilled->fd >= 0 ? GRANARY_OK : gr_fail_errno("spill file %s", spilled->path);
}

/* The spill file of that number. The instance's root tells where they are. */
static granary_err
open_file(const granary_client *client, uint32_t number, struct spilled *spilled)
{
    char root[64];
    unsigned place = 0;
    granary_err err;
    int fd;

    (void)snprintf(root, sizeof root, "%sroot", gr_client_instance(client)->shm_prefix);
    fd = gr_shm_open(root, O_RDONLY);
    do {
        err =
            open_in(fd, place == 0 ? offsetof(struct gr_root, spill_dir) : offsetof(struct gr_root, places[place].path),
                    number, spilled);
        place++;
    } while (err == GRANARY_ENOENT && place < GR_SPILL_DIRS);
    gr_fd_close(&fd);
    return err;
}

granary_err
spilled_open(granary_client *client, granary_id id, struct spilled *ret_spilled)
{
    struct spilled *spilled = ret_spilled;
    struct level_object object = {.id = id};
    granary_err err = granary_object_info_get(client, id, &spilled->info);

    spilled->fd = -1;
    spilled->image = (struct image){.fd = -1};
    if (err == GRANARY_OK && (spilled->info.state != GRANARY_OBJECT_SPILLED || spilled->info.data_size == 0)) {
        err = gr_fail(GRANARY_ESTATE, "the object is not spilled");
    }
    if (err == GRANARY_OK) {
        object.id = spilled->info.id; /* an alias stands for it */
        object.data_size = spilled->info.data_size;
        object.meta_size = (uint32_t)spilled->info.meta_size;
        err = gr_client_stamp(client, object.id, &object.stamp);
    }
    err = err == GRANARY_OK ? open_file(client, spilled->info.segment, spilled) : err;
    if (err == GRANARY_OK) {
        err = image_open(&spilled->image, spilled->fd, spilled->path, &object, spilled->info.offset);
    }
    if (err != GRANARY_OK) {
        spilled_close(spilled);
    }
    return err;
}

void
spilled_close(struct spilled *spilled)
{
    image_close(&spilled->image);
    gr_fd_close(&spilled->fd);
}

static granary_err
unpack(void *context, const struct image *image, uint32_t frame, const char *stored)
{
    char *bytes = context;

    return frame_unpack(image->table[frame].stored, stored, bytes + frame * image->frame_bytes,
                        image_frame_size(image, frame))
               ? GRANARY_OK
               : image_damaged(image, image->record.at, "a frame does not unpack");
}

granary_err
spilled_read(const struct spilled *spilled, uint64_t from, uint64_t length, char *bytes)
{
    uint32_t first, count;

    if (from > spilled->image.footprint || length > spilled->image.footprint - from) {
        return gr_fail(GRANARY_EINVAL, "object %s: no bytes %llu to %llu", spilled->image.text,
                       (unsigned long long)from, (unsigned long long)(from + length));
    }
    if (length == 0) {
        return GRANARY_OK;
    }
    count = image_frames_of(&spilled->image, from, length, &first);
    return image_read(&spilled->image, first, count, unpack, bytes, NULL);
}
