/*
 * Roff as man(7) describes it: a line that begins with a dot is a request, so each line of text begins with a
 * zero-width character.
 */
#include "cli/manual/manual.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void
put_text(FILE *out, const char *text, size_t length)
{
    (void)fputs("\\&", out);
    for (size_t i = 0; i < length; i++) {
        (void)fputs(text[i] == '\\' ? "\\e" : text[i] == '-' ? "\\-" : text[i] == '\'' ? "\\(aq" : "", out);
        if (strchr("\\-'", text[i]) == NULL) {
            (void)putc(text[i], out);
        }
    }
    (void)putc('\n', out);
}

/* Paragraphs, and examples, which have two blanks before them: these are a section of their own at the end. */
static void
put_doc(FILE *out, const char *doc)
{
    bool is_example = false;

    for (size_t length; *doc != '\0'; doc += length + (doc[length] != '\0')) {
        bool indented = strncmp(doc, "  ", 2) == 0;
        bool heads = strncmp(doc, "Example:\n", 9) == 0 || strncmp(doc, "Examples:\n", 10) == 0;

        length = strcspn(doc, "\v\n");
        if (indented != is_example) {
            (void)fputs(indented ? ".RS 4\n.nf\n" : ".fi\n.RE\n", out);
        } else if (length > 0 && !indented) {
            (void)fputs(heads ? ".PP\n.B " : ".PP\n", out);
        }
        is_example = indented;
        if (length > 0) {
            put_text(out, doc + 2 * indented, length - 2 * indented);
        }
    }
    if (is_example) {
        (void)fputs(".fi\n.RE\n", out);
    }
}

static bool
any_shown(const struct gr_option *option)
{
    while (option != NULL && option->name != NULL && option->hidden) {
        option++;
    }
    return option != NULL && option->name != NULL;
}

static void
put_options(FILE *out, const struct gr_option *option)
{
    for (; option != NULL && option->name != NULL; option++) {
        char head[128];

        if (option->hidden) {
            continue;
        }
        (void)snprintf(head, sizeof head, "%c%c%s--%s%s%s%s%s", option->letter != 0 ? '-' : ' ',
                       option->letter != 0 ? option->letter : ' ', option->letter != 0 ? ", " : "", option->name,
                       option->optional ? "[" : "", option->value != NULL ? "=" : "",
                       option->value != NULL ? option->value : "", option->optional ? "]" : "");
        (void)fputs(".TP\n.B ", out);
        put_text(out, head + strspn(head, " "), strlen(head + strspn(head, " ")));
        put_text(out, option->help, strlen(option->help));
    }
}

/* A line for each form of its arguments. */
static void
put_synopsis(FILE *out, const struct command_row *row, const char *name)
{
    const struct command *command = row->command;
    const char *form = row->usage == NULL ? "" : row->usage;
    bool options = any_shown(command->options) || (command->access != NULL && any_shown(command->access->options));
    char line[256];

    do {
        size_t length = strcspn(form, "\n");

        (void)fputs(form == row->usage || row->usage == NULL ? ".B " : ".br\n.B ", out);
        put_text(out, name, strlen(name));
        (void)snprintf(line, sizeof line, "%s%s%.*s", options ? "[OPTION...]" : "", options && length > 0 ? " " : "",
                       (int)length, form);
        if (line[0] != '\0') {
            put_text(out, line, strlen(line));
        }
        form += length + (form[length] == '\n');
    } while (*form != '\0');
}

/* What a command of a command has of its own. */
static void
put_parts(FILE *out, const struct command_row *part, const char *before)
{
    bool any = false;
    char name[64];

    for (; part != NULL && part->name != NULL; part++) {
        if (part->doc == NULL) {
            continue;
        }
        if (!any) {
            (void)fputs(".SH COMMANDS\n", out);
        }
        any = true;
        (void)snprintf(name, sizeof name, "%s %s", before, part->name);
        (void)fputs(".SS ", out);
        put_text(out, name, strlen(name));
        put_synopsis(out, part, name);
        put_doc(out, part->doc);
        put_options(out, part->command->options);
        put_options(out, part->command->access == NULL ? NULL : part->command->access->options);
    }
}

static void
put_head(FILE *out, const char *name, const char *summary)
{
    (void)fputs(".TH ", out);
    for (const char *c = name; *c != '\0'; c++) {
        (void)putc(toupper((unsigned char)*c), out);
    }
    (void)fprintf(out, " 1 \"\" \"granary %s\" \"granary\"\n.SH NAME\n%s \\- ", granary_version(), name);
    put_text(out, summary, strlen(summary));
    (void)fputs(".SH SYNOPSIS\n", out);
}

static void
put_status(FILE *out)
{
    (void)fprintf(out, ".SH EXIT STATUS\n%s\n", &COMMAND_STATUS[strlen("Exit status: ")]);
}

static void
put_command(FILE *out, const struct command_row *row)
{
    const struct command *command = row->command;
    const struct gr_option *of_access = command->access == NULL ? NULL : command->access->options;
    char name[64];

    (void)snprintf(name, sizeof name, "granary-%s", row->name);
    put_head(out, name, row->summary);
    (void)snprintf(name, sizeof name, "granary %s", row->name);
    put_synopsis(out, row, name);
    (void)fputs(".SH DESCRIPTION\n", out);
    put_doc(out, row->doc);
    if (any_shown(command->options) || any_shown(of_access)) {
        (void)fputs(".SH OPTIONS\n", out);
        put_options(out, command->options);
        put_options(out, of_access);
    }
    put_parts(out, command->rows, name);
    if (!command->alone && command->which == NULL && command->program == NULL) {
        (void)fputs(".SH OPTIONS OF ALL COMMANDS\n", out);
        put_options(out, command_options);
    }
    put_status(out);
    (void)fputs(".SH SEE ALSO\n.BR granary (1)\n", out);
}

/* granary(1): which commands there are. */
static void
put_list(FILE *out, const struct command_row *rows)
{
    put_head(out, "granary", "tables and arrays in shared memory, and queries on them");
    (void)fputs(".B granary\n.I COMMAND\n[OPTION...] [ARGUMENT...]\n.SH DESCRIPTION\n"
                "Each command has a page of its own, which is named with it: the page of\n.B granary sql\nis\n"
                ".BR granary\\-sql (1).\n.SH COMMANDS\n",
                out);
    for (const struct command_row *row = rows; row->summary != NULL; row++) {
        (void)fputs(row->name == NULL ? ".SS " : ".TP\n", out);
        if (row->name != NULL) {
            (void)fprintf(out, ".BR granary\\-%s (1)\n", row->name);
        }
        put_text(out, row->summary, strlen(row->summary));
    }
    (void)fputs(".SH OPTIONS OF ALL COMMANDS\n", out);
    put_options(out, command_options);
    put_status(out);
    (void)fputs(".SH ENVIRONMENT\n.TP\n.B GRANARY_INSTANCE\nThe instance, where --instance is not given.\n"
                ".TP\n.B NO_COLOR\nNothing is printed in colours.\n"
                ".SH SEE ALSO\n.BR granary\\-store (8),\n.BR granary\\-sched (8),\n.BR granary\\-executor (8),\n"
                ".BR granary.conf (5),\n.BR granary\\-graph (5),\n.BR granary\\-formats (5),\n.BR granary.h (3)\n",
                out);
}

int
manual_print(const struct command_row *rows, const char *name)
{
    const struct command_row *row = name == NULL ? NULL : command_find(rows, name);

    if (name != NULL && row == NULL) {
        (void)fprintf(stderr, "granary: help: %s: no such command: `granary help` lists them\n", name);
        return 2;
    }
    if (row == NULL) {
        put_list(stdout, rows);
    } else {
        put_command(stdout, row);
    }
    return 0;
}

/* NULL: the list. */
static int
write_page(const struct command_row *rows, const struct command_row *row, const char *directory)
{
    char path[PATH_MAX];
    FILE *out;
    bool failed;

    (void)snprintf(path, sizeof path, "%s/granary%s%s.1", directory, row == NULL ? "" : "-",
                   row == NULL ? "" : row->name);
    out = fopen(path, "we");
    if (out == NULL) {
        return cli_fail(gr_fail(GRANARY_EIO, "%s: %s", path, strerror(errno)), "help");
    }
    if (row == NULL) {
        put_list(out, rows);
    } else {
        put_command(out, row);
    }
    failed = ferror(out) != 0;
    failed = fclose(out) != 0 || failed;
    return failed ? cli_fail(gr_fail(GRANARY_EIO, "%s cannot be written: %s", path, strerror(errno)), "help") : 0;
}

int
manual_write(const struct command_row *rows, const char *directory)
{
    int status = write_page(rows, NULL, directory);

    for (const struct command_row *row = rows; status == 0 && row->summary != NULL; row++) {
        if (row->name != NULL) {
            status = write_page(rows, row, directory);
        }
    }
    return status;
}
