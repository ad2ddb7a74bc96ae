/* Executors found by number: there are few. */
#include "sched/core/executor.h"

#include "sched/core/manager.h"

struct executor *
executor_find(struct manager *manager, uint32_t number)
{
    for (size_t i = 0; i < manager->executors.count; i++) {
        if (manager->executors.items[i].number == number) {
            return &manager->executors.items[i];
        }
    }
    return NULL;
}
