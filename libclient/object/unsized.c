/* The plain names of functions with structs that grow, for programs that look them up (base/unsized.h). */
#include "base/unsized.h"

#include "granary/hold.h"
#include "granary/session.h"
#include "granary/stream.h"
