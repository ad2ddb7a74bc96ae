/* What the store's tests share: one daemon per test, clients, objects whose content follows from their id. */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "granary/hold.h"
#include "granary/store.h"
#include "support/daemon.h"

/* cmocka setup: a daemon with 64 MiB of memory; *state is a struct daemon. Teardown asserts that nothing is left. */
int fixture_start(void **state);
int fixture_stop(void **state);

/* Kill -9 the daemon and start the next one in its place. */
void fixture_restart(void **state);

/*
 * The power goes: the daemon is killed and all shared memory gone, before anybody can do anything about it. It comes back: the
 * next daemon finds what was on disk. In between the test closes what it has of clients, which did not wait for another
 * store: fixture_connect_briefly() makes them.
 */
void fixture_power_off(void **state);
void fixture_power_on(void **state);
granary_client *fixture_connect_briefly(void **state);

/* Connect to the test's daemon; fails the test when that fails. */
granary_client *fixture_connect(void **state);

/* The id of number n. */
granary_id fixture_id(uint64_t n);

/* Put an object of size bytes whose content follows from n. */
granary_err fixture_put(granary_client *client, uint64_t n, uint64_t size, int flags);

/* Fill or check such content. */
void fixture_fill(void *bytes, uint64_t n, uint64_t size);
bool fixture_content_is(const void *bytes, uint64_t n, uint64_t size);

/* Get object n, check its size and content, release it. Fails the test when any of it fails. */
void fixture_check(granary_client *client, uint64_t n, uint64_t size);

/* The account: all parts add up to the capacity. Fails the test when they do not. */
granary_store_stat fixture_stat(granary_client *client);

/* Wait up to a minute until nobody writes and nothing is retiring, and clients connected are left. */
void fixture_settle(granary_client *client, uint64_t clients);

/* Wait for a child; its exit status, or 128 + the signal that ended it. */
int fixture_wait(pid_t pid);

#define assert_ok(expression)       fixture_assert_err((expression), GRANARY_OK, #expression, __FILE__, __LINE__)
#define assert_err(expression, err) fixture_assert_err((expression), (err), #expression, __FILE__, __LINE__)
void fixture_assert_err(granary_err got, granary_err want, const char *expression, const char *file, int line);

#endif
