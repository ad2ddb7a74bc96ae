/* What commands take: options of their own beside --instance, --session and --json, then arguments. */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include "cli/command/cli.h"
#include "options/options.h"

struct arguments {
    const struct gr_option *options; /* NULL: none of its own */
    const char *usage;               /* of what follows the options */
    const char *doc;
    int least, most; /* arguments */
    /* Whether what is given goes together. Errors: EINVAL, with a message. */
    granary_err (*check)(void *target);
};

#define ARGUMENTS_MANY GR_OPTION_MANY

/*
 * Parse options into target and cli. A wrong option, too few and too many arguments end the program with status 2.
 * Returns the position of the first argument. cli may be NULL: the command takes none of the common options.
 */
int arguments_read(const struct arguments *arguments, void *target, struct cli *cli, int argc, char **argv);
/* The same with one more set of options, which several commands share. */
int arguments_read_with(const struct arguments *arguments, void *target, struct gr_option_set shared, struct cli *cli,
                        int argc, char **argv);
/* An object's id in full, into a granary_id. Errors: EINVAL */
granary_err arguments_id(const char *text, granary_id *ret_id);
/* "A:B", "A:", ":B": from A up to B. An end that is not given is left as it is. Errors: EINVAL */
granary_err arguments_range(const char *text, uint64_t *from, uint64_t *to);
/* The names in "a,b,c", which is taken apart; the array is to be freed, and has room for two more. NULL gives NULL, 0.
 * Errors: ENOMEM */
granary_err arguments_names(char *text, const char ***ret_names, size_t *ret_count);

#endif
