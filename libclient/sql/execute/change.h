/* Within the room: statements that change tables, as graphs. execute.c runs them. */
#ifndef SQL_CHANGE_H
#define SQL_CHANGE_H

#include "sql/block.h"

/* Columns of the rows that a DELETE or UPDATE is about: their positions from 1, then what is set. */
#define SQL_CHANGE_ROW   "row"
#define SQL_CHANGE_VALUE "value%zu"

/* The graph's target: the columns of a result. names: NULL: those that SELECT gives them, made different where they are
 * not. */
bool sql_add_target(struct sql_statement *q, const struct sql_result *result, const char *const *names);

/*
 * The graph of a change, with the target GRANARY_SQL_TARGET:
 *
 *   CREATE TABLE AS  the rows
 *   INSERT           what append_to tells
 *   DELETE, UPDATE   the rows that are meant, as the table is
 *   COPY TO          how many rows the file has, which is another target
 *
 * schema  the table's columns; not of CREATE
 */
bool sql_change_plan(struct sql_statement *q, const struct sql_change *change, const granary_frame *schema);

#endif
