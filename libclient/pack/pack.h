/*
 * Frames of spill files packed and unpacked. A frame says itself how it is stored (spill/format.h):
 *
 *   numbers   each value's distance to the least one, in as few bytes as the largest needs (numbers.h)
 *   LZ4       one block
 *   raw       the bytes as they are
 *
 * The bytes decide, frame by frame: a column of integers or of decimals lies in frames of its own, mostly. Numbers are
 * packed at 2 to 9 GB/s and unpacked at 12 to 50, LZ4 at 0.4 to 1 and 3.5 (one core of an EPYC).
 */
#ifndef PACK_H
#define PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spill/format.h"
#include "spill/spill.h"

#define PACK_ROOM ((size_t)LEVEL_FRAME) /* bytes for what a frame is packed into */

/*
 * Pack a frame in the best way known.
 *
 * raw         `size` bytes, at most LEVEL_FRAME; 8-byte aligned
 * packed      PACK_ROOM bytes
 * ret_stored  raw or packed: the bytes to store
 * Returns     how many they are, with FRAME_RAW or FRAME_NUMBERS: struct spill_frame's `stored`
 */
uint32_t frame_pack(const char *raw, size_t size, char *packed, const char **ret_stored);

/*
 * Unpack a frame.
 *
 * entry    struct spill_frame's `stored`
 * stored   FRAME_SIZE(entry) bytes, of any content
 * raw      room for `size` bytes, 8-byte aligned
 * Returns  false: these bytes are no frame of that size
 */
bool frame_unpack(uint32_t entry, const char *stored, char *raw, size_t size);

#endif
