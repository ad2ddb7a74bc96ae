/* Names of machines, and attributes of nodes. */
#include "cli/cluster/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

const char *
node_name(char buffer[CHUNKS_NODE])
{
    const char *slurm = getenv("SLURMD_NODENAME");

    if (slurm != NULL && slurm[0] != '\0') {
        (void)snprintf(buffer, CHUNKS_NODE, "%s", slurm);
    } else if (gethostname(buffer, CHUNKS_NODE) < 0) {
        (void)snprintf(buffer, CHUNKS_NODE, "this machine");
    }
    buffer[CHUNKS_NODE - 1] = '\0';
    buffer[strcspn(buffer, ". /")] = '\0';
    return buffer;
}

granary_err
node_set(Granary__Node *node, Granary__Attr *attr)
{
    Granary__Attr **attrs;

    if (attr == NULL) {
        return gr_no_memory("graph");
    }
    for (size_t i = 0; i < node->n_attrs; i++) {
        if (strcmp(node->attrs[i]->name, attr->name) == 0) {
            granary__attr__free_unpacked(node->attrs[i], NULL);
            node->attrs[i] = attr;
            return GRANARY_OK;
        }
    }
    attrs = realloc(node->attrs, (node->n_attrs + 1) * sizeof *attrs);
    if (attrs == NULL) {
        granary__attr__free_unpacked(attr, NULL);
        return gr_no_memory("graph");
    }
    node->attrs = attrs;
    node->attrs[node->n_attrs++] = attr;
    return GRANARY_OK;
}
