/* Parts of paths. What separates them, a last operand says: by default both slashes do. */
#include <string.h>

#include "kernel/rows/text.h"

static const char *
separators_of(const struct text_call *call)
{
    const struct rows_text *said = &call->texts[1];
    const char *const names[][2] = {{"forward_slash", "/"}, {"system", "/"}, {"backslash", "\\"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0] && call->node->count > 1; i++) {
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
    const char *separators = separators_of(call);
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
