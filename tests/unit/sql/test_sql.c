/* SELECT to graphs, without running them: what becomes of clauses, and what is refused, where and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "granary/types.h"
#include "translate.h"

/* Every text stands in the graph. */
static void
must_have(const char *sql, const char *const *texts, size_t count)
{
    granary_err err;
    char *json = translate(sql, &err);

    if (err != GRANARY_OK) {
        print_error("%s\n%s\n", sql, granary_error_message());
        fail();
    }
    for (size_t i = 0; i < count; i++) {
        if (strstr(json, texts[i]) == NULL) {
            print_error("%s\nlacks %s:\n%s\n", sql, texts[i], json);
            fail();
        }
    }
    free(json);
}
#define MUST_HAVE(sql, ...)                                                                                            \
    must_have((sql), (const char *const[]){__VA_ARGS__},                                                               \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void
clauses_become_operators(void **state)
{
    (void)state;
    MUST_HAVE("select x from 'a.csv'", "\"op\": \"read_csv\"", "\"path\": \"a.csv\"", "\"x\"");
    MUST_HAVE("select x from 'it''s ''a''.csv'", "\"path\": \"it's 'a'.csv\"");
    MUST_HAVE("SELECT id, x + 1 AS more FROM a WHERE x > 2 AND name LIKE 'o%'", "(`x` >^ 2)", "(`name` like 'o%')",
              "(`x` + 1)", "\"more\"");
    /* Numbers with a point are exact, and integers that are larger than int64; fractions of quantiles are no values. */
    MUST_HAVE("select x * (1 - .05) from a where x in (1.5, 2, -0.25)", "(`x` * (1 - 0.05^))",
              "in (1.5^, 2, (-0.25^))");
    MUST_HAVE("select sign(x), floor(x), ceil(x), ceiling(x), trunc(x, 1), round(x, 1) from a", "sign^(`x`)",
              "floor^(`x`)", "ceil^(`x`)", "trunc^(`x`, 1)", "round^(`x`, 1)");
    MUST_HAVE("select 1.5e3, 9223372036854775808, 5000000000, '1.5' from a", "\"1.5e3\"", "\"9223372036854775808^\"",
              "\"5000000000\"", "\"'1.5'\"");
    MUST_HAVE("select percentile_cont(0.9) within group (order by x) from a", "quantile(`x`, 0.9)");
    MUST_HAVE("select name, sum(x * 2) s from a group by 1 having count(*) > 1 order by s desc limit 3", "sum(`value#",
              "count(`value#", "\"size\"", "then null else", "\"descending\"", "\"rows\"");
    MUST_HAVE("select a.id, b.y from a join b on a.id = b.id", "\"how\": \"inner\"", "\"id#");
    MUST_HAVE("select * from a left join b using (id)", "\"how\": \"left\"", "\"op\": \"rename\"", "\"name_1\"");
    MUST_HAVE("select * from a right join b on a.id = b.id and a.x > 3", "\"how\": \"left\"", "(`x` >^ 3)");
    MUST_HAVE("select * from a full join b on a.id = b.id and a.x > b.y", "\"how\": \"outer\"", "\"where\"");
    MUST_HAVE("select * from a, b", "\"how\": \"cross\"");
    MUST_HAVE("select id from a where exists (select * from b where b.id = a.id and b.y <> a.x)", "\"how\": \"semi\"",
              "(`y` !=^ `x`)");
    /* A product is made of what is left of its sides. */
    MUST_HAVE("select a.x from a join b on a.x < b.y where exists (select * from b c where c.id = a.id)",
              "\"how\": \"semi\"\n    },\n    \"join 6\": {", "\"how\": \"cross\"");
    MUST_HAVE("select a.x from a, b where a.x in (select id from b c where c.y = b.y)", "\"how\": \"cross\"");
    MUST_HAVE("select id from a where id not in (select id from b)", "\"how\": \"anti\"", "\"null_aware\": true");
    MUST_HAVE("select id from a where x > (select avg(y) from b)", "\"how\": \"cross\"", "mean(`y`)");
    MUST_HAVE("select id from a where x > (select 2 * avg(y) from b where b.id = a.id)", "\"how\": \"left\"");
    MUST_HAVE("select id from a where x = 1 or exists (select 1 from b where b.id = a.id)", "match#", "is not null");
    MUST_HAVE("with c(n) as (select name from a) select * from c x, c y where x.n = y.n", "\"n_1\"");
    MUST_HAVE("select distinct name from a order by name", "\"op\": \"groupby\"", "\"dropna\": false");
    MUST_HAVE("select id from a union all select id from b order by 1", "\"op\": \"concat\"");
    MUST_HAVE("select id from a except select id from b", "min(`side#", "`last#");
    MUST_HAVE("select case x when 1 then 'a' else name end from a", "case when (`x` = 1) then 'a' else `name` end");
    MUST_HAVE("select extract(year from day), substring(name from 1 for 2), x::double precision, coalesce(x, 0) from a",
              "year(`day`)", "substring^(`name`, 1, 2)", "cast(`x` as float64)", "coalesce(`x`, 0)");
    MUST_HAVE("select * from a where day < date '2020-01-01' + interval '3' month",
              "(date '2020-01-01' + interval '3 month')");
    MUST_HAVE("select id from a where name is distinct from 'x' and (x > 1) is not true", "is null");
    MUST_HAVE("select row_number() over (partition by name order by x desc) from a", "row_number()", "\"partition\"",
              "\"descending\"");
    MUST_HAVE("select x y, id x from a", "\"y\": \"`x`\"", "\"x\": \"`id`\"");
    MUST_HAVE("select \"a \"\"b\"\"\", \"Ä\", \"`c`\" from odd.csv", "```c```");
}

static void
or_gives_what_its_branches_share(void **state)
{
    (void)state;
    MUST_HAVE("select 1 from a, b where (a.id = b.id and x = 1 and y = 2) or (a.id = b.id and x = 3 and y = 4)",
              "\"how\": \"inner\"", "((`x` = 1) or (`x` = 3))", "((`y` = 2) or (`y` = 4))");
}

/* A side that is much larger is first reduced to what the other one asks for. */
static void
subqueries_are_reduced(void **state)
{
    FILE *file = fopen("large.csv", "w");

    (void)state;
    assert_non_null(file);
    assert_true(fputs("id,z\n", file) >= 0);
    for (int i = 0; i < 10000; i++) {
        assert_true(fputs("1,2\n", file) >= 0);
    }
    assert_int_equal(fclose(file), 0);
    MUST_HAVE("select x from a where exists (select * from 'large.csv' b where b.id = a.id)", "\"how\": \"semi\"",
              "\"join 5 at");
    MUST_HAVE("select x from a where not exists (select * from 'large.csv' b where b.id = a.id)", "\"how\": \"anti\"",
              "\"how\": \"semi\"");
    MUST_HAVE("select x from a where x > (select sum(z) from 'large.csv' b where b.id = a.id)", "\"how\": \"left\"",
              "\"how\": \"semi\"");
    assert_int_equal(unlink("large.csv"), 0);
}

static void
the_queries_of_tpch_are_translated(void **state)
{
    (void)state;
    for (int number = 1; number <= 22; number++) {
        char path[4096];
        char *text = NULL;
        size_t size = 0;
        granary_err err;

        (void)snprintf(path, sizeof path, "%s/tools/bench/tpch/q%02d.sql", getenv("GRANARY_SOURCE"), number);
        assert_int_equal(gr_file_read(path, 1 << 20, &text, &size), GRANARY_OK);
        free(translate(text, &err));
        if (err != GRANARY_OK) {
            print_error("q%02d: %s\n", number, granary_error_message());
            fail();
        }
        free(text);
    }
}

static void
what_is_wrong_is_told_with_its_place(void **state)
{
    static const struct {
        const char *sql;
        granary_err err;
        const char *says;
    } cases[] = {
        {"", GRANARY_EINVAL, "there is no statement"},
        {"select summ(x) from a", GRANARY_EINVAL, "no function 'summ'; did you mean 'sum'?"},
        {"select * from '/proc/sys/vm'", GRANARY_ENOENT,
         "line 1, column 15: /proc/sys/vm: the folder has no file whose ending tells its format"},
        {"select * from '/dev/null'", GRANARY_EINVAL, "/dev/null: nothing came"},
        {"select * from '/nowhere/at.all'", GRANARY_ENOENT, "/nowhere/at.all: No such file"},
        {"select x from a; select 1", GRANARY_EINVAL, "one statement at a time"},
        {"delete from a", GRANARY_EUNSUPPORTED, "the statement is no SELECT"},
        {"comment on table a is null", GRANARY_EUNSUPPORTED, "only SELECT"},
        {"vacuum a", GRANARY_EUNSUPPORTED, "line 1, column 1: vacuum is not supported"},
        {"selec x from a", GRANARY_EINVAL, "line 1, column 1: syntax error at or near \"selec\""},
        {"select nam from a", GRANARY_ENOENT,
         "line 1, column 8: no column 'nam'; did you mean 'name'?\n  select nam from a\n         ^"},
        {"select x\nfrom a\nwhere 'ä' = wrong", GRANARY_ENOENT,
         "line 3, column 13: no column 'wrong'\n  where 'ä' = wrong\n              ^"},
        {"select id from a, b", GRANARY_EINVAL, "line 1, column 8: more than one table has a column 'id'"},
        {"select c.id from a", GRANARY_ENOENT, "no table in FROM is called 'c'"},
        {"select other.a.x from a", GRANARY_ENOENT, "no table in FROM is called 'other.a'"},
        {"select * from query(name)", GRANARY_EINVAL, "query() takes a SELECT as a text"},
        {"select * from query('select nope(')", GRANARY_EINVAL, "line 1, column 15: query(): "},
        {"select * from query('drop table a')", GRANARY_EUNSUPPORTED, "query(): it is no SELECT"},
        {"select key from json_each(name, 1, 2) from a", GRANARY_EINVAL, "syntax error"},
        {"select * from json_each('{}') as e(a, b, c, d, e, f, g, h, i)", GRANARY_EINVAL, "'e' has 8 columns"},
        {"select json_transform(name, '{\"a\":\"INTEGER\"}') from a", GRANARY_EUNSUPPORTED, "there are no structs"},
        {"select json_transform(name, '\"int) , (1\"') from a", GRANARY_EINVAL, "json_transform: "},
        {"select json_transform(name, '[\"INTEGER[]\"]') from a", GRANARY_EUNSUPPORTED, "there are no lists of lists"},
        {"select json_transform(name, name) from a", GRANARY_EUNSUPPORTED, "takes a type as written"},
        {"select * from nowhere", GRANARY_ENOENT, "line 1, column 15: no table 'nowhere'"},
        {"select * from 'nowhere.csv'", GRANARY_ENOENT, "nowhere.csv: No such file"},
        {"select a.id from a, a", GRANARY_EINVAL, "two tables in FROM are called 'a'"},
        {"select sum(sum(x)) from a", GRANARY_EINVAL, "an aggregate of an aggregate"},
        {"select name, sum(x) from a", GRANARY_EINVAL, "column 'name' differs within a group"},
        {"select name from a where sum(x) > 1", GRANARY_EINVAL, "put the condition into HAVING"},
        {"select x from a order by 3", GRANARY_EINVAL, "position 3: SELECT lists 1 value"},
        {"select x from a limit -1", GRANARY_EINVAL, "LIMIT needs a whole number"},
        {"select x from a limit x", GRANARY_EINVAL, "line 1, column 23: LIMIT needs a whole number"},
        {"select x from a limit 1 + x", GRANARY_EINVAL, "LIMIT needs a whole number"},
        {"select x from a limit 1 / 0", GRANARY_EINVAL, "LIMIT needs a whole number"},
        {"select x from a limit 1e300", GRANARY_EINVAL, "LIMIT needs a whole number"},
        {"select x from a limit 'x'", GRANARY_EINVAL, "LIMIT needs a whole number"},
        {"select x from a limit 2 - 3", GRANARY_EINVAL, "LIMIT needs a whole number"},
        {"select x from a limit 1 offset (select 1) + x", GRANARY_EINVAL, "OFFSET needs a whole number"},
        {"select x from a limit 101%", GRANARY_EINVAL, "line 1, column 23: LIMIT takes 0 to 100 percent"},
        {"select x from a limit (1 - 2) percent", GRANARY_EINVAL, "LIMIT takes 0 to 100 percent"},
        {"select x from a fetch first 2 rows with ties", GRANARY_EINVAL,
         "WITH TIES cannot be specified without ORDER BY"},
        {"select distinct x from a order by id", GRANARY_EINVAL, "ORDER BY takes what SELECT lists"},
        {"select frobnicate(x) from a", GRANARY_EINVAL, "frobnicate"},
        {"select x from a where x in (select id, y from b)", GRANARY_EINVAL, "1 value is compared with 2 columns"},
        {"select (select id, y from b) from a", GRANARY_EINVAL, "has one column, not 2"},
        {"select x from a where (id, x) = (select id from b)", GRANARY_EINVAL, "is compared with 2 values"},
        {"select x from a where (id, x) < (1, 2, 3)", GRANARY_EINVAL, "a row of 3 values is compared with one of 2"},
        {"select x from a where (id, x) < 3", GRANARY_EUNSUPPORTED, "a comparison of a row with anything but a row"},
        {"select x from a where x like any (select name from b)", GRANARY_EUNSUPPORTED, "another operator than"},
        {"select * from a full join b on exists (select 1 from region where r_regionkey = a.id + b.id)",
         GRANARY_EUNSUPPORTED, "names columns of both sides"},
        {"select (select 1 from b full join region on r_regionkey = a.id) from a", GRANARY_EUNSUPPORTED,
         "RIGHT or FULL JOIN with a condition on columns of the query around"},
        {"select 1 from a where (select max(a.x) from b) > 1", GRANARY_EUNSUPPORTED,
         "is an aggregate of that query's rows"},
        {"select (select count(*) from b where b.y = a.x group by grouping sets ((), (), (name))) from a",
         GRANARY_EUNSUPPORTED, "write UNION ALL"},
        {"select 1 from a where (select max(y) from b where y > sum(a.x)) > 1", GRANARY_EINVAL,
         "put the condition into HAVING"},
        {"select id from a union select id, y from b", GRANARY_EINVAL, "one side lists 1 values, the other 2"},
        {"select id from a where row_number() over () = 1", GRANARY_EINVAL, "put the condition into QUALIFY"},
        /* What was written in another order is shown where it was written. */
        {"from a select nam", GRANARY_ENOENT, "line 1, column 15: no column 'nam'"},
        {"from a where nam = 1", GRANARY_ENOENT, "line 1, column 14: no column 'nam'"},
        {"from nowhere", GRANARY_ENOENT, "line 1, column 6: no table 'nowhere'"},
        {"select id,\n  more: nam, from (from a)", GRANARY_ENOENT, "line 2, column 9: no column 'nam'"},
        {"select id from a qualify nam = row_number() over ()", GRANARY_ENOENT, "line 1, column 26: no column 'nam'"},
        {"pivot a on name using sum(x)", GRANARY_EUNSUPPORTED, "line 1, column 12: which values become columns"},
        {"pivot a on name in (x) using sum(x)", GRANARY_EUNSUPPORTED, "a value of PIVOT must be a number"},
        {"pivot a on name in ('a') using x", GRANARY_EINVAL, "line 1, column 32: PIVOT takes aggregates"},
        {"pivot a on name in kinds using sum(x)", GRANARY_EUNSUPPORTED, "the values of an ENUM are not known"},
        {"select * from a pivot (sum(x) for (id, name) in ((1)))", GRANARY_EINVAL, "of 2 values side by side"},
        {"select * from a unpivot (v for n in ())", GRANARY_EINVAL, "UNPIVOT needs a column at least"},
        {"unpivot a on x into n", GRANARY_EINVAL, "line 1, column 1: UNPIVOT is written"},
        {"select id from a qualify id = 1", GRANARY_EINVAL, "line 1, column 29: QUALIFY is about window functions"},
        {"select x + 1 as y, y.z from a", GRANARY_ENOENT, "line 1, column 20: no table in FROM is called 'y'"},
        {"select later as x2, id as later from a", GRANARY_ENOENT, "line 1, column 8: no column 'later'"},
        {"select sum(x) as s from a where s > 1", GRANARY_EINVAL, "line 1, column 35: an aggregate in WHERE"},
        {"select * from (select 1 as p), (select 2 as p) where p > 0", GRANARY_EINVAL,
         "more than one table has a column 'p'"},
        {"select x, 1 from a group by all, x", GRANARY_EINVAL, "line 1, column 32: syntax error"},
        {"select x + sum(x) from a group by all", GRANARY_EINVAL, "column 'x' differs within a group"},
        {"select x,, id from a", GRANARY_EINVAL, "line 1, column 10: syntax error"},
        {"with recursive c as (select 1 as x union all select x from c order by x) select * from c",
         GRANARY_EUNSUPPORTED, "ORDER BY of all rounds"},
        {"with recursive c as (select x from c) select * from c", GRANARY_EINVAL, "names itself here"},
        {"select sum(x) over (groups 1 preceding) from a", GRANARY_EINVAL, "GROUPS needs ORDER BY"},
        {"select sum(x) over (order by id, x range 1 preceding) from a", GRANARY_EINVAL,
         "needs one column in its window's"},
        {"select max(x ignore nulls) over () from a", GRANARY_EUNSUPPORTED,
         "IGNORE NULLS and RESPECT NULLS are for lag"},
        {"select nth_value(x, 2) from last over (order by id) from a", GRANARY_EINVAL, "syntax error"},
        {"select 1 from a group by cube (a, b, c, d, e, f, g)", GRANARY_EUNSUPPORTED, "CUBE of so many"},
        {"values (1), (2, 3)", GRANARY_EINVAL, "VALUES: row 2 has 2 values, the first one 1"},
        {"select *", GRANARY_EINVAL, "SELECT * needs FROM"},
        {"select * from generate(1)", GRANARY_EUNSUPPORTED, "anything but generate_series(...) and range(...)"},
        {"select cast(x as int[][]) from a", GRANARY_EUNSUPPORTED, "there are no lists of lists"},
        {"select unnest(list_value(unnest([x]))) from a", GRANARY_EUNSUPPORTED, "unnest"},
        {"select * from range(1, 'x')", GRANARY_EINVAL, "a series needs whole numbers"},
        {"select * from range(1, 5, 0)", GRANARY_EINVAL, "steps of 0"},
        {"select nth_value(x) over () from a", GRANARY_EUNSUPPORTED, "'nth_value' takes a value and a number"},
        {"select cast(x as inet) from a", GRANARY_EUNSUPPORTED, "type 'inet' is not supported"},
        {"select name from a where name = \"Qwertz\"", GRANARY_ENOENT,
         "no column 'Qwertz': text stands in single quotes"},
        {"select name, nope_agg(name, ',') from a group by 1", GRANARY_EINVAL, "no function 'nope_agg'"},
        {"select string_agg(name, name) from a", GRANARY_EUNSUPPORTED, "must be a text of no column"},
        {"select string_agg(distinct name, ',' order by id) from a", GRANARY_EINVAL, "can only name the value itself"},
        {"select kurtosis_pop(distinct x) from a", GRANARY_EUNSUPPORTED, "DISTINCT in 'kurtosis_pop' is not supported"},
        {"select sum(x order by nope) from a", GRANARY_ENOENT, "no column 'nope'"},
        {"select list(x order by nope) from a", GRANARY_ENOENT, "no column 'nope'"},
        {"select list(x, id) from a", GRANARY_EINVAL, "'list' does not take 2 arguments"},
        {"select list(sum(x)) from a", GRANARY_EINVAL, "an aggregate of an aggregate"},
        {"select quantile_disc(x, 1.5) from a", GRANARY_EINVAL, "a number from 0 to 1"},
        {"select quantile_cont(x, [0.5, 2]) from a", GRANARY_EINVAL, "a number from 0 to 1"},
        {"select regr_slope(distinct x, id) from a", GRANARY_EUNSUPPORTED, "DISTINCT in 'regr_slope'"},
        {"select geomean(distinct x) from a", GRANARY_EUNSUPPORTED, "DISTINCT in 'geomean'"},
        {"select list_transform([1], x) from a", GRANARY_EINVAL, "is a lambda, such as x -> x + 1"},
        {"select list_aggregate([1], 'nope') from a", GRANARY_EUNSUPPORTED, "aggregate 'nope' of a list"},
        {"select list_sort([1], 'down') from a", GRANARY_EINVAL, "takes 'ASC' or 'DESC'"},
        {"select list_append(distinct [1], 2) from a", GRANARY_EUNSUPPORTED, "list_append"},
        {"select approx_top_k(x, 3), histogram(x) from a", GRANARY_EUNSUPPORTED, "'histogram' is not supported"},
        {"select * from 'nowhere/trips.parquet'", GRANARY_ENOENT, "No such file"},
        {"select * from a join b using (x)", GRANARY_ENOENT, "USING: there is no column 'x' on the right side"},
        {"select current_user from a", GRANARY_EUNSUPPORTED, "the name of the user, role or catalog is not"},
        {"select 1 from a window w as (order by x), w as (order by id)", GRANARY_EINVAL, "two windows are called 'w'"},
        {"select sum(x) over (w partition by id) from a window w as (order by x)", GRANARY_EINVAL,
         "a window made of 'w' takes its partition and order"},
        {"select sum(x) over (nope) from a", GRANARY_ENOENT, "there is no window 'nope'"},
        {"select percentile_cont(x) within group (order by id desc) from a", GRANARY_EINVAL, "a number from 0 to 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        granary_err err;

        free(translate(cases[i].sql, &err));
        if (err != cases[i].err || strstr(granary_error_message(), cases[i].says) == NULL) {
            print_error("%s\n%s: %s\ninstead of: %s\n", cases[i].sql, granary_error_name(err),
                        err == GRANARY_OK ? "" : granary_error_message(), cases[i].says);
            fail();
        }
    }
}

/* The grammar knows more than is done here: what a statement says and nobody uses is refused. */
static void
nothing_is_ignored(void **state)
{
    static const char *const cases[][2] = {
        {"select lag(x) filter (where x > 1) over (order by id) from a",
         "line 1, column 29: FILTER with this function is not supported"},
        {"select lag(distinct x) over (order by id) from a", "DISTINCT in a call of this function"},
        {"select max(*) from a", "* as the argument of this function"},
        {"select length(name order by id) from a", "FILTER, DISTINCT, ORDER BY"},
        {"select upper(variadic name) from a", "VARIADIC"},
        {"select id, count(*) from a group by distinct id", "GROUP BY DISTINCT"},
        {"select x into y from a", "SELECT INTO"},
        {"select x from a for update", "FOR UPDATE"},
        {"select x from a order by x using <", "ORDER BY ... USING"},
        {"select * from a join b using (id) as c", "an alias of USING"},
        {"select * from range(date '2020-01-01', date '2020-02-01', interval '1 day') with ordinality",
         "WITH ORDINALITY"},
        {"with recursive c as (select 1) search depth first by x set y select * from c", "SEARCH in WITH"},
        {"select main.sum(x) from a", "line 1, column 8: a name of so many parts"},
        {"select x operator(other.+) 1 from a", "a name of so many parts"},
        {"select day::timestamp(4) from a", "a length or precision of this type"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        granary_err err;

        free(translate(cases[i][0], &err));
        if (err != GRANARY_EUNSUPPORTED || strstr(granary_error_message(), cases[i][1]) == NULL) {
            print_error("%s\n%s: %s\ninstead of: %s\n", cases[i][0], granary_error_name(err),
                        err == GRANARY_OK ? "" : granary_error_message(), cases[i][1]);
            fail();
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clauses_become_operators),
        cmocka_unit_test(or_gives_what_its_branches_share),
        cmocka_unit_test(subqueries_are_reduced),
        cmocka_unit_test(the_queries_of_tpch_are_translated),
        cmocka_unit_test(what_is_wrong_is_told_with_its_place),
        cmocka_unit_test(nothing_is_ignored),
    };

    return cmocka_run_group_tests(tests, tables_set_up, tables_tear_down);
}
