/*
 * A pilot job: a job of a resource manager that holds machines, with one granary instance on each, until it is told to end.
 * Queries then need not wait in a queue.
 *
 * The job's directory, which all machines see, has a file nodes/NAME for each instance that is up.
 */
#ifndef CLI_CLUSTER_PILOT_H
#define CLI_CLUSTER_PILOT_H

#include <limits.h>

#include "cli/cluster/chunks.h"
#include "cli/print/json.h"

struct pilot {
    char state[PATH_MAX]; /* the file that tells of it */
    char job[32];
    unsigned nodes; /* asked for */
    char directory[PATH_MAX];
};

struct pilot_node {
    char name[CHUNKS_NODE];
    char version[32];
    char instance[108];
    unsigned executors;
    uint64_t memory;
    uint64_t fragments; /* run there */
};

/* The job that `granary cluster up` started. instance: as of --instance. Errors: ENOENT, with the remedy · ECORRUPT */
granary_err pilot_find(const char *instance, struct pilot *ret_pilot);

/* Its nodes that are up, by name; *ret_nodes is to be freed. Errors: EUNREACHABLE none is · ENOMEM */
granary_err pilot_nodes(const struct pilot *pilot, struct pilot_node **ret_nodes, size_t *ret_count);

/* Errors: EVERSION naming the first node that has another one than this program */
granary_err pilot_check_versions(const struct pilot_node *nodes, size_t count);

/* The job's state, as Slurm calls it; "": there is no such job any more. Errors: ENOENT no Slurm here · EFAILED, in its words */
granary_err pilot_ask(const struct pilot *pilot, char ret_state[32]);

/* Of a job that has ended: EFAILED, with the reason that its log tells. */
granary_err pilot_failure(const struct pilot *pilot);

/* The job with its nodes, or alone: as text, or as members of JSON. */
void
pilot_tell(const struct pilot *pilot, const char *state, const struct pilot_node *nodes, size_t count, bool is_json);
void pilot_print(const struct pilot *pilot, const char *state, size_t up);
void pilot_write(const struct pilot *pilot, const char *state, struct json *json);

/* A fragment has run on that node: one more. */
void pilot_count(const char *directory, const char *node);

#endif
