/*
 * What a graph names, settled before it is sent: names and ids of objects are asked of the store, and tables that change
 * are cut.
 */
#include "client/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "contract/mutable.h"
#include "granary/hold.h"
#include "granary/info.h"
#include "graph/graph.h"
#include "mutable/table.h"
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

/* ---- tables that change ---- */

/* The tables of a graph: those that are read without a time are cut at the same moment. */
struct fixed {
    Granary__Node **nodes;
    granary_mutable **tables;
    size_t count;
    granary_mutable **unfixed; /* of tables: those without a time */
    size_t unfixed_count;
};

static void
fixed_end(struct fixed *fixed)
{
    for (size_t i = 0; i < fixed->count; i++) {
        granary_mutable_close(fixed->tables[i]);
    }
    free(fixed->nodes);
    free(fixed->tables);
    free(fixed->unfixed);
}

static const Granary__Attr *
attr_of(const Granary__Node *node, const char *name)
{
    return gr_attr_find(node->attrs, node->n_attrs, name);
}

/* The node gets one more parameter, which it takes. */
static granary_err
give(Granary__Node *node, Granary__Attr *attr)
{
    Granary__Attr **more = attr == NULL ? NULL : realloc(node->attrs, (node->n_attrs + 1) * sizeof(Granary__Attr *));

    if (more == NULL) {
        if (attr != NULL) {
            granary__attr__free_unpacked(attr, NULL);
        }
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    node->attrs = more;
    node->attrs[node->n_attrs++] = attr;
    return GRANARY_OK;
}

/* The table of a node's name, when it is a mutable or sealed one; else the name is for the scheduler. */
static granary_err
open_named(granary_client *client, Granary__Node *node, struct fixed *fixed)
{
    const char *name = gr_attr_string(node->attrs, node->n_attrs, "name", NULL);
    const bool has_time = attr_of(node, "time") != NULL;
    granary_mutable *table = NULL;
    granary_err err;

    if (name == NULL || attr_of(node, "version") != NULL) {
        return GRANARY_OK;
    }
    err = strlen(name) > GRANARY_TEXT_MAX ? GRANARY_ENOENT : granary_table_open(client, name, &table);
    if (err == GRANARY_ENOENT || err == GRANARY_ETYPE) {
        return has_time ? err : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        fixed->nodes[fixed->count] = node;
        fixed->tables[fixed->count++] = table;
        if (!has_time) {
            fixed->unfixed[fixed->unfixed_count++] = table;
        }
    }
    return err;
}

/* The moment of now; of tables that nobody has written yet, too. */
static granary_err
cut_unfixed(const struct fixed *fixed, int64_t *ret_time)
{
    granary_err err;

    *ret_time = GRANARY_NOW;
    err = granary_cut(fixed->unfixed, fixed->unfixed_count, ret_time);
    if (err == GRANARY_OK && *ret_time == GRANARY_NOW) {
        *ret_time = GRANARY_NOW + 1;
        err = granary_cut(fixed->unfixed, fixed->unfixed_count, ret_time);
    }
    return err;
}

static granary_err
fix_node(Granary__Node *node, granary_mutable *table, int64_t now)
{
    const Granary__Attr *given = attr_of(node, "time");
    int64_t time = given == NULL ? now : gr_attr_int(node->attrs, node->n_attrs, "time", now);
    char version[GRANARY_ID_TEXT + 1];
    granary_err err = given == NULL ? give(node, gr_attr_new_int("time", time)) : granary_cut(&table, 1, &time);

    granary_id_format(table->id, version);
    return err == GRANARY_OK ? give(node, gr_attr_new_string("version", version)) : err;
}

static granary_err
fix_tables(granary_client *client, Granary__Graph *graph)
{
    struct fixed fixed = {.nodes = calloc(graph->n_nodes + 1, sizeof(Granary__Node *)),
                          .tables = calloc(graph->n_nodes + 1, sizeof(granary_mutable *)),
                          .unfixed = calloc(graph->n_nodes + 1, sizeof(granary_mutable *))};
    int64_t now = GRANARY_NOW;
    granary_err err = fixed.nodes == NULL || fixed.tables == NULL || fixed.unfixed == NULL
                          ? gr_fail(GRANARY_ENOMEM, "out of memory")
                          : GRANARY_OK;

    for (size_t i = 0; i < graph->n_nodes && err == GRANARY_OK; i++) {
        if (strcmp(graph->nodes[i]->op, "table") == 0) {
            err = open_named(client, graph->nodes[i], &fixed);
            err = err == GRANARY_OK ? err : gr_fail_in(err, "node '%.100s' (table)", graph->nodes[i]->name);
        }
    }
    err = err == GRANARY_OK && fixed.unfixed_count > 0 ? cut_unfixed(&fixed, &now) : err;
    for (size_t i = 0; i < fixed.count && err == GRANARY_OK; i++) {
        err = fix_node(fixed.nodes[i], fixed.tables[i], now);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "node '%.100s' (table)", fixed.nodes[i]->name);
    }
    fixed_end(&fixed);
    return err;
}

/* What is appended is told from all other writes. */
static granary_err
fix_token(Granary__Node *node)
{
    uint64_t words[2];

    if (attr_of(node, "token") != NULL) {
        return GRANARY_OK;
    }
    gr_id_words(granary_id_random(), words);
    return give(node, gr_attr_new_int("token", (int64_t)GR_MUTABLE_WHAT_TOKEN(words[0] | 1)));
}

/* ---- all of it ---- */

granary_err
gr_resolve_objects(granary_client *client, Granary__Graph *graph)
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
        } else if (strcmp(node->op, "append_to") == 0) {
            err = fix_token(node);
        }
        if (err != GRANARY_OK) {
            return gr_fail_in(err, "node '%.100s' (%.40s)", node->name, node->op);
        }
    }
    return tables ? fix_tables(client, graph) : GRANARY_OK;
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
