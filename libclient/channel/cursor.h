/*
 * cursor: who has read what of a channel, in shared memory alone (contract/channel.h): take, done, sweep, mourn, join. No
 * call waits or enters the kernel.
 *
 * The page may be written by any client of the session, so nothing in it is believed: entries are looked at within the
 * ring, and a position is used when an exchange has shown that it still counts.
 */
#ifndef CHANNEL_CURSOR_H
#define CHANNEL_CURSOR_H

#include <stdbool.h>

#include "contract/channel.h"

/* A ring as it is mapped. */
struct ring {
    const unsigned char *bytes;
    uint64_t base; /* position of its first byte */
    uint64_t size; /* a power of two */
};

/* A message in a ring. */
struct place {
    uint64_t position; /* at which it is claimed */
    uint64_t end;      /* where the next one begins */
    uint64_t number;
    enum gr_entry_kind kind; /* BYTES or OBJECT */
    uint32_t size;
    const unsigned char *data;
};

/* A reader: the lane at which it is, and who it is. */
struct cursor {
    struct gr_channel *page;
    uint32_t group;
    uint32_t member;
};

/* A page, which nobody uses, becomes an empty channel's. The id stays. */
void channel_page_init(struct gr_channel *page);

/* Numbers of lanes, groups and members to be looked at. */
uint32_t channel_lanes(const struct gr_channel *page);
uint32_t channel_groups(const struct gr_channel *page);
uint32_t channel_members(const struct gr_channel *page);
/* Those have at least so many from now on. */
void channel_show(_Atomic uint32_t *count, uint32_t least);

uint64_t channel_head(const struct gr_channel *page, uint32_t lane);
uint64_t channel_swept(const struct gr_channel *page, uint32_t lane);
bool channel_is_sealed(const struct gr_channel *page);
/* Whether anybody is to have what is put. */
bool channel_has_readers(const struct gr_channel *page);

/* The message at a position, of which everything before `until` was put. False: there is none in the ring, or the bytes
 * are being written over. */
bool place_at(const struct ring *ring, uint64_t position, uint64_t until, struct place *ret_place);

enum take { TAKE_NONE, TAKE_DONE, TAKE_AGAIN, TAKE_WRONG };

/* Whether the group has a message in a lane; *ret_taken is its word, for cursor_take(). */
bool cursor_has(const struct cursor *cursor, uint32_t lane, uint64_t *ret_taken, uint64_t *ret_head);
/*
 * Take the message that begins where the word says.
 *
 * Returns  TAKE_DONE: it is this member's until cursor_done() · TAKE_AGAIN: others were faster · TAKE_WRONG: there is none
 *          in the ring
 */
enum take cursor_take(const struct cursor *cursor, uint32_t lane, uint64_t taken, uint64_t head,
                      const struct ring *ring, struct place *ret_place);
void cursor_done(const struct cursor *cursor);
/* Give up the rest of a lane, which is nonsense. False: others have taken of it meanwhile, so it is to be looked at again. */
bool cursor_skip(const struct cursor *cursor, uint32_t lane, uint64_t taken, uint64_t head);

/* All messages of the group's are taken and done, but for what this member has. */
bool cursor_is_drained(const struct cursor *cursor);

/*
 * Look after a dead member of this group: with GR_CHANNEL_LOCK_MEMBERS and its lock. True: it had a message, which is this
 * member's now: *ret_lane, *ret_position. When this member has one already, the dead one's counts no more if it is the same.
 */
bool cursor_mourn(const struct cursor *cursor, uint32_t dead, uint32_t *ret_lane, uint64_t *ret_position);
/* Whether a member of another number claims something. */
bool member_claims(const struct gr_channel *page, uint32_t member);

/* Everything before this position of a lane is done, as far as can be told, `swept` or later. */
uint64_t channel_limit(const struct gr_channel *page, uint32_t lane);
/*
 * Move `swept` up as far as it goes. Each object that is passed is told once.
 *
 * Returns  false: there is nonsense in the ring; what was before that is swept
 */
bool channel_sweep(struct gr_channel *page, uint32_t lane, const struct ring *ring,
                   void (*passed)(void *context, const unsigned char *id), void *context);
/* A writer waits for room that there is now: wake it. */
void channel_tell_room(struct gr_channel *page, uint32_t lane);

/* A group begins, at the oldest messages or behind the newest: with GR_CHANNEL_LOCK_MEMBERS. */
void group_begin(struct gr_channel *page, uint32_t group, const char *name, bool is_named, bool oldest);
void group_end(struct gr_channel *page, uint32_t group);

#endif
