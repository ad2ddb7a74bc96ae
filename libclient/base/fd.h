/* File descriptors and processes. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "granary/types.h"

/* Close and forget: *fd becomes -1. -1 is fine. errno is kept. */
void gr_fd_close(int *fd);

/* Write or read everything, through EINTR. Errors: errno's; read: EIO when the file ends early. */
granary_err gr_write_all(int fd, const void *bytes, size_t size);
granary_err gr_pread_all(int fd, void *bytes, size_t size, int64_t offset);
granary_err gr_pwrite_all(int fd, const void *bytes, size_t size, int64_t offset);

/* Give pages or blocks to a range of a file, through EINTR: touching it is no SIGBUS later. -1 with errno. */
int gr_fd_allocate(int fd, uint64_t at, uint64_t size);

/* A whole file in memory with a NUL behind it, to be freed. Errors: errno's, EFULL when larger than max_size. */
granary_err gr_file_read(const char *path, size_t max_size, char **ret_bytes, size_t *ret_size);

/* What is left of an open file, which is closed in any case. path is for messages. */
granary_err gr_fd_read(int fd, const char *path, size_t max_size, char **ret_bytes, size_t *ret_size);

/*
 * Whether nobody but this user, or root, has written an open file or directory. Errors: EPERM it is somebody else's, or
 * everybody may write it: the message tells which, and the remedy
 */
granary_err gr_fd_check_own(int fd, const char *path);

/* gr_file_read() of such a file alone; nobody is waited for. Errors: also EPERM; EINVAL no regular file, a link */
granary_err gr_file_read_own(const char *path, size_t max_size, char **ret_bytes, size_t *ret_size);

/* A pollable descriptor of a process, or -1 with errno. */
int gr_pidfd_open(pid_t pid);

/* The same of the process that started then, and no other with its number: -1 with errno, ESRCH when it has ended. */
int gr_process_open(pid_t pid, uint64_t start_time);

/* Whether the process of such a descriptor has ended. */
bool gr_pidfd_ended(int pidfd);

/* kill() of a process by such a descriptor: no other can be meant. -1 with errno. */
int gr_pidfd_signal(int pidfd, int signal);

/*
 * What /proc/PID/stat says behind the process's name: "S 1 ...", its state first (proc(5)). Within text, or NULL with
 * errno; EIO when it is not what it should be.
 */
#define GR_PROCESS_STAT 1024
const char *gr_process_stat(pid_t pid, char text[static GR_PROCESS_STAT]);

/* When the process started, in clock ticks since boot; 0 when there is none. pid + start time names a process for good.
 */
uint64_t gr_process_start_time(pid_t pid);
/* Whether it runs. One that has ended has its number until somebody has waited for it; in some containers nobody does. */
bool gr_process_lives(pid_t pid);

/*
 * Existing shared memory, or -1 with errno. /dev/shm is everybody's, so it must be a file of this user's that nobody
 * else may open. A file that another user put there first is EPERM.
 *
 * flags  O_RDONLY or O_RDWR
 */
int gr_shm_open(const char *name, int flags);

/* What errno says after gr_shm_open(): there is none, or none of ours. Else it cannot be told now: it may be there. */
bool gr_shm_is_missing(void);

/* mkdir -p with mode; an existing directory is fine when it is ours and not writable by others. Errors: errno's, EPERM
 */
granary_err gr_mkdir_private(const char *path);

/* The directories that lead to path are kept when the power goes, as far as this user may say so. Errors: errno's */
granary_err gr_sync_above(const char *path);

/* rm -rf below and including path, not crossing symlinks. */
void gr_remove_tree(const char *path);

#endif
