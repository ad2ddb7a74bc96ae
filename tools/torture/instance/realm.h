/*
 * A private instance that is to be tormented: its directory, its processes by what they are, and somebody who says
 * `granary up` again when its supervisor was killed.
 */
#ifndef TORTURE_REALM_H
#define TORTURE_REALM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "torture/common/guard.h"
#include "torture/common/options.h"
#include "torture/instance/programs.h"
#include "torture/work/work.h"

enum role {
    ROLE_SUPERVISOR,
    ROLE_STORE,
    ROLE_SCHED,   /* the active one */
    ROLE_STANDBY, /* the others */
    ROLE_POOL,
    ROLE_EXECUTOR,
    ROLE_WEB,     /* the page's */
    ROLE_CLIENT,  /* of the store */
    ROLE_GRAPHER, /* a client with graphs */
    ROLE_SLOT,    /* a process of Python that an executor runs functions in */
    ROLE_NODE,    /* a worker of Dask, which has an instance of its own */
    ROLE_WORK,    /* ... and one for each kind of worker: ROLE_WORK + WORK_TABLES, ... */
    ROLES = ROLE_WORK + WORKS,
};
#define REALM_ROLES ROLE_CLIENT /* those before it are processes of the instance */

/* "supervisor", "store", "sched", "standby", "pool", "executor", "web", "client", "grapher", "slot", "node", "tables", ... */
const char *role_name(enum role role);
/* ROLES: it is none. */
enum role role_find(const char *name);

#define REALM_PROCESSES 128u

struct process {
    enum role role;
    pid_t pid;
};

/* How the programs of a package take over (docs/operations.md). */
enum upgrade {
    UPGRADE_NONE,
    UPGRADE_IN_PLACE, /* granary upgrade */
    UPGRADE_REPLACE,  /* granary up --replace */
    UPGRADES,
};

struct realm {
    char directory[64]; /* made for it; what it holds below: */
    char instance[96];
    char spill[96], beside[96]; /* directories of spill files */
    char up_log[96];            /* what `granary up` said */
    char memory[32], executors[16], schedulers[16];
    unsigned executor_count, scheduler_count;
    bool web; /* the page is served */
    struct guard guard;
    struct programs programs;
    pid_t up;                                  /* `granary up`, or an upgrade, under way; 0: none */
    int64_t up_since_ns;                       /* when that began */
    bool hit;                                  /* a process was killed since that began */
    enum upgrade upgrade;                      /* that is wanted, again and again until it has succeeded */
    enum upgrade way;                          /* what `up` is */
    bool kept;                                 /* supervisor and pool may be of the files of before */
    uint64_t ups;                              /* how often it was said */
    uint64_t ups_refused;                      /* how often it failed though nobody had killed anything meanwhile */
    uint64_t upgrades[UPGRADES], upgrades_hit; /* that succeeded; those that a blow undid */
};

/* Make the directory; it, and all that is started in it, goes with this process. False: why was said on stderr. */
bool realm_create(struct realm *realm, const struct options *options);
/* Remove it with all that is in it. */
void realm_destroy(struct realm *realm);

/* Start the instance, and wait until it is up. */
bool realm_up(struct realm *realm);
/* Stop it; the error of that is said on stderr. */
bool realm_down(struct realm *realm);

/* Whether nothing is left of it: no process, no name in shared memory, no file. What is, is said on stderr. */
bool realm_is_gone(const struct realm *realm);

/*
 * When no supervisor is there, have one started; else have an upgrade done that is wanted. To be called again and again.
 * False: it cannot be started.
 */
bool realm_tend(struct realm *realm);

/* Replace the files of the programs, and want them to take over. False: it cannot be; said on stderr. */
bool realm_upgrade(struct realm *realm, enum upgrade way);
/* Whether an upgrade is wanted or under way, or `granary up`. */
bool realm_is_busy(const struct realm *realm);
/* How many processes run files that were replaced, though they should not; said on stderr. */
unsigned realm_outdated(const struct realm *realm);

/* Its processes, executors in the order of their pids. Returns how many there are, REALM_PROCESSES at most. */
size_t realm_processes(const struct realm *realm, struct process ret_processes[static REALM_PROCESSES]);
/* Process `which` (modulo how many there are) of that role; 0: none is there now. */
pid_t realm_find(const struct realm *realm, enum role role, unsigned which);
/* Whether every process is there that should be, and no other. */
bool realm_is_whole(const struct realm *realm);

/*
 * Send a signal to a process of the instance, and to no other one that has got its pid.
 *
 * ret_pidfd  of it, to be closed by the caller; may be NULL
 */
bool realm_signal(const struct realm *realm, pid_t pid, int signal, int *ret_pidfd);

#endif
