/* Inside sql: results of graphs, which FROM names as tables. */
#ifndef SQL_STORED_H
#define SQL_STORED_H

#include "sql/statement.h"

struct sql_stored {
    const char *key; /* of the graph */
    const char *target;
    bool is_frame;
    const char *state; /* of the graph */
    granary_id first;  /* its first chunk; zero: it has none */
    double rows;       /* 0: not known */
    struct sql_stored *next;
};

/*
 * The frame of that name: KEY, or KEY/TARGET where a graph has several. The scheduler is asked once for all tables of
 * the statement.
 *
 * Errors  ENOENT there is none · ESTATE its graph runs or did not succeed · ETYPE, EINVAL it has no frame, or several ·
 *         as granary_info()
 */
granary_err sql_find_stored(struct sql_statement *q, const char *name, const struct sql_stored **ret_stored);

#endif
