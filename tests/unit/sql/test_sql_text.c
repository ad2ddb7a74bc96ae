/* The text of statements: where they end, what their parameters become, and what their first words say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "granary/sql.h"
#include "sql/params.h"
#include "sql/select/first.h"
#include "sql/select/split.h"

/* The statements of a text, with a bar between them. */
static const char *
split(const char *text)
{
    static char out[1024];
    size_t length = strlen(text);
    size_t at = 0, taken, begin, size;

    out[0] = '\0';
    while ((taken = granary_sql_split(text + at, length - at, &begin, &size)) > 0) {
        (void)snprintf(out + strlen(out), sizeof out - strlen(out), "%s%.*s", at > 0 ? "|" : "", (int)size,
                       text + at + begin);
        at += taken;
        assert_true(at <= length);
    }
    return out;
}

static void
statements_end_at_semicolons(void **state)
{
    (void)state;
    assert_string_equal(split("select 1"), "select 1");
    assert_string_equal(split("select 1;"), "select 1");
    assert_string_equal(split(" select 1 ; select 2;;\n;select 3"), "select 1 |select 2|select 3");
    assert_string_equal(split(""), "");
    assert_string_equal(split(" ; -- nothing\n /* ; /* nested ; */ ; */ ;"), "");
    assert_string_equal(split("-- a;\nselect 1 -- b;\n; select 2"), "select 1 -- b;\n|select 2");
    assert_string_equal(split("select ';', \"a;b\", 'it''s;' ; 2"), "select ';', \"a;b\", 'it''s;' |2");
    assert_string_equal(split("select e'\\';' ; 2"), "select e'\\';' |2");
    assert_string_equal(split("select the'\\' ; 2"), "select the'\\' |2");
    assert_string_equal(split("select $$;$$ ; 2"), "select $$;$$ |2");
    assert_string_equal(split("select $a$;$b$;$$;$a$ ; 2"), "select $a$;$b$;$$;$a$ |2");
    assert_string_equal(split("select $1; $2"), "select $1|$2");
    assert_string_equal(split("select a$b;c$d;"), "select a$b|c$d");
    assert_string_equal(split("select (1; 2); 3"), "select (1; 2)|3");
    assert_string_equal(split("select 1) ; 3"), "select 1) |3");
    assert_string_equal(split("select 4 - 3 / 2 * 1; - ;"), "select 4 - 3 / 2 * 1|- ");
    assert_string_equal(split("select 'open ; 2"), "select 'open ; 2");
    assert_string_equal(split("select /* open ; 2"), "select /* open ; 2");
    assert_int_equal(granary_sql_split(NULL, 0, NULL, NULL), 0);
    assert_int_equal(granary_sql_split("a;b", 3, NULL, NULL), 2);
}

/* A text that comes in pieces of any size has the same statements. */
static void
pieces_make_no_difference(void **state)
{
    static const char text[] = "select '$$;', $x$ ; $x$ /* ; */ -- ;\n, e'\\';' ; select 2";
    bool ended;

    (void)state;
    for (size_t cut = 0; cut < sizeof text - 1; cut++) {
        struct sql_split splitter = {.mode = SQL_SPLIT_CODE};
        size_t at = sql_split_feed(&splitter, text, cut, &ended);

        if (!ended) {
            at += sql_split_feed(&splitter, text + at, sizeof text - 1 - at, &ended);
        }
        assert_true(ended);
        assert_int_equal(at, strstr(text, "; select 2") + 1 - text);
    }
}

/* What is bound; or the error. */
static const char *
bind(const char *text, const char *const *names, const char *const *values, size_t count)
{
    static char out[512];
    char *bound = NULL;

    if (granary_sql_bind(text, strlen(text), names, values, count, &bound) == GRANARY_OK) {
        (void)snprintf(out, sizeof out, "%s", bound);
    } else {
        (void)snprintf(out, sizeof out, "! %s", granary_error_message());
    }
    free(bound);
    return out;
}

static void
parameters_become_literals(void **state)
{
    const char *const values[] = {"5", "'it''s'", "-1.5e3"};
    const char *const names[] = {"a", "b", "a_2"};
    const char *const bad[] = {"5", "'a' or 1", "1"};

    (void)state;
    assert_string_equal(bind("select $1, $2, x-$3, $1", NULL, values, 3), "select  5 ,  'it''s' , x-(-1.5e3),  5 ");
    assert_string_equal(bind("select ?, ?, ?", NULL, values, 3), "select  5 ,  'it''s' , (-1.5e3)");
    assert_string_equal(bind("select $a, $b, $a_2", names, values, 3), "select  5 ,  'it''s' , (-1.5e3)");
    assert_string_equal(bind("select '$1 ?', \"$1\", $$ $1 $$, -- $1 ?\n x$1, $1", NULL, values, 1),
                        "select '$1 ?', \"$1\", $$ $1 $$, -- $1 ?\n x$1,  5 ");
    assert_non_null(strstr(bind("select $4", NULL, values, 3), "! parameter $4 has no value"));
    assert_non_null(strstr(bind("select $1", NULL, values, 2), "! 2 values are given, and the statement has no $2"));
    assert_non_null(strstr(bind("select $a", names, values, 2), "! a value is given for $b"));
    assert_non_null(strstr(bind("select $1, $2, $3", NULL, bad, 3), "! ''a' or 1' is no literal"));
    assert_non_null(strstr(bind("select ?", NULL, NULL, 0), "! parameter $1 has no value"));
}

static void
literals_are_told_from_others(void **state)
{
    static const char *const good[] = {"1",  "-1",  "+1.5", ".5",     "1.",   "1e9",  "1.5e-3",
                                       "''", "'a'", "''''", "'a''b'", "TRUE", "null", "date '2020-01-01'"};
    static const char *const bad[] = {"",    "a", "1 + 1", "'a",    "a'", "'a'b'",    "1;",         "--1",    ".", "1e",
                                      "'''", "-", "0x",    "now()", "1 ", "date now", "date ''b''", "'a' 'b'"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(sql_is_literal(good[i]) || !printf("%s\n", good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(sql_is_literal(bad[i]) && printf("%s\n", bad[i]));
    }
}

static void
texts_become_literals(void **state)
{
    char *literal = NULL;

    (void)state;
    assert_int_equal(granary_sql_literal("it's", 4, &literal), GRANARY_OK);
    assert_string_equal(literal, "'it''s'");
    assert_true(sql_is_literal(literal));
    free(literal);
    assert_int_equal(granary_sql_literal("a\0b", 3, &literal), GRANARY_EINVAL);
    assert_int_equal(granary_sql_literal("\xff", 1, &literal), GRANARY_EINVAL);
}

static enum sql_first
kind(const char *text)
{
    return sql_first_look(text, strlen(text)).kind;
}

static void
first_words_tell_the_kind(void **state)
{
    struct sql_first_look look;
    char *blank;

    (void)state;
    assert_int_equal(kind("select 1"), SQL_FIRST_OTHER);
    assert_int_equal(kind(""), SQL_FIRST_OTHER);
    assert_int_equal(kind("/* explain */ Explain select 1"), SQL_FIRST_EXPLAIN);
    assert_int_equal(kind("explain analyze select 1"), SQL_FIRST_ANALYZE);
    assert_int_equal(kind("explain (analyze) select 1"), SQL_FIRST_ANALYZE);
    assert_int_equal(kind("explain (select 1)"), SQL_FIRST_EXPLAIN);
    assert_int_equal(kind("explained"), SQL_FIRST_OTHER);
    assert_int_equal(kind("describe t"), SQL_FIRST_DESCRIBE);
    assert_int_equal(kind("show tables;"), SQL_FIRST_TABLES);
    assert_int_equal(kind("show all tables"), SQL_FIRST_TABLES);
    assert_int_equal(kind("show t"), SQL_FIRST_DESCRIBE);
    assert_int_equal(kind("summarize t"), SQL_FIRST_SUMMARIZE);
    assert_int_equal(kind("create or replace table t as select 1"), SQL_FIRST_REPLACE);
    assert_int_equal(kind("create or replace view t as select 1"), SQL_FIRST_OTHER);
    assert_int_equal(kind("create table t (a int)"), SQL_FIRST_OTHER);
    assert_int_equal(kind("BEGIN"), SQL_FIRST_REFUSED);
    assert_int_equal(kind("pragma x"), SQL_FIRST_REFUSED);
    look = sql_first_look(" explain\nanalyze select 1", 25);
    blank = sql_without_words(" explain\nanalyze select 1", 25, &look);
    assert_string_equal(blank, "        \n        select 1");
    free(blank);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_end_at_semicolons), cmocka_unit_test(pieces_make_no_difference),
        cmocka_unit_test(parameters_become_literals),   cmocka_unit_test(literals_are_told_from_others),
        cmocka_unit_test(texts_become_literals),        cmocka_unit_test(first_words_tell_the_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
