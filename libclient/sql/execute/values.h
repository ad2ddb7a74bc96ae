/* Within the room: VALUES of an INSERT. */
#ifndef SQL_VALUES_H
#define SQL_VALUES_H

#include "sql/block.h"

/* A value in the dtype of a column; errors point at position. NULL: the statement has failed. */
struct sql_expr *
sql_cast_to(struct sql_statement *q, struct sql_expr *value, const granary_column *column, int position);

/* If an INSERT has VALUES, each value gets the dtype of its column. false: the statement has failed. */
bool sql_cast_values(struct sql_statement *q, const struct sql_change *change, const granary_frame *schema);

#endif
