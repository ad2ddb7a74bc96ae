/*
 * Colouring fusion: a colour is a subtask.
 *
 * In order, an operator takes the colour of its inputs when they all have the same one. It must also be compatible,
 * and the subtask must not grow too large. Otherwise it gets a fresh one. So a colour is closed: whatever its
 * operators after the first read was made inside, and no cycle between subtasks can arise. An input with many readers
 * is left outside, or the whole fan-out would run one after the other. A value read both inside and outside stays
 * inside and becomes an object, too. The outside waits for the end of the subtask, which costs less than another
 * subtask for each such reader.
 *
 * Columns selected from an object that is there already are no work: such an operator takes the colour of its only
 * reader.
 *
 * A join's probe takes the colour of the rows that come by, whatever made the other side, when nobody else reads that
 * colour. Nothing else then comes to depend on that side.
 *
 * Packed frames are parts of an object: other subtasks read them.
 *
 * User code is a subtask of its own, or shares one with others of its array that read the same; nothing is fused into
 * it. Objects that are there already have no subtask.
 *
 * Subtasks come in depth-first order from the roots: the inputs of each, in order, then itself. It is a topological
 * order, and one in which what was made is used up soon; it gives numbers and priorities.
 */
#ifndef FUSE_FUSE_H
#define FUSE_FUSE_H

#include "base/memory/region.h"
#include "tile/core/chunk.h"

#define GR_FUSE_NONE UINT32_MAX

struct gr_fused {
    uint32_t count;  /* subtasks */
    uint32_t *of;    /* by operator: its subtask; GR_FUSE_NONE when no root needs it, or it is there already */
    uint32_t *first; /* by subtask: where its operators begin in ops; count + 1 entries */
    uint32_t *ops;   /* operators by subtask, in order */
    struct gr_region *memory;
};

/*
 * Fuse the operators that the roots need.
 *
 * from    operators below it are left out (they were handed out before, and nothing needs their outputs)
 * roots   outputs that are wanted
 * Errors  ENOMEM
 */
granary_err gr_fuse(const struct gr_chunks *chunks, uint32_t from, const struct gr_piece *roots, size_t root_count,
                    struct gr_fused *ret_fused);
void gr_fused_free(struct gr_fused *fused);

#endif
