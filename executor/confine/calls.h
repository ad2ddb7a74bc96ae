/* The system calls a confined executor has no use for. They fail with EPERM. */
#ifndef EXECUTOR_CONFINE_CALLS_H
#define EXECUTOR_CONFINE_CALLS_H

#include "granary/types.h"

/* Of this thread, and all it starts. Errors: EPERM, ENOMEM */
granary_err confine_calls(void);

/* Of all threads, when the connections are there: no sockets any more but pairs, and no say about other processes. */
granary_err confine_calls_connections(void);

#endif
