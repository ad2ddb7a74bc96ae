/* Delete: an object with all that it contains, however deep. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "granary/hold.h"
#include "object/client.h"

/* Containers and what they contain, in the order of the containers. */
struct edges {
    granary_hold *holds; /* those of other kinds are behind count */
    size_t count;
};

struct tree {
    granary_id *ids;
    size_t count, room;
};

static int
compare(const void *a, const void *b)
{
    const granary_hold *one = a;
    const granary_hold *other = b;

    return memcmp(one->container.bytes, other->container.bytes, GRANARY_ID_BYTES);
}

static granary_err
read_edges(granary_client *client, struct edges *edges)
{
    size_t all = 0;
    granary_err err = granary_holds(client, NULL, &edges->holds, &all);

    for (size_t i = 0; err == GRANARY_OK && i < all; i++) {
        if (edges->holds[i].kind == GRANARY_HOLD_CONTAINER) {
            edges->holds[edges->count++] = edges->holds[i];
        }
    }
    if (edges->count > 1) {
        qsort(edges->holds, edges->count, sizeof *edges->holds, compare);
    }
    return err;
}

/* The first edge of a container, or where it would stand. */
static size_t
first_of(const struct edges *edges, granary_id container)
{
    size_t low = 0;
    size_t high = edges->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (memcmp(edges->holds[middle].container.bytes, container.bytes, GRANARY_ID_BYTES) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Contents are made before their container, so no object is below itself; one may be below several. */
static granary_err
add(struct tree *tree, granary_id id)
{
    granary_id *grown;

    for (size_t i = 0; i < tree->count; i++) {
        if (gr_id_equal(tree->ids[i], id)) {
            return GRANARY_OK;
        }
    }
    if (tree->count == tree->room) {
        tree->room = tree->room * 2 + 64;
        grown = reallocarray(tree->ids, tree->room, sizeof *grown);
        if (grown == NULL) {
            return gr_fail(GRANARY_ENOMEM, "delete: out of memory");
        }
        tree->ids = grown;
    }
    tree->ids[tree->count++] = id;
    return GRANARY_OK;
}

granary_err
granary_object_delete_tree(granary_client *client, granary_id id, size_t *ret_count)
{
    struct edges edges = {.holds = NULL};
    struct tree tree = {.ids = NULL};
    granary_err err = gr_client_check(client);

    *ret_count = 0;
    if (err == GRANARY_OK && !granary_object_contains(client, id)) {
        err = gr_fail(GRANARY_ENOENT, "object %s: not found", id_text(id));
    }
    err = err == GRANARY_OK ? read_edges(client, &edges) : err;
    err = err == GRANARY_OK ? add(&tree, id) : err;
    for (size_t at = 0; err == GRANARY_OK && at < tree.count; at++) {
        granary_id container = tree.ids[at];

        for (size_t i = first_of(&edges, container);
             err == GRANARY_OK && i < edges.count && gr_id_equal(edges.holds[i].container, container); i++) {
            err = add(&tree, edges.holds[i].id);
        }
    }
    if (err == GRANARY_OK) { /* those of counted lifetime went with their container */
        err = granary_object_delete_many(client, tree.ids, tree.count, NULL);
        err = err == GRANARY_ENOENT ? GRANARY_OK : err;
        *ret_count = err == GRANARY_OK ? tree.count : 0;
    }
    free(edges.holds);
    free(tree.ids);
    return err;
}
