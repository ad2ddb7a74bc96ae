/*
 * Strangers: those who have connected and have not said HELLO. Each holds a place and descriptors, so they are given a
 * few seconds, and when there is no place left, the one that came first makes room.
 */
#ifndef STORE_GREETING_H
#define STORE_GREETING_H

#include "store/core/core.h"

/* It has connected. Its greeting ends when it joins a session or is dropped. */
void greeting_await(struct client *client, int64_t now_ns);

/* All places are taken: drop the stranger who came first. False: there is none. */
bool greeting_cut_short(struct store *store);

/* Drop those whose time is over. */
bool greeting_turn(struct store *store, int64_t now_ns);

/* When that is for the next one; INT64_MAX: there is none. */
int64_t greeting_next_ns(const struct store *store);

#endif
