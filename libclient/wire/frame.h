/*
 * Frames on a unix stream socket (contract/store_proto.h), with descriptors. Needs libc only.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stdbool.h>

#include "contract/store_proto.h"
#include "granary/types.h"

/* One received frame. Descriptors not taken (set to -1 by the taker) are closed by gr_frame_in_reset(). */
struct gr_frame_in {
    struct gr_frame head;
    const void *body; /* head.size bytes, 8-byte aligned; valid until the next call on its reader */
    int fds[GR_FRAME_MAX_FDS];
    int fd_count;
};
void gr_frame_in_reset(struct gr_frame_in *frame);

/* Collects what arrives on a socket, in whatever pieces, into frames. */
struct gr_frame_reader;
/*
 * takes_fds  false: a peer that sends descriptors is refused, and none is ever installed in this process
 * Returns    NULL: out of memory
 */
struct gr_frame_reader *gr_frame_reader_create(bool takes_fds);
void gr_frame_reader_destroy(struct gr_frame_reader *reader);
/* Forget what has arrived: another connection begins. */
void gr_frame_reader_reset(struct gr_frame_reader *reader);

/*
 * Read what is there (non-blocking sockets: until EAGAIN or the buffer is full).
 * Errors: EUNREACHABLE the peer closed · EPROTO descriptors nobody takes · errno's
 */
granary_err gr_frame_reader_fill(struct gr_frame_reader *reader, int fd);
/*
 * The next whole frame, if one has arrived: true and *ret_frame (its descriptors are the caller's), else false.
 * *ret_err: EPROTO a frame that is none (bad magic, too long): drop the peer.
 */
bool gr_frame_reader_next(struct gr_frame_reader *reader, struct gr_frame_in *ret_frame, granary_err *ret_err);

/*
 * Send one frame. Blocking sockets: all of it. Non-blocking sockets: all or nothing. EBUSY: the socket's buffer is
 * full. (A frame is far smaller than the buffer, so that is a peer that does not read its answers, and is to be
 * dropped.) Errors: EUNREACHABLE · EBUSY · errno's
 */
granary_err gr_frame_send(int fd, const struct gr_frame *head, const void *body, const int *fds, int fd_count);

/* Block until one frame has arrived or the deadline (monotonic ns). Errors: ETIMEDOUT · EUNREACHABLE · EPROTO */
granary_err
gr_frame_receive(struct gr_frame_reader *reader, int fd, int64_t deadline_ns, struct gr_frame_in *ret_frame);

/* A listening, non-blocking unix socket at path (an old one is removed), mode 0600. Returns it, or -1 with the error
 * set. */
int gr_unix_listen(const char *path, granary_err *ret_err);
/* A connected, blocking unix socket, or -1 with the error set: EUNREACHABLE when nobody listens. */
int gr_unix_connect(const char *path, granary_err *ret_err);

#endif
