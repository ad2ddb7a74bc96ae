/*
 * The index of a session: pages of slots in shared memory that its clients read without a message, and the directory
 * that leads to them (contract/shm.h, GR_INDEX_...). The store is the only writer.
 *
 * A store that dies at any instruction leaves an index that index_adopt() takes over: of an operation under way either
 * everything is there, or nothing.
 *
 * Slots move when their page is split: a pointer to one is good until the next insertion.
 */
#ifndef STORE_INDEX_H
#define STORE_INDEX_H

#include "store/index/page.h"

/* What the store remembers of a page. */
struct index_page {
    struct page_counts counts;
    uint32_t next_free; /* of a FREE one: another, or INDEX_NO_PAGE */
};
#define INDEX_NO_PAGE UINT32_MAX

struct index {
    char *base; /* GR_INDEX_SPAN bytes; NULL: there is none */
    _Atomic uint32_t *depth;
    struct index_page *pages; /* GR_INDEX_MAX_PAGES of them */
    uint32_t page_count;      /* pages with memory behind them, in any state */
    uint32_t first_free;
    uint64_t directory_bytes; /* with memory behind them */
    uint64_t record_bytes;
    uint64_t objects; /* slots that are taken, without aliases */
    uint64_t splits;  /* since it was made or adopted */
    uint32_t session;
    bool kept_small; /* it gets no more pages: see admit_growth() */
    int fd;
    char prefix[48];
};

/* The states of an object that can be got, sooner or later. */
#define INDEX_PRESENT (1u << GR_SLOT_SEALED | 1u << GR_SLOT_SPILLED | 1u << GR_SLOT_RETIRING | 1u << GR_SLOT_BETWEEN)

/*
 * Make an empty one in a file of its own; *depth is the session's gr_control.depth.
 * Errors: EFULL no shared memory · EEXIST · ENOMEM
 */
granary_err index_create(struct index *index, const char *prefix, uint32_t session, _Atomic uint32_t *depth);

/*
 * Take over the index of an earlier store. A split in progress is completed or taken back, and private counts are
 * rebuilt. Of an alias that was being re-pointed the newer slot stays. States are left as they are; see index_next().
 * Errors: ENOENT · ECORRUPT it is no index, or lost pages · EFULL · ENOMEM. The file is left as it is then.
 */
granary_err index_adopt(struct index *index, const char *prefix, uint32_t session, _Atomic uint32_t *depth);

/* Unmap it; the file stays. A zero index is fine, here and below. */
void index_close(struct index *index);
/* ... and unlink the file. */
void index_fini(struct index *index);

/* Shared memory it takes. */
uint64_t index_bytes(const struct index *index);

/* The slot of an object that can be got, or NULL. Aliases are not followed. */
struct gr_slot *index_find(const struct index *index, granary_id id);
/* ... of exactly this serial, in any state (DELETING too), or NULL. */
struct gr_slot *index_find_serial(const struct index *index, granary_id id, uint64_t serial);

/*
 * Add a SEALED object.
 * Errors: EEXIST the id is an object or an alias · EFULL no shared memory, or its page cannot be split any further.
 */
granary_err index_insert(struct index *index, const struct index_object *object, struct gr_slot **ret_slot);

/* The same for an object that is SPILLED. */
granary_err index_insert_spilled(struct index *index, const struct index_object *object, struct gr_slot **ret_slot);

/* The next slot that holds something, in any state, from *position on, which starts at 0; NULL at the end. */
struct gr_slot *index_next(const struct index *index, uint64_t *position);

/* A slot that holds nothing any more: TOMB, or EMPTY where no probe needs it. */
void index_remove(struct index *index, struct gr_slot *slot);

/* ---- aliases ---- */

/* So many aliases in a row are followed. */
#define INDEX_ALIAS_HOPS 8u

/* The slot of an alias itself, or NULL. */
struct gr_slot *index_find_alias(const struct index *index, granary_id alias);
/* Where an alias' slot leads. */
granary_id index_alias_target(const struct gr_slot *slot);
/* The id that an id stands for, over at most INDEX_ALIAS_HOPS aliases: itself when it is none. */
granary_id index_resolve(const struct index *index, granary_id id);

/* Errors: as index_insert() */
granary_err index_insert_alias(struct index *index, granary_id alias, granary_id target, uint64_t serial,
                               uint64_t stamp, struct gr_slot **ret_slot);
/*
 * Let an existing alias lead elsewhere; serial: a new one. Readers see the old or the new. Who waits for the target
 * sleeps on the target's wait word: bump that of the old target too. Errors: ENOENT · EFULL
 */
granary_err index_repoint_alias(struct index *index, granary_id alias, granary_id target, uint64_t serial);

/* ---- places, for lists of objects that need to be small ---- */

/* What leads to an object's slot wherever that moves: where its probe begins, and the low half of its serial. */
struct index_place {
    uint32_t probe;
    uint32_t serial_low;
};

struct index_place index_place_of(granary_id id, uint64_t serial);
/* The slot of that object in any state, or NULL: it is gone. */
struct gr_slot *index_at(const struct index *index, const struct index_place *place);

#endif
