/*
 * handles: tables that a client opens for a single write, and keeps open for a moment. A handle that writes begins a chunk
 * and a block of the log, so many short writes through one handle take far less than through many.
 */
#ifndef MUTABLE_HANDLES_H
#define MUTABLE_HANDLES_H

#include "granary/mutable.h"

/* granary_mutable_open(), of a handle that was given back, if there is one. It is the caller's alone. */
granary_err handles_take(granary_client *client, const char *name, granary_mutable **ret_table);

/* In place of granary_mutable_close(): somebody may need it again soon. NULL is fine. */
void handles_give(granary_mutable *table);

#endif
