/* Lists of a JSON's values: those that a path with `*` and `..` leads to, and members and items with what they are. */
#include <stdlib.h>
#include <string.h>

#include "kernel/core/scratch.h"
#include "kernel/rows/json/path.h"
#include "kernel/rows/json/tree.h"
#include "kernel/rows/lists/lists.h"

/* ---- lists, row by row ---- */

/* A block of lists of texts, and the row at hand. */
struct rows {
    struct node *node;
    struct json_tree tree;
    struct lists_parts parts;
    struct gr_buf text; /* of a part */
    const struct rows_text *texts[3];
    int64_t i;
};

/* What a row gives. *ret_ok false: its text or its path is none. Errors: ENOMEM, EFULL */
typedef granary_err row_function(struct rows *rows, bool *ret_ok, bool *ret_null);

static granary_err
give_rows(struct node *node, int64_t n, row_function *function)
{
    struct rows rows = {.node = node};
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    uint8_t *valid = scratch_alloc((size_t)n + 1);
    granary_err err = ends == NULL || valid == NULL ? node_no_memory() : GRANARY_OK;

    for (size_t k = 0; k < node->count; k++) {
        rows.texts[k] = node_texts(node->operands[k], n);
    }
    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        size_t before = rows.parts.count;
        size_t bytes = rows.parts.bytes.size;
        bool ok = true;
        bool null = false;

        rows.i = i;
        valid[i] = node_counts(node, i);
        if (valid[i] != 0) {
            ok = json_check(&rows.texts[0][i]) == JSON_GOOD;
            err = ok ? json_tree_read(&rows.tree, &rows.texts[0][i]) : GRANARY_OK;
            err = ok && err == GRANARY_OK ? function(&rows, &ok, &null) : err;
            valid[i] = !null;
        }
        if (!ok) {
            rows.parts.count = before;
            rows.parts.bytes.size = bytes;
            node_mark_bad(node, i, n);
        }
        ends[i] = (int32_t)rows.parts.count;
    }
    err = err == GRANARY_OK ? lists_parts_give(node, &rows.parts, ends, n) : err;
    if (err == GRANARY_OK && n > 0) {
        memcpy(node_valid_room(node), valid, (size_t)n);
    }
    lists_parts_free(&rows.parts);
    json_tree_free(&rows.tree);
    gr_buf_free(&rows.text);
    scratch_free(ends);
    scratch_free(valid);
    return err;
}

/* The text so far is a part. */
static granary_err
add_part(struct rows *rows)
{
    struct rows_text part = {rows->text.size > 0 ? rows->text.bytes : "", rows->text.size};

    return gr_buf_ok(&rows->text) ? lists_part_add(&rows->parts, &part) : node_no_memory();
}

static granary_err
add_value(struct rows *rows, int32_t node)
{
    struct rows_text value = json_tree_value(&rows->tree, node);

    rows->text.size = 0;
    json_add_value(value.bytes, value.size, &rows->text);
    return add_part(rows);
}

/* ---- json_extract_all ---- */

/* Values by their numbers in the tree, and those of the next step. */
struct found {
    struct gr_buf nodes;
    struct gr_buf next;
};

static size_t
count_of(const struct gr_buf *nodes)
{
    return nodes->size / sizeof(int32_t);
}

/* What a step leads to from one value: its child of that name or place, or each. */
static void
step_from(struct json_tree *tree, const struct json_step *step, int32_t from, struct found *found)
{
    bool is_array = json_tree_kind(tree, from) == '[';
    bool fits = is_array ? step->has_index : json_tree_kind(tree, from) == '{' && step->has_key;
    int64_t index = step->index;

    if (is_array && step->from_end) {
        int32_t items = 0;

        for (int32_t c = from + 1; json_tree_has(tree, from, c); c = tree->nodes[c].end) {
            items++;
        }
        index = items - index;
    }
    for (int32_t c = from + 1; fits && json_tree_has(tree, from, c); c = tree->nodes[c].end) {
        struct rows_text key = json_tree_key(tree, c);

        if (step->any || (is_array ? tree->nodes[c].place == index : json_is_named(&key, step))) {
            gr_buf_add(&found->next, &c, sizeof c);
            fits = step->any; /* a name leads to the first of it */
        }
    }
}

static void
take_step(struct json_tree *tree, const struct json_step *step, struct found *found)
{
    struct gr_buf now = found->nodes;

    found->next.size = 0;
    for (size_t i = 0; i < count_of(&now) && tree->effort <= JSON_TREE_EFFORT; i++) {
        int32_t from;
        int32_t end;

        memcpy(&from, now.bytes + i * sizeof from, sizeof from);
        end = step->deep ? tree->nodes[from].end : from + 1;
        for (; from < end && count_of(&found->next) <= JSON_FOUND_MOST && tree->effort <= JSON_TREE_EFFORT; from++) {
            step_from(tree, step, from, found);
        }
    }
    found->nodes = found->next;
    found->next = now;
}

static granary_err
extract_row(struct rows *rows, bool *ret_ok, bool *ret_null)
{
    struct json_path path = {.text = rows->texts[1][rows->i]};
    struct found found = {.nodes = {0}};
    enum json_step_found is = JSON_STEP;
    const char *at = NULL;
    struct json_step step;
    int32_t whole = 0;
    granary_err err = GRANARY_OK;

    (void)ret_null;
    gr_buf_add(&found.nodes, &whole, sizeof whole);
    while ((is = json_path_step(&path, &at, &step)) == JSON_STEP) {
        take_step(&rows->tree, &step, &found);
    }
    *ret_ok = is == JSON_NO_MORE && rows->tree.effort <= JSON_TREE_EFFORT && count_of(&found.nodes) <= JSON_FOUND_MOST;
    err = gr_buf_ok(&found.nodes) && gr_buf_ok(&found.next) ? GRANARY_OK : node_no_memory();
    for (size_t i = 0; *ret_ok && err == GRANARY_OK && i < count_of(&found.nodes); i++) {
        int32_t node;

        memcpy(&node, found.nodes.bytes + i * sizeof node, sizeof node);
        err = add_value(rows, node);
    }
    gr_buf_free(&found.nodes);
    gr_buf_free(&found.next);
    return err;
}

granary_err
op_json_extract_all(struct node *node, int64_t n)
{
    return give_rows(node, n, extract_row);
}

/* ---- json_each, json_tree ---- */

/* A member's name behind a point: in quotes unless it is a letter, and letters, digits and _ behind it. */
static void
add_name(const struct rows_text *name, struct gr_buf *out)
{
    struct gr_buf said = {0};
    bool plain = false;

    json_add_said(name->bytes, name->size, &said);
    for (size_t i = 0; i < said.size; i++) {
        char c = (char)(said.bytes[i] | 0x20);
        bool letter = c >= 'a' && c <= 'z' && (unsigned char)said.bytes[i] < 0x80;

        plain = letter || (i > 0 && plain && ((said.bytes[i] >= '0' && said.bytes[i] <= '9') || said.bytes[i] == '_'));
        if (!plain) {
            break;
        }
    }
    gr_buf_add(out, plain ? "." : ".\"", plain ? 1 : 2);
    for (size_t i = 0; i < said.size; i++) {
        gr_buf_add(out, "\\", !plain && (said.bytes[i] == '"' || said.bytes[i] == '\\') ? 1 : 0);
        gr_buf_add(out, said.bytes + i, 1);
    }
    gr_buf_add(out, "\"", plain ? 0 : 1);
    out->failed = out->failed || !gr_buf_ok(&said);
    gr_buf_free(&said);
}

/* The path of a value; that of the one where all begins is given. Errors: ENOMEM */
static granary_err
add_path(struct rows *rows, int32_t from, int32_t node, const struct rows_text *given)
{
    const struct json_tree *tree = &rows->tree;
    struct gr_buf chain = {0};
    int32_t at;

    for (at = node; at != from && gr_buf_ok(&chain); at = tree->nodes[at].parent) {
        gr_buf_add(&chain, &at, sizeof at);
    }
    if (given->size > 0 && *given->bytes == '$') {
        gr_buf_add(&rows->text, given->bytes, given->size);
    } else {
        gr_buf_add(&rows->text, "$.\"", given->size > 0 ? 3 : 1);
        gr_buf_add(&rows->text, given->bytes, given->size);
        gr_buf_add(&rows->text, "\"", given->size > 0 ? 1 : 0);
    }
    for (size_t i = count_of(&chain); i > 0; i--) {
        struct rows_text name;

        memcpy(&at, chain.bytes + (i - 1) * sizeof at, sizeof at);
        name = json_tree_key(tree, at);
        if (name.size > 0) {
            add_name(&name, &rows->text);
        } else {
            gr_buf_addf(&rows->text, "[%d]", tree->nodes[at].place);
        }
    }
    rows->text.failed = rows->text.failed || !gr_buf_ok(&chain);
    gr_buf_free(&chain);
    return gr_buf_ok(&rows->text) ? GRANARY_OK : node_no_memory();
}

enum what {
#define JSON_PART(id, name) id,
#include "graph/json_parts.def"
    NONE
};

static enum what
what_of(const struct rows_text *text)
{
    static const char *const names[] = {
#define JSON_PART(id, name) name,
#include "graph/json_parts.def"
    };
    enum what what = KEY;

    while (what < NONE && (strlen(names[what]) != text->size || memcmp(names[what], text->bytes, text->size) != 0)) {
        what++;
    }
    return what;
}

/* One text about a value. from: where all begins. Errors: ENOMEM, EFULL */
static granary_err
tell(struct rows *rows, enum what what, int32_t from, int32_t node)
{
    const struct json_tree *tree = &rows->tree;
    bool is_tree = rows->node->op == GR_OP_JSON_TREE;
    int32_t parent = node == from ? node : tree->nodes[node].parent;
    struct rows_text value = json_tree_value(tree, node);
    struct rows_text name = json_tree_key(tree, node);
    bool atom = *value.bytes != '{' && *value.bytes != '[';
    granary_err err = GRANARY_OK;

    rows->text.size = 0;
    if ((what == ATOM && !atom) || (what == KEY && node == from) || (what == PARENT && (!is_tree || node == from)) ||
        (what == ATOM && json_type_of(value.bytes, value.size)[0] == 'N')) {
        return lists_part_add(&rows->parts, NULL);
    }
    switch (what) {
    case KEY:
        if (name.size > 0) {
            json_add_said(name.bytes, name.size, &rows->text);
        } else {
            gr_buf_addf(&rows->text, "%d", tree->nodes[node].place);
        }
        break;
    case TYPE:
        gr_buf_addf(&rows->text, "%s", json_type_of(value.bytes, value.size));
        break;
    case ID:
    case PARENT:
        gr_buf_addf(&rows->text, "%d", tree->nodes[what == ID ? node : parent].number);
        break;
    case FULLKEY:
    case PATH:
        err = add_path(rows, from, what == PATH ? parent : node, &rows->texts[1][rows->i]);
        break;
    default:
        json_add_value(value.bytes, value.size, &rows->text);
    }
    return err == GRANARY_OK ? add_part(rows) : err;
}

static granary_err
each_row(struct rows *rows, bool *ret_ok, bool *ret_null)
{
    struct json_path path = {.text = rows->texts[1][rows->i]};
    enum what what = what_of(&rows->texts[2][rows->i]);
    bool is_tree = rows->node->op == GR_OP_JSON_TREE;
    const char *value = NULL;
    size_t size = 0;
    granary_err err = GRANARY_OK;

    *ret_ok = what != NONE && json_path_check(&path) && (path.text.size == 0 || *path.text.bytes != '/');
    value = *ret_ok ? json_find(&rows->texts[0][rows->i], &path, &size) : NULL;
    *ret_null = false;
    if (value != NULL) {
        int32_t from = json_tree_at(&rows->tree, value);
        int32_t end = rows->tree.nodes[from].end;
        bool alone = *value != '{' && *value != '[';
        int32_t node = from + (!is_tree && !alone);

        while (node < end && err == GRANARY_OK) {
            err = tell(rows, what, from, node);
            node = is_tree ? node + 1 : rows->tree.nodes[node].end;
        }
    }
    return err;
}

granary_err
op_json_each(struct node *node, int64_t n)
{
    return give_rows(node, n, each_row);
}
