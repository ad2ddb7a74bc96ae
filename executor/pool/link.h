/*
 * The pool's word with the scheduler: it tells how many slots there are and which processes ended and why, and hears
 * what is wanted of it. What it tells is told again to each new scheduler, so that no death is lost between two of
 * them.
 */
#ifndef EXECUTOR_POOL_LINK_H
#define EXECUTOR_POOL_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dealer/dealer.h"
#include "granary/types.h"
#include "schema/granary.pb-c.h"

struct pool_link;

/* Errors: as gr_instance_resolve() · ENOMEM */
granary_err pool_link_open(const char *instance, struct pool_link **ret_link);
void pool_link_close(struct pool_link *link); /* NULL is fine */

/* To wait for. It changes when the scheduler does. */
struct gr_dealer *pool_link_socket(const struct pool_link *link);

/* How many slots have or will have a process, and how many of each node. Sent when it changed. */
void pool_link_slots(struct pool_link *link, uint32_t slots, const uint32_t *of_node, size_t nodes);

/* A process has ended; status as of waitpid(). Sent at once. */
void pool_link_death(struct pool_link *link, pid_t pid, uint64_t start_time, int status);

/* Look whether another scheduler has come: it is told everything again. To be called now and then: */
void pool_link_look(struct pool_link *link);
/* ... when this descriptor is readable (the scheduler ended; -1: none is known), or after so long. */
int pool_link_fd(const struct pool_link *link);
int pool_link_patience_ms(const struct pool_link *link);

/* The next order, to be freed with granary__to_executor__free_unpacked(); NULL: none. */
Granary__ToExecutor *pool_link_next(struct pool_link *link);

#endif
