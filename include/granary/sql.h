/*
 * granary: SQL (libgranary): a SELECT as a graph, and statements that change tables. docs/sql.md tells what is
 * supported.
 *
 *     granary_graph *graph;
 *     granary_err err = granary_sql_graph(client, text, strlen(text), &graph);
 *     if (err == GRANARY_OK) {
 *         err = granary_graph_run(client, graph, NULL, GRANARY_FOREVER, key, NULL);
 *         granary_graph_destroy(graph);
 *     }
 *     ... granary_graph_result(client, key, GRANARY_SQL_TARGET, &result) ...
 */
#ifndef GRANARY_SQL_H
#define GRANARY_SQL_H

#include "granary/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The graph's only target. */
#define GRANARY_SQL_TARGET "result"

/*
 * Translate a SELECT into a graph, or what has rows like one: DESCRIBE, SUMMARIZE, SHOW TABLES. These ask an instance
 * for the types of columns, and PIVOT without a list for its values, by a graph that ends before this returns. It opens
 * the named files to read their columns' names; their paths are relative to the working directory. Tables are mutable
 * or sealed ones, or results of kept graphs, by their keys (KEY or "KEY/TARGET").
 *
 * client     whose session's tables may be named; NULL: only files, and NAME is NAME.arrow or NAME.csv
 * sql        UTF-8, up to 4 MiB, length bytes; a semicolon may end it
 * ret_graph  the caller's; to be given to granary_graph_run() or granary_graph_submit(), then destroyed
 * Errors     EINVAL, ENOENT, EUNSUPPORTED: the message begins with "line 1, column 8: " and ends with that line and a
 *            caret below it · EPERM, EIO of a file · EUNREACHABLE · ENOMEM. Wrong types show when the graph is checked
 * Threads    any number at a time
 */
GRANARY_API granary_err granary_sql_graph(granary_client *client, const char *sql, size_t length,
                                          granary_graph **ret_graph);

/*
 * Find the first statement of a text. A semicolon ends it that is in no quotes, dollar quotes, comment or bracket; the
 * last one may lack it. Where there are several, call this again with what is behind.
 *
 * sql, length  any bytes
 * ret_begin    where it begins, behind spaces and comments; may be NULL
 * ret_size     its bytes, without the semicolon; may be NULL
 * Returns      the bytes up to the end of the statement and its semicolon; 0: there is none
 */
GRANARY_API size_t granary_sql_split(const char *sql, size_t length, size_t *ret_begin, size_t *ret_size);

/*
 * Put values in the place of a statement's parameters: $1, $name, or ?, of which the first is $1. A value is a literal
 * of SQL: 5, -1.5, 'it''s', true, null, date '2024-02-29'. Other text is refused, so values cannot change what a
 * statement means.
 *
 * names    of the values, without the dollar: "1", "name"; NULL: they are "1", "2", ...
 * values   count of them; granary_sql_literal() makes one of a text
 * ret_sql  to be freed with free()
 * Errors   EINVAL a parameter without a value, or a value without a parameter or that is no literal: the message names
 *          it · ENOMEM
 */
GRANARY_API granary_err granary_sql_bind(const char *sql, size_t length, const char *const *names,
                                         const char *const *values, size_t count, char **ret_sql);

/* A text as a literal: in single quotes, with those in it doubled. To be freed with free(). Errors: EINVAL it is no
 * UTF-8, or has a NUL · ENOMEM */
GRANARY_API granary_err granary_sql_literal(const char *text, size_t length, char **ret_literal);

/* Whether a statement changes tables, and so is for granary_sql_execute(). A text that is no statement changes none. */
GRANARY_API bool granary_sql_changes(const char *sql, size_t length);

/* The outcome of a statement. */
typedef struct granary_sql_done {
    const char *command; /* as psql tells it: "INSERT"; static */
    int64_t rows;        /* inserted, deleted, updated, copied; -1: the statement is about none */
    int64_t time;        /* of the write; 0: there was none */
} granary_sql_done;

/*
 * Run a statement that changes tables or views. These are CREATE [OR REPLACE] TABLE (AS), INSERT, DELETE, UPDATE,
 * TRUNCATE, DROP TABLE, COPY, CALL seal('t'), CREATE VIEW and DROP VIEW. A statement is one write: all of it becomes
 * visible at one moment, or nothing. COPY ... TO writes a file in the same way.
 *
 * client      its session has the tables; a scheduler and executors are needed but for CREATE TABLE
 * timeout_ms  for graphs that the statement needs; GRANARY_FOREVER; not 0
 * ret_done    may be NULL
 * Errors      as granary_sql_graph(), granary_graph_run() and granary_mutable_append(); messages as granary_sql_error()
 *             words them
 * Threads     any number at a time. DELETE and UPDATE of one table take turns
 */
GRANARY_API granary_err granary_sql_execute(granary_client *client, const char *sql, size_t length, int timeout_ms,
                                            granary_sql_done *ret_done);

/*
 * Translate the thread's error message into the words of a statement. Call it when a graph of that statement has
 * failed. The message is then "line 1, column 8: ", the fault, and that line with a caret below it. A message that
 * names no node stays as it is.
 *
 * client, sql, length  as granary_sql_graph() had them
 * err                  what failed
 * Errors               err, whatever becomes of the message
 * Threads              any number at a time
 */
GRANARY_API granary_err granary_sql_error(granary_client *client, granary_err err, const char *sql, size_t length);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_sql_execute,
                (granary_client * client, const char *sql, size_t length, int timeout_ms, granary_sql_done *ret_done),
                (client, sql, length, timeout_ms, ret_done), granary_sql_done);

#ifdef __cplusplus
}
#endif
#endif
