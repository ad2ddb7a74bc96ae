/*
 * What is known of mutable tables without their handles: listed and checked from shared memory, damage named, and what
 * those leave who were killed taken away by the next ones.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "granary/inspect.h"
#include "integration/store/fixture.h"
#include "mutable/core/kept.h"
#include "mutable/core/lane.h"
#include "mutable/write.h"
#include "mutable_tools.h"

static granary_inspector *
inspect(void **state)
{
    const struct daemon *daemon = *state;
    granary_inspector *inspector = NULL;

    assert_ok(granary_inspect_open(daemon->directory, &inspector));
    return inspector;
}

/* ---- findings ---- */

/* What is looked for, and how often it was found; whatever else was. */
struct sought {
    const char *code;
    granary_finding_kind kind;
    uint64_t number; /* of the last one */
    size_t found;
    size_t others;
};

static void
take_finding(void *context, const granary_finding *finding)
{
    struct sought *sought = context;

    if (sought->code != NULL && strcmp(finding->code, sought->code) == 0 && finding->kind == sought->kind) {
        sought->found++;
        sought->number = finding->number;
    } else {
        print_message("%s: %s\n", finding->code, finding->text);
        sought->others++;
    }
}

/* fsck finds this, and nothing else; code NULL: it finds nothing. Returns its number. */
static uint64_t
check_finds(void **state, const char *code, granary_finding_kind kind)
{
    granary_inspector *inspector = inspect(state);
    struct sought sought = {.code = code, .kind = kind};

    assert_ok(granary_inspect_check(inspector, 0, take_finding, &sought, NULL));
    assert_int_equal(sought.others, 0);
    assert_int_equal(sought.found > 0, code != NULL);
    granary_inspect_close(inspector);
    return sought.number;
}

/* How many objects tables keep, by the inspector. */
static uint64_t
count_kept(void **state, size_t *ret_tables)
{
    granary_inspector *inspector = inspect(state);
    granary_table_info *infos = NULL;
    uint64_t objects = 0;

    assert_ok(granary_inspect_tables(inspector, &infos, ret_tables));
    for (size_t i = 0; i < *ret_tables; i++) {
        objects += infos[i].objects;
    }
    free(infos);
    granary_inspect_close(inspector);
    return objects;
}

/* ---- tests ---- */

static void
tables_are_seen_from_outside(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "seen"), *empty = make_numbers(client, "empty");
    const granary_rows first = {.from = 0, .to = 1};
    granary_inspector *inspector = inspect(state);
    granary_table_info *infos = NULL;
    size_t count = 0;

    for (int64_t i = 0; i < 200; i++) {
        assert_ok(append_number(table, i, 100 + i, NULL));
    }
    assert_ok(granary_mutable_delete_rows(table, &first, &(granary_write_options){.time = 500}, NULL, NULL));
    check_numbers(table, 99, NULL, 0);
    assert_ok(granary_inspect_tables(inspector, &infos, &count));
    assert_int_equal(count, 2);
    assert_string_equal(infos[0].name, "seen");
    assert_int_equal(infos[0].writers, 1);
    assert_true(infos[0].newest == 500 && infos[0].final == 99);
    assert_true(infos[0].rows >= 200);
    assert_true(infos[0].objects >= 4 && infos[0].log_bytes >= 200 * sizeof(struct gr_mutable_slot));
    assert_true(infos[0].bytes > infos[0].log_bytes && infos[0].memory_bytes == infos[0].bytes);
    assert_string_equal(infos[1].name, "empty");
    assert_true(infos[1].writers == 0 && infos[1].objects == 0 && infos[1].newest == INT64_MIN);
    free(infos);
    granary_inspect_close(inspector);
    (void)check_finds(state, NULL, GRANARY_FINDING_NOTE);
    granary_mutable_close(table);
    granary_mutable_close(empty);
    granary_disconnect(client);
}

static void
an_object_tells_its_table(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "parts");
    granary_inspector *inspector = inspect(state);
    granary_table_part part;
    uint32_t session = 0;

    assert_ok(append_number(table, 1, 0, NULL));
    assert_ok(granary_mutable_retain(table, &(granary_retain){.time = GRANARY_NOW}, NULL));
    assert_ok(append_number(table, 1, 0, NULL));
    assert_ok(granary_inspect_session_find(inspector, "default", &session));
    assert_ok(granary_inspect_table_part(inspector, session, table->id, &part));
    assert_int_equal(part.kind, GRANARY_PART_TABLE);
    assert_ok(granary_inspect_table_part(inspector, session, kept_id(table->id, GR_MUTABLE_LOG, 0, 0), &part));
    assert_true(part.kind == GRANARY_PART_LOG && part.number == 0 && part.lane == 0 && part.open);
    assert_ok(granary_inspect_table_part(inspector, session, kept_id(table->id, GR_MUTABLE_ROWS, 0, 0), &part));
    assert_true(part.kind == GRANARY_PART_ROWS && part.open);
    assert_ok(granary_inspect_table_part(inspector, session, kept_id(table->id, GR_MUTABLE_BASE, 0, 1), &part));
    assert_true(part.kind == GRANARY_PART_BASE && !part.open);
    assert_memory_equal(&part.table, &table->id, sizeof part.table);
    assert_ok(fixture_put(client, 1, 100, 0));
    assert_err(granary_inspect_table_part(inspector, session, fixture_id(1), &part), GRANARY_ENOENT);
    granary_inspect_close(inspector);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* What a durable table has on disk is its part, too. */
static void
pieces_on_disk_tell_their_table(void **state)
{
    const granary_mutable_options options = {.durability = GRANARY_DURABLE_COMMIT};
    granary_client *client = fixture_connect(state);
    granary_inspector *inspector = inspect(state);
    size_t kinds[GRANARY_PART_TABLE + 1] = {0}, count = 0;
    granary_object_info infos[32];
    granary_mutable *table = NULL;
    uint64_t cursor = 0;
    uint32_t session = 0;

    assert_ok(granary_mutable_create_frame(client, "disk", &number_column, 1, &options, &table));
    assert_ok(append_number(table, 1, 0, NULL));
    assert_ok(granary_inspect_session_find(inspector, "default", &session));
    assert_ok(granary_inspect_objects(inspector, session, NULL, &cursor, 32, infos, &count));
    assert_true(cursor == 0);
    for (size_t i = 0; i < count; i++) {
        granary_table_part part;

        assert_ok(granary_inspect_table_part(inspector, session, infos[i].id, &part));
        assert_memory_equal(&part.table, &table->id, sizeof part.table);
        kinds[part.kind]++;
    }
    assert_true(kinds[GRANARY_PART_TABLE] == 1 && kinds[GRANARY_PART_ROOT] >= 1 && kinds[GRANARY_PART_PIECE] >= 1);
    assert_true(kinds[GRANARY_PART_LOG] == 1 && kinds[GRANARY_PART_ROWS] == 1 && kinds[GRANARY_PART_OTHER] == 0);
    granary_inspect_close(inspector);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "disk"));
    granary_disconnect(client);
}

static void
damage_to_a_table_is_named(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "hurt");
    struct gr_mutable_slot *log;
    struct gr_mutable_slot head;
    const granary_rows first = {.from = 0, .to = 1};
    struct gr_mutable *page = table->page.page;
    uint64_t word;

    for (int64_t i = 0; i < 200; i++) {
        assert_ok(append_number(table, i, 0, NULL));
    }
    assert_ok(granary_mutable_delete_rows(table, &first, NULL, NULL, NULL));
    /* A writer that commits nothing has a block with a head alone. */
    granary_mutable_close(table);
    table = open_table(client, "hurt");
    assert_ok(granary_mutable_delete_rows(table, &first, NULL, NULL, NULL));
    granary_mutable_close(table);
    table = open_table(client, "hurt");
    assert_ok(append_number(table, 7, 0, NULL));
    page = table->page.page;
    (void)check_finds(state, NULL, GRANARY_FINDING_NOTE);
    log = table->writer->log.block.data;
    head = log[0];
    log[0].what = 77;
    (void)check_finds(state, "table-log", GRANARY_FINDING_DAMAGE);
    log[0] = head;
    word = atomic_load(&page->lane[0].word);
    atomic_store(&page->lane[0].word, GR_LANE((uint64_t)99 * GR_LOG_SLOTS, GR_LANE_IDLE));
    (void)check_finds(state, "table-log", GRANARY_FINDING_DAMAGE);
    atomic_store(&page->lane[0].word, word);
    atomic_store(&page->base, 3);
    (void)check_finds(state, "table-base", GRANARY_FINDING_DAMAGE);
    atomic_store(&page->base, 0);
    (void)check_finds(state, NULL, GRANARY_FINDING_NOTE);
    /* The first chunk of rows, which is full, is taken away. */
    kept_unrefer(client, table->id, kept_id(table->id, GR_MUTABLE_ROWS, 0, 0));
    assert_int_equal(check_finds(state, "table-part", GRANARY_FINDING_DAMAGE), 0);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "hurt"));
    (void)check_finds(state, NULL, GRANARY_FINDING_NOTE);
    granary_disconnect(client);
}

/* Who deletes a table dies in between: fsck says so, and the next table lets its objects go. */
static void
what_a_killed_deleter_leaves_goes_with_the_next_table(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "left");
    const granary_id id = table->id;
    size_t tables = 0;

    assert_ok(append_number(table, 1, 0, NULL));
    granary_mutable_close(table);
    assert_ok(granary_name_set(client, "left", (granary_id){{0}}, GRANARY_NAME_ID, id, NULL));
    assert_false(granary_object_contains(client, id));
    assert_int_equal(check_finds(state, "table-deleted", GRANARY_FINDING_NOTE), 2);
    assert_int_equal(count_kept(state, &tables), 2);
    assert_int_equal(tables, 1);
    table = make_numbers(client, "next");
    (void)check_finds(state, NULL, GRANARY_FINDING_NOTE);
    assert_int_equal(count_kept(state, &tables), 0);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* A writer is killed before it has committed anything in what it made: the next one of its lane lets that go. */
static void
what_a_killed_writer_leaves_goes_with_the_next_writer(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "orphans");
    const int64_t one = 1;
    pid_t pid = fork();
    size_t tables = 0;

    if (pid == 0) {
        granary_mutable *theirs = open_table(fixture_connect(state), "orphans");
        const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = 1, .values = &one};

        /* A time that is final: rows are written, and refused. */
        assert_ok(granary_cut(&theirs, 1, &(int64_t){100}));
        (void)granary_mutable_append(theirs, &column, 1, 1, &(granary_write_options){.time = 50}, NULL);
        (void)raise(SIGKILL);
    }
    assert_int_equal(fixture_wait(pid), 128 + SIGKILL);
    assert_int_equal(count_kept(state, &tables), 2);
    assert_ok(append_number(table, 1, 0, NULL));
    assert_int_equal(count_kept(state, &tables), 2);
    check_numbers(table, GRANARY_NOW, &one, 1);
    (void)check_finds(state, NULL, GRANARY_FINDING_NOTE);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* A writer that closes leaves nothing in which it has committed nothing. */
static void
what_was_refused_leaves_nothing(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "refused");
    const int64_t one = 1, two = 2;
    int64_t number = 0;
    const granary_rows first = {.numbers = &number, .count = 1};
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = 1, .values = &two};
    const granary_write_options late = {.time = 50};
    size_t tables = 0;

    assert_ok(granary_cut(&table, 1, &(int64_t){100}));
    for (int i = 0; i < 2; i++) {
        assert_err(append_number(table, 1, 50, NULL), GRANARY_ESTATE);
        granary_mutable_close(table);
        check_named("table 'refused': time 50 is final", "refused"); /* closing it leaves the message alone */
        assert_int_equal(count_kept(state, &tables), 0);
        table = open_table(client, "refused");
    }
    granary_mutable_close(table);
    table = open_table(client, "refused");
    assert_ok(append_number(table, 1, 0, NULL));
    assert_ok(granary_mutable_numbers(table, GRANARY_NOW, 0, 1, &number));
    assert_err(granary_mutable_write_rows(table, &first, &column, 1, &late, NULL), GRANARY_ESTATE);
    granary_mutable_close(table);
    assert_int_equal(count_kept(state, &tables), 2);
    table = open_table(client, "refused");
    check_numbers(table, GRANARY_NOW, &one, 1);
    assert_ok(granary_mutable_write_rows(table, &first, &column, 1, NULL, NULL));
    check_numbers(table, GRANARY_NOW, &two, 1);
    (void)check_finds(state, NULL, GRANARY_FINDING_NOTE);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* What was left by who did not take it away is told. */
static void
what_no_log_tells_of_is_a_note(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "untold");

    assert_ok(granary_cut(&table, 1, &(int64_t){100}));
    assert_err(append_number(table, 1, 50, NULL), GRANARY_ESTATE);
    for (int kind = GR_MUTABLE_LOG; kind <= GR_MUTABLE_SLAB; kind++) {
        atomic_store(&table->writer->shared->open[kind], 0);
    }
    granary_mutable_close(table);
    assert_int_equal(check_finds(state, "table-untold", GRANARY_FINDING_NOTE), 2);
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tables_are_seen_from_outside, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(an_object_tells_its_table, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(pieces_on_disk_tell_their_table, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(damage_to_a_table_is_named, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(what_a_killed_deleter_leaves_goes_with_the_next_table, fixture_start,
                                        fixture_stop),
        cmocka_unit_test_setup_teardown(what_a_killed_writer_leaves_goes_with_the_next_writer, fixture_start,
                                        fixture_stop),
        cmocka_unit_test_setup_teardown(what_was_refused_leaves_nothing, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(what_no_log_tells_of_is_a_note, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
