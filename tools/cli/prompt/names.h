/* Names of the session's tables and columns, asked for in a process of its own: a prompt needs no connection. */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include "cli/prompt/shell.h"

/* Append what FROM can name, "KIND NAME" and a NUL each. An instance that is not there has none. */
void names_of_tables(struct shell *shell, struct gr_buf *out);
/* Append the names of a table's columns, with a NUL each; none when it is no table, or does not answer soon. */
void names_of_columns(struct shell *shell, const char *table, struct gr_buf *out);

/* .tables and .schema. Return the exit status. */
int names_print_tables(struct shell *shell, const char *pattern);
int names_print_schema(struct shell *shell, const char *table);

#endif
