/*
 * Within the room: what the graph's columns and expressions are in the statement. It is written down while a statement
 * is translated once more, to put an error of its graph into the statement's words (told.c).
 */
#ifndef SQL_TOLD_H
#define SQL_TOLD_H

#include "base/text/buf.h"
#include "graph/expr.h"
#include "sql/statement.h"

struct sql_told {
    const char *inner; /* a column of a frame; or an expression, as graphs print it */
    const char *outer; /* what SQL calls the column, or the function that makes it; or NULL */
    int position;      /* of what makes it, in the statement; -1: nothing does */
};

/* A value of VALUES. */
struct sql_told_value {
    int position;
    size_t row; /* from 0 */
    const char *column;
};

struct sql_telling {
    struct gr_buf told;   /* struct sql_told */
    struct gr_buf spans;  /* of the expression being written: which bytes stand for what of the statement */
    struct gr_buf values; /* struct sql_told_value */
    struct gr_buf notes;  /* lines: what was odd about the files of the tables that are named */
};

/* Each does nothing where nobody will ask. */
void sql_tell(struct sql_statement *q, const char *inner, const char *outer, int position);
/* The value at position is for a column of that row. */
void sql_tell_value(struct sql_statement *q, int position, size_t row, const char *column);
/* Bytes [from, to) of an expression's text stand for the SQL at position. The inner ones come first. */
void sql_tell_span(struct sql_statement *q, size_t from, size_t to, int position);
/* The expression is written: its parts are told by the spans, which are gone then. */
void sql_tell_expr(struct sql_statement *q, const char *text, const struct gr_expr *expr);

#endif
