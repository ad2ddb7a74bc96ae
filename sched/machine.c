/* /proc, /sys, executors' pages and the roster of schedulers, read when somebody asks. */
#include "sched/machine.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process/roster.h"
#include "topology/topology.h"

#define SCHEDULERS_SHOWN 16

static int64_t
started_ms(pid_t pid)
{
    uint64_t ticks = gr_process_start_time(pid);
    struct timespec boot;

    if (ticks == 0) {
        return 0;
    }
    (void)clock_gettime(CLOCK_BOOTTIME, &boot);
    return gr_wall_ms() - ((int64_t)boot.tv_sec * 1000 + boot.tv_nsec / 1000000) +
           (int64_t)(ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

static bool
process(void *context, int64_t pid, struct host_process *ret_process)
{
    const struct gr_instance *instance = context;
    char path[64];
    char *text = NULL;
    size_t size;
    unsigned long long pages;

    *ret_process = (struct host_process){.started_ms = started_ms((pid_t)pid)};
    if (ret_process->started_ms == 0) {
        return false;
    }
    (void)snprintf(path, sizeof path, "/proc/%lld/statm", (long long)pid);
    if (gr_file_read(path, 4096, &text, &size) == GRANARY_OK && sscanf(text, "%*u %llu", &pages) == 1) {
        ret_process->rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    }
    free(text);
    ret_process->has_page = gr_executor_page_read(instance->runtime, pid, &ret_process->page) == GRANARY_OK &&
                            ret_process->page.start_time == gr_process_start_time((pid_t)pid);
    return true;
}

/* A line of a file below a NUMA node's folder; "" when it cannot be read. */
static void
node_text(int32_t node, const char *file, char *ret_text, size_t size)
{
    char path[96];
    char *text = NULL;
    size_t length;

    ret_text[0] = '\0';
    (void)snprintf(path, sizeof path, "/sys/devices/system/node/node%d/%s", node, file);
    if (gr_file_read(path, 65536, &text, &length) == GRANARY_OK) {
        (void)snprintf(ret_text, size, "%.*s", (int)strcspn(text, "\n"), text);
    }
    free(text);
}

/* A number of KiB behind a word of a node's meminfo. */
static uint64_t
node_memory(const char *meminfo, const char *word)
{
    const char *at = strstr(meminfo, word);
    unsigned long long kib;

    return at != NULL && sscanf(at + strlen(word), " %llu", &kib) == 1 ? kib * 1024 : 0;
}

/* What a topology file says of it; nobody knows how much of it is free. */
static bool
node_of_file(const struct topology *topology, int32_t number, struct host_node *ret_node)
{
    const struct topology_node *node;
    size_t used = 0;

    if (number < 0 || (size_t)number >= topology->count) {
        return false;
    }
    node = &topology->nodes[number];
    *ret_node = (struct host_node){.memory_bytes = node->memory_bytes, .free_bytes = node->memory_bytes};
    (void)topology_cpus(&node->cpus, ret_node->cpus, sizeof ret_node->cpus);
    for (size_t i = 0; i < topology->count; i++) {
        used += (size_t)snprintf(ret_node->distances + used, sizeof ret_node->distances - used, "%s%d",
                                 i == 0 ? "" : " ", node->distances[i]);
    }
    return true;
}

static bool
node(void *context, int32_t number, struct host_node *ret_node)
{
    struct topology topology;
    char path[96];
    char *text = NULL;
    size_t size;

    (void)context;
    if (topology_read(&topology) == GRANARY_OK && topology.from_file) {
        return node_of_file(&topology, number, ret_node);
    }
    *ret_node = (struct host_node){.memory_bytes = 0};
    node_text(number, "cpulist", ret_node->cpus, sizeof ret_node->cpus);
    node_text(number, "distance", ret_node->distances, sizeof ret_node->distances);
    (void)snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", number);
    if (gr_file_read(path, 65536, &text, &size) == GRANARY_OK) {
        ret_node->memory_bytes = node_memory(text, "MemTotal:");
        ret_node->free_bytes = node_memory(text, "MemFree:");
    }
    free(text);
    return ret_node->cpus[0] != '\0' || ret_node->memory_bytes > 0;
}

static bool
scheduler(void *context, size_t position, struct host_scheduler *ret_scheduler)
{
    const struct gr_instance *instance = context;
    struct gr_roster_entry entries[SCHEDULERS_SHOWN];
    const struct gr_roster_entry *entry = &entries[position];

    if (position >= SCHEDULERS_SHOWN || gr_roster_read(instance, entries, SCHEDULERS_SHOWN) <= position) {
        return false;
    }
    *ret_scheduler = (struct host_scheduler){
        .pid = entry->pid, .active = entry->active, .epoch = entry->epoch, .started_ms = started_ms((pid_t)entry->pid)};
    (void)snprintf(ret_scheduler->id, sizeof ret_scheduler->id, "%lld-%llu", (long long)entry->pid,
                   (unsigned long long)entry->start_time);
    return true;
}

uint32_t *
host_distances(uint32_t *ret_nodes)
{
    struct topology topology;
    uint32_t *rows;

    if (topology_read(&topology) != GRANARY_OK || topology.count < 2) {
        return NULL;
    }
    rows = calloc(topology.count * topology.count, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < topology.count * topology.count; i++) {
        rows[i] = topology.nodes[i / topology.count].distances[i % topology.count];
    }
    *ret_nodes = (uint32_t)topology.count;
    return rows;
}

struct manager_host
host_of_machine(struct gr_instance *instance)
{
    return (struct manager_host){.context = instance, .process = process, .node = node, .scheduler = scheduler};
}
