/*
 * What a graph names, settled before it is sent: names and ids of objects are asked of the store, and tables that change
 * are cut.
 */
#include "client/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "client/tables.h"
#include "granary/hold.h"
#include "granary/info.h"
#include "granary/mutable.h"
#include "graph/graph.h"
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

/* ---- all of it ---- */

granary_err
gr_resolve_objects(granary_client *client, Granary__Graph *graph, struct gr_snapshots *snapshots)
{
    bool tables = false;

    for (size_t i = 0; i < graph->n_nodes; i++) {
        Granary__Node *node = graph->nodes[i];
        granary_err err = GRANARY_OK;

        if (graph->level == GRANARY__GRAPH__LEVEL__CHUNK) {
            err = resolve_inputs(client, node);
        } else if (strcmp(node->op, "object") == 0 || strcmp(node->op, "table") == 0) {
            err = resolve_ids(client, node);
            tables = tables || node->op[0] == 't';
        }
        if (err != GRANARY_OK) {
            return gr_fail_in(err, "node '%.100s' (%.40s)", node->name, node->op);
        }
    }
    return tables ? tables_fix(client, graph, snapshots) : GRANARY_OK;
}

/* ---- one set of names ---- */

granary_err
gr_check_no_table(granary_client *client, const char *key)
{
    granary_mutable *table = NULL;
    granary_id id;

    /* Keys that nobody chose are names of nothing. */
    if (strlen(key) > GRANARY_TEXT_MAX || granary_id_parse(key, strlen(key), &id) == GRANARY_OK ||
        granary_table_open(client, key, &table) != GRANARY_OK) {
        return GRANARY_OK;
    }
    granary_mutable_close(table);
    return gr_fail(GRANARY_EEXIST, "graph '%s': a mutable or sealed table has the name: choose another, or delete that",
                   key);
}

granary_err
gr_check_no_graph(granary_client *client, const char *name)
{
    const granary_query query = {.subject = "graphs", .keys = &name, .key_count = 1};
    granary_table *table = NULL;
    granary_err err = granary_info(client, &query, &table);

    granary_table_free(table);
    return err == GRANARY_OK
               ? gr_fail(GRANARY_EEXIST, "table '%s': the name is taken by a graph that is kept: choose another", name)
               : GRANARY_OK;
}
