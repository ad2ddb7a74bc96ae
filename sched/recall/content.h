/*
 * Content keys: two targets of one key are the same rows. A key is a hash of the operators that lead to the target, their
 * parameters, and the identity of what they read.
 *
 *   a file               device, inode, size, times of its last change (mtime and ctime, in ns)
 *   a folder, a pattern  the names of its files, and what each of these is
 *   a stored table       the graph that made it, and the ids of its chunks
 *   a table that changes  which one, and the time of the cut: that of its last write
 *
 *   a function           its library's bytes and its name, when the user says that it is deterministic
 *
 * Names of nodes are no part of it, nor is the text of a query. Operators whose results or effects nobody can tell ahead
 * have no key, nor has what depends on them: other user code, writing, objects of clients.
 */
#ifndef SCHED_RECALL_CONTENT_H
#define SCHED_RECALL_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"
#include "schema/granary.pb-c.h"

struct content;

/* Who made what a graph made: the same for all graphs that have the same results from one. */
typedef granary_id content_origin(void *context, uint32_t serial);

/*
 * Of a submission that is bound: its tables are named, its functions have versions.
 *
 * unix_ms  the time: a file changed less than 2 s before may change again without a later time, and has no key
 * Returns  NULL: nothing of it has a key (or there is no memory)
 */
struct content *content_create(const Granary__Submit *submit, int64_t unix_ms, content_origin *origin, void *context);
void content_destroy(struct content *content); /* NULL is fine */

/* The key of the target of that name; all zero: it has none. */
granary_id content_of(const struct content *content, const char *target);

/* The key of a node that a target needs; false: it has none. */
bool content_of_node(const struct content *content, const char *node, granary_id *ret_key);

/* Whether all files that it reads are what they were at its creation. */
bool content_holds(const struct content *content);

#endif
