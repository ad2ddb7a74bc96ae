/*
 * json_structure(): what types the values of a JSON have, as JSON. Values at one place get one type: integers and floats a
 * number's, members and items those of all objects and arrays there, and what does not go together the type JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/rows/json/tree.h"
#include "kernel/rows/text/text.h"

enum kind { NOTHING, BOOLEAN, UBIGINT, BIGINT, HUGEINT, DOUBLE, VARCHAR, ARRAY, OBJECT, ANY };

/* A type; members of an object are a chain. */
struct shape {
    enum kind kind;
    int32_t key; /* the node whose name it has */
    int32_t first;
    int32_t last; /* where a search for the next member begins */
    int32_t next; /* 0: none, as no member is the whole */
};

struct shapes {
    struct json_tree tree;
    struct gr_buf all; /* struct shape each */
};

static struct shape *
shape_at(const struct shapes *shapes, int32_t i)
{
    return (struct shape *)(void *)shapes->all.bytes + i;
}

/* One more, behind another one or as its first; -1: out of memory. */
static int32_t
add_shape(struct shapes *shapes, int32_t key)
{
    struct shape shape = {.kind = NOTHING, .key = key};

    gr_buf_add(&shapes->all, &shape, sizeof shape);
    return gr_buf_ok(&shapes->all) ? (int32_t)(shapes->all.size / sizeof shape) - 1 : -1;
}

static bool
same_key(const struct json_tree *tree, int32_t a, int32_t b)
{
    struct rows_text x = json_tree_key(tree, a);
    struct rows_text y = json_tree_key(tree, b);

    return x.size == y.size && memcmp(x.bytes, y.bytes, x.size) == 0;
}

/* The member of an object with a node's name; -1: out of memory, or of patience. */
static int32_t
member_of(struct shapes *shapes, int32_t object, int32_t node)
{
    int32_t from = shape_at(shapes, object)->last;
    int32_t at = from;
    int32_t end = from;
    int32_t made;

    if (from != 0) { /* names mostly come in the order of the object before */
        do {
            at = shape_at(shapes, at)->next != 0 ? shape_at(shapes, at)->next : shape_at(shapes, object)->first;
            end = shape_at(shapes, at)->next == 0 ? at : end;
            if (same_key(&shapes->tree, shape_at(shapes, at)->key, node)) {
                shape_at(shapes, object)->last = at;
                return at;
            }
        } while (at != from && shapes->tree.effort++ < JSON_TREE_EFFORT);
    }
    made = shapes->tree.effort < JSON_TREE_EFFORT ? add_shape(shapes, node) : -1;
    if (made >= 0) {
        shape_at(shapes, object)->last = made;
        *(end == 0 ? &shape_at(shapes, object)->first : &shape_at(shapes, end)->next) = made;
    }
    return made;
}

static enum kind
kind_of(const struct rows_text *value)
{
    const char *name = json_type_of(value->bytes, value->size);

    switch (*name) {
    case 'O':
        return OBJECT;
    case 'A':
        return ARRAY;
    case 'V':
        return VARCHAR;
    case 'N':
        return NOTHING;
    case 'D':
        return DOUBLE;
    case 'U':
        return UBIGINT;
    default:
        return strcmp(name, "BIGINT") == 0 ? BIGINT : BOOLEAN;
    }
}

static bool
is_number(enum kind kind)
{
    return kind >= UBIGINT && kind <= DOUBLE;
}

static enum kind
both(enum kind a, enum kind b)
{
    if (a == b || a == NOTHING || b == NOTHING) {
        return a > b ? a : b;
    }
    if (!is_number(a) || !is_number(b)) {
        return ANY;
    }
    return a == DOUBLE || b == DOUBLE ? DOUBLE : HUGEINT;
}

/* The values of a tree, each before those in it: so a stack of shapes is one of nodes. false: out of memory, or patience */
static bool
learn(struct shapes *shapes, int32_t *shape_of)
{
    const struct json_node *nodes = shapes->tree.nodes;

    for (int32_t i = 0; i < (int32_t)shapes->tree.count; i++) {
        int32_t around = i == 0 ? -1 : shape_of[nodes[i].parent];
        struct rows_text value = json_tree_value(&shapes->tree, i);
        struct shape *shape = around < 0 ? NULL : shape_at(shapes, around);

        if (i > 0 && (around < 0 || shape->kind == ANY)) {
            shape_of[i] = -1; /* in what has the type JSON */
            continue;
        }
        if (i == 0) {
            shape_of[i] = add_shape(shapes, 0);
        } else if (shape->kind == OBJECT) {
            shape_of[i] = member_of(shapes, around, i);
        } else {
            shape_of[i] = shape->first != 0 ? shape->first : add_shape(shapes, 0);
        }
        if (shape_of[i] < 0) {
            return false;
        }
        if (around >= 0 && shape_at(shapes, around)->kind == ARRAY) {
            shape_at(shapes, around)->first = shape_of[i];
        }
        shape = shape_at(shapes, shape_of[i]);
        shape->kind = both(shape->kind, kind_of(&value));
    }
    return true;
}

static void
add_named(const char *name, struct gr_buf *out)
{
    gr_buf_addf(out, "\"%s\"", name);
}

/* It calls itself as deep as the text is nested. */
static void
write_shape(const struct shapes *shapes, int32_t i, struct gr_buf *out)
{
    static const char *const names[] = {"NULL",   "BOOLEAN", "UBIGINT", "BIGINT", "HUGEINT",
                                        "DOUBLE", "VARCHAR", "NULL",    "JSON",   "JSON"};
    const struct shape *shape = shape_at(shapes, i);

    if (shape->kind == ARRAY && shape->first == 0) {
        gr_buf_add(out, "[\"NULL\"]", 8);
    } else if (shape->kind == ARRAY) {
        gr_buf_add(out, "[", 1);
        write_shape(shapes, shape->first, out);
        gr_buf_add(out, "]", 1);
    } else if (shape->kind == OBJECT && shape->first != 0) {
        for (int32_t m = shape->first; m != 0; m = shape_at(shapes, m)->next) {
            struct rows_text name = json_tree_key(&shapes->tree, shape_at(shapes, m)->key);

            gr_buf_add(out, m == shape->first ? "{" : ",", 1);
            gr_buf_add(out, name.bytes, name.size);
            gr_buf_add(out, ":", 1);
            write_shape(shapes, m, out);
        }
        gr_buf_add(out, "}", 1);
    } else {
        add_named(names[shape->kind], out);
    }
}

bool
text_json_structure(struct text_call *call)
{
    struct shapes shapes = {.all = {0}};
    struct gr_buf plain = {0};
    int32_t *shape_of = NULL;
    bool ok = json_tree_open(call, 0, &plain, &shapes.tree);

    if (ok) {
        shape_of = malloc(shapes.tree.count * sizeof *shape_of);
        call->no_memory = shape_of == NULL;
    }
    ok = ok && shape_of != NULL && learn(&shapes, shape_of);
    if (ok) {
        write_shape(&shapes, 0, call->out);
    }
    call->no_memory = call->no_memory || !gr_buf_ok(&shapes.all);
    free(shape_of);
    gr_buf_free(&plain);
    gr_buf_free(&shapes.all);
    json_tree_free(&shapes.tree);
    return ok;
}
