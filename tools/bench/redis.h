/* redis: a redis-server of one's own, on a unix socket. */
#ifndef BENCH_REDIS_H
#define BENCH_REDIS_H

#include <stdbool.h>
#include <sys/types.h>

#define REDIS_PEER "Redis (redis-server in PATH)"

/* Whether redis-server is in PATH. */
bool redis_is_there(void);

/*
 * Start one that keeps its files in a directory, and ends with this thread at the latest.
 *
 * everysec  each write goes to its append-only file, which is synchronized once a second; false: nothing is kept
 * ret_pid   for redis_stop()
 * Returns   a connection to it; -1: it did not come up within 5 s
 */
int redis_start(const char *directory, bool everysec, pid_t *ret_pid);
/* Another connection to it; -1: it cannot be reached. */
int redis_connect(const char *directory);
/* A pid of 0 is fine. */
void redis_stop(pid_t pid);

#endif
