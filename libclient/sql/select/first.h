/*
 * Within the room and for the prompt: what a statement is by its first words, where PostgreSQL's grammar does not have it or
 * means something else.
 */
#ifndef SQL_FIRST_H
#define SQL_FIRST_H

#include "sql/statement.h"

enum sql_first {
    SQL_FIRST_OTHER, /* the grammar is asked */
    SQL_FIRST_EXPLAIN,
    SQL_FIRST_ANALYZE, /* EXPLAIN ANALYZE */
    SQL_FIRST_DESCRIBE,
    SQL_FIRST_SUMMARIZE,
    SQL_FIRST_TABLES,  /* SHOW TABLES */
    SQL_FIRST_REPLACE, /* CREATE OR REPLACE TABLE */
    SQL_FIRST_REFUSED,
};

struct sql_first_look {
    enum sql_first kind;
    size_t begin; /* of its first word */
    size_t rest;  /* what follows the words; of REPLACE: OR */
    size_t end;   /* of REPLACE: behind REPLACE */
    const char *refusal;
};

struct sql_first_look sql_first_look(const char *text, size_t size);

/* A copy to be freed in which the words are spaces, so that places stay. NULL: out of memory. */
char *sql_without_words(const char *text, size_t size, const struct sql_first_look *look);

/* Before the grammar: refuse what it would not name, and blank what it does not know in `text`, which is q's. */
bool sql_look_first(struct sql_statement *q, char *text);

#endif
