/* What the execution graph's files share. */
#ifndef SCHED_EXECUTION_GRAPH_PRIVATE_H
#define SCHED_EXECUTION_GRAPH_PRIVATE_H

#include <string.h>

#include "base/id.h"
#include "base/memory/region.h"
#include "sched/execution/graph.h"

#define NONE UINT32_MAX

enum object_state { OBJECT_MISSING, OBJECT_PRESENT, OBJECT_FREED, OBJECT_FAILED };

struct object {
    granary_id id;
    uint32_t producer;       /* subtask; NONE: it was there before the graph */
    uint32_t consumers;      /* edges */
    uint32_t consumers_left; /* inputs, not yet done with, that name it */
    int32_t node;            /* NUMA node it lies on, while PRESENT */
    uint8_t state;
    bool keep;
    bool held;       /* the planner may still plan consumers */
    uint32_t made;   /* graph->moment when it appeared last */
    uint32_t shares; /* readers take one of so many parts of it; 0: all */
    int64_t rows;
    uint64_t bytes;
};

/* One of a list of subtasks; `next` is a position, too. */
struct edge {
    uint32_t subtask;
    uint32_t next;
};

/* A subtask's own body, while it has another one. */
struct body {
    uint32_t subtask;
    uint32_t packed_size;
    const uint8_t *packed;
};

#define VECTOR(type)                                                                                                   \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        uint32_t count, room;                                                                                          \
    }

/* Ready subtasks of one need, roots or not. */
struct ready_class {
    VECTOR(uint64_t) heap; /* inverted priority << 32 | number; may hold some that are ready no more */
    uint32_t need;
    bool roots;
};

struct execution_graph {
    VECTOR(struct subtask) subtasks;
    VECTOR(struct object) objects;
    VECTOR(struct user_code) user_codes; /* of the subtasks that run some */
    VECTOR(struct edge) edges;
    VECTOR(uint32_t) links; /* objects of inputs and outputs, subtasks before: subtask.first_... */
    VECTOR(struct ready_class) classes;
    VECTOR(uint32_t) again; /* work list of resurrect() */
    VECTOR(granary_id) freed;
    VECTOR(granary_id) failed;
    VECTOR(struct body) bodies;
    VECTOR(uint32_t) doomed; /* subtasks that may have met an input that failed */
    uint32_t *table;         /* id -> object, open addressing */
    uint32_t table_size;
    struct gr_region *packed; /* subtasks as they are sent */
    struct execution_graph_counts counts;
    uint64_t waiting;
    uint64_t away;
    uint32_t moment;   /* counts objects that appeared */
    uint64_t *watched; /* running ones with user code, of several graphs; NULL: nobody counts */
    uint64_t digest;
    bool freed_taken, failed_taken;
    bool given_earlier; /* what never ran may have been run for an earlier scheduler, which logged no attempt */
    bool cancelled;
    bool keeps; /* cancelled, but for kept objects */
    bool failed_memory;
    bool adding;     /* whoever adds is told by an error that there is no memory */
    bool *exhausted; /* who is told of the rest; NULL: nobody */
};

/* Something is not noted for want of memory. */
void memory_failed(struct execution_graph *graph);

/* Room for `more` items; false (and remembered) when out of memory. */
bool vector_grow(struct execution_graph *graph, void *vector_items, uint32_t count, uint32_t *room, size_t more,
                 size_t item_size);
#define GROW(vector, more)                                                                                             \
    vector_grow(graph, &graph->vector.items, graph->vector.count, &graph->vector.room, (more),                         \
                sizeof graph->vector.items[0])

/* The only way to another state: keeps the counts and the heap of ready ones. */
void subtask_enter(struct execution_graph *graph, uint32_t number, enum subtask_state next);
/* From RUNNING, PARKED or SUCCEEDED to where its inputs allow. */
void subtask_settle(struct execution_graph *graph, uint32_t number);

/* The class of ready subtasks; made when it is new. false: out of memory */
bool class_get(struct execution_graph *graph, uint32_t need, bool roots, uint32_t *ret_class);
/* The only way to another state: keeps the account of live bytes. */
void object_enter(struct execution_graph *graph, struct object *object, enum object_state next);
/* Room for a packed subtask, for as long as the graph. NULL: out of memory, remembered */
uint8_t *packed_room(struct execution_graph *graph, size_t size);

uint32_t object_find(const struct execution_graph *graph, granary_id id); /* NONE: there is none */
uint32_t object_add(struct execution_graph *graph, granary_id id, uint32_t producer, bool keep); /* NONE: no memory */
void object_free(struct execution_graph *graph, struct object *object);
/* The subtask waits for something that has failed: to be looked at by execution_graph_give_up(). */
void subtask_doom(struct execution_graph *graph, uint32_t number);
/* The object is needed and not there: its producer, if done, runs again, and so on for what that needs. */
void resurrect(struct execution_graph *graph, uint32_t object);

#endif
