/*
 * What the manager wants done: messages to executors, answers to clients, entries of the state. Events append actions, in
 * order; whoever gave the events performs them at the end of a turn.
 */
#ifndef SCHED_CORE_ACTIONS_H
#define SCHED_CORE_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "granary/types.h"
#include "schema/granary.pb-c.h"

struct manager;

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
    ACTION_SAVE,       /* bytes are the file of saved results, none: it goes; for ticket, or TICKET_NONE */
};

#define MANAGER_FUNCTIONS "functions" /* session NUL name NUL version -> Library */
#define MANAGER_GRAPHS    "graphs"    /* key -> Submit; its key is the one object ids come from */
#define MANAGER_ENDS      "ends"      /* key -> GraphStatus of a graph that has ended */
#define MANAGER_RESULTS   "results"   /* key NUL target -> Result */
#define MANAGER_EVENTS                                                                                                 \
    "events" /* serial (4 bytes), number (8) -> record of event_log.h; of graphs that have not ended */
#define MANAGER_FREES                                                                                                  \
    "frees"                 /* number (8 bytes) -> session, NUL, fields `free` of a ToExecutor: not known to be done */
#define MANAGER_HELD "held" /* serial (4 bytes) -> session NUL key NUL ids: of a deleted graph that is read */
#define MANAGER_LEFT "left" /* serial (4 bytes) -> session NUL numbers of plans (8 bytes each): graphs/leftovers.h */
#define MANAGER_RECALLS                                                                                                \
    "recalls" /* serial (4 bytes), of a step also that (4 bytes) -> Recall: what a graph yielded, and others may */
#define MANAGER_EXECUTORS "executors" /* PID.START_TIME.SLOT -> nothing: executors that are known */
#define MANAGER_METAS                                                                                                  \
    "metas" /* "serials" -> graphs' serials below this may have been used; META_RECALL -> "off" when it is */
#define META_RECALL      "recall"
#define MANAGER_SESSIONS "sessions" /* name -> SessionSet of one that is not as others */

#define EXECUTOR_POOL 0
#define TICKET_NONE   UINT64_MAX

struct action {
    enum action_kind kind;
    uint32_t executor;
    uint64_t ticket;
    uint64_t subtask; /* CANCEL: wire number */
    const char *space;
    struct gr_buf entry_key;
    struct gr_buf bytes;
    bool when_durable; /* REPLY: to be sent only when what is kept before it is durable */
    bool unsynced;     /* REPLY when_durable: of what a power cut may take back: when it is committed */
    bool before_sends; /* KEEP, SEND: what is kept is committed before anything of this turn is sent to executors */
    char accepted[64]; /* REPLY, ACCEPT: key of the graph this accepts, or "" */
};

struct actions {
    struct action *items; /* not done yet, in order */
    size_t count, room;
};

/* ---- for whoever performs them ---- */

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

/* ---- for the manager's modules ---- */

struct action *action_add(struct manager *manager, enum action_kind kind); /* NULL: out of memory, logged */
/* A change of the entry `key` of a space: KEEP, FORGET or FORGET_ALL. NULL: out of memory, logged */
struct action *
entry_add(struct manager *manager, enum action_kind kind, const char *space, const void *key, size_t key_size);
/* The same under a number: its last `size` bytes, the most significant one first, so that entries are in their order. */
struct action *
entry_add_number(struct manager *manager, enum action_kind kind, const char *space, uint64_t number, size_t size);
void entry_key_number(struct gr_buf *key, uint64_t number, size_t size);
uint64_t number_of_key(const void *key, size_t size);
/* A message to an executor, begun: more fields may be added. NULL: out of memory, logged */
struct action *send_begin(struct manager *manager, uint32_t executor);
void keep_message(struct manager *manager, const char *space, const void *key, size_t key_size,
                  const ProtobufCMessage *message);
void entry_forget(struct manager *manager, const char *space, const void *key, size_t key_size);
void log_forget(struct manager *manager, const char *graph_key);
void reply_error(struct manager *manager, uint64_t ticket, granary_err err, const char *message);
void reply_ok(struct manager *manager, uint64_t ticket);
void reply_library(struct manager *manager, uint64_t ticket, const Granary__Library *library); /* when it is durable */
/* passing: of such a graph. */
/* recalled: ids of chunks, one behind the other */
void reply_accepted(struct manager *manager, uint64_t ticket, const char *key, bool is_new, bool passing,
                    const struct gr_buf *recalled);
void reply_gone(struct manager *manager, uint64_t ticket, bool passing);
void reply_with_receipt(struct manager *manager, uint64_t ticket, Granary__Receipt *receipt);
/* The error that the thread's message tells of: `reply_failure(manager, ticket, gr_fail(...))`. */
void reply_failure(struct manager *manager, uint64_t ticket, granary_err err);
void reply_no_memory(struct manager *manager, uint64_t ticket);
/* Any other answer; version is set here. NULL: out of memory, logged */
struct action *reply_message(struct manager *manager, uint64_t ticket, Granary__Reply *message);
/* Text as the answer, or the error there was instead, in the thread's message. */
void reply_text(struct manager *manager, uint64_t ticket, granary_err err, const struct gr_buf *text);

#endif
