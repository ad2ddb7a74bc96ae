/*
 * Tables of the instance that is asked to cut: mutable and sealed ones, and results of kept graphs. Only this instance has them, so
 * what reads them runs there. A large one is read in parts, which can then go to others. What a driver has by itself is read
 * where it lies: it has partitions already.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text/buf.h"
#include "client/resolve.h"
#include "cut/flow.h"
#include "granary/info.h"
#include "granary/mutable.h"

/* Of a number, as most are. */
#define VALUE_BYTES 8.0

/* What the scheduler tells of something by its key. NULL: nothing */
static granary_table *
ask(struct cut *cut, const char *subject, const char *key)
{
    const granary_query query = {.subject = subject, .keys = &key, .key_count = 1};
    granary_table *table = NULL;

    return granary_info(cut->client, &query, &table) == GRANARY_OK ? table : NULL;
}

static const char *
name_of(Granary__Attr *const *attrs, size_t count)
{
    return gr_attr_string(attrs, count, "name", NULL);
}

static double
bytes_of_objects(struct cut *cut, const Granary__Attr *ids)
{
    double bytes = 0;

    for (size_t i = 0; ids != NULL && i < ids->n_strings; i++) {
        granary_object_info info;
        granary_id id;

        if (gr_resolve_id(cut->client, ids->strings[i], &id) == GRANARY_OK &&
            granary_object_info_get(cut->client, id, &info) == GRANARY_OK) {
            bytes += (double)info.data_size;
        }
    }
    return bytes;
}

static double
bytes_of(struct cut *cut, const struct gr_node *node)
{
    const char *name = name_of(node->node->attrs, node->node->n_attrs);
    granary_mutable_info info;
    granary_table *table;
    double bytes = 0;

    if (name == NULL) {
        return bytes_of_objects(cut, gr_attr_find(node->node->attrs, node->node->n_attrs, "ids"));
    }
    if (granary_mutable_describe(cut->client, name, &info) == GRANARY_OK) {
        return VALUE_BYTES * (double)info.rows * (double)node->type.schema.count;
    }
    table = ask(cut, "tileables", name);
    for (size_t i = 0; table != NULL && i < granary_table_rows(table); i++) {
        bytes += (double)granary_table_int(table, i, "bytes");
    }
    granary_table_free(table);
    return bytes;
}

void
table_say(struct cut *cut, const struct flow *flow, struct gr_buf *out)
{
    const char *name = name_of(flow->attrs.attrs, flow->attrs.count);
    granary_mutable_info info;
    char id[GRANARY_ID_TEXT + 1];
    granary_table *table;
    char *key;

    if (!flow->at_home || name == NULL) {
        return;
    }
    if (granary_mutable_describe(cut->client, name, &info) == GRANARY_OK) {
        granary_id_format(info.id, id);
        gr_buf_addf(out, "%s %s %" PRId64 " %" PRId64 " %" PRIu64 "\n", name, id, info.rows, info.newest, info.changes);
        return;
    }
    key = cut_borrow(cut_text(cut, "%s", name));
    if (strchr(key, '/') != NULL && cut->err == GRANARY_OK) {
        *strchr(key, '/') = '\0';
    }
    table = ask(cut, "graphs", key);
    if (table != NULL && granary_table_rows(table) > 0) {
        gr_buf_addf(out, "%s %" PRId64 " %" PRId64 "\n", name, granary_table_int(table, 0, "submitted_ms"),
                    granary_table_int(table, 0, "ended_ms"));
    }
    granary_table_free(table);
}

const granary_cut_source *
source_given(const struct cut *cut, const struct gr_node *node)
{
    const Granary__Attr *ids = gr_attr_find(node->node->attrs, node->node->n_attrs, "ids");
    const char *name = name_of(node->node->attrs, node->node->n_attrs);

    name = name == NULL && ids != NULL && ids->n_strings == 1 ? ids->strings[0] : name;
    for (size_t i = 0; name != NULL && i < cut->options->source_count; i++) {
        if (strcmp(cut->options->sources[i].name, name) == 0) {
            return &cut->options->sources[i];
        }
    }
    return NULL;
}

static struct value
place_given(struct cut *cut, const struct gr_node *node, const granary_cut_source *given)
{
    bool in_parts = given->partitions > 1 && cut->parts > 1;
    struct flow *flow = flow_of_node(cut, node, in_parts ? SPREAD_PARTS : SPREAD_ANY);

    flow->reads = true;
    flow->given = given->name;
    flow->bytes = (double)given->bytes;
    if (in_parts) {
        source_set_parts(cut, flow);
    }
    return value_of(cut, flow, node);
}

struct value
place_table(struct cut *cut, const struct gr_node *node)
{
    const granary_cut_source *given = source_given(cut, node);
    double bytes = given != NULL ? 0 : bytes_of(cut, node);
    bool in_parts = bytes >= cut->smallest && cut->parts > 1 && gr_param_find(GR_TILE_table, "part") != NULL;
    struct flow *flow;

    if (given != NULL) {
        return place_given(cut, node, given);
    }
    flow = flow_of_node(cut, node, in_parts ? SPREAD_PARTS : SPREAD_ONE);
    flow->at_home = true;
    flow->bytes = bytes;
    if (in_parts) {
        source_set_parts(cut, flow);
    }
    return value_of(cut, flow, node);
}
