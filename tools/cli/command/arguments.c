#include "cli/command/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/error.h"
#include "base/size.h"

#define DURATION_MOST_MS (23 * 86400000) /* fits an int */

error_t
arguments_key(int key, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = arguments->cli;
        return 0;
    case ARGP_KEY_ARGS:
        arguments->first = state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

error_t
arguments_parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    return arguments_key(key, state);
}

int
arguments_read(const struct argp_option *options, argp_parser_t parser, const char *usage, const char *doc, int least,
               int most, int argc, char **argv, struct arguments *arguments)
{
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options, parser, usage, doc, children, NULL, NULL};

    arguments->first = argc;
    cli_parse(&argp, argc, argv, arguments);
    if (argc - arguments->first < least || argc - arguments->first > most) {
        (void)fprintf(stderr, "granary: usage: %s [OPTION...] %s: `%s --help` tells more\n", argv[0], usage, argv[0]);
        exit(2);
    }
    return arguments->first;
}

uint64_t
arguments_size(struct argp_state *state, const char *text)
{
    uint64_t bytes = 0;

    if (gr_size_parse(text, &bytes) != GRANARY_OK) {
        argp_error(state, "%s", granary_error_message());
    }
    return bytes;
}

long
arguments_number(struct argp_state *state, const char *text, long least, long most)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most) {
        argp_error(state, "'%s' is no number from %ld to %ld", text, least, most);
    }
    return value;
}

granary_levels
arguments_levels(struct argp_state *state, const char *text)
{
    granary_levels levels = 0;

    if (granary_levels_parse(text, &levels) != GRANARY_OK) {
        argp_error(state, "%s", granary_error_message());
    }
    return levels;
}

granary_id
arguments_id(struct argp_state *state, const char *text)
{
    granary_id id = {{0}};

    if (granary_id_parse(text, strlen(text), &id) != GRANARY_OK) {
        argp_error(state, "%s", granary_error_message());
    }
    return id;
}

void
arguments_range(struct argp_state *state, const char *text, uint64_t *from, uint64_t *to)
{
    const char *colon = strchr(text, ':');
    size_t length = colon == NULL ? 0 : (size_t)(colon - text);
    char first[32];

    if (colon == NULL || length >= sizeof first) {
        argp_error(state, "'%s' is no range: FROM:TO is expected", text);
        return;
    }
    memcpy(first, text, length);
    first[length] = '\0';
    if (length > 0) {
        *from = arguments_size(state, first);
    }
    if (colon[1] != '\0') {
        *to = arguments_size(state, colon + 1);
    }
    if (*from > *to) {
        argp_error(state, "'%s' ends before it begins", text);
    }
}

int
arguments_duration(struct argp_state *state, const char *text)
{
    bool negative = text[0] == '-';
    uint64_t ns = 0;

    if (gr_duration_parse(text + negative, &ns) != GRANARY_OK) {
        argp_error(state, "%s", granary_error_message());
    } else if (ns / 1000000 >= DURATION_MOST_MS) {
        argp_error(state, "'%s' is too long: less than %d days are expected", text, DURATION_MOST_MS / 86400000);
    }
    return negative ? GRANARY_FOREVER : (int)((ns + 999999) / 1000000);
}

granary_err
arguments_names(char *text, const char ***ret_names, size_t *ret_count)
{
    const char **names = text == NULL ? NULL : calloc(strlen(text) + 3, sizeof *names);
    size_t count = 0;

    if (text != NULL && names == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%s: out of memory", text);
    }
    for (char *name = text; name != NULL; count++) {
        names[count] = strsep(&name, ",");
    }
    *ret_names = names;
    *ret_count = count;
    return GRANARY_OK;
}
