/* The end of a session: asked for, or because nobody used it for long. */
#ifndef STORE_TEARDOWN_H
#define STORE_TEARDOWN_H

#include "store/core/core.h"

/*
 * Delete a session: from now on nobody finds it, its clients are gone, and its objects too. What a worker still reads
 * or writes for it goes when that is done, at a later turn of the loop.
 */
void session_delete(struct session *session);

/* A turn of the loop: finish deleted sessions, delete those that are idle. */
bool teardown_turn(struct store *store, int64_t now_ns);

/* When the next session becomes idle for too long; INT64_MAX: none. */
int64_t teardown_next_ns(const struct store *store);

/* Unlink a session's segments and forget its objects. Nobody's mapping breaks: the pages go with the last of them. */
void session_destroy_segments(struct session *session);

#endif
