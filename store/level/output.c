/* Output in turns of two buffers: one is filled while a thread writes the other. */
#include "store/level/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "spill/format.h"

#define PIECE ((size_t)1 << 20)

/* Returns 0 or errno. */
static int
write_piece(int fd, char *bytes, size_t size, uint64_t at)
{
    while (size > 0) {
        size_t part = size;
        ssize_t n = FAULT_LEAVES(spill_write, bytes, part) ? pwrite(fd, bytes, part, (off_t)at) : -1;

        if (n < 0 && errno == EINVAL) {
            int flags = fcntl(fd, F_GETFL);

            /* The file system took O_DIRECT when the file was opened, and refuses it now. */
            if (flags >= 0 && (flags & O_DIRECT) != 0 && fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0) {
                continue;
            }
            return EINVAL;
        }
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        if (n > 0) {
            bytes += n;
            at += (uint64_t)n;
            size -= (size_t)n;
        }
    }
    return 0;
}

static void *
flusher(void *argument)
{
    struct output *output = argument;

    (void)pthread_mutex_lock(&output->lock);
    for (;;) {
        char *bytes;
        size_t size;
        uint64_t at;
        int error;

        while (output->flushing == 0 && !output->stopping) {
            (void)pthread_cond_wait(&output->changed, &output->lock);
        }
        if (output->flushing == 0) {
            break;
        }
        bytes = output->pieces[1 - output->filling];
        size = output->flushing;
        at = output->flush_at;
        (void)pthread_mutex_unlock(&output->lock);
        error = write_piece(output->fd, bytes, size, at);
        (void)pthread_mutex_lock(&output->lock);
        output->error = output->error == 0 ? error : output->error;
        output->flushing = 0;
        (void)pthread_cond_signal(&output->changed);
    }
    (void)pthread_mutex_unlock(&output->lock);
    return NULL;
}

granary_err
output_open(struct output *output, const char *path, bool direct, uint64_t allowance)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;

    *output = (struct output){.fd = -1, .allowance = allowance};
    (void)pthread_mutex_init(&output->lock, NULL);
    (void)pthread_cond_init(&output->changed, NULL);
    output->pieces[0] = aligned_alloc(SPILL_BLOCK, PIECE);
    if (output->pieces[0] == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to write a spill file");
    }
    output->fd = FAULT_FAILS(spill_create) ? -1 : open(path, direct ? flags | O_DIRECT : flags, 0600);
    if (output->fd < 0 && errno == EINVAL && direct) { /* tmpfs, some FUSE */
        (void)unlink(path);
        output->fd = open(path, flags, 0600);
    }
    return output->fd < 0 ? gr_fail_errno("create") : GRANARY_OK;
}

/* Wait until the piece on its way has been written. */
static granary_err
settle(struct output *output)
{
    int error;

    (void)pthread_mutex_lock(&output->lock);
    while (output->flushing > 0) {
        (void)pthread_cond_wait(&output->changed, &output->lock);
    }
    error = output->error;
    (void)pthread_mutex_unlock(&output->lock);
    errno = error;
    return error == 0 ? GRANARY_OK : gr_fail_errno("write");
}

/* Little files never have a second piece, nor a thread. False: none can be had, the piece is written here and now. */
static bool
start_flusher(struct output *output)
{
    if (output->pieces[1] == NULL) {
        output->pieces[1] = aligned_alloc(SPILL_BLOCK, PIECE);
    }
    if (!output->started && output->pieces[1] != NULL) {
        output->started = pthread_create(&output->thread, NULL, flusher, output) == 0;
    }
    return output->started;
}

/* Send the full piece on its way and begin the other. */
static granary_err
turn_over(struct output *output)
{
    uint64_t at = output->at - output->filled;
    granary_err err = settle(output);
    size_t size = output->filled;

    if (err != GRANARY_OK) {
        return err;
    }
    output->filled = 0;
    if (!start_flusher(output)) {
        errno = write_piece(output->fd, output->pieces[output->filling], size, at);
        return errno == 0 ? GRANARY_OK : gr_fail_errno("write");
    }
    (void)pthread_mutex_lock(&output->lock);
    output->filling = 1 - output->filling;
    output->flushing = size;
    output->flush_at = at;
    (void)pthread_cond_signal(&output->changed);
    (void)pthread_mutex_unlock(&output->lock);
    return GRANARY_OK;
}

granary_err
output_put(struct output *output, const void *bytes, size_t size)
{
    const char *from = bytes;

    if (output->at + size > output->allowance) {
        return gr_fail(GRANARY_EFULL, "the quota of this level is used up");
    }
    while (size > 0) {
        size_t part = PIECE - output->filled < size ? PIECE - output->filled : size;
        granary_err err;

        memcpy(output->pieces[output->filling] + output->filled, from, part);
        output->filled += part;
        output->at += part;
        from += part;
        size -= part;
        if (output->filled == PIECE && (err = turn_over(output)) != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

granary_err
output_finish(struct output *output, bool durable)
{
    granary_err err = settle(output);

    if (err == GRANARY_OK && output->filled > 0) {
        errno = write_piece(output->fd, output->pieces[output->filling], output->filled, output->at - output->filled);
        err = errno == 0 ? GRANARY_OK : gr_fail_errno("write");
    }
    if (err == GRANARY_OK && durable && (FAULT_FAILS(spill_sync) || fsync(output->fd) < 0)) {
        err = gr_fail_errno("fsync");
    }
    return err;
}

void
output_close(struct output *output)
{
    if (output->started) {
        (void)pthread_mutex_lock(&output->lock);
        output->stopping = true;
        (void)pthread_cond_signal(&output->changed);
        (void)pthread_mutex_unlock(&output->lock);
        (void)pthread_join(output->thread, NULL);
    }
    (void)pthread_mutex_destroy(&output->lock);
    (void)pthread_cond_destroy(&output->changed);
    gr_fd_close(&output->fd);
    free(output->pieces[0]);
    free(output->pieces[1]);
}
