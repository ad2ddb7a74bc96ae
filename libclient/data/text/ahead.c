/* A ring of blocks between two threads: see ahead.h. */
#include "data/text/ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"

enum { BLOCKS = 8, BLOCK = 256 << 10 };

struct block {
    char *bytes;
    size_t size;
};

struct gr_ahead {
    struct gr_unpack *unpack;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct block blocks[BLOCKS];
    unsigned made;  /* blocks; those behind `taken` are the reader's, the others the thread's */
    unsigned taken; /* of which */
    bool ends;      /* no more are made: that was all, or there is an error */
    bool stops;
    granary_err err; /* and its message */
    char *message;
    size_t at; /* in the block that is read */
};

static void *
ahead_run(void *own)
{
    struct gr_ahead *ahead = own;
    bool goes_on = true;

    while (goes_on) {
        struct block *block = &ahead->blocks[ahead->made % BLOCKS];
        granary_err err = gr_unpack_read(ahead->unpack, block->bytes, BLOCK, &block->size);

        (void)pthread_mutex_lock(&ahead->lock);
        ahead->made++;
        ahead->err = err;
        ahead->message = err == GRANARY_OK ? NULL : strdup(granary_error_message());
        ahead->ends = err != GRANARY_OK || block->size < BLOCK;
        (void)pthread_cond_signal(&ahead->changed);
        while (!ahead->ends && !ahead->stops && ahead->made - ahead->taken == BLOCKS) {
            (void)pthread_cond_wait(&ahead->changed, &ahead->lock);
        }
        goes_on = !ahead->ends && !ahead->stops;
        (void)pthread_mutex_unlock(&ahead->lock);
    }
    return NULL;
}

static void
ahead_free(struct gr_ahead *ahead)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        free(ahead->blocks[i].bytes);
    }
    (void)pthread_mutex_destroy(&ahead->lock);
    (void)pthread_cond_destroy(&ahead->changed);
    free(ahead->message);
    free(ahead);
}

struct gr_ahead *
gr_ahead_start(struct gr_unpack *unpack)
{
    struct gr_ahead *ahead = calloc(1, sizeof *ahead);
    bool good = true;

    if (ahead == NULL) {
        return NULL;
    }
    (void)pthread_mutex_init(&ahead->lock, NULL);
    (void)pthread_cond_init(&ahead->changed, NULL);
    ahead->unpack = unpack;
    for (size_t i = 0; i < BLOCKS; i++) {
        ahead->blocks[i].bytes = malloc(BLOCK);
        good = good && ahead->blocks[i].bytes != NULL;
    }
    good = good && gr_thread_start(&ahead->thread, ahead_run, ahead) == 0;
    if (!good) {
        ahead_free(ahead);
        return NULL;
    }
    return ahead;
}

void
gr_ahead_stop(struct gr_ahead *ahead)
{
    if (ahead != NULL) {
        (void)pthread_mutex_lock(&ahead->lock);
        ahead->stops = true;
        (void)pthread_cond_signal(&ahead->changed);
        (void)pthread_mutex_unlock(&ahead->lock);
        (void)pthread_join(ahead->thread, NULL);
        ahead_free(ahead);
    }
}

/* A block that is made and not read up, or NULL: there is none any more. */
static const struct block *
next_block(struct gr_ahead *ahead)
{
    const struct block *block;

    (void)pthread_mutex_lock(&ahead->lock);
    while (ahead->made == ahead->taken && !ahead->ends) {
        (void)pthread_cond_wait(&ahead->changed, &ahead->lock);
    }
    block = ahead->made == ahead->taken ? NULL : &ahead->blocks[ahead->taken % BLOCKS];
    (void)pthread_mutex_unlock(&ahead->lock);
    return block;
}

static void
give_back(struct gr_ahead *ahead)
{
    (void)pthread_mutex_lock(&ahead->lock);
    ahead->taken++;
    ahead->at = 0;
    (void)pthread_cond_signal(&ahead->changed);
    (void)pthread_mutex_unlock(&ahead->lock);
}

granary_err
gr_ahead_read(struct gr_ahead *ahead, void *bytes, size_t size, size_t *ret_size)
{
    const struct block *block = NULL;
    char *to = bytes;
    size_t got = 0;

    while (got < size && (block = next_block(ahead)) != NULL) {
        size_t left = block->size - ahead->at;
        size_t now = left < size - got ? left : size - got;

        memcpy(to + got, block->bytes + ahead->at, now);
        got += now;
        ahead->at += now;
        if (ahead->at == block->size) {
            give_back(ahead);
        }
    }
    *ret_size = got;
    /* No more blocks are made, so the thread touches neither any more. */
    return got < size && ahead->err != GRANARY_OK
               ? gr_fail(ahead->err, "%s", ahead->message != NULL ? ahead->message : "out of memory")
               : GRANARY_OK;
}
