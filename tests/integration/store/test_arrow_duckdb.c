/*
 * DuckDB reads frames where they lie in the store, and gives what it made. Needs its C library, of npm's package
 * @duckdb/node-bindings-linux-x64, in $GRANARY_PEERS/node_modules; skipped without.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../unit/data/frames.h"
#include "fixture.h"
#include "granary/arrow.h"

enum { SKIPPED = 77 };

/* What is used of duckdb.h. */
typedef struct {
    uint64_t columns, rows, changed;
    void *data;
    char *error;
    void *internal;
} duckdb_result;

static int (*duckdb_open)(const char *path, void **ret_database);
static void (*duckdb_close)(void **database);
static int (*duckdb_connect)(void *database, void **ret_connection);
static void (*duckdb_disconnect)(void **connection);
static int (*duckdb_query)(void *connection, const char *sql, duckdb_result *ret_result);
static const char *(*duckdb_result_error)(duckdb_result *result);
static char *(*duckdb_value_varchar)(duckdb_result *result, uint64_t column, uint64_t row);
static void (*duckdb_free)(void *bytes);
static void (*duckdb_destroy_result)(duckdb_result *result);
static int (*duckdb_arrow_scan)(void *connection, const char *name, struct ArrowArrayStream *stream);
static int (*duckdb_query_arrow)(void *connection, const char *sql, void **ret_result);
static int (*duckdb_query_arrow_schema)(void *result, struct ArrowSchema **schema);
static int (*duckdb_query_arrow_array)(void *result, struct ArrowArray **array);
static void (*duckdb_destroy_arrow)(void **result);

static bool
load_duckdb(void)
{
    const char *peers = getenv("GRANARY_PEERS");
    void *library;
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so",
                   peers == NULL ? "." : peers);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return false;
    }
#define LOAD(name) (*(void **)&(name) = dlsym(library, #name)) != NULL
    return LOAD(duckdb_open) && LOAD(duckdb_close) && LOAD(duckdb_connect) && LOAD(duckdb_disconnect) &&
           LOAD(duckdb_query) && LOAD(duckdb_result_error) && LOAD(duckdb_value_varchar) && LOAD(duckdb_free) &&
           LOAD(duckdb_destroy_result) && LOAD(duckdb_arrow_scan) && LOAD(duckdb_query_arrow) &&
           LOAD(duckdb_query_arrow_schema) && LOAD(duckdb_query_arrow_array) && LOAD(duckdb_destroy_arrow);
#undef LOAD
}

struct peer {
    void *database;
    void *connection;
};

static struct peer
peer_open(void)
{
    struct peer peer = {NULL, NULL};

    assert_int_equal(duckdb_open(NULL, &peer.database), 0);
    assert_int_equal(duckdb_connect(peer.database, &peer.connection), 0);
    return peer;
}

static void
peer_close(struct peer *peer)
{
    duckdb_disconnect(&peer->connection);
    duckdb_close(&peer->database);
}

/* The values of the first row, with | between them. */
static void
assert_row(struct peer *peer, const char *sql, const char *expected)
{
    char row[1000] = "";
    duckdb_result result;

    if (duckdb_query(peer->connection, sql, &result) != 0) {
        print_error("%s\n", duckdb_result_error(&result));
        fail();
    }
    for (uint64_t i = 0; i < result.columns; i++) {
        char *value = duckdb_value_varchar(&result, i, 0);
        size_t length = strlen(row);

        (void)snprintf(row + length, sizeof row - length, "%s%s", i == 0 ? "" : "|", value == NULL ? "-" : value);
        duckdb_free(value);
    }
    duckdb_destroy_result(&result);
    assert_string_equal(row, expected);
}

static granary_id
put_everything(granary_client *client)
{
    granary_frame *frame = frame_of_everything();
    granary_column columns[16];
    granary_id id = {{0}};

    for (size_t i = 0; i < frame->count; i++) {
        columns[i] = frame->columns[i].view;
    }
    columns[9].name = "nulls"; /* DuckDB has no empty names */
    assert_ok(granary_frame_put(client, columns, frame->count, frame->rows, &id));
    gr_frame_destroy(frame);
    return id;
}

static void
duckdb_reads_every_type(void **state)
{
    granary_client *client = fixture_connect(state);
    struct peer peer = peer_open();
    granary_id ids[2];
    struct ArrowArrayStream stream;

    ids[0] = put_everything(client);
    ids[1] = put_everything(client);
    assert_ok(granary_frames_stream(client, ids, 2, &stream));
    assert_int_equal(duckdb_arrow_scan(peer.connection, "f", &stream), 0);
    granary_disconnect(client);
    assert_row(
        &peer,
        "SELECT count(*), count(flag), bool_and(flag), sum(int), min(real), max(\"Größe €\"), min(day), max(\"at\"), "
        "min(int32), max(f32) = 2147483648, count(nulls), count(n) FROM f",
        "10|8|false|-4|-1e+300|日本語|0001-01-01|9999-12-31 23:59:59.999999|-2147483648|true|0|0");
    stream.release(&stream);
    peer_close(&peer);
    client = fixture_connect(state);
    assert_ok(granary_object_delete_many(client, ids, 2, NULL));
    assert_int_equal(fixture_stat(client).retiring_bytes, 0);
    granary_disconnect(client);
}

static void
duckdb_reads_decimals_and_dictionaries(void **state)
{
    const granary_column entries = {
        .name = "", .dtype = GRANARY_STRING, .rows = 2, .values = "onetwo", .offsets = (int32_t[]){0, 3, 6}};
    const uint64_t decimals[][2] = {{150, 0}, {(uint64_t)-25, UINT64_MAX}, {7, 0}};
    const granary_column columns[] = {
        {.name = "s", .dtype = GRANARY_STRING, .values = (int32_t[]){1, 0, 1}, .dictionary = &entries},
        {.name = "d", .dtype = GRANARY_DECIMAL(2), .values = decimals, .validity = (const uint8_t[]){3}},
        {.name = "t", .dtype = GRANARY_DURATION, .values = (int64_t[]){1000000, 2, 3}},
    };
    granary_client *client = fixture_connect(state);
    struct peer peer = peer_open();
    struct ArrowArrayStream stream;
    granary_id id = {{0}};

    assert_ok(granary_frame_put(client, columns, 3, 3, &id));
    assert_ok(granary_frames_stream(client, &id, 1, &stream));
    assert_int_equal(duckdb_arrow_scan(peer.connection, "f", &stream), 0);
    assert_row(&peer, "SELECT string_agg(s, ','), sum(d), count(d), max(t) FROM f", "two,one,two|1.25|2|00:00:01");
    stream.release(&stream);
    peer_close(&peer);
    granary_disconnect(client);
}

static void
granary_takes_what_duckdb_made(void **state)
{
    static const char sql[] =
        "SELECT range AS n, range % 2 = 0 AS even, (range / 4)::DECIMAL(18, 2) AS d, 'text ' || range AS s, "
        "nullif(range, 3)::TINYINT AS small, DATE '2020-01-01' + range::INT AS day, "
        "TIMESTAMP '2020-01-01 00:00:00.5' AS at, ('e' || range % 2)::ENUM('e0', 'e1') AS e FROM range(5)";
    granary_client *client = fixture_connect(state);
    struct peer peer = peer_open();
    struct ArrowSchema schema = {.release = NULL};
    struct ArrowArray array = {.release = NULL};
    granary_id id = {{0}};
    granary_frame *frame;
    granary_view view;
    void *result;

    assert_int_equal(duckdb_query_arrow(peer.connection, sql, &result), 0);
    assert_int_equal(duckdb_query_arrow_schema(result, &(struct ArrowSchema *){&schema}), 0);
    assert_int_equal(duckdb_query_arrow_array(result, &(struct ArrowArray *){&array}), 0);
    assert_ok(granary_frame_import_array(client, &schema, &array, &id));
    duckdb_destroy_arrow(&result);
    peer_close(&peer);
    assert_ok(granary_object_get(client, id, 0, &view));
    assert_ok(granary_frame_open(&view, &frame));
    assert_int_equal(granary_frame_rows(frame), 5);
    assert_int_equal(int_at(frame, "n", 4), 4);
    assert_string_equal(text_at(frame, "even", 3), "false");
    assert_string_equal(text_at(frame, "d", 3), "0.75");
    assert_string_equal(text_at(frame, "s", 4), "text 4");
    assert_true(gr_is_null(granary_frame_column_named(frame, "small"), 3));
    assert_string_equal(text_at(frame, "day", 2), "2020-01-03");
    assert_non_null(strstr(text_at(frame, "at", 0), "00:00:00.5"));
    assert_string_equal(text_at(frame, "e", 3), "e1");
    granary_frame_close(frame);
    granary_object_release(client, &view);
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(duckdb_reads_every_type, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(duckdb_reads_decimals_and_dictionaries, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(granary_takes_what_duckdb_made, fixture_start, fixture_stop),
    };

    if (!load_duckdb()) {
        (void)printf("skipped: %s; set GRANARY_PEERS to a directory with node_modules\n", dlerror());
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
