/* slab: objects of a lane in which its writer puts notes, one behind the other (contract/mutable.h). */
#ifndef MUTABLE_SLAB_H
#define MUTABLE_SLAB_H

#include "mutable/core/kept.h"

struct index_note;

/* The slab at which a lane's writer is. All zero: there is none. One thread at a time. */
struct slab_writer {
    struct kept object;
    uint32_t number;
    uint64_t used; /* bytes */
};

/*
 * Room for a note of some bytes; its head is zero but for its size.
 *
 * Errors  as kept_create(), kept_seal()
 */
granary_err slab_put(struct slab_writer *slab, granary_client *client, granary_id table, struct gr_lane *shared,
                     uint32_t lane, uint64_t size, int timeout_ms, struct gr_mutable_note **ret_note);
/* What the slot of a note says. */
uint64_t slab_what(const struct slab_writer *slab, const struct gr_mutable_note *note);
void slab_end(struct slab_writer *slab);

/* Bytes up to where the next part of a note begins. */
static inline uint64_t
note_pad(uint64_t size)
{
    return (size + GR_NOTE_ALIGN - 1) / GR_NOTE_ALIGN * GR_NOTE_ALIGN;
}

/* ---- reading ---- */

/* A note, leased. */
struct note_view {
    granary_view slab;
    struct gr_mutable_note head; /* a copy: nobody changes it after it was checked */
    const char *body;            /* head.size bytes but for the head */
};

/* The slab of a note, leased. Errors: ECORRUPT it is gone · as granary_object_get() */
granary_err slab_get(granary_client *client, granary_id table, uint32_t lane, uint32_t slab, granary_view *ret_view);
/* The note at a byte of a slab, which stays the caller's. Errors: ECORRUPT there is none */
granary_err note_at(const granary_view *slab, uint64_t offset, struct note_view *ret_view);
/* Both. Errors: as they */
granary_err
note_get(granary_client *client, granary_id table, const struct index_note *note, struct note_view *ret_view);
void note_release(granary_client *client, struct note_view *view);

/* Ranges of numbers, ascending. All zero: none. */
struct ranges {
    struct gr_note_range *range;
    size_t count;
    size_t room;
};

/* Put one behind the others; joined with the last one where they touch. Errors: ENOMEM */
granary_err ranges_add(struct ranges *ranges, struct gr_note_range range);
/* How many numbers they have. */
uint64_t ranges_numbers(const struct ranges *ranges);
/* Those of a note, behind what is there. Errors: ECORRUPT they do not ascend · ENOMEM */
granary_err note_ranges(const struct note_view *view, struct ranges *ranges);

#endif
