/*
 * Processes that own graphs, each known by pid and start time. A descriptor tells the end of one; its graphs are
 * deleted then. A process stays known until it ends, also when it owns nothing any more.
 */
#ifndef SCHED_OWNERS_H
#define SCHED_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/granary.pb-c.h"

struct manager;
struct owners;

/* NULL: out of memory. manager is borrowed. */
struct owners *owners_create(struct manager *manager);
void owners_destroy(struct owners *owners);

/* Write into a submission which process owns it: `pid`, as the kernel says, if it is to be owned at all. false: that
 * process has ended. One that cannot be watched owns nothing, which is logged. */
bool owners_sign(struct owners *owners, int64_t pid, Granary__Submit *submit);

/* Watch those that own graphs of an earlier scheduler; the graphs of those that have ended are deleted. */
void owners_restore(struct owners *owners, int64_t now_ns);

/* The descriptors of all: writes at most `room`, returns how many there are. */
size_t owners_fds(const struct owners *owners, int *fds, size_t room);
/* A descriptor is readable, perhaps one of these. */
void owners_process_ended(struct owners *owners, int pidfd, int64_t now_ns);

#endif
