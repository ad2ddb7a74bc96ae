/*
 * A whole store in a thread of the test, on a private instance; stopping it checks that nothing is left behind. What a
 * failed test did not stop is swept away when the program ends.
 */
#ifndef TESTS_STORE_LIVE_H
#define TESTS_STORE_LIVE_H

#include <pthread.h>

#include "base/instance.h"
#include "granary/store.h"
#include "store/store.h"

struct live {
    char dir[64]; /* holds the instance and the spill files */
    char instance[80];
    char spill[80];
    char remote[80];
    struct gr_instance paths;
    struct store_options options;
    struct store *store;
    pthread_t thread;
    int stop_fd;
    bool halted; /* the store is there, and its thread is not */
};

/* A private directory, no store yet. */
void live_init(struct live *live);
void live_fini(struct live *live);

void live_start(struct live *live, uint64_t memory_bytes, uint64_t disk_quota_bytes);
/* With these levels; 0: as live_start(). */
void live_start_levels(struct live *live, uint64_t memory_bytes, uint64_t disk_quota_bytes, granary_levels levels);
/* The same in two steps: options that a test may change, and a store with them. */
void live_options(struct live *live, uint64_t memory_bytes, uint64_t disk_quota_bytes, granary_levels levels);
void live_begin(struct live *live);
/* Stop in order: what is persistent stays for another live_begin(). */
void live_end(struct live *live);
/* Both of these. */
void live_restart(struct live *live);
/* End the store's thread, and nothing else: the store is the test's to look at, until it is stopped. */
void live_halt(struct live *live);
/* Stop, audit the account, destroy: no shared memory, socket or spill file is left. */
void live_stop(struct live *live);

/*
 * A store with two clients, for tests that begin with that: setup is a function that calls live_world_setup(), teardown
 * is live_world_teardown(); *state is the world.
 */
struct live_world {
    struct live live;
    granary_client *client;
    granary_client *other;
};
int live_world_setup(void **state, uint64_t memory_bytes);
int live_world_teardown(void **state);

granary_client *live_connect(const struct live *live, const char *session);

/* How many shared-memory files the instance has. */
int live_shm_files(const struct live *live);

/* The n-th id of a test. */
granary_id live_id(uint64_t n);

/* Bytes that differ from object to object and compress a little. */
void live_fill(void *bytes, size_t size, uint64_t n);

/* Put object n of that size and its contents; get it and compare. */
granary_err live_put(granary_client *client, uint64_t n, size_t size);
granary_err live_verify(granary_client *client, uint64_t n, size_t size);

/* How much holds object n; until it is so much; until the object is gone: else the test fails. */
size_t live_holds(granary_client *client, uint64_t n);
void live_await_holds(granary_client *client, uint64_t n, size_t count);
void live_await_gone(granary_client *client, uint64_t n);

#endif
