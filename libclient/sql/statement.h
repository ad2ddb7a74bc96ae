/* Within the room: one statement being translated: its memory, its graph, and the first error. */
#ifndef SQL_STATEMENT_H
#define SQL_STATEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory/region.h"
#include "granary/granary.h"
#include "sql/ast.h"

/* How deep expressions and subqueries may nest: what walks them recurses at most that deep. */
#define SQL_NESTING 2200

struct sql_shared;    /* a window that others may join (rel.c) */
struct sql_telling;   /* what the graph's columns and expressions are in the statement (told.h) */
struct sql_table;     /* a file or stored table that was named (table.c) */
struct sql_open_view; /* a view that is being translated (view.h) */
struct sql_asking;    /* what must be known of the data before (question.h) */

/* WITH queries in reach, the innermost first. */
struct sql_names {
    struct sql_with *with;
    size_t count;
    const struct sql_names *outer;
};

/* Names that columns of frames have: a hash table. */
struct sql_taken {
    const char **names;
    size_t count;
    size_t room;
    unsigned fresh; /* made by sql_fresh() */
};

struct sql_statement {
    const char *text;
    size_t length;
    granary_client *client;   /* NULL: no stored tables */
    struct gr_region *region; /* everything below */
    granary_graph *graph;
    granary_err err;    /* the first one */
    char message[1024]; /* its message, whatever fails because of it */
    unsigned nodes;     /* for their names */
    int depth;          /* of queries in queries */
    const struct sql_names *names;
    struct sql_telling *telling;  /* or NULL */
    const struct sql_from *named; /* the last table that FROM names */
    struct sql_stored *stored;    /* what the scheduler told of those (stored.c) */
    bool asked;                   /* ... and it was asked */
    struct sql_table *tables;
    struct sql_asking *asking;         /* or NULL: nobody answers */
    const struct sql_open_view *views; /* the innermost one */
    bool replaces;                     /* it says CREATE OR REPLACE TABLE */
    bool left_out;                     /* files of them were not opened, so that columns may lack which these have */
    bool no_column;                    /* a name means no column */
    bool all_files; /* all are opened: a translation before has left some out, and there was no column of a name */
    struct sql_taken taken;
    struct sql_shared *shared;     /* the last window that was added (rel.c), or NULL */
    const struct sql_moved *moved; /* by place: where the text that was parsed stands in the statement; or NULL */
    size_t moved_count;
};

/* From a place in the text that was parsed, up to the next one's (parse/dialect.h). */
struct sql_moved {
    int parsed;
    int given;
    bool fixed; /* all of it stands for what is there; else byte by byte */
};

/* A position in the text that was parsed, in the statement; and the other way round. */
int sql_given_position(const struct sql_statement *q, int parsed);
int sql_parsed_position(const struct sql_statement *q, int given);

/*
 * Keep the first error: "line 2, column 7: MESSAGE", the line and a caret below it. position is in bytes from 0; -1:
 * of the whole statement. Returns false or NULL, as a failing function does.
 */
bool sql_fail(struct sql_statement *q, granary_err err, int position, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Whether it has failed for a column that a file may have which was not opened: with `all_files`, it may succeed. */
bool sql_lacks_files(const struct sql_statement *q);

/* Put "LINE:COLUMN" of a position into text; "1:1" when it is not known. Returns text. */
const char *sql_place(const struct sql_statement *q, int position, char text[24]);

/* Zeroed memory of the statement. NULL: out of memory, which is the statement's error then. */
void *sql_alloc(struct sql_statement *q, size_t count, size_t size);
#define SQL_NEW(q, type)          ((type *)sql_alloc((q), 1, sizeof(type)))
#define SQL_ARRAY(q, type, count) ((type *)sql_alloc((q), (count), sizeof(type)))

/* A text as a literal: in single quotes, those within doubled. NULL as above. */
const char *sql_literal(struct sql_statement *q, const char *text);

/* A string of the statement. NULL as above. */
char *sql_printf(struct sql_statement *q, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
