/*
 * What graphs have yielded and others may yield again (content.h): an entry for each graph all of whose targets have
 * keys. While the graph is there its objects are its own. When it is deleted they become the entry's, which is given up
 * when memory for such objects is used up: first what saves least time for its bytes, and was not asked for lately.
 */
#ifndef SCHED_RECALL_RECALLS_H
#define SCHED_RECALL_RECALLS_H

#include <sys/queue.h>

#include "granary/types.h"
#include "sched/core/manager.h"

struct recalled_target {
    granary_id key;
    char *name;
    uint8_t *packed; /* Result */
    size_t packed_size;
};

struct recalled {
    TAILQ_ENTRY(recalled) link;
    uint32_t serial; /* of the graph that made it */
    char *session;
    char *id_key; /* its objects' ids come from that */
    struct recalled_target *targets;
    size_t count;
    bool owned;      /* the objects are the entry's: the graph is deleted */
    granary_id *ids; /* those */
    size_t id_count;
    uint32_t refs; /* graphs whose results lie here */
    bool broken;   /* some of it is not there any more */
    bool kept;     /* the next scheduler knows of it */
    uint64_t bytes;
    uint64_t cost_ns; /* time of executors that it took */
    uint64_t uses;
    int64_t used_ns; /* when it was made, or taken last */
};

struct recalls {
    TAILQ_HEAD(recalled_list, recalled) list; /* by serial */
    size_t count;
    uint64_t owned_bytes;
    bool off;
};

void recalls_init(struct recalls *recalls);
void recalls_fini(struct recalls *recalls);

/* The entry that has a target of that key, and which; NULL: none, or recall is off. */
struct recalled *recalls_find(const struct recalls *recalls, const char *session, granary_id key,
                              const struct recalled_target **ret_target);
struct recalled *recalls_of(const struct recalls *recalls, uint32_t serial); /* NULL: none */
/* Whether objects with ids of that key are some entry's. */
bool recalls_have_key(const struct recalls *recalls, const char *id_key);
/* Whether an object is some entry's. */
bool recalls_own(const struct recalls *recalls, granary_id id);

/* A new one without targets; NULL: out of memory, which is none's loss. */
struct recalled *recalls_add(struct recalls *recalls, uint32_t serial, const char *session, const char *id_key);
/* false: out of memory */
bool recalled_add_target(struct recalled *recalled, granary_id key, const char *name, const void *packed, size_t size);
void recalls_remove(struct recalls *recalls, struct recalled *recalled);

/* Its graph is deleted: takes the objects' ids. */
void recalled_own(struct manager *manager, struct recalled *recalled, granary_id *ids, size_t count);
/* Nobody is to be given it any more; it goes as soon as nobody has it. */
void recalled_give_up(struct manager *manager, struct recalled *recalled);
void recalled_take(struct manager *manager, struct recalled *recalled);
void recalled_release(struct manager *manager, struct recalled *recalled);
/* Give up the least worthy ones until the rest is within limits. */
void recalls_shrink(struct manager *manager);
/* Whether so many bytes may become an entry's. */
bool recalls_have_room(const struct manager *manager, uint64_t bytes);
/* All that nobody has. session: NULL: of all. Returns how many went. */
size_t recalls_clear(struct manager *manager, const char *session);
void recalls_switch(struct manager *manager, bool off);

void manager_restore_recall(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size);

#endif
