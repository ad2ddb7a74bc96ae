/* How much memory and how many cpus this process may have. */
#ifndef BASE_PROCESS_LIMITS_H
#define BASE_PROCESS_LIMITS_H

#include <stdint.h>

struct gr_memory_limits {
    uint64_t cgroup;   /* bytes; UINT64_MAX: none */
    uint64_t ram;      /* ... of the machine */
    uint64_t shm;      /* ... that /dev/shm may hold */
    uint64_t shm_free; /* ... of it that nobody uses */
};

/* What cannot be found out is no limit. */
struct gr_memory_limits gr_memory_limits(void);

/* The smallest of the limits, and what it is called: "cgroup", "RAM" or "/dev/shm". ret_name may be NULL. */
uint64_t gr_memory_least(const struct gr_memory_limits *limits, const char **ret_name);

/* What a store takes when nobody says: half of the least limit, but not more than /dev/shm has free. *ret_why: in
 * words. */
uint64_t gr_memory_default_of(const struct gr_memory_limits *limits, const char **ret_why);
uint64_t gr_memory_default(void);

/* Those it may run on, which can be fewer than the machine has; at least 1. */
int gr_usable_cpus(void);

#endif
