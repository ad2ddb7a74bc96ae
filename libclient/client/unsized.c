/* The plain names of functions with structs that grow, for programs that look them up (base/unsized.h). */
#include "granary/hold.h"
#include "granary/session.h"
#include "granary/store.h"
#include "granary/stream.h"

/* From here on, rows are definitions. */
#include "base/unsized.h"

#include "granary/graph.h"
#include "granary/info.h"
#include "granary/read.h"
