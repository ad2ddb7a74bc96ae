/*
 * A data segment: one shared-memory file with one writer.
 *
 *   OPEN    its writer (a client, or the store: `writer` is NULL) carves it from offset 0 up and seals objects in it
 *   CLOSED  nobody writes it any more; it holds objects, or dead bytes between them
 *   IDLE    closed and without any object: warm memory, granted again to the same writer, or to anybody once that
 *           client is gone; given back when memory is short
 *
 *   of its size:  writing (reserved)  = not sealed yet; 0 when closed
 *                 sealed              = live
 *                 retiring            = deleting
 *                 free                = punched
 *                 pooled              = the rest
 *
 * A segment that runs or reads a job (busy) is never granted, punched or destroyed.
 */
#ifndef STORE_SEGMENT_H
#define STORE_SEGMENT_H

#include "store/base/account.h"
#include "store/base/list.h"
#include "store/index/index.h"
#include "store/segment/victim.h"

#include "granary/types.h"

struct session;
struct client;

struct segment {
    struct list in_session;
    struct list in_order;   /* of store->segments.open, closed or idle (most recently freed last) */
    struct list in_torn;    /* of store->segments.torn: closed, with dead bytes worth giving back */
    struct list in_offered; /* of store->segments.offered */
    struct victim_place victim[VICTIM_KINDS];
    struct session *session;
    struct client *writer;
    struct gr_segment_record *record; /* what the next store will know of it */
    uint32_t number;
    int fd; /* read-write */
    uint64_t size;
    uint64_t sealed_total; /* footprints sealed since it was granted: never more than size */
    uint64_t live;
    uint64_t clean; /* of live: a copy is on disk */
    uint64_t deleting;
    uint64_t punched;
    uint64_t torn;   /* died since holes were last looked for */
    int64_t idle_ns; /* since when it is idle */
    unsigned node;   /* NUMA */
    uint64_t carved; /* by the store, when it is the writer */
    enum gr_account open_as;
    unsigned busy;
    bool closed;
    bool is_idle;
    bool proven;                 /* nobody can write it any more; it is never granted again */
    bool huge;                   /* collapsed to huge pages, as far as it goes */
    bool supplied;               /* filled with pages ahead of demand, and not used yet */
    bool offered;                /* for huge pages, once */
    bool spoiled;                /* its writer truncated it: what it holds cannot be spilled */
    struct index_place *entries; /* objects that were sealed here; many may be gone */
    uint32_t entry_count;
    uint32_t entry_room;
};

/* The part of its size that lies between objects: dead, and still charged. */
static inline uint64_t
segment_dead(const struct segment *segment)
{
    return (segment->closed ? segment->size : segment->sealed_total) - segment->live - segment->deleting -
           segment->punched;
}

/*
 * Create one of size bytes (a multiple of 4096, at most the free bytes), in no list yet.
 * open_as is WRITING for clients, RESERVED for the store. record is a free one; it is kept in step from now on, and
 * free again when the segment is destroyed. Errors: ENOMEM · EFULL · EEXIST
 */
granary_err
segment_create(struct account *account, const char *prefix, uint32_t session, uint32_t number, uint64_t size,
               enum gr_account open_as, struct gr_segment_record *record, struct segment **ret_segment);

/*
 * One that a store left behind, in no list yet and with nothing in it; the account does not know of it until
 * segment_adopted(). Errors: ENOENT its file is not what the record says · ENOMEM · EFULL out of descriptors
 */
granary_err segment_adopt(const char *prefix, struct gr_segment_record *record, struct segment **ret_segment);
/* What was sealed in it is known now (live, deleting, punched). Its bytes are in the account from here on. */
void segment_adopted(struct segment *segment, struct account *account);

/* Unlink it and free it; its pages stay as long as somebody maps it. It holds no object. */
void segment_destroy(struct segment *segment, struct account *account, const char *prefix, uint32_t session);

/* The same but for unlinking, its record, and the account, where its bytes stay pooled. Gives its descriptor. */
int segment_release(struct segment *segment, struct account *account);
/* The record's place is free again; after the file went. */
void segment_record_drop(struct gr_segment_record *record);

/* Its record says so, for the next store. */
void segment_note(const struct segment *segment, enum gr_segment_state state);
/* writer NULL, number 0: the store, or nobody. */
/* By which request it is granted: noted before it is open for its writer. */
void segment_set_request(struct segment *segment, uint64_t request);
void segment_set_writer(struct segment *segment, struct client *writer, uint32_t number);
/* The same of one without objects: all that will be in it are this writer's. */
void segment_grant(struct segment *segment, struct client *writer, uint32_t number);
void segment_set_spoiled(struct segment *segment);
void segment_set_huge(struct segment *segment);
/* Its pages come from that NUMA node, if they can; before it has any. */
void segment_set_node(struct segment *segment, unsigned node);

/* An idle segment without holes starts over. */
void segment_reopen(struct segment *segment, struct account *account, enum gr_account open_as);

/* Its writer will not touch it again. Closing twice is harmless. */
void segment_close(struct segment *segment, struct account *account);

/*
 * See that no writable mapping or descriptor of it is left but the store's, which is given up: nobody can write it from
 * now on. The kernel grants a read lease on a file only when nobody has it open for writing.
 * False: somebody has, or the kernel does not tell.
 */
bool segment_prove(struct segment *segment, const char *prefix);

/* A read-only descriptor for who maps it, whatever its writer does with the file; -1 with the error set. */
int segment_open_readonly(const struct segment *segment, const char *prefix, granary_err *ret_err);

/* Room in the list of entries for one more. False: out of memory. */
bool segment_expect(struct segment *segment);
/* An object was sealed; segment_expect() went before. */
void segment_seal(struct segment *segment, struct account *account, uint64_t footprint, struct index_place place);
/* Carved bytes that never became an object. */
void segment_waste(struct segment *segment, struct account *account, uint64_t footprint);
/* An object's bytes are dead: it was deleted, or evicted. */
void segment_died(struct segment *segment, struct account *account, uint64_t footprint);
/* An object is deleted, but still leased; and later: not leased any more. */
void segment_deleting(struct segment *segment, struct account *account, uint64_t footprint);
void segment_deleted(struct segment *segment, struct account *account, uint64_t footprint);

/* Give back the pages of a dead range: all 4 KiB pages that lie wholly in it. Returns how many bytes. Any thread. */
uint64_t segment_punch(struct segment *segment, uint64_t offset, uint64_t size);
/* That many punched bytes more; at most what is dead. Returns how many it were. */
uint64_t segment_add_punched(struct segment *segment, struct account *account, uint64_t bytes);

/* How many bytes from offset 0 up have pages already. */
uint64_t segment_warm_bytes(const struct segment *segment);

/* The slot an entry of a segment stands for, if it still does and is in one of these states (1 << state), or NULL. */
struct gr_slot *segment_entry_slot(const struct segment *segment, const struct index_place *entry, unsigned states);

#endif
