/* Options are read into a copy of the command's initial state; then the command is opened, run and closed. */
#include "cli/command/command.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

const struct gr_option command_options[] = {
    {"instance", 'i', "NAME|DIR", "use this instance; default: $GRANARY_INSTANCE, else 'default'",
     GR_OPTION_TEXT(struct cli, instance), .group = 10},
    {"session", 0, "NAME", "use this session; default: 'default'", GR_OPTION_TEXT(struct cli, session), .group = 10},
    {"json", 0, NULL, "print JSON", GR_OPTION_FLAG(struct cli, json), .group = 10},
    {0}};

/* ---- a session of the store ---- */

void
cli_disconnect(struct cli *cli)
{
    granary_disconnect(cli->client);
    cli->client = NULL;
}

const struct access access_session = {.open = cli_connect_existing, .close = cli_disconnect};
const struct access access_storing = {.open = cli_connect, .close = cli_disconnect};

/* ---- arguments ---- */

static bool
word_ends_in(const char *word, size_t length, const char *end)
{
    size_t size = strlen(end);

    return length >= size && memcmp(word + length - size, end, size) == 0;
}

/* How many arguments a form of a usage has: "NAME [ID]" has one or two, "A | B" one, "FILE..." any number from one up. */
static void
count_words(const char *form, size_t length, int *ret_least, int *ret_most)
{
    int depth = 0, words = 0, alternative = 0;

    *ret_least = *ret_most = 0;
    for (size_t at = 0, end; at < length; at = end) {
        for (end = at + 1; end < length && form[end] != ' '; end++) {
        }
        if (form[at] == ' ') {
            end = at + 1;
            continue;
        }
        depth += form[at] == '[';
        if (form[at] == '|') {
            words = alternative; /* what follows stands in the place of what came before */
        } else {
            words++;
        }
        *ret_most = words > *ret_most ? words : *ret_most;
        *ret_least += depth == 0 && form[at] != '|' && words > *ret_least;
        alternative = form[at] == '[' ? words - 1 : alternative;
        if (word_ends_in(form + at, end - at, "...") || word_ends_in(form + at, end - at, "...]")) {
            *ret_most = GR_OPTION_MANY;
        }
        depth -= depth > 0 && form[end - 1] == ']';
    }
}

/* Of all forms together. */
static void
count_arguments(const struct command_row *row, struct gr_options *options)
{
    const char *form = row->usage == NULL ? "" : row->usage;

    options->least = GR_OPTION_MANY;
    do {
        size_t length = strcspn(form, "\n");
        int least, most;

        count_words(form, length, &least, &most);
        options->least = least < options->least ? least : options->least;
        options->most = most > options->most ? most : options->most;
        form += length + (form[length] == '\n');
    } while (*form != '\0');
    if (row->command->counts) {
        options->least = 0;
        options->most = GR_OPTION_MANY;
    }
}

/* What a check is of. */
struct parsed {
    const struct command *command;
    struct cli *cli;
};

static granary_err
check_parsed(void *target)
{
    const struct parsed *parsed = target;

    return parsed->command->check == NULL ? GRANARY_OK : parsed->command->check(parsed->cli);
}

/* A statement may begin with a comment ("-- ..."), which is no option: what is behind its line. */
static char *
behind_comment(char *argument)
{
    bool is_comment = argument[0] == '-' && argument[1] == '-' && isspace((unsigned char)argument[2]);

    return is_comment ? argument + strcspn(argument, "\n") : argument;
}

/* The arguments with "--" in front of the first negative number, which is no option. NULL: out of memory */
static char **
guard_arguments(const struct command *command, int *argc, char **argv)
{
    static char guard[] = "--";
    char **guarded = calloc((size_t)*argc + 2, sizeof *guarded);
    bool done = !command->numbers;
    int count = 0;

    for (int i = 0; guarded != NULL && i < *argc; i++) {
        if (!done && argv[i][0] == '-' && isdigit((unsigned char)argv[i][1])) {
            guarded[count++] = guard;
            done = true;
        }
        guarded[count++] = behind_comment(argv[i]);
    }
    *argc = count;
    return guarded;
}

static void
parse_options(const struct command_row *row, struct cli *cli, int argc, char **argv)
{
    static char name[64]; /* argv[0] from now on: usage and errors begin with it */
    const struct command *command = row->command;
    struct parsed parsed = {command, cli};
    struct gr_options options = {.arguments = row->usage != NULL && row->usage[0] != '\0' ? row->usage : NULL,
                                 .doc = row->doc,
                                 .sets = {{NULL, &parsed, NULL},
                                          {command->options, cli->self, NULL},
                                          {command->access == NULL ? NULL : command->access->options, cli->self,
                                           command->access == NULL ? NULL : command->access->note},
                                          {command->alone ? NULL : command_options, cli, NULL}},
                                 .check = check_parsed};
    int first;

    count_arguments(row, &options);
    (void)snprintf(name, sizeof name, "granary %s", argv[0]);
    argv[0] = name;
    first = gr_options_parse(&options, argc, argv);
    cli->usage_name = name;
    cli->arguments = argv + first;
    cli->count = argc - first;
}

/* ---- running ---- */

/* The exit status of what a command's function returned; an error is printed. */
static int
status_of(const struct command *command, const struct cli *cli, int result)
{
    if (result >= 0) {
        return result;
    }
    return command->plain ? cli_fail_plain((granary_err)result) : cli_fail((granary_err)result, "%s", cli->name);
}

static int
run_argument(const struct command *command, struct cli *cli, char *argument)
{
    granary_id id;
    int status;

    if (command->each != NULL) {
        return status_of(command, cli, command->each(cli, argument));
    }
    status = cli_find(cli->client, argument, &id);
    return status == 0 ? status_of(command, cli, command->object(cli, id)) : status;
}

static int
run_opened(const struct command *command, struct cli *cli)
{
    int status = 0;

    if (command->run != NULL) {
        return status_of(command, cli, command->run(cli));
    }
    for (int i = 0; i < cli->count; i++) {
        int one = run_argument(command, cli, cli->arguments[i]);

        status = status == 0 ? one : status;
    }
    return status;
}

static int
run_parsed(const struct command *command, struct cli *cli)
{
    bool opens = command->access != NULL && command->access->open != NULL;
    int status = command->prepare == NULL ? 0 : status_of(command, cli, command->prepare(cli));

    if (status == 0 && opens) {
        status = command->access->open(cli);
        opens = status == 0;
    }
    if (status == 0) {
        status = run_opened(command, cli);
        if (opens) {
            command->access->close(cli);
        }
    }
    if (command->end != NULL) {
        command->end(cli);
    }
    return status;
}

static int
run_part(const struct command_row *row, const struct command_row *part, struct cli *cli, int argc, char **argv)
{
    char whole[64]; /* as errors name it */

    (void)snprintf(whole, sizeof whole, "%s %s", row->name, part->name);
    argv[0] = whole;
    return cli_run(part, cli, argc, argv);
}

static int
run_self(const struct command_row *row, struct cli *cli, int argc, char **argv)
{
    const struct command *command = row->command;
    char **guarded = guard_arguments(command, &argc, argv);
    void *outer = cli->self; /* of the command that this one is a part of */
    void *self = calloc(1, command->size + 1);
    const struct command_row *part;
    int status;

    cli->name = argv[0];
    cli->self = self;
    if (self == NULL || guarded == NULL) {
        status = cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "%s", cli->name);
    } else {
        if (command->self != NULL) {
            memcpy(self, command->self, command->size);
        }
        parse_options(row, cli, argc, guarded);
        part = cli->count > 0 ? command_find(command->rows, cli->arguments[0]) : NULL; /* options were before it */
        status = part != NULL ? run_part(row, part, cli, cli->count, cli->arguments) : run_parsed(command, cli);
    }
    free(guarded);
    free(self);
    cli->self = outer;
    return status;
}

/* ---- commands of a command ---- */

const struct command_row *
command_find(const struct command_row *rows, const char *name)
{
    for (; rows != NULL && (rows->name != NULL || rows->summary != NULL); rows++) {
        if (rows->name != NULL && strcmp(rows->name, name) == 0) {
            return rows;
        }
    }
    return NULL;
}

/* It was not named which of them. */
static int
print_rows(const struct command_row *row, bool help)
{
    const int length = (int)strcspn(row->doc, "\v");
    const char *rest = row->doc + length + (row->doc[length] != '\0');

    if (!help) {
        (void)fprintf(stderr, "granary: %s: %s granary %s %s\n", row->name, row->command->which, row->name, row->usage);
        return 2;
    }
    (void)printf("Usage: granary %s %s\n%.*s\n\n", row->name, row->usage, length, row->doc);
    for (const struct command_row *part = row->command->rows; part->name != NULL; part++) {
        (void)printf("  %-8s %s\n", part->name, part->summary);
    }
    (void)printf("\n%s%s`granary %s %s --help` tells the options.\n", rest, rest[0] == '\0' ? "" : "\n\n", row->name,
                 row->command->rows->name);
    return 0;
}

int
cli_run(const struct command_row *row, struct cli *cli, int argc, char **argv)
{
    const char *first = argc >= 2 ? argv[1] : "";
    const struct command_row *part = command_find(row->command->rows, first);

    if (part != NULL) {
        return run_part(row, part, cli, argc - 1, argv + 1);
    }
    if (row->command->program != NULL) {
        return row->command->program(argc, argv);
    }
    return row->command->which != NULL ? print_rows(row, strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0)
                                       : run_self(row, cli, argc, argv);
}
