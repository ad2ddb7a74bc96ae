/* See first.h. */
#include "sql/select/first.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "sql/select/split.h"

#define TRANSACTIONS "each statement is a transaction by itself: all of it becomes visible at once, or nothing"
#define SETTINGS     "there are no settings in SQL: `granary sql --help` lists the options of a query"
#define PREPARED     "statements are not prepared: give values with --param, or granary_sql_bind()"

/* First words of what is refused, and why. */
static const struct {
    const char *word;
    const char *why;
} refused[] = {
    {"begin", TRANSACTIONS},
    {"start", TRANSACTIONS},
    {"commit", TRANSACTIONS},
    {"rollback", TRANSACTIONS},
    {"end", TRANSACTIONS},
    {"abort", TRANSACTIONS},
    {"savepoint", TRANSACTIONS},
    {"release", TRANSACTIONS},
    {"set", SETTINGS},
    {"reset", SETTINGS},
    {"pragma", SETTINGS},
    {"use", "a session is chosen with --session"},
    {"prepare", PREPARED},
    {"execute", PREPARED},
    {"deallocate", PREPARED},
    {"attach", "other databases are read as files: FROM 'trips.sqlite'"},
    {"detach", "no database is attached"},
    {"install", "there are no extensions"},
    {"vacuum", "there is nothing to vacuum"},
    {"analyze", "statistics are always up to date; EXPLAIN ANALYZE tells what a query took"},
};

/* EXPLAIN [(] [ANALYZE] [)] */
static enum sql_first
look_explain(const char *text, size_t size, size_t *at)
{
    size_t inner = *at;
    bool analyze = false;

    if (sql_take_word(text, size, &inner, "(")) {
        if (sql_take_word(text, size, &inner, "analyze") && sql_take_word(text, size, &inner, ")")) {
            *at = inner;
            analyze = true;
        }
    } else {
        analyze = sql_take_word(text, size, at, "analyze");
    }
    return analyze ? SQL_FIRST_ANALYZE : SQL_FIRST_EXPLAIN;
}

static bool
is_end(const char *text, size_t size, size_t at)
{
    (void)sql_take_word(text, size, &at, ";");
    return sql_skip_blank(text, size, at) == size;
}

/* SHOW TABLES, and SHOW t, which is DESCRIBE. */
static enum sql_first
look_show(const char *text, size_t size, size_t *at)
{
    size_t behind = *at;

    (void)sql_take_word(text, size, &behind, "all");
    if (sql_take_word(text, size, &behind, "tables") && is_end(text, size, behind)) {
        *at = behind;
        return SQL_FIRST_TABLES;
    }
    return SQL_FIRST_DESCRIBE;
}

static void
look_refused(const char *text, struct sql_first_look *look)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0] && look->kind == SQL_FIRST_OTHER; i++) {
        if (strlen(refused[i].word) == look->rest - look->begin &&
            strncasecmp(text + look->begin, refused[i].word, look->rest - look->begin) == 0) {
            look->kind = SQL_FIRST_REFUSED;
            look->refusal = refused[i].why;
        }
    }
}

struct sql_first_look
sql_first_look(const char *text, size_t size)
{
    struct sql_first_look look = {.begin = sql_skip_blank(text, size, 0)};
    size_t at = look.begin;

    look.rest = sql_word_end(text, size, look.begin);
    if (sql_take_word(text, size, &at, "explain")) {
        look.kind = look_explain(text, size, &at);
    } else if (sql_take_word(text, size, &at, "describe") || sql_take_word(text, size, &at, "desc")) {
        look.kind = SQL_FIRST_DESCRIBE;
    } else if (sql_take_word(text, size, &at, "summarize")) {
        look.kind = SQL_FIRST_SUMMARIZE;
    } else if (sql_take_word(text, size, &at, "show")) {
        look.kind = look_show(text, size, &at);
    } else if (sql_take_word(text, size, &at, "create")) {
        size_t behind = at;

        if (sql_take_word(text, size, &behind, "or") && sql_take_word(text, size, &behind, "replace")) {
            look.end = behind;
            if (sql_take_word(text, size, &behind, "temp") || sql_take_word(text, size, &behind, "temporary")) {
            }
            look.kind = sql_take_word(text, size, &behind, "table") ? SQL_FIRST_REPLACE : SQL_FIRST_OTHER;
        }
    } else {
        look_refused(text, &look);
        at = look.rest;
    }
    look.rest = at;
    return look;
}

char *
sql_without_words(const char *text, size_t size, const struct sql_first_look *look)
{
    char *copy = malloc(size + 1);

    if (copy == NULL) {
        (void)gr_fail(GRANARY_ENOMEM, "out of memory");
        return NULL;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    for (size_t i = look->begin; i < look->rest; i++) {
        copy[i] = copy[i] == '\n' ? '\n' : ' ';
    }
    return copy;
}

bool
sql_look_first(struct sql_statement *q, char *text)
{
    const struct sql_first_look look = sql_first_look(q->text, q->length);

    switch (look.kind) {
    case SQL_FIRST_REPLACE:
        memset(text + look.rest, ' ', look.end - look.rest);
        q->replaces = true;
        return true;
    case SQL_FIRST_REFUSED:
        return sql_fail(q, GRANARY_EUNSUPPORTED, (int)look.begin, "%.*s is not supported: %s",
                        (int)(look.rest - look.begin), q->text + look.begin, look.refusal);
    case SQL_FIRST_EXPLAIN:
    case SQL_FIRST_ANALYZE:
        return sql_fail(q, GRANARY_EUNSUPPORTED, (int)look.begin,
                        "EXPLAIN is for `granary sql`: the plan of a graph is told by granary_graph_explain()");
    case SQL_FIRST_DESCRIBE:
    case SQL_FIRST_SUMMARIZE:
    case SQL_FIRST_TABLES:
        return sql_fail(q, GRANARY_EUNSUPPORTED, (int)look.begin,
                        "the statement is no part of another one, and changes nothing: granary_sql_graph() is for it");
    case SQL_FIRST_OTHER:
        break;
    }
    return true;
}
