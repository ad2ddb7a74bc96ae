/* Who keeps memory from being free: writers, leases, pins. */
#ifndef STORE_HOLDERS_H
#define STORE_HOLDERS_H

#include "store/core/core.h"

/* As the end of a sentence for a user: of others' sessions neither names nor reasons are told. */
void holders_describe(const struct store *store, uid_t reader, char *text, size_t size);

#endif
