/*
 * The schedulers of an instance: each notes itself in <runtime>/schedulers/<pid>, whether it is the active one or waits
 * to become it. Whoever asks reads the files; what a killed one left is passed over.
 */
#ifndef BASE_PROCESS_ROSTER_H
#define BASE_PROCESS_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/instance.h"

#define GR_ROSTER "schedulers"

struct gr_roster_entry {
    int64_t pid;
    uint64_t start_time;
    bool active;
    uint64_t epoch; /* of the active one */
};

/* Note this process. Errors: errno's */
granary_err gr_roster_enter(const struct gr_instance *instance, bool active, uint64_t epoch);
/* Take this process's note away. */
void gr_roster_leave(const struct gr_instance *instance);

/* Those that live, the active one first. Returns how many there are; the first `room` of them are written. */
size_t gr_roster_read(const struct gr_instance *instance, struct gr_roster_entry *ret_entries, size_t room);

#endif
