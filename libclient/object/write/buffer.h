/* Buffers that are open, known by their marks. All of it with client->lock held, but for what put.c has. */
#ifndef OBJECT_WRITE_BUFFER_H
#define OBJECT_WRITE_BUFFER_H

#include <stdbool.h>

#include "granary/store.h"

/* The marks of open buffers, which granary_buffer.state has until seal or abort, and is 0 then; under lock. */
struct open_buffers {
    uint32_t *marks;
    uint32_t size; /* a power of two, or 0 */
    uint32_t count;
    uint32_t last; /* given */
};

/* A mark for a buffer. Errors: ENOMEM */
granary_err buffer_open(granary_client *client, uint32_t *ret_mark);
bool buffer_is_open(const granary_client *client, uint32_t mark);
/* One that is not open is ignored. */
void buffer_close(granary_client *client, uint32_t mark);
/* Another mark for an open buffer: its copies are spent. */
void buffer_renew(granary_client *client, uint32_t *mark);

/* ESTATE, as the refusal of a buffer that is not open. */
granary_err buffer_is_spent(granary_id id);

/* How long options (may be NULL) say that room is waited for. */
int options_timeout_ms(const granary_object_options *options);
/* Errors: EINVAL no object can be that large */
granary_err size_check(granary_id id, uint64_t data_size, uint64_t meta_size);

#endif
