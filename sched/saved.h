/* The file of saved results, <spill directory>/recalled: what outlives the instance (recall/saved.c has its content). */
#ifndef SCHED_SAVED_H
#define SCHED_SAVED_H

#include "base/instance.h"
#include "base/text/buf.h"
#include "granary/types.h"

struct manager;

/* Write it anew; without bytes it goes. Errors: errno's, logged */
granary_err saved_write(const struct gr_instance *instance, const struct gr_buf *bytes);
/* Tell the manager what is in it; what cannot be read is logged. */
void saved_read(const struct gr_instance *instance, struct manager *manager);

#endif
