/*
 * A fence around user code on the executor's thread. It puts back what user code may have changed of the process. A
 * crash says in the captured output what crashed, and exit() cannot pass for a good end.
 */
#ifndef EXECUTOR_USER_GUARD_H
#define EXECUTOR_USER_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

/* Memory that is to be read only. */
struct guard_range {
    const void *begin;
    uint64_t size;
};

struct guard {
    int directory; /* the process's own, as a descriptor */
};

/* Once, at the start of the process: how it is now is how it will be put back. Errors: errno's */
granary_err guard_create(struct guard *guard);
void guard_destroy(struct guard *guard);

/*
 * User code begins on this thread.
 *
 * what       "function 'x'": borrowed, as are the ranges, until the end
 * inputs     count of them: a write there is reported as one
 * directory  where it runs, if it is there; NULL or "": where the process is
 */
void guard_begin(struct guard *guard, const char *what, const struct guard_range *inputs, size_t count,
                 const char *directory);

/* It has ended. Returns the most private memory the process had meanwhile, in bytes; 0: unknown. */
uint64_t guard_end(struct guard *guard);
/* After that: false when it cannot be put back, for limits of the process were lowered, or its descriptors used up. When
 * they were closed, the process ends here. */
bool guard_is_whole(const struct guard *guard);

#endif
