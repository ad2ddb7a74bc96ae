#include "kernel/keys/texts.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

enum { SLOTS_MIN = 64, TEXTS_MIN = 32 };

/* Linear probing; at most half full. */
struct text_slot {
    uint32_t tag;  /* upper half of the hash */
    uint32_t next; /* the text's number and one; 0: free */
};

uint64_t
text_hash(const char *text, size_t size)
{
    return XXH3_64bits(text, size);
}

void
texts_fini(struct texts *texts)
{
    free(texts->ends);
    free(texts->bytes);
    free(texts->slots);
    *texts = (struct texts){0};
}

static granary_err
out_of_memory(const struct texts *texts)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory for more than %u different strings", texts->count);
}

static granary_err
slots_grow(struct texts *texts)
{
    uint32_t count = texts->slot_count == 0 ? SLOTS_MIN : texts->slot_count * 2;
    struct text_slot *slots = calloc(count, sizeof *slots);

    if (slots == NULL) {
        return out_of_memory(texts);
    }
    for (uint32_t code = 0; code < texts->count; code++) {
        size_t size;
        const char *text = texts_at(texts, code, &size);
        uint64_t hash = text_hash(text, size);
        uint32_t at = (uint32_t)hash & (count - 1);

        while (slots[at].next != 0) {
            at = (at + 1) & (count - 1);
        }
        slots[at] = (struct text_slot){.tag = (uint32_t)(hash >> 32), .next = code + 1};
    }
    free(texts->slots);
    texts->slots = slots;
    texts->slot_count = count;
    return GRANARY_OK;
}

/* Room for one more text of that size. */
static granary_err
texts_grow(struct texts *texts, size_t size)
{
    uint64_t used = texts->count > 0 ? texts->ends[texts->count - 1] : 0;

    if (texts->count >= INT32_MAX / 2) {
        return gr_fail(GRANARY_EFULL, "%u different strings are more than one chunk can hold: use smaller chunks",
                       texts->count);
    }
    if (texts->count == texts->room) {
        uint32_t room = texts->room == 0 ? TEXTS_MIN : texts->room * 2;
        uint64_t *ends = realloc(texts->ends, room * sizeof *ends);

        if (ends == NULL) {
            return out_of_memory(texts);
        }
        texts->ends = ends;
        texts->room = room;
    }
    if (size > texts->bytes_room - used) {
        uint64_t room = 2 * (used + size) + 1024;
        char *bytes = realloc(texts->bytes, room);

        if (bytes == NULL) {
            return out_of_memory(texts);
        }
        texts->bytes = bytes;
        texts->bytes_room = room;
    }
    return texts->count >= texts->slot_count / 2 ? slots_grow(texts) : GRANARY_OK;
}

granary_err
texts_code(struct texts *texts, const char *text, size_t size, uint32_t *ret_code)
{
    uint64_t hash = text_hash(text, size);
    uint32_t tag = (uint32_t)(hash >> 32);
    uint32_t mask = texts->slot_count - 1;
    uint32_t at = (uint32_t)hash & mask;
    uint64_t used;
    granary_err err;

    for (; texts->slot_count > 0 && texts->slots[at].next != 0; at = (at + 1) & mask) {
        if (texts->slots[at].tag == tag) {
            size_t other_size;
            const char *other = texts_at(texts, texts->slots[at].next - 1, &other_size);

            if (other_size == size && (size == 0 || memcmp(other, text, size) == 0)) {
                *ret_code = texts->slots[at].next - 1;
                return GRANARY_OK;
            }
        }
    }
    err = texts_grow(texts, size);
    if (err != GRANARY_OK) {
        return err;
    }
    used = texts->count > 0 ? texts->ends[texts->count - 1] : 0;
    if (size > 0) {
        memcpy(texts->bytes + used, text, size);
    }
    texts->ends[texts->count] = used + size;
    mask = texts->slot_count - 1;
    for (at = (uint32_t)hash & mask; texts->slots[at].next != 0;) {
        at = (at + 1) & mask;
    }
    *ret_code = texts->count++;
    texts->slots[at] = (struct text_slot){.tag = tag, .next = texts->count};
    return GRANARY_OK;
}
