/*
 * Within the room: what a statement must know of the data before it is translated: the values of which PIVOT makes columns. A
 * translation that lacks them fails, and leaves a graph of that question. The graph is run, and the statement is
 * translated again, with the answer. Whoever translates without an instance has no `struct sql_asking`, and PIVOT tells
 * how to do without.
 */
#ifndef SQL_QUESTION_H
#define SQL_QUESTION_H

#include "granary/frame.h"
#include "sql/rel.h"

struct sql_result;

/* Columns that PIVOT makes, at most. */
#define SQL_PIVOT_MAX 10000

struct sql_answer {
    int position; /* of what asks: in the text that was parsed, and which of several there */
    size_t place;
    bool sorted;   /* as texts; else in the order of the rows */
    char **values; /* each once */
    size_t count;
    bool is_columns;        /* it is of the columns of a query: */
    granary_frame *columns; /* a frame without rows */
};

/* Of one statement, through its translations. */
struct sql_asking {
    struct sql_answer *answers;
    size_t count;
    bool pending; /* the graph of the last translation is a question: `asked`, which has no values yet */
    struct sql_answer asked;
};

/* NULL: it was not asked yet. */
const struct sql_answer *sql_find_answer(const struct sql_statement *q, int position, size_t place);

/* Ask for the values of a relation's column, a text, which are not null. what: its place, and how
 * they are sorted; errors are told at `position`. Returns false: the translation ends here. */
bool
sql_ask(struct sql_statement *q, struct sql_rel rel, const char *column, const struct sql_answer *what, int position);

/* Ask for the columns of a query, and their dtypes. what: its place. Returns false: the translation ends here. */
bool sql_ask_columns(struct sql_statement *q, struct sql_result *result, const struct sql_answer *what, int position);

/* Whether the translation has ended in a question. */
bool sql_asks(const struct sql_statement *q);

/* Run its graph, and keep the answer: the statement is to be translated again. Errors: as granary_graph_run() */
granary_err sql_answer(const struct sql_statement *q);

/* What a graph of a key gave, as one frame, to be destroyed, and the same with plain columns, which goes with it. */
granary_err
sql_read_result(granary_client *client, const char *key, granary_frame **ret_frame, const granary_frame **ret_plain);

void sql_asking_free(struct sql_asking *asking);

#endif
