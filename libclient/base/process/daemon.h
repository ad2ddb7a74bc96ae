/*
 * Common to every daemon of an instance. It stops on a signal, ends with the process that started it, and is the only
 * one of its kind. It says once, in one line on a pipe, how its start went:
 *
 *   READY\n  |  ERROR <exit status> <message>\n
 */
#ifndef BASE_PROCESS_DAEMON_H
#define BASE_PROCESS_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#include "granary/types.h"

/* The longest such line with its newline and a NUL. */
#define GR_DAEMON_LINE_MAX 1200

/* Say READY and close *fd, which becomes -1. -1 is fine: nobody asked. */
void gr_daemon_say_ready(int *fd);

/* The same with ERROR, err's exit status and the thread's message (or err's fixed sentence when there is none). */
void gr_daemon_say_error(int *fd, granary_err err);

/*
 * Understand what a daemon said.
 *
 * line         a newline at its end is cut off
 * ret_err      GRANARY_OK for READY, else an error with that exit status
 * ret_message  for an error: in line
 * Returns      false when it is no such line: the daemon ended before it knew
 */
bool gr_daemon_heard(char *line, granary_err *ret_err, const char **ret_message);

/*
 * SIGTERM and SIGINT make the returned descriptor readable from now on and interrupt nothing; SIGPIPE, SIGHUP and
 * SIGXFSZ are ignored. Threads inherit that: call it before there are any. Returns -1 with errno.
 */
int gr_daemon_open_stop(void);

/* As many descriptors as the process may have, for a client takes some. Returns how many; SIZE_MAX: no limit. */
size_t gr_daemon_raise_files(void);

/*
 * Have the kernel send a signal when the parent process ends.
 *
 * parent  getppid() as early as possible
 * Errors  ELOST it has ended already
 */
granary_err gr_daemon_follow(pid_t parent, int signal);

/*
 * Take a lock file, for as long as *ret_fd is open: the kernel lets go of it when its holder dies, however it dies.
 *
 * create      make the file when there is none
 * ret_holder  with EBUSY: the pid the file begins with, -1 when it holds none; may be NULL
 * Errors      EBUSY somebody holds it (no message set) · errno's
 */
granary_err gr_daemon_lock(const char *path, bool create, int *ret_fd, pid_t *ret_holder);

/*
 * The same, waiting until its holder lets go or dies: the kernel tells at once.
 *
 * stop_fd  readable: give up
 * Errors   ECANCELLED given up; the process should end: a thread still waits · errno's
 */
granary_err gr_daemon_lock_wait(const char *path, int stop_fd, int *ret_fd);

/* Replace what a lock file says. Errors: errno's */
granary_err gr_daemon_lock_write(int fd, const char *text);

/*
 * A pidfd of the process that a lock file names by pid and start time ("PID START\n"), -1 when none does or it has
 * ended. It becomes readable when that process ends.
 */
int gr_daemon_holder_open(const char *path);

#endif
