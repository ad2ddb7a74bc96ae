/* Within the room: the names that a star stands for, as COLUMNS('pattern') and * LIKE say. */
#ifndef SQL_STAR_NAMES_H
#define SQL_STAR_NAMES_H

#include <locale.h>
#include <regex.h>

#include "sql/block.h"

#define SQL_GROUPS_MAX 10 /* of a pattern: \0 to \9 in an alias */

/* A pattern that is compiled; the thread has the C locale until it is closed. */
struct sql_matcher {
    regex_t regex;
    bool compiled;
    locale_t locale;
    locale_t before;
};

/* It is closed whatever comes of it. false: the statement has failed. */
bool sql_open_matcher(struct sql_statement *q, const struct sql_expr *star, struct sql_matcher *m);
void sql_close_matcher(struct sql_matcher *m);
/* Whether the star stands for the name; if the pattern is compiled, with the parts that its groups have matched. */
bool
sql_matches(const struct sql_star *star, struct sql_matcher *m, const char *name, regmatch_t parts[SQL_GROUPS_MAX]);

#endif
