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
    uint64_t left = image->footprint - frame * LEVEL_FRAME;

    return (size_t)(left < LEVEL_FRAME ? left : LEVEL_FRAME);
}

static inline uint32_t
image_frames(uint64_t footprint)
{
    return (uint32_t)((footprint + LEVEL_FRAME - 1) / LEVEL_FRAME);
}

/* The checksum of an object's record goes over the record, then over its table or its only frame. */
uint64_t image_seed(const struct spill_record *record);

/* That the image is damaged at a byte of its file, and why. */
granary_err image_damaged(const struct image *image, uint64_t at, const char *why);

#endif
