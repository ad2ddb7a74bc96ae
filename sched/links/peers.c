/* accept4() and recv() of ours stand before libc's; a message is parsed as far as ZMTP frames tell its parts. */
#include "sched/links/peers.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PEERS_MOST 65536u   /* by descriptor */
#define SPARE_FDS  32u      /* that peers leave to the rest of the process */
#define FULL_NS    10000000 /* libzmq asks again at once, as long as somebody waits to be accepted */

enum { GREETING = 64, FLAG_MORE = 1, FLAG_LONG = 2, FLAG_COMMAND = 4 };

typedef int accept_function(int fd, struct sockaddr *address, socklen_t *size, int flags);
typedef ssize_t receive_function(int fd, void *bytes, size_t size, int flags);

/* Of libzmq's thread: it alone accepts and receives here. */
static struct peer_stream streams[PEERS_MOST];
static accept_function *next_accept;
static receive_function *next_receive;

bool
peer_stream_look(struct peer_stream *stream, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        if (stream->greeted < GREETING) {
            stream->greeted++;
            at++;
        } else if (stream->left > 0) {
            uint64_t step = stream->left < size - at ? stream->left : size - at;

            stream->left -= step;
            at += step;
        } else {
            uint8_t flags;

            stream->head[stream->head_size++] = bytes[at++];
            flags = stream->head[0];
            if ((flags & (FLAG_MORE | FLAG_COMMAND)) == FLAG_MORE) {
                return false;
            }
            if (stream->head_size == ((flags & FLAG_LONG) != 0 ? 9 : 2)) {
                for (unsigned i = 1; i < stream->head_size; i++) {
                    stream->left = stream->left << 8 | stream->head[i];
                }
                stream->head_size = 0;
            }
        }
    }
    return true;
}

void
peers_guard(void)
{
    /* What is between us and the C library, as tests put it there, stays. */
    *(void **)&next_accept = dlsym(RTLD_NEXT, "accept4");
    *(void **)&next_receive = dlsym(RTLD_NEXT, "recv");
}

/* The first descriptor that a peer may not have. */
static unsigned
room_for_peers(void)
{
    struct rlimit files = {.rlim_cur = 1024};
    rlim_t room;

    (void)getrlimit(RLIMIT_NOFILE, &files);
    room = files.rlim_cur > 2 * SPARE_FDS ? files.rlim_cur - SPARE_FDS : files.rlim_cur;
    return room < PEERS_MOST ? (unsigned)room : PEERS_MOST;
}

/* Descriptors are given from the lowest free one up: a high one says how many there are. */
__attribute__((visibility("default"))) int
accept4(int listener, struct sockaddr *address, socklen_t *size, int flags)
{
    int fd;

    fd = next_accept(listener, address, size, flags);
    if (fd < 0 && errno == EMFILE) {
        (void)nanosleep(&(struct timespec){.tv_nsec = FULL_NS}, NULL);
        errno = ENFILE; /* of which libzmq does not die */
    } else if (fd >= 0 && (unsigned)fd >= room_for_peers()) {
        (void)close(fd);
        errno = ECONNABORTED;
        fd = -1;
    } else if (fd >= 0) {
        streams[fd] = (struct peer_stream){.is_peer = true};
    }
    return fd;
}

__attribute__((visibility("default"))) ssize_t
recv(int fd, void *bytes, size_t size, int flags)
{
    ssize_t received = next_receive(fd, bytes, size, flags);

    if (received > 0 && (unsigned)fd < PEERS_MOST && streams[fd].is_peer &&
        !peer_stream_look(&streams[fd], bytes, (size_t)received)) {
        errno = ECONNRESET;
        received = -1;
    }
    return received;
}
