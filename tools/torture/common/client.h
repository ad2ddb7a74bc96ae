/* What clients of a store that is killed again and again have in common. */
#ifndef TORTURE_CLIENT_H
#define TORTURE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "granary/store.h"

/* On a busy machine each start of a store takes its time. */
#define CLIENT_PATIENCE_MS 120000

/* Connect, also while the store is just being started. Errors: as granary_connect() */
granary_err client_connect(const char *instance, int patience_ms, granary_client **ret_client);

/* Whether the account's parts add up to the capacity. */
bool client_account(granary_client *client, granary_store_stat *ret_stat);

/* Say on stderr which objects the session has. Returns how many; SIZE_MAX: that cannot be told. */
size_t client_say_objects(granary_client *client);

/* Wait until no byte of any object is left. False: some are, after ten seconds; said how many. */
bool client_await_empty(granary_client *client);

#endif
