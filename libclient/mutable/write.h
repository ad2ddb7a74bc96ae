/*
 * write: one atomic write to a table. What it consists of is put behind the lane's committed slots, then all of it is
 * committed at one time, or nothing of it.
 */
#ifndef MUTABLE_WRITE_H
#define MUTABLE_WRITE_H

#include "mutable/table.h"

#define WRITE_FEW 4u

struct write {
    granary_mutable *table;
    struct table_writer *writer;
    const granary_write_options *options;
    /* Where the writer was before, if it comes to nothing. */
    uint32_t chunk;
    uint32_t chunk_rows;
    uint32_t slab;
    uint64_t slab_used;
    bool has_token; /* of the table: page_enter() */
    bool is_done;   /* a write with its token was committed before, at done_time */
    int64_t done_time;
    /* The slots that will have its time. */
    struct gr_mutable_slot **slots;
    size_t count;
    size_t room;
    struct gr_mutable_slot *few[WRITE_FEW]; /* the first ones: most writes have no more */
    /* Chunks of a tensor, to which the table has references. */
    granary_id *tiles;
    size_t tile_count;
    size_t tile_room;
};

/* The table is locked until write_end(), which follows whatever is returned. Errors: EFULL too many writers · EINVAL
 * the time · EEXIST its token was written before: write_end() knows · as log_begin() */
granary_err write_begin(struct write *write, granary_mutable *table, const granary_write_options *options);

/* The handle writes no more. */
void writer_close(granary_mutable *table);

/* Put a slot; timed: it gets the time of the write. Errors: as log_put() */
granary_err write_slot(struct write *write, struct gr_mutable_slot slot, bool timed);

/* Put a note of some bytes, with a sequence, to be filled in. Errors: as slab_put(), log_put() */
granary_err write_note(struct write *write, enum gr_note_kind kind, uint64_t size, struct gr_mutable_note **ret_note);

/* Room for a chunk of a tensor, to be sealed. Errors: as granary_object_create_with() */
granary_err write_tile_create(struct write *write, uint64_t size, granary_buffer *ret_buffer);
/* A sealed object is a chunk from now on: the table has a reference to it. Errors: as granary_reference(), write_note() */
granary_err write_tile(struct write *write, uint64_t chunk, granary_id id);

/* Many of them, which one object contains: the table has a reference to that. Errors: as write_tile(); ENOENT · as
 * granary_object_create_with() */
granary_err write_tiles(struct write *write, const uint64_t *chunks, const granary_id *ids, size_t count);

/*
 * Commit it, unless there was an error; then it never was.
 *
 * ret_time  may be NULL
 * Returns   err, with the table's name; else ESTATE the time is final
 */
granary_err write_end(struct write *write, granary_err err, int64_t *ret_time);

#endif
