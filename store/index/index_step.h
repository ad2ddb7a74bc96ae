/*
 * Where a store may die while it changes an index. A test that compiles these sources with INDEX_STEPS is called at
 * each such place, and looks at what a next store would find. For the others they are fault points like all.
 */
#ifndef STORE_INDEX_STEP_H
#define STORE_INDEX_STEP_H

#ifdef INDEX_STEPS
#include <stdbool.h>
extern void (*index_step)(void);
#define INDEX_STEP()    index_step()
#define INDEX_HAS_STEPS true
#else
#include "base/fault/fault.h"
#define INDEX_STEP()    FAULT_STEP(index)
/* Whether anybody looks: what is hot asks once, for all its steps. */
#define INDEX_HAS_STEPS gr_fault_armed
#endif

#endif
