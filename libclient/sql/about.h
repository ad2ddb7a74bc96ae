/* Within the room: statements that tell of tables: DESCRIBE, SUMMARIZE, SHOW TABLES. Each is written as a SELECT. */
#ifndef SQL_ABOUT_H
#define SQL_ABOUT_H

#include "granary/sql.h"

/*
 * The SELECT whose rows a statement asks for. Names and types of columns are asked for by a graph without rows, which ends before
 * this returns.
 *
 * ret_text  to be freed; NULL: the statement tells of nothing
 * Errors    EINVAL there is no client · as granary_sql_graph() and granary_graph_run() of the query that it is about
 */
granary_err sql_about(granary_client *client, const char *sql, size_t length, char **ret_text);

/* Whether a statement is one of these. */
bool sql_is_about(const char *sql, size_t length);

#endif
