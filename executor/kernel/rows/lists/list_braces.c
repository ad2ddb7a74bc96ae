/*
 * Lists of texts as PostgreSQL writes them: {a, "b c", NULL}. Blanks around an item are left out. Quotes are double ones, and
 * behind a backslash any character is itself. NULL without quotes is a null. There are no lists of lists.
 */
#include <string.h>
#include <strings.h>

#include "kernel/rows/lists/lists.h"

/* Whether a character stands for itself in an item. */
static bool
is_plain(char c, bool quoted)
{
    return c != '"' && (quoted || (c != ',' && c != '{' && c != '}'));
}

/* The item that begins at *at, to what is behind it. false: it is empty, has no end, or has a brace or a quote in it. */
static bool
read_item(const char **at, const char *end, struct gr_buf *item, bool *ret_null)
{
    bool quoted = *at < end && **at == '"';
    bool escapes = false;
    size_t used = 0; /* without blanks at the end */

    item->size = 0;
    *at += quoted;
    for (; *at < end && is_plain(**at, quoted); ++*at) {
        bool escaped = **at == '\\';

        *at += escaped;
        if (*at == end) {
            return false;
        }
        gr_buf_add(item, *at, 1);
        escapes = escapes || escaped;
        used = quoted || escaped || !lists_is_blank(**at) ? item->size : used;
    }
    if (*at == end || (quoted ? *(*at)++ != '"' : used == 0)) {
        return false;
    }
    item->size = gr_buf_ok(item) ? used : 0;
    *ret_null = !quoted && !escapes && item->size == 4 && strncasecmp(item->bytes, "null", 4) == 0;
    *at = lists_behind_blanks(*at, end);
    return true;
}

bool
lists_read_braces(const char *at, const char *end, struct gr_buf *item, struct lists_parts *parts, granary_err *err)
{
    bool done = false;
    bool is_null;

    at = lists_behind_blanks(at + 1, end);
    if (at < end && *at == '}') {
        done = true;
        at++;
    }
    while (!done) {
        at = lists_behind_blanks(at, end);
        if (!read_item(&at, end, item, &is_null) || at == end || (*at != ',' && *at != '}')) {
            return false;
        }
        *err = gr_buf_ok(item) ? lists_part_add(parts, is_null ? NULL : &(struct rows_text){item->bytes, item->size})
                               : node_no_memory();
        done = *err != GRANARY_OK || *at == '}';
        at++;
    }
    return lists_behind_blanks(at, end) == end;
}
