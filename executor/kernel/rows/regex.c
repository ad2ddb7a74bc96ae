/* Functions of regular expressions (POSIX, extended) that make strings. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/rows/pattern.h"
#include "kernel/rows/text.h"

#define GROUPS 10

/* The expression in operand 1, ready; NULL: it is broken, or there is no memory. */
static const regex_t *
regex_of(struct text_call *call)
{
    struct node *node = call->node;

    if (node->pattern != NULL && node->operands[1]->kind != NODE_CONSTANT) {
        pattern_free(node->pattern);
        node->pattern = NULL;
    }
    if (node->pattern == NULL) {
        node->pattern = pattern_of_regex(&call->texts[1], REG_EXTENDED);
    }
    return node->pattern == NULL ? NULL : pattern_regex(node->pattern);
}

static bool
find(const regex_t *regex, const struct rows_text *text, size_t from, regmatch_t groups[GROUPS])
{
    groups[0] = (regmatch_t){.rm_so = (regoff_t)from, .rm_eo = (regoff_t)text->size};
    return regexec(regex, text->size > 0 ? text->bytes : "", GROUPS, groups,
                   REG_STARTEND | (from > 0 ? REG_NOTBOL : 0)) == 0;
}

/* regexp_extract(s, pattern, group): the group's text where the pattern is found first. */
bool
text_regexp_extract(struct text_call *call)
{
    const regex_t *regex = regex_of(call);
    int64_t group = call->node->count > 2 ? call->ints[2] : regex != NULL && regex->re_nsub > 0 ? 1 : 0;
    regmatch_t groups[GROUPS];

    if (regex == NULL || group < 0 || group >= GROUPS || (size_t)group > regex->re_nsub) {
        return false;
    }
    if (!find(regex, &call->texts[0], 0, groups) || groups[group].rm_so < 0) {
        call->null = true;
        return true;
    }
    return text_give(call, text_part(&call->texts[0], (size_t)groups[group].rm_so, (size_t)groups[group].rm_eo));
}

/* What stands for a match: \1 to \9 are its groups, \0 and \& all of it, \\ a backslash. */
static bool
give_replacement(struct text_call *call, const regmatch_t groups[GROUPS])
{
    const struct rows_text *with = &call->texts[2];

    for (size_t i = 0; i < with->size; i++) {
        char next = with->bytes[i] == '\\' && i + 1 < with->size ? with->bytes[i + 1] : '\0';
        int group = next == '&' ? 0 : next >= '0' && next <= '9' ? next - '0' : -1;

        if (group >= 0) {
            if (groups[group].rm_so >= 0) {
                text_give(call, text_part(&call->texts[0], (size_t)groups[group].rm_so, (size_t)groups[group].rm_eo));
            }
            i++;
        } else {
            i += next == '\\';
            text_give(call, text_part(with, i, i + 1));
        }
    }
    return true;
}

/* regexp_replace(s, pattern, with, flags): the first match, with the flag g all of them. */
bool
text_regexp_replace(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    const struct rows_text *flags = call->node->count > 3 ? &call->texts[3] : NULL;
    bool all = flags != NULL && flags->size == 1 && flags->bytes[0] == 'g';
    const regex_t *regex = regex_of(call);
    regmatch_t groups[GROUPS];
    size_t at = 0;

    if (regex == NULL || (flags != NULL && flags->size > 0 && !all)) {
        return false;
    }
    while (at <= text->size && find(regex, text, at, groups)) {
        size_t from = (size_t)groups[0].rm_so;
        size_t to = (size_t)groups[0].rm_eo;

        text_give(call, text_part(text, at, from));
        give_replacement(call, groups);
        at = to;
        if (to == from) { /* an empty match: go on behind the next character */
            at++;
            while (at < text->size && ((unsigned char)text->bytes[at] & 0xc0) == 0x80) {
                at++;
            }
            text_give(call, text_part(text, to, at < text->size ? at : text->size));
        }
        if (!all) {
            break;
        }
    }
    return at >= text->size || text_give(call, text_part(text, at, text->size));
}
