/*
 * The ledger of a session: what is said about its objects, one record each, in shared memory.
 *
 * The file is the truth. A record's word is written last when it comes and set to 0 first when it goes. So a store
 * that dies anywhere leaves records that are there or not there. What finds them (lists by id and by client, orders
 * of tokens and names) is private, and made again by ledger_adopt(). Records are named by numbers, from 1.
 *
 * Names and containers keep orders of their own (name.h, contain.h) in the notes of their records.
 */
#ifndef STORE_LEDGER_H
#define STORE_LEDGER_H

#include <stdbool.h>

#include "contract/shm.h"
#include "granary/types.h"
#include "store/base/map.h"
#include "store/base/tree.h"

/* The file grows by so many records; the first step has one less, for the header. */
#define LEDGER_STEP 256u
#define LEDGER_MOST (1u << 24)

struct ledger_note {
    struct tree_links by_token;
    union {
        struct tree_links by_name; /* NAME */
        struct {
            uint32_t next, prev; /* CONTAINS, PENDING: of the same parent */
        } of_parent;
    };
    uint32_t id_next, id_prev; /* records about the same id, newest first; of a free record: the next free one */
    uint32_t client_next, client_prev;
};

struct ledger {
    struct gr_ledger *file;
    struct gr_ledger_record *records; /* records[number - 1] */
    struct ledger_note *notes;        /* notes[number] */
    _Atomic uint64_t *next_token;     /* of the instance: raised before it is used */
    int fd;
    uint32_t room; /* records that have memory */
    uint32_t note_room;
    uint32_t free;  /* 0: none */
    uint32_t count; /* records in use */
    struct map ids;
    struct map clients;  /* number -> the records that end with it */
    struct map requests; /* client, request -> record */
    struct tree tokens;
    uint32_t departed; /* records of clients that are gone: the first */
    bool kept_small;   /* it gets no more memory: see admit_growth() */
    char name[96];
};

/*
 * A ledger without records. version is the instance's layout. next_token counts for the whole instance and is the caller's.
 * Errors: EFULL no shared memory · ENOMEM
 */
granary_err ledger_create(struct ledger *ledger, const char *prefix, uint32_t session, uint32_t version,
                          _Atomic uint64_t *next_token);

/*
 * Take over what a store left: records that make no sense are dropped and counted in *ret_dropped. *next_token
 * ends up above every token found.
 * Errors: ENOENT there is none · ECORRUPT it is no ledger of that session · ENOMEM
 */
granary_err ledger_adopt(struct ledger *ledger, const char *prefix, uint32_t session, _Atomic uint64_t *next_token,
                         uint32_t *ret_dropped);

/* Forget it; the file stays. A zero ledger is fine, here and below. */
void ledger_close(struct ledger *ledger);
/* ... and unlink the file. */
void ledger_fini(struct ledger *ledger);

/*
 * Add a record; word and since_ms of fields do not matter.
 * Errors: EFULL no shared memory, or too many records · ENOMEM
 */
granary_err ledger_add(struct ledger *ledger, enum gr_ledger_kind kind, const struct gr_ledger_record *fields,
                       uint32_t *ret_number);

/* Take a record out. Whatever order of its own its kind keeps was left before. */
void ledger_remove(struct ledger *ledger, uint32_t number);

/* A PENDING record is a CONTAINS one from now on. */
void ledger_settle(struct ledger *ledger, uint32_t number);

/* The record of a token, or of a client's request, or 0. */
uint32_t ledger_find_token(const struct ledger *ledger, uint64_t token);
uint32_t ledger_find_request(const struct ledger *ledger, uint32_t client, uint64_t request);

/* The record with the next token behind one, or 0. */
uint32_t ledger_after(const struct ledger *ledger, uint64_t token);

/* The first record about an id, or 0; the others follow by ledger_note.id_next. */
uint32_t ledger_first_of(const struct ledger *ledger, granary_id id);

/* How many records keep an object obtainable: references, names, containers. */
uint32_t ledger_keepers(const struct ledger *ledger, granary_id id);
/* The record that counts as its creator's (GR_LEDGER_CREATOR), or 0. */
uint32_t ledger_creator(const struct ledger *ledger, granary_id id);

/* How many leases the store counts for a client. */
uint32_t ledger_leases(const struct ledger *ledger, uint32_t client);

/* The client is gone: what ends with it is to be taken out by and by, see ledger.departed. */
void ledger_depart(struct ledger *ledger, uint32_t client);

/* The record at or behind *position, which starts at 0, or 0 at the end. The one it gave last may be taken out. */
uint32_t ledger_next(const struct ledger *ledger, uint32_t *position);

/* Shared memory it takes. */
uint64_t ledger_bytes(const struct ledger *ledger);

static inline struct gr_ledger_record *
ledger_record(const struct ledger *ledger, uint32_t number)
{
    return &ledger->records[number - 1];
}

static inline struct ledger_note *
ledger_note(const struct ledger *ledger, uint32_t number)
{
    return &ledger->notes[number];
}

static inline uint64_t
record_word(const struct gr_ledger_record *record)
{
    return atomic_load_explicit(&record->word, memory_order_relaxed);
}

static inline enum gr_ledger_kind
record_kind(const struct gr_ledger_record *record)
{
    return (enum gr_ledger_kind)(record_word(record) & 0xff);
}

static inline uint64_t
record_token(const struct gr_ledger_record *record)
{
    return record_word(record) >> 8;
}

#endif
