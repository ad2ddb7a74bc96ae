/* Functions of two JSON values: json_contains() and json_merge_patch(), with the meanings of DuckDB. */
#include <string.h>

#include "kernel/rows/json/tree.h"
#include "kernel/rows/text/text.h"

/* Two texts in one form, and their values. */
struct pair {
    struct gr_buf texts[2];
    struct json_tree trees[2];
};

static bool
is_cheap(const struct pair *pair)
{
    return pair->trees[0].effort + pair->trees[1].effort <= JSON_TREE_EFFORT;
}

/* false: one of them is no JSON, or there is no room for them. */
static bool
open_pair(struct text_call *call, struct pair *pair)
{
    return json_tree_open(call, 0, &pair->texts[0], &pair->trees[0]) &&
           json_tree_open(call, 1, &pair->texts[1], &pair->trees[1]);
}

static void
close_pair(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        gr_buf_free(&pair->texts[i]);
        json_tree_free(&pair->trees[i]);
    }
}

/* ---- json_contains ---- */

static bool matches(struct pair *pair, int32_t whole, int32_t part);

/* Whether one of the items matches. */
static bool
has_item(struct pair *pair, int32_t whole, int32_t part)
{
    struct json_tree *tree = &pair->trees[0];

    for (int32_t item = whole + 1; json_tree_has(tree, whole, item) && is_cheap(pair); item = tree->nodes[item].end) {
        if (matches(pair, item, part)) {
            return true;
        }
    }
    return false;
}

/* Whether a value is another one, which may lack members and items. */
static bool
matches(struct pair *pair, int32_t whole, int32_t part)
{
    struct json_tree *tree = &pair->trees[1];
    char kind = json_tree_kind(tree, part);
    struct rows_text a = json_tree_value(&pair->trees[0], whole);
    struct rows_text b = json_tree_value(tree, part);

    if (kind != '{' && kind != '[') {
        return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
    }
    if (json_tree_kind(&pair->trees[0], whole) != kind) {
        return false;
    }
    for (int32_t child = part + 1; json_tree_has(tree, part, child) && is_cheap(pair); child = tree->nodes[child].end) {
        struct rows_text name = json_tree_key(tree, child);
        int32_t member = kind == '{' ? json_tree_member(&pair->trees[0], whole, &name) : -1;

        if (kind == '{' ? member < 0 || !matches(pair, member, child) : !has_item(pair, whole, child)) {
            return false;
        }
    }
    return true;
}

bool
text_json_contains(struct text_call *call)
{
    struct pair pair = {.texts = {{0}, {0}}};
    bool ok = open_pair(call, &pair);

    call->value = 0;
    for (int32_t i = 0; ok && i < (int32_t)pair.trees[0].count && call->value == 0 && is_cheap(&pair); i++) {
        call->value = matches(&pair, i, 0);
    }
    ok = ok && is_cheap(&pair);
    close_pair(&pair);
    return ok;
}

/* ---- json_merge_patch ---- */

static void
add(const struct rows_text *text, struct gr_buf *out)
{
    gr_buf_add(out, text->bytes, text->size);
}

/* A member; *count: how many there are before it. */
static void
add_name(const struct json_tree *tree, int32_t node, int32_t *count, struct gr_buf *out)
{
    struct rows_text name = json_tree_key(tree, node);

    gr_buf_add(out, ",", (*count)++ > 0 ? 1 : 0);
    add(&name, out);
    gr_buf_add(out, ":", 1);
}

static bool
is_null(const struct json_tree *tree, int32_t node)
{
    return json_tree_kind(tree, node) == 'n' && tree->nodes[node].size == 4;
}

/* RFC 7396. from -1: there is no such member, or it is no object */
static void
merge(struct pair *pair, int32_t from, int32_t patch, struct gr_buf *out)
{
    struct json_tree *olds = &pair->trees[0];
    struct json_tree *news = &pair->trees[1];
    int32_t count = 0;

    if (json_tree_kind(news, patch) != '{') {
        struct rows_text value = json_tree_value(news, patch);

        add(&value, out);
        return;
    }
    from = from >= 0 && json_tree_kind(olds, from) == '{' ? from : -1;
    gr_buf_add(out, "{", 1);
    for (int32_t m = from + 1; from >= 0 && json_tree_has(olds, from, m) && is_cheap(pair); m = olds->nodes[m].end) {
        struct rows_text name = json_tree_key(olds, m);
        struct rows_text value = json_tree_value(olds, m);

        if (json_tree_member(news, patch, &name) < 0) {
            add_name(olds, m, &count, out);
            add(&value, out);
        }
    }
    for (int32_t m = patch + 1; json_tree_has(news, patch, m) && is_cheap(pair); m = news->nodes[m].end) {
        struct rows_text name = json_tree_key(news, m);

        if (!is_null(news, m)) {
            add_name(news, m, &count, out);
            merge(pair, from < 0 ? -1 : json_tree_member(olds, from, &name), m, out);
        }
    }
    gr_buf_add(out, "}", 1);
}

bool
text_json_merge_patch(struct text_call *call)
{
    struct pair pair = {.texts = {{0}, {0}}};
    bool ok = open_pair(call, &pair);

    if (ok && json_tree_kind(&pair.trees[0], 0) == '{') {
        merge(&pair, 0, 0, call->out);
    } else if (ok) {
        gr_buf_add(call->out, pair.texts[1].bytes, pair.texts[1].size);
    }
    ok = ok && is_cheap(&pair);
    close_pair(&pair);
    return ok;
}
