/* Something that another process does to a table, and that its death cuts short at any instruction. */
#ifndef STORE_MUTABLE_KILLED_H
#define STORE_MUTABLE_KILLED_H

#include "granary/mutable.h"

typedef void killed_deed(granary_mutable *table, void *context);

/*
 * Do it in a child of its own client and handle. The child is killed -9 after so many instructions; when it is done before, it
 * ends by itself. Returns whether it was killed.
 */
bool killed_do(void **state, const char *table, killed_deed *deed, void *context, uint64_t instructions);

#endif
