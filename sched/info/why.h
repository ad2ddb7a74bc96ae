/*
 * Why something waits, as text for humans: what it waits for, who holds that, since when; a line for each link of the
 * chain, indented under what it explains. Reads the manager, changes nothing.
 */
#ifndef SCHED_INFO_WHY_H
#define SCHED_INFO_WHY_H

#include "base/text/buf.h"
#include "granary/types.h"

struct manager;

/*
 * subject  a graph's key, KEY/SUBTASK, or an object's id
 * Errors   ENOENT nothing of that name is known
 */
granary_err why_tell(struct manager *manager, const char *subject, struct gr_buf *out);

#endif
