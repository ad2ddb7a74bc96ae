/*
 * The broker: forked from the executor before it is confined, ends with it. A byte asks, the answer is a descriptor or
 * none. It connects to this instance's store and to nothing else, whoever asks.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process/daemon.h"
#include "executor/confine/confine.h"
#include "wire/frame.h"

#define ASK_STORE     's'
#define ASK_SCHEDULER 'h'

static int broker = -1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static bool
send_descriptor(int to, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    char answer = fd < 0 ? 'n' : 'y';
    struct iovec part = {&answer, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    }
    return sendmsg(to, &message, MSG_NOSIGNAL) == 1;
}

static void
serve(const struct gr_instance *instance, int asked)
{
    char lock[160];
    char what;

    (void)snprintf(lock, sizeof lock, "%s/sched.lock", instance->runtime);
    while (recv(asked, &what, 1, 0) == 1) {
        granary_err err;
        int fd = what == ASK_STORE ? gr_unix_connect(instance->store_socket, &err) : gr_daemon_holder_open(lock);
        bool sent = send_descriptor(asked, fd);

        gr_fd_close(&fd);
        if (!sent) {
            break;
        }
    }
}

/* What else the executor has open ends with the executor. */
static int
keep_only(int fd)
{
    (void)dup2(fd, 3);
    (void)close_range(4, ~0U, 0);
    return 3;
}

granary_err
confine_broker_start(const struct gr_instance *instance)
{
    pid_t pid;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        return gr_fail_errno("confine: a broker");
    }
    /* A grandchild: user code that waits for its children does not wait for it. The pool ends it with the executor. */
    pid = fork();
    if (pid == 0) {
        if (fork() != 0) {
            _exit(0);
        }
        (void)prctl(PR_SET_NAME, "granary-broker");
        serve(instance, keep_only(ends[1]));
        _exit(0);
    }
    gr_fd_close(&ends[1]);
    if (pid < 0 || waitpid(pid, NULL, 0) != pid) {
        gr_fd_close(&ends[0]);
        return gr_fail_errno("confine: a broker");
    }
    broker = ends[0];
    return GRANARY_OK;
}

/* One at a time: answers have no names. */
static int
ask(char what)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    char answer = 'n';
    struct iovec part = {&answer, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    int fd = -1;

    (void)pthread_mutex_lock(&turn);
    if (send(broker, &what, 1, MSG_NOSIGNAL) == 1 && recvmsg(broker, &message, MSG_CMSG_CLOEXEC) == 1 &&
        answer == 'y' && CMSG_FIRSTHDR(&message) != NULL) {
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    }
    (void)pthread_mutex_unlock(&turn);
    return fd;
}

int
confine_broker_connect(const char *path, granary_err *ret_err)
{
    int fd = ask(ASK_STORE);

    if (fd < 0) {
        *ret_err = gr_fail(GRANARY_EUNREACHABLE, "%s: nobody listens there", path);
    }
    return fd;
}

int
confine_broker_scheduler(const char *path)
{
    (void)path;
    return ask(ASK_SCHEDULER);
}
