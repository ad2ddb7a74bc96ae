/*
 * Lists of texts: "[a, 'b c', NULL, [d, e]]". Blanks around an item are left out. A stretch in quotes is what stands in
 * them, where a backslash comes before any character; outside of them it does so before a quote. NULL without quotes is a
 * null. What stands in brackets is kept as it is. One in braces is PostgreSQL's (list_braces.c).
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kernel/core/scratch.h"
#include "kernel/rows/lists/lists.h"

struct reading {
    const char *at;
    const char *end;
    struct gr_buf item;   /* without its quotes */
    struct gr_buf closes; /* the brackets that are to come, the next one last */
};

static bool
is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* What stands in the quotes that begin here, to out (or nowhere), and behind them. false: they have no end. */
static bool
read_quoted(struct reading *r, struct gr_buf *out)
{
    char quote = *r->at++;

    for (; r->at < r->end && *r->at != quote; r->at++) {
        r->at += *r->at == '\\';
        if (r->at == r->end) {
            return false;
        }
        if (out != NULL) {
            gr_buf_add(out, r->at, 1);
        }
    }
    return r->at++ < r->end;
}

/* The bracket that closes another one; 0: it opens nothing. */
static char
closing(char c)
{
    return c == '[' ? ']' : c == '{' ? '}' : c == '(' ? ')' : '\0';
}

/* To the bracket that closes the one that stands here, and behind it. false: there is none. */
static bool
skip_brackets(struct reading *r)
{
    r->closes.size = 0;
    while (r->at < r->end && gr_buf_ok(&r->closes)) {
        char c = *r->at;
        char close = closing(c);

        if (is_quote(c)) {
            if (!read_quoted(r, NULL)) {
                return false;
            }
            continue;
        }
        if (close != '\0') {
            gr_buf_add(&r->closes, &close, 1);
        } else if (c == r->closes.bytes[r->closes.size - 1]) {
            r->closes.size--;
        }
        r->at += 1 + (c == '\\' && r->at + 1 < r->end && is_quote(r->at[1]));
        if (r->closes.size == 0) {
            return true;
        }
    }
    return false;
}

/* Characters that stand for themselves, of which those behind the last that is no blank may be around an item. */
static void
read_plain(struct reading *r, size_t *used)
{
    const char *from = r->at;
    const char *end = r->at;

    for (; r->at < r->end && *r->at != ',' && *r->at != ']' && closing(*r->at) == '\0' && !is_quote(*r->at); r->at++) {
        if (*r->at == '\\' && r->at + 1 < r->end && is_quote(r->at[1])) {
            break;
        }
        end = lists_is_blank(*r->at) ? end : r->at + 1;
    }
    *used = end > from ? r->item.size + (size_t)(end - from) : *used;
    gr_buf_add(&r->item, from, (size_t)(r->at - from));
}

/* One part of an item: in quotes, in brackets, a quote behind a backslash, or plain. false: it has no end. */
static bool
read_part(struct reading *r, size_t *used)
{
    const char *from = r->at;

    if (closing(*from) != '\0') {
        if (!skip_brackets(r)) {
            return false;
        }
        gr_buf_add(&r->item, from, (size_t)(r->at - from));
    } else if (is_quote(*from)) {
        if (!read_quoted(r, &r->item)) {
            return false;
        }
    } else if (*from == '\\' && from + 1 < r->end && is_quote(from[1])) {
        gr_buf_add(&r->item, from + 1, 1);
        r->at += 2;
    } else {
        read_plain(r, used);
        return true;
    }
    *used = r->item.size;
    return true;
}

/* One item, and to what is behind it; false: it is none. */
static bool
read_item(struct reading *r, struct lists_parts *parts, granary_err *err)
{
    struct rows_text text;
    const char *from;
    size_t used = 0;

    r->at = lists_behind_blanks(r->at, r->end);
    from = r->at;
    r->item.size = 0;
    while (r->at < r->end && *r->at != ',' && *r->at != ']') {
        if (!read_part(r, &used)) {
            return false;
        }
    }
    if (!gr_buf_ok(&r->item) || !gr_buf_ok(&r->closes)) {
        *err = node_no_memory();
        return true;
    }
    text = (struct rows_text){r->item.bytes, used};
    *err = lists_part_add(parts, used == 4 && strncasecmp(from, "null", 4) == 0 ? NULL : &text);
    return true;
}

/* false: the text is no list. */
static bool
read_list(struct reading *r, struct lists_parts *parts, granary_err *err)
{
    char behind = ',';

    r->at = lists_behind_blanks(r->at, r->end);
    if (r->at < r->end && *r->at == '{') {
        return lists_read_braces(r->at, r->end, &r->item, parts, err);
    }
    if (r->at == r->end || *r->at++ != '[') {
        return false;
    }
    r->at = lists_behind_blanks(r->at, r->end);
    if (r->at < r->end && *r->at == ']') {
        behind = *r->at++;
    }
    while (behind == ',' && *err == GRANARY_OK) {
        if (!read_item(r, parts, err)) {
            return false;
        }
        behind = r->at < r->end ? *r->at++ : '\0';
    }
    r->at = lists_behind_blanks(r->at, r->end);
    return *err == GRANARY_OK && behind == ']' && r->at == r->end;
}

granary_err
op_list_parse(struct node *node, int64_t n)
{
    const struct rows_text *texts = node_texts(node->operands[0], n);
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    uint8_t *valid = calloc((size_t)n + 1, 1);
    struct lists_parts parts = {.count = 0};
    struct reading r = {0};
    granary_err err = ends == NULL || valid == NULL ? node_no_memory() : GRANARY_OK;

    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        size_t before = parts.count;
        size_t bytes = parts.bytes.size;

        r.at = texts[i].bytes;
        r.end = texts[i].size > 0 ? r.at + texts[i].size : r.at;
        valid[i] = node_counts(node, i);
        if (valid[i] != 0 && (texts[i].size == 0 || !read_list(&r, &parts, &err))) {
            parts.count = before;
            parts.bytes.size = bytes;
            valid[i] = 0;
            if (node->op == GR_OP_LIST_PARSE) {
                node_mark_bad(node, i, n);
            }
        }
        ends[i] = (int32_t)parts.count;
    }
    err = err == GRANARY_OK ? lists_parts_give(node, &parts, ends, n) : err;
    if (err == GRANARY_OK) {
        memcpy(node_valid_room(node), valid, (size_t)n);
    }
    lists_parts_free(&parts);
    gr_buf_free(&r.item);
    gr_buf_free(&r.closes);
    free(valid);
    scratch_free(ends);
    return err;
}
