/* The programs that a run's instance is started from: copies in a directory of its own, so that a package can replace them. */
#ifndef TORTURE_PROGRAMS_H
#define TORTURE_PROGRAMS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct programs {
    char from[PATH_MAX]; /* where those of this run are */
    char into[PATH_MAX]; /* "": nothing was installed */
};

/*
 * Install this run's programs in bin/ of a directory, and have all that is started from now on run from there. The Python
 * package is beside it, where it is beside this run's programs. False: why was said on stderr.
 */
bool programs_begin(struct programs *programs, const char *directory);

/* As a package is unpacked: other files, of the same contents, take the places of those that run. False: said why. */
bool programs_install(const struct programs *programs);

/* Whether a process runs a file whose place another one has taken. */
bool programs_replaced(pid_t pid);

#endif
