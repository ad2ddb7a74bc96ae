/*
 * channel: messages from process to process. Here is the handle. cursor: the protocol in shared memory; writer: this
 * handle's lane; members: who reads, and those who died; reader, observer: messages out.
 */
#ifndef CHANNEL_CHANNEL_H
#define CHANNEL_CHANNEL_H

#include <pthread.h>
#include <stdbool.h>

#include "channel/cursor.h"
#include "granary/channel.h"
#include "mutable/core/kept.h"
#include "mutable/core/page.h"

/* So often who sleeps looks whether those it waits for still live. */
#define CHANNEL_LOOK_NS INT64_C(250000000)

/* What was reserved, or is being put. */
struct reserved {
    bool is_open;
    uint64_t units;        /* of the ring, with what is left out before its end */
    uint64_t at;           /* position of the entry */
    uint32_t word;         /* the entry's */
    granary_buffer buffer; /* of an object that is being made */
    bool is_object;
};

/* This handle's lane. */
struct writer {
    bool has_lane;
    uint32_t lane;
    struct kept kept;
    struct ring ring;
    uint64_t head;
    uint64_t number; /* of the next message */
    struct reserved reserved;
    /* Where the entries of objects end, oldest first, of those that are not swept: `objects` of them, in a ring. */
    uint64_t *object_end;
    uint32_t first_object;
    uint32_t objects;
};

/* A lane's ring, leased. */
struct ring_view {
    uint32_t number; /* + 1; 0: there is none */
    granary_view view;
    struct ring ring;
};

enum reading { READING_NOT, READING_MEMBER, READING_OBSERVER };

struct reader {
    enum reading how;
    struct cursor cursor;
    bool has_message;
    bool is_mourning; /* dead members are to be looked for before anything else */
    uint32_t lane;    /* of the message, and where the next one is looked for first */
    uint32_t stayed;  /* messages from that lane on end */
    struct ring_view ring[GR_CHANNEL_LANES];
    granary_view object; /* data NULL: the message is none */
    bool is_object;
    /* Of an observer: */
    uint64_t position[GR_CHANNEL_LANES];
    uint64_t number[GR_CHANNEL_LANES];
    void *copy;
    size_t copy_size;
};

struct granary_channel {
    granary_client *client;
    granary_id id;
    char name[GRANARY_TEXT_MAX + 1];
    struct gr_channel_object what;
    struct mutable_page page;
    struct gr_channel *shared;    /* that page */
    pthread_mutex_t members_lock; /* with the page's: that does not exclude this handle's threads. Taken last */
    pthread_mutex_t put_lock;     /* of the writer */
    struct writer writer;
    pthread_mutex_t get_lock; /* of the reader */
    struct reader reader;
};

/* err; a failure's message gets the channel's name. */
granary_err channel_told(const granary_channel *channel, granary_err err);
/* ESTATE when it was deleted; EFORKED. */
granary_err channel_check(const granary_channel *channel);
/* Also EUNREACHABLE when the instance has ended: for who has slept. */
granary_err channel_check_life(const granary_channel *channel);
granary_err channel_fail_sealed(void);
/* An object that all are done with: of channel_sweep(). */
void channel_passed(void *channel, const unsigned char *id);

/* ---- members.c ---- */

/* Become a reader. Errors: EFULL */
granary_err member_join(granary_channel *channel, const char *name, granary_channel_from from);
/* A member no more; what it has not done is given back. */
void member_leave(granary_channel *channel);
/* Groups of readers without names that have died end. */
void members_reap(granary_channel *channel);
/* Look for a message that a dead member of this group had. */
bool member_mourn(granary_channel *channel, uint32_t *ret_lane, uint64_t *ret_position);
uint32_t members_alive(const granary_channel *channel);

/* ---- writer.c ---- */

void writer_leave(granary_channel *channel);

/* ---- observer.c ---- */

/* A copy of the next message that passes. True: *ret_message, or ret_err a failure. */
bool observer_next(granary_channel *channel, granary_message *ret_message, granary_err *ret_err);
void observer_begin(granary_channel *channel, granary_channel_from from);

/* ---- reader.c ---- */

/* A lane's ring as it is now, leased until the handle closes or the lane has another one. Errors: as
 * granary_object_get() · ECORRUPT */
granary_err ring_open(granary_channel *channel, struct ring_view *view, uint32_t lane);
void ring_close(granary_channel *channel, struct ring_view *view);

#endif
