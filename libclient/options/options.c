/* One table of options is turned into argp's, whose keys are positions in it; a value goes into its field by its kind. */
#include "options/options.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/duration.h"
#include "base/text/size.h"

#define ROWS_MOST    64
#define KEY_FIRST    0x1000            /* of options without a letter: no character */
#define MS_MOST      (23 * 86400000ll) /* fits an int */
#define STATUS_USAGE 2

struct row {
    const struct gr_option *option;
    void *target;
    granary_err (*note)(void *target, const struct gr_option *option, char *text);
};

struct parsing {
    const struct gr_options *options;
    struct row rows[ROWS_MOST];
    size_t count;
    int first; /* argument */
    int argc;
    char **argv;
};

/* ---- values ---- */

granary_err
gr_option_directory(char *text, uint64_t *ret_limit)
{
    char *equals = strrchr(text, '=');
    size_t length;

    *ret_limit = 0;
    if (equals != NULL && strchr(equals, '/') == NULL && gr_size_parse(equals + 1, ret_limit) == GRANARY_OK) {
        *equals = '\0';
        if (*ret_limit == 0) {
            return gr_fail(GRANARY_EINVAL, "'%s': a limit of 0 leaves nothing to write", text);
        }
    }
    length = strlen(text);
    while (length > 1 && text[length - 1] == '/') {
        text[--length] = '\0';
    }
    return length > 0 ? GRANARY_OK : gr_fail(GRANARY_EINVAL, "'' is no directory");
}

granary_err
gr_option_number(const char *text, int64_t least, uint64_t most, int64_t *ret_number)
{
    bool negative = text[0] == '-';
    char *end;
    int64_t number;
    bool fits;

    errno = 0;
    number = negative ? strtoll(text, &end, 10) : (int64_t)strtoull(text, &end, 10);
    fits = negative ? number >= least : (uint64_t)number <= most && (least <= 0 || (uint64_t)number >= (uint64_t)least);
    if (errno == 0 && end != text && *end == '\0' && fits) {
        *ret_number = number;
        return GRANARY_OK;
    }
    return most > INT64_MAX
               ? gr_fail(GRANARY_EINVAL, "'%s' is no number from %" PRId64 " up", text, least)
               : gr_fail(GRANARY_EINVAL, "'%s' is no number from %" PRId64 " to %" PRIu64, text, least, most);
}

/* most_ms 0: as long as can be said. */
static granary_err
parse_duration(const char *text, int64_t most_ms, int64_t *ret_ms)
{
    bool negative = most_ms > 0 && text[0] == '-';
    uint64_t ns = 0;
    granary_err err = gr_duration_parse(text + negative, &ns);

    if (err == GRANARY_OK && most_ms > 0 && ns / 1000000 >= (uint64_t)most_ms) {
        err = gr_fail(GRANARY_EINVAL, "'%s' is too long: less than %d days are expected", text,
                      (int)(most_ms / 86400000));
    }
    if (err == GRANARY_OK) {
        *ret_ms = negative ? GRANARY_FOREVER : (int64_t)((ns + 999999) / 1000000);
    }
    return err;
}

static granary_err
parse_size(const struct gr_option *option, const char *text, int64_t *ret_bytes)
{
    uint64_t bytes = 0;
    granary_err err = gr_size_parse(text, &bytes);
    char least[GR_SIZE_TEXT];

    if (err == GRANARY_OK && option->least == 1 && bytes == 0) {
        err = gr_fail(GRANARY_EINVAL, "'%s' is no size: write bytes, or a number with K, M, G or T", text);
    } else if (err == GRANARY_OK && bytes < (uint64_t)option->least) {
        err = gr_fail(GRANARY_EINVAL, "'%s' is too little: a size of at least %s is expected", text,
                      gr_size_format((uint64_t)option->least, least));
    }
    *ret_bytes = (int64_t)bytes;
    return err;
}

#define JOINED 512
/* The text with another joint wherever `at` stands: "a|b" as "a, b". Returns buffer. */
static const char *
join(const char *text, char at, const char *joint, char buffer[JOINED])
{
    size_t used = 0;

    buffer[0] = '\0';
    for (; *text != '\0' && used + strlen(joint) + 1 < JOINED; text++) {
        used += (size_t)snprintf(buffer + used, JOINED - used, "%.*s", *text == at ? INT_MAX : 1,
                                 *text == at ? joint : text);
    }
    return buffer;
}

static granary_err
parse_choice(const char *choices, const char *text, int64_t *ret_position)
{
    size_t length = strlen(text);
    char words[JOINED];
    int64_t position = 0;

    for (const char *at = choices; length > 0; at++, position++) {
        size_t word = strcspn(at, "|");

        if (word == length && strncmp(at, text, length) == 0) {
            *ret_position = position;
            return GRANARY_OK;
        }
        at += word;
        if (*at == '\0') {
            break;
        }
    }
    return gr_fail(GRANARY_EINVAL, "'%s' is none of %s", text, join(choices, '|', ", ", words));
}

static granary_err
parse_value(const struct gr_option *option, const char *text, int64_t *ret_value)
{
    granary_levels levels = 0;
    granary_err err = GRANARY_OK;

    switch (option->kind) {
    case GR_OPTION_IS_VALUE:
        *ret_value = option->least;
        return GRANARY_OK;
    case GR_OPTION_IS_NUMBER:
        return gr_option_number(text, option->least, option->most, ret_value);
    case GR_OPTION_IS_SIZE:
        return parse_size(option, text, ret_value);
    case GR_OPTION_IS_DURATION:
        err = parse_duration(text, option->width == sizeof(int) ? MS_MOST : 0, ret_value);
        return err == GRANARY_OK && *ret_value < option->least ? gr_fail(GRANARY_EINVAL, "'%s' leaves no time", text)
                                                               : err;
    case GR_OPTION_IS_CHOICE:
        return parse_choice(option->choices, text, ret_value);
    case GR_OPTION_IS_LEVELS:
        err = granary_levels_parse(text, &levels);
        *ret_value = (int64_t)levels;
        return err;
    default:
        return GRANARY_OK;
    }
}

static granary_err
take(const struct gr_option *option, void *target, char *text)
{
    char *field = (char *)target + option->offset;
    bool as_text = option->kind == GR_OPTION_IS_TEXT || option->as_text ||
                   (option->kind == GR_OPTION_IS_CHOICE && option->width == sizeof(char *));
    int64_t value = 0;
    granary_err err =
        option->kind == GR_OPTION_IS_TAKEN ? option->take(field, text) : parse_value(option, text, &value);

    if (err != GRANARY_OK || option->kind == GR_OPTION_IS_TAKEN) {
        return err;
    }
    if (as_text) {
        memcpy(field, &text, sizeof text);
    } else { /* the low bytes: this machine begins with them */
        memcpy(field, &value, option->width);
    }
    return GRANARY_OK;
}

const struct gr_option *
gr_option_find(const struct gr_option *options, const char *name)
{
    for (; options != NULL && options->name != NULL; options++) {
        if (strcmp(options->name, name) == 0) {
            return options;
        }
    }
    return NULL;
}

granary_err
gr_option_take(const struct gr_option *option, void *target, char *text)
{
    if (option->value == NULL && strcmp(text, "no") == 0) {
        return GRANARY_OK;
    }
    if (option->value == NULL && strcmp(text, "yes") != 0) {
        return gr_fail(GRANARY_EINVAL, "'%s' is none of yes, no", text);
    }
    return take(option, target, text);
}

/* ---- argp ---- */

static const struct row *
row_of(const struct parsing *parsing, int key)
{
    for (size_t i = 0; i < parsing->count; i++) {
        if (key == KEY_FIRST + (int)i || (parsing->rows[i].option->letter == key && key != 0)) {
            return &parsing->rows[i];
        }
    }
    return NULL;
}

static void
check_arguments(const struct parsing *parsing, struct argp_state *state)
{
    const struct gr_options *options = parsing->options;
    int count = parsing->argc - parsing->first;
    char usage[JOINED];

    if (count > options->most && options->most == 0) {
        argp_error(state, "unexpected argument '%s'", parsing->argv[parsing->first]);
    } else if (count < options->least || count > options->most) {
        (void)fprintf(stderr, "granary: usage: %s [OPTION...] %s: `%s --help` tells more\n", parsing->argv[0],
                      join(options->arguments, '\n', " | ", usage), parsing->argv[0]);
        exit(STATUS_USAGE);
    }
    if (options->check != NULL && options->check(options->sets[0].target) != GRANARY_OK) {
        argp_error(state, "%s", granary_error_message());
    }
}

static error_t
parse_key(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    const struct row *row;

    switch (key) {
    case ARGP_KEY_ARGS:
        parsing->first = state->next;
        return 0;
    case ARGP_KEY_END:
        check_arguments(parsing, state);
        return 0;
    default:
        row = row_of(parsing, key);
        if (row == NULL) {
            return ARGP_ERR_UNKNOWN;
        }
        if (take(row->option, row->target, text) != GRANARY_OK ||
            (row->note != NULL && row->note(row->target, row->option, text) != GRANARY_OK)) {
            argp_error(state, "--%s: %s", row->option->name, granary_error_message());
        }
        return 0;
    }
}

int
gr_options_parse(const struct gr_options *options, int argc, char **argv)
{
    struct parsing parsing = {.options = options, .first = argc, .argc = argc, .argv = argv};
    struct argp_option list[ROWS_MOST + 1] = {{0}};
    const struct argp argp = {list, parse_key, options->arguments, options->doc, NULL, NULL, NULL};

    for (size_t s = 0; s < GR_OPTION_SETS; s++) {
        const struct gr_option *option = options->sets[s].options;

        for (; option != NULL && option->name != NULL && parsing.count < ROWS_MOST; option++) {
            list[parsing.count] = (struct argp_option){
                .name = option->name,
                .key = option->letter != 0 ? option->letter : KEY_FIRST + (int)parsing.count,
                .arg = option->value,
                .flags = (option->optional ? OPTION_ARG_OPTIONAL : 0) | (option->hidden ? OPTION_HIDDEN : 0),
                .doc = option->help,
                .group = option->group};
            parsing.rows[parsing.count++] = (struct row){option, options->sets[s].target, options->sets[s].note};
        }
    }
    argp_err_exit_status = STATUS_USAGE;
    (void)argp_parse(&argp, argc, argv, 0, NULL, &parsing);
    return parsing.first;
}
