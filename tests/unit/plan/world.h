/*
 * A world without executors: hands a plan's batches to a runner and checks each of them: numbers ascend, every input
 * was made before, every object has one maker and either a reader in its batch or a place in a target.
 */
#ifndef TESTS_PLAN_WORLD_H
#define TESTS_PLAN_WORLD_H

#include "base/text/buf.h"
#include "plan/plan.h"

#define WORLD_OPS 40

struct world_object {
    granary_id id;
    uint64_t maker; /* number of a subtask */
    size_t readers;
    void *value; /* the runner's */
};

struct world {
    char directory[64]; /* a fresh one; world_fini() removes it */
    struct gr_plan_options options;
    struct gr_plan *plan;
    uint64_t subtasks;
    size_t batches;
    size_t afters;
    uint64_t ops; /* all, and by name */
    struct {
        char name[24];
        uint64_t count;
    } op_counts[WORLD_OPS];
    size_t max_ops; /* of a subtask */
    struct world_object *objects;
    size_t object_count;
    size_t object_room;
    granary_id *held; /* those that were held and are not settled */
    size_t held_count;
    bool types_in_split; /* csv_split tells types as well, where it can */
    bool late;           /* answers are given backwards, when all subtasks of a batch have run */
    size_t *table;       /* positions + 1, open addressing */
    size_t table_room;
    /* Runs a subtask and gives its answer; NULL: only csv_split and csv_infer, by the reference. */
    void (*run)(struct world *world, const Granary__Subtask *subtask, Granary__Done *done);
    void *user;
};

void world_init(struct world *world);
void world_fini(struct world *world);
/* cmocka's setup and teardown of a test whose *state is a world. */
int world_setup(void **state);
int world_teardown(void **state);
/* Write a file into the directory. */
void world_file(const struct world *world, const char *name, const char *text);
/* Create the plan of a JSON graph. */
granary_err world_plan(struct world *world, const char *json);
/* gr_plan_advance() until there is no more for now. */
granary_err world_advance(struct world *world, struct gr_plan_batch *ret_batch);

/* Run it to its end. */
granary_err world_run(struct world *world);
/* Both, and they must succeed. */
void world_must(struct world *world, const char *json);
/* Forget the plan and all objects, for the next one. */
void world_reset(struct world *world);

uint64_t world_ops(const struct world *world, const char *op);
struct world_object *world_find(struct world *world, const void *id);
Granary__Result *world_result(const struct world *world, const char *target);

#endif
