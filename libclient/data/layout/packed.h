/*
 * Packed frames: several frames in one object, each of which can be read without the others: what a shuffle makes of a
 * chunk. A head (magic, version, count, then where each frame is), then the frames one after the other, each an Arrow
 * file followed by its column directory, both 64-byte aligned. Little-endian; docs/formats.md, "Packed frames".
 */
#ifndef DATA_PACKED_H
#define DATA_PACKED_H

#include "data/frame.h"

#define GR_PACKED_MAGIC   0x6b707267u /* "grpk" */
#define GR_PACKED_VERSION 1u
#define GR_PACKED_MOST    65536 /* frames */

struct gr_packed_head {
    uint32_t magic;
    uint16_t version;
    uint16_t zero;
    uint32_t count;
    uint32_t zeros;
};

/* Where a frame is: counted from the beginning of the object. The directory follows the data. */
struct gr_packed_entry {
    uint64_t data_offset;
    uint64_t data_size;
    uint64_t meta_offset;
    uint64_t meta_size;
};

_Static_assert(sizeof(struct gr_packed_head) == 16, "layout");
_Static_assert(sizeof(struct gr_packed_entry) == 32, "layout");

/* Where entry number i is. */
static inline uint64_t
gr_packed_entry_at(uint32_t i)
{
    return sizeof(struct gr_packed_head) + (uint64_t)i * sizeof(struct gr_packed_entry);
}

/* Pack count frames; *ret_bytes is 64-byte aligned, to be given to free(). Errors: EFULL too many · ENOMEM · as
 * gr_arrow_measure() */
granary_err gr_packed_write(const granary_frame *const *frames, size_t count, void **ret_bytes, uint64_t *ret_size);

/* Check what the head says of frame i of an object of that size. entry: the bytes at gr_packed_entry_at(i).
 * Errors: ECORRUPT · EINVAL there is no frame i */
granary_err gr_packed_check(const void *head, const void *entry, uint32_t i, uint64_t object_size,
                            struct gr_packed_entry *ret_entry);

/* Open a frame whose bytes, from entry->data_offset on, are at data. The frame borrows them. Errors: as gr_arrow_read()
 */
granary_err gr_packed_open(const void *data, const struct gr_packed_entry *entry, granary_frame **ret_frame);

#endif
