/* The treap (Seidel and Aragon, 1996), with priorities that are hashed from the number of the node. */
#include "store/base/tree.h"

static struct tree_links *
links_of(const struct tree *tree, uint32_t node)
{
    return tree->kind->links(tree->context, node);
}

/* Parents have the higher one. Random enough to keep the tree flat, and needs no room. */
static uint32_t
priority_of(uint32_t node)
{
    uint32_t x = node * 0x9e3779b9u;

    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

void
tree_insert(struct tree *tree, const void *key, uint32_t node)
{
    uint32_t priority = priority_of(node);
    uint32_t *link = &tree->root;
    uint32_t *before, *behind;
    uint32_t at;

    while (*link != 0 && priority_of(*link) >= priority) {
        struct tree_links *links = links_of(tree, *link);

        link = tree->kind->compare(tree->context, key, *link) < 0 ? &links->left : &links->right;
    }
    /* What was here is split by the key into the new node's two sides. */
    at = *link;
    *link = node;
    before = &links_of(tree, node)->left;
    behind = &links_of(tree, node)->right;
    while (at != 0) {
        struct tree_links *links = links_of(tree, at);

        if (tree->kind->compare(tree->context, key, at) < 0) {
            *behind = at;
            behind = &links->left;
            at = links->left;
        } else {
            *before = at;
            before = &links->right;
            at = links->right;
        }
    }
    *before = 0;
    *behind = 0;
}

void
tree_remove(struct tree *tree, const void *key)
{
    uint32_t *link = &tree->root;
    uint32_t left, right;
    int order;

    while ((order = tree->kind->compare(tree->context, key, *link)) != 0) {
        struct tree_links *links = links_of(tree, *link);

        link = order < 0 ? &links->left : &links->right;
    }
    left = links_of(tree, *link)->left;
    right = links_of(tree, *link)->right;
    while (left != 0 && right != 0) {
        if (priority_of(left) >= priority_of(right)) {
            *link = left;
            link = &links_of(tree, left)->right;
            left = *link;
        } else {
            *link = right;
            link = &links_of(tree, right)->left;
            right = *link;
        }
    }
    *link = left != 0 ? left : right;
}

uint32_t
tree_find(const struct tree *tree, const void *key)
{
    uint32_t at = tree->root;

    while (at != 0) {
        int order = tree->kind->compare(tree->context, key, at);

        if (order == 0) {
            return at;
        }
        at = order < 0 ? links_of(tree, at)->left : links_of(tree, at)->right;
    }
    return 0;
}

uint32_t
tree_after(const struct tree *tree, const void *key)
{
    uint32_t at = tree->root;
    uint32_t best = 0;

    while (at != 0) {
        if (tree->kind->compare(tree->context, key, at) < 0) {
            best = at;
            at = links_of(tree, at)->left;
        } else {
            at = links_of(tree, at)->right;
        }
    }
    return best;
}
