/* What the scheduler knows, through libgranary on a whole instance; and waits inside subtasks that can never end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "granary/granary.h"
#include "instance.h"

static char directory[] = "/tmp/granary-info-XXXXXX";
static granary_client *client;

static int
start(void **state)
{
    (void)state;
    instance_start(directory, "--executors 2 --memory 64M", &client);
    return 0;
}

static int
stop(void **state)
{
    (void)state;
    instance_stop(directory, client);
    return 0;
}

static void
submit(const char *key, const char *json)
{
    char ret_key[GRANARY_KEY_MAX];

    if (granary_graph_submit_json(client, json, strlen(json), &(granary_graph_options){.key = key}, ret_key) !=
        GRANARY_OK) {
        fail_msg("%s", granary_error_message());
    }
}

static void
tables_are_read_by_name_and_position(void **state)
{
    const char *fields[] = {"pid", "number", "rss_bytes", "progress"};
    const granary_query query = {.subject = "executors", .fields = fields, .field_count = 4};
    granary_table *table = NULL;
    uint64_t count = 0;

    (void)state;
    assert_int_equal(granary_info(client, &query, &table), GRANARY_OK);
    assert_int_equal(granary_table_rows(table), 2);
    assert_int_equal(granary_table_fields(table), 4);
    assert_string_equal(granary_table_field(table, 0), "pid");
    assert_string_equal(granary_table_field(table, 9), "");
    assert_true(granary_table_int(table, 0, "pid") > 1);
    assert_int_equal(granary_table_cell(table, 0, 0).integer, granary_table_int(table, 0, "pid"));
    assert_int_equal(granary_table_cell(table, 0, 3).kind, GRANARY_CELL_REAL);
    assert_true(granary_table_int(table, 1, "rss_bytes") > 0);
    /* What is not there is nothing, and no crash. */
    assert_string_equal(granary_table_text(table, 0, "state"), "");
    assert_int_equal(granary_table_int(table, 99, "pid"), 0);
    assert_string_equal(granary_table_cell(table, 99, 99).text, "");
    granary_table_free(table);
    granary_table_free(NULL);
    assert_int_equal(granary_count(client, "executors", &count), GRANARY_OK);
    assert_int_equal(count, 2);
    assert_int_equal(granary_count(client, "schedulers", &count), GRANARY_OK);
    assert_int_equal(count, 1);
}

static void
mistakes_are_told(void **state)
{
    const char *unknown = "colour";
    const char *missing = "nosuch";
    const char *nothing = NULL;
    granary_query query = {.subject = "executors", .fields = &unknown, .field_count = 1};
    granary_table *table = NULL;
    uint64_t count;
    char *text = NULL;

    (void)state;
    assert_int_equal(granary_info(client, &query, &table), GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), "there are number, pid"));
    query = (granary_query){.subject = "graphs", .keys = &missing, .key_count = 1};
    assert_int_equal(granary_info(client, &query, &table), GRANARY_ENOENT);
    assert_non_null(strstr(granary_error_message(), "'nosuch'"));
    query.ignore_missing = true;
    assert_int_equal(granary_info(client, &query, &table), GRANARY_OK);
    assert_int_equal(granary_table_rows(table), 0);
    granary_table_free(table);
    query = (granary_query){.subject = "graphs", .keys = &nothing, .key_count = 1};
    assert_int_equal(granary_info(client, &query, &table), GRANARY_EINVAL);
    assert_int_equal(granary_info(client, NULL, &table), GRANARY_EINVAL);
    assert_int_equal(granary_count(client, "ghosts", &count), GRANARY_EINVAL);
    assert_int_equal(granary_count(client, NULL, &count), GRANARY_EINVAL);
    assert_int_equal(granary_why(client, "nosuch", &text), GRANARY_ENOENT);
    assert_int_equal(granary_why(client, NULL, &text), GRANARY_EINVAL);
}

/* Thousands of rows, page by page; and counted. */
static void
pages_follow_one_another(void **state)
{
    granary_query query = {.subject = "subtasks", .limit = 700};
    const char *key = "many";
    char *json;
    int length;
    uint64_t rows = 0;
    uint64_t count = 0;

    (void)state;
    json = malloc(100000);
    length = snprintf(json, 100000, "{\"nodes\": {\"n0\": {\"op\": \"null\"}");
    for (int i = 1; i < 3000; i++) {
        length += snprintf(json + length, (size_t)(100000 - length), ", \"n%d\": {\"op\": \"null\"}", i);
    }
    (void)snprintf(json + length, (size_t)(100000 - length), "}}");
    submit("many", json);
    free(json);
    assert_int_equal(granary_graph_wait(client, "many", 30000, NULL), GRANARY_OK);
    query.keys = &key;
    query.key_count = 1;
    do {
        granary_table *table = NULL;

        assert_int_equal(granary_info(client, &query, &table), GRANARY_OK);
        assert_true(granary_table_rows(table) <= 700);
        for (size_t i = 0; i < granary_table_rows(table); i++) {
            assert_string_equal(granary_table_text(table, i, "state"), "succeeded");
        }
        rows += granary_table_rows(table);
        query.cursor = granary_table_cursor(table);
        granary_table_free(table);
    } while (query.cursor != 0);
    assert_int_equal(rows, 3000);
    assert_int_equal(granary_count(client, "runs", &count), GRANARY_OK);
    assert_true(count >= 3000);
}

static void
changes_are_waited_for(void **state)
{
    granary_query query = {.subject = "graphs"};
    granary_table *table = NULL;
    uint64_t version;

    (void)state;
    assert_int_equal(granary_info(client, &query, &table), GRANARY_OK);
    version = granary_table_version(table);
    granary_table_free(table);
    query.since_version = version;
    query.timeout_ms = 50;
    assert_int_equal(granary_info(client, &query, &table), GRANARY_ETIMEDOUT);
    submit("news", "{\"nodes\": {\"n\": {\"op\": \"null\"}}}");
    query.timeout_ms = GRANARY_FOREVER;
    assert_int_equal(granary_info(client, &query, &table), GRANARY_OK);
    assert_true(granary_table_version(table) > version);
    granary_table_free(table);
}

/* ---- waits ---- */

static void
put_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* When the field of a row has a value, or 20 s have passed. */
static void
wait_until(const char *subject, const char *key, const char *field, const char *value)
{
    granary_query query = {.subject = subject, .keys = &key, .key_count = 1, .timeout_ms = 60000};
    bool is = false;

    while (!is) {
        granary_table *table = NULL;

        if (granary_info(client, &query, &table) != GRANARY_OK) {
            fail_msg("%s %s: no %s '%s': %s", subject, key, field, value, granary_error_message());
        }
        is = strcmp(granary_table_text(table, 0, field), value) == 0;
        query.since_version = granary_table_version(table);
        granary_table_free(table);
    }
}

/*
 * Both executors run functions that wait for the object of a subtask for which no executor is left. One of them fails
 * and says why, the other goes on with what it waited for.
 */
static void
waits_that_can_never_end_are_ended(void **state)
{
    static const char *const keys[] = {"first", "second"};
    const char *late = "late/n";
    const granary_query chunks = {.subject = "chunks", .keys = &late, .key_count = 1};
    char path[128];
    char hidden[sizeof path + 8];
    char json[512];
    size_t failed = 0;
    granary_table *table = NULL;
    char *text = NULL;

    (void)state;
    if (granary_export(client, LIBRARIES "/libwaits.so", NULL, NULL) != GRANARY_OK) {
        fail_msg("%s", granary_error_message());
    }
    (void)snprintf(path, sizeof path, "%s/../%s.id", directory, strrchr(directory, '/') + 1);
    (void)snprintf(hidden, sizeof hidden, "%s.new", path);
    (void)snprintf(json, sizeof json,
                   "{\"nodes\": {\"w\": {\"op\": \"call\", \"function\": \"waits\", \"params\": {\"file\": \"%s\"}}}}",
                   path);
    for (size_t i = 0; i < 2; i++) {
        submit(keys[i], json);
        (void)snprintf(hidden, sizeof hidden, "%s/0", keys[i]);
        wait_until("subtasks", hidden, "state", "running");
    }
    submit("late", "{\"nodes\": {\"n\": {\"op\": \"exec\", \"command\": [\"echo\", \"here\"]}}}");
    assert_int_equal(granary_info(client, &chunks, &table), GRANARY_OK);
    assert_int_equal(granary_table_rows(table), 1);
    assert_int_equal(granary_table_int(table, 0, "there"), 0);
    (void)snprintf(hidden, sizeof hidden, "%s.new", path);
    put_text(hidden, granary_table_text(table, 0, "id"));
    granary_table_free(table);
    assert_int_equal(granary_why(client, "late/0", &text), GRANARY_OK);
    assert_non_null(strstr(text, "all 2 executors have work"));
    free(text);
    assert_int_equal(rename(hidden, path), 0); /* now both know, at once */
    for (size_t i = 0; i < 2; i++) {
        granary_err err = granary_graph_wait(client, keys[i], 30000, NULL);

        if (err == GRANARY_ESTATE) {
            assert_non_null(strstr(granary_error_message(), "waited inside a subtask for what cannot be made"));
            assert_non_null(strstr(granary_error_message(), "which late/0 is to make"));
            failed++;
        } else if (err != GRANARY_OK) {
            fail_msg("%s: %s", keys[i], granary_error_message());
        }
    }
    assert_int_equal(failed, 1);
    assert_int_equal(granary_graph_wait(client, "late", 30000, NULL), GRANARY_OK);
    assert_int_equal(unlink(path), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_read_by_name_and_position),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(pages_follow_one_another),
        cmocka_unit_test(changes_are_waited_for),
        cmocka_unit_test(waits_that_can_never_end_are_ended),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
