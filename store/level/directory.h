/* A directory of spill files: what the disk and the remote level have in common. */
#ifndef LEVEL_DIRECTORY_H
#define LEVEL_DIRECTORY_H

#include <stdatomic.h>

#include "store/level/level.h"

#define DIRECTORY_PATH 600

struct directory {
    char path[512];
    bool direct;                            /* O_DIRECT is worth a try */
    bool careful;                           /* every file is fsynced before it counts, not only persistent ones */
    atomic_bool rooted;                     /* the directories above it are known to be durable */
    _Atomic uint64_t moved_bytes, moved_ns; /* lately: what was written and read, and how long that took */
};

granary_err directory_open(const char *path, bool direct, bool careful, void **ret_self);

/* As the functions of level_ops. */
granary_err directory_probe(const struct level_options *options, struct level_capacity *ret_capacity);
void directory_close(void *self);
granary_err directory_write(void *self, const struct level_file *file, struct level_object *objects, size_t count,
                            uint64_t allowance, uint64_t *ret_written);
granary_err directory_read(void *self, uint32_t file, const struct level_object *object, uint64_t from, uint64_t size,
                           struct level_cost *cost);
granary_err
directory_info(void *self, uint32_t file, const struct level_object *object, struct level_record *ret_record);
int directory_open_file(void *self, uint32_t file, granary_err *ret_err);
void directory_remove(void *self, uint32_t file);
void directory_settle(void *self);
granary_err directory_scan(void *self, const struct level_visitor *visitor);
granary_err directory_records(void *self, uint32_t file, const struct level_visitor *visitor);
void directory_clear(void *self);
uint64_t directory_speed(void *self);

#endif
