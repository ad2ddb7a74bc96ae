/*
 * Within the room: the plan while it is made. A flow is an operator of the plan, which stands in the fragments of one stage or
 * more. Flows stand in the order in which they were made: inputs before those that read them.
 *
 * The first error sticks (cut->err). What is made after it is not used.
 */
#ifndef CUT_FLOW_H
#define CUT_FLOW_H

#include "base/memory/region.h"
#include "base/text/names.h"
#include "cut/cut.h"
#include "graph/graph.h"

/* Where a flow is computed. */
enum spread {
    SPREAD_ANY,   /* in each fragment that reads it: it is small, or was brought there */
    SPREAD_ONE,   /* in a stage of one partition */
    SPREAD_PARTS, /* in a stage of all partitions: a part in each */
};

/* Which chunks of the other stage a fragment takes. */
enum take { TAKE_SAME, TAKE_PART, TAKE_ALL };

struct flow {
    const char *name;
    const char *op;
    struct gr_attrs attrs;
    enum gr_yields yields;
    enum spread spread;
    bool takes_part;   /* the driver sets its attribute `part` */
    bool reads;        /* it is a source of files or tables */
    bool at_home;      /* ... of the instance that was asked to cut */
    const char *given; /* the driver has its chunks, under this name; NULL */
    bool receives;     /* it stands for its input's results, which are moved */
    enum take take;
    struct flow **inputs;
    size_t input_count, input_room;
    size_t chunks; /* exactly; 0: any number */
    double bytes;  /* a guess, of all partitions together */
    const char *about;
    char digest[33]; /* "": not told yet */
    /* Stages (stages.c). */
    bool is_listed;
    size_t place;       /* among the cut's flows */
    struct flow *owner; /* the root of the only stage that computes it */
    bool is_root;
    size_t stage; /* of a root */
};

/* The rows of a sort: by which column. */
struct order_key {
    const char *column;
    bool descending, nulls_first;
};

/*
 * What a node of the graph yields, in the plan. Its rows in order are those of all partitions, one behind the other, in a
 * stable sort by `keys`. Columns `extra` are none of the node's: keys that only the plan has.
 */
struct value {
    struct flow *flow;
    const struct gr_schema *schema; /* of the node; NULL: no frame */
    struct order_key *keys;
    size_t key_count;
    bool nan_largest; /* of the sort by keys */
    bool local;       /* each partition is in this order */
    const char **extra;
    size_t extra_count;
    const char **dealt; /* rows equal in these columns are in one partition; none: it is not known */
    size_t dealt_count;
    bool as_dealt; /* ... by `shuffle`, in this order of columns, by their own dtypes */
    int64_t
        align; /* of a tensor: partitions begin at multiples of so many rows, as `split` cuts them; 0: it is not known */
    struct flow *factors; /* of a tall matrix: r of its blocks, in one place; NULL: nobody has asked */
};

/* An entry of the plan's `gathered`, and of `decided`. */
struct gathered {
    const char *node, *op, *why;
};
struct decided {
    const char *node, *way;
    struct flow *flow; /* whose size it goes by */
    double most_bytes;
};

struct cut {
    granary_client *client;
    const granary_cut_options *options;
    size_t parts;
    double smallest;
    const struct gr_graph *graph;
    struct gr_region *memory;
    granary_err err;
    struct flow **flows;
    size_t flow_count, flow_room;
    const char **names; /* of the flows */
    size_t name_room;
    struct gr_names by_name;
    struct value *values; /* by position in the graph */
    bool *seen;           /* whether the order of a node's rows shows in a result */
    bool *pinned;         /* by position: of a recursion's body */
    struct gathered *gathered;
    size_t gathered_count, gathered_room;
    struct decided *decided;
    size_t decided_count, decided_room;
    struct flow **targets; /* of the graph */
    struct flow **roots;   /* of the stages, in order */
    size_t root_count;
};

/* ---- memory: as long as the cut; never NULL, but after an error it may be one that means nothing ---- */

void *cut_room(struct cut *cut, size_t count, size_t size);
const char *cut_text(struct cut *cut, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cut_fail(struct cut *cut, granary_err err);
/* An array with room for one more. */
void *cut_grow(struct cut *cut, void *array, size_t count, size_t *room, size_t size);

/* ---- flows ---- */

/* name: what it is called if no other flow is. */
struct flow *flow_add(struct cut *cut, const char *name, const char *op, enum spread spread, enum gr_yields yields);
void flow_reads(struct cut *cut, struct flow *flow, struct flow *from);
/* Set an attribute; *takes* attr, NULL fails. */
void flow_set(struct cut *cut, struct flow *flow, Granary__Attr *attr);
const Granary__Attr *flow_attr(const struct flow *flow, const char *name);
/* A node of the graph with its parameters, but without inputs. */
struct flow *flow_of_node(struct cut *cut, const struct gr_node *node, enum spread spread);
/* One input, which is read as it lies: of ANY, ONE and PARTS the last that it is. */
struct flow *flow_over(struct cut *cut, const char *name, const char *op, struct flow *from);
/* What another stage's results become where they are read. */
struct flow *flow_receive(struct cut *cut, struct flow *from, enum take take, enum spread spread);

/* With a new column: by partition, then by position, where each row stood. key: any column by which rows can be dealt */
struct flow *flow_numbered(struct cut *cut, const char *name, struct flow *from, const char *key, const char *number);

/* What decides the flow's results, as 32 hex digits. */
const char *flow_digest(struct cut *cut, struct flow *flow);

/* ---- sizes (sizes.c) ---- */

/* How many bytes a source has, by its files. */
double size_of_source(struct cut *cut, const struct gr_node *node);
/* The files that attributes of a source name. Errors: EINVAL it reads none · as gr_paths_find() */
struct gr_paths;
granary_err
source_files(struct cut *cut, Granary__Attr *const *attrs, size_t count, const char *op, struct gr_paths *ret_found);
/* How many bytes the flow's results have: as was found, or as guessed. */
double size_of(struct cut *cut, struct flow *flow);
/* Whether its size was found: it is there. */
bool size_is_known(struct cut *cut, struct flow *flow);

/* ---- sources (sources.c, tables.c) ---- */

struct gr_buf;

struct value place_table(struct cut *cut, const struct gr_node *node);
void table_say(struct cut *cut, const struct flow *flow, struct gr_buf *out);
/* What the caller has told of a table or array that the driver has; NULL: it has none of that name. */
const granary_cut_source *source_given(const struct cut *cut, const struct gr_node *node);
struct value place_source(struct cut *cut, const struct gr_node *node);
/* The attributes of a source that is read in parts; its paths, which become absolute. */
void source_set_parts(struct cut *cut, struct flow *flow);
void source_set_paths(struct cut *cut, struct flow *flow);
/* What tells a source's content from others: paths, sizes, times of change. */
void source_say(struct cut *cut, const struct flow *flow, struct gr_buf *out);

/* ---- values (value.c) ---- */

struct value value_of(struct cut *cut, struct flow *flow, const struct gr_node *node);
const char *value_hidden(struct cut *cut, const struct gr_node *node, const char *what);
void value_add_extra(struct cut *cut, struct value *value, const char *column);
void value_add_key(struct cut *cut, struct value *value, struct order_key key);
/* Keys that are columns of the node get copies, unless stays() says that the column stays. tag: tells them from others. */
struct value value_guard(struct cut *cut, const struct gr_node *node, struct value value, const char *tag,
                         bool (*stays)(const void *context, const char *column), const void *context);
/* Columns that are none of the node's get other names, where the other value has them, too. */
struct value value_apart(struct cut *cut, const struct gr_node *node, struct value value, const struct value *other);
/* A column's name in an expression; a text that attributes copy. */
const char *cut_column(struct cut *cut, const char *name);
char *cut_borrow(const char *text);
/* Each partition in order. */
struct value value_local(struct cut *cut, const struct gr_node *node, struct value value);
/* A select of the node's own columns. */
struct flow *value_own_columns(struct cut *cut, const struct gr_node *node, const struct value *value);
/* Without the columns that are none of the node's, and without an order of its partitions. */
struct value value_plain(struct cut *cut, const struct gr_node *node, struct value value);
/* All rows in one place, in order. spread: ONE, or ANY for whoever reads them */
struct value value_gather(struct cut *cut, const struct gr_node *node, struct value value, enum spread spread);
/* Its partitions one behind the other are in order: rows move by samples of the keys. */
struct value value_in_order(struct cut *cut, const struct gr_node *node, struct value value);
/* Each partition in order, and behind the one before by the first `count` keys; rows equal in these are in one partition. */
struct value value_by_ranges(struct cut *cut, const struct gr_node *node, struct value value, size_t count);
/* The keys of a sort, before those that there are. descending, nulls: as parameters of a sort, or NULL */
void value_order_first(struct cut *cut, struct value *value, const Granary__Attr *by, const Granary__Attr *descending,
                       const Granary__Attr *nulls, bool nan_largest);
/* Rows dealt by the values of columns. types: NULL, or what they are compared in; seen: rows get a number, called by tag. */
struct value value_deal(struct cut *cut, const struct gr_node *node, struct value value, char *const *columns,
                        size_t count, char *const *types, const char *tag, bool seen);
/* Whether rows that are equal in these columns are in one partition. */
bool value_is_dealt(const struct value *value, char *const *columns, size_t count);
/* In a fragment of PARTS, all of it. */
struct value value_everywhere(struct cut *cut, const struct gr_node *node, struct value value, bool seen);

/* ---- operators ---- */

/* Whether the order of rows of input k shows in what node yields; seen: its own does. */
bool node_sees_order(const struct gr_node *node, size_t k, bool seen);

bool groups_see_order(const struct gr_node *node);
/* A column by which rows can be dealt; NULL: none. */
const char *cut_dealable(const struct gr_schema *schema);
/* Whether rows can be dealt by a column's values. */
bool cut_can_deal(const struct gr_schema *schema, const char *column);

struct value place_rows(struct cut *cut, const struct gr_node *node);
struct value place_sort(struct cut *cut, const struct gr_node *node);
struct value place_head(struct cut *cut, const struct gr_node *node, struct value value, int64_t rows);
struct value place_groupby(struct cut *cut, const struct gr_node *node);
struct value place_value_counts(struct cut *cut, const struct gr_node *node);
struct value place_distinct(struct cut *cut, const struct gr_node *node);
struct value place_window(struct cut *cut, const struct gr_node *node);
/* Without `partition`. */
struct value place_window_of_all(struct cut *cut, const struct gr_node *node);
/* Aggregates (names and texts) of all rows, which are of the node's input: one row in one place. */
struct flow *groups_of_all(struct cut *cut, const struct gr_node *node, struct flow *from, char *const *names,
                           char *const *texts, size_t count);
struct value place_join(struct cut *cut, const struct gr_node *node);
/* false: it is none of those that are known here. */
bool place_tensor(struct cut *cut, const struct gr_node *node, struct value *ret_value);
/* Where partitions of tensors of so many rows begin: at multiples of it, for what the graph computes of them by blocks. */
int64_t tensor_align(struct cut *cut, int64_t rows);
/* Whether only products read what the node turns that can turn each partition by themselves. */
bool product_turns(struct cut *cut, const struct gr_node *node);
struct value place_product(struct cut *cut, const struct gr_node *node);
struct value place_factors(struct cut *cut, const struct gr_node *node);
/* false: it is no view that can be cut. */
bool place_view(struct cut *cut, const struct gr_node *node, struct value *ret_value);
/* Whatever it is: in one place, with all of its inputs. why: NULL, or what is told where an input was in parts */
struct value place_gathered(struct cut *cut, const struct gr_node *node, const char *why);

void cut_tell_gathered(struct cut *cut, const struct gr_node *node, const char *why);
void
cut_tell_decided(struct cut *cut, const struct gr_node *node, const char *way, struct flow *flow, double most_bytes);

/* Give all nodes of the graph a value, and targets a flow in one place. */
void place_all(struct cut *cut);
/* Find the stages: cut->flows are then those that targets need, inputs first. */
void stages_find(struct cut *cut);
/* The flows of a root's stage, in order; receivers and other stages' roots that it reads are not among them. */
struct stage {
    struct flow **flows;
    size_t count;
    struct flow **inputs; /* of other stages: receivers, and roots */
    size_t input_count;
};
void stage_list(struct cut *cut, const struct flow *root, struct stage *ret_stage);
static inline size_t
root_partitions(const struct cut *cut, const struct flow *root)
{
    return root->spread == SPREAD_PARTS ? cut->parts : 1;
}

/* The plan as JSON, and for people. */
void plan_write(struct cut *cut, struct gr_buf *out);
void plan_explain(struct cut *cut, struct gr_buf *out);
/* An attribute's value as JSON. */
void write_attr(const Granary__Attr *attr, struct gr_buf *out);

#endif
