/*
 * Many small writes by statements: executors and clients keep the table open, so their rows share chunks; and a table that is
 * open in such a way is nobody's burden.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../sched/instance.h"
#include "base/clock.h"
#include "contract/mutable.h"
#include "granary/mutable.h"
#include "granary/sql.h"

#define INSERTS     300
#define PATIENCE_NS ((int64_t)30 * 1000000000)

#define assert_ok(expression) assert_int_equal((expression), GRANARY_OK)

static char directory[] = "/tmp/granary-inserts-XXXXXX";

static int
set_up(void **state)
{
    instance_start(directory, "--executors 2 --memory 128M --state memory", (granary_client **)state);
    return 0;
}

static int
tear_down(void **state)
{
    instance_stop(directory, *state);
    return 0;
}

static granary_err
statement(granary_client *client, const char *text)
{
    return granary_sql_execute(client, text, strlen(text), GRANARY_FOREVER, NULL);
}

static granary_mutable_info
described(granary_client *client, const char *name)
{
    granary_mutable_info info;

    assert_ok(granary_mutable_describe(client, name, &info));
    return info;
}

/* Until a table has so many writers. */
static void
await_writers(granary_client *client, const char *name, uint32_t writers)
{
    const int64_t end_ns = gr_now_ns() + PATIENCE_NS;

    while (described(client, name).writers != writers) {
        assert_true(gr_now_ns() < end_ns);
    }
}

/* Until no object is left. */
static void
await_nothing(granary_client *client)
{
    const int64_t end_ns = gr_now_ns() + PATIENCE_NS;
    granary_object_info *infos = NULL;
    size_t count;

    do {
        assert_ok(granary_object_list(client, &infos, &count));
        free(infos);
        assert_true(gr_now_ns() < end_ns);
    } while (count > 0);
}

static void
many_inserts_make_few_chunks(void **state)
{
    granary_client *client = *state;
    granary_mutable_info info;
    int64_t begin_ns;

    assert_ok(statement(client, "create table t (a bigint, b text)"));
    begin_ns = gr_now_ns();
    for (int i = 0; i < INSERTS; i++) {
        assert_ok(statement(client, "insert into t values (1, 'one')"));
    }
    info = described(client, "t");
    (void)printf("%d INSERTs of a row: %.0f us each, %" PRIu32 " chunks\n", INSERTS,
                 (double)(gr_now_ns() - begin_ns) / 1000 / INSERTS, info.parts);
    assert_int_equal(info.rows, INSERTS);
    /* A few; more where the machine does nothing for a second between two of them. */
    assert_in_range(info.parts, 1, INSERTS / 10);
    begin_ns = gr_now_ns();
    for (int i = 0; i < INSERTS / 10; i++) {
        assert_ok(statement(client, "update t set a = a + 1 where b = 'one'"));
    }
    (void)printf("%d UPDATEs: %.0f us each\n", INSERTS / 10, (double)(gr_now_ns() - begin_ns) / 1000 / (INSERTS / 10));
    await_writers(client, "t", 0);
    assert_ok(statement(client, "drop table t"));
    await_nothing(client);
}

/* A handle that rests is of the table that had the name. */
static void
another_table_of_the_name_is_another_table(void **state)
{
    granary_client *client = *state;

    for (int i = 0; i < 20; i++) {
        assert_ok(statement(client, "create table t (a bigint)"));
        assert_ok(statement(client, "insert into t values (1)"));
        assert_ok(statement(client, "insert into t values (2)"));
        assert_int_equal(described(client, "t").rows, 2);
        if (i % 2 == 0) {
            assert_ok(statement(client, "call seal('t')"));
            assert_int_equal(statement(client, "insert into t values (3)"), GRANARY_ESEALED);
        }
        assert_ok(statement(client, "drop table t"));
        assert_int_equal(statement(client, "insert into t values (3)"), GRANARY_ENOENT);
    }
    await_nothing(client);
}

/* With half of the lanes taken, a handle does not rest. */
static void
lanes_are_left_for_writers(void **state)
{
    enum { HALF = GR_MUTABLE_LANES / 2 };
    granary_client *client = *state;
    const int64_t value = 1;
    const granary_column column = {.name = "a", .dtype = GRANARY_INT64, .values = &value, .rows = 1};
    granary_mutable *handles[HALF];

    assert_ok(statement(client, "create table t (a bigint)"));
    for (size_t i = 0; i < HALF; i++) {
        assert_ok(granary_mutable_open(client, "t", &handles[i]));
        assert_ok(granary_mutable_append(handles[i], &column, 1, 1, NULL, NULL));
    }
    assert_ok(statement(client, "insert into t values (1)"));
    assert_int_equal(described(client, "t").writers, HALF);
    granary_mutable_close(handles[0]);
    assert_ok(statement(client, "insert into t values (1)"));
    assert_int_equal(described(client, "t").writers, HALF); /* it rests in the lane that was free */
    for (size_t i = 1; i < HALF; i++) {
        granary_mutable_close(handles[i]);
    }
    await_writers(client, "t", 0);
    assert_int_equal(described(client, "t").rows, HALF + 2);
    assert_ok(statement(client, "drop table t"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_inserts_make_few_chunks),
        cmocka_unit_test(another_table_of_the_name_is_another_table),
        cmocka_unit_test(lanes_are_left_for_writers),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
