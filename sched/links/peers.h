/*
 * libzmq leaves two things open to anybody who may connect. It ends the process when there is no descriptor for one
 * more peer. It keeps the parts of a message until the last one has come, however many come before it. So libzmq is
 * given an accept4() and a recv() of ours. They hang up on a peer for which there is no room. They also hang up on
 * one that begins a message of several parts, which no honest one does.
 */
#ifndef SCHED_PEERS_H
#define SCHED_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before anything in this process accepts or receives. */
void peers_guard(void);

/* How far a peer's bytes have come: a greeting of ZMTP 3, then frames. Zero is the beginning. */
struct peer_stream {
    bool is_peer;
    uint8_t greeted; /* bytes of the greeting so far */
    uint8_t head_size;
    uint8_t head[9]; /* of the frame that begins: flags, then its size in 1 or 8 bytes */
    uint64_t left;   /* of its body */
};

/* Look at the bytes that follow. False: a message of several parts begins. */
bool peer_stream_look(struct peer_stream *stream, const uint8_t *bytes, size_t size);

#endif
