/* Commands of the prompt, which begin with a dot. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/print/output.h"
#include "cli/prompt/names.h"
#include "cli/prompt/shell.h"
#include "graph/operators/nearest.h"

struct dot {
    const char *name;
    const char *usage;
    const char *summary;
    int (*run)(struct shell *shell, char *argument); /* argument: NULL: there is none */
    bool needs;                                      /* an argument */
};

static int
fail(const char *message)
{
    return cli_fail(gr_fail(GRANARY_EINVAL, "%s", message), "sql");
}

static int
run_tables(struct shell *shell, char *argument)
{
    return names_print_tables(shell, argument);
}

static int
run_schema(struct shell *shell, char *argument)
{
    return names_print_schema(shell, argument);
}

static int
run_mode(struct shell *shell, char *argument)
{
    const struct gr_format *format = output_mode(argument);

    if (format == NULL) {
        return fail(".mode: one of these: " OUTPUT_MODES);
    }
    shell->run->format = format;
    shell->plain_format = NULL;
    shell->cli->json = false;
    return 0;
}

/* Rows as pictures, until they are to be as before. */
static int
run_plot(struct shell *shell, char *argument)
{
    bool off = argument == NULL || strcmp(argument, "off") == 0;
    const struct gr_format *format = off ? shell->plain_format : output_plot(argument);

    if (format == NULL && !off) {
        return fail(".plot: one of these: " OUTPUT_PLOTS ", or off");
    }
    if (!off && shell->plain_format == NULL) {
        shell->plain_format = shell->run->format;
    } else if (off) {
        shell->plain_format = NULL;
    }
    shell->run->format = format != NULL ? format : shell->run->format;
    return 0;
}

/* "on", "off"; without one, the other than it is. */
static int
set_switch(bool *which, const char *name, const char *argument)
{
    if (argument != NULL && strcmp(argument, "on") != 0 && strcmp(argument, "off") != 0) {
        return cli_fail(gr_fail(GRANARY_EINVAL, "%s: 'on' or 'off'", name), "sql");
    }
    *which = argument == NULL ? !*which : strcmp(argument, "on") == 0;
    return 0;
}

static int
run_timer(struct shell *shell, char *argument)
{
    return set_switch(&shell->timer, ".timer", argument);
}

static int
run_pager(struct shell *shell, char *argument)
{
    return set_switch(&shell->run->pages, ".pager", argument);
}

static int
run_read(struct shell *shell, char *argument)
{
    return shell_read(shell, argument);
}

static int
run_quit(struct shell *shell, char *argument)
{
    (void)argument;
    shell->ended = true;
    return 0;
}

/* The mode that a file's ending names; NULL: none. */
static const struct gr_format *
mode_of_file(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot == NULL ? NULL : output_mode(strcmp(dot, ".md") == 0 ? "markdown" : dot + 1);
}

/* A file has the form that its ending names; the terminal has the one it had before. */
static int
run_output(struct shell *shell, char *argument)
{
    const struct gr_format *mode = NULL;
    int fd = -1;

    if (argument != NULL && strcmp(argument, "stdout") != 0) {
        fd = open(argument, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
        if (fd < 0) {
            return cli_fail(gr_fail_errno("cannot be written"), ".output %s", argument);
        }
        mode = mode_of_file(argument);
    }
    if (shell->output_fd >= 0) {
        shell->run->format = shell->terminal_format;
    }
    gr_fd_close(&shell->output_fd);
    shell->output_fd = fd;
    shell->terminal_format = shell->run->format;
    shell->run->format = mode != NULL ? mode : shell->run->format;
    return 0;
}

static int
take_number(const char *name, const char *argument, int64_t *ret_number)
{
    char *end;
    long number;

    errno = 0;
    number = strtol(argument, &end, 10);
    if (errno != 0 || *end != '\0' || end == argument || number < 0 || number > INT32_MAX) {
        return cli_fail(gr_fail(GRANARY_EINVAL, "%s: a number from 0, and not '%.40s'", name, argument), "sql");
    }
    *ret_number = number;
    return 0;
}

static int
run_width(struct shell *shell, char *argument)
{
    int64_t width = -1;
    int status = argument == NULL ? 0 : take_number(".width", argument, &width);

    (void)shell;
    if (status == 0) {
        output_style.width = (int)width;
    }
    return status;
}

static int
run_maxrows(struct shell *shell, char *argument)
{
    (void)shell;
    return take_number(".maxrows", argument, &output_style.max_rows);
}

static int
run_nullvalue(struct shell *shell, char *argument)
{
    char *copy = strdup(argument == NULL ? "" : argument);

    if (copy == NULL) {
        return cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "sql");
    }
    free(shell->null_text);
    shell->null_text = copy;
    output_style.null_value = copy;
    return 0;
}

static int
run_cd(struct shell *shell, char *argument)
{
    (void)shell;
    return chdir(argument) == 0 ? 0 : cli_fail(gr_fail_errno("cannot be entered"), ".cd %s", argument);
}

static int run_help(struct shell *shell, char *argument);

static const struct dot dots[] = {
    {".cd", "DIRECTORY", "work in another directory: names of files are relative to it", run_cd, true},
    {".help", "[TOPIC]", "list these commands, or tell of one", run_help, false},
    {".maxrows", "N", "show so many rows of a box at most; 0: all", run_maxrows, true},
    {".mode", "MODE", "print rows as " OUTPUT_MODES, run_mode, true},
    {".nullvalue", "[TEXT]", "show this for null", run_nullvalue, false},
    {".output", "[FILE]", "write rows to a file, as its ending says; without one, to the terminal again", run_output,
     false},
    {".pager", "[on|off]", "read what is larger than the terminal through $PAGER", run_pager, false},
    {".plot", "[KIND|off]", "draw rows as " OUTPUT_PLOTS ", the first column being labels; off: as before", run_plot,
     false},
    {".quit", "", "end the prompt, as Ctrl-D does", run_quit, false},
    {".exit", "", "end the prompt", run_quit, false},
    {".read", "FILE", "run the statements and dot commands of a file", run_read, true},
    {".schema", "[TABLE]", "print a table's columns, or a view's SELECT", run_schema, false},
    {".tables", "[PATTERN]", "list tables, kept results and views; * and ? are in patterns", run_tables, false},
    {".timer", "[on|off]", "tell how long each statement took", run_timer, false},
    {".width", "[N]", "let boxes have so many columns; 0: any number; without N: those of the terminal", run_width,
     false},
};

#define DOTS (sizeof dots / sizeof dots[0])

static int
run_help(struct shell *shell, char *argument)
{
    size_t told = 0;

    (void)shell;
    for (size_t i = 0; i < DOTS; i++) {
        const char *name = argument != NULL && argument[0] != '.' ? dots[i].name + 1 : dots[i].name;

        if (argument == NULL || strcmp(name, argument) == 0) {
            (void)printf("%-11s %-11s %s\n", dots[i].name, dots[i].usage, dots[i].summary);
            told++;
        }
    }
    if (argument == NULL) {
        (void)printf(
            "\nA statement ends with a semicolon, on any line. Tab completes, Ctrl-R searches the history, Ctrl-C "
            "clears the\nstatement or cancels the query that runs, Ctrl-D ends. docs/sql.md tells what is "
            "supported.\n");
    }
    return told > 0 ? 0 : cli_fail(gr_fail(GRANARY_EINVAL, "no topic '%.40s': .help lists them", argument), ".help");
}

const char *
shell_dot_name(size_t index)
{
    return index < DOTS ? dots[index].name : NULL;
}

static int
fail_unknown(const char *name)
{
    struct gr_nearest nearest = {.name = name};
    char hint[GR_HINT_MAX];

    for (size_t i = 0; i < DOTS; i++) {
        gr_nearest_offer(&nearest, dots[i].name);
    }
    (void)gr_nearest_hint(&nearest, hint);
    return cli_fail(gr_fail(GRANARY_EINVAL, "no command '%.40s'%s: .help lists them", name, hint), "sql");
}

/* The argument, without spaces and a semicolon at its end, or quotes around it; NULL: there is none. */
static char *
take_argument(char *text)
{
    size_t size;

    text += strspn(text, " \t");
    size = strlen(text);
    while (size > 0 && strchr(" \t\r;", text[size - 1]) != NULL) {
        text[--size] = '\0';
    }
    if (size >= 2 && (text[0] == '\'' || text[0] == '"') && text[size - 1] == text[0]) {
        text[size - 1] = '\0';
        return text + 1;
    }
    return size == 0 ? NULL : text;
}

int
shell_dot(struct shell *shell, char *line)
{
    const size_t size = strcspn(line, " \t\r;");
    char *argument = take_argument(line + size);

    line[size] = '\0';
    for (size_t i = 0; i < DOTS; i++) {
        if (strcmp(line, dots[i].name) == 0) {
            int status = dots[i].needs && argument == NULL
                             ? cli_fail(gr_fail(GRANARY_EINVAL, "%s needs %s", line, dots[i].usage), "sql")
                             : dots[i].run(shell, argument);

            (void)fflush(stdout);
            return status;
        }
    }
    return fail_unknown(line);
}
