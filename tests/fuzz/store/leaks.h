/* A client's map of segments is memory that the leak checker does not look into by itself. */
#ifndef FUZZ_STORE_LEAKS_H
#define FUZZ_STORE_LEAKS_H

#include "granary/store.h"

/* It does from now on, until the client is forgotten: before it is disconnected. */
void leaks_watch(const granary_client *client);
void leaks_forget(const granary_client *client);

#endif
