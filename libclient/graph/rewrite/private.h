/*
 * What the rewrites of operators share. A rewrite adds nodes one by one, each over those before it, and returns the one
 * whose result is the operator's; the operator's own node, when that stays as it is.
 *
 * The first error sticks: what is made after it is not used. A node's type is known as soon as it is added, but for
 * operators with GR_OP_KNOWS_NO_TYPES, which must not look at types.
 */
#ifndef GRAPH_REWRITE_PRIVATE_H
#define GRAPH_REWRITE_PRIVATE_H

#include "graph/operator.h"
#include "graph/rewrite/rewrite.h"

struct rewrite {
    struct gr_graph *graph;
    struct gr_node *node; /* what is written as others */
    struct gr_params params;
    bool is_trial;
    size_t first;        /* its first own node's place in the graph */
    struct gr_attrs set; /* parameters of the node that is added next; owned */
    char **texts;        /* owned */
    size_t text_count, text_room;
    struct { /* a mapping being made; texts of this rewrite, or of its node */
        char **keys, **values;
        size_t count, key_room, value_room;
    } map;
    granary_err err;
};

/* The operator whose rewrite is one expression of x; and one that has traits, too. */
#define REWRITE_AS(name, ...) REWRITE_WITH(name, 0, __VA_ARGS__)
#define REWRITE_WITH(name, its_traits, ...)                                                                            \
    static struct gr_node *rewrite_##name(struct rewrite *x)                                                           \
    {                                                                                                                  \
        return __VA_ARGS__;                                                                                            \
    }                                                                                                                  \
    const struct gr_operator gr_op_##name = {.traits = its_traits, .rewrite = rewrite_##name};

/* Fail for what is wrong with inputs or parameters; returns a node that means nothing. */
struct gr_node *rewrite_fail(struct rewrite *x, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct gr_node *rewrite_no_memory(struct rewrite *x);

/* ---- what is there: inputs and parameters, which have the defaults of contract/ops/ops.def ---- */

struct gr_node *rewrite_input(const struct rewrite *x, size_t k);
size_t rewrite_inputs(const struct rewrite *x);
/* The columns of its input, a frame. */
const struct gr_schema *rewrite_schema(const struct rewrite *x);
const Granary__Attr *rewrite_param(const struct rewrite *x, const char *name);
int64_t rewrite_param_int(const struct rewrite *x, const char *name);
double rewrite_param_number(const struct rewrite *x, const char *name);
bool rewrite_param_bool(const struct rewrite *x, const char *name);
const char *rewrite_param_text(const struct rewrite *x, const char *name);
bool rewrite_param_is(const struct rewrite *x, const char *name, const char *word);
/* A list that is not there is empty. */
size_t rewrite_param_names(const struct rewrite *x, const char *name, char *const **ret_names);
/* Whether a list has the column; a list that is not there has all. */
bool rewrite_is_listed(const struct rewrite *x, const char *name, const char *column);
/* The parameter as one of so many dimensions; fails when there is none such. */
int rewrite_axis(struct rewrite *x, const char *name, int dims);
/* The parameter "axis", or -1 without it: all of them. */
int rewrite_axis_or_all(struct rewrite *x, const struct gr_node *a);

/* ---- texts, which live as long as the rewrite ---- */

const char *rewrite_text(struct rewrite *x, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A column's name in an expression; a text in one; "NAME is null", of floats or isnan(). */
const char *rewrite_name(struct rewrite *x, const char *column);
const char *rewrite_quote(struct rewrite *x, const char *text);
const char *rewrite_missing(struct rewrite *x, const struct gr_field *field);

/* ---- parameters of nodes; NULL without memory, and the rewrite fails ---- */

Granary__Attr *rewrite_int(struct rewrite *x, const char *name, int64_t value);
Granary__Attr *rewrite_ints(struct rewrite *x, const char *name, const int64_t *values, size_t count);
Granary__Attr *rewrite_number(struct rewrite *x, const char *name, double value);
Granary__Attr *rewrite_bool(struct rewrite *x, const char *name, bool value);
Granary__Attr *rewrite_bools(struct rewrite *x, const char *name, const bool *values, size_t count);
Granary__Attr *rewrite_string(struct rewrite *x, const char *name, const char *value);
Granary__Attr *rewrite_strings(struct rewrite *x, const char *name, const char *const *values, size_t count);
/* One more entry of a mapping (the texts must live on), and the mapping of all entries so far. */
void rewrite_entry(struct rewrite *x, const char *key, const char *value);
Granary__Attr *rewrite_map(struct rewrite *x, const char *name);
/* The operator's own parameter, if it was given, under its name or another one: of the node that is added next. */
void rewrite_hand_on(struct rewrite *x, const char *name, const char *as);
/* One more parameter of the node that is added next; *takes* it. */
void rewrite_set(struct rewrite *x, Granary__Attr *attr);

/* ---- nodes ---- */

/* A node over up to two others (NULL: none) with up to two parameters (NULL: none), which are *taken*, and those that
 * were set. */
struct gr_node *rewrite_add(struct rewrite *x, enum gr_tile_op op, struct gr_node *a, struct gr_node *b,
                            Granary__Attr *first, Granary__Attr *second);
/* ... with a name that says what it is: "NODE: PART". */
struct gr_node *rewrite_part(struct rewrite *x, const char *part, enum gr_tile_op op, struct gr_node *a,
                             struct gr_node *b, Granary__Attr *first, Granary__Attr *second);
/* ... over any number of others. */
struct gr_node *rewrite_add_many(struct rewrite *x, enum gr_tile_op op, struct gr_node *const *inputs, size_t count);

/* An assign, project or window of the entries so far over the operator's input. */
struct gr_node *rewrite_columns(struct rewrite *x, enum gr_tile_op op);

/* A frame of so many rows with their numbers, from 0, as the column "#row". */
struct gr_node *rewrite_numbered(struct rewrite *x, size_t count);

/* Shorthands for tensors. */
struct gr_node *rewrite_unary(struct rewrite *x, enum gr_tile_op op, struct gr_node *a);
struct gr_node *rewrite_binary(struct rewrite *x, enum gr_tile_op op, struct gr_node *a, struct gr_node *b);
struct gr_node *rewrite_value(struct rewrite *x, enum gr_tile_op op, struct gr_node *a, double value);
struct gr_node *rewrite_reshape(struct rewrite *x, struct gr_node *a, const int64_t *shape, size_t dims);
struct gr_node *rewrite_flat(struct rewrite *x, struct gr_node *a);
struct gr_node *rewrite_transpose(struct rewrite *x, struct gr_node *a, const int64_t *axes, size_t dims);
/* To a dtype; the node itself when it has it. */
struct gr_node *rewrite_astype(struct rewrite *x, struct gr_node *a, granary_dtype dtype);
/* A reduction over one axis (-1: all) that stays, of one element, or not. */
struct gr_node *rewrite_reduce(struct rewrite *x, enum gr_tile_op op, struct gr_node *a, int axis, bool keep);
/* A tensor of one value; NULL is 0. */
struct gr_node *
rewrite_full(struct rewrite *x, const int64_t *shape, int dims, const Granary__Attr *value, granary_dtype dtype);
/* Rows (or, of a mask of several dimensions, parts) of a tensor where the mask is true; their number is not known. */
struct gr_node *rewrite_rows_where(struct rewrite *x, struct gr_node *a, struct gr_node *mask);
/* Integers before `count`. */
struct gr_node *rewrite_range(struct rewrite *x, int64_t count);

/* A part of a tensor from a source (parts.c). */
struct gr_node *rewrite_as_part(struct rewrite *x);

/* ---- complex tensors (complex.c) ---- */

/* Whether an input is one. */
bool rewrite_is_complex(const struct gr_node *node);
/* An operator that is written by their parts. */
struct gr_node *rewrite_complex(struct rewrite *x);

#endif
