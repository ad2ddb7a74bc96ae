/* Which subjects have changed. */
#include "sched/core/changes.h"

#include "sched/core/manager.h"

void
info_changed(struct manager *manager, uint32_t subjects)
{
    manager->changed |= subjects;
}
