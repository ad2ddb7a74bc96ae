/* Whether an instance's scheduler can answer, found out without asking it. */
#ifndef CLI_SCHEDULER_H
#define CLI_SCHEDULER_H

#include "base/instance.h"

/* Why it will not answer ("no scheduler runs", "the scheduler is stopped"), or NULL. */
const char *scheduler_trouble(const struct gr_instance *instance);

#endif
