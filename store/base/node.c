/* NUMA nodes as the store uses them: numbered from 0, bound or only told apart. */
#include "store/base/node.h"

#include <numaif.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "topology/topology.h"

#define NODES_MOST 256u /* what a slot can tell */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned nodes = 1;
static bool pretended;

static void
look(void)
{
    const char *text = getenv("GRANARY_TEST_NODES");
    long count = text == NULL ? 0 : strtol(text, NULL, 10);
    struct topology topology;

    pretended = count > 0;
    if (count <= 0 && topology_read(&topology) == GRANARY_OK) {
        count = (long)topology.count;
        pretended = topology.from_file;
    }
    nodes = count < 1 ? 1 : count > (long)NODES_MOST ? NODES_MOST : (unsigned)count;
}

unsigned
node_count(void)
{
    (void)pthread_once(&once, look);
    return nodes;
}

unsigned
node_of(int wish)
{
    return wish < 0 || (unsigned)wish >= node_count() ? 0 : (unsigned)wish;
}

void
node_bind(void *base, size_t size, unsigned node)
{
    unsigned long mask[NODES_MOST / (8 * sizeof(unsigned long))] = {0};

    if (node_count() == 1 || pretended) {
        return;
    }
    mask[node / (8 * sizeof mask[0])] = 1ul << node % (8 * sizeof mask[0]);
    /* A wish: without it pages come from where the writer runs. */
    (void)mbind(base, size, MPOL_PREFERRED, mask, NODES_MOST, 0);
}

void
node_bind_file(int fd, size_t size, unsigned node)
{
    void *base;

    if (node_count() == 1 || pretended) {
        return;
    }
    base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base != MAP_FAILED) {
        node_bind(base, size, node);
        (void)munmap(base, size);
    }
}
