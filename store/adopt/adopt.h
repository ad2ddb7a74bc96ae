/*
 * A store takes over what the one before it left when it died: sessions, objects, clients, files.
 *
 * Nothing is copied: the same shared memory goes on to be used, and readers notice nothing. What is private to a store
 * (accounts, maps, lists) is derived from what is there: the root, the index slots, the ledgers, and what spill files
 * say of themselves. Whatever makes no sense is dropped and logged; the rest is kept. Adoption itself may be killed
 * at any instruction, and is then done again.
 */
#ifndef STORE_ADOPT_H
#define STORE_ADOPT_H

#include "store/core/core.h"

/* Bytes of shared memory that the instance has already. */
uint64_t adopt_bytes(const struct gr_instance *instance);

/*
 * Take everything over. The root is open, and so are the level and what is watched; nobody is listened to yet. The
 * account is made here: capacity is what it may have, and more when there is more already.
 *
 * Errors: ENOMEM · EFULL · EIO the spill directory. What is there stays as it is, for the next try.
 */
granary_err adopt(struct store *store, uint64_t capacity);

/* All is ready: tell the clients, who may sleep until then. */
void adopt_announce(struct store *store);

#endif
