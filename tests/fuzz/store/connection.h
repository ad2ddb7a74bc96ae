/*
 * A client's end of the protocol without the library: a socket, and after HELLO a doorbell, a lease page and the files
 * of rooms. It sends and writes what an input says.
 */
#ifndef FUZZ_STORE_CONNECTION_H
#define FUZZ_STORE_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "contract/shm.h"
#include "granary/types.h"
#include "store/input.h"
#include "wire/frame.h"

#define ROOMS 4u

struct room {
    uint32_t segment;
    uint64_t size;
    int fd;
};

struct connection {
    int fd; /* -1: none */
    int doorbell;
    struct gr_frame_reader *reader;
    struct gr_lease_page *page; /* NULL before HELLO */
    uint64_t head;
    struct room rooms[ROOMS];
    unsigned passing; /* descriptors that go with the next bytes */
};

/* Of objects, the honest client's and others'. */
static inline granary_id
hostile_id(uint64_t n)
{
    granary_id id = {{0}};

    memcpy(id.bytes, &n, sizeof n);
    id.bytes[15] = 1;
    return id;
}

/* Mostly one of few, so that requests meet. */
static inline void
hostile_put_id(struct input *input, void *to)
{
    granary_id id = hostile_id(1 + input_byte(input) % 8);

    memcpy(to, id.bytes, sizeof id.bytes);
}

/* ---- connection.c ---- */

void connection_open(struct connection *c);
void connection_close(struct connection *c);
/* Everything that was answered. */
void connection_read(struct connection *c);
void connection_send(struct connection *c, const void *bytes, size_t size);

/* ---- connection_frames.c ---- */

/* A request; not whole: cut, with other bytes somewhere, or a size that is not so. */
void connection_send_frame(struct input *input, struct connection *c, uint16_t op, bool whole);
/* Bytes of the input as a request: only magic and size are put right. */
void connection_send_body(struct input *input, struct connection *c);
void connection_send_raw(struct input *input, struct connection *c);

/* ---- connection_pages.c ---- */

/* Write into its page or a room, or ring the bell; nothing before HELLO. kind: 0 to 7 */
void connection_use_page(struct input *input, struct connection *c, uint8_t kind);

#endif
