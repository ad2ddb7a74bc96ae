/* Inside json: all values of a text in a row, each before those in it. */
#ifndef KERNEL_ROWS_JSON_TREE_H
#define KERNEL_ROWS_JSON_TREE_H

#include "kernel/rows/json/json.h"
#include "kernel/rows/text/text.h"

enum {
    JSON_TREE_DEPTH = 512,      /* what looks into two trees at once goes no deeper */
    JSON_TREE_EFFORT = 1 << 27, /* members looked at for one row */
    JSON_FOUND_MOST = 1 << 20,  /* values that a path leads to */
};

struct json_node {
    int32_t at, size;      /* in the text */
    int32_t key, key_size; /* of a member its name in quotes; else 0 */
    int32_t parent;        /* -1: it is the whole */
    int32_t end;           /* the first node that is not in it */
    int32_t place;         /* among its siblings */
    int32_t number;        /* values and names before it */
};

/* All zero is none. */
struct json_tree {
    const char *text;
    struct json_node *nodes;
    size_t count;
    size_t room;
    int64_t effort;
    int32_t depth;
};

/* The values of a text, which has passed json_check() and must outlive them. What the tree had is gone. Errors: ENOMEM */
granary_err json_tree_read(struct json_tree *tree, const struct rows_text *text);
void json_tree_free(struct json_tree *tree);
/* The values of an argument in one form, which is put into plain. false: it is no JSON, nests too deep for what looks into
 * trees, or there is no room, which the call is told. */
bool json_tree_open(struct text_call *call, int which, struct gr_buf *plain, struct json_tree *tree);

static inline struct rows_text
json_tree_value(const struct json_tree *tree, int32_t node)
{
    return (struct rows_text){tree->text + tree->nodes[node].at, (size_t)tree->nodes[node].size};
}
static inline struct rows_text
json_tree_key(const struct json_tree *tree, int32_t node)
{
    return (struct rows_text){tree->text + tree->nodes[node].key, (size_t)tree->nodes[node].key_size};
}
static inline char
json_tree_kind(const struct json_tree *tree, int32_t node)
{
    return tree->text[tree->nodes[node].at];
}
/* Whether there is another value beside the one before; both are counted as effort. Begin with *child = parent + 1. */
static inline bool
json_tree_has(struct json_tree *tree, int32_t parent, int32_t child)
{
    tree->effort++;
    return child < tree->nodes[parent].end;
}
/* The member of that name, in quotes and the same form; -1: there is none. */
int32_t json_tree_member(struct json_tree *tree, int32_t node, const struct rows_text *name);
/* The node at a place in the text. */
int32_t json_tree_at(const struct json_tree *tree, const char *value);

#endif
