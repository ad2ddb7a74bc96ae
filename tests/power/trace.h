/*
 * A trace of what programs did to the files below one directory: what recorder.c, preloaded into them, appends to a
 * file, and what disk.c reads. One record an operation, in the order in which they were done; a sync has two, for only
 * what was done before it began is durable when it has ended.
 */
#ifndef POWER_TRACE_H
#define POWER_TRACE_H

#include <stdint.h>

enum trace_kind {
    TRACE_CREATE = 1, /* path, inode */
    TRACE_MKDIR,      /* path */
    TRACE_RENAME,     /* path to other, inode */
    TRACE_UNLINK,     /* path */
    TRACE_RMDIR,      /* path */
    TRACE_WRITE,      /* inode, at, the bytes */
    TRACE_SIZE,       /* inode, at: the size from now on */
    TRACE_RESERVE,    /* inode, at: the size is no less from now on */
    TRACE_SYNC_BEGIN, /* path, inode (of a directory: 0), task */
    TRACE_SYNC_END,   /* task */
    TRACE_MAPPED,     /* path, inode: written through memory, of which nothing is known */
    TRACE_UNKNOWN,    /* path: something else was done to it; this trace is of no use */
    TRACE_NOTE,       /* path: what the scenario was promised */
};

/* Paths are relative to the directory and have no NUL here; the directory itself is "". */
struct trace_record {
    uint32_t kind;
    uint32_t task;
    uint64_t inode;
    uint64_t at;
    uint32_t path_size;
    uint32_t other_size;
    uint64_t size; /* of the bytes behind both paths */
};

/* The environment of the programs to be recorded. */
#define TRACE_FILE_VARIABLE "CRASH_TRACE"
#define TRACE_ROOT_VARIABLE "CRASH_ROOT"

#endif
