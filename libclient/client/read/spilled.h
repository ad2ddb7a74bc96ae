/*
 * Spilled objects read from their file by this process: the store brings nothing back, so nothing has to make room.
 * Who may not open the file, or finds another one there, asks the store as ever.
 */
#ifndef CLIENT_SPILLED_H
#define CLIENT_SPILLED_H

#include "granary/store.h"
#include "spill/image.h"

struct spilled {
    granary_object_info info;
    struct image image;
    int fd;
    char path[600];
};

/*
 * Open an object's image. Its record is checked, so it is that of this object and no other. spilled_close() is due
 * when this returns OK.
 *
 * Errors  ESTATE it is not spilled, or not at a level on this machine's disk · ENOENT · EPERM · EIO · ECORRUPT · ENOMEM
 */
granary_err spilled_open(granary_client *client, granary_id id, struct spilled *ret_spilled);
void spilled_close(struct spilled *spilled);

/*
 * Read the frames that bytes [from, from + length) of the image lie in, each to its own place.
 *
 * bytes   room for the whole image, image.footprint bytes, 64-byte aligned; other frames of it are not touched
 * Errors  ECORRUPT · EIO · ENOMEM · EINVAL the image does not have these bytes
 */
granary_err spilled_read(const struct spilled *spilled, uint64_t from, uint64_t length, char *bytes);

#endif
