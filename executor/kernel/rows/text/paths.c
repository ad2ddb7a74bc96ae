/* Parts of paths. What separates them, a last operand says: by default both slashes do. */
#include <string.h>

#include "kernel/core/scratch.h"
#include "kernel/rows/lists/lists.h"
#include "kernel/rows/text/text.h"

/* said: NULL, nothing */
static const char *
separators_of(const struct rows_text *said)
{
    const char *const names[][2] = {{"forward_slash", "/"}, {"system", "/"}, {"backslash", "\\"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0] && said != NULL; i++) {
        if (strlen(names[i][0]) == said->size && memcmp(names[i][0], said->bytes, said->size) == 0) {
            return names[i][1];
        }
    }
    return "/\\";
}

static bool
is_separator(char c, const char *separators)
{
    return c != '\0' && strchr(separators, c) != NULL;
}

/* Up to the first separator, which is a part alone when it stands first. */
static bool
give_first(struct text_call *call, const struct rows_text *path, const char *separators)
{
    size_t to = 0;

    while (to < path->size && !is_separator(path->bytes[to], separators)) {
        to++;
    }
    return to == path->size || text_give(call, text_between(path, 0, to == 0 ? 1 : to));
}

bool
text_path(struct text_call *call)
{
    const struct rows_text *path = &call->texts[0];
    const char *separators = separators_of(call->node->count > 1 ? &call->texts[1] : NULL);
    size_t name = path->size; /* where the last part begins */
    size_t end = path->size;

    while (name > 0 && !is_separator(path->bytes[name - 1], separators)) {
        name--;
    }
    switch (call->node->op) {
    case GR_OP_PARSE_DIRNAME:
        return give_first(call, path, separators);
    case GR_OP_PARSE_DIRPATH: /* a separator alone stays */
        return name == 0 || text_give(call, text_between(path, 0, path->size == 1 ? 1 : name - 1));
    case GR_OP_PARSE_FILESTEM:
        while (end > name && path->bytes[end - 1] != '.') {
            end--;
        }
        end = end > name ? end - 1 : path->size;
        return text_give(call, text_between(path, name, end));
    default: /* PARSE_FILENAME */
        return text_give(call, text_between(path, name, path->size));
    }
}

/* All parts; separators that stand together are one, and one at the beginning is a part. */
static granary_err
split_path(struct lists_parts *parts, const struct rows_text *path, const char *separators)
{
    granary_err err = GRANARY_OK;
    size_t from = 0;

    if (path->size > 0 && is_separator(path->bytes[0], separators)) {
        err = lists_part_add(parts, &(struct rows_text){path->bytes, 1});
    }
    for (size_t to = 0; to <= path->size && err == GRANARY_OK; to++) {
        if (to == path->size || is_separator(path->bytes[to], separators)) {
            err = to > from ? lists_part_add(parts, &(struct rows_text){path->bytes + from, to - from}) : GRANARY_OK;
            from = to + 1;
        }
    }
    return err;
}

granary_err
op_parse_path(struct node *node, int64_t n)
{
    const struct rows_text *paths = node_texts(node->operands[0], n);
    const struct rows_text *said = node->count > 1 ? node_texts(node->operands[1], n) : NULL;
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    struct lists_parts parts = {.count = 0};
    granary_err err = ends == NULL ? node_no_memory() : GRANARY_OK;

    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        if (node_counts(node, i)) {
            err = split_path(&parts, &paths[i], separators_of(said != NULL ? &said[i] : NULL));
        }
        ends[i] = (int32_t)parts.count;
    }
    err = err == GRANARY_OK ? lists_parts_give(node, &parts, ends, n) : err;
    lists_parts_free(&parts);
    scratch_free(ends);
    return err;
}
