/*
 * index: what a handle has learnt from the logs of a table, so that a read looks at new slots only. Chunks of rows have
 * an entry each. Where a chunk has rows of several times, its part of the log is walked again for a read between them.
 */
#ifndef MUTABLE_INDEX_H
#define MUTABLE_INDEX_H

#include "mutable/core/log.h"

#define INDEX_NO_LANE UINT32_MAX /* of chunks that no log tells of */

struct index_chunk {
    granary_id object;
    uint64_t first; /* number of its first row */
    uint32_t lane;
    uint32_t number;
    uint32_t capacity;
    uint32_t begin; /* rows [begin, end) were committed */
    uint32_t end;
    bool is_full;     /* it is a frame of these rows, and no more come */
    bool has_base;    /* rows of it are in the base */
    int64_t earliest; /* the times of the others */
    int64_t latest;
    uint64_t before; /* positions in the log: of the slot before its first append, and of its last one */
    uint64_t last;
};

struct index_note {
    int64_t time;
    uint64_t sequence;
    enum gr_note_kind kind;
    uint32_t lane;
    uint32_t slab;
    uint64_t offset;
    uint64_t chunk;  /* of a tensor */
    granary_id tile; /* the object that has all of the chunk: of GR_NOTE_TILE, GR_NOTE_WHOLE */
    uint64_t holder; /* number, + 1, of the object of GR_MUTABLE_TILE that contains it; 0: the table refers to it */
    size_t older;    /* + 1: the one before it of the same chunk; 0: there is none */
};

/* A write that had a token. */
struct index_token {
    uint64_t token;
    int64_t time;
};

struct index {
    granary_client *client;
    granary_id table;
    uint64_t tiles;                   /* chunks of a tensor; of a frame 0 */
    uint32_t base;                    /* its number */
    int64_t horizon;                  /* its time: the log is not looked at up to it; INT64_MIN: there is no base */
    int64_t complete;                 /* all that was or will be committed up to that time is known */
    uint64_t known[GR_MUTABLE_LANES]; /* position of the last slot that was looked at; 0: none was */
    size_t current[GR_MUTABLE_LANES]; /* position of the chunk at which a lane is, + 1 */
    struct index_chunk *chunks;
    size_t count;
    size_t room;
    struct index_note *notes; /* as they came */
    size_t note_count;
    size_t note_room;
    struct index_token *tokens; /* as they came */
    size_t token_count;
    size_t token_room;
    /* Frames: positions of notes, by time and sequence. */
    size_t *order;
    size_t order_count;
    size_t order_room;
    /* Tensors: a hash table of the latest note of each chunk (+ 1), which leads to older ones; its size is a power of 2. */
    size_t *heads;
    size_t head_room;
    size_t head_count;
};

/* One that knows nothing. tiles: how many chunks a tensor has; of a frame 0. */
void index_init(struct index *index, granary_client *client, granary_id table, uint64_t tiles);
void index_free(struct index *index);

/*
 * Look at what was committed since.
 *
 * counts  of lanes, as mutable_cut() gives them
 * Errors  as log_walk() · ECORRUPT a slot makes no sense · ENOMEM; what was learnt before stays
 */
granary_err index_update(struct index *index, const uint64_t *counts, uint32_t lanes);

/* The note with the position in `order`. */
static inline const struct index_note *
index_ordered(const struct index *index, size_t at)
{
    return &index->notes[index->order[at]];
}

/* The latest note of a chunk of a tensor up to a time; NULL: there is none. And the one before a note. */
const struct index_note *index_latest(const struct index *index, uint64_t chunk, int64_t time);
static inline const struct index_note *
index_older(const struct index *index, const struct index_note *note)
{
    return note->older == 0 ? NULL : &index->notes[note->older - 1];
}

/* Whether a note tells all elements of its chunk, and where their values are in `tile`: 0: it is a tensor object. */
static inline bool
note_is_base(const struct index_note *note)
{
    return note->kind == GR_NOTE_TILE || note->kind == GR_NOTE_WHOLE;
}
static inline uint64_t
note_values_offset(const struct index_note *note)
{
    return note->kind == GR_NOTE_WHOLE ? note->offset + sizeof(struct gr_mutable_note) : 0;
}

/* The time of the write that had a token. False: none of those that are known had it. */
bool index_find_token(const struct index *index, uint64_t token, int64_t *ret_time);

/* A chunk, or a note of a chunk of a tensor, that no log tells of: of a sealed table. Errors: ECORRUPT there is no such
 * chunk · ENOMEM */
granary_err index_add_chunk(struct index *index, struct index_chunk chunk);
granary_err index_add_tile(struct index *index, uint64_t chunk, granary_id tile, uint64_t values_offset);

/* Rows of a chunk that are later than a time (INT64_MIN: all), up to another one: take is called for each run of them,
 * ascending. Errors: as log_walk(), or take's */
typedef granary_err index_take(void *context, const struct index_chunk *chunk, uint32_t from, uint32_t to);
granary_err index_rows(const struct index *index, const struct index_chunk *chunk, int64_t after, int64_t time,
                       index_take *take, void *context);

#endif
