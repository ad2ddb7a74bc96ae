/*
 * What has become of a graph's subtasks, as bytes: a log that a later scheduler applies to a plan made anew. An entry
 * is a few bytes a transition. docs/formats.md, "events", describes them. Pure.
 *
 * The planner's part is kept beside the rest: what it planned, and the reports it was given, in order. A snapshot is
 * that part and one entry for each finished subtask. It takes the place of all records before.
 */
#ifndef SCHED_EXECUTION_EVENT_LOG_H
#define SCHED_EXECUTION_EVENT_LOG_H

#include "base/text/buf.h"
#include "sched/execution/graph.h"

struct event_log {
    struct gr_buf plans;     /* numbers of plans that subtasks were handed out of since it was begun, 8 bytes each */
    struct gr_buf known;     /* the same of all plans that records tell of, those that were dropped among them */
    struct gr_buf pending;   /* entries since the last record */
    struct gr_buf planner;   /* entries for the planner, all there were */
    uint64_t records;        /* there are; the next one's number */
    uint64_t bytes;          /* in them, without the snapshot */
    uint64_t snapshot_bytes; /* in the snapshot */
    uint64_t last_number;    /* of the entries of this record: the next is told from it */
    int32_t node;            /* where outputs of the entries of this record are */
    bool told;               /* the planner was given a report: without those its plan cannot be made again */
    bool fresh;              /* the last record does not tell of all plans */
    bool fed;    /* in it is what the planner made of reports it was given: nothing of it may be known earlier */
    bool urgent; /* there is more in pending than what a plan made anew tells by itself */
};

void event_log_free(struct event_log *log);
/* Begin again. Plans are known still: unless they come again, they are dropped ones. */
void event_log_restart(struct event_log *log);

/* The planner has handed out subtasks, now or in a scheduler before. plan: its number */
void event_log_note_plan(struct event_log *log, uint64_t plan);
/* It has now: note that, too. */
void event_log_planned(struct event_log *log, const struct execution_graph *execution, uint64_t plan);
/* The next plan that was dropped. *at moves on, from 0. Returns false at the end. */
bool event_log_dropped(const struct event_log *log, size_t *at, uint64_t *ret_plan);
/* A subtask has succeeded, its outputs lying on a node. done: the report, if the planner is given it, else NULL */
void event_log_succeeded(struct event_log *log, struct execution_graph *execution, uint32_t number, int32_t node,
                         const Granary__Done *done);
/* An attempt has ended otherwise: what is counted of the subtask has changed. */
void event_log_tried(struct event_log *log, struct execution_graph *execution, uint32_t number);
/* Objects were gone. */
void event_log_lost(struct event_log *log, const struct execution_graph *execution, const ProtobufCBinaryData *lost,
                    size_t count);

/*
 * Take what is to be kept now: added to ret_record. Returns false when there is nothing.
 *
 * ret_number    the record's number: its place behind the others
 * ret_snapshot  it stands for all records before
 * ret_fed       subtasks planned now make no sense to a scheduler that does not know of this
 */
bool event_log_take(struct event_log *log, struct execution_graph *execution, struct gr_buf *ret_record,
                    uint64_t *ret_number, bool *ret_snapshot, bool *ret_fed);

/* ---- applying it ---- */

struct event_log_replay {
    struct execution_graph *execution;
    void *context;
    uint64_t (*plan)(void *context); /* its number */
    /* Give a report to the planner; it may hand out subtasks then. */
    granary_err (*feed)(void *context, uint32_t number, const Granary__Done *done);
};

/* Of a record that an earlier scheduler kept: which plans there were. */
void event_log_learn(struct event_log *log, const void *record, size_t size);

/*
 * Apply one record, and note it in the log as written. Errors: ESTATE it is of another plan, or damaged: what was
 * applied so far is of no use · what feed gives
 */
granary_err
event_log_apply(struct event_log *log, const struct event_log_replay *replay, const void *record, size_t size);

#endif
