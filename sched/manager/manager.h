/*
 * The task manager: graphs from submission to deletion, who waits for them, and what the executors are to do. Together
 * with the execution graph and the reservations it is the scheduler's core: a state machine of events and actions. It
 * reads no clock, sends nothing and keeps nothing on disk; the server translates. (The planner looks at input files
 * once, when a graph is submitted.)
 *
 * Life of a graph
 *
 *   state      entered by                       next
 *   RUNNING    submit                           SUCCEEDED, FAILED, CANCELLED
 *   SUCCEEDED  every subtask has succeeded      - (deleted)
 *   FAILED     a subtask or the planner failed  - (deleted)
 *   CANCELLED  stop, delete                     - (deleted)
 *
 * A graph that has failed or was stopped is answered at once; its subtasks still under way are waited for before a
 * delete is answered, so that nothing of it is left.
 */
#ifndef SCHED_MANAGER_MANAGER_H
#define SCHED_MANAGER_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "granary/types.h"
#include "sched/dispatch/resources.h"
#include "sched/info/host.h"
#include "schema/granary.pb-c.h"

struct manager;

struct manager_options {
    uint64_t memory_bytes;                   /* the store's budget; 0: unknown */
    int64_t chunk_bytes;                     /* for submissions that leave it open; 0: automatic */
    int64_t unix_offset_ns;                  /* Unix time minus the clock of the events */
    uint64_t task_memory_bytes;              /* private memory a subtask with user code may use; 0: any */
    const struct resource_amount *resources; /* named ones there are; read by manager_create() only */
    size_t resource_count;
    struct manager_host host;
};

/* NULL: out of memory. */
struct manager *manager_create(const struct manager_options *options);
void manager_destroy(struct manager *manager);

/* ---- events; now_ns is any clock that only goes forward ---- */

/* A client's request. ticket names the request in the reply. May take request->submit->graph (sets it NULL). */
void manager_request(struct manager *manager, uint64_t ticket, Granary__Request *request, int64_t now_ns);
/* number: from 1, never used before. */
void manager_executor_joined(struct manager *manager, uint32_t number, int32_t node, int64_t pid);
/* How far NUMA nodes are from one another: nodes x nodes, copied; 10 is a node itself. Out of memory: as if not told.
 */
void manager_set_distances(struct manager *manager, uint32_t nodes, const uint32_t *rows);
void manager_executor_died(struct manager *manager, uint32_t number);
/* It asks for its work: it may have been given so many subtasks in all; before the first call, none. */
void manager_executor_pulls(struct manager *manager, uint32_t number, uint64_t subtasks);
/* It gets nothing more; when it has nothing left it is told to leave, and with `replace` to let another take its place.
 */
void manager_executor_drain(struct manager *manager, uint32_t number, bool replace);
/* It has gone by its own wish: what it had goes back, and is not blamed for that. */
void manager_executor_left(struct manager *manager, uint32_t number);
/*
 * What the pool's supervisor says: how many slots have or will have a process, on so many NUMA nodes. pid: its own;
 * another one than before begins with as many slots as the instance did, and is asked for those added since.
 */
void manager_pool_slots(struct manager *manager, int64_t pid, uint32_t slots, uint32_t nodes);
/* Why its process ended, as the pool says; before manager_executor_died(), and not always. signal 0: it left by itself.
 */
void manager_executor_death(struct manager *manager, uint32_t number, int32_t signal, int32_t status);
/* Its process has ended, and why is waited for: it is given nothing any more. */
void manager_executor_ended(struct manager *manager, uint32_t number);
/* What it was at, as its page says; before manager_executor_died(). log: the end of what that printed, or NULL. */
void
manager_executor_was_at(struct manager *manager, uint32_t number, uint64_t subtask, uint32_t attempt, const char *log);
void manager_done(struct manager *manager, uint32_t executor, const Granary__Done *done);
/*
 * What an executor is doing, for limits and for what is to be given up. While manager_watching(), it is to be told of
 * each executor every few hundredths of a second.
 */
struct manager_seen {
    uint64_t subtask; /* wire number of what is at work; 0: unknown */
    uint32_t attempt;
    int64_t running_ns;     /* so long; -1: unknown */
    uint64_t private_bytes; /* memory of the process alone; 0: unknown */
    granary_id waits_for;   /* the object user code waits for; zero: it does not */
    int64_t waits_since_ns;
    bool idle; /* it says that nothing is: what it was given has not begun, or its report is on the way */
};
void manager_watch(struct manager *manager, uint32_t executor, const struct manager_seen *seen, int64_t now_ns);
/* All were told of: waits of user code that can never end are ended. */
void manager_watched(struct manager *manager, int64_t now_ns);
/* Something that has limits runs, or something is to be given up. */
bool manager_watching(const struct manager *manager);
/* It has done this free_order, and those it was given before. */
void manager_freed(struct manager *manager, uint32_t executor, uint64_t free_order);
/*
 * Executors outlive schedulers. One that joins tells what it has at hand; what is not this scheduler's it is told to
 * cancel. Subtasks of graphs that were restored are not given to anybody before claims_end: all have joined that were
 * known, or none more is waited for.
 */
void manager_executor_claims(struct manager *manager, uint32_t executor, const Granary__Register *message);
/* One that has not joined yet is seen to be at work on a subtask: that is waited for. At its end before it joined. */
void manager_executor_busy(struct manager *manager, uint64_t subtask, uint32_t attempt);
void manager_executor_busy_died(struct manager *manager, uint64_t subtask, uint32_t attempt);
void manager_claims_end(struct manager *manager);
/* Note that there is an executor, for the next scheduler to wait for; or that there is not. */
void manager_keep_executor(struct manager *manager, int64_t pid, uint64_t start_time, uint32_t slot);
void manager_forget_executor(struct manager *manager, int64_t pid, uint64_t start_time, uint32_t slot);
/* Waits whose time is over are answered, graphs past their deadline fail. */
void manager_expire(struct manager *manager, int64_t now_ns);
/* The wall clock may have been set. */
void manager_set_unix_offset(struct manager *manager, int64_t unix_offset_ns);
int64_t manager_deadline(const struct manager *manager); /* when expire is due; INT64_MAX: never */
/* Give ready subtasks to executors; after the events of a turn. */
void manager_dispatch(struct manager *manager, int64_t now_ns);
/* What a submission keeps could not be kept: forget the graph. */
void manager_reject(struct manager *manager, const char *key);

/* ---- actions ---- */

enum action_kind {
    ACTION_SEND,       /* bytes, a ToExecutor, to executor; EXECUTOR_POOL: to the supervisor */
    ACTION_REPLY,      /* bytes, a Reply without seq, to ticket */
    ACTION_ACCEPT,     /* the graph `accepted` is to be kept now; else it is to be rejected */
    ACTION_KEEP,       /* entry (space, entry_key) with value bytes */
    ACTION_CANCEL,     /* put subtask into the cancel word of executor's page */
    ACTION_KILL,       /* the process of executor, at once; its death is then an event */
    ACTION_FORGET,     /* entry (space, entry_key), if there is one */
    ACTION_MOVE,       /* entry (space, entry_key) to the key bytes, which no entry has */
    ACTION_UNLOG,      /* remove what the graph entry_key has printed */
    ACTION_RELOG,      /* what the graph entry_key has printed is what the graph bytes has */
    ACTION_FORGET_ALL, /* entries of space whose keys begin with entry_key */
};

#define MANAGER_FUNCTIONS "functions" /* session NUL name NUL version -> Library */
#define MANAGER_GRAPHS    "graphs"    /* key -> Submit; its key is the one object ids come from */
#define MANAGER_ENDS      "ends"      /* key -> GraphStatus of a graph that has ended */
#define MANAGER_RESULTS   "results"   /* key NUL target -> Result */
#define MANAGER_EVENTS                                                                                                 \
    "events" /* serial (4 bytes), number (8) -> record of event_log.h; of graphs that have not ended */
#define MANAGER_FREES                                                                                                  \
    "frees" /* number (8 bytes) -> session, NUL, fields `free` of a ToExecutor: not known to be done */
#define MANAGER_HELD      "held"      /* serial (4 bytes) -> session NUL key NUL ids: of a deleted graph that is read */
#define MANAGER_EXECUTORS "executors" /* PID.START_TIME.SLOT -> nothing: executors that are known */
#define MANAGER_METAS     "metas"     /* "serials" -> graphs' serials below this may have been used */
#define MANAGER_SESSIONS  "sessions"  /* name -> SessionSet of one that is not as others */

#define EXECUTOR_POOL 0

struct action {
    enum action_kind kind;
    uint32_t executor;
    uint64_t ticket;
    uint64_t subtask; /* CANCEL: wire number */
    const char *space;
    struct gr_buf entry_key;
    struct gr_buf bytes;
    bool when_durable; /* REPLY: to be sent only when what is kept before it is durable */
    bool before_sends; /* KEEP, SEND: what is kept is committed before anything of this turn is sent to executors */
    char accepted[64]; /* REPLY, ACCEPT: key of the graph this accepts, or "" */
};

/* The actions not done yet, in order. The array moves when an event comes; what it points to belongs to the manager. */
struct action *manager_actions(struct manager *manager, size_t *ret_count);
/* The first count actions are done: a turn is over. */
void manager_actions_done(struct manager *manager, size_t count);

/*
 * Something had to be done for which there was no memory: an action is missing or not complete, or an executor is not
 * known. Nothing more is to be performed; the next scheduler goes on from what is kept.
 */
bool manager_exhausted(const struct manager *manager);
void manager_note_exhausted(struct manager *manager);

/* ---- start with what an earlier scheduler kept: metas, sessions, graphs, ends, results, events, frees, then start
 * ---- */

void manager_restore_meta(struct manager *manager, const char *key, const void *value, size_t size);
/* In the order of their keys. */
void manager_restore_events(struct manager *manager, const void *key, size_t key_size, const void *record, size_t size);
void manager_restore_frees(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size);
void manager_restore_held(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size);

void manager_restore_library(struct manager *manager, const void *library, size_t size);
void manager_restore_graph(struct manager *manager, const char *key, const void *submit, size_t size);
void manager_restore_end(struct manager *manager, const char *key, const void *status, size_t size);
void
manager_restore_result(struct manager *manager, const char *key, const char *target, const void *result, size_t size);
void manager_restore_session(struct manager *manager, const char *name, const void *set, size_t size);
/* Run those that have not ended. Returns how many. */
size_t manager_restore_start(struct manager *manager);

#endif
