/* Values for a statement's parameters. */
#ifndef SQL_PARAMS_H
#define SQL_PARAMS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a text is one literal of SQL, and nothing else. */
bool sql_is_literal(const char *text);

#endif
