/* Any bytes as an exported object: its parts, no more of them than there are bytes, or an error with a message. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "fuzz/fuzz.h"
#include "object/write/portable.h"

struct input {
    const uint8_t *bytes;
    size_t left;
    struct gr_buf parts;
};

static granary_err
take(void *context, void *to, size_t size, size_t *ret_size)
{
    struct input *input = context;

    *ret_size = size < input->left ? size : input->left;
    if (*ret_size > 0) {
        memcpy(to, input->bytes, *ret_size);
    }
    input->bytes += *ret_size;
    input->left -= *ret_size;
    return GRANARY_OK;
}

static granary_err
begin(void *context, const struct portable_header *header)
{
    (void)context;
    return header->chunk_size > PORTABLE_CHUNK_MOST ? gr_fail(GRANARY_EFAILED, "too large a chunk") : GRANARY_OK;
}

static granary_err
place(void *context, bool meta, uint32_t size, void **ret_at)
{
    struct input *input = context;

    (void)meta;
    if (size == 0 || size > PORTABLE_CHUNK_MOST) {
        abort();
    }
    input->parts.size = 0; /* one chunk at a time is enough to look at */
    *ret_at = gr_buf_grow(&input->parts, size);
    return *ret_at == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct input input = {.bytes = bytes, .left = size};
    const struct portable_source source = {.read = take, .begin = begin, .place = place, .context = &input};

    if (portable_read(&source) != GRANARY_OK && granary_error_message()[0] == '\0') {
        abort();
    }
    gr_buf_free(&input.parts);
    return 0;
}
