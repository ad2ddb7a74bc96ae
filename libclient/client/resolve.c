/* Names and ids of objects in a graph's inputs, asked of the store before the graph is sent. */
#include "client/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "granary/hold.h"
#include "object/object.h"

#define NAME_PREFIX   "name:"
#define OBJECT_PREFIX "object:"

granary_err
gr_resolve_name(granary_client *client, const char *name, granary_id *ret_id)
{
    granary_id id;
    granary_err err = granary_name_get(client, name, &id);

    if (err == GRANARY_ENOENT) {
        id = granary_id_from_name(gr_client_session(client), name);
        err = granary_object_contains(client, id) ? GRANARY_OK : err;
    }
    if (err == GRANARY_OK) {
        *ret_id = id;
    }
    return err;
}

granary_err
gr_resolve_id(granary_client *client, const char *text, granary_id *ret_id)
{
    if (strncmp(text, NAME_PREFIX, strlen(NAME_PREFIX)) == 0) {
        return gr_resolve_name(client, text + strlen(NAME_PREFIX), ret_id);
    }
    /* A whole one need not be there yet: the graph tells when it is not there in time. */
    if (strlen(text) == GRANARY_ID_TEXT) {
        return granary_id_parse(text, GRANARY_ID_TEXT, ret_id);
    }
    return granary_object_find(client, text, ret_id);
}

/* Replace the text behind `prefix` by the whole id. */
static granary_err
resolve_text(granary_client *client, char **text, const char *prefix)
{
    size_t length = strlen(prefix);
    granary_id id;
    granary_err err = gr_resolve_id(client, *text + length, &id);
    char *whole;

    if (err != GRANARY_OK) {
        return err;
    }
    whole = malloc(length + GRANARY_ID_TEXT + 1);
    if (whole == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    memcpy(whole, prefix, length);
    granary_id_format(id, whole + length);
    free(*text);
    *text = whole;
    return GRANARY_OK;
}

static granary_err
resolve_ids(granary_client *client, const Granary__Node *node)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < node->n_attrs; i++) {
        Granary__Attr *attr = node->attrs[i];

        for (size_t k = 0; strcmp(attr->name, "ids") == 0 && k < attr->n_strings && err == GRANARY_OK; k++) {
            err = resolve_text(client, &attr->strings[k], "");
        }
    }
    return err;
}

static granary_err
resolve_inputs(granary_client *client, Granary__Node *node)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < node->n_inputs && err == GRANARY_OK; i++) {
        if (strncmp(node->inputs[i], OBJECT_PREFIX, strlen(OBJECT_PREFIX)) == 0) {
            err = resolve_text(client, &node->inputs[i], OBJECT_PREFIX);
        }
    }
    return err;
}

granary_err
gr_resolve_objects(granary_client *client, Granary__Graph *graph)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        Granary__Node *node = graph->nodes[i];
        granary_err err = GRANARY_OK;

        if (graph->level == GRANARY__GRAPH__LEVEL__CHUNK) {
            err = resolve_inputs(client, node);
        } else if (strcmp(node->op, "object") == 0 || strcmp(node->op, "table") == 0) {
            err = resolve_ids(client, node);
        }
        if (err != GRANARY_OK) {
            return gr_fail_in(err, "node '%.100s' (%.40s)", node->name, node->op);
        }
    }
    return GRANARY_OK;
}
