/*
 * Whether the scheduler answers, and when its graphs change: a thread waits for the next version of that table
 * (granary_info's since_version) while somebody watches. A scheduler that hangs keeps this thread alone waiting.
 */
#ifndef WEB_PULSE_H
#define WEB_PULSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/instance.h"

struct pulse;

struct heartbeat {
    const char *state; /* "answers", "silent": it runs, and has not answered for a while, "stopped", "gone" */
    int64_t silent_ms; /* since its last answer, while one is waited for */
    uint64_t version;  /* of graphs; 0: never heard of */
};

/* changed: called from the thread whenever the version is a new one. Errors: ENOMEM */
granary_err pulse_create(const struct gr_instance *instance, void (*changed)(void *context), void *context,
                         struct pulse **ret_pulse);
/* Waits for its thread a moment. False: it hangs, and nothing was freed. NULL is fine. */
bool pulse_destroy(struct pulse *pulse);

/* Nobody is asked anything while nobody watches. */
void pulse_watch(struct pulse *pulse, bool watched);
struct heartbeat pulse_read(struct pulse *pulse);

#endif
