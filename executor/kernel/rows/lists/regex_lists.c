/*
 * Lists of what a regular expression finds in a text, and of what stands between. A pattern that is the same for all
 * rows is made ready once, another one row by row.
 */
#include <stdlib.h>

#include "kernel/core/scratch.h"
#include "kernel/rows/lists/lists.h"
#include "kernel/rows/text/pattern.h"

/* The byte behind the character that begins there. */
static size_t
behind_character(const struct rows_text *text, size_t at)
{
    at++;
    while (at < text->size && ((unsigned char)text->bytes[at] & 0xc0) == 0x80) {
        at++;
    }
    return at;
}

static struct rows_text
cut(const struct rows_text *text, size_t from, size_t to)
{
    return (struct rows_text){to > from ? text->bytes + from : "", to - from};
}

struct search {
    struct lists_parts parts;
    struct regex *regex;
    size_t group;  /* EXTRACT_ALL: what is taken of a match */
    bool splits;   /* what stands between the matches is taken */
    bool nothing;  /* nothing is */
    bool given_up; /* a search took too long, or a match has no such group */
};

/* Every match of a text, or what is between them. An empty match at the beginning, at the end, or directly behind
 * another one splits nothing. */
static granary_err
search_text(struct search *search, const struct rows_text *text)
{
    const size_t *groups = NULL;
    enum regex_found found = REGEX_FOUND;
    struct rows_text part = {NULL, 0};
    size_t begin = 0;
    size_t at = 0;
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && at <= text->size &&
           (found = regex_find(search->regex, text, at, &groups)) == REGEX_FOUND) {
        size_t from = groups[0];
        size_t to = groups[1];
        size_t of = 2 * search->group;
        bool is_empty = from == to;

        if (search->group > regex_groups(search->regex)) {
            search->given_up = true;
            return GRANARY_OK;
        }

        if (!search->splits) {
            part = groups[of] != SIZE_MAX ? cut(text, groups[of], groups[of + 1]) : part;
            err = lists_part_add(&search->parts, groups[of] != SIZE_MAX ? &part : NULL);
        } else if (!is_empty || (from > begin && from < text->size)) {
            part = cut(text, begin, from);
            err = lists_part_add(&search->parts, &part);
            begin = to;
        }
        at = is_empty ? behind_character(text, to) : to;
    }
    if (found == REGEX_NO_MEMORY) {
        return node_no_memory();
    }
    search->given_up = found == REGEX_GIVEN_UP;
    part = cut(text, begin, text->size);
    return err == GRANARY_OK && search->splits ? lists_part_add(&search->parts, &part) : err;
}

/* The row's expression: false where it is broken. A negative group is in no match. */
static bool
search_begin(struct search *search, const struct node *node, struct pattern *pattern, int64_t i)
{
    int64_t group = node->count > 2 ? node_int_at(node->operands[2], i) : 0;

    search->regex = pattern_regex(pattern);
    search->group = (size_t)(group < 0 ? 0 : group);
    search->nothing = group < 0;
    return search->regex != NULL;
}

/* regexp_extract_all(s, pattern, group), regexp_split_to_array(s, pattern) */
granary_err
op_regexp_list(struct node *node, int64_t n)
{
    const struct rows_text *texts = node_texts(node->operands[0], n);
    const struct rows_text *patterns = node_texts(node->operands[1], n);
    bool constant = node->operands[1]->kind == NODE_CONSTANT;
    struct search search = {.splits = node->op == GR_OP_REGEXP_SPLIT_TO_ARRAY};
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    granary_err err = ends == NULL ? node_no_memory() : GRANARY_OK;

    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        if (node_counts(node, i)) {
            if (node->pattern == NULL || !constant) {
                pattern_free(node->pattern);
                node->pattern = pattern_of_regex(&patterns[i], constant);
                err = node->pattern == NULL ? node_no_memory() : GRANARY_OK;
            }
            search.given_up = false;
            if (err == GRANARY_OK && search_begin(&search, node, node->pattern, i)) {
                err = search.nothing ? GRANARY_OK : search_text(&search, &texts[i]);
            } else {
                search.given_up = true;
            }
            if (err == GRANARY_OK && search.given_up) {
                node_mark_bad(node, i, n);
            }
        }
        ends[i] = (int32_t)search.parts.count;
    }
    err = err == GRANARY_OK ? lists_parts_give(node, &search.parts, ends, n) : err;
    lists_parts_free(&search.parts);
    scratch_free(ends);
    return err;
}
