/*
 * Lists as text, such as [1, "a, b", NULL]: their items as texts. Outside of quotes blanks around an item go, and a backslash
 * stays but before a quote. Within quotes it says that the next character stands for itself. A list or struct within
 * brackets is one item, as it is written.
 */
#include <string.h>
#include <strings.h>

#include "kernel/core/scratch.h"
#include "kernel/rows/lists.h"

enum { READ_DEEP = 256 }; /* brackets within brackets */

struct list_reader {
    const char *at;
    const char *end;
    struct lists_parts *parts;
    struct gr_buf item;
    size_t kept;  /* bytes of the item that are no blanks behind it */
    bool quoted;  /* the item has quotes */
    bool started; /* it has anything */
    granary_err err;
};

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void
skip_blanks(struct list_reader *r)
{
    while (r->at < r->end && is_blank(*r->at)) {
        r->at++;
    }
}

static void
add_byte(struct list_reader *r, char c)
{
    if (is_blank(c) && r->item.size == 0 && !r->quoted) {
        return;
    }
    gr_buf_add(&r->item, &c, 1);
    r->kept = is_blank(c) ? r->kept : r->item.size;
    r->started = true;
}

static void
end_item(struct list_reader *r)
{
    struct rows_text text = {r->item.bytes, r->kept};
    bool null = !r->quoted && r->kept == 4 && strncasecmp(r->item.bytes, "null", 4) == 0;

    if (r->err == GRANARY_OK) {
        r->err = gr_buf_ok(&r->item) ? lists_part_add(r->parts, null ? NULL : &text) : node_no_memory();
    }
    r->item.size = 0;
    r->kept = 0;
    r->quoted = false;
    r->started = false;
}

/* Up to the quote that closes it; as it is written, or what it says. */
static bool
read_quoted(struct list_reader *r, bool as_written)
{
    char quote = *r->at++;

    if (as_written) {
        add_byte(r, quote);
    }
    r->quoted = r->quoted || !as_written;
    for (; r->at < r->end && *r->at != quote; r->at++) {
        if (*r->at == '\\') {
            if (as_written) {
                add_byte(r, '\\');
            }
            if (++r->at == r->end) {
                return false;
            }
        }
        gr_buf_add(&r->item, r->at, 1);
        r->kept = r->item.size;
        r->started = true;
    }
    if (r->at < r->end && as_written) {
        add_byte(r, quote);
    }
    return r->at++ < r->end;
}

/* A list or struct within the list, as it is written. */
static bool
read_nested(struct list_reader *r)
{
    char open[READ_DEEP];
    size_t deep = 0;

    do {
        char c = *r->at;

        if (c == '"' || c == '\'') {
            if (!read_quoted(r, true)) {
                return false;
            }
            continue;
        }
        if (c == '\\' && r->at + 1 < r->end) {
            add_byte(r, c);
            c = *++r->at;
        } else if (c == '[' || c == '{') {
            if (deep == READ_DEEP) {
                return false;
            }
            open[deep++] = c;
        } else if (c == ']' || c == '}') {
            if (open[deep - 1] != (c == ']' ? '[' : '{')) {
                return false;
            }
            deep--;
        }
        add_byte(r, c);
        r->at++;
    } while (deep > 0 && r->at < r->end);
    return deep == 0;
}

/* Items up to the bracket that closes the list. */
static bool
read_items(struct list_reader *r)
{
    bool any = false; /* a comma was there */

    while (r->at < r->end && r->err == GRANARY_OK) {
        char c = *r->at;

        if (c == ']') {
            r->at++;
            if (any || r->started || r->quoted) {
                end_item(r);
            }
            return true;
        }
        if (c == '"' || c == '\'') {
            if (!read_quoted(r, false)) {
                return false;
            }
        } else if (c == '[' || c == '{') {
            if (!read_nested(r)) {
                return false;
            }
        } else if (c == '}') {
            return false;
        } else {
            if (c == ',') {
                end_item(r);
                any = true;
            } else if (c == '\\' && r->at + 1 < r->end && (r->at[1] == '"' || r->at[1] == '\'')) {
                add_byte(r, *++r->at);
            } else {
                add_byte(r, c);
            }
            r->at++;
        }
    }
    return false;
}

/* false: it is no list; parts that were added must go. */
static bool
read_list(struct list_reader *r)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at++ != '[' || !read_items(r)) {
        r->item.size = 0;
        r->kept = 0;
        r->quoted = false;
        r->started = false;
        return false;
    }
    skip_blanks(r);
    return r->at == r->end;
}

/* Row i is null. */
static void
forget(struct node *node, int64_t i, int64_t n)
{
    const uint8_t *before = node->valid;

    if (before != node->valid_buffer) {
        uint8_t *valid = node_valid_room(node);

        for (int64_t k = 0; k < n; k++) {
            valid[k] = before == NULL || before[k] != 0;
        }
    }
    node->valid_buffer[i] = 0;
}

granary_err
op_list_read(struct node *node, int64_t n)
{
    const struct rows_text *texts = node_texts(node->operands[0], n);
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    struct lists_parts parts = {.count = 0};
    struct list_reader r = {.parts = &parts};
    granary_err err = ends == NULL ? node_no_memory() : GRANARY_OK;

    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        size_t count = parts.count;

        r.at = texts[i].size > 0 ? texts[i].bytes : "";
        r.end = r.at + texts[i].size;
        if (node_counts(node, i) && !read_list(&r)) {
            parts.bytes.size = count < parts.count ? (size_t)parts.offsets[count] : parts.bytes.size;
            parts.count = count;
            if (node->op == GR_OP_LIST_READ) {
                node_mark_bad(node, i, n);
            } else {
                forget(node, i, n);
            }
        }
        err = r.err;
        ends[i] = (int32_t)parts.count;
    }
    err = err == GRANARY_OK ? lists_parts_give(node, &parts, ends, n) : err;
    gr_buf_free(&r.item);
    lists_parts_free(&parts);
    scratch_free(ends);
    return err;
}
