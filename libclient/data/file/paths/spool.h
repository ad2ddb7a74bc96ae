/*
 * What can be read once and by us alone, a pipe, a socket or stdin, is copied into a file that others open. It has no name
 * but /proc/PID/fd/N, and so ends with this process, whatever ends that.
 */
#ifndef DATA_FILE_SPOOL_H
#define DATA_FILE_SPOOL_H

#include "data/file/format.h"

/* Whether a name is that of a descriptor ("-" and /dev/stdin: stdin; /dev/fd/N), a pipe, a socket or a device. */
bool gr_spool_is_meant(const char *name);

/*
 * Read all of it, and wait for that. An Arrow stream becomes an Arrow file.
 *
 * again        what was read under that name, if there is some; of a descriptor always, for it can be read once
 * *ret_path    until the process ends
 * *ret_format  that the content tells; CSV when nothing else
 * Errors       EINVAL a terminal, nothing came, a damaged Arrow stream · ENOENT, EPERM, EIO, ENOSPC · ENOMEM
 */
granary_err gr_spool(const char *name, bool again, const char **ret_path, const struct gr_format **ret_format);

/* The last error names files as they were named. Returns err. */
granary_err gr_spool_unname(granary_err err);

#endif
