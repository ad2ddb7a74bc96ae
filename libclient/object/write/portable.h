/* The form of an exported object (docs/formats.md, "Exported objects"), apart from where its bytes come from or go. */
#ifndef OBJECT_WRITE_PORTABLE_H
#define OBJECT_WRITE_PORTABLE_H

#include <stdbool.h>

#include "granary/types.h"

#define PORTABLE_HEADER_BYTES 64u
#define PORTABLE_RECORD_BYTES 16u
#define PORTABLE_ID_AT        16u        /* of the header's bytes */
#define PORTABLE_CHUNK_BYTES  (1u << 20) /* of an export; imports take what lies between: */
#define PORTABLE_CHUNK_MOST   (16u << 20)
#define PORTABLE_CHUNK_LEAST  (64u << 10)

struct portable_header {
    granary_id id;
    uint64_t data_size;
    uint64_t meta_size;
    uint32_t chunk_size;
};

/* Where the bytes of an export go. */
struct portable_sink {
    granary_err (*write)(void *context, const void *bytes, size_t size);
    void *context;
};

/* Write an object. data, meta: the whole of them. Errors: the sink's */
granary_err portable_write(const struct portable_sink *sink, const struct portable_header *header, const void *data,
                           const void *meta);

/* Where the bytes of an import come from, and where its parts go. */
struct portable_source {
    /* As many bytes as there are up to size; fewer only at the end. */
    granary_err (*read)(void *context, void *to, size_t size, size_t *ret_size);
    /* The header is good; nothing is known of what follows. */
    granary_err (*begin)(void *context, const struct portable_header *header);
    /* Room for the next bytes of data or metadata, at most header.chunk_size. */
    granary_err (*place)(void *context, bool meta, uint32_t size, void **ret_at);
    void *context;
};

/*
 * Read an object: exactly its bytes are taken from the source.
 *
 * Errors  ENOENT the source ends before the first byte · ECORRUPT, naming the chunk · the source's
 */
granary_err portable_read(const struct portable_source *source);

#endif
