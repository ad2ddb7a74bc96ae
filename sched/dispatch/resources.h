/*
 * Named amounts an instance has so much of (`granary up --resource gpu=2`), and what subtasks need of them. A need is
 * granted all or nothing and given back as it was. Two names are built in: `slots`, executors a subtask occupies (1),
 * and `memory`, bytes of the store's budget it takes beside its inputs and outputs. Pure.
 */
#ifndef SCHED_DISPATCH_RESOURCES_H
#define SCHED_DISPATCH_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

#define NEED_NONE 0u /* one slot, and nothing else */

struct resource_amount {
    const char *name;
    uint64_t amount;
};

struct resources;

/* amounts: what there is; copied. Names that come twice add up. NULL: out of memory */
struct resources *resources_create(const struct resource_amount *amounts, size_t count);
void resources_destroy(struct resources *resources);

/*
 * The number of a need: the same for the same amounts.
 *
 * slots, memory_bytes  that there are; 0: not known, so that any is taken
 * Errors               EINVAL a name there is not, or more than there is: the message tells what exists · EFULL too
 *                      many different needs were seen · ENOMEM
 */
granary_err resources_need(struct resources *resources, const struct resource_amount *amounts, size_t count,
                           uint64_t slots, uint64_t memory_bytes, uint32_t *ret_need);

uint32_t resources_slots(const struct resources *resources, uint32_t need);  /* at least 1 */
uint64_t resources_memory(const struct resources *resources, uint32_t need); /* bytes */

/* Whether it can be granted now. */
bool resources_fit(const struct resources *resources, uint32_t need);
void resources_take(struct resources *resources, uint32_t need);
void resources_give_back(struct resources *resources, uint32_t need);

/* Whether granting `need` would take from what `waiting` waits for. */
bool resources_compete(const struct resources *resources, uint32_t need, uint32_t waiting);

/* The resources there are, slots and memory aside: their number, and of each what there is and what is granted. */
size_t resources_count(const struct resources *resources);
const char *
resources_at(const struct resources *resources, size_t position, uint64_t *ret_amount, uint64_t *ret_granted);
/* What a need is made of, as "2 gpu, 1 license"; "" for NEED_NONE. Cut to the room there is. */
void resources_describe(const struct resources *resources, uint32_t need, char *text, size_t room);

#endif
