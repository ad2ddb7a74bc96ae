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
    const char *name; /* the plan's; of a graph that ended before this scheduler began: owned */
    uint8_t *packed;  /* Result, once the graph has ended, unless it was stopped */
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

/* ---- what modules keep of a graph: each alone reads and writes its own; the floors above cannot be included here ---- */

struct graph_order {              /* dispatch/order.h */
    TAILQ_ENTRY(task_graph) link; /* of the lane */
    struct lane *lane;            /* from the start of its planning on */
    bool is_runnable;
    bool is_old;      /* which of the lane's lists it is in, with is_runnable */
    uint64_t used_ns; /* of executors, as far as is known */
    bool is_coded;    /* ... and runs user code */
};

struct graph_deadline {           /* graphs/deadline.h */
    TAILQ_ENTRY(task_graph) link; /* while it runs and has a deadline */
    bool is_listed;
    int64_t ms; /* since the Unix epoch; 0: none */
    int64_t ns; /* the same, monotonic, as the clocks were when it was told */
};

struct graph_journal {            /* durable/journal.h */
    TAILQ_ENTRY(task_graph) link; /* while its log has something new */
    bool is_listed;
    bool replays;           /* its log is being applied */
    struct event_log log;   /* while it runs */
    struct gr_buf *records; /* the log's, between restore and start */
    size_t record_count;
};

struct graph_past {                    /* history/history.h */
    TAILQ_ENTRY(task_graph) link;      /* while it has a past */
    struct execution_graph *execution; /* what it was when it ended, to be told of; NULL: forgotten */
};

struct graph_family {          /* graphs/go_on.c */
    struct task_graph *parent; /* of which a subtask started it; NULL: none, or gone */
    LIST_HEAD(children, task_graph) children;
    LIST_ENTRY(task_graph) link;
    bool continues; /* a subtask of its parent goes on as it: */
    uint32_t subtask;
};

struct graph_failing { /* graphs/retry.c */
    bool keep_going;
    granary_err err; /* it keeps going: how the first subtask failed */
    char *message;
    struct poison *poisons;
    size_t poison_count;
};

struct graph_end { /* graphs/end.c */
    int64_t ms;    /* since the Unix epoch; 0: it runs */
    granary_err err;
    char *message;
    int64_t kill_ns;                   /* executors that still run it are killed then */
    Granary__Receipt receipt;          /* what its end gave back so far */
    struct execution_graph_counts was; /* when it ended */
    uint64_t frees_after;              /* what it left is in an order behind this one ... */
    uint64_t frees_until;              /* ... and not behind this one; 0: not given yet */
    bool printed;                      /* it may have printed something */
};

struct graph_results { /* graphs/results.c */
    struct target *targets;
    size_t count;
    bool own_names;
    granary_id *kept; /* objects of the targets */
    size_t kept_count;
    uint32_t chunk_waiters; /* who wait for chunks of its targets */
};

struct graph_tables {         /* graphs/tables.h */
    struct table_read *reads; /* until nothing of it runs any more */
    size_t count;
    granary_id *snapshots; /* of tables that change, made by who submitted it: until it has ended */
    size_t snapshot_count;
    uint32_t readers; /* graphs that read its targets as tables: it stays until they have ended */
    bool held;        /* deleted while it was read: an entry says so */
};

struct recall_index;

struct graph_recall {        /* graphs/recall.h */
    struct content *content; /* of what it computes, until it has ended; NULL: nobody will ask for it again */
    struct recalled *from;   /* its results lie there; NULL: they are its own */
    struct recalled **parts; /* of others, which it reads until nothing of it runs any more */
    size_t part_count, part_room;
    Granary__Submit *submit;    /* to begin again, should some of them be gone, and with what the plan was told */
    bool told_more;             /* since it was kept */
    bool tells_again;           /* an earlier scheduler has planned it: it is told the same */
    bool again;                 /* it does, as soon as nothing of it runs */
    bool eager;                 /* all of its steps are kept for others, whatever they took */
    struct manager *manager;    /* for the plan's questions */
    struct recall_index *index; /* those; NULL: it recalls nothing */
};

struct graph_owner { /* the process with which it goes; pid 0: none */
    int64_t pid;
    uint64_t start_time;
};

struct task_graph {
    LIST_ENTRY(task_graph) bucket_link;
    uint32_t serial;
    char key[GRANARY_KEY_MAX];
    char id_key[GRANARY_KEY_MAX + 24]; /* object ids come from it */
    uint64_t digest;                   /* of what was submitted */
    uint64_t turn;                     /* in which it was submitted: until that ends, it is not kept */
    int64_t submitted_ms;              /* since the Unix epoch */
    struct session *session;
    Granary__Graph__Level level;
    Granary__Submit *submit; /* restored: what there was to plan; else only between restore and start */
    struct gr_plan *plan;
    uint64_t exports; /* of its session that its functions need; 0: it has none */
    granary_graph_state state;
    bool resumed;                         /* of an earlier scheduler: what that gave to executors counts */
    bool planned;                         /* before, here or there: files that it writes may be there */
    bool awaits_claims;                   /* of an earlier scheduler: executors may have its subtasks */
    bool restored;                        /* of an earlier scheduler, ended: there is no plan */
    bool passing;                         /* nobody misses it after a power cut */
    bool deleting;                        /* gone as soon as nothing of it runs */
    bool nameless;                        /* deleting, and another graph has its key */
    double progress;                      /* the most that was told */
    struct execution_graph *execution;    /* until nothing of it runs any more */
    struct execution_graph_counts counts; /* when execution is gone */
    struct graph_owner owner;
    struct graph_order order;
    struct graph_deadline deadline;
    struct graph_journal journal;
    struct graph_past past;
    struct graph_family family;
    struct graph_failing failing;
    struct graph_end end;
    struct graph_results results;
    struct graph_tables tables;
    struct graph_recall recall;
    struct gr_buf leftovers; /* graphs/leftovers.h */
};

/* Its subtasks, also once it has ended; NULL: they are forgotten. */
static inline struct execution_graph *
graph_execution(const struct task_graph *graph)
{
    return graph->execution != NULL ? graph->execution : graph->past.execution;
}

/* What is counted of them, also once they are forgotten. */
static inline const struct execution_graph_counts *
graph_counts(const struct task_graph *graph)
{
    return graph->execution != NULL ? execution_graph_counts(graph->execution) : &graph->counts;
}

#endif
