/*
 * An ordered set of numbered nodes (a treap): what is in it, and in which order, its user knows. Numbers begin at 1;
 * no memory is taken. Operations cost O(log n) on average, whatever the order of insertions.
 */
#ifndef STORE_TREE_H
#define STORE_TREE_H

#include <stdint.h>

struct tree_links {
    uint32_t left, right;
};

/* What a tree needs to know of its nodes. */
struct tree_kind {
    struct tree_links *(*links)(const void *context, uint32_t node);
    /* < 0: key lies before the node; 0: it is the node's */
    int (*compare)(const void *context, const void *key, uint32_t node);
};

struct tree {
    const struct tree_kind *kind;
    const void *context;
    uint32_t root; /* 0: empty */
};

/* Add a node whose key no other node has. */
void tree_insert(struct tree *tree, const void *key, uint32_t node);

/* Take the node of a key out, which is in it. */
void tree_remove(struct tree *tree, const void *key);

/* The node of a key, or 0. */
uint32_t tree_find(const struct tree *tree, const void *key);

/* The first node behind a key, or 0. */
uint32_t tree_after(const struct tree *tree, const void *key);

#endif
