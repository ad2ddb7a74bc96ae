/* Pipes are spooled first, for what the graph then names is read by others. */
#include "cli/work/parsed.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/file/paths/spool.h"
#include "graph_json/json.h"

/* Pipes that nodes read become files; others cannot open ours. *ret_spooled: there were some */
static granary_err
spool_pipes(Granary__Graph *message, bool *ret_spooled)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < message->n_nodes && err == GRANARY_OK; i++) {
        const Granary__Node *node = message->nodes[i];
        const Granary__Attr *path = gr_attr_find(node->attrs, node->n_attrs, "path");
        const struct gr_format *format;
        const char *file = NULL;
        char *copy;

        if (strncmp(node->op, "read_", 5) != 0 || path == NULL || path->n_strings != 1 ||
            !gr_spool_is_meant(path->strings[0])) {
            continue;
        }
        err = gr_spool(path->strings[0], false, &file, &format);
        copy = err == GRANARY_OK ? strdup(file) : NULL;
        if (copy == NULL) {
            return err != GRANARY_OK ? gr_fail_in(err, "node '%s'", node->name)
                                     : gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        free(path->strings[0]);
        path->strings[0] = copy;
        *ret_spooled = true;
    }
    return err;
}

granary_err
parsed_read(const char *text, size_t size, bool *ret_spooled, struct parsed *ret_parsed)
{
    Granary__Graph *message = NULL;
    granary_err err = gr_graph_from_json(text, size, &message);

    if (err == GRANARY_OK && (err = spool_pipes(message, ret_spooled)) != GRANARY_OK) {
        granary__graph__free_unpacked(message, NULL);
    }
    if (err == GRANARY_OK) {
        err = message->level == GRANARY__GRAPH__LEVEL__CHUNK ? gr_chunk_graph_create(message, &ret_parsed->chunks)
                                                             : gr_graph_create(message, &ret_parsed->tileables);
        if (err != GRANARY_OK) {
            granary__graph__free_unpacked(message, NULL);
        } else {
            ret_parsed->message = message;
        }
    }
    return err;
}

void
parsed_free(struct parsed *parsed)
{
    gr_graph_destroy(parsed->tileables);
    gr_chunk_graph_destroy(parsed->chunks);
}
