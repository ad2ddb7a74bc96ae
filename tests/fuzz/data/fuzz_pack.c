/*
 * Any bytes as a frame. First as what somebody packed: eight bytes tell how it is stored and how large it is, then it
 * either unpacks to that size or is refused. Then as what is to be packed: it comes back.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "pack/pack.h"

static void
unpack(uint32_t flags, uint32_t size, const uint8_t *bytes, size_t stored)
{
    uint32_t entry = (flags & (FRAME_RAW | FRAME_NUMBERS)) | (uint32_t)stored;
    char *exact = malloc(stored + 1);
    char *raw = aligned_alloc(64, LEVEL_FRAME);

    if (exact != NULL && raw != NULL) {
        memcpy(exact, bytes, stored);
        (void)frame_unpack(entry, exact, raw, size % (LEVEL_FRAME + 1));
    }
    free(exact);
    free(raw);
}

static void
come_back(const uint8_t *bytes, size_t size)
{
    char *raw = aligned_alloc(64, LEVEL_FRAME);
    char *packed = aligned_alloc(64, PACK_ROOM);
    char *back = aligned_alloc(64, LEVEL_FRAME);
    const char *stored;
    uint32_t entry;

    if (raw != NULL && packed != NULL && back != NULL) {
        memcpy(raw, bytes, size);
        entry = frame_pack(raw, size, packed, &stored);
        if (!frame_unpack(entry, stored, back, size) || memcmp(raw, back, size) != 0) {
            abort();
        }
    }
    free(raw);
    free(packed);
    free(back);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint32_t head[2];

    if (size < sizeof head || size > LEVEL_FRAME) {
        return 0;
    }
    memcpy(head, bytes, sizeof head);
    unpack(head[0], head[1], bytes + sizeof head, size - sizeof head);
    come_back(bytes + sizeof head, (size - sizeof head) / 64 * 64);
    return 0;
}
