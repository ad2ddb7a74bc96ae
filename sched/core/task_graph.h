/*
 * A graph as the manager keeps it, from submission to deletion: what was asked for, its plan, what has become of its
 * subtasks, and where its results lie.
 */
#ifndef SCHED_CORE_TASK_GRAPH_H
#define SCHED_CORE_TASK_GRAPH_H

#include <sys/queue.h>

#include "granary/graph.h"
#include "plan/plan.h"
#include "sched/execution/event_log.h"
#include "sched/execution/graph.h"

struct lane;
struct session;

/* How often executors died of a function, in subtasks that differ, since it succeeded last. */
struct poison {
    uint64_t function;
    uint32_t deaths;
    uint32_t last; /* subtask */
};

struct target {
    char *name;
    uint8_t *packed; /* Result, once the graph has ended, unless it was stopped */
    size_t packed_size;
    Granary__Result *result; /* while it runs: what is known of it; NULL: not asked for, or not known */
};

/* A node `table` of a graph. */
struct table_read {
    char *node;
    struct task_graph *from; /* NULL: it is gone */
    uint64_t chunks;         /* hash of their ids */
    bool learnt;             /* what is known of it is remembered */
};

struct task_graph {
    LIST_ENTRY(task_graph) bucket_link;
    TAILQ_ENTRY(task_graph) runnable_link; /* of the lane */
    TAILQ_ENTRY(task_graph) deadline_link; /* while it runs and has a deadline */
    TAILQ_ENTRY(task_graph) past_link;     /* while it has a past */
    struct lane *lane;                     /* from the start of its planning on */
    TAILQ_ENTRY(task_graph) eventful_link; /* while its log has something new */
    struct event_log log;                  /* while it runs */
    bool has_events;                       /* it is among the manager's eventful */
    bool replays;                          /* its log is being applied */
    struct gr_buf *records;                /* the log's, between restore and start */
    size_t record_count;
    bool resumed;       /* of an earlier scheduler: what that gave to executors counts */
    bool awaits_claims; /* of an earlier scheduler: executors may have its subtasks */
    bool is_runnable;
    bool has_deadline; /* it is among the manager's */
    bool deleting;     /* gone as soon as nothing of it runs */
    bool nameless;     /* deleting, and another graph has its key */
    bool printed;      /* it has ended, and may have printed something */
    bool restored;     /* of an earlier scheduler, ended: there is no plan */
    uint64_t digest;   /* of what was submitted */
    uint32_t serial;
    uint64_t turn; /* in which it was submitted: until that ends, it is not kept */
    char key[GRANARY_KEY_MAX];
    char id_key[GRANARY_KEY_MAX + 16]; /* object ids come from it */
    struct session *session;
    Granary__Graph__Level level;
    double progress;         /* the most that was told */
    int64_t submitted_ms;    /* since the Unix epoch */
    int64_t ended_ms;        /* ... 0: it runs */
    int64_t deadline_ms;     /* ... 0: none */
    int64_t deadline_ns;     /* the same, monotonic, as the clocks were when it was told */
    Granary__Submit *submit; /* restored: what there was to plan; else only between restore and start */
    granary_graph_state state;
    granary_err err;
    char *message;
    struct gr_plan *plan;
    uint64_t exports;                     /* of its session that its functions need; 0: it has none */
    struct execution_graph *execution;    /* until nothing of it runs any more */
    struct execution_graph *past;         /* what it was then, to be told of; NULL: forgotten */
    struct execution_graph_counts counts; /* when execution is gone */
    struct poison *poisons;
    size_t poison_count;
    struct task_graph *parent; /* of which a subtask started it; NULL: none, or gone */
    LIST_HEAD(children, task_graph) children;
    LIST_ENTRY(task_graph) sibling_link;
    bool continues; /* a subtask of its parent goes on as it: */
    uint32_t continues_subtask;
    bool keep_going;
    granary_err failed_err; /* it keeps going: how the first subtask failed */
    char *failed_message;
    int64_t kill_ns;                   /* it has ended: executors that still run it are killed then */
    Granary__Receipt receipt;          /* what its end gave back so far */
    struct execution_graph_counts was; /* when it ended */
    uint64_t frees_after;              /* what it left is in an order behind this one ... */
    uint64_t frees_until;              /* ... and not behind this one; 0: not given yet */
    uint32_t chunk_waiters;            /* who wait for chunks of its targets */
    struct target *targets;
    size_t target_count;
    granary_id *kept; /* objects of the targets */
    size_t kept_count;
    struct table_read *reads; /* until nothing of it runs any more */
    size_t read_count;
    uint32_t readers; /* graphs that read its targets as tables: it stays until they have ended */
    bool held;        /* deleted while it was read: an entry says so */
};

/* Its subtasks, also once it has ended; NULL: they are forgotten. */
static inline struct execution_graph *
graph_execution(const struct task_graph *graph)
{
    return graph->execution != NULL ? graph->execution : graph->past;
}

/* What is counted of them, also once they are forgotten. */
static inline const struct execution_graph_counts *
graph_counts(const struct task_graph *graph)
{
    return graph->execution != NULL ? execution_graph_counts(graph->execution) : &graph->counts;
}

#endif
