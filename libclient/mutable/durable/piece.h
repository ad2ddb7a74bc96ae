/*
 * piece: persistent objects that tell again what was written to a durable table (contract/mutable.h, docs/formats.md): put
 * together in memory, stored, and read entry by entry. What is read was anybody's: nothing in it is believed.
 */
#ifndef MUTABLE_DURABLE_PIECE_H
#define MUTABLE_DURABLE_PIECE_H

#include <stdbool.h>

#include "contract/mutable.h"
#include "data/frame.h"
#include "granary/store.h"

/* Bytes from which a flush goes on in another piece, and pieces are not put together any more. */
#define PIECE_MOST ((uint64_t)16 << 20)

/* The id of piece `number` of a level: ids of one table's pieces begin alike. */
granary_id piece_id(granary_id table, uint32_t level, uint64_t number);

/* One that is there. It stands for pieces [first, first + piece_span(level)) of level 0. */
struct piece_place {
    uint32_t level;
    uint64_t number;
    uint64_t first;
};

struct piece_places {
    struct piece_place *place;
    size_t count;
    size_t room;
};

uint64_t piece_span(uint32_t level);

/* Those of a table, by `first`, of equal ones that of the highest level first. To be freed with free(). Errors: ENOMEM */
granary_err pieces_list(granary_client *client, granary_id table, struct piece_places *ret_places);

/* ---- making one ---- */

/* All zero: it has no entries. */
struct piece_writer {
    char *bytes;
    size_t size;
    size_t room;
};

void piece_free(struct piece_writer *piece);

/*
 * Add an entry like that one, and its data and metadata, to be filled.
 *
 * ret_meta  may be NULL when there is none
 * Errors    ENOMEM
 */
granary_err piece_add(struct piece_writer *piece, const struct gr_piece_entry *like, void **ret_data, void **ret_meta);
/* The same with a frame. Errors: as gr_arrow_measure() · ENOMEM */
granary_err piece_add_frame(struct piece_writer *piece, struct gr_piece_entry like, const granary_frame *frame);

/* Bytes as they are, without an entry. Errors: ENOMEM */
granary_err piece_append(struct piece_writer *piece, const void *bytes, size_t size);

/* Store it, on disk when this returns; what a killed process has left under its id goes. Errors: ENOMEM · as
 * granary_object_put_with(), and then nothing is stored */
granary_err
piece_put(granary_client *client, granary_id id, const struct gr_mutable_piece *head, const struct piece_writer *piece);

/* ---- reading one ---- */

/* Where data and metadata are NULL there are none. */
struct piece_entry {
    struct gr_piece_entry head;
    const char *data;
    const char *meta;
};

struct piece_reader {
    struct gr_mutable_piece head;
    const char *at;
    uint64_t left;
};

/* Read the head. Errors: ECORRUPT · EVERSION a newer release wrote it */
granary_err piece_open(const void *bytes, uint64_t size, struct piece_reader *ret_reader);
static inline bool
piece_has_more(const struct piece_reader *reader)
{
    return reader->left > 0;
}
/* The next entry, of which all parts lie in the piece and make sense for its kind. Errors: ECORRUPT */
granary_err piece_next(struct piece_reader *reader, struct piece_entry *ret_entry);

#endif
