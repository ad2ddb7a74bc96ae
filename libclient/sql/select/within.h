/* Window functions that order the rows of their frame themselves: rank(ORDER BY x) OVER (... ROWS 3 PRECEDING). */
#ifndef SQL_WITHIN_H
#define SQL_WITHIN_H

#include "sql/statement.h"

/* Texts of columns: of the row, and lists of those in its frame. */
struct sql_within {
    const char *rank; /* of the row in its partition, where equals are equal */
    const char *ranks;
    const char *place; /* ... where none are */
    const char *places;
    const char *value; /* lists of what the function is of; NULL: of nothing */
    const char *other; /* lag, lead: the default; NULL: null */
    long long n;       /* lag, lead, nth_value, ntile */
};

/* The function's value as a text. NULL: the statement has failed, or there is no such function. */
const char *sql_within_text(struct sql_statement *q, const char *function, const struct sql_within *within);

#endif
