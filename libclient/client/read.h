/*
 * Reading parts of chunks, inside the room: read.c finds out which object is meant and what became of it, read_frame.c
 * and read_tensor.c select, read_lz4.c encodes.
 */
#ifndef CLIENT_READ_H
#define CLIENT_READ_H

#include "granary/read.h"

/* One object that is there, and what is wanted of it. */
struct reading {
    granary_client *client;
    granary_id id; /* no alias */
    const granary_selection *select;
    uint64_t data_size;
    uint64_t meta_size;
    bool in_memory; /* or was, a moment ago */
    int timeout_ms;
};

/* Rows and columns of a frame object: chunk->frame. Errors: ETYPE · ENOENT a column · EINVAL · as get */
granary_err read_frame(const struct reading *reading, granary_chunk *chunk);

/* Elements of a tensor object: chunk->tensor. Errors: ETYPE · EINVAL · as get */
granary_err read_tensor(const struct reading *reading, granary_chunk *chunk);

/* Let go of what a chunk holds: lease, frame, memory. Its description stays. */
void read_drop(granary_client *client, granary_chunk *chunk);

/* A frame or tensor becomes the bytes of an Arrow or NPY file: chunk->data. Errors: ENOMEM · EFULL */
granary_err read_as_file(granary_client *client, granary_chunk *chunk);

/* chunk->data becomes an LZ4 frame of itself. Errors: ENOMEM */
granary_err read_encode_lz4(granary_client *client, granary_chunk *chunk);

/*
 * All of an object that lies in a spill file as an LZ4 frame, whose blocks are the file's. False: it does not, or not
 * any more, or this process may not read the file: then the chunk is as it was.
 */
bool read_spilled_lz4(const struct reading *reading, granary_chunk *chunk);

/* frame_rows.c: how many rows a frame object has; a spilled one is not brought back for that. Errors: as get, ETYPE */
granary_err frame_object_rows(granary_client *client, granary_id id, int timeout_ms, int64_t *ret_rows);
/* The frame in which named columns (NULL: all) are wanted: others that cannot be read hinder nobody. Errors: as
 * granary_frame_open() */
granary_err
frame_open_columns(const granary_view *view, const char *const *names, size_t count, granary_frame **ret_frame);

#endif
