/* Frames of windows from text: words are read one by one; a distance is all text up to the word behind it. */
#include "graph/window/frame.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"

struct words {
    const char *all;
    const char *at;
};

static void
skip_blanks(struct words *words)
{
    words->at += strspn(words->at, " \t\n");
}

/* Whether the next word is that one; then it is passed. */
static bool
take(struct words *words, const char *word)
{
    size_t size = strlen(word);

    skip_blanks(words);
    if (strncasecmp(words->at, word, size) != 0 || isalnum((unsigned char)words->at[size]) || words->at[size] == '_') {
        return false;
    }
    words->at += size;
    return true;
}

static granary_err
not_a_frame(const struct words *words)
{
    return gr_fail(GRANARY_EINVAL,
                   "'%.60s' is no frame, at '%.40s': write 'rows', 'range' or 'groups', then 'between 2 preceding and "
                   "current row' or the like",
                   words->all, words->at);
}

/* The text before "preceding" or "following", beyond brackets and quotes. NULL: neither comes. */
static const char *
distance_end(const struct words *words)
{
    char quote = '\0';
    int depth = 0;

    for (const char *c = words->at; *c != '\0'; c++) {
        if (quote != '\0') {
            quote = *c == quote ? '\0' : quote;
        } else if (*c == '\'' || *c == '"' || *c == '`') {
            quote = *c;
        } else if (*c == '(' || *c == ')') {
            depth += *c == '(' ? 1 : -1;
        } else if (depth == 0 && c > words->at && isspace((unsigned char)c[-1])) {
            struct words here = {words->all, c};

            if (take(&here, "preceding") || take(&here, "following")) {
                return c;
            }
        }
    }
    return NULL;
}

static granary_err
parse_distance(struct words *words, struct gr_frame_bound *bound)
{
    const char *end;
    struct gr_expr *expr = NULL;
    granary_err err;

    skip_blanks(words);
    end = distance_end(words);
    if (end == NULL) {
        return not_a_frame(words);
    }
    bound->distance = strndup(words->at, (size_t)(end - words->at));
    if (bound->distance == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = gr_expr_parse(bound->distance, &expr);
    gr_expr_destroy(expr);
    words->at = end;
    bound->end = take(words, "preceding") ? GR_END_BEFORE : GR_END_BEHIND;
    return err == GRANARY_OK && bound->end == GR_END_BEHIND && !take(words, "following") ? not_a_frame(words) : err;
}

static granary_err
parse_bound(struct words *words, struct gr_frame_bound *bound)
{
    if (take(words, "unbounded")) {
        bound->end = take(words, "preceding") ? GR_END_FIRST : GR_END_LAST;
        return bound->end == GR_END_FIRST || take(words, "following") ? GRANARY_OK : not_a_frame(words);
    }
    if (take(words, "current")) {
        bound->end = GR_END_CURRENT;
        return take(words, "row") ? GRANARY_OK : not_a_frame(words);
    }
    return parse_distance(words, bound);
}

static granary_err
parse_exclude(struct words *words, enum gr_frame_exclude *ret_exclude)
{
    static const struct {
        const char *first;
        const char *second;
        enum gr_frame_exclude exclude;
    } kinds[] = {{"current", "row", GR_EXCLUDE_ROW},
                 {"group", NULL, GR_EXCLUDE_GROUP},
                 {"ties", NULL, GR_EXCLUDE_TIES},
                 {"no", "others", GR_EXCLUDE_NONE}};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (take(words, kinds[i].first)) {
            *ret_exclude = kinds[i].exclude;
            return kinds[i].second == NULL || take(words, kinds[i].second) ? GRANARY_OK : not_a_frame(words);
        }
    }
    return not_a_frame(words);
}

static const char *
end_text(enum gr_frame_end end)
{
    static const char *const texts[] = {"unbounded preceding", "preceding", "current row", "following",
                                        "unbounded following"};

    return texts[end];
}

static granary_err
check_frame(const struct gr_window_frame *frame)
{
    if (frame->from.end == GR_END_LAST || frame->to.end == GR_END_FIRST || frame->from.end > frame->to.end) {
        return gr_fail(GRANARY_EINVAL, "a frame cannot begin at '%s' and end at '%s'", end_text(frame->from.end),
                       end_text(frame->to.end));
    }
    return GRANARY_OK;
}

static granary_err
parse_bounds(struct words *words, struct gr_window_frame *frame)
{
    granary_err err;

    if (!take(words, "between")) {
        frame->to.end = GR_END_CURRENT;
        return parse_bound(words, &frame->from);
    }
    err = parse_bound(words, &frame->from);
    if (err == GRANARY_OK && !take(words, "and")) {
        err = not_a_frame(words);
    }
    return err == GRANARY_OK ? parse_bound(words, &frame->to) : err;
}

granary_err
gr_frame_parse(const char *text, struct gr_window *window, bool *ret_framed)
{
    struct words words = {text, text};
    struct gr_window_frame *frame = &window->frame;
    granary_err err = GRANARY_OK;

    if (take(&words, "ignore")) {
        window->ignores_nulls = true;
        err = take(&words, "nulls") ? GRANARY_OK : not_a_frame(&words);
    } else if (take(&words, "respect") && !take(&words, "nulls")) {
        err = not_a_frame(&words);
    }
    frame->mode = take(&words, "rows")     ? GR_FRAME_ROWS
                  : take(&words, "range")  ? GR_FRAME_RANGE
                  : take(&words, "groups") ? GR_FRAME_GROUPS
                                           : GR_FRAME_NONE;
    if (err == GRANARY_OK && frame->mode != GR_FRAME_NONE) {
        err = parse_bounds(&words, frame);
        if (err == GRANARY_OK && take(&words, "exclude")) {
            err = parse_exclude(&words, &frame->exclude);
        }
        if (err == GRANARY_OK) {
            err = check_frame(frame);
        }
    }
    skip_blanks(&words);
    if (err == GRANARY_OK && *words.at != '\0') {
        err = not_a_frame(&words);
    }
    *ret_framed = frame->mode != GR_FRAME_NONE;
    return err;
}

bool
gr_frame_has_limits(granary_dtype column)
{
    enum gr_dtype_class kind = gr_dtype_class(column);

    return kind == GR_CLASS_MOMENT || kind == GR_CLASS_DURATION;
}

char *
gr_frame_limit(const struct gr_frame_bound *bound, const char *column, bool descending)
{
    bool less = (bound->end == GR_END_BEFORE) != descending;
    struct gr_buf text = {0};

    gr_expr_print_name(column, &text);
    gr_buf_addf(&text, " %c (%s)", less ? '-' : '+', bound->distance);
    return gr_buf_take(&text);
}
