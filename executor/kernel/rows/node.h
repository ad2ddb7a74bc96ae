/* Inside rows: expressions as a net of nodes, each with the values of the block at hand. In this folder only. */
#ifndef KERNEL_ROWS_NODE_H
#define KERNEL_ROWS_NODE_H

#include "base/error.h"
#include "base/text/buf.h"
#include "contract/int128.h"
#include "graph/expr.h"
#include "kernel/rows/rows.h"

#define DAY_US INT64_C(86400000000)
/* More than a value of any dtype. */
#define BEYOND ((gr_int128)(~(gr_uint128)0 >> 1))

enum node_kind {
    NODE_COLUMN,   /* of the frame */
    NODE_CONSTANT, /* all values are there before the first block */
    NODE_CALL,
    NODE_LOOKUP, /* a table with a value for each entry of a dictionary, and for null: operands[0] gives the codes */
};

struct node {
    enum node_kind kind;
    enum gr_expr_op op; /* CALL */
    granary_dtype dtype;
    enum rows_class base;         /* as the dtype has it: INT where a block may be WIDE */
    const granary_column *column; /* COLUMN: borrowed */
    struct node **operands;       /* the list is owned, the nodes are the net's */
    size_t count;
    const struct gr_expr *expr; /* what it was made of: literals, targets, messages */
    struct lookup *lookup;      /* LOOKUP: owned */
    struct among *among;        /* IN, of literals, which are no operands then: owned */
    struct pattern *pattern;    /* LIKE and its kin, with a constant pattern: owned */
    const struct node *source;  /* the one dictionary column it reads, when it reads nothing else */
    bool reads;                 /* any column at all */
    uint64_t hash;              /* CALL, CONSTANT: of what makes it equal to another one; 0: it is not looked for */
    struct node *next;          /* in its bucket */

    /* The block. Values under nulls and in bad rows are anything. */
    uint64_t generation; /* which block that is */
    enum rows_class class;
    const void *values;
    const uint8_t *valid; /* a byte a row, 1: there is a value; NULL: all are there */
    const uint8_t *bad;   /* a byte a row, 1: it could not be computed; NULL: all could */
    const granary_column *dictionary;

    /* Room for a block, made with the node. */
    void *buffer; /* ROWS_BLOCK values of 16 bytes */
    uint8_t *valid_buffer;
    uint8_t *bad_buffer;
    struct rows_text *texts; /* codes as texts; NULL: nodes of numbers have none */
    struct gr_buf text;      /* bytes of texts that were made here */
    struct gr_column made;   /* items of lists, or taken of them, that were made here */
};

/* Rows that are computed: n of the frame from `from` on, or those selected. */
struct extent {
    int64_t from;
    int64_t n;
    const uint16_t *selected; /* n positions behind `from`; NULL: all n in a row */
};

/* ---- net.c: making and computing nodes ---- */

struct net;

/* frame must outlive the net. */
granary_err net_create(const granary_frame *frame, struct net **ret_net);
void net_destroy(struct net *net);
/* A computed column: from now on its name stands for it. Errors: as gr_expr_parse(), gr_expr_check() · ENOMEM */
granary_err net_define(struct net *net, const char *name, const char *text);
/* The node of a column's name or, when there is no such column, of an expression. */
granary_err net_value(struct net *net, const char *text, struct node **ret_node);
/* A condition as the parts that "and" joins; *ret_parts is to be freed. Errors: ETYPE it is no bool */
granary_err net_condition(struct net *net, const char *text, struct node ***ret_parts, size_t *ret_count);
/* Begin another extent: nothing computed before counts. */
void net_move(struct net *net, const struct extent *extent);
/* While a table is filled, its column has texts instead of codes: other tables over it do not count. */
void net_fill(struct net *net, bool filling);
/* Compute a node for the extent. Errors: ENOMEM, EUNSUPPORTED; what a value makes impossible is in node->bad */
granary_err net_compute(struct net *net, struct node *node);
/* The error of row i of the extent, in which the node is bad. */
granary_err net_fail(const struct net *net, const struct node *node, int64_t i);

/* ---- lookup.c ---- */

/* Compute the node for every entry of the dictionary it reads; it becomes a LOOKUP, unless an entry cannot be computed.
 */
granary_err lookup_make(struct net *net, struct node *node);
void lookup_free(struct lookup *lookup);
void lookup_compute(struct node *node, int64_t n);

/* ---- among.c ---- */

/* What a call of IN looks for; *ret_among NULL: its list has more than literals alike. Errors: ENOMEM */
granary_err among_create(const struct gr_expr *in, struct among **ret_among);
void among_free(struct among *among);
/* Whether each value is in the list, nulls aside: values under nulls are anything. */
void among_find(const struct among *among, struct node *values, uint8_t *out, int64_t n);
bool among_has_null(const struct among *among);

/* ---- load.c ---- */

enum rows_class rows_class_of(const granary_column *column);
enum rows_class rows_class_of_dtype(granary_dtype dtype);
void load_column(struct node *node, const struct extent *extent);

/* ---- what the operators share (vector.c) ---- */

static inline granary_err
node_no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory for a block of rows");
}

/* A node's room for blocks; texts: also for strings that are codes. Errors: ENOMEM */
granary_err node_room_init(struct node *node, bool texts);
void node_room_fini(struct node *node);
/* Room for a block's values; they are where node->values is from now on. */
void *node_room(struct node *node, enum rows_class class);
uint8_t *node_valid_room(struct node *node);
/* The bad rows so far, to be written: node->bad is set. */
uint8_t *node_bad_room(struct node *node, int64_t n);
/* One more row is bad. */
void node_mark_bad(struct node *node, int64_t i, int64_t n);
/* A row is there when every operand's is, and bad when any operand is. */
void node_strict(struct node *node, int64_t n);
/* Bad of all operands, values aside. */
void node_bad_of_operands(struct node *node, int64_t n);
static inline bool
node_counts(const struct node *node, int64_t i)
{
    return node->valid == NULL || node->valid[i] != 0;
}
/* The texts of a string node, decoded when they are codes. */
const struct rows_text *node_texts(struct node *node, int64_t n);
/* Texts that lie one after the other in node->text, and have their sizes, learn where they begin: it no longer moves.
 * Errors: ENOMEM when it was cut short */
granary_err node_place_texts(const struct node *node, struct rows_text *texts, int64_t n);
static inline gr_int128
node_exact_at(const struct node *node, int64_t i)
{
    return node->class == ROWS_WIDE ? ((const gr_int128 *)node->values)[i] : ((const int64_t *)node->values)[i];
}
/* The same as int64, cut where it does not fit: of counts and digits. */
static inline int64_t
node_int_at(const struct node *node, int64_t i)
{
    gr_int128 value = node_exact_at(node, i);

    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}
/* Room for a block's exact values, to be given to node_settle_exact(). */
static inline gr_int128 *
node_exact_room(struct node *node)
{
    return node_room(node, ROWS_WIDE);
}
/* The values in node_exact_room() are complete: INT when all fit, else WIDE; rows beyond the dtype are bad. */
void node_settle_exact(struct node *node, int64_t n);
/* Values of a float32 node are rounded to what it can hold. */
void node_round_to_float32(struct node *node, int64_t n);
/* INT values beyond an integer dtype or int32 days are bad. */
void node_check_range(struct node *node, int64_t n);

/* ---- operators: compute node from its operands, which are computed ---- */

/* functions.c: whatever a CALL is. */
granary_err call_compute(struct node *node, int64_t n);
/* Roughly what a row costs, its operands aside, above a number. */
size_t call_cost(const struct node *node);

/* One row of a function of texts (text.h). false: there is a value, but it cannot be made. */
struct text_call;
typedef bool text_function(struct text_call *call);

/* The kernels that graph/expr/ops.def names. */
#define BLOCK(name)   granary_err op_##name(struct node *node, int64_t n);
#define DEAR(name, c) BLOCK(name)
#define TEXT(name)    text_function text_##name;
#define LETTERS(name) TEXT(name)
#define REAL(name)
#define REALS(name)
#define EXPR_OP(id, text, least, most, rule, kernel, ...) kernel
#include "graph/expr/ops.def"
#undef BLOCK
#undef DEAR
#undef TEXT
#undef LETTERS
#undef REAL
#undef REALS

void pattern_free(struct pattern *pattern);

/* Order of two values of one class: -1, 0, 1; NaN after all numbers when it must have a place. */
int text_order(const struct rows_text *a, const struct rows_text *b);

/* Value i of a node that has no texts, as a cast writes it. */
void value_as_text(const struct node *node, int64_t i, struct gr_buf *out);

/* A bound message of why row i of a CALL is bad itself. */
void op_reason(const struct node *node, int64_t i, char *ret_text, size_t size);

#endif
