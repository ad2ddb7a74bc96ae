/* A trace in memory, and the disk being made of it. */
#ifndef POWER_DISK_PRIVATE_H
#define POWER_DISK_PRIVATE_H

#include "power/disk.h"
#include "power/trace.h"

#define SECTOR 512u

struct operation {
    enum trace_kind kind;
    uint32_t task;
    int file; /* number of the file it is about; -1: none, or a directory */
    uint64_t at;
    uint64_t size;
    const char *path;
    const char *other;
    const char *bytes;
    size_t durable_at; /* the first point at which a sync has covered it; SIZE_MAX: never */
};

struct content {
    char *bytes;
    size_t size, room;
    bool mapped;
};

struct entry {
    const char *path;
    int file; /* -1: a directory */
};

struct disks {
    struct operation *operations;
    size_t count;
    struct content *contents; /* of each file there ever was */
    size_t file_count;
    struct entry *entries;
    size_t entry_count;
    bool *chosen, *torn; /* of each operation that is not durable, in order */
    size_t point;
    uint64_t notes_before;
    char last[256];
    char *trace, *texts;
};

#endif
