/*
 * forget: what a statement that changes tables leaves when its client is killed: graphs that go on, and a table that is
 * not complete.
 */
#ifndef SQL_FORGET_H
#define SQL_FORGET_H

#include "granary/sql.h"

/*
 * granary_sql_execute() under a label that the caller chose.
 *
 * label  nobody else's: 32 hex digits of a random id
 */
granary_err gr_sql_execute(granary_client *client, const char *sql, size_t length, int timeout_ms, const char *label,
                           granary_sql_done *ret_done);

/*
 * Stop what a statement of that label has left, and take it back. What it has changed stays, as a whole or not at all. The
 * statement's client has died: it sends nothing any more.
 *
 * Errors  EUNREACHABLE there is no scheduler, or no store; the others' part is done
 */
granary_err gr_sql_forget(granary_client *client, const char *label);

/* Stop a graph and delete it; one that is not there is fine. So often, because a request may be on its way. Errors: EUNREACHABLE */
granary_err sql_forget_graph(granary_client *client, const char *key);
#define SQL_FORGET_PASSES 2

/* A table loses this name, and goes when it has no other one. Errors: as granary_mutable_delete() */
granary_err sql_forget_name(granary_client *client, const char *name);

/* The same of the table alone, which is complete when another name is bound to it. Errors: as granary_mutable_delete() */
granary_err sql_forget_table(granary_client *client, const char *label);

/* Names of what is made under a label: its graph has the label itself. */
#define SQL_LABEL_MAX  48
#define SQL_LABEL_FILL "%s-fill" /* graph that fills the new table */
#define SQL_LABEL_NEW  "%s-new"  /* table until it is complete */
#define SQL_LABEL_OLD  "%s-old"  /* table whose place that takes */

#endif
