/* SELECT to graphs for the tests of this folder, over small files of known columns. */
#ifndef GRANARY_TESTS_SQL_TRANSLATE_H
#define GRANARY_TESTS_SQL_TRANSLATE_H

#include "granary/types.h"

/* A group's fixtures: a folder with the files, which is the working directory; and its end. */
int tables_set_up(void **state);
int tables_tear_down(void **state);

/* The graph as JSON, to be freed; it has passed the check of graphs. NULL: *ret_err and the thread's message tell. */
char *translate(const char *sql, granary_err *ret_err);

#endif
