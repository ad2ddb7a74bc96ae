/* A graph as JSON, read and checked before anything is started. */
#ifndef CLI_PARSED_H
#define CLI_PARSED_H

#include <stdbool.h>

#include "graph/chunk/graph.h"
#include "graph/graph.h"

/* A graph that was checked, of either level. */
struct parsed {
    struct gr_graph *tileables;
    struct gr_chunk_graph *chunks;
    Granary__Graph *message; /* of one of them; its targets are all there are */
};

/*
 * Checked here as well, so that a graph that cannot run is refused before anything is started.
 *
 * ret_spooled  set when the graph names pipes: they became files
 * ret_parsed   to be freed with parsed_free()
 * Errors       EINVAL what is wrong with the graph · as gr_spool() · ENOMEM
 */
granary_err parsed_read(const char *text, size_t size, bool *ret_spooled, struct parsed *ret_parsed);
/* All zero is fine. */
void parsed_free(struct parsed *parsed);

#endif
