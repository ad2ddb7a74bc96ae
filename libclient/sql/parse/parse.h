/* SQL text to a tree. libpg-query (PostgreSQL's own grammar) is in this folder alone. */
#ifndef SQL_PARSE_H
#define SQL_PARSE_H

#include "sql/statement.h"

/* Bytes of a statement, at most. */
#define SQL_TEXT_MAX ((size_t)256 << 10)

/*
 * Parse q->text, which must be one SELECT. A file's name may stand in single quotes where a table is expected.
 * NULL: the statement's error, with the position: EINVAL the grammar, or EUNSUPPORTED what granary does not do
 */
struct sql_select *sql_parse(struct sql_statement *q);

#endif
