/* The trees of a graph's expressions: a hash table by text, of which at most a half is filled. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "graph/expr.h"

struct gr_tree {
    char *text; /* NULL: the place is free */
    struct gr_expr *expr;
};

/* Where a text is, or has room. */
static struct gr_tree *
tree_place(const struct gr_trees *trees, const char *text)
{
    size_t at = gr_hash64(text, strlen(text)) & (trees->room - 1);

    while (trees->places[at].text != NULL && strcmp(trees->places[at].text, text) != 0) {
        at = (at + 1) & (trees->room - 1);
    }
    return &trees->places[at];
}

/* false: no memory */
static bool
trees_grow(struct gr_trees *trees)
{
    struct gr_trees larger = {.count = trees->count, .room = trees->room == 0 ? 16 : 2 * trees->room};

    larger.places = calloc(larger.room, sizeof *larger.places);
    for (size_t i = 0; larger.places != NULL && i < trees->room; i++) {
        if (trees->places[i].text != NULL) {
            *tree_place(&larger, trees->places[i].text) = trees->places[i];
        }
    }
    if (larger.places != NULL) {
        free(trees->places);
        *trees = larger;
    }
    return larger.places != NULL;
}

granary_err
gr_trees_find(struct gr_trees *trees, const char *text, const struct gr_expr **ret_expr)
{
    struct gr_tree made = {.text = NULL};
    struct gr_tree *place;
    granary_err err;

    if (2 * trees->count >= trees->room && !trees_grow(trees)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    place = tree_place(trees, text);
    if (place->text == NULL) {
        err = gr_expr_parse(text, &made.expr);
        if (err == GRANARY_OK && (made.text = strdup(text)) == NULL) {
            gr_expr_destroy(made.expr);
            err = gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        if (err != GRANARY_OK) {
            return err;
        }
        *place = made;
        trees->count++;
    }
    *ret_expr = place->expr;
    return GRANARY_OK;
}

granary_err
gr_trees_check(struct gr_trees *trees, const char *text, const struct gr_schema *schema, struct gr_expr **ret_expr)
{
    const struct gr_expr *plain;
    struct gr_expr *expr = NULL;
    granary_err err = gr_trees_find(trees, text, &plain);

    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_expr_copy(plain, &expr);
    if (err == GRANARY_OK) {
        err = gr_expr_check(expr, schema);
        if (err != GRANARY_OK && err != GRANARY_ENOMEM) {
            err = gr_fail(err, "expression `%.240s`, %s", text, granary_error_message());
        }
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(expr);
        return err;
    }
    *ret_expr = expr;
    return GRANARY_OK;
}

void
gr_trees_free(struct gr_trees *trees)
{
    for (size_t i = 0; i < trees->room; i++) {
        gr_expr_destroy(trees->places[i].expr);
        free(trees->places[i].text);
    }
    free(trees->places);
    *trees = (struct gr_trees){.count = 0};
}
