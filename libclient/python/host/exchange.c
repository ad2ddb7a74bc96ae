/*
 * One call: the request with its inputs, and the answer with its outputs. Outputs lie in the program's memory, and are copied
 * once, from there into the store.
 */
#include "host.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define VERSION 1
#define LOOK_MS 20   /* how often it is looked whether the call is to be given up */
#define STOP_MS 1000 /* what a program gets to answer a SIGINT */
/* Where inputs become descriptors: those of output and errors are first. The kernel passes 253 at most. */
#define DESCRIPTORS 253
#define MESSAGE_MAX 4096

struct request_head {
    uint32_t version;
    uint32_t size; /* bytes behind this */
    uint64_t subtask;
    uint64_t index;
    uint64_t count;
    uint64_t seed;
    int64_t deadline_ms;
    uint32_t attempt;
    uint32_t executor;
    int32_t numa_node;
    uint32_t cpus;
    uint32_t inputs;
    uint32_t outputs;
};

/* Behind the strings. */
struct request_input {
    unsigned char id[GRANARY_ID_BYTES]; /* zero: bytes in a descriptor, data and then metadata from the next 64 on */
    uint64_t data_size;
    uint64_t meta_size;
};

enum answer_kind { ANSWER_DONE = 1, ANSWER_FAILED = 2, ANSWER_PROGRESS = 3 };

struct answer_head {
    uint32_t version;
    uint32_t kind;
    int32_t err;      /* FAILED: a granary_err */
    uint32_t outputs; /* DONE */
    uint64_t size;    /* bytes behind this: FAILED a message; DONE outputs */
    double progress;
};

struct answer_output {
    uint64_t size;
    uint64_t pieces;
};

/* Bytes of an output: at an address of the program's, or (address 0) in the answer, behind all outputs and pieces. */
struct answer_piece {
    uint64_t offset;
    uint64_t size;
    uint64_t address;
};

/* What the program is told of outputs that are in its memory. */
enum word { WORD_TAKEN = 1, WORD_SEND = 2 };

/* ---- a growing text ---- */

struct bytes {
    char *data;
    size_t size;
    size_t room;
    bool failed;
};

static void *
bytes_grow(struct bytes *bytes, size_t size)
{
    if (bytes->size + size > bytes->room) {
        size_t room = (bytes->size + size) * 2;
        char *data = realloc(bytes->data, room);

        if (data == NULL) {
            bytes->failed = true;
            return NULL;
        }
        bytes->data = data;
        bytes->room = room;
    }
    bytes->size += size;
    return bytes->data + bytes->size - size;
}

static void
bytes_add(struct bytes *bytes, const void *data, size_t size)
{
    void *at = bytes_grow(bytes, size);

    if (at != NULL && size > 0) {
        memcpy(at, data, size);
    }
}

static void
bytes_add_text(struct bytes *bytes, const char *text)
{
    const uint32_t length = (uint32_t)strlen(text);

    bytes_add(bytes, &length, sizeof length);
    bytes_add(bytes, text, length);
}

/* ---- the socket ---- */

static int64_t
now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* What a call has come to while the program is waited for. */
struct attention {
    granary_call *call;
    struct host *host;
    int64_t stop_at_ms; /* it was asked to stop, and is not waited for any longer; 0: it was not */
};

/* Until the socket is ready. False: the program is given up. */
static bool
attend(struct attention *attention, short events)
{
    struct pollfd poll_fd = {.fd = attention->host->fd, .events = events};

    while (poll(&poll_fd, 1, LOOK_MS) <= 0) {
        if (attention->stop_at_ms != 0 && now_ms() >= attention->stop_at_ms) {
            return false;
        }
        if (attention->stop_at_ms == 0 && granary_call_cancelled(attention->call)) {
            (void)kill(attention->host->pid, SIGINT);
            attention->stop_at_ms = now_ms() + STOP_MS;
        }
    }
    return true;
}

/* All of it. False: the program has ended, or was given up. */
static bool
receive(struct attention *attention, void *to, size_t size)
{
    char *at = to;

    while (size > 0) {
        ssize_t got = recv(attention->host->fd, at, size, MSG_DONTWAIT);

        if (got > 0) {
            at += got;
            size -= (size_t)got;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR) || (errno == EAGAIN && !attend(attention, POLLIN))) {
            return false;
        }
    }
    return true;
}

static bool
transmit(struct attention *attention, const void *from, size_t size, const int *descriptors, size_t count)
{
    union {
        char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
        struct cmsghdr align;
    } control;
    const char *at = from;

    while (size > 0) {
        struct iovec part = {.iov_base = (char *)(uintptr_t)at, .iov_len = size};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t sent;

        if (count > 0) {
            message.msg_control = control.bytes;
            message.msg_controllen = CMSG_SPACE(count * sizeof(int));
            *CMSG_FIRSTHDR(&message) = (struct cmsghdr){
                .cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
            memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), descriptors, count * sizeof(int));
        }
        sent = sendmsg(attention->host->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            at += sent;
            size -= (size_t)sent;
            count = 0;
        } else if ((errno != EAGAIN && errno != EINTR) || (errno == EAGAIN && !attend(attention, POLLOUT))) {
            return false;
        }
    }
    return true;
}

/* ---- the request ---- */

/* An input that is no object of the store, as a file in memory. -1: errno tells why not */
static int
open_value(const granary_view *view)
{
    const uint64_t meta_at = (view->data_size + 63) / 64 * 64;
    int fd = memfd_create("input", MFD_CLOEXEC);

    for (uint64_t done = 0; fd >= 0 && done < view->data_size;) {
        ssize_t wrote = pwrite(fd, (const char *)view->data + done, view->data_size - done, (off_t)done);

        if (wrote < 0) {
            (void)close(fd);
            return -1;
        }
        done += (uint64_t)wrote;
    }
    if (fd >= 0 && view->meta_size > 0 &&
        pwrite(fd, view->meta, view->meta_size, (off_t)meta_at) != (ssize_t)view->meta_size) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool
has_id(const granary_view *view)
{
    static const granary_id none;

    return memcmp(&view->id, &none, sizeof none) != 0;
}

static granary_err
add_inputs(granary_call *call, struct bytes *request, int *descriptors, size_t *count)
{
    const size_t inputs = granary_call_inputs(call);

    for (size_t i = 0; i < inputs; i++) {
        const granary_view *view = granary_call_input(call, i);
        struct request_input input = {.data_size = view->data_size, .meta_size = view->meta_size};

        if (has_id(view)) {
            memcpy(input.id, view->id.bytes, sizeof input.id);
        } else if (*count == DESCRIPTORS) {
            return granary_call_fail(call, GRANARY_EUNSUPPORTED, "more than %d inputs that are no objects",
                                     DESCRIPTORS - 2);
        } else {
            const int fd = open_value(view);

            if (fd < 0) {
                return granary_call_fail(call, GRANARY_EFULL, "input %zu as a file in memory: %s", i, strerror(errno));
            }
            descriptors[(*count)++] = fd;
        }
        bytes_add(request, &input, sizeof input);
    }
    return GRANARY_OK;
}

/* Descriptors from the third on are to be closed, whatever is returned. */
static granary_err
make_request(granary_call *call, struct bytes *request, int *descriptors, size_t *count)
{
    const granary_call_context *context = granary_call_context_get(call);
    struct request_head head = {
        .version = VERSION,
        .subtask = context->subtask,
        .index = context->index,
        .count = context->count,
        .seed = context->seed,
        .deadline_ms = context->deadline_ms,
        .attempt = context->attempt,
        .executor = context->executor,
        .numa_node = context->numa_node,
        .cpus = (uint32_t)context->cpus,
        .inputs = (uint32_t)granary_call_inputs(call),
        .outputs = (uint32_t)granary_call_outputs(call),
    };
    char *directory = getcwd(NULL, 0);
    granary_err err;

    bytes_add(request, &head, sizeof head);
    bytes_add_text(request, context->session);
    bytes_add_text(request, context->graph);
    bytes_add_text(request, context->node);
    bytes_add_text(request, directory == NULL ? "" : directory);
    bytes_add_text(request, granary_call_param(call, "request", ""));
    free(directory);
    err = add_inputs(call, request, descriptors, count);
    if (err == GRANARY_OK && request->failed) {
        err = granary_call_fail(call, GRANARY_ENOMEM, "out of memory");
    }
    if (err == GRANARY_OK) {
        head.size = (uint32_t)(request->size - sizeof head);
        memcpy(request->data, &head, sizeof head);
    }
    return err;
}

/* ---- the answer ---- */

struct answer {
    struct answer_head head;
    char *body; /* head.size bytes */
};

static granary_err
tell_failure(granary_call *call, const struct answer *answer)
{
    const granary_err err = (granary_err)answer->head.err;
    const int length = answer->head.size < MESSAGE_MAX ? (int)answer->head.size : MESSAGE_MAX;

    return granary_call_fail(call, err < 0 && strcmp(granary_error_name(err), "E?") != 0 ? err : GRANARY_EFAILED,
                             "%.*s", length, answer->body == NULL ? "" : answer->body);
}

/* One output: its pieces from `pieces` on, those in the answer from *inlined on. False: it makes no sense. */
static granary_err
take_pieces(struct attention *attention, const struct answer_piece *pieces, const struct answer_output *output,
            char *to, const char **inlined, const char *end, bool *send, bool *ret_broken)
{
    uint64_t at = 0;

    for (uint64_t i = 0; i < output->pieces; i++) {
        const struct answer_piece *piece = &pieces[i];
        uint64_t done = 0;

        if (piece->offset < at || piece->offset > output->size || piece->size > output->size - piece->offset ||
            (piece->address == 0 && piece->size > (uint64_t)(end - *inlined))) {
            *ret_broken = true;
            return granary_call_fail(attention->call, GRANARY_EPROTO, "its program answered nonsense");
        }
        memset(to + at, 0, piece->offset - at);
        if (piece->address == 0) {
            memcpy(to + piece->offset, *inlined, piece->size);
            *inlined += piece->size;
            done = piece->size;
        }
        while (done < piece->size && !*send) {
            const struct iovec local = {to + piece->offset + done, piece->size - done};
            const struct iovec remote = {(void *)(uintptr_t)(piece->address + done), piece->size - done};
            const ssize_t got = process_vm_readv(attention->host->pid, &local, 1, &remote, 1, 0);

            *send = got <= 0; /* not allowed here: then it is to write them */
            done += got > 0 ? (uint64_t)got : 0;
        }
        if (done < piece->size) {
            const uint32_t word = WORD_SEND;
            const uint64_t rest[2] = {piece->address + done, piece->size - done};

            if (!transmit(attention, &word, sizeof word, NULL, 0) || !transmit(attention, rest, sizeof rest, NULL, 0) ||
                !receive(attention, to + piece->offset + done, piece->size - done)) {
                *ret_broken = true;
                return GRANARY_OK;
            }
        }
        at = piece->offset + piece->size;
    }
    memset(to + at, 0, output->size - at);
    return GRANARY_OK;
}

static granary_err
take_outputs(struct attention *attention, const struct answer *answer, bool *ret_broken)
{
    const size_t count = granary_call_outputs(attention->call);
    const char *at = answer->body, *end = at + answer->head.size, *inlined = at;
    granary_err err = GRANARY_OK;
    bool send = false, remote = false;

    *ret_broken = answer->head.outputs != count;
    for (size_t i = 0; i < count && !*ret_broken; i++) { /* where what is in the answer begins */
        struct answer_output output;

        *ret_broken = (size_t)(end - inlined) < sizeof output;
        if (!*ret_broken) {
            memcpy(&output, inlined, sizeof output);
            inlined += sizeof output;
            *ret_broken = output.pieces > (uint64_t)(end - inlined) / sizeof(struct answer_piece);
            inlined += *ret_broken ? 0 : output.pieces * sizeof(struct answer_piece);
        }
    }
    if (*ret_broken) {
        return granary_call_fail(attention->call, GRANARY_EPROTO, "its program answered nonsense");
    }
    for (size_t i = 0; i < count && err == GRANARY_OK && !*ret_broken; i++) {
        struct answer_output output;
        struct answer_piece *pieces;
        void *to = NULL;

        memcpy(&output, at, sizeof output);
        at += sizeof output;
        pieces = malloc(output.pieces * sizeof *pieces + 1);
        if (pieces == NULL) {
            err = granary_call_fail(attention->call, GRANARY_ENOMEM, "out of memory");
            break;
        }
        memcpy(pieces, at, output.pieces * sizeof *pieces);
        at += output.pieces * sizeof *pieces;
        for (uint64_t p = 0; p < output.pieces; p++) {
            remote = remote || pieces[p].address != 0;
        }
        err = granary_call_output(attention->call, i, output.size, &to);
        if (err == GRANARY_OK) {
            err = take_pieces(attention, pieces, &output, to, &inlined, end, &send, ret_broken);
        }
        free(pieces);
    }
    if (remote && !*ret_broken) {
        const uint32_t word = WORD_TAKEN;

        *ret_broken = !transmit(attention, &word, sizeof word, NULL, 0);
    }
    return err;
}

/* Errors: as the program said; *ret_broken: there is no answer. */
static granary_err
take_answer(struct attention *attention, bool *ret_broken)
{
    struct answer answer = {.body = NULL};
    granary_err err = GRANARY_OK;

    do {
        if (!receive(attention, &answer.head, sizeof answer.head)) {
            *ret_broken = true;
            return attention->stop_at_ms != 0 ? granary_call_fail(attention->call, GRANARY_ECANCELLED, "cancelled")
                                              : GRANARY_OK;
        }
        if (answer.head.version != VERSION || answer.head.size > SIZE_MAX / 2) {
            *ret_broken = true;
            return granary_call_fail(attention->call, GRANARY_EPROTO, "its program speaks version %u, not %d",
                                     answer.head.version, VERSION);
        }
        if (answer.head.kind == ANSWER_PROGRESS) {
            granary_call_progress(attention->call, answer.head.progress);
        }
    } while (answer.head.kind == ANSWER_PROGRESS);
    answer.body = malloc(answer.head.size + 1);
    if (answer.body == NULL || !receive(attention, answer.body, answer.head.size)) {
        *ret_broken = true;
        err = answer.body == NULL ? granary_call_fail(attention->call, GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    } else if (answer.head.kind == ANSWER_FAILED) {
        err = tell_failure(attention->call, &answer);
    } else if (answer.head.kind == ANSWER_DONE) {
        err = take_outputs(attention, &answer, ret_broken);
    } else {
        *ret_broken = true;
        err = granary_call_fail(attention->call, GRANARY_EPROTO, "its program answered nonsense");
    }
    free(answer.body);
    return err;
}

granary_err
host_exchange(granary_call *call, struct host *host, bool *ret_broken)
{
    struct attention attention = {.call = call, .host = host};
    int descriptors[DESCRIPTORS] = {STDOUT_FILENO, STDERR_FILENO};
    struct bytes request = {.data = NULL};
    size_t count = 2;
    granary_err err = make_request(call, &request, descriptors, &count);

    if (err == GRANARY_OK) {
        *ret_broken = !transmit(&attention, request.data, request.size, descriptors, count);
    }
    for (size_t i = 2; i < count; i++) {
        (void)close(descriptors[i]);
    }
    free(request.data);
    if (err == GRANARY_OK && !*ret_broken) {
        err = take_answer(&attention, ret_broken);
    }
    return err;
}
