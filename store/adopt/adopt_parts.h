/* The parts of an adoption, in the order they come. See adopt.h. */
#ifndef STORE_ADOPT_PARTS_H
#define STORE_ADOPT_PARTS_H

#include "store/core/core.h"
#include "store/segment/depot.h"

/* A copy of an object in a spill file. */
struct adopt_copy {
    uint64_t stamp; /* they are in order of stamps */
    granary_id id;
    uint64_t data_size;
    uint64_t place;
    uint32_t meta_size;
    uint32_t file;
    enum depot_name depot;
};

/* An object in a segment. */
struct adopt_piece {
    uint64_t offset; /* they are in order of segments, then offsets */
    uint64_t footprint;
    struct segment *segment;
    struct gr_slot *slot;
};

struct adoption {
    struct store *store;
    struct depot *depot; /* that is being scanned */
    struct adopt_copy *copies;
    size_t copy_count, copy_room;
    struct adopt_piece *pieces;
    size_t piece_count, piece_room;
    char (*ended)[64]; /* sessions whose deletion was not finished */
    size_t ended_count;
    bool tight; /* segments are more than the memory budget */
    uint64_t lost, damaged;
    uint32_t sessions_lost;
};

/* ---- adopt_files.c ---- */

/* What lies in the spill files: copies, and the store's files, which nobody but the adoption holds yet. */
granary_err adopt_scan(struct adoption *adoption);
/* The copies of an object, at most one in each depot, preferably that in the file `where`. Returns how many. */
unsigned adopt_find_copies(const struct adoption *adoption, const struct index_object *object,
                           const struct adopt_copy *ret_copies[DEPOTS]);
/*
 * A missing file that objects name keeps its place, without a holder yet. A client that asks for such an object is
 * told, and deleting the object lets go of the file. NULL: out of memory.
 */
struct spill_file *adopt_missing_file(struct session *session, uint32_t number);
/* Files that no object needs go. */
void adopt_release_files(struct adoption *adoption);

/* ---- adopt_clients.c ---- */

/* Clients of the store before, as far as their lease pages are there; those that are gone are dropped at the end. */
granary_err adopt_clients(struct adoption *adoption);
/* What a client's ring was in the middle of. */
void adopt_finish_entries(struct store *store);
/* Drop those whose process is gone, or that said goodbye. */
void adopt_drop_gone(struct store *store);

/* ---- adopt_serials.c ---- */

struct adopt_serials;

/* Look at every slot of an index. ret_serials owned by the caller. */
granary_err adopt_serials_create(const struct index *index, struct adopt_serials **ret_serials);
void adopt_serials_destroy(struct adopt_serials *serials); /* NULL is ignored */
/* Whether no other slot was asked about with this serial, which is not 0. */
granary_err adopt_serials_first(struct adopt_serials *serials, uint64_t serial, bool *ret_first);

/* ---- adopt_objects.c ---- */

/* Segments whose record and file agree; the account holds them as they are when their objects are known. */
granary_err adopt_segments(struct adoption *adoption);
/* Every slot of the session. */
granary_err adopt_slots(struct adoption *adoption, struct session *session);
/* The objects' places make sense, or the objects go; then segments and account are what they are. */
granary_err adopt_places(struct adoption *adoption);

#endif
