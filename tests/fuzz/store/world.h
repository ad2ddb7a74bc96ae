/*
 * A store without threads, for fuzz targets: it takes its turns when the target, or a client of it that waits, lets it;
 * its workers' jobs run in the same thread (workers.c); and time passes only as it is told to. The same input does the
 * same, and what would hang ends with a message.
 *
 * Clients are real ones: where libgranary would sleep, the linker leads it here (see CMakeLists.txt), and the store is
 * given a turn instead.
 */
#ifndef FUZZ_STORE_WORLD_H
#define FUZZ_STORE_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/instance.h"
#include "granary/store.h"
#include "store/core/core.h"
#include "store/store.h"

struct world {
    char dir[64]; /* holds the instance and the spill files */
    char instance[80];
    char spill[80];
    char remote[80];
    struct gr_instance paths;
    struct store_options options;
    struct store *store;
    int stop_fd;
};

extern struct world world;

/* A private directory and a store in it. What is there at the program's end is swept away. */
void world_open(uint64_t memory_bytes, granary_levels levels);
/* Stop the store in order: nothing is left behind. */
void world_close(void);
/* The store dies as by kill -9; another takes over. */
void world_die(void);
void world_adopt(void);

/* Time stands still but for world_pass(), and calls that wait are the world's, between these two. */
void world_enter(void);
void world_leave(void);
void world_pass(int64_t ns);

/* One turn of the store. True: there may be more to do at once. */
bool world_turn(void);
/* Jobs wait for world_run_job(), also while a client waits, until it has waited for long. Ends with world_enter(). */
void world_hold_jobs(bool hold);
/* Run the nth of the jobs that wait, around the end. False: none does. */
bool world_run_job(unsigned nth);
/* Turns and jobs until nothing happens any more. */
void world_settle(void);

/* The account is what the segments are; else the program ends here. */
void world_audit(const char *after);

/* What must hold holds, or the program ends with the message. */
#define MUST(condition, ...)                                                                                           \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            world_fail(#condition, __VA_ARGS__);                                                                       \
        }                                                                                                              \
    } while (0)
void world_fail(const char *condition, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Open descriptors of this process. */
unsigned world_descriptors(void);

#endif
