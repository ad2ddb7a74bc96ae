/* SELECT to graphs, without running them: deep and long statements, mixed up ones, small stacks, threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/text/buf.h"
#include "granary/sql.h"
#include "translate.h"

/* Brackets, minus signs, queries and chains as deep as they go: refused, or translated. */
static void
depth_has_an_end(void **state)
{
    static const struct {
        const char *open;
        const char *middle;
        const char *close;
    } shapes[] = {
        {"(", "x", ")"},
        {"- ", "x", ""},
        {"not ", "true", ""},
        {"x + ", "x", ""},
        {"x + (", "x", ")"},
        {"case when true then ", "x", " end"},
        {"(select max(y) from b where y > ", "1", ")"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int depth = 10; depth <= 4000; depth *= 20) {
            struct gr_buf sql = {0};
            granary_err err;

            gr_buf_addf(&sql, "select ");
            for (int n = 0; n < depth; n++) {
                gr_buf_addf(&sql, "%s", shapes[i].open);
            }
            gr_buf_addf(&sql, "%s", shapes[i].middle);
            for (int n = 0; n < depth; n++) {
                gr_buf_addf(&sql, "%s", shapes[i].close);
            }
            gr_buf_addf(&sql, " from a");
            free(translate(sql.bytes, &err));
            assert_true(err == GRANARY_OK || err == GRANARY_EINVAL || err == GRANARY_EUNSUPPORTED);
            gr_buf_free(&sql);
        }
    }
}

/* A thousand of each are no depth that is refused. */
static void
a_thousand_levels_are_translated(void **state)
{
    static const char *const shapes[][3] = {{"(", "x", ")"},
                                            {"x + (", "x", ")"},
                                            {"x + ", "x", ""},
                                            {"abs(", "x", ")"},
                                            {"cast(", "x", " as bigint)"},
                                            {"(select ", "1", ")"},
                                            {"x from (select ", "x from a", ") q"}};

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct gr_buf sql = {0};
        granary_err err;

        gr_buf_addf(&sql, "select ");
        for (int n = 0; n < 1000; n++) {
            gr_buf_addf(&sql, "%s", shapes[i][0]);
        }
        gr_buf_addf(&sql, "%s", shapes[i][1]);
        for (int n = 0; n < 1000; n++) {
            gr_buf_addf(&sql, "%s", shapes[i][2]);
        }
        gr_buf_addf(&sql, "%s", strstr(shapes[i][0], "from (") == NULL ? " from a" : "");
        free(translate(sql.bytes, &err));
        if (err != GRANARY_OK) {
            print_error("%s: %.300s\n", shapes[i][0], granary_error_message());
            fail();
        }
        gr_buf_free(&sql);
    }
}

static const char *const short_ones[][3] = {{"+ ", "1", ""},
                                            {"(", "1", ")"},
                                            {"(select ", "1", ")"},
                                            {"not ", "true", ""},
                                            {"1+(", "1", ")"},
                                            {"f(", "1", ")"},
                                            {"case 1 when ", "1", " then 1 end"}};

/* As deep as 256 bytes nest. */
static void *
parse_short_ones(void *parsed)
{
    for (size_t i = 0; i < sizeof short_ones / sizeof short_ones[0]; i++) {
        const size_t level = strlen(short_ones[i][0]) + strlen(short_ones[i][2]);
        struct gr_buf sql = {0};

        gr_buf_addf(&sql, "select ");
        for (size_t n = 0; n < 240 / level; n++) {
            gr_buf_addf(&sql, "%s", short_ones[i][0]);
        }
        gr_buf_addf(&sql, "%s", short_ones[i][1]);
        for (size_t n = 0; n < 240 / level; n++) {
            gr_buf_addf(&sql, "%s", short_ones[i][2]);
        }
        *(size_t *)parsed += sql.size <= 256 && !granary_sql_changes(sql.bytes, sql.size);
        gr_buf_free(&sql);
    }
    return NULL;
}

/* A short statement is parsed on its caller's stack, which may be small. */
static void
short_statements_need_little_stack(void **state)
{
    pthread_attr_t attributes;
    pthread_t thread;
    size_t parsed = 0;

    (void)state;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)1 << 20), 0);
    assert_int_equal(pthread_create(&thread, &attributes, parse_short_ones, &parsed), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_attr_destroy(&attributes), 0);
    assert_int_equal(parsed, sizeof short_ones / sizeof short_ones[0]);
}

/* ---- queries with words of other queries in them ---- */

struct words {
    char *text;
    char *list[4096];
    size_t count;
};

static void
read_words(int number, struct words *words)
{
    char path[4096];
    size_t size = 0;
    char *rest = NULL;

    (void)snprintf(path, sizeof path, "%s/tools/bench/tpch/q%02d.sql", getenv("GRANARY_SOURCE"), number);
    assert_int_equal(gr_file_read(path, 1 << 20, &words->text, &size), GRANARY_OK);
    for (char *word = strtok_r(words->text, " \n", &rest); word != NULL; word = strtok_r(NULL, " \n", &rest)) {
        words->list[words->count++] = word;
    }
}

static unsigned
dice(unsigned *state, size_t faces)
{
    *state = *state * 1664525 + 1013904223;
    return (unsigned)((*state >> 8) % faces);
}

static void
mixed_up_queries_are_translated_or_refused(void **state)
{
    static struct words queries[22];
    unsigned seed = 1;
    unsigned translated = 0;

    (void)state;
    for (int i = 0; i < 22; i++) {
        read_words(i + 1, &queries[i]);
    }
    for (int turn = 0; turn < 1000; turn++) {
        const struct words *query = &queries[dice(&seed, 22)];
        const struct words *other = &queries[dice(&seed, 22)];
        unsigned changes = 1 + dice(&seed, 3);
        struct gr_buf sql = {0};
        granary_err err;
        unsigned at[4];

        for (unsigned c = 0; c < changes; c++) {
            at[c] = dice(&seed, query->count);
        }
        for (unsigned w = 0; w < query->count; w++) {
            const char *word = query->list[w];

            for (unsigned c = 0; c < changes; c++) {
                if (at[c] == w) {
                    unsigned kind = dice(&seed, 3);

                    word = kind == 0 ? "" : kind == 1 ? other->list[dice(&seed, other->count)] : query->list[w / 2];
                }
            }
            gr_buf_addf(&sql, "%s ", word);
        }
        free(translate(sql.bytes, &err));
        if (err != GRANARY_OK && err != GRANARY_EINVAL && err != GRANARY_ENOENT && err != GRANARY_EUNSUPPORTED) {
            print_error("%s\n%s\n", sql.bytes, granary_error_message());
            fail();
        }
        translated += err == GRANARY_OK;
        gr_buf_free(&sql);
    }
    assert_in_range(translated, 25, 950); /* both happen */
    for (int i = 0; i < 22; i++) {
        free(queries[i].text);
    }
}

static void *
translate_often(void *wrong)
{
    for (int turn = 0; turn < 50; turn++) {
        bool bad = turn % 2 == 1;
        const char *sql = bad ? "select wrong from a" : "select name, sum(x) from a join b using (id) group by a.name";
        granary_graph *graph = NULL;
        granary_err err = granary_sql_graph(NULL, sql, strlen(sql), &graph);

        if (err != (bad ? GRANARY_ENOENT : GRANARY_EINVAL) ||
            strstr(granary_error_message(), "line 1, column 8") == NULL) {
            *(int *)wrong = 1;
        }
        granary_graph_destroy(graph);
    }
    return NULL;
}

/* Before, items from 0 to below count with what stands between them, and behind: translated, and of which error. */
static granary_err
translate_many(const char *before, const char *item, const char *between, int count, const char *behind)
{
    struct gr_buf out = {0};
    granary_err err;

    gr_buf_addf(&out, "%s", before);
    for (int i = 0; i < count; i++) {
        gr_buf_addf(&out, "%s%s%d", i == 0 ? "" : between, item, i);
    }
    gr_buf_addf(&out, "%s", behind);
    assert_true(gr_buf_ok(&out));
    free(translate(out.bytes, &err));
    gr_buf_free(&out);
    return err;
}

static void
long_statements_are_translated_or_refused(void **state)
{
    const size_t large = (size_t)1 << 20;
    char *text = malloc(4 * large + 64);
    granary_err err;

    (void)state;
    assert_int_equal(translate_many("select id from a where x in (", "", ", ", 100000, ")"), GRANARY_OK);
    assert_int_equal(translate_many("select id from a where x not in (", "-", ", ", 10000, ")"), GRANARY_OK);
    assert_int_equal(translate_many("select id from a where name in ('", "k", "', '", 10000, "')"), GRANARY_OK);
    assert_int_equal(translate_many("select ", "x + 1 as c", ", ", 3000, " from a"), GRANARY_OK);
    assert_int_equal(translate_many("select id from a where ", "x <> ", " and ", 2000, ""), GRANARY_OK);
    assert_int_equal(translate_many("select id from a where ", "x = ", " or ", 5000, ""), GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "OR has 5000 terms"));
    assert_int_equal(translate_many("select x + 1 as c0, ", "c0 + c0 + c", " as d, ", 2000, " as e from a"),
                     GRANARY_ENOENT);
    assert_int_equal(translate_many("values (", "", "), (", 500, ")"), GRANARY_OK);
    assert_non_null(text);
    memset(text, 'x', 4 * large + 64);
    memcpy(text, "select '", 8);
    memcpy(text + large, "' as a", 7);
    free(translate(text, &err));
    assert_int_equal(err, GRANARY_OK);
    memset(text, ' ', 4 * large + 64);
    memcpy(text, "select 1", 8);
    text[4 * large + 1] = '\0';
    free(translate(text, &err));
    assert_int_equal(err, GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), "the statement has 4194305 bytes; it can have 4194304"));
    text[4 * large] = '\0';
    free(translate(text, &err));
    assert_int_equal(err, GRANARY_OK);
    free(text);
}

/* Each alias stands twice in the next one: written out, the last one would have 2^60 parts. */
static void
aliases_of_aliases_have_an_end(void **state)
{
    struct gr_buf out = {0};
    granary_err err;

    (void)state;
    gr_buf_addf(&out, "select x as c0");
    for (int i = 1; i < 60; i++) {
        gr_buf_addf(&out, ", c%d + c%d as c%d", i - 1, i - 1, i);
    }
    gr_buf_addf(&out, " from a");
    assert_true(gr_buf_ok(&out));
    free(translate(out.bytes, &err));
    gr_buf_free(&out);
    assert_int_equal(err, GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "with aliases written out this has more than 4096"));
}

static void
threads_translate_at_the_same_time(void **state)
{
    pthread_t threads[4];
    int wrong[4] = {0};

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, translate_often, &wrong[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(wrong[i], 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depth_has_an_end),
        cmocka_unit_test(a_thousand_levels_are_translated),
        cmocka_unit_test(short_statements_need_little_stack),
        cmocka_unit_test(mixed_up_queries_are_translated_or_refused),
        cmocka_unit_test(long_statements_are_translated_or_refused),
        cmocka_unit_test(aliases_of_aliases_have_an_end),
        cmocka_unit_test(threads_translate_at_the_same_time),
    };

    return cmocka_run_group_tests(tests, tables_set_up, tables_tear_down);
}
