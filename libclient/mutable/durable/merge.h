/* merge: pieces of a durable table put together, so that there are few of them. */
#ifndef MUTABLE_DURABLE_MERGE_H
#define MUTABLE_DURABLE_MERGE_H

#include "mutable/table.h"

/* Pieces [first, last) were put: groups of pieces that are complete now become one each. What fails stays as it is. */
void pieces_merge(const granary_mutable *table, uint32_t first, uint32_t last);

#endif
