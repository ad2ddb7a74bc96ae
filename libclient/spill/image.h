/* An object's image as a spill file holds it: found, verified, and read frame by frame. */
#ifndef SPILL_IMAGE_H
#define SPILL_IMAGE_H

#include "spill/format.h"
#include "spill/spill.h"

struct image {
    int fd;           /* borrowed */
    const char *path; /* ... */
    char text[GRANARY_ID_TEXT + 1];
    struct spill_record record;
    uint64_t footprint;
    uint64_t frame_bytes;
    struct spill_frame *table; /* record.frames; the checksum of an only frame is seeded */
    uint64_t seed;
};

/*
 * Read what the file says of the object at `place`; it must be exactly this object. image_close() is due either way.
 * Errors: ECORRUPT · EIO · ENOMEM
 */
granary_err
image_open(struct image *image, int fd, const char *path, const struct level_object *object, uint64_t place);
void image_close(struct image *image);

/* What is done with a verified frame: `stored` are its bytes as the file has them. */
typedef granary_err (*image_frame_fn)(void *context, const struct image *image, uint32_t frame, const char *stored);

/* Read frames in order, several at once where they are small. Errors: ECORRUPT · EIO · ENOMEM · fn's */
granary_err image_read(const struct image *image, uint32_t first, uint32_t count, image_frame_fn fn, void *context,
                       struct level_cost *cost);

/* A frame's size before compression. */
static inline size_t
image_frame_size(const struct image *image, uint32_t frame)
{
    uint64_t left = image->footprint - frame * image->frame_bytes;

    return (size_t)(left < image->frame_bytes ? left : image->frame_bytes);
}

/* How many frames an image has, in a file that is written now. */
static inline uint32_t
image_frames(uint64_t footprint)
{
    return (uint32_t)((footprint + LEVEL_FRAME - 1) / LEVEL_FRAME);
}

/* The size of frames of which so many are an image, in a file of any version; 0: none is. */
static inline uint64_t
image_frame_bytes(uint64_t footprint, uint32_t frames)
{
    return frames == image_frames(footprint)                                 ? LEVEL_FRAME
           : frames == (footprint + LEVEL_FRAME_MOST - 1) / LEVEL_FRAME_MOST ? LEVEL_FRAME_MOST
                                                                             : 0;
}

/* The frames that bytes [from, from + size) of the image lie in. size > 0 */
static inline uint32_t
image_frames_of(const struct image *image, uint64_t from, uint64_t size, uint32_t *ret_first)
{
    *ret_first = (uint32_t)(from / image->frame_bytes);
    return (uint32_t)((from + size - 1) / image->frame_bytes) - *ret_first + 1;
}

/* The checksum of an object's record goes over the record, then over its table or its only frame. */
uint64_t image_seed(const struct spill_record *record);

/* That the image is damaged at a byte of its file, and why. */
granary_err image_damaged(const struct image *image, uint64_t at, const char *why);

#endif
