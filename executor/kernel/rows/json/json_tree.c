/* All values of a text in a row: read in one pass, without a stack. */
#include <stdlib.h>
#include <string.h>

#include "kernel/rows/json/read.h"
#include "kernel/rows/json/tree.h"
#include "kernel/rows/node.h"

/* One more node; NULL: out of memory. */
static struct json_node *
add_node(struct json_tree *tree)
{
    if (tree->count == tree->room) {
        size_t room = tree->room * 2 + 32;
        struct json_node *grown = realloc(tree->nodes, room * sizeof *grown);

        if (grown == NULL) {
            return NULL;
        }
        tree->nodes = grown;
        tree->room = room;
    }
    return &tree->nodes[tree->count++];
}

/* Where a value begins, and its name before it. */
static void
begin_node(const struct json_tree *tree, struct json_node *node, const char **at, const char *end, int32_t *number)
{
    if (node->parent >= 0 && json_tree_kind(tree, node->parent) == '{') {
        const char *name = *at;

        *at = json_behind_string(name);
        node->key = (int32_t)(name - tree->text);
        node->key_size = (int32_t)(*at - name);
        *at = json_behind_blanks(json_behind_blanks(*at, end) + 1, end);
        (*number)++;
    }
    node->at = (int32_t)(*at - tree->text);
    node->number = (*number)++;
}

granary_err
json_tree_read(struct json_tree *tree, const struct rows_text *text)
{
    const char *at = text->bytes;
    const char *end = at + text->size;
    int32_t around = -1;
    int32_t depth = 0;
    int32_t number = 0;

    tree->text = text->bytes;
    tree->count = 0;
    tree->effort = 0;
    tree->depth = 0;
    while (at < end) {
        struct json_node *node;

        if (json_is_blank(*at) || *at == ',') {
            at++;
        } else if (*at == '}' || *at == ']') {
            node = &tree->nodes[around];
            at++;
            node->size = (int32_t)(at - tree->text) - node->at;
            node->end = (int32_t)tree->count;
            around = node->parent;
            depth--;
        } else {
            node = add_node(tree);
            if (node == NULL) {
                return node_no_memory();
            }
            *node = (struct json_node){.parent = around};
            begin_node(tree, node, &at, end, &number);
            node->place = around < 0 ? 0 : tree->nodes[around].size++; /* so many of them so far */
            if (*at == '{' || *at == '[') {
                around = (int32_t)tree->count - 1;
                at++;
                depth++;
                tree->depth = depth > tree->depth ? depth : tree->depth;
            } else {
                at = json_behind_value(at, end);
                node->size = (int32_t)(at - tree->text) - node->at;
                node->end = (int32_t)tree->count;
            }
        }
    }
    return GRANARY_OK;
}

void
json_tree_free(struct json_tree *tree)
{
    free(tree->nodes);
}

bool
json_tree_open(struct text_call *call, int which, struct gr_buf *plain, struct json_tree *tree)
{
    struct json_path whole = {.text = {NULL, 0}};
    struct rows_text text = call->texts[which];
    size_t size = 0;
    const char *value = json_check(&text) != JSON_GOOD ? NULL : json_find(&text, &whole, &size);

    if (value == NULL) {
        return false;
    }
    json_add_value(value, size, plain);
    text = (struct rows_text){plain->bytes, plain->size};
    call->no_memory = !gr_buf_ok(plain) || json_tree_read(tree, &text) != GRANARY_OK;
    return !call->no_memory && tree->depth <= JSON_TREE_DEPTH;
}

int32_t
json_tree_member(struct json_tree *tree, int32_t node, const struct rows_text *name)
{
    for (int32_t child = node + 1; json_tree_has(tree, node, child); child = tree->nodes[child].end) {
        if (tree->nodes[child].key_size == (int32_t)name->size &&
            memcmp(tree->text + tree->nodes[child].key, name->bytes, name->size) == 0) {
            return child;
        }
    }
    return -1;
}

int32_t
json_tree_at(const struct json_tree *tree, const char *value)
{
    int32_t at = (int32_t)(value - tree->text);
    size_t from = 0;
    size_t to = tree->count - 1;

    while (from < to) {
        size_t middle = (from + to + 1) / 2;

        if (tree->nodes[middle].at <= at) {
            from = middle;
        } else {
            to = middle - 1;
        }
    }
    return (int32_t)from;
}
