/*
 * A text of SQL byte by byte: what is code, and what is in quotes, in dollar quotes or in a comment; and where statements
 * end. It is fed as the text comes, and looks at each byte once, so a prompt may ask after every line.
 */
#ifndef SQL_SPLIT_H
#define SQL_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/buf.h"

enum sql_split_mode {
    SQL_SPLIT_CODE,
    SQL_SPLIT_STRING, /* '...' */
    SQL_SPLIT_STRING_END,
    SQL_SPLIT_NAME, /* "..." */
    SQL_SPLIT_TAG,  /* the begin of $tag$, perhaps */
    SQL_SPLIT_DOLLAR,
    SQL_SPLIT_LINE, /* a comment up to the end of the line */
    SQL_SPLIT_COMMENT,
};

#define SQL_SPLIT_TAG_MAX 64

/* Zero is the state before a text. */
struct sql_split {
    enum sql_split_mode mode;
    char before;                 /* the byte before, when that is code, or of a comment */
    bool in_word;                /* the byte before is of a word or a number */
    bool word_is_e;              /* ... which is E alone: a string behind it has backslashes */
    bool escapes;                /* of the string */
    bool escaped;                /* the byte before is a backslash of it */
    bool any;                    /* there is code beside spaces and comments */
    bool pending;                /* the byte before may begin a comment */
    int depth;                   /* of comments in comments */
    int brackets;                /* that are open */
    char tag[SQL_SPLIT_TAG_MAX]; /* with the dollars */
    size_t tag_size;
    size_t matched; /* bytes of the tag's second coming */
};

/* Take the next byte. Returns whether it is a semicolon that ends a statement. */
bool sql_split_take(struct sql_split *split, char byte);

/* The same of many. Returns how many were taken: up to and with the semicolon, or all; *ret_ended tells which. */
size_t sql_split_feed(struct sql_split *split, const char *text, size_t size, bool *ret_ended);

bool sql_is_word_byte(char byte);

/* Where the next word or sign begins, behind spaces and comments. */
size_t sql_skip_blank(const char *text, size_t size, size_t at);
/* Where the word that begins there ends. */
size_t sql_word_end(const char *text, size_t size, size_t at);
/* Take a word in letters of any case, or a sign, if it comes next: *at is behind it then. */
bool sql_take_word(const char *text, size_t size, size_t *at, const char *word);
/* A text in quotes, which are doubled in it. */
void sql_add_quoted(const char *text, size_t size, char quote, struct gr_buf *out);

#endif
