/* The manual pages and the completion of `granary`, made from the table of commands. */
#ifndef CLI_MANUAL_MANUAL_H
#define CLI_MANUAL_MANUAL_H

#include "cli/command/command.h"

/*
 * The page of a command, as granary-NAME(1); NULL: of all, granary(1), which lists them.
 *
 * Returns the exit status; an error is printed.
 */
int manual_print(const struct command_row *rows, const char *name);
/* All of these pages, into a directory that is there. Returns the exit status; an error is printed. */
int manual_write(const struct command_row *rows, const char *directory);

/* The script that has a shell complete commands by complete_print(): "bash" or "zsh". The same return value. */
int complete_script(const char *shell);

/*
 * Print what the last word may become, each on a line: commands, their parts, options, values, and what an instance that
 * is up has. Lines ":files" and ":directories" stand for the shell's own.
 *
 * words  behind "granary"; the last one is begun, and may be empty
 */
void complete_print(const struct command_row *rows, int count, char **words);

#endif
