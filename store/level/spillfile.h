/* Spill files by path: the disk and the remote level are directories of them. */
#ifndef LEVEL_SPILLFILE_H
#define LEVEL_SPILLFILE_H

#include "store/level/level.h"

/*
 * Make the file at `path` from objects, under `partial` until it is complete.
 *
 * direct, durable  O_DIRECT where it can be had; fsync before the rename
 * the rest         as level_ops.write
 */
granary_err
spillfile_write(const char *path, const char *partial, bool direct, bool durable, const struct level_file *file,
                struct level_object *objects, size_t count, uint64_t allowance, uint64_t *ret_written);

/* As level_ops.read and .info. */
granary_err spillfile_read(const char *path, bool direct, const struct level_object *object, uint64_t from,
                           uint64_t size, struct level_cost *cost);
granary_err spillfile_info(const char *path, const struct level_object *object, struct level_record *ret_record);

#endif
