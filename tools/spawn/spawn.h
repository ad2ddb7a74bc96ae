/*
 * A store of one's own: in a fresh directory, with this process for its parent; and commands of granary. For what
 * measures or torments.
 */
#ifndef SPAWN_SPAWN_H
#define SPAWN_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

struct spawned {
    char directory[64]; /* the instance; it spills there, too */
    const char *memory; /* its budget as text; NULL: the default */
    pid_t pid;          /* 0: none runs */
    /* For tests, all zero else: */
    const char *program;          /* path; NULL: granary-store of $GRANARY_BIN, or from beside this program */
    const char *const *arguments; /* further ones, NULL-terminated */
    uid_t user;                   /* it runs as this uid and gid; 0: as this process */
};

/*
 * Start granary-store of $GRANARY_BIN, or from beside this program, in a fresh directory below /tmp, and wait until it
 * is ready. It ends with this process. False: nothing is left, and why was said on stderr.
 *
 * memory  kept by pointer
 */
bool spawn_start(struct spawned *spawned, const char *memory);

/* Kill it -9; everything stays as it lies. */
void spawn_kill(struct spawned *spawned);
/* Start the next one in the same directory. */
bool spawn_again(struct spawned *spawned);
/* The same without waiting until it is ready. */
bool spawn_blindly(struct spawned *spawned);

/* Stop it in good order and remove the directory. False: it did not end well. */
bool spawn_stop(struct spawned *spawned);

/*
 * Run `granary ARGUMENT...` (of $GRANARY_BIN, or this program) and wait for it; what it prints to stdout is not wanted.
 *
 * arguments  ended by NULL
 * Returns    whether its exit status was 0
 */
bool spawn_granary(const char *const *arguments);

/*
 * The same without waiting for it: it ends with this thread at the latest. Returns its pid; -1: errno.
 *
 * output  file that what it prints, and its errors, are added to; NULL: what it prints is not wanted
 */
pid_t spawn_command(const char *const *arguments, const char *output);

/* rm -rf */
void spawn_remove_directory(const char *path);

#endif
