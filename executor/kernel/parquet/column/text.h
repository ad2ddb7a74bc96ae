/* Texts and binaries in a page, of variable length or not: where each of them is. */
#ifndef KERNEL_PARQUET_TEXT_H
#define KERNEL_PARQUET_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

struct text_view {
    const uint8_t *at;
    uint32_t size;
};

struct texts {
    struct text_view *views;
    size_t count;
    size_t room;
    uint8_t *bytes; /* of those that are not in the page as a whole */
    size_t bytes_room;
    uint8_t *forms; /* of UUIDs as texts */
    size_t forms_room;
};

void texts_free(struct texts *texts);
/* All values of a page, at most `most`. Errors: ECORRUPT · EUNSUPPORTED · ENOMEM */
granary_err texts_read(struct texts *texts, int32_t encoding, const uint8_t *bytes, size_t size, size_t most);
/* The same of values that all have `width` bytes. */
granary_err
texts_read_fixed(struct texts *texts, int32_t encoding, const uint8_t *bytes, size_t size, size_t most, size_t width);
/* Values of 16 bytes become the texts of UUIDs. Errors: ENOMEM */
granary_err texts_as_uuids(struct texts *texts);

#endif
