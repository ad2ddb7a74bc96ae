/* The machine's nodes by libnuma, and the pinning of threads to them. */
#include "topology/topology.h"

#include <numa.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "topology/parse.h"

#define FILE_MAX       (1 << 20)
#define DISTANCE_SELF  10
#define DISTANCE_OTHER 20

void
topology_default_distances(struct topology_node *nodes, size_t count, size_t node)
{
    for (size_t i = 0; i < count; i++) {
        nodes[node].distances[i] = i == node ? DISTANCE_SELF : DISTANCE_OTHER;
    }
}

/* ---- the machine ---- */

static void
read_cpus(int node, cpu_set_t *ret_cpus)
{
    struct bitmask *cpus = numa_allocate_cpumask();

    if (cpus != NULL && numa_node_to_cpus(node, cpus) == 0) {
        for (unsigned cpu = 0; cpu < cpus->size && cpu < CPU_SETSIZE; cpu++) {
            if (numa_bitmask_isbitset(cpus, cpu)) {
                CPU_SET(cpu, ret_cpus);
            }
        }
    }
    if (cpus != NULL) {
        numa_free_cpumask(cpus);
    }
}

static void
read_node(struct topology *topology, int number)
{
    struct topology_node *node = &topology->nodes[number];
    long long bytes = numa_node_size64(number, NULL);

    read_cpus(number, &node->cpus);
    node->memory_bytes = bytes > 0 ? (uint64_t)bytes : 0;
    topology_default_distances(topology->nodes, topology->count, (size_t)number);
    for (size_t i = 0; i < topology->count; i++) {
        int distance = numa_distance(number, (int)i);

        if (distance > 0 && distance <= UINT8_MAX) {
            node->distances[i] = (uint8_t)distance;
        }
    }
}

static void
read_machine(struct topology *topology)
{
    int last = numa_available() < 0 ? -1 : numa_max_node();

    topology->count = last < 0 ? 1 : last < TOPOLOGY_NODES_MAX ? (size_t)last + 1 : TOPOLOGY_NODES_MAX;
    for (int i = 0; last >= 0 && i < (int)topology->count; i++) {
        read_node(topology, i);
    }
    if (last < 0) {
        topology_default_distances(topology->nodes, 1, 0);
        (void)sched_getaffinity(0, sizeof topology->nodes[0].cpus, &topology->nodes[0].cpus);
    }
}

/* ---- reading ---- */

/* A node of a file may have no cpu that is here: then nothing can be bound, and it may run anywhere. */
static void
note_usable(struct topology *topology)
{
    cpu_set_t ours, both;
    bool known = sched_getaffinity(0, sizeof ours, &ours) == 0;

    for (size_t i = 0; i < topology->count; i++) {
        struct topology_node *node = &topology->nodes[i];

        CPU_AND(&both, &ours, &node->cpus);
        node->usable = topology->from_file || !known || CPU_COUNT(&both) > 0;
    }
}

granary_err
topology_read(struct topology *ret_topology)
{
    const char *name = getenv("GRANARY_TOPOLOGY");
    granary_err err;
    char *text;
    size_t size;

    memset(ret_topology, 0, sizeof *ret_topology);
    if (name == NULL || name[0] == '\0') {
        read_machine(ret_topology);
        note_usable(ret_topology);
        return GRANARY_OK;
    }
    err = gr_file_read(name, FILE_MAX, &text, &size);
    if (err == GRANARY_OK) {
        err = topology_parse(text, name, ret_topology);
        free(text);
    }
    return err;
}

granary_err
topology_parse(const char *text, const char *name, struct topology *ret_topology)
{
    granary_err err;

    memset(ret_topology, 0, sizeof *ret_topology);
    ret_topology->from_file = true;
    err = topology_parse_lines(text, name, ret_topology);
    note_usable(ret_topology);
    return err;
}

size_t
topology_usable(const struct topology *topology, int ret_nodes[TOPOLOGY_NODES_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < topology->count; i++) {
        if (topology->nodes[i].usable) {
            ret_nodes[count++] = (int)i;
        }
    }
    if (count == 0) {
        ret_nodes[count++] = 0;
    }
    return count;
}

const char *
topology_cpus(const cpu_set_t *cpus, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int cpu = 0; cpu < CPU_SETSIZE && used < size; cpu++) {
        int last = cpu;

        if (!CPU_ISSET(cpu, cpus)) {
            continue;
        }
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus)) {
            last++;
        }
        used += (size_t)snprintf(text + used, size - used, last == cpu ? "%s%d" : "%s%d-%d", used > 0 ? "," : "", cpu,
                                 last);
        cpu = last;
    }
    return text;
}

/* ---- where a process is ---- */

void
topology_pin_plan(const struct topology *topology, int node, struct topology_pin *ret_pin)
{
    int nodes[TOPOLOGY_NODES_MAX];

    memset(ret_pin, 0, sizeof *ret_pin);
    if (node < 0 || (size_t)node >= topology->count || (!topology->from_file && topology_usable(topology, nodes) < 2)) {
        return;
    }
    if (sched_getaffinity(0, sizeof ret_pin->cpus, &ret_pin->cpus) == 0) {
        CPU_AND(&ret_pin->cpus, &ret_pin->cpus, &topology->nodes[node].cpus);
        ret_pin->cpus_set = CPU_COUNT(&ret_pin->cpus) > 0;
    }
    if (!topology->from_file) {
        ret_pin->memory = 1ul << node;
        ret_pin->memory_set = true;
    }
}

void
topology_pin_apply(const struct topology_pin *pin)
{
    if (pin->cpus_set) {
        (void)sched_setaffinity(0, sizeof pin->cpus, &pin->cpus);
    }
    if (pin->memory_set) {
        (void)set_mempolicy(MPOL_PREFERRED, &pin->memory, TOPOLOGY_NODES_MAX + 1);
    }
}

int
topology_here(const struct topology *topology)
{
    int cpu = sched_getcpu();

    for (size_t i = 0; cpu >= 0 && cpu < CPU_SETSIZE && i < topology->count; i++) {
        if (CPU_ISSET(cpu, &topology->nodes[i].cpus)) {
            return (int)i;
        }
    }
    return 0;
}
