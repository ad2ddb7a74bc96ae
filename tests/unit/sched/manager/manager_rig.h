/*
 * The scheduler's core on a planner of its own (fake_plan.h), and executors that do what a test says: requests, reports
 * and deaths in, messages out.
 */
#ifndef MANAGER_RIG_H
#define MANAGER_RIG_H

#include <stdbool.h>

#include "granary/graph.h"
#include "sched/manager/manager.h"
#include "unit/sched/fake_plan.h"

#define LINES(...) ((const char *const[]){__VA_ARGS__}), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

/* A subtask an executor was given and has not answered. */
struct given {
    uint32_t executor;
    uint64_t number;
    uint32_t attempt;
    char node[32];
    granary_id output;
    char op[16];
    granary_id input; /* the first */
};

struct rig {
    struct manager *manager;
    struct given given[4096];
    size_t count;
    char exported[1024];  /* libraries sent: "EXECUTOR:NAME.SEQUENCE " */
    char ended[512];      /* snapshots whose graph has ended, as freed */
    char freed[4096];     /* objects freed, hex, each followed by a space */
    char kept[1024];      /* "+space/key " and "-space/key " */
    char cancelled[256];  /* nodes told to executors as cancelled: "executor:count " */
    char replied[1024];   /* tickets answered: "ticket=error ", or "ticket=error~ " of what is not synced */
    Granary__Reply *last; /* reply */
    char asked[1024];     /* page words written and executors killed: "cancel EXECUTOR:SUBTASK ", "kill EXECUTOR " */
    char dismissed[256];  /* told to leave: "EXECUTOR ", or "EXECUTOR+ " when to be replaced */
    uint32_t added;       /* slots the pool was asked for */
    char errors[4096];    /* errors to be stored: "ID ERR MESSAGE\n" */
    size_t messages;      /* with subtasks */
    bool kept_first;      /* the last turn's changes are committed before its messages are sent */
    bool recalls;         /* what is submitted may be recalled; else the same again is computed again */
    uint64_t ticket;
    uint64_t nanoseconds;  /* a subtask takes */
    bool user_failed;      /* the next report says so */
    Granary__Graph *go_on; /* the next report says that it goes on as this; freed with that */
};

/* End a turn: do what the manager asks for. */
void turn(struct rig *rig);
struct rig *rig_create(uint32_t executors);
/* The same, at a store in which other schedulers make objects. */
struct rig *rig_create_member(uint32_t executors);
void rig_destroy(struct rig *rig);
/* Each request has its own ticket, from 1. */
granary_err request(struct rig *rig, Granary__Request *message, int64_t now_ns);
granary_err submit(struct rig *rig, const char *key, const char *const *lines, size_t count);
/* Anything else about it is said in body; its graph is freed. */
granary_err submit_body(struct rig *rig, Granary__Submit *body, const char *const *lines, size_t count);
/* An earlier scheduler kept it, in session "s"; id_key: what the ids of its objects come from. */
void
restore(struct rig *rig, const char *key, const char *id_key, uint32_t serial, const char *const *lines, size_t count);
/* To be answered when it has ended. */
granary_err run(struct rig *rig, const char *key, const char *const *lines, size_t count, int64_t wait_ms);
/* Of a session other than "s". */
granary_err
run_in(struct rig *rig, const char *session, const char *key, const char *const *lines, size_t count, int64_t wait_ms);
granary_err wait_for(struct rig *rig, const char *key, int64_t timeout_ms, int64_t now_ns);
granary_err refer(struct rig *rig, Granary__Request__BodyCase which, const char *key, const char *target);
struct given *given_to(struct rig *rig, const char *node);
/* The executor reports on what it was given first of that node; err OK reports its output with 10 rows and 100 bytes.
 * lost_of: a node whose output was gone. */
void report(struct rig *rig, const char *node, granary_err err, const char *message, const char *lost_of);
void succeed(struct rig *rig, const char *node);
void succeed_all(struct rig *rig);
bool freed(const struct rig *rig, const char *key, uint64_t number);
granary_graph_state state_of(struct rig *rig, const char *key);

#endif
