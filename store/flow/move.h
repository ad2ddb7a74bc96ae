/*
 * Moves between levels, as clients ask for them.
 *
 * The store looks at a whole move each time something it waits for has happened. It begins what is still missing (a
 * copy, a restore). When nothing is missing, it drops the copies that shall go, and answers the client. So it does
 * not matter who else moves the object meanwhile.
 */
#ifndef STORE_MOVE_H
#define STORE_MOVE_H

#include "store/core/core.h"

/* What the store holds of it. */
struct moves {
    int64_t until_ns; /* when the first client that waits for a move is told that it takes longer */
};

void moves_init(struct moves *moves);

/* Answers at once, or when it is done. Returns the error of a peer that breaks the protocol. */
granary_err move_request(struct client *client, const struct gr_frame *request, const struct gr_move *move);

/* What moves of this object may have waited for has happened (OK), or has failed: the error is set. */
void moves_wake(struct session *session, granary_id id, granary_err err);

/* A turn of the loop: those who waited long enough are told. */
bool moves_turn(struct store *store, int64_t now_ns);
int64_t moves_next_ns(const struct store *store);

/* Forget those that nobody waits for, of a session that ends. */
void moves_forget(struct session *session);

#endif
