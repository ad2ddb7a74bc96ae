/* Time. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline int64_t
gr_now_ns(void) /* monotonic */
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t
gr_wall_ms(void) /* since the Unix epoch */
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A deadline on the monotonic clock from a timeout in ms; negative: INT64_MAX, never. */
static inline int64_t
gr_deadline_ns(int64_t timeout_ms)
{
    return timeout_ms < 0 || timeout_ms > INT64_MAX / 4000000 ? INT64_MAX : gr_now_ns() + timeout_ms * 1000000;
}

/* Wait for a condition until a deadline, whatever the wall clock is set to. Returns 0 or ETIMEDOUT. */
static inline int
gr_cond_wait_ns(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t deadline_ns)
{
    const struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};

    return pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &until);
}

/* What is left until a deadline, in ms rounded up, as poll() wants it: -1 never, else 0 to one day. */
static inline int
gr_left_ms(int64_t deadline_ns)
{
    int64_t left;

    if (deadline_ns == INT64_MAX) {
        return -1;
    }
    left = deadline_ns - gr_now_ns();
    if (left <= 0) {
        return 0;
    }
    left = (left + 999999) / 1000000;
    return left > 86400000 ? 86400000 : (int)left;
}

#endif
