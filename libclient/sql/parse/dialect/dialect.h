/*
 * What people write beyond the grammar (DuckDB's words), as the grammar has it. The statement's tokens are a list, in which
 * rules replace, add, remove and move some; the list then is the text that is parsed. A map leads from places in that
 * text back to the statement, and notes say what a place means beyond what the grammar says of it.
 */
#ifndef SQL_PARSE_DIALECT_H
#define SQL_PARSE_DIALECT_H

#include "sql/parse/private.h"

/* A token of the statement, or what a rule has made. */
struct dialect_token {
    const char *text;
    int size;
    int at;    /* in the statement, also of what was made */
    int end;   /* there; -1: it was made */
    bool kept; /* its text is the statement's */
    bool removed;
    bool is_value;    /* a constant: no word */
    bool is_name;     /* a word */
    bool is_reserved; /* ... which is no name unless it is quoted */
    uint8_t note;     /* 0: none; else enum parse_noted + 1 */
    struct dialect_token *prev;
    struct dialect_token *next;
    struct dialect_token *pair; /* of a bracket: the other one; or NULL */
};

/* first and last are before and behind all tokens: empty texts. */
struct dialect {
    struct sql_statement *q;
    const char *text;
    struct dialect_token first;
    struct dialect_token last;
    bool changed;
    struct dialect_token *tokens; /* the statement's, in their order */
    size_t count;
    size_t made_bytes; /* of texts that were made, and blanks around them */
    size_t noted;
};

/* What the grammar parses: rewritten, or text itself. *ret_notes lie in the statement's memory. NULL: it has failed. */
char *dialect_rewrite(struct sql_statement *q, char *text, const struct parse_note **ret_notes, size_t *ret_note_count);

/* Numbers with underscores or in another base become decimal ones, in their place, and blanks beyond ASCII its own. false: a
 * number is too large. */
bool dialect_numbers(struct sql_statement *q, char *text);

/* ---- for rules ---- */

/* In letters of any case; no text in quotes is a word. NULL, as what is in front of all, is none. */
bool dialect_is(const struct dialect_token *token, const char *word);
/* words: the last is NULL */
bool dialect_is_one(const struct dialect_token *token, const char *const *words);
bool dialect_is_name(const struct dialect_token *token);
void dialect_note(struct dialect *d, struct dialect_token *token, enum parse_noted what);
void dialect_replace(struct dialect *d, struct dialect_token *token, const char *with);
void dialect_remove(struct dialect *d, struct dialect_token *token);
/* A new token before another one, which points to where `at` is. NULL: out of memory. */
struct dialect_token *
dialect_add(struct dialect *d, struct dialect_token *before, const char *text, const struct dialect_token *at);
/* A new token for each text, of which the last is NULL. */
void dialect_add_all(struct dialect *d, struct dialect_token *before, const char *const *texts,
                     const struct dialect_token *at);
/* Two brackets, one before each of two tokens: the one that opens. NULL: out of memory. */
struct dialect_token *dialect_add_brackets(struct dialect *d, struct dialect_token *from, struct dialect_token *behind,
                                           const struct dialect_token *at);
/* Where the table of FROM begins that a token stands behind; joined: with what it is joined to. NULL: none does. */
struct dialect_token *dialect_source_begin(struct dialect_token *token, bool joined);
/* Tokens from..to, with what they hold, to before another one that is none of them. */
void
dialect_move(struct dialect *d, struct dialect_token *from, struct dialect_token *to, struct dialect_token *before);
/* The next token that is in no bracket behind this one; a bracket that closes what the token is in, or the last. */
struct dialect_token *dialect_after(struct dialect_token *token);
/* The first of words from there on, outside of brackets; else the bracket that closes, or the last one. */
struct dialect_token *dialect_find(struct dialect_token *from, const char *const *words);
/* The first of words back from a token, outside of brackets. NULL: none stands before it in its query. */
const struct dialect_token *dialect_find_before(const struct dialect_token *token, const char *const *words);
/* Where the clause or list ends that the token is in: at the next clause, or where dialect_is_end() is true. */
struct dialect_token *dialect_clause_end(struct dialect_token *token);
/* Whether nothing more of this query or list follows: a bracket that closes, `;` or the end. */
bool dialect_is_end(const struct dialect_token *token);

/* Whether the token begins a clause of SELECT, or another SELECT of a set operation. */
bool dialect_is_clause(const struct dialect_token *token);
/* Whether a query may begin where a token stands. */
bool dialect_begins_query(const struct dialect_token *token);
/* Whether a token is the alias of the table that stands before it. */
bool dialect_is_alias(const struct dialect_token *token);

/* ---- rules ---- */

typedef void dialect_rule(struct dialect *d, struct dialect_token *token);

/* dialect_query.c */
dialect_rule dialect_set, dialect_from, dialect_comma, dialect_all, dialect_qualify, dialect_colon, dialect_values,
    dialect_subquery, dialect_about;
/* dialect_chain.c */
dialect_rule dialect_dot, dialect_in;
bool dialect_step(struct dialect *d, struct dialect_token *open);
/* dialect_pivot.c */
dialect_rule dialect_pivot, dialect_unpivot;
/* dialect_lambda.c */
dialect_rule dialect_lambda, dialect_columns;
bool dialect_comprehension(struct dialect *d, struct dialect_token *open);
/* dialect_sample.c */
dialect_rule dialect_tablesample, dialect_using_sample, dialect_using;
/* dialect_words.c */
dialect_rule dialect_value_name, dialect_quotient, dialect_power, dialect_equal, dialect_place, dialect_try,
    dialect_join, dialect_semi, dialect_other_join, dialect_list, dialect_interval, dialect_nulls, dialect_order,
    dialect_star, dialect_as, dialect_percent, dialect_filter, dialect_decimal, dialect_not_null;

#endif
