/*
 * Within the room: views. A view is a SELECT by name: an object of the store whose bytes are the text, behind a line with the
 * version of this format, and whose metadata is SQL_VIEW_MARK. The view's name is a name of the session, as a table's is. It is
 * translated anew in each statement that names it.
 */
#ifndef SQL_VIEW_H
#define SQL_VIEW_H

#include "base/text/buf.h"
#include "sql/block.h"
#include "sql/execute/execute.h"

#define SQL_VIEW_MARK    "granary.view"
#define SQL_VIEW_VERSION "granary view 1\n"
/* Views in views. */
#define SQL_VIEWS_MAX 64

/* A view that is being translated: it cannot be its own part. */
struct sql_open_view {
    const char *name;
    int depth;
    const struct sql_open_view *outer;
};

/* The view that FROM names, planned. NULL: there is none of that name, or the statement has failed. */
struct sql_with *sql_open_view(struct sql_statement *q, const struct sql_from *from);

/* The SELECT of a view, to be freed. Errors: ENOENT there is no view of that name · ECORRUPT, EUNSUPPORTED its text */
granary_err sql_view_text(granary_client *client, const char *name, char **ret_text);

/* Call add() for each view of the session, in the order of names. Errors: as granary_name_list() */
granary_err sql_view_each(granary_client *client, struct gr_buf *out,
                          void (*add)(const char *name, const char *kind, struct gr_buf *out));

granary_err execute_create_view(struct execution *e);
granary_err execute_drop_view(struct execution *e);

/* Everything in a tree stands at one place from now on: that of the view's name in the statement. */
void sql_place_select(struct sql_select *select, int position);

#endif
