#include "executor/topology.h"

#include <numa.h>
#include <sched.h>
#include <stdbool.h>

/* Whether this process may run on some cpu of the node. */
static bool
node_has_cpus(int node)
{
    struct bitmask *cpus = numa_allocate_cpumask();
    bool any = false;

    if (cpus != NULL && numa_node_to_cpus(node, cpus) == 0) {
        for (unsigned cpu = 0; !any && cpu < cpus->size; cpu++) {
            any = numa_bitmask_isbitset(cpus, cpu) && numa_bitmask_isbitset(numa_all_cpus_ptr, cpu);
        }
    }
    if (cpus != NULL) {
        numa_free_cpumask(cpus);
    }
    return any;
}

size_t
topology_nodes(int ret_nodes[TOPOLOGY_NODES_MAX])
{
    size_t count = 0;

    if (numa_available() >= 0) {
        for (int node = 0; node <= numa_max_node() && count < TOPOLOGY_NODES_MAX; node++) {
            if (node_has_cpus(node)) {
                ret_nodes[count++] = node;
            }
        }
    }
    if (count == 0) {
        ret_nodes[count++] = 0;
    }
    return count;
}

int
topology_here(void)
{
    int node = numa_available() >= 0 ? numa_node_of_cpu(sched_getcpu()) : 0;

    return node < 0 ? 0 : node;
}

void
topology_pin(int node)
{
    int nodes[TOPOLOGY_NODES_MAX];

    if (topology_nodes(nodes) > 1) {
        (void)numa_run_on_node(node);
        numa_set_preferred(node);
    }
}
