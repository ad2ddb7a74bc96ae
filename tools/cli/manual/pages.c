/*
 * Roff as man(7) describes it: a line that begins with a dot is a request, so each line of text begins with a
 * zero-width character.
 */
#include "manual.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- the manual page ---- */

static void
put_text(const char *text, size_t length)
{
    (void)fputs("\\&", stdout);
    for (size_t i = 0; i < length; i++) {
        (void)fputs(text[i] == '\\' ? "\\e" : text[i] == '-' ? "\\-" : text[i] == '\'' ? "\\(aq" : "", stdout);
        if (strchr("\\-'", text[i]) == NULL) {
            (void)putchar(text[i]);
        }
    }
    (void)putchar('\n');
}

/* Paragraphs, and examples, which have two blanks before them. */
static void
put_doc(const char *doc)
{
    bool is_example = false;

    for (size_t length; *doc != '\0'; doc += length + (doc[length] != '\0')) {
        bool indented = strncmp(doc, "  ", 2) == 0;

        length = strcspn(doc, "\v\n");
        if (indented != is_example) {
            (void)puts(indented ? ".RS\n.nf" : ".fi\n.RE");
        } else if (length > 0 && !indented) {
            (void)puts(".PP");
        }
        is_example = indented;
        if (length > 0) {
            put_text(doc + 2 * indented, length - 2 * indented);
        }
    }
    if (is_example) {
        (void)puts(".fi\n.RE");
    }
}

static void
put_options(const struct gr_option *option)
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
        (void)puts(".TP");
        put_text(head + strspn(head, " "), strlen(head + strspn(head, " ")));
        put_text(option->help, strlen(option->help));
    }
}

/* A line of the synopsis for each form of its arguments, its words, its options; then those of its parts. */
static void
put_command(const struct command_row *row, const char *before)
{
    const struct command *command = row->command;
    const char *form = row->usage == NULL ? "" : row->usage;
    char name[64];
    char line[256];

    (void)snprintf(name, sizeof name, "%s %s", before, row->name);
    do {
        size_t length = strcspn(form, "\n");

        (void)snprintf(line, sizeof line, "%s%s%s%.*s", name, command->options != NULL ? " [OPTION...]" : "",
                       length > 0 ? " " : "", (int)length, form);
        (void)printf("%s", form == row->usage || row->usage == NULL ? ".SS " : ".br\n");
        put_text(line, strlen(line));
        form += length + (form[length] == '\n');
    } while (*form != '\0');
    put_doc(row->doc);
    put_options(command->options);
    put_options(command->access == NULL ? NULL : command->access->options);
    for (const struct command_row *part = command->rows; part != NULL && part->name != NULL; part++) {
        if (part->doc != NULL) {
            put_command(part, name);
        }
    }
}

void
manual_print(const struct command_row *rows)
{
    (void)printf(".TH GRANARY 1 \"\" \"granary %s\" \"granary\"\n"
                 ".SH NAME\ngranary \\- tables and arrays in shared memory, and queries on them\n"
                 ".SH SYNOPSIS\n.B granary\n.I COMMAND\n[OPTION...] [ARGUMENT...]\n"
                 ".SH OPTIONS OF ALL COMMANDS\n",
                 granary_version());
    put_options(command_options);
    for (const struct command_row *row = rows; row->summary != NULL; row++) {
        if (row->name == NULL) {
            (void)fputs(".SH ", stdout);
            for (const char *c = row->summary; *c != '\0'; c++) {
                (void)putchar(toupper((unsigned char)*c));
            }
            (void)putchar('\n');
        } else {
            put_command(row, "granary");
        }
    }
    (void)puts(".SH EXIT STATUS\n" COMMAND_STATUS);
}

/* ---- completion ---- */

static void
put_words(const struct gr_option *option)
{
    for (; option != NULL && option->name != NULL; option++) {
        if (!option->hidden) {
            (void)printf(" --%s%s", option->name, option->value != NULL && !option->optional ? "=" : "");
        }
    }
}

/* What may follow a command. */
static void
put_case(const struct command_row *row, const char *before)
{
    const struct command *command = row->command;

    (void)printf("    '%s%s') words='--help", before, row->name);
    put_words(command->options);
    put_words(command->access == NULL ? NULL : command->access->options);
    put_words(command->alone || command->which != NULL ? NULL : command_options);
    for (const struct command_row *part = command->rows; part != NULL && part->name != NULL; part++) {
        (void)printf("%s%s", part->doc != NULL ? " " : "", part->doc != NULL ? part->name : "");
    }
    (void)puts("' ;;");
    for (const struct command_row *part = command->rows; part != NULL && part->name != NULL; part++) {
        char name[64];

        (void)snprintf(name, sizeof name, "%s ", row->name);
        if (part->doc != NULL) {
            put_case(part, name);
        }
    }
}

void
completion_print(const struct command_row *rows)
{
    (void)fputs("# bash completion of granary: commands, then their options, then files\n"
                "_granary() {\n"
                "    local cur=${COMP_WORDS[COMP_CWORD]} at=${COMP_WORDS[1]} words=\n"
                "    [ \"$cur\" = = ] && return\n"
                "    case $at in bench | torture) [ \"$COMP_CWORD\" -gt 2 ] && at=\"$at ${COMP_WORDS[2]}\" ;; esac\n"
                "    [ \"$COMP_CWORD\" = 1 ] && at=\n"
                "    case $at in\n"
                "    '') words='help",
                stdout);
    for (const struct command_row *row = rows; row->summary != NULL; row++) {
        (void)printf("%s%s", row->name != NULL ? " " : "", row->name != NULL ? row->name : "");
    }
    (void)puts("' ;;");
    for (const struct command_row *row = rows; row->summary != NULL; row++) {
        if (row->name != NULL) {
            put_case(row, "");
        }
    }
    (void)puts("    esac\n"
               "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
               "    [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace\n"
               "}\n"
               "complete -o default -F _granary granary");
}
