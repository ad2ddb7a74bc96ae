/* The manual page and the completion of `granary`, made from the table of commands. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "cli/command/command.h"

/* All commands, as granary(1). */
void manual_print(const struct command_row *rows);
/* A script for bash that completes commands and their options. */
void completion_print(const struct command_row *rows);

#endif
