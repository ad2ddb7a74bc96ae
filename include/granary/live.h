/*
 * granary: live queries (libgranary): the result of a SELECT over tables that change, again and again as they grow.
 *
 *     granary_live_open(client, text, strlen(text), &live);
 *     while (granary_live_next(live, GRANARY_FOREVER, &step) == GRANARY_OK) {
 *         ... granary_graph_result(client, step.key, GRANARY_SQL_TARGET, &result) ...
 *     }
 *     granary_live_close(live);
 *
 * Where the statement allows it, only rows that came since the last result are read. docs/live.md tells when.
 */
#ifndef GRANARY_LIVE_H
#define GRANARY_LIVE_H

#include <stdbool.h>

#include "granary/sql.h"

#ifdef __cplusplus
extern "C" {
#endif

/* To be used by one thread at a time. */
typedef struct granary_live granary_live;

typedef enum granary_live_how {
    GRANARY_LIVE_WHOLE = 1,  /* each result is computed from all rows */
    GRANARY_LIVE_GROUPS = 2, /* new rows are added to the groups that are known */
    GRANARY_LIVE_ROWS = 3,   /* each result has the rows that are new, and the first one all */
} granary_live_how;

/*
 * Begin. Nothing is computed yet.
 *
 * sql       a SELECT: UTF-8, length bytes
 * ret_live  to be closed with granary_live_close(), before the client
 * Errors    EINVAL none of its tables changes · ETYPE one of them is a tensor · as granary_sql_graph()
 */
GRANARY_API granary_err granary_live_open(granary_client *client, const char *sql, size_t length,
                                          granary_live **ret_live);

/* How results are made, until a table is sealed. */
GRANARY_API granary_live_how granary_live_kind(const granary_live *live);

typedef struct granary_live_step {
    int64_t time;       /* the cut that the result is of: granary_mutable_read_frame() at it sees the same rows */
    uint64_t rows_read; /* of tables that change */
    bool added; /* GRANARY_LIVE_ROWS: rows that come to those of earlier results; else it stands for all of them */
    bool anew;  /* all rows were read: the first one, of GRANARY_LIVE_WHOLE, or behind deletes and changed values */
    char key[GRANARY_KEY_MAX]; /* of a graph whose target GRANARY_SQL_TARGET is the result, until the next call */
} granary_live_step;

/*
 * The next result: the first one at once, and each later one when something has been written. It has all that was
 * written since the last one: a slow caller gets fewer results.
 *
 * timeout_ms  for something to be written; 0; GRANARY_FOREVER
 * Errors      ETIMEDOUT · ESEALED the tables do not change any more, and the last result was of their end · ENOENT,
 *             ESTATE a table was deleted · as granary_sql_graph() and granary_graph_run(). After another error than
 *             ETIMEDOUT the next call reads all rows
 */
GRANARY_API granary_err granary_live_next(granary_live *live, int timeout_ms, granary_live_step *ret_step);

/* NULL is fine. */
GRANARY_API void granary_live_close(granary_live *live);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_live_next, (granary_live * live, int timeout_ms, granary_live_step *ret_step),
                (live, timeout_ms, ret_step), granary_live_step);

#ifdef __cplusplus
}
#endif
#endif
