/* Commands that take options, then arguments: a program's options beside --instance, --session and --json. */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include "cli/command/cli.h"

/* The first member of a command's own options, which are the input of its parser. */
struct arguments {
    struct cli *cli;
    int first; /* position of the first argument that is no option */
};

/* What a parser does with keys it does not know. */
error_t arguments_key(int key, struct argp_state *state);

/*
 * Parse options first, then arguments. options may be NULL; then parser may be arguments_parse. Fewer arguments than
 * least, more than most, and unknown options end the program with status 2. Returns the position of the first one.
 */
int arguments_read(const struct argp_option *options, argp_parser_t parser, const char *usage, const char *doc,
                   int least, int most, int argc, char **argv, struct arguments *arguments);
/* The parser of a command without options. */
error_t arguments_parse(int key, char *arg, struct argp_state *state);

#define ARGUMENTS_MANY (1 << 20)

/* Values of options; a bad one ends the program with status 2. */
uint64_t arguments_size(struct argp_state *state, const char *text);
long arguments_number(struct argp_state *state, const char *text, long least, long most);
granary_levels arguments_levels(struct argp_state *state, const char *text);
granary_id arguments_id(struct argp_state *state, const char *text);
/* "A:B", "A:", ":B": from A up to B. An end that is not given is left as it is. */
void arguments_range(struct argp_state *state, const char *text, uint64_t *from, uint64_t *to);
/* A duration ("1.5", "500ms", "2m") as milliseconds, rounded up; negative: GRANARY_FOREVER. */
int arguments_duration(struct argp_state *state, const char *text);
/* The names in "a,b,c", which is taken apart; the array is to be freed, and has room for two more. NULL gives NULL, 0.
 * Errors: ENOMEM */
granary_err arguments_names(char *text, const char ***ret_names, size_t *ret_count);

#endif
