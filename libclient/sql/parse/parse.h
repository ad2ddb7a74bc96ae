/* SQL text to a tree. libpg-query (PostgreSQL's own grammar) is in this folder alone. */
#ifndef SQL_PARSE_H
#define SQL_PARSE_H

#include "sql/statement.h"

/* Bytes of a statement, at most. */
#define SQL_TEXT_MAX ((size_t)4 << 20)

/* One of them; neither: the statement has failed. */
struct sql_tree {
    struct sql_select *select;
    struct sql_change *change;
};

/*
 * Parse q->text, which must be one statement. A file's name may stand in single quotes where a table is expected.
 * The statement's error has the position: EINVAL the grammar, or EUNSUPPORTED what granary does not do
 */
struct sql_tree sql_parse(struct sql_statement *q);

/* A SELECT that a statement has as a text, at a position of the statement: what is wrong with it is told there in a line,
 * behind `what`. NULL: the statement has failed */
struct sql_select *sql_parse_inner(struct sql_statement *q, const char *text, const char *what, int position);

#endif
