/*
 * granary-peer-zmq PATH COUNT: round trips of 64 bytes through libzmq, between two processes, by a socket at PATH. Says how
 * many microseconds each took, one a line.
 * granary-peer-zmq PATH COUNT stream: so many messages one way. Says how many microseconds all took.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "message/zmq.h"

/* Echo until killed. */
static void
serve_echo(const char *path)
{
    struct gr_zmq_context *context = gr_zmq_context_create(1);
    granary_err err;
    struct gr_zmq_socket *socket = gr_zmq_router(context, path, &err);
    struct gr_zmq_message message;

    while (socket != NULL && gr_zmq_wait(&socket, 1, NULL, NULL, 0, -1)) {
        while (gr_zmq_receive(socket, &message)) {
            (void)gr_zmq_send(socket, &message.peer, message.bytes, message.size);
            gr_zmq_message_free(&message);
        }
    }
    _exit(1);
}

/* Take so many messages, then answer the last one. */
static void
serve_stream(const char *path, unsigned long count)
{
    struct gr_zmq_context *context = gr_zmq_context_create(1);
    granary_err err;
    struct gr_zmq_socket *socket = gr_zmq_router(context, path, &err);
    struct gr_zmq_message message;

    for (unsigned long got = 0; socket != NULL && gr_zmq_wait(&socket, 1, NULL, NULL, 0, -1);) {
        while (gr_zmq_receive(socket, &message)) {
            if (++got == count) {
                (void)gr_zmq_send(socket, &message.peer, message.bytes, message.size);
            }
            gr_zmq_message_free(&message);
        }
    }
    _exit(1);
}

/* All of them one way, in ns; -1: it failed. */
static int64_t
stream(struct gr_zmq_socket *socket, unsigned long count)
{
    static const char bytes[64];
    struct gr_zmq_message message;
    const int64_t start = gr_now_ns();

    for (unsigned long i = 0; i < count; i++) {
        granary_err err;

        while ((err = gr_zmq_send(socket, NULL, bytes, sizeof bytes)) == GRANARY_EBUSY) {
            (void)sched_yield(); /* its queue is full */
        }
        if (err != GRANARY_OK) {
            return -1;
        }
    }
    if (!gr_zmq_wait(&socket, 1, NULL, NULL, 0, 60000) || !gr_zmq_receive(socket, &message)) {
        return -1;
    }
    gr_zmq_message_free(&message);
    return gr_now_ns() - start;
}

/* One round trip, in ns; -1: it failed. */
static int64_t
round_trip(struct gr_zmq_socket *socket)
{
    static const char bytes[64];
    struct gr_zmq_message message;
    int64_t start = gr_now_ns();

    (void)gr_zmq_send(socket, NULL, bytes, sizeof bytes);
    if (!gr_zmq_wait(&socket, 1, NULL, NULL, 0, 5000) || !gr_zmq_receive(socket, &message)) {
        return -1;
    }
    gr_zmq_message_free(&message);
    return gr_now_ns() - start;
}

int
main(int argc, char **argv)
{
    const bool streams = argc == 4 && strcmp(argv[3], "stream") == 0;
    unsigned long count = argc == 3 || streams ? strtoul(argv[2], NULL, 10) : 0;
    struct gr_zmq_context *context;
    struct gr_zmq_socket *socket;
    granary_err err = GRANARY_OK;
    int64_t took = 0;
    pid_t child;

    if (count == 0) {
        (void)fprintf(stderr, "usage: granary-peer-zmq PATH COUNT [stream]\n");
        return 2;
    }
    child = fork();
    if (child == 0) {
        if (streams) {
            serve_stream(argv[1], count);
        }
        serve_echo(argv[1]);
    }
    context = gr_zmq_context_create(1);
    socket = child < 0 ? NULL : gr_zmq_dealer(context, argv[1], &err);
    if (socket != NULL && streams) {
        took = stream(socket, count);
        (void)printf("%.3f\n", (double)took / 1e3);
        count = 0;
    }
    for (unsigned long i = 0; socket != NULL && took >= 0 && i < count; i++) {
        took = round_trip(socket);
        if (i > 0 && took >= 0) { /* the first connects */
            (void)printf("%.3f\n", (double)took / 1e3);
        }
    }
    gr_zmq_close(socket);
    gr_zmq_context_destroy(context);
    if (child > 0) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
    }
    (void)unlink(argv[1]);
    return socket == NULL || took < 0;
}
