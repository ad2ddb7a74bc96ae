/* Values for a statement's parameters. */
#ifndef SQL_PARAMS_H
#define SQL_PARAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "granary/types.h"

/* Whether a text is one literal of SQL, and nothing else. */
bool sql_is_literal(const char *text);

/* granary_sql_bind(), of a statement among several: all_used: each value has a parameter in it. */
granary_err gr_sql_bind(const char *sql, size_t length, const char *const *names, const char *const *values,
                        size_t count, bool all_used, char **ret_sql);

#endif
