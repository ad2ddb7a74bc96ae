/* Within the folder: a node being written out. The first error sticks; what is made after it is not used. */
#ifndef GRAPH_EXPAND_PRIVATE_H
#define GRAPH_EXPAND_PRIVATE_H

#include "graph/expand/expand.h"
#include "graph/operator.h"

struct expansion {
    const Granary__Node *node; /* what is written out */
    enum gr_tile_op op;
    Granary__Node **nodes; /* made so far, owned; the last one has the node's name */
    size_t count;
    char **texts; /* owned */
    size_t text_count;
    granary_err err;
};

/* The node's parameters. Lists that are not there are empty. */
const char *expand_string(const struct expansion *e, const char *name, const char *fallback);
size_t expand_strings(const struct expansion *e, const char *name, char *const **ret_strings);

/* Fail for what is wrong with the parameters. */
void expand_fail(struct expansion *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text that lives as long as the expansion; "" when out of memory. */
const char *expand_text(struct expansion *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A column's name in an expression; a text in one. */
const char *expand_name(struct expansion *e, const char *column);
const char *expand_quote(struct expansion *e, const char *text);

/*
 * The next node, an operator on one or two others (NULL: none); inputs are names. Returns its own name, to be the next
 * one's input. part NULL: the last one.
 */
const char *expand_add(struct expansion *e, const char *part, const char *op, const char *first, const char *second);
/* Parameters of the node that was added last. */
void expand_set(struct expansion *e, Granary__Attr *attr); /* *takes*; NULL: out of memory */
void expand_set_strings(struct expansion *e, const char *name, const char *const *strings, size_t count);
void expand_set_string1(struct expansion *e, const char *name, const char *string);
/* One more entry of a mapping. */
void expand_map(struct expansion *e, const char *name, const char *key, const char *text);

#endif
