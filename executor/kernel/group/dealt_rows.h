/*
 * Rows dealt to parts by the hash of their keys (rows_deal.c), and a part grouped (rows_part.c). A dealt frame has
 * the keys, the arguments and the hash; its columns are named by their position. Behind the frames of the parts comes
 * one for each string key. It has the key's dictionary, or no column, or an empty one of integers: then the
 * reference, the first input of both operators, has the dictionary. An encoded key is a column of codes.
 */
#ifndef KERNEL_GROUP_DEALT_ROWS_H
#define KERNEL_GROUP_DEALT_ROWS_H

#include <stdio.h>

#include "kernel/aggregate/table.h"

#define GROUP_DEALT_NAME 24

static inline void
group_dealt_name(size_t position, char name[GROUP_DEALT_NAME])
{
    (void)snprintf(name, GROUP_DEALT_NAME, "%zu", position);
}

/* Each part is a range of hashes. */
static inline uint32_t
group_part_of_hash(uint64_t hash, uint32_t parts)
{
    return (uint32_t)((hash >> 32) * parts >> 32);
}

/* Whether `texts` are positions of keys. Errors: EINVAL */
granary_err group_dealt_texts(const Granary__Attr *texts, const struct group_plan *plan);

#endif
