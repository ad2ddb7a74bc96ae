/* What the task manager's files share. */
#ifndef SCHED_CORE_MANAGER_PRIVATE_H
#define SCHED_CORE_MANAGER_PRIVATE_H

#include <sys/queue.h>

#include "granary/graph.h"
#include "plan/plan.h"
#include "sched/dispatch/estimates.h"
#include "sched/dispatch/order.h"
#include "sched/dispatch/reservations.h"
#include "sched/dispatch/resources.h"
#include "sched/execution/event_log.h"
#include "sched/execution/graph.h"
#include "sched/executors/waits.h"
#include "sched/functions/exports.h"
#include "sched/history/records.h"
#include "sched/manager/manager.h"

#define KEY_BUCKETS  4096
#define DELETED_KEYS 256
#define SERIAL_MAX   (1u << 28)
#define WARM_KINDS   8

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

struct session {
    LIST_ENTRY(session) link;
    LIST_ENTRY(session) backlogged_link;
    LIST_HEAD(session_lanes, lane) lanes;
    uint32_t runnable;    /* graphs in them that may have ready subtasks; some: it is backlogged */
    uint32_t weight;      /* its share beside other sessions */
    uint64_t virtual_ns;  /* executor time used, by weight */
    uint64_t served;      /* order.served when it was served last */
    struct gr_buf frees;  /* fields `free` of a ToExecutor, packed */
    uint32_t graphs;      /* of this session, ended ones included */
    uint32_t orders;      /* free_orders that name it */
    uint64_t last_order;  /* number of its last one */
    bool has_errors;      /* errors are among its frees */
    uint32_t with_errors; /* orders with errors: what is ordered behind them goes to the same executor */
    uint64_t serial;      /* the how many-th one of the manager's, from 1 */
    int64_t ended_ns;     /* when a graph of it ended last */
    uint64_t used_ns;     /* time of executors it has had */
    char *name;
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

/* A request that is answered later: when the graph ... */
enum waits_for {
    WAITS_END,     /* has ended */
    WAITS_GONE,    /* is deleted */
    WAITS_STOPPED, /* has ended, nothing of it runs, and its memory is back */
    WAITS_CHUNK,   /* has made a chunk of a target, or never will */
};
struct waiter {
    enum waits_for what;
    uint64_t ticket;
    uint32_t serial;
    uint32_t target; /* CHUNK: which */
    uint64_t cursor;
    uint32_t limit;
    int64_t deadline_ns;
};

/*
 * Objects an executor was told to free. It works in order: when it says so, or reports on a message it was sent later,
 * they are gone. When it dies before, somebody else is told; when the scheduler does, the next one tells.
 */
struct free_order {
    struct free_order *next;
    uint64_t number;      /* of all there were, whichever scheduler gave it */
    uint64_t token_order; /* of the last token granted before it was sent */
    struct session *session;
    bool has_errors;
    struct gr_buf frees;
};

/* Why the subtask at work at an executor is to be given up. */
struct verdict {
    uint64_t subtask; /* wire number; 0: there is none */
    uint32_t attempt;
    granary_err err;
    int64_t kill_ns; /* unless it ends by then, its executor is killed; INT64_MAX: not */
    bool killed;
    char *message;
};

struct executor {
    struct verdict verdict;
    uint64_t unbegun; /* its next subtask with user code, which it was seen not to have at work ... */
    uint32_t unbegun_attempt;
    int64_t unbegun_ns;        /* ... since then */
    struct wait wait;          /* of user code at work, as its page told last */
    struct export_mark *marks; /* by session: what it was sent of its exports */
    size_t mark_count;
    struct free_order *free_orders; /* the oldest first */
    uint32_t number;
    int32_t node;
    int64_t pid;
    uint64_t done;
    uint64_t failures;
    uint32_t warm[WARM_KINDS]; /* kinds of user code it was given last: a ring */
    uint32_t warm_next;
    bool pull;       /* embedded in another program: gets what it asks for */
    bool draining;   /* gets nothing more, and is told to leave when it has nothing left */
    bool replace;    /* ... and another process is to take its place */
    bool dismissed;  /* ... was told */
    bool blameless;  /* it is killed because somebody wanted that */
    bool death_told; /* the pool has said how its process ended: */
    int32_t signal;  /* ... 0: it left by itself, with ... */
    int32_t status;
    uint64_t last_subtask; /* what it was at when its process ended, as its page says; 0: unknown */
    uint32_t last_attempt;
    char *last_log; /* the end of what that printed; NULL: nothing */
};

/* An order to the pool that is answered when it is done. */
struct pool_order {
    LIST_ENTRY(pool_order) link;
    uint64_t ticket;
    int64_t deadline_ns;
    Granary__PoolOrder__Verb verb;
    size_t count;
    uint32_t executors[]; /* numbers */
};

/* The pool's supervisor, as the scheduler knows it. */
struct pool {
    bool there;
    int64_t pid;
    uint32_t nodes;  /* slots may be on those below */
    uint32_t slots;  /* that have or will have a process */
    uint32_t adding; /* ordered, and not among slots yet */
    LIST_HEAD(pool_orders, pool_order) orders;
};

struct manager {
    struct manager_options options;
    int64_t now_ns; /* of the last event that told */
    struct reservations *reservations;
    struct exports *exports;
    struct resources *resources;
    struct estimates *estimates;
    uint32_t *distances; /* rows; NULL: not told */
    uint32_t nodes;
    LIST_HEAD(graph_bucket, task_graph) buckets[KEY_BUCKETS];
    struct graph_bucket nameless;  /* graphs that no key finds */
    struct task_graph **by_serial; /* [0] unused; NULL: gone */
    uint32_t serial_count, serial_room;
    uint32_t serial_limit;          /* serials below it are noted as used */
    struct free_order *free_orders; /* nobody is told yet, the oldest first */
    uint64_t last_free_order;
    bool frees_restored;                       /* of earlier graphs, perhaps of keys that come again */
    TAILQ_HEAD(eventful, task_graph) eventful; /* graphs whose logs have something new */
    LIST_HEAD(session_list, session) sessions;
    struct order order;
    TAILQ_HEAD(deadlines, task_graph) deadlines; /* running graphs that have one, the next one first */
    struct waiter *waiters;
    size_t waiter_count, waiter_room;
    struct info *info;
    struct records *records; /* of runs that have ended */
    struct function_stats *function_stats;
    TAILQ_HEAD(pasts, task_graph) past; /* ended graphs with one, the oldest first */
    uint64_t past_subtasks;             /* theirs */
    uint64_t session_serials;
    struct pool pool;
    struct executor *executors;
    size_t executor_count, executor_room;
    struct action *actions;
    size_t action_count, action_room;
    bool exhausted; /* see manager_exhausted() */
    uint64_t turn;  /* of the actions being collected */
    uint64_t subtasks_done;
    uint64_t parked;                             /* subtasks, of all graphs */
    uint64_t watched;                            /* running subtasks with user code, of all graphs */
    uint64_t stopping;                           /* graphs that have ended and of which something still runs */
    char deleted[DELETED_KEYS][GRANARY_KEY_MAX]; /* the last ones: a ring */
    size_t deleted_count;
    struct table_facts *table_facts; /* NULL: nothing is known of any table */
};

/* A subtask's number on the wire: unique in the scheduler's life. */
#define WIRE_NUMBER(serial, number) ((uint64_t)(serial) << 32 | (number))

/* manager/manager.c, graphs/end.c */
struct task_graph *graph_find(struct manager *manager, const char *key);
/* The error when there is none. */
granary_err graph_missing(const char *key);
/* It is found by that key from now on, and by no other one. NULL: by none, for another graph gets its key */
void graph_rekey(struct manager *manager, struct task_graph *graph, const char *key);
struct task_graph *graph_of_number(struct manager *manager, uint64_t wire_number);
/* End it: SUCCEEDED, FAILED or CANCELLED, with an error and its message. */
void graph_end(struct manager *manager, struct task_graph *graph, granary_graph_state state, granary_err err,
               const char *message);
void graph_delete(struct manager *manager, struct task_graph *graph);
void graph_drop(struct manager *manager, struct task_graph *graph);    /* forget it without a word to anybody */
void graph_release(struct manager *manager, struct task_graph *graph); /* when nothing of it runs any more */
/* A running graph of that key, known to the manager; NULL: out of memory, or another graph has the serial. */
struct task_graph *graph_create(struct manager *manager, const char *key, const char *session, uint32_t serial);
/* Make it one of the serials there are. false: it is taken, or there is no memory */
bool serial_reserve(struct manager *manager, uint32_t serial);
void graph_unplan(struct manager *manager, struct task_graph *graph); /* as if it had not been planned */
/* Plan it and take its first subtasks; takes submit->graph. Errors: the planner's */
granary_err graph_plan(struct manager *manager, struct task_graph *graph, Granary__Submit *submit);
/* Take the subtasks the planner can make by now. Errors: the planner's; the graph is then to be failed */
granary_err graph_advance(struct manager *manager, struct task_graph *graph);
/* It may have ended, or failed: what follows when everything is done. */
void graph_check_end(struct manager *manager, struct task_graph *graph);
/* Note the objects of a result, to delete them with the graph. false: out of memory */
bool graph_kept_add(struct task_graph *graph, const Granary__Result *result);

/* dispatch/order.c */
void graph_wake(struct manager *manager, struct task_graph *graph);  /* it may have ready subtasks */
void graph_sleep(struct manager *manager, struct task_graph *graph); /* it has none */

/* dispatch/choose.c */
struct choice {
    uint32_t number; /* SUBTASK_NONE: nothing can be given now */
    struct reservation_ask ask;
    uint64_t nanoseconds; /* it will take; 0: not known */
    bool alone;           /* to an idle executor, with none queued behind it */
    bool several;         /* others may be in its message */
};
/* What a subtask asks for. */
struct reservation_ask ask_of(const struct manager *manager, struct task_graph *graph, uint32_t number);
/* Of the graph's ready subtasks the one to be given next. */
struct choice graph_choose(struct manager *manager, struct task_graph *graph);
/* How long it will take; 0: not known. */
uint64_t time_of(const struct manager *manager, struct task_graph *graph, uint32_t number);
/* What waits for memory or resources and has a right to be next may have ended otherwise. */
void claims_check(struct manager *manager);
/* Roots are not given out ahead of what reads them. more_bytes: about to be made. */
bool roots_are_held(const struct manager *manager, const struct task_graph *graph, uint64_t more_bytes);
/* Learn from a subtask that has succeeded; before the execution graph is told. */
void learn(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done);
/* Numbers for what subtasks of a batch need. Errors: EINVAL more than there is, or of something there is not */
granary_err needs_resolve(struct manager *manager, struct gr_plan_batch *batch);

/* graphs/deadline.c */
void deadline_set(struct manager *manager, struct task_graph *graph, int64_t deadline_ms); /* 0: none */
void deadline_clear(struct manager *manager, struct task_graph *graph);
int64_t deadline_next_ns(const struct manager *manager); /* INT64_MAX: none */
void deadline_expire(struct manager *manager);           /* those that are past */

/* core/session.c */
granary_err session_check(const char *name); /* EINVAL: it can be no session's, or not be part of a key of the state */
struct session *session_get(struct manager *manager, const char *name); /* NULL: out of memory */
bool session_is_idle(const struct session *session);
void session_destroy(struct session *session);
void request_session(struct manager *manager, uint64_t ticket, const Granary__SessionSet *request);

/* executors/pool.c */
void request_pool(struct manager *manager, uint64_t ticket, const Granary__PoolOrder *order, int64_t now_ns);
void pool_settle(struct manager *manager); /* once a turn: who leaves, and which orders are done */
int64_t pool_deadline_ns(const struct manager *manager);
void pool_expire(struct manager *manager, int64_t now_ns);
void pool_fini(struct manager *manager);

/* manager/executors.c */
void executor_fini(struct executor *executor);
struct executor *executor_find(struct manager *manager, uint32_t number); /* NULL: none of that number */

/* executors/frees.c */
void frees_collect(struct manager *manager, struct task_graph *graph);
/*
 * What an executor made that was not to make it any more: it stood still, or was cut off, while another scheduler gave
 * the subtask to somebody else, or ended the graph. Nobody reads it, and what had its id before was freed: it would
 * stay. graph: NULL: it is deleted
 */
void frees_add_strays(struct manager *manager, const struct task_graph *graph, const Granary__Done *done);
void frees_send(struct manager *manager); /* somebody is told of everything there is to free */
/* It has reported on the token granted as token_order: what it was told to free before it got that is gone. */
void frees_done(struct manager *manager, struct executor *executor, uint64_t token_order);
/* It is dead: somebody else is to free what it may not have freed. An object that is gone already does no harm. */
void frees_reclaim(struct manager *manager, struct executor *executor);
void frees_drop(struct free_order *orders); /* forget them */

/* graphs/restore.c */
void records_drop(struct task_graph *graph);
/* Plan a graph that ended under an earlier scheduler once more, to tell of it. Errors: the planner's · ESTATE its input
 * has changed */
granary_err restored_explain(struct manager *manager, const struct task_graph *graph, struct gr_buf *ret_text);

/* durable/journal.c */
/* It runs as that attempt, under no token: on an executor that has not joined this scheduler. */
bool subtask_is_elsewhere(const struct task_graph *graph, const struct subtask *subtask, uint32_t attempt);
void serials_note(struct manager *manager);                            /* one is about to be used */
void events_touch(struct manager *manager, struct task_graph *graph);  /* its log has something new */
void events_end(struct manager *manager, struct task_graph *graph);    /* but for what the planner was told */
void events_forget(struct manager *manager, struct task_graph *graph); /* nobody needs its log any more */
void events_keep(struct manager *manager);                             /* what is new in any log */

/* info/subtasks.c */
/* A run is over: note when it was, and what came of it. */
void record_done(struct manager *manager, struct task_graph *graph, uint32_t number, const struct executor *executor,
                 const Granary__Done *done, granary_err err);
/* It was lost with its executor. */
void record_lost(struct manager *manager, struct task_graph *graph, uint32_t number, const struct executor *executor);
/* The last run that has ended; NULL: none, or it was too long ago. */
const struct record *record_of(const struct manager *manager, const struct task_graph *graph, uint32_t number);
/* When it could run, as far as is known. */
int64_t ready_since(const struct manager *manager, const struct task_graph *graph, uint32_t number);
/* Keep what an ended graph was, as long as there is room for it; takes execution. */
void past_keep(struct manager *manager, struct task_graph *graph, struct execution_graph *execution);
void past_forget(struct manager *manager, struct task_graph *graph);
const char *subtask_state_name(enum subtask_state state);
/* Append the node it comes from, and its operators, separated by commas. */
void subtask_says(const struct subtask *subtask, struct gr_buf *ret_node, struct gr_buf *ret_ops);
/* A subtask's number; SUBTASK_NONE: it is none of the graph's. */
uint32_t subtask_number(const struct task_graph *graph, const char *text);

/* graphs/wait.c */
/* false: out of memory, and the request is answered so. */
bool waiter_add(struct manager *manager, struct waiter waiter);
/* When a wait that begins now ends. timeout_ms: -1 for ever */
int64_t waiter_deadline_ns(int64_t timeout_ms, int64_t now_ns);
/* Answer those who wait for this graph to end, or to be gone. */
void waiters_answer(struct manager *manager, struct task_graph *graph, bool gone);
/* Something has become of its subtasks: answer those who wait for a chunk that is there now. */
void waiters_answer_chunks(struct manager *manager, struct task_graph *graph);
void waiters_expire(struct manager *manager, int64_t now_ns);
int64_t waiters_deadline_ns(const struct manager *manager);

/* graphs/stop.c */
void request_stop(struct manager *manager, uint64_t ticket, struct task_graph *graph, const Granary__GraphRef *ref,
                  int64_t now_ns);
void request_delete(struct manager *manager, uint64_t ticket, struct task_graph *graph, int64_t now_ns);
/* End it if it runs. how: "stopped", "deleted" */
void graph_stop(struct manager *manager, struct task_graph *graph, const char *how);
/* The same, and delete it: it may be gone on return. */
void graph_discard(struct manager *manager, struct task_graph *graph, const char *how, int64_t now_ns);
/* One of its subtasks ended; it matters when the graph had. */
void receipt_note(struct task_graph *graph, bool killed);
/* What was freed since it ended. */
void receipt_settle(struct task_graph *graph);
/* Whether nothing of it runs and what it left is freed. */
bool is_stopped(const struct manager *manager, struct task_graph *graph);

/* graphs/errors.c */
/* The graph keeps going: the subtask has failed for good, and so has what needs it. */
void subtask_given_up(struct manager *manager, struct task_graph *graph, uint32_t number, granary_err err,
                      const char *message);
/* Something has changed: what meets a failed input now fails, too. */
void give_up_doomed(struct manager *manager, struct task_graph *graph);
/* It has failed and nothing of it runs: errors under the ids of what its targets lack. */
void errors_of_missing(struct task_graph *graph);

/* graphs/go_on.c */
/* It is, or is not, a graph of another one any more. */
void family_join(struct manager *manager, struct task_graph *graph, const Granary__Submit *submit);
void family_leave(struct task_graph *graph);
/* What is stopped, or deleted, with a graph. */
void family_stop(struct manager *manager, struct task_graph *graph);
void family_delete(struct manager *manager, struct task_graph *graph);
/* A subtask has succeeded: graphs as which those went on that made its inputs have done what they were for. */
void family_spend(struct manager *manager, struct task_graph *graph, uint32_t number);
bool family_is_stopped(const struct task_graph *graph);
/* A running subtask has reported that it goes on as a graph. */
void subtask_goes_on(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done);
/* A graph that another one may wait for has ended. */
void child_ended(struct manager *manager, struct task_graph *child);

/* manager/requests.c */
granary_err key_check(const char *key); /* EINVAL: it can be no graph's */
/* A new graph of that key, kept and planned; may take submit->graph. Errors: the planner's · ENOMEM */
granary_err
graph_accept(struct manager *manager, const char *key, Granary__Submit *submit, struct task_graph **ret_graph);

/* graphs/rename.c */
void request_rename(struct manager *manager, uint64_t ticket, const Granary__Rename *request, int64_t now_ns);

/* graphs/results.c */
void request_result(struct manager *manager, uint64_t ticket, struct task_graph *graph, const Granary__GraphRef *ref,
                    int64_t now_ns);
/* Answer a request for chunks if it can be answered by now. */
bool chunks_reply(struct manager *manager, struct task_graph *graph, const struct waiter *waiter);
/* What is known of a target of a graph that runs: it belongs to the target. NULL: nothing yet, or out of memory */
Granary__Result *target_known(struct task_graph *graph, struct target *target);
/* Fill in what is there of the chunks from `first` on. */
void result_fill(const struct task_graph *graph, Granary__Result *result, size_t first, size_t count);

/* manager/outcome.c */
/* The graph fails because of a subtask. node: as the executor named it, or "". */
void fail_graph(struct manager *manager, struct task_graph *graph, uint32_t number, const char *node, granary_err err,
                const char *message);
void unpark_all(struct manager *manager);

/* graphs/retry.c: runs that did not succeed */
/* It ended through no fault of its own: again, but not for ever. what: such as "executors could not run it" */
void run_elsewhere(struct manager *manager, struct task_graph *graph, uint32_t number, const char *what,
                   granary_err err, const char *message);
/* There was no room for what it makes: later, but not for ever. */
void no_room(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done);
/* Its inputs are gone: when they are made again. */
void inputs_lost(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done);
/* It failed by itself, or was given up: again when it has retries left, else for good. */
void failed_by_itself(struct manager *manager, struct task_graph *graph, uint32_t number, const char *node,
                      granary_err err, const char *message);
/* Its executor died at it. */
void
executor_died_at(struct manager *manager, struct task_graph *graph, uint32_t number, const struct executor *executor);
/* What it runs, for messages: "function 'LIBRARY:NAME'", "command 'NAME'" or "it". */
void subtask_describe(struct task_graph *graph, uint32_t number, char *text, size_t size);
void function_succeeded(struct task_graph *graph, uint32_t number);

/* executors/verdict.c */
bool verdict_is_of(const struct executor *executor, uint64_t wire_number, uint32_t attempt);
void verdict_clear(struct executor *executor);
/* What is at work there is asked to stop, and its executor killed if it does not: it then fails with err and the
 * thread's message. */
void subtask_give_up(struct manager *manager, struct executor *executor, uint64_t wire_number, uint32_t attempt,
                     granary_err err, int64_t now_ns);

/* functions/libraries.c */
void request_export(struct manager *manager, uint64_t ticket, Granary__Library *library);
void request_unexport(struct manager *manager, uint64_t ticket, const Granary__Unexport *unexport);
/* Unexported libraries of the session that no graph needs any more go. */
void exports_sweep(struct manager *manager, const char *session);
/* The functions that nodes name are those there are now, by version. Errors: ENOENT, EINVAL; the message names the node
 */
granary_err graph_bind(struct manager *manager, const char *session, const Granary__Graph *message);
/* Where a planner looks functions up. */
struct function_scope {
    struct manager *manager;
    const char *session;
};
granary_err manager_find_function(void *scope, const char *text, struct gr_function *ret_function);
/* Executors that were sent a session's exports up to that one. */
uint32_t exports_executors(const struct manager *manager, const char *session, uint64_t sequence);
/* Put into a message to an executor what it needs ahead of the graph's subtasks. */
void exports_send(struct manager *manager, uint32_t executor, const struct task_graph *graph, struct gr_buf *message);

/* graphs/tables.c */
/* Look up what the names of nodes `table` stand for. Errors: ENOENT, ESTATE, EINVAL, ETYPE, EPERM; the message names
 * the node */
/* A node `array` is told where the target of its name lies. Errors: ETYPE it is no tensor · ENOMEM; arrays.c */
granary_err array_bind(const struct target *target, Granary__Node *node);
granary_err tables_bind(struct manager *manager, const struct task_graph *graph, Granary__Submit *submit);
/* The graphs it reads stay until tables_release(). Errors: ENOMEM */
granary_err tables_hold(struct manager *manager, struct task_graph *graph, const Granary__Submit *submit);
void tables_release(struct manager *manager, struct task_graph *graph); /* manager NULL: all graphs go */
void tables_learn(struct manager *manager, struct task_graph *graph);
void tables_forget(struct manager *manager, const struct task_graph *graph); /* it is deleted */
void tables_fini(struct manager *manager);
/* A graph that is deleted while it is read: the next scheduler is told of it, until it has gone. */
void tables_keep_held(struct manager *manager, struct task_graph *graph);
void tables_forget_held(struct manager *manager, const struct task_graph *graph);
/* All graphs are restored: those nobody reads go. */
void tables_release_held(struct manager *manager);

/* core/reply.c */
void reply_library(struct manager *manager, uint64_t ticket, const Granary__Library *library); /* when it is durable */
struct action *action_add(struct manager *manager, enum action_kind kind); /* NULL: out of memory, logged */
void reply_error(struct manager *manager, uint64_t ticket, granary_err err, const char *message);
void reply_ok(struct manager *manager, uint64_t ticket);
void reply_accepted(struct manager *manager, uint64_t ticket, const char *key, bool is_new);
/* err: ETIMEDOUT, or OK for a graph that has ended */
void reply_status(struct manager *manager, uint64_t ticket, const struct task_graph *graph, granary_err err);
/* analyze: with what each step has taken */
void reply_explain(struct manager *manager, uint64_t ticket, const struct task_graph *graph, bool analyze);
void reply_why(struct manager *manager, uint64_t ticket, const char *subject);
void reply_chunks(struct manager *manager, uint64_t ticket, const struct task_graph *graph, Granary__Result *result,
                  uint64_t cursor, uint64_t limit);
void reply_with_receipt(struct manager *manager, uint64_t ticket, Granary__Receipt *receipt);
void reply_cluster(struct manager *manager, uint64_t ticket);
void graph_status(const struct task_graph *graph, Granary__GraphStatus *ret_status); /* strings are borrowed */
double graph_progress(struct task_graph *graph);                                     /* 0 to 1, never falls */
void keep_message(struct manager *manager, const char *space, const void *key, size_t key_size,
                  const ProtobufCMessage *message);
void forget(struct manager *manager, const char *space, const void *key, size_t key_size);
void unlog(struct manager *manager, const char *graph_key);

#endif
