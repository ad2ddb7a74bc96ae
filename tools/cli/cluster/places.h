/*
 * Where fragments run: private instances of this machine, machines reached by ssh, or the nodes of a Slurm job. Each place
 * runs one fragment at a time, by a command.
 */
#ifndef CLI_CLUSTER_PLACES_H
#define CLI_CLUSTER_PLACES_H

#include <limits.h>

#include "cli/cluster/chunks.h"
#include "cli/instance/private.h"

#define PLACES_MAX       1024
#define PLACES_ARGUMENTS 32

struct place {
    char name[CHUNKS_NODE];
    char instance[PRIVATE_DIRECTORY]; /* of the machine; "": the default there */
    struct supervisor_options private;
    pid_t private_pid; /* of an instance that was started for this; 0: none */
};

struct places {
    const struct places_kind *kind;
    struct place *list; /* and behind the last one, the command's own instance: home */
    size_t count;
    const char *session;      /* at home; NULL: the default one */
    char job[32];             /* Slurm's */
    char directory[PATH_MAX]; /* that all of them see */
    char program[PATH_MAX];   /* this one */
    bool traces;              /* fragments tell of their subtasks */
};

struct places_options {
    const char *on;        /* local:K, ssh:HOST,..., slurm, dask:ADDRESS */
    const char *directory; /* NULL: none was named */
    const char *instance;  /* whose pilot job is meant; NULL: the default one's */
    const char *home;      /* the command's own instance */
    const char *session;   /* ... and its session; NULL: the default one */
    const char *memory;    /* of each private instance, as text; NULL: equal parts */
    int executors;         /* ... 0: equal parts */
    bool looks;            /* nothing is to run there: no directory is needed, and no version refused */
    const char *timeline;  /* a file that tells what ran where and when; NULL: none */
};

/* What --on takes, for its help. */
#define PLACES_HELP "local:K (K instances of this machine), ssh:HOST,..., slurm, dask:ADDRESS"

/*
 * Get them ready. To be called before there are threads.
 *
 * Errors  EINVAL `on` · EUNREACHABLE no pilot job, no node · what starting an instance gives
 */
granary_err places_open(const struct places_options *options, struct places *ret_places);
void places_close(struct places *places);

/* What kind they are: "ssh". */
const char *places_kind(const struct places *places);

/*
 * Places that somebody else has opened, to look at them: names and instances are the caller's to fill in.
 *
 * Errors  ECORRUPT there is no such kind · ENOMEM
 */
granary_err places_recall(const char *kind, const char *job, size_t count, struct places *ret_places);

/* A command for a place, or for home (place: places->count), in arrays of the caller. argv ends with NULL. */
struct places_command {
    const char *argv[PLACES_ARGUMENTS];
    bool listens; /* it reads what we say */
    char texts[3][4 * PATH_MAX];
    char number[16];
};
/* It runs a fragment. */
void places_fragment(const struct places *places, size_t place, const char *plan, const char *stage, uint32_t partition,
                     struct places_command *ret_command);
/* `granary cluster look` there. what: an option of it, for which it listens; NULL: none */
void places_look(const struct places *places, size_t place, const char *what, struct places_command *ret_command);

#endif
