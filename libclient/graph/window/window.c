/* Windows from text, and what each takes and gives by its row of graph/window/functions.def. */
#include "graph/window.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"
#include "graph/operators/nearest.h"
#include "graph/tensor/types.h"
#include "graph/window/frame.h"

enum { ARGUMENTS_MAX = 6, ROWS_MAX = 1 << 30 };

enum gives {
    GIVES_SAME,
    GIVES_SUM,
    GIVES_PRODUCT,
    GIVES_INT,
    GIVES_FLOAT,
    GIVES_MEAN,
    GIVES_SPREAD,
    GIVES_DIFF,
    GIVES_RANK,
    GIVES_LINE
};

enum sees { SEES_WINDOW, SEES_OFFSET, SEES_CHOSEN, SEES_ALL };

static const struct function {
    const char *text;
    int value; /* 0 none, 1 needed, 2 may be */
    const char *literals;
    enum gives gives;
    enum sees sees;
} functions[] = {
#define WINDOW(id, text, value, literals, gives, sees, ...) {text, value, literals, GIVES_##gives, SEES_##sees},
#include "graph/window/functions.def"
};

void
gr_windows_free(struct gr_window *windows, size_t count)
{
    for (size_t i = 0; windows != NULL && i < count; i++) {
        free(windows[i].name);
        free(windows[i].value);
        free(windows[i].second);
        free(windows[i].aggregate_text);
        free(windows[i].aggregate.name);
        free(windows[i].aggregate.column);
        free(windows[i].aggregate.second);
        free(windows[i].frame.from.distance);
        free(windows[i].frame.to.distance);
    }
    free(windows);
}

/* ---- the text ---- */

/* What stands between the brackets, cut at its outer commas. Pieces lead into text, which is written to. */
static bool
cut_arguments(char *text, char *pieces[ARGUMENTS_MAX], int *ret_count)
{
    int depth = 0;
    int count = 0;
    char quote = '\0';
    char *from = text;

    for (char *c = text;; c++) {
        if (quote != '\0') {
            if (*c == '\0') {
                return false;
            }
            quote = *c == quote ? '\0' : quote; /* a doubled one opens again at once */
            continue;
        }
        if (*c == '\'' || *c == '"' || *c == '`') {
            quote = *c;
        } else if (*c == '(') {
            depth++;
        } else if (*c == ')') {
            depth--;
        }
        if (depth < 0 || (*c == '\0' && depth != 0)) {
            return false;
        }
        if ((*c == ',' && depth == 0) || *c == '\0') {
            bool end = *c == '\0';

            if (count == ARGUMENTS_MAX) {
                return false;
            }
            *c = '\0';
            pieces[count++] = from;
            from = c + 1;
            if (end) {
                break;
            }
        }
    }
    if (count == 1 && strspn(pieces[0], " \t\n") == strlen(pieces[0])) {
        count = 0;
    }
    *ret_count = count;
    return true;
}

static granary_err
unknown_function(const char *text)
{
    struct gr_nearest nearest = {.name = text};
    char hint[GR_HINT_MAX];

    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        gr_nearest_offer(&nearest, functions[i].text);
    }
    gr_aggregates_offer(&nearest);
    return gr_fail(GRANARY_EINVAL, "there is no window function '%.60s'%s", text, gr_nearest_hint(&nearest, hint));
}

/* ---- literals ---- */

static char *
trimmed(char *text)
{
    size_t size;

    text += strspn(text, " \t\n");
    size = strlen(text);
    while (size > 0 && isspace((unsigned char)text[size - 1])) {
        text[--size] = '\0';
    }
    return text;
}

static granary_err
read_int(const char *text, int64_t least, int64_t *ret_value)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least || value > ROWS_MAX || value < -ROWS_MAX) {
        return gr_fail(GRANARY_EINVAL, "'%.40s' is no integer from %lld on", text,
                       (long long)(least < -ROWS_MAX ? -ROWS_MAX : least));
    }
    *ret_value = value;
    return GRANARY_OK;
}

static granary_err
read_bool(const char *text, bool *ret_value)
{
    if (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0) {
        return gr_fail(GRANARY_EINVAL, "'%.40s' is neither true nor false", text);
    }
    *ret_value = strcasecmp(text, "true") == 0;
    return GRANARY_OK;
}

static granary_err
read_method(const char *text, enum gr_rank_method *ret_method)
{
    static const char *const names[] = {"average", "min", "max", "first", "dense"};
    size_t size = strlen(text);

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (size == strlen(names[i]) + 2 && text[0] == '\'' && text[size - 1] == '\'' &&
            strncmp(text + 1, names[i], size - 2) == 0) {
            *ret_method = (enum gr_rank_method)i;
            return GRANARY_OK;
        }
    }
    if (strcmp(text, "'ordinal'") == 0) {
        *ret_method = GR_RANK_FIRST;
        return GRANARY_OK;
    }
    return gr_fail(GRANARY_EINVAL, "'%.40s' is none of 'average', 'min', 'max', 'first', 'ordinal', 'dense'", text);
}

static granary_err
read_real(const char *text, double *ret_value)
{
    char *end;

    *ret_value = strtod(text, &end);
    return end == text || *end != '\0' || !isfinite(*ret_value) ? gr_fail(GRANARY_EINVAL, "'%.40s' is no number", text)
                                                                : GRANARY_OK;
}

/* A number, or what pandas and Polars say in its place: a span (from 1), a centre of mass (from 0) or a half-life. */
static granary_err
read_alpha(const char *text, double *ret_value)
{
    static const struct {
        const char *word;
        double least;
    } forms[] = {{"span ", 1}, {"com ", 0}, {"halflife ", 0}, {"", 0}};
    size_t form = 0;
    double x = 0;
    granary_err err;

    while (strncasecmp(text, forms[form].word, strlen(forms[form].word)) != 0) {
        form++;
    }
    err = read_real(text + strlen(forms[form].word), &x);
    if (err == GRANARY_OK && (x < forms[form].least || (form > 1 && x == 0) || (form == 3 && x > 1))) {
        err = form == 3
                  ? gr_fail(GRANARY_EINVAL, "alpha '%.40s' is not above 0 and at most 1", text)
                  : gr_fail(GRANARY_EINVAL, "'%.40s': a span is 1 or more, com 0 or more, halflife above 0", text);
    }
    *ret_value = form == 0 ? 2 / (x + 1) : form == 1 ? 1 / (1 + x) : form == 2 ? -expm1(-log(2) / x) : x;
    return err;
}

static granary_err
read_quantile(const char *text, double *ret_value)
{
    granary_err err = read_real(text, ret_value);

    return err == GRANARY_OK && !(*ret_value >= 0 && *ret_value <= 1)
               ? gr_fail(GRANARY_EINVAL, "the quantile '%.40s' is not from 0 to 1", text)
               : err;
}

/* A literal behind the value, of the kind that a letter of functions.def says. */
static granary_err
read_literal(struct gr_window *window, char letter, const char *text)
{
    switch (letter) {
    case 'f':
        return read_bool(text, &window->fill);
    case 'o':
        return read_int(text, -ROWS_MAX, &window->offset);
    case 'l':
        return read_int(text, 0, &window->offset);
    case 'm':
        return read_method(text, &window->method);
    case 'd':
        return read_bool(text, &window->descending);
    case 'w':
        return read_int(text, 1, &window->window);
    case 'p':
        return read_int(text, 0, &window->min_periods);
    case 'c':
        return read_bool(text, &window->center);
    case 'a':
        return read_alpha(text, &window->alpha);
    case 'j':
        return read_bool(text, &window->adjust);
    case 'b':
        return read_bool(text, &window->bias);
    case 'x':
        return read_bool(text, &window->pct);
    case 'q':
        return read_quantile(text, &window->quantile);
    default: /* i */
        return read_bool(text, &window->ignore_na);
    }
}

/* What literals that are not given mean; offsets count rows down. */
static granary_err
settle(struct gr_window *window, int literals)
{
    const char *letters = functions[window->function].literals;
    int needed = (int)strcspn(letters, "|");
    bool rolling = letters[0] == 'w' && strstr(letters, "|p") != NULL;

    if (literals == 0) {
        window->offset = strchr(letters, 'l') != NULL ? -1 : 1;
    }
    if (window->function == GR_WINDOW_NTH && window->offset == 0) {
        return gr_fail(GRANARY_EINVAL, "nth counts from 1, or from -1 up: there is no row 0");
    }
    if (window->function == GR_WINDOW_LEAD) {
        window->offset = -window->offset;
    }
    if (window->function == GR_WINDOW_RANK && window->value == NULL) {
        window->method = GR_RANK_MIN;
    }
    window->quantile = window->function == GR_WINDOW_ROLLING_MEDIAN ? 0.5 : window->quantile;
    if (window->function == GR_WINDOW_DENSE_RANK) {
        window->method = GR_RANK_DENSE;
    }
    if (rolling && literals <= needed) {
        window->min_periods = window->function == GR_WINDOW_ROLLING_COUNT ? 0 : window->window;
    }
    if (rolling && window->min_periods > window->window) {
        return gr_fail(GRANARY_EINVAL, "min_periods %lld is more than the window of %lld rows",
                       (long long)window->min_periods, (long long)window->window);
    }
    return GRANARY_OK;
}

static granary_err
parse_pieces(struct gr_window *window, char **pieces, int count)
{
    const struct function *function = &functions[window->function];
    int values = function->value == 1 || (function->value == 2 && count > 0) ? 1 : 0;
    int least = (int)strcspn(function->literals, "|");
    int most = (int)strlen(function->literals) - (function->literals[least] == '|');
    struct gr_expr *expr = NULL;
    granary_err err = GRANARY_OK;

    if (count < values + least || count > values + most) {
        return gr_fail(GRANARY_EINVAL, "%s takes %s%d to %d literals, not %d arguments in all", function->text,
                       values > 0 ? "a value and " : "", least, most, count);
    }
    if (values > 0) {
        window->value = strdup(trimmed(pieces[0]));
        err = window->value == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : gr_expr_parse(window->value, &expr);
        gr_expr_destroy(expr);
    }
    for (int i = values; i < count && err == GRANARY_OK; i++) {
        int at = i - values;

        err = read_literal(window, function->literals[at + (at >= least)], trimmed(pieces[i]));
    }
    return err == GRANARY_OK ? settle(window, count - values) : err;
}

/* Where the bracket closes that opens there; NULL: nowhere. */
static char *
closing_bracket(char *open)
{
    char quote = '\0';
    int depth = 0;

    for (char *c = open; *c != '\0'; c++) {
        if (quote != '\0') {
            quote = *c == quote ? '\0' : quote;
        } else if (*c == '\'' || *c == '"' || *c == '`') {
            quote = *c;
        } else if (*c == '(') {
            depth++;
        } else if (*c == ')' && --depth == 0) {
            return c;
        }
    }
    return NULL;
}

/* A function by its name and what stands between the brackets, which is written to. */
static granary_err
parse_function(struct gr_window *window, const char *name, char *arguments)
{
    char *pieces[ARGUMENTS_MAX];
    int count = 0;

    if (!cut_arguments(arguments, pieces, &count)) {
        return gr_fail(GRANARY_EINVAL, "%s: the arguments are not balanced, or more than %d", name, ARGUMENTS_MAX);
    }
    return parse_pieces(window, pieces, count);
}

/* An aggregate: "NAME(arguments)" as groupby has it. Its arguments are kept as they are written, too. */
static granary_err
parse_aggregate(struct gr_window *window, const char *name, char *arguments)
{
    char *pieces[ARGUMENTS_MAX];
    int count = 0;
    Granary__Attr attr = GRANARY__ATTR__INIT;
    struct gr_aggregate *aggregates = NULL;
    size_t parsed = 0;
    granary_err err = GRANARY_OK;

    attr.kind = GRANARY__ATTR__KIND__MAP;
    attr.n_keys = attr.n_strings = 1;
    attr.keys = &window->name;
    attr.strings = &window->aggregate_text;
    if (asprintf(&window->aggregate_text, "%s(%s)", name, arguments) < 0) {
        window->aggregate_text = NULL;
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = gr_aggregates_parse(&attr, &aggregates, &parsed);
    if (err != GRANARY_OK) {
        return err;
    }
    window->aggregate = aggregates[0];
    free(aggregates);
    if (gr_aggregate_is_rows(&window->aggregate)) {
        return gr_fail(GRANARY_EINVAL, "%s gives several rows, and a window one for each row", name);
    }
    if (!cut_arguments(arguments, pieces, &count)) {
        return gr_fail(GRANARY_EINVAL, "%s: the arguments are not balanced, or more than %d", name, ARGUMENTS_MAX);
    }
    if (window->aggregate.column != NULL && (count < 1 || (window->value = strdup(trimmed(pieces[0]))) == NULL)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (window->aggregate.second != NULL && (count < 2 || (window->second = strdup(trimmed(pieces[1]))) == NULL)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    return GRANARY_OK;
}

static bool
is_shift(enum gr_window_function function)
{
    return function == GR_WINDOW_SHIFT || function == GR_WINDOW_LAG || function == GR_WINDOW_LEAD;
}

/* What stands behind the brackets belongs to few functions. */
static granary_err
check_clauses(const struct gr_window *window, const char *name, bool framed)
{
    bool is_nth = window->aggregate_text == NULL && window->function == GR_WINDOW_NTH;

    if (framed && !is_nth && window->aggregate_text == NULL) {
        return gr_fail(GRANARY_EINVAL, "%s has no frame: aggregates and nth have", name);
    }
    if (window->ignores_nulls && (window->aggregate_text != NULL || !(is_nth || is_shift(window->function)))) {
        return gr_fail(GRANARY_EINVAL, "%s has no 'ignore nulls': shift, lag, lead and nth have", name);
    }
    return GRANARY_OK;
}

/* "FUNCTION(arguments) [ignore nulls] [frame]"; text is written to. */
static granary_err
parse_text(struct gr_window *window, char *text)
{
    char *open = strchr(text, '(');
    char *close = open == NULL ? NULL : closing_bracket(open);
    size_t function = 0;
    bool framed = false;
    granary_err err;

    if (close == NULL) {
        return gr_fail(GRANARY_EINVAL, "'%.80s' is no FUNCTION(arguments)", text);
    }
    err = gr_frame_parse(close + 1, window, &framed);
    if (err != GRANARY_OK) {
        return err;
    }
    *open = '\0';
    *close = '\0';
    text = trimmed(text);
    while (function < GR_WINDOW_COUNT_OF && strcasecmp(functions[function].text, text) != 0) {
        function++;
    }
    window->function = (enum gr_window_function)function;
    if (gr_aggregate_exists(text) && (framed || function == GR_WINDOW_COUNT_OF)) {
        err = parse_aggregate(window, text, open + 1);
    } else if (function == GR_WINDOW_COUNT_OF) {
        err = unknown_function(text);
    } else {
        err = parse_function(window, text, open + 1);
    }
    if (err == GRANARY_OK) {
        err = check_clauses(window, text, framed);
    }
    if (err == GRANARY_OK && !framed &&
        (window->aggregate_text != NULL || (window->function == GR_WINDOW_NTH && window->ignores_nulls))) {
        window->frame = (struct gr_window_frame){GR_FRAME_ROWS, {GR_END_FIRST, NULL}, {GR_END_LAST, NULL}, 0};
    }
    return err;
}

granary_err
gr_windows_parse(const Granary__Attr *attr, struct gr_window **ret_windows, size_t *ret_count)
{
    struct gr_window *windows = calloc(attr->n_keys + 1, sizeof *windows);
    granary_err err = windows == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    for (size_t i = 0; i < attr->n_keys && err == GRANARY_OK; i++) {
        char *text = strdup(attr->strings[i]);

        windows[i] = (struct gr_window){.name = strdup(attr->keys[i]), .min_periods = 1, .adjust = true};
        if (text == NULL || windows[i].name == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "out of memory");
        } else {
            err = parse_text(&windows[i], text);
        }
        if (err != GRANARY_OK && err != GRANARY_ENOMEM) {
            err = gr_fail_in(err, "column '%.100s'", attr->keys[i]);
        }
        free(text);
    }
    if (err != GRANARY_OK) {
        gr_windows_free(windows, attr->n_keys);
        return err;
    }
    *ret_windows = windows;
    *ret_count = attr->n_keys;
    return GRANARY_OK;
}

/* ---- dtypes ---- */

/* What a sum of such values is, as groupby has it; NULLTYPE: there is none. */
static granary_dtype
sum_dtype(granary_dtype dtype)
{
    enum gr_dtype_class of = gr_dtype_class(dtype);

    return gr_tensor_dtype_good(dtype)                         ? gr_dtype_of_sum(dtype)
           : of == GR_CLASS_DURATION || of == GR_CLASS_DECIMAL ? dtype
                                                               : GRANARY_NULLTYPE;
}

/* What a difference of two such values is: of small unsigned integers it may be below 0. */
static granary_dtype
difference_dtype(granary_dtype dtype)
{
    return gr_dtype_class(dtype) == GR_CLASS_MOMENT                ? GRANARY_DURATION
           : gr_dtype_is_integer(dtype) && dtype != GRANARY_UINT64 ? GRANARY_INT64
                                                                   : sum_dtype(dtype);
}

granary_err
gr_window_dtype(const struct gr_window *window, granary_dtype value, granary_dtype *ret_dtype)
{
    const struct function *function = &functions[window->function];
    granary_dtype sum = sum_dtype(value);
    granary_dtype dtype = GRANARY_NULLTYPE;

    if (window->aggregate_text != NULL) {
        return gr_aggregate_dtype(window->aggregate.function, value, ret_dtype);
    }
    if (gr_dtype_is_list(value)) {
        return gr_fail(GRANARY_ETYPE, "%s takes no lists, such as %s: explode the column, or take a value of each list",
                       function->text, granary_dtype_name(value));
    }
    switch (function->gives) {
    case GIVES_SAME:
        *ret_dtype = value;
        return GRANARY_OK;
    case GIVES_INT:
        *ret_dtype = GRANARY_INT64;
        return GRANARY_OK;
    case GIVES_RANK:
        *ret_dtype = window->value == NULL ? GRANARY_INT64 : GRANARY_FLOAT64;
        return GRANARY_OK;
    case GIVES_SUM:
        dtype = sum;
        break;
    case GIVES_PRODUCT:
        dtype = gr_tensor_dtype_good(value) ? sum : GRANARY_NULLTYPE;
        break;
    case GIVES_MEAN:
    case GIVES_SPREAD:
        dtype = sum == GRANARY_NULLTYPE || sum == GRANARY_FLOAT32 ||
                        (sum == GRANARY_DURATION && function->gives == GIVES_MEAN)
                    ? sum
                    : GRANARY_FLOAT64;
        break;
    case GIVES_FLOAT:
        dtype = sum != GRANARY_NULLTYPE ? GRANARY_FLOAT64 : GRANARY_NULLTYPE;
        break;
    case GIVES_DIFF:
        dtype = difference_dtype(value);
        break;
    case GIVES_LINE:
        dtype = difference_dtype(value) == GRANARY_NULLTYPE || value == GRANARY_BOOL ? GRANARY_NULLTYPE : value;
        break;
    }
    if (dtype == GRANARY_NULLTYPE && value != GRANARY_NULLTYPE) {
        return gr_fail(GRANARY_ETYPE, "%s needs numbers, not %s", function->text, granary_dtype_name(value));
    }
    *ret_dtype = dtype != GRANARY_NULLTYPE ? dtype : GRANARY_FLOAT64;
    return GRANARY_OK;
}

bool
gr_window_is_forward(const struct gr_window *window)
{
    if (window->aggregate_text != NULL || window->frame.mode != GR_FRAME_NONE || window->ignores_nulls) {
        return false;
    }
    switch (functions[window->function].sees) {
    case SEES_OFFSET:
        return window->offset >= 0;
    case SEES_ALL:
        return false;
    default:
        return !window->center;
    }
}

int64_t
gr_window_history(const struct gr_window *window)
{
    switch (functions[window->function].sees) {
    case SEES_OFFSET:
        return window->offset;
    case SEES_CHOSEN:
        return -1;
    default:
        return window->window;
    }
}
