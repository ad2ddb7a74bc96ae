/* How a frame is packed: as numbers where they save enough, else by LZ4 where that does. */
#include "pack/pack.h"

#include <lz4.h>
#include <string.h>

#include "pack/numbers.h"

/* Packing is worth its while when it makes at least this of what it is given. */
#define RATIO_TIMES_10 12u

static size_t
most_packed(size_t size)
{
    return size * 10 / RATIO_TIMES_10;
}

/* LZ4 has to do clearly better than numbers of this size, which unpack far faster. */
static uint32_t
pack_lz4(const char *raw, size_t size, size_t numbers, char *packed)
{
    size_t most = numbers == 0 ? most_packed(size) : numbers / 4 * 3;
    int got = LZ4_compress_default(raw, packed, (int)size, (int)most);

    return got > 0 ? (uint32_t)got : 0;
}

uint32_t
frame_pack(const char *raw, size_t size, char *packed, const char **ret_stored)
{
    struct numbers numbers;
    size_t size_numbers = numbers_plan(raw, size, &numbers) ? numbers_size(&numbers) : size;
    uint32_t got = 0;

    if (size_numbers > most_packed(size)) {
        size_numbers = 0;
    }
    if (size_numbers == 0 || size_numbers > size / 2) {
        got = pack_lz4(raw, size, size_numbers, packed);
    }
    *ret_stored = packed;
    if (got > 0) {
        return got;
    }
    if (size_numbers > 0) {
        numbers_pack(&numbers, raw, packed);
        return (uint32_t)size_numbers | FRAME_NUMBERS;
    }
    *ret_stored = raw;
    return (uint32_t)size | FRAME_RAW;
}

bool
frame_unpack(uint32_t entry, const char *stored, char *raw, size_t size)
{
    size_t stored_size = FRAME_SIZE(entry);

    if ((entry & FRAME_RAW) != 0) {
        if ((entry & FRAME_NUMBERS) != 0 || stored_size != size) {
            return false;
        }
        memcpy(raw, stored, size);
        return true;
    }
    if ((entry & FRAME_NUMBERS) != 0) {
        return numbers_unpack(stored, stored_size, raw, size);
    }
    return LZ4_decompress_safe(stored, raw, (int)stored_size, (int)size) == (int)size;
}
