/* What is wrong with a graph or its files is told early, by node, file and line. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "world.h"

static void
assert_message(const char *part)
{
    if (strstr(granary_error_message(), part) == NULL) {
        fail_msg("'%s' has no '%s'", granary_error_message(), part);
    }
}

#define READ_HEADER(path) "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"header\": true, \"path\": \"" path "\"}}}"
#define READ(path)        "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"" path "\"}}}"

static void
assert_refused(struct world *world, const char *json, granary_err err, const char *part)
{
    assert_int_equal(world_plan(world, json), err);
    assert_null(world->plan);
    assert_message(part);
}

static void
assert_fails(struct world *world, const char *json, granary_err err, const char *part)
{
    if (world_plan(world, json) != GRANARY_OK) {
        fail_msg("%s", granary_error_message());
    }
    assert_int_equal(world_run(world), err);
    assert_message(part);
    assert_false(gr_plan_complete(world->plan));
    world_reset(world);
}

static void
files_are_looked_at_when_a_plan_is_made(void **state)
{
    struct world *world = *state;
    char path[256];

    assert_refused(world, READ("none.csv"), GRANARY_ENOENT, "node 'r' (read_csv): /tmp/");
    assert_message("/none.csv: No such file or directory");
    assert_refused(world, READ("."), GRANARY_ENOENT, "the folder has no file that ends in .csv");
    assert_refused(world, READ("/dev/null"), GRANARY_EINVAL, "no regular file");
    world_file(world, "empty.csv", "");
    assert_fails(world, READ_HEADER("empty.csv"), GRANARY_EINVAL, "empty.csv: empty: no header");
    (void)snprintf(path, sizeof path, "%s/pipe", world->directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(world, READ("pipe"), GRANARY_EINVAL, "no regular file");
    world_file(world, "secret.csv", "a\n1\n");
    (void)snprintf(path, sizeof path, "%s/secret.csv", world->directory);
    assert_int_equal(chmod(path, 0), 0);
    if (geteuid() != 0) { /* root may read everything */
        assert_refused(world, READ("secret.csv"), GRANARY_EPERM, "Permission denied");
    }
}

/* A file that no target needs is not even looked for. */
static void
files_nobody_needs_are_left_alone(void **state)
{
    struct world *world = *state;

    world_must(world, "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"none.csv\"},"
                      "\"n\": {\"op\": \"null\"}}, \"targets\": [\"n\"]}");
    assert_int_equal(world->ops, 1);
}

static void
wrong_graphs_are_refused_when_a_plan_is_made(void **state)
{
    struct world *world = *state;

    assert_refused(world,
                   "{\"nodes\": {\"t\": {\"op\": \"arange\", \"stop\": 3}, \"u\": {\"op\": \"random\","
                   "\"shape\": [2]}, \"v\": {\"op\": \"add\", \"inputs\": [\"t\", \"u\"]}}}",
                   GRANARY_EINVAL, "node 'v' (add)");
    assert_refused(world,
                   "{\"nodes\": {\"a\": {\"op\": \"null\", \"input\": \"b\"}, \"b\": {\"op\": \"null\","
                   "\"input\": \"a\"}}, \"targets\": [\"a\"]}",
                   GRANARY_EINVAL, "node '");
    assert_refused(world, "{\"nodes\": {\"a\": {\"op\": \"null\"}}, \"targets\": [\"b\"]}", GRANARY_ENOENT, "b");
}

static void
headers_are_checked(void **state)
{
    struct world *world = *state;
    char wide[16384 + 1] = "";

    memset(wide, ',', sizeof wide - 1);
    world_file(world, "wide.csv", wide);
    assert_fails(world, READ("wide.csv"), GRANARY_EINVAL,
                 "node 'r': wide.csv:1: 16385 columns; at most 16384 can be read");
    world_file(world, "blank.csv", "\n\r\n\n");
    assert_fails(world, READ_HEADER("blank.csv"), GRANARY_EINVAL, "node 'r': blank.csv: empty: no header");
    world->options.chunk_bytes = 1;
    assert_fails(world, READ_HEADER("blank.csv"), GRANARY_EINVAL, "node 'r': blank.csv: empty: no header");
    assert_fails(world, "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"blank.csv\", \"header\": false}}}",
                 GRANARY_EINVAL, "node 'r': blank.csv: empty: no record");
}

/* The first wrong record of the file is told, in whatever order answers come. */
static void
ragged_records_are_named_by_line(void **state)
{
    static const int64_t sizes[] = {0, 1, 4, 9, 15};
    struct world *world = *state;

    world_file(world, "ragged.csv", "a,b\n\n1,2\n\"x\ny\",3\n4\n5,6,7\n8\n");
    world_file(world, "first.csv", "a,b\n\n1\n2,3\n");
    world_file(world, "open.csv", "a,b\n1,2\n3,\"4\n5,6\n");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        world->options.chunk_bytes = sizes[i];
        assert_fails(world, READ("ragged.csv"), GRANARY_EINVAL,
                     "node 'r': ragged.csv:6: record has 1 field, expected 2");
        assert_fails(world, READ("first.csv"), GRANARY_EINVAL, "node 'r': first.csv:3: record has 1 field, expected 2");
        assert_fails(world, READ("open.csv"), GRANARY_EINVAL, "node 'r': open.csv:3: quotes that do not end");
    }
}

static void
dtypes_are_checked(void **state)
{
    struct world *world = *state;

    world_file(world, "t.csv", "alpha,b\n1,2\n");
    assert_fails(world,
                 "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"t.csv\", \"dtypes\": {\"alpa\": \"int64\"}}}}",
                 GRANARY_ENOENT, "node 'r' (read_csv): dtypes: no column 'alpa'; did you mean 'alpha'?");
    if (world_plan(world, "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"t.csv\","
                          "\"dtypes\": {\"b\": \"int7\"}}}}") == GRANARY_OK) {
        assert_int_equal(world_run(world), GRANARY_EINVAL);
    }
    assert_message("node 'r' (read_csv)");
}

static void
unknown_columns_are_told_when_the_file_is_known(void **state)
{
    struct world *world = *state;

    world_file(world, "t.csv", "a,b\n1,2\n");
    assert_fails(world,
                 "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"t.csv\"},"
                 "\"s\": {\"op\": \"sort\", \"input\": \"r\", \"by\": \"c\"}}, \"targets\": \"s\"}",
                 GRANARY_ENOENT, "node 's' (sort)");
    assert_message("'c'");
}

static void
too_many_chunks_are_refused(void **state)
{
    struct world *world = *state;

    assert_fails(world, "{\"nodes\": {\"t\": {\"op\": \"arange\", \"stop\": 1000000000, \"chunk\": 1}}}",
                 GRANARY_EINVAL, "node 't' (arange): 1000000000 chunks are more than");
}

/* Answers come from other processes. */
static void
strange_answers_fail_the_graph(void **state)
{
    struct world *world = *state;
    Granary__Done done = GRANARY__DONE__INIT;
    uint8_t garbage[] = {0xff, 0xff, 0xff};
    ProtobufCBinaryData bytes = {sizeof garbage, garbage};
    struct gr_plan_batch batch;

    world_file(world, "t.csv", "a,b\n1,2\n");
    world->options.chunk_bytes = 4;
    assert_int_equal(world_plan(world, READ("t.csv")), GRANARY_OK);
    assert_int_equal(world_advance(world, &batch), GRANARY_OK);
    assert_int_equal(batch.count, 2);
    assert_true(batch.subtasks[0].feeds);
    gr_plan_batch_free(&batch);
    assert_int_equal(world_advance(world, &batch), GRANARY_OK); /* nothing new before answers */
    assert_int_equal(batch.count, 0);
    gr_plan_batch_free(&batch);
    assert_int_equal(gr_plan_feed(world->plan, 2, &done), GRANARY_EINVAL); /* not asked */
    assert_int_equal(gr_plan_feed(world->plan, 0, &done), GRANARY_EPROTO); /* an empty one */
    done.n_inlines = 1;
    done.inlines = &bytes;
    assert_int_equal(gr_plan_feed(world->plan, 0, &done), GRANARY_EPROTO);
    assert_message("node 'r' (read_csv)");
    done.err = GRANARY_EIO;
    done.message = (char[]){"disk"};
    assert_int_equal(gr_plan_feed(world->plan, 1, &done), GRANARY_EIO);
    assert_string_equal(granary_error_message(), "disk");
}

static void
results_are_asked_for_by_target(void **state)
{
    struct world *world = *state;
    Granary__Result *result = NULL;

    world_file(world, "t.csv", "a,b\n1,2\n");
    assert_int_equal(world_plan(world, READ("t.csv")), GRANARY_OK);
    assert_int_equal(gr_plan_target_result(world->plan, 0, &result), GRANARY_ESTATE);
    assert_null(result);
    assert_int_equal(world_run(world), GRANARY_OK);
    assert_int_equal(gr_plan_target_result(world->plan, 0, &result), GRANARY_OK);
    assert_int_equal(result->n_chunks, 1);
    granary__result__free_unpacked(result, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_looked_at_when_a_plan_is_made, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(files_nobody_needs_are_left_alone, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(wrong_graphs_are_refused_when_a_plan_is_made, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(headers_are_checked, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(ragged_records_are_named_by_line, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(dtypes_are_checked, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(unknown_columns_are_told_when_the_file_is_known, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(too_many_chunks_are_refused, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(strange_answers_fail_the_graph, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(results_are_asked_for_by_target, world_setup, world_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
