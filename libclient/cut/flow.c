/* Flows, the memory of a cut, and digests: what decides a flow's results, said as text and hashed. */
#include "cut/flow.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/text/buf.h"

void
cut_fail(struct cut *cut, granary_err err)
{
    cut->err = cut->err == GRANARY_OK ? err : cut->err;
}

/* What stands for memory that there is not: nothing of it is used. */
static void *
no_memory(struct cut *cut)
{
    static _Thread_local _Alignas(16) char nothing[4096];

    cut_fail(cut, gr_fail(GRANARY_ENOMEM, "cutting: out of memory"));
    memset(nothing, 0, sizeof nothing);
    return nothing;
}

void *
cut_room(struct cut *cut, size_t count, size_t size)
{
    void *room = gr_region_zalloc(cut->memory, count + 1, size);

    return room == NULL ? no_memory(cut) : room;
}

const char *
cut_text(struct cut *cut, const char *format, ...)
{
    va_list args, again;
    char *text = NULL;
    int size;

    va_start(args, format);
    va_copy(again, args);
    size = vsnprintf(NULL, 0, format, args);
    text = size < 0 ? NULL : gr_region_alloc(cut->memory, (size_t)size + 1);
    if (text != NULL) {
        (void)vsnprintf(text, (size_t)size + 1, format, again);
    }
    va_end(again);
    va_end(args);
    return text == NULL ? no_memory(cut) : text;
}

void *
cut_grow(struct cut *cut, void *array, size_t count, size_t *room, size_t size)
{
    void *grown = array;

    if (count >= *room) {
        *room = *room == 0 ? 8 : 2 * *room;
        grown = cut_room(cut, *room, size);
        if (count > 0 && cut->err == GRANARY_OK) {
            memcpy(grown, array, count * size);
        }
    }
    return grown;
}

/* ---- flows ---- */

static struct gr_named
all_names(const struct cut *cut)
{
    return (struct gr_named){cut->names, sizeof *cut->names, cut->flow_count};
}

static bool
is_taken(const struct cut *cut, const char *name)
{
    return gr_names_find(&cut->by_name, all_names(cut), name) >= 0 ||
           strcmp(name, "out") == 0; /* each stage's target */
}

struct flow *
flow_add(struct cut *cut, const char *name, const char *op, enum spread spread, enum gr_yields yields)
{
    struct flow *flow = cut_room(cut, 1, sizeof *flow);

    while (cut->err == GRANARY_OK && is_taken(cut, name)) {
        name = cut_text(cut, "%s'", name);
    }
    *flow = (struct flow){.name = name, .op = op, .spread = spread, .yields = yields};
    cut->flows = cut_grow(cut, cut->flows, cut->flow_count, &cut->flow_room, sizeof(struct flow *));
    cut->names = cut_grow(cut, cut->names, cut->flow_count, &cut->name_room, sizeof *cut->names);
    if (cut->err == GRANARY_OK) {
        cut->names[cut->flow_count] = name;
        cut->flows[cut->flow_count++] = flow;
        gr_names_add(&cut->by_name, all_names(cut));
    }
    return flow;
}

void
flow_reads(struct cut *cut, struct flow *flow, struct flow *from)
{
    flow->inputs = cut_grow(cut, flow->inputs, flow->input_count, &flow->input_room, sizeof(struct flow *));
    if (cut->err == GRANARY_OK) {
        flow->inputs[flow->input_count++] = from;
    }
}

void
flow_set(struct cut *cut, struct flow *flow, Granary__Attr *attr)
{
    struct gr_attrs *attrs = &flow->attrs;

    for (size_t i = 0; attr != NULL && i < attrs->count; i++) {
        if (strcmp(attrs->attrs[i]->name, attr->name) == 0) {
            granary__attr__free_unpacked(attrs->attrs[i], NULL);
            attrs->attrs[i] = attr;
            return;
        }
    }
    if (attr == NULL || !attrs_add(attrs, attr)) {
        (void)no_memory(cut);
    }
}

const Granary__Attr *
flow_attr(const struct flow *flow, const char *name)
{
    return gr_attr_find(flow->attrs.attrs, flow->attrs.count, name);
}

struct flow *
flow_of_node(struct cut *cut, const struct gr_node *node, enum spread spread)
{
    return flow_for_node(cut, node, node->node->name, gr_op_info((enum gr_tile_op)node->op)->name, spread);
}

struct flow *
flow_for_node(struct cut *cut, const struct gr_node *node, const char *name, const char *op, enum spread spread)
{
    struct flow *flow = flow_add(cut, name, op, spread, node->yields);

    for (size_t i = 0; i < node->node->n_attrs; i++) {
        flow_set(cut, flow, gr_attr_copy(node->node->attrs[i]));
    }
    return flow;
}

struct flow *
flow_over(struct cut *cut, const char *name, const char *op, struct flow *from)
{
    struct flow *flow = flow_add(cut, name, op, from->spread, from->yields);

    flow->bytes = from->bytes;
    flow_reads(cut, flow, from);
    return flow;
}

struct flow *
flow_receive(struct cut *cut, struct flow *from, enum take take, enum spread spread)
{
    const char *op = from->yields == GR_YIELDS_FRAME ? "table" : from->yields == GR_YIELDS_TENSOR ? "array" : "object";
    struct flow *flow = flow_add(cut, cut_text(cut, "%s: %s", from->name, take == TAKE_PART ? "part" : "all"), op,
                                 spread, from->yields);

    flow->receives = true;
    flow->take = take;
    flow->bytes = from->bytes;
    flow_reads(cut, flow, from);
    return flow;
}

/* ---- digests ---- */

static void
say_attrs(const struct flow *flow, struct gr_buf *out)
{
    for (size_t i = 0; i < flow->attrs.count; i++) {
        gr_buf_addf(out, "%s=", flow->attrs.attrs[i]->name);
        write_attr(flow->attrs.attrs[i], out);
        gr_buf_addf(out, "\n");
    }
}

const char *
flow_digest(struct cut *cut, struct flow *flow)
{
    static const char *const takes[] = {"same", "part", "all"};
    struct gr_buf out = {0};

    if (flow->digest[0] != '\0') {
        return flow->digest;
    }
    gr_buf_addf(&out, "%s %s %d %d\n", granary_version(), flow->op, flow->spread == SPREAD_PARTS, flow->takes_part);
    if (flow->spread == SPREAD_PARTS) {
        gr_buf_addf(&out, "%zu\n", cut->parts);
    }
    say_attrs(flow, &out);
    source_say(cut, flow, &out);
    table_say(cut, flow, &out);
    for (size_t i = 0; i < flow->input_count && cut->err == GRANARY_OK; i++) {
        gr_buf_addf(&out, "%s %s\n", flow_digest(cut, flow->inputs[i]), flow->receives ? takes[flow->take] : "here");
    }
    if (!gr_buf_ok(&out)) {
        (void)no_memory(cut);
    } else {
        gr_hash128_format(out.bytes, out.size, flow->digest);
    }
    gr_buf_free(&out);
    return flow->digest;
}
