/* Memory that processes of a run share, and that outlives each of them. */
#ifndef TORTURE_SHARED_H
#define TORTURE_SHARED_H

#include <stddef.h>

/* Zeros, shared with processes that are forked later, backed by a file in that directory that is gone at once; what is
 * never touched takes nothing. NULL: errno */
void *shared_map(const char *directory, size_t size);
/* NULL is fine. */
void shared_unmap(void *memory, size_t size);

#endif
