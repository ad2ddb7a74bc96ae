/*
 * What graphs have yielded and others may yield again (content.h). There are two kinds of entries, which are given up
 * when memory for such objects is used up: first what saves least time for its bytes, and was not asked for lately.
 *
 *   a graph's   all of its targets have keys. While the graph is there its objects are its own; when it is deleted they
 *               become the entry's
 *   a part's    one step of a graph that is no target, by the step's key (optimize/rules/rule_keys.c), with some of its columns.
 *               The objects are the entry's from the beginning
 */
#ifndef SCHED_RECALL_RECALLS_H
#define SCHED_RECALL_RECALLS_H

#include <sys/queue.h>

#include "granary/types.h"
#include "sched/core/manager.h"

struct gr_recalled; /* optimize/steps.h */
struct gr_schema;
struct recall_memory;

struct recalled_target {
    granary_id key;
    char *name;
    uint8_t *packed; /* Result */
    size_t packed_size;
    char **columns; /* of a part: those that it has */
    size_t column_count;
};

struct recalls;

struct recalled {
    TAILQ_ENTRY(recalled) link;
    struct recalls *recalls; /* in which it is */
    uint32_t serial;         /* of the graph that made it */
    uint32_t part;           /* 0: the graph's targets; else of the one target that is its step */
    char *session;
    char *id_key; /* its objects' ids come from that */
    struct recalled_target *targets;
    size_t count;
    bool owned;      /* the objects are the entry's: the graph is deleted */
    granary_id *ids; /* those */
    size_t id_count;
    uint32_t refs;    /* graphs whose results lie here, or that read it */
    bool broken;      /* some of it is not there any more */
    bool kept;        /* the next scheduler knows of it */
    bool saved;       /* the next instance does, too */
    granary_id stamp; /* of a graph's: what reads its results as a table is told by that */
    uint64_t bytes;
    uint64_t cost_ns; /* time of executors that it took */
    uint64_t uses;
    int64_t used_ns;          /* when it was made, or taken last */
    struct gr_recalled *view; /* of a part, for plans */
};

#define RECALLS_PLACES 4096

struct recalls {
    TAILQ_HEAD(recalled_list, recalled) list; /* by serial and part */
    size_t count;
    size_t parts; /* of them, those of steps */
    uint64_t owned_bytes;
    bool off;
    bool unwritten;                   /* saved ones are others than the file says, which is to be written */
    bool failed;                      /* ... but could not be */
    uint16_t keys_at[RECALLS_PLACES]; /* how many keys hash to each: where none does, nobody is looked for */
    struct recall_memory *memory;     /* memory.c; NULL: nothing yet */
};

/* memory.c: a step of that key is computed. Whether one was lately. */
bool recalls_missed(struct recalls *recalls, granary_id key);
/* What columns a file has is known by its key. The schema is lent until the next call. */
const struct gr_schema *recalls_schema(const struct recalls *recalls, granary_id key);
void recalls_learn(struct recalls *recalls, granary_id key, const struct gr_schema *schema); /* it may fail */
void recall_memory_destroy(struct recall_memory *memory);

void recalls_init(struct recalls *recalls);
void recalls_fini(struct recalls *recalls);

/* The entry that has a target of that key, and which; NULL: none, or recall is off. */
struct recalled *recalls_find(const struct recalls *recalls, const char *session, granary_id key,
                              const struct recalled_target **ret_target);
struct recalled *recalls_of(const struct recalls *recalls, uint32_t serial); /* of the whole graph; NULL: none */
/* The part of that key; NULL: none, or recall is off. */
struct recalled *recalls_find_part(const struct recalls *recalls, const char *session, granary_id key);
/* Whether objects with ids of that key are some entry's. */
bool recalls_have_key(const struct recalls *recalls, const char *id_key);
/* Whether an object is some entry's. */
bool recalls_own(const struct recalls *recalls, granary_id id);

/* A new one without targets; NULL: out of memory, which is none's loss. */
struct recalled *
recalls_add(struct recalls *recalls, uint32_t serial, uint32_t part, const char *session, const char *id_key);
/* false: out of memory */
bool recalled_add_target(struct recalled *recalled, granary_id key, const char *name, const void *packed, size_t size);
/* Of a part's target. false: out of memory */
bool recalled_set_columns(struct recalled *recalled, const char *const *columns, size_t count);
void recalls_remove(struct recalls *recalls, struct recalled *recalled);

/* Its graph is deleted, or it is a part: takes the objects' ids. */
void recalled_own(struct manager *manager, struct recalled *recalled, granary_id *ids, size_t count);
/* Nobody is to be given it any more; it goes as soon as nobody has it. */
void recalled_give_up(struct manager *manager, struct recalled *recalled);
void recalled_take(struct manager *manager, struct recalled *recalled);
void recalled_release(struct manager *manager, struct recalled *recalled);
/* Give up the least worthy ones until the rest is within limits. */
void recalls_shrink(struct manager *manager);
/* Bytes that an entry may have of its own. */
uint64_t recalls_room(const struct manager *manager);
/* Whether so many bytes may become an entry's. */
bool recalls_have_room(const struct manager *manager, uint64_t bytes);
/* All that nobody has. session: NULL: of all. Returns how many went. */
size_t recalls_clear(struct manager *manager, const char *session);
void recalls_switch(struct manager *manager, bool off);

/* kept.c. As one of MANAGER_RECALLS, or of the file: then it is owned, and has these ids. false: out of memory */
bool
recalled_pack(const struct recalled *recalled, bool as_owned, const granary_id *ids, size_t count, struct gr_buf *out);
/* A new entry of that graph; false: it cannot be read, or there is no memory. */
bool recalled_unpack(struct manager *manager, uint32_t serial, const Granary__Recall *message);
void recalled_keep(struct manager *manager, struct recalled *recalled); /* for the next scheduler, as it is now */
void recalled_forget(struct manager *manager, const struct recalled *recalled);
void recalled_make_view(struct recalled *recalled); /* what a plan sees of a part; without memory nothing */

/* saved.c: what a session has that is not saved, a line each. */
void recalls_tell(const struct recalls *recalls, const char *session, struct gr_buf *out);
/* Objects of these are on disk. Returns how many are saved now that were not. ticket: whose request fails when the file
 * cannot be written */
size_t
recalls_save(struct manager *manager, const char *session, const uint64_t *numbers, size_t count, uint64_t ticket);
void recalls_write(struct manager *manager, uint64_t ticket); /* the file, if it is to be another one */
void manager_save_failed(struct manager *manager);            /* the next one who saves tries again */
/* What an earlier instance has saved. Returns how many results that are. */
size_t manager_restore_saved(struct manager *manager, const void *bytes, size_t size);

void manager_restore_recall(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size);

#endif
