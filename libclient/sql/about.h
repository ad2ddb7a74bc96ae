/* Within the room: statements that tell of tables: DESCRIBE, SUMMARIZE, SHOW TABLES. Each is written as a SELECT. */
#ifndef SQL_ABOUT_H
#define SQL_ABOUT_H

#include "base/text/buf.h"
#include "granary/frame.h"
#include "granary/sql.h"

/*
 * The SELECT whose rows a statement asks for. Names and types of columns are asked for by a graph without rows, which ends before
 * this returns.
 *
 * ret_text  to be freed; NULL: the statement tells of nothing
 * Errors    EINVAL there is no client · as granary_sql_graph() and granary_graph_run() of the query that it is about
 */
granary_err sql_about(granary_client *client, const char *sql, size_t length, char **ret_text);

/* The SELECT that tells of a frame's columns: their names and dtypes; with a source, which FROM can name, a summary of that.
 * Errors: EUNSUPPORTED there are too many */
granary_err sql_about_columns(const granary_frame *frame, const char *source, struct gr_buf *out);

/* granary_sql_graph() of a statement whose columns are the same whatever data there are: others are refused. */
granary_err gr_sql_fixed_graph(granary_client *client, const char *sql, size_t length, granary_graph **ret_graph);

/* What FROM can name, as "KIND NAME" and a NUL each: table, sealed, kept, view. Errors: as granary_mutable_list() and
 * granary_info() */
granary_err gr_sql_tables(granary_client *client, struct gr_buf *out);

/* The columns of a table, as a frame without rows, to be destroyed. Errors: as granary_graph_run() */
granary_err gr_sql_columns(granary_client *client, const char *name, granary_frame **ret_frame);

/* Whether a statement is one of these. */
bool sql_is_about(const char *sql, size_t length);

#endif
