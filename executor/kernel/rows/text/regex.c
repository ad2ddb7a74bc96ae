/* Regular expressions by PCRE2, and the functions of them that make strings. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "kernel/rows/text/regex.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/rows/text/pattern.h"
#include "kernel/rows/text/text.h"

enum {
    PATTERN_MOST = 4096,        /* bytes */
    STEPS_MOST = 1000000,       /* of a search, as PCRE2 counts them: some milliseconds */
    HEAP_MOST = 64 << 10,       /* of a search, in KiB */
    PATTERN_TOO_LONG = 1 << 30, /* what is wrong with it, beside PCRE2's errors */
};

struct regex {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

/* ---- patterns ---- */

/* "." is any character, "$" the end of the text alone; bytes that are no UTF-8 match nothing. */
static pcre2_code *
compile(const struct rows_text *pattern, int *ret_wrong)
{
    const uint32_t options =
        PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_code *code = NULL;
    size_t at;

    *ret_wrong = 0;
    if (context != NULL) {
        (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF);
        code = pcre2_compile((PCRE2_SPTR)(pattern->size > 0 ? pattern->bytes : ""), pattern->size, options, ret_wrong,
                             &at, context);
        if (code != NULL || *ret_wrong == PCRE2_ERROR_HEAP_FAILED) {
            *ret_wrong = 0;
        }
        pcre2_compile_context_free(context);
    }
    return code;
}

int
regex_create(const struct rows_text *pattern, bool often, struct regex **ret_regex)
{
    struct regex *regex = NULL;
    int wrong = PATTERN_TOO_LONG;

    *ret_regex = NULL;
    if (pattern->size > PATTERN_MOST) {
        return wrong;
    }
    regex = calloc(1, sizeof *regex);
    if (regex == NULL) {
        return 0;
    }
    regex->code = compile(pattern, &wrong);
    if (regex->code != NULL) {
        regex->match = pcre2_match_data_create_from_pattern(regex->code, NULL);
        regex->limits = pcre2_match_context_create(NULL);
    }
    if (regex->match == NULL || regex->limits == NULL) {
        regex_destroy(regex);
        return wrong;
    }
    (void)pcre2_set_match_limit(regex->limits, STEPS_MOST);
    (void)pcre2_set_heap_limit(regex->limits, HEAP_MOST);
    if (often) { /* where that is not possible, PCRE2 goes by the pattern itself */
        (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
    }
    *ret_regex = regex;
    return 0;
}

void
regex_destroy(struct regex *regex)
{
    if (regex != NULL) {
        pcre2_match_context_free(regex->limits);
        pcre2_match_data_free(regex->match);
        pcre2_code_free(regex->code);
        free(regex);
    }
}

size_t
regex_groups(const struct regex *regex)
{
    uint32_t count = 0;

    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &count);
    return count;
}

enum regex_found
regex_find(struct regex *regex, const struct rows_text *text, size_t from, const size_t **ret_groups)
{
    PCRE2_SPTR bytes = (PCRE2_SPTR)(text->size > 0 ? text->bytes : "");
    int count = pcre2_match(regex->code, bytes, text->size, from, 0, regex->match, regex->limits);

    if (count == PCRE2_ERROR_JIT_STACKLIMIT) { /* machine code has a small stack */
        count = pcre2_match(regex->code, bytes, text->size, from, PCRE2_NO_JIT, regex->match, regex->limits);
    }
    *ret_groups = pcre2_get_ovector_pointer(regex->match);
    return count > 0                       ? REGEX_FOUND
           : count == PCRE2_ERROR_NOMATCH  ? REGEX_NONE
           : count == PCRE2_ERROR_NOMEMORY ? REGEX_NO_MEMORY
                                           : REGEX_GIVEN_UP;
}

void
regex_explain(int wrong, struct gr_buf *out)
{
    PCRE2_UCHAR words[128] = "";

    if (wrong == PATTERN_TOO_LONG) {
        gr_buf_addf(out, "is longer than %d bytes", PATTERN_MOST);
    } else {
        (void)pcre2_get_error_message(wrong, words, sizeof words);
        gr_buf_addf(out, "is broken: %s", (const char *)words);
    }
}

/* ---- functions ---- */

/* The expression in operand 1, ready; NULL: it is broken, or there is no memory. */
static struct regex *
regex_of(struct text_call *call)
{
    struct node *node = call->node;
    bool constant = node->operands[1]->kind == NODE_CONSTANT;

    if (node->pattern != NULL && !constant) {
        pattern_free(node->pattern);
        node->pattern = NULL;
    }
    if (node->pattern == NULL) {
        node->pattern = pattern_of_regex(&call->texts[1], constant);
        call->no_memory = node->pattern == NULL;
    }
    return node->pattern == NULL ? NULL : pattern_regex(node->pattern);
}

static enum regex_found
text_match(struct text_call *call, struct regex *regex, size_t from, const size_t **ret_groups)
{
    enum regex_found found = regex_find(regex, &call->texts[0], from, ret_groups);

    call->no_memory = found == REGEX_NO_MEMORY;
    return found;
}

static bool
give_group(struct text_call *call, const size_t *groups, size_t group)
{
    return text_give(call, text_between(&call->texts[0], groups[2 * group], groups[2 * group + 1]));
}

/* Digits that are no decimal ones: superscripts, in circles, ... Unicode has added none since 6.3, and will not. */
#define OTHER_DIGITS                                                                                                   \
    "\\x{b2}-\\x{b3}\\x{b9}\\x{1369}-\\x{1371}\\x{19da}\\x{2070}\\x{2074}-\\x{2079}"                                   \
    "\\x{2080}-\\x{2089}\\x{2460}-\\x{2468}\\x{2474}-\\x{247c}\\x{2488}-\\x{2490}\\x{24ea}"                            \
    "\\x{24f5}-\\x{24fd}\\x{24ff}\\x{2776}-\\x{277e}\\x{2780}-\\x{2788}\\x{278a}-\\x{2792}"                            \
    "\\x{10a40}-\\x{10a43}\\x{10e60}-\\x{10e68}\\x{11052}-\\x{1105a}\\x{1f100}-\\x{1f10a}"

/* The regular expression of a function that has a fixed one. The kinds of characters are Python's. */
static struct regex *
fixed_regex(struct text_call *call)
{
    static const char *const kinds[] = {
        [GR_OP_ISALPHA] = "\\A\\p{L}++\\z",
        [GR_OP_ISDIGIT] = "\\A[\\p{Nd}" OTHER_DIGITS "]++\\z",
        [GR_OP_ISALNUM] = "\\A[\\p{L}\\p{N}]++\\z",
        [GR_OP_ISSPACE] = "\\A[\\p{Z}\\t-\\r\\x1c-\\x1f\\x{85}]++\\z",
        [GR_OP_ISLOWER] = "\\A(?=.*?\\p{Lowercase})[^\\p{Uppercase}\\p{Lt}]++\\z",
        [GR_OP_ISUPPER] = "\\A(?=.*?\\p{Uppercase})[^\\p{Lowercase}\\p{Lt}]++\\z",
        [GR_OP_TITLE] = "[\\p{Lowercase}\\p{Uppercase}\\p{Lt}]++",
    };
    const char *kind = kinds[call->node->op];
    const struct rows_text pattern = {kind, strlen(kind)};
    struct regex *regex;

    if (call->node->pattern == NULL) {
        call->node->pattern = pattern_of_regex(&pattern, true);
    }
    regex = call->node->pattern == NULL ? NULL : pattern_regex(call->node->pattern);
    call->no_memory = regex == NULL;
    return regex;
}

/* isalpha and its kin: all characters are of the kind, and there is one; islower: of those that have a case. */
bool
text_is_of_kind(struct text_call *call)
{
    struct regex *regex = fixed_regex(call);
    const size_t *groups;
    enum regex_found found = regex == NULL ? REGEX_NO_MEMORY : text_match(call, regex, 0, &groups);

    call->value = found == REGEX_FOUND;
    return found <= REGEX_FOUND;
}

/* title: characters that have a case and stand together are a word. */
bool
text_title(struct text_call *call)
{
    struct regex *regex = fixed_regex(call);
    enum regex_found found = regex == NULL ? REGEX_NO_MEMORY : REGEX_FOUND;
    const size_t *word;
    size_t at = 0;

    while (found == REGEX_FOUND && (found = text_match(call, regex, at, &word)) == REGEX_FOUND) {
        (void)text_give(call, text_between(&call->texts[0], at, word[0]));
        text_add_word(call, word[0], word[1]);
        at = word[1];
    }
    return found == REGEX_NONE && text_give(call, text_between(&call->texts[0], at, call->texts[0].size));
}

/* regexp_extract(s, pattern, group): the group's text where the pattern is found first. */
bool
text_regexp_extract(struct text_call *call)
{
    struct regex *regex = regex_of(call);
    int64_t most = regex == NULL ? -1 : (int64_t)regex_groups(regex);
    bool lenient = call->node->op == GR_OP_REGEXP_FOUND;
    int64_t group = call->node->count > 2 ? call->ints[2] : most > 0 && !lenient ? 1 : 0;
    const size_t *groups = NULL;
    enum regex_found found;

    if (group < 0 || group > most) {
        return lenient && group >= 0 && most >= 0; /* '' */
    }
    found = text_match(call, regex, 0, &groups);
    if (found > REGEX_FOUND) {
        return false;
    }
    if (found == REGEX_NONE || groups[2 * group] == PCRE2_UNSET) {
        call->null = !lenient;
        return true;
    }
    return give_group(call, groups, (size_t)group);
}

/* What stands for a match: \1 to \9 are its groups, \0 and \& all of it, \\ a backslash. */
static void
give_replacement(struct text_call *call, const size_t *groups, size_t most)
{
    const struct rows_text *with = &call->texts[2];

    for (size_t i = 0; i < with->size; i++) {
        char next = with->bytes[i] == '\\' && i + 1 < with->size ? with->bytes[i + 1] : '\0';
        int group = next == '&' ? 0 : next >= '0' && next <= '9' ? next - '0' : -1;

        if (group >= 0) {
            if ((size_t)group <= most && groups[2 * group] != PCRE2_UNSET) {
                (void)give_group(call, groups, (size_t)group);
            }
            i++;
        } else {
            i += next == '\\';
            text_give(call, text_between(with, i, i + 1));
        }
    }
}

/* regexp_replace(s, pattern, with, flags): the first match, with the flag g all of them. */
bool
text_regexp_replace(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    const struct rows_text *flags = call->node->count > 3 ? &call->texts[3] : NULL;
    bool all = flags != NULL && flags->size == 1 && flags->bytes[0] == 'g';
    struct regex *regex = regex_of(call);
    enum regex_found found = REGEX_FOUND;
    const size_t *groups = NULL;
    size_t at = 0;

    if (regex == NULL || (flags != NULL && flags->size > 0 && !all)) {
        return false;
    }
    while (at <= text->size && (found = text_match(call, regex, at, &groups)) == REGEX_FOUND) {
        size_t from = groups[0];
        size_t to = groups[1];

        text_give(call, text_between(text, at, from));
        give_replacement(call, groups, regex_groups(regex));
        at = to;
        if (to == from) { /* an empty match: go on behind the next character */
            at++;
            while (at < text->size && ((unsigned char)text->bytes[at] & 0xc0) == 0x80) {
                at++;
            }
            text_give(call, text_between(text, to, at < text->size ? at : text->size));
        }
        if (!all) {
            break;
        }
    }
    return found <= REGEX_FOUND && (at >= text->size || text_give(call, text_between(text, at, text->size)));
}
