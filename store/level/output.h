/*
 * A file that is written front to back, in large aligned pieces, while the next piece is being made.
 *
 * With `direct` the pages go past the cache (O_DIRECT) where the file system allows it. One thread uses an output.
 */
#ifndef LEVEL_OUTPUT_H
#define LEVEL_OUTPUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

struct output {
    int fd;
    uint64_t at; /* bytes put so far */
    uint64_t allowance;
    char *pieces[2];
    unsigned filling; /* the piece that is being filled */
    size_t filled;

    /* the other piece, on its way */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started;
    bool stopping;
    size_t flushing; /* bytes; 0: none is on its way */
    uint64_t flush_at;
    int error; /* errno of the first write that failed */
};

/* Create the file (which must not exist). Errors: errno's · ENOMEM. output_close() is due either way. */
granary_err output_open(struct output *output, const char *path, bool direct, uint64_t allowance);

/* Errors: EFULL the allowance, or the disk, is used up · EIO · ... */
granary_err output_put(struct output *output, const void *bytes, size_t size);

/* Everything put is in the file when this returns OK; `at` must be a multiple of SPILL_BLOCK. */
granary_err output_finish(struct output *output, bool durable);

void output_close(struct output *output);

#endif
