/* The index of one side's keys, made (kernel/join/built.h). */
#ifndef KERNEL_JOIN_BUILD_H
#define KERNEL_JOIN_BUILD_H

#include "data/frame.h"

struct build_request {
    const granary_frame *const *pieces; /* at least one */
    size_t piece_count;
    char *const *keys;  /* columns */
    char *const *types; /* dtypes that they are compared in */
    size_t key_count;
    uint32_t part;
    uint32_t part_bits; /* of 1 << part_bits parts */
    bool unique;        /* a key with two rows is an error */
    const char *side;   /* which messages tell: "left", "right" */
};

/* *ret_bytes is 64-byte aligned, to be given to free(). Errors: ENOENT a column · EINVAL a key that repeats · EFULL ·
 * ENOMEM */
granary_err build_keys(const struct build_request *request, void **ret_bytes, uint64_t *ret_size);

#endif
