/* The plain names of functions with structs that grow, for programs that look them up (base/unsized.h). */
#include "granary/graph.h"

/* From here on, rows are definitions. */
#include "base/unsized.h"

#include "granary/cut.h"
