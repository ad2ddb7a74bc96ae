/*
 * What a driver leaves in its directory while it works: a file run-XXXXXX that tells which fragment began where, and how it
 * ended. Others read it while the run goes on, and after its driver was killed. It is removed with an orderly end.
 *
 *      granary run 1
 *      driver HOST PID KIND JOB
 *      place NUMBER NAME
 *      instance NUMBER DIRECTORY                    of that place, when it is not the default one there
 *      plan WALL_MS FILE                            from here on; again when the graph is cut again
 *      begin WALL_MS PLACE STAGE PARTITION          numbers, as the plan has them
 *      end WALL_MS PLACE STAGE PARTITION OUTCOME BYTES MESSAGE
 *      lost WALL_MS STAGE PARTITION                 its results are not whole any more: it runs again
 *      out WALL_MS PLACE                            the place gets nothing more
 *
 * The driver holds a lock (flock) on the file, so whoever can lock it knows that the driver is gone.
 */
#ifndef CLI_CLUSTER_RECORD_H
#define CLI_CLUSTER_RECORD_H

#include "cli/cluster/places.h"
#include "graph_json/plan.h"

#define RECORD_PREFIX     "run-"
#define RECORD_FIRST_LINE "granary run 1"

struct record;

/* ---- written ---- */

/*
 * Begin one, in the places' directory. What drivers of this machine left there that were killed is removed, with its plan.
 *
 * Errors  naming the file: EFULL, EPERM ...
 */
granary_err record_create(const struct places *places, struct record **ret_record);
/* Remove it. NULL is fine, here and below. */
void record_destroy(struct record *record);

/* Writing it never fails a run: what does not get into the file is missing there. */
void record_plan(struct record *record, const char *path);
void record_begin(struct record *record, size_t place, size_t stage, uint32_t partition);
void record_end(struct record *record, size_t place, size_t stage, uint32_t partition, const char *outcome,
                uint64_t bytes, const char *message);
void record_lost(struct record *record, size_t stage, uint32_t partition);
void record_out(struct record *record, size_t place);

/* ---- read ---- */

/* What became of a fragment so far. */
struct record_fragment {
    bool done;
    unsigned running, failed;
    size_t place;       /* where it runs, or ran last */
    int64_t since_ms;   /* wall clock: when it began there, or ended */
    int64_t took_ms;    /* of the run that counts */
    size_t failed_at;   /* the place of the last failure */
    int64_t failed_ms;  /* ... and when */
    const char *reason; /* ... and its message; "" */
};

struct record_place {
    bool out;
    int64_t out_ms;
    unsigned running;
    size_t stage; /* of what runs there */
    uint32_t partition;
    int64_t since_ms;
};

struct record_view {
    char path[PATH_MAX];
    bool alive; /* its driver goes on */
    char host[CHUNKS_NODE];
    long pid;
    struct places places; /* how to reach them; and what home was */
    struct record_place *at;
    struct gr_cutplan *plan;
    char plan_name[64];
    int64_t began_ms;
    size_t *first; /* of each stage's fragments */
    struct record_fragment *fragments;
    size_t fragment_count, done;
    char *text;
};

/* Read one. Errors: ENOENT · ECORRUPT naming the file, or its plan · ENOMEM */
granary_err record_read(const char *path, struct record_view *ret_view);
void record_free(struct record_view *view);

/* Paths of those in a directory, or of those that drivers of this user on this machine have. To be freed, each and all. */
granary_err record_list(const char *directory, char ***ret_paths, size_t *ret_count);
granary_err record_list_running(char ***ret_paths, size_t *ret_count);
void record_list_free(char **paths, size_t count);

#endif
