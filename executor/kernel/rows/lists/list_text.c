/*
 * Lists of texts: "[a, 'b c', NULL, [d, e]]". Blanks around an item are left out. One in quotes is what stands in them, where a
 * backslash comes before a quote or a backslash. NULL without quotes is a null, and what stands in brackets is one item.
 * One in braces is PostgreSQL's (list_braces.c).
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kernel/core/scratch.h"
#include "kernel/rows/lists/lists.h"

struct reading {
    const char *at;
    const char *end;
};

static bool
is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void
skip_blanks(struct reading *r)
{
    while (r->at < r->end && is_blank(*r->at)) {
        r->at++;
    }
}

/* The item in quotes that begins here, without them. false: it has no end, or a backslash before something else. */
static bool
read_quoted(struct reading *r, struct gr_buf *out)
{
    char quote = *r->at++;

    for (; r->at < r->end && *r->at != quote; r->at++) {
        if (*r->at == '\\') {
            r->at++;
            if (r->at == r->end || (*r->at != quote && *r->at != '\\')) {
                return false;
            }
        }
        gr_buf_add(out, r->at, 1);
    }
    return r->at++ < r->end;
}

/* To the bracket that closes the one that stands here, and behind it. false: there is none. */
static bool
skip_brackets(struct reading *r)
{
    int depth = 0;

    do {
        char c = r->at < r->end ? *r->at : '\0';

        if (r->at == r->end || c == '\\') {
            return false;
        }
        if (c == '"' || c == '\'') {
            r->at = memchr(r->at + 1, c, (size_t)(r->end - r->at - 1));
            if (r->at == NULL) {
                return false;
            }
        }
        depth += (c == '[' || c == '{' || c == '(') - (c == ']' || c == '}' || c == ')');
        r->at++;
    } while (depth > 0);
    return true;
}

/* To the comma or the bracket behind an item without quotes. false: it has what means something else. */
static bool
skip_plain(struct reading *r)
{
    while (r->at < r->end && *r->at != ',' && *r->at != ']') {
        if (*r->at == '[' || *r->at == '{' || *r->at == '(') {
            if (!skip_brackets(r)) {
                return false;
            }
        } else if (*r->at == '"' || *r->at == '\'' || *r->at == '\\') {
            return false;
        } else {
            r->at++;
        }
    }
    return true;
}

/* One item; false: it is none. */
static bool
read_item(struct reading *r, struct gr_buf *quoted, struct lists_parts *parts, granary_err *err)
{
    struct rows_text text = {0};
    const char *end;

    skip_blanks(r);
    if (r->at < r->end && (*r->at == '"' || *r->at == '\'')) {
        quoted->size = 0;
        if (!read_quoted(r, quoted)) {
            return false;
        }
        text = (struct rows_text){quoted->bytes, quoted->size};
        *err = gr_buf_ok(quoted) ? lists_part_add(parts, &text) : node_no_memory();
        skip_blanks(r);
        return true;
    }
    text.bytes = r->at;
    if (!skip_plain(r)) {
        return false;
    }
    for (end = r->at; end > text.bytes && is_blank(end[-1]);) {
        end--;
    }
    text.size = (size_t)(end - text.bytes);
    *err = lists_part_add(parts, text.size == 4 && strncasecmp(text.bytes, "null", 4) == 0 ? NULL : &text);
    return true;
}

/* false: the text is no list. */
static bool
read_list(struct reading *r, struct gr_buf *quoted, struct lists_parts *parts, granary_err *err)
{
    skip_blanks(r);
    if (r->at < r->end && *r->at == '{') {
        return lists_read_braces(r->at, r->end, quoted, parts, err);
    }
    if (r->at == r->end || *r->at++ != '[') {
        return false;
    }
    skip_blanks(r);
    if (r->at < r->end && *r->at == ']') {
        r->at++;
    } else {
        do {
            if (!read_item(r, quoted, parts, err)) {
                return false;
            }
        } while (*err == GRANARY_OK && r->at < r->end && *r->at++ == ',');
        if (*err != GRANARY_OK || r->at[-1] != ']') {
            return false;
        }
    }
    skip_blanks(r);
    return r->at == r->end;
}

granary_err
op_list_parse(struct node *node, int64_t n)
{
    const struct rows_text *texts = node_texts(node->operands[0], n);
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    uint8_t *valid = calloc((size_t)n + 1, 1);
    struct lists_parts parts = {.count = 0};
    struct gr_buf quoted = {0};
    granary_err err = ends == NULL || valid == NULL ? node_no_memory() : GRANARY_OK;

    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        struct reading r = {texts[i].bytes, texts[i].bytes + texts[i].size};
        size_t before = parts.count;
        size_t bytes = parts.bytes.size;

        valid[i] = node_counts(node, i);
        if (valid[i] != 0 && (texts[i].size == 0 || !read_list(&r, &quoted, &parts, &err))) {
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
    gr_buf_free(&quoted);
    free(valid);
    scratch_free(ends);
    return err;
}
