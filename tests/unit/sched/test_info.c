/* What the scheduler tells of itself: tables with fields, keys and pages, and waiting for one to change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/id.h"
#include "build.h"
#include "drive.h"
#include "fake_plan.h"
#include "granary/graph.h"
#include "graph/graph.h"
#include "sched/history/function_stats.h"
#include "sched/history/records.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const Granary__Table *
ask(struct rig *rig, const char *subject, const char *const *keys, const char *const *fields, Granary__Info *more)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__Info query = GRANARY__INFO__INIT;

    query = more != NULL ? *more : query;
    query.subject = (char *)(uintptr_t)subject;
    query.keys = (char **)(uintptr_t)keys;
    query.fields = (char **)(uintptr_t)fields;
    for (; keys != NULL && keys[query.n_keys] != NULL; query.n_keys++) {
    }
    for (; fields != NULL && fields[query.n_fields] != NULL; query.n_fields++) {
    }
    message.body_case = GRANARY__REQUEST__BODY_INFO;
    message.info = &query;
    manager_request(rig->manager, ++rig->ticket, &message, rig->now_ns);
    rig_turn(rig);
    return rig->answered == rig->ticket ? rig->reply->table : NULL;
}

static const Granary__Cell *
cell(const Granary__Table *table, size_t row, const char *field)
{
    size_t at = 0;

    assert_non_null(table);
    assert_true(row < table->n_rows);
    while (at < table->n_fields && strcmp(table->fields[at], field) != 0) {
        at++;
    }
    assert_true(at < table->n_fields);
    assert_int_equal(table->rows[row]->n_cells, table->n_fields);
    return table->rows[row]->cells[at];
}

static const char *
text(const Granary__Table *table, size_t row, const char *field)
{
    assert_int_equal(cell(table, row, field)->value_case, GRANARY__CELL__VALUE_TEXT);
    return cell(table, row, field)->text;
}

static int64_t
number(const Granary__Table *table, size_t row, const char *field)
{
    assert_int_equal(cell(table, row, field)->value_case, GRANARY__CELL__VALUE_INT);
    return cell(table, row, field)->int_;
}

/* The page of executor 1, at the first subtask of the first graph. */
static void
has_page(struct rig *rig)
{
    rig->page = (struct gr_executor_state){
        .pid = 1001, .slot = 7, .phase = GR_PHASE_LEASE, .subtask = 1ull << 32, .since_ns = 2000000, .progress = 0.5};
}

/* ---- */

static void
a_graph_is_told_from_submission_to_its_end(void **state)
{
    struct rig *rig = rig_create(1, 1000);
    const Granary__Table *table;

    (void)state;
    rig_submit(rig, "k", LINES("a make", "!b make a"));
    table = ask(rig, "graphs", NULL, NULL, NULL);
    assert_int_equal(table->n_rows, 1);
    assert_int_equal(table->cursor, 0);
    assert_string_equal(text(table, 0, "key"), "k");
    assert_string_equal(text(table, 0, "session"), "s");
    assert_string_equal(text(table, 0, "state"), "running");
    assert_string_equal(text(table, 0, "targets"), "b");
    assert_int_equal(number(table, 0, "submitted_ms"), DRIVE_UNIX_NS / 1000000 + 1);
    assert_int_equal(number(table, 0, "running"), 1);
    assert_int_equal(number(table, 0, "ended_ms"), 0);
    rig_report(rig, GRANARY_OK);
    table = ask(rig, "graphs", WORDS("k"), NULL, NULL);
    assert_true(cell(table, 0, "progress")->real == 0.5);
    rig_report(rig, GRANARY_OK);
    table = ask(rig, "graphs", WORDS("k"), NULL, NULL);
    assert_string_equal(text(table, 0, "state"), "succeeded");
    assert_int_equal(number(table, 0, "done"), 2);
    assert_true(cell(table, 0, "progress")->real == 1);
    assert_true(number(table, 0, "ended_ms") >= DRIVE_UNIX_NS / 1000000 + 12);
    rig_destroy(rig);
}

static void
fields_and_keys_are_chosen_and_checked(void **state)
{
    struct rig *rig = rig_create(3, 1000);
    Granary__Info lenient = GRANARY__INFO__INIT;
    const Granary__Table *table;

    (void)state;
    table = ask(rig, "executors", WORDS("3", "1"), WORDS("pid", "number"), NULL);
    assert_int_equal(table->n_fields, 2);
    assert_string_equal(table->fields[0], "pid");
    assert_int_equal(table->n_rows, 2);
    assert_int_equal(number(table, 0, "pid"), 1003);
    assert_int_equal(number(table, 1, "number"), 1);

    assert_null(ask(rig, "executors", NULL, WORDS("colour"), NULL));
    assert_int_equal(rig->reply->err, GRANARY_EINVAL);
    assert_non_null(strstr(rig->reply->message, "no field 'colour': there are number, pid, state"));
    assert_null(ask(rig, "ghosts", NULL, NULL, NULL));
    assert_int_equal(rig->reply->err, GRANARY_EINVAL);
    assert_non_null(strstr(rig->reply->message, "no subject 'ghosts': there are schedulers, executors"));

    assert_null(ask(rig, "executors", WORDS("1", "9", "x"), NULL, NULL));
    assert_int_equal(rig->reply->err, GRANARY_ENOENT);
    assert_string_equal(rig->reply->message, "executors: not found: '9', 'x': `granary info executors` lists them");
    lenient.ignore_missing = true;
    table = ask(rig, "executors", WORDS("9", "2"), NULL, &lenient);
    assert_int_equal(table->n_rows, 1);
    assert_int_equal(number(table, 0, "number"), 2);
    rig_destroy(rig);
}

/* Pages follow one another without a gap, whatever their size, also when rows come and go between them. */
static void
pages_give_every_row_once(void **state)
{
    struct rig *rig = rig_create(1, 1000);
    char key[16];

    (void)state;
    for (int i = 0; i < 10; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        rig_submit(rig, key, LINES("!a make", "!b make", "!c make"));
    }
    for (uint32_t limit = 1; limit <= 31; limit++) {
        Granary__Info page = GRANARY__INFO__INIT;
        size_t rows = 0;
        char last[64] = "";

        page.limit = limit;
        do {
            const Granary__Table *table = ask(rig, "subtasks", NULL, WORDS("subtask", "node"), &page);

            assert_true(table->n_rows <= limit);
            for (size_t i = 0; i < table->n_rows; i++) {
                assert_true(strcmp(last, text(table, i, "subtask")) < 0);
                (void)snprintf(last, sizeof last, "%s", text(table, i, "subtask"));
            }
            rows += table->n_rows;
            page.cursor = table->cursor;
        } while (page.cursor != 0);
        assert_int_equal(rows, 30);
    }
    {
        Granary__Info page = GRANARY__INFO__INIT;
        const Granary__Table *table;

        page.limit = 4;
        table = ask(rig, "subtasks", WORDS("k3", "k1/2", "k0"), WORDS("subtask"), &page);
        assert_string_equal(text(table, 3, "subtask"), "k1/2");
        page.cursor = table->cursor;
        table = ask(rig, "subtasks", WORDS("k3", "k1/2", "k0"), WORDS("subtask"), &page);
        assert_int_equal(table->n_rows, 3);
        assert_string_equal(text(table, 0, "subtask"), "k0/0");
        assert_int_equal(table->cursor, 0);
    }
    rig_destroy(rig);
}

static void
a_subtask_is_told_with_its_moments(void **state)
{
    struct rig *rig = rig_create(1, 1000);
    const Granary__Table *table;

    (void)state;
    has_page(rig);
    rig_submit(rig, "k", LINES("a make", "!b make a"));
    table = ask(rig, "subtasks", WORDS("k"), NULL, NULL);
    assert_string_equal(text(table, 0, "subtask"), "k/0");
    assert_string_equal(text(table, 0, "node"), "a");
    assert_string_equal(text(table, 0, "ops"), "make");
    assert_string_equal(text(table, 0, "state"), "running");
    assert_int_equal(number(table, 0, "executor"), 1);
    assert_int_equal(number(table, 0, "started_ns"), 2000000); /* as the page says */
    assert_int_equal(number(table, 0, "sent_ns"), 1000000);
    assert_string_equal(text(table, 1, "state"), "waiting");
    assert_int_equal(number(table, 1, "ready_ns"), 0);
    rig_report(rig, GRANARY_OK);
    table = ask(rig, "subtasks", WORDS("k"), NULL, NULL);
    assert_string_equal(text(table, 0, "state"), "succeeded");
    assert_int_equal(number(table, 0, "ended_ns"), 12000000);
    assert_int_equal(number(table, 0, "out_bytes"), 100);
    assert_int_equal(number(table, 0, "in_bytes"), 7);
    assert_int_equal(number(table, 1, "ready_ns"), 12000000); /* when its input was made */
    assert_int_equal(number(table, 1, "sent_ns"), 12000000);
    rig_destroy(rig);
}

/* All attempts are told, those of executors that died and of graphs that have failed too, until the graph is gone. */
static void
runs_are_told_after_the_graph_has_ended(void **state)
{
    struct rig *rig = rig_create(2, 1000);
    const Granary__Table *table;
    uint32_t first;

    (void)state;
    rig_submit(rig, "k", LINES("!a make"));
    first = rig->given[0].executor;
    rig->count = 0;
    manager_executor_died(rig->manager, first);
    rig_turn(rig);
    assert_int_equal(rig->count, 1);
    rig_report(rig, GRANARY_EFAILED);
    table = ask(rig, "runs", WORDS("k"), NULL, NULL);
    assert_int_equal(table->n_rows, 2);
    assert_string_equal(text(table, 0, "run"), "k/0.1");
    assert_string_equal(text(table, 0, "error"), "ELOST");
    assert_int_equal(number(table, 0, "executor"), first);
    assert_string_equal(text(table, 1, "run"), "k/0.2");
    assert_string_equal(text(table, 1, "error"), "EFAILED");
    assert_string_equal(text(table, 1, "message"), "as told");
    assert_string_equal(text(table, 1, "node"), "a");
    table = ask(rig, "subtasks", WORDS("k/0"), NULL, NULL);
    assert_string_equal(text(table, 0, "state"), "failed");
    assert_string_equal(text(table, 0, "error"), "EFAILED: as told");
    rig_destroy(rig);
}

static void
executors_and_bands_are_told(void **state)
{
    struct rig *rig = rig_create(3, 1000);
    const Granary__Table *table;

    (void)state;
    has_page(rig);
    rig_submit(rig, "k", LINES("!a make"));
    table = ask(rig, "executors", NULL, NULL, NULL);
    assert_int_equal(table->n_rows, 3);
    assert_string_equal(text(table, 0, "phase"), "lease");
    assert_string_equal(text(table, 0, "graph"), "k");
    assert_int_equal(number(table, 0, "slot"), 7);
    assert_int_equal(number(table, 0, "rss_bytes"), 4096);
    assert_int_equal(number(table, 0, "since_ms"), DRIVE_UNIX_NS / 1000000 + 2);
    assert_int_equal(number(table, 2, "slot"), -1);
    assert_int_equal(number(table, 0, "queued") + number(table, 1, "queued") + number(table, 2, "queued"), 1);
    table = ask(rig, "bands", NULL, NULL, NULL);
    assert_int_equal(table->n_rows, 2);
    assert_int_equal(number(table, 0, "executors"), 1);
    assert_int_equal(number(table, 1, "executors"), 2);
    assert_null(ask(rig, "bands", WORDS("5"), NULL, NULL));
    assert_int_equal(rig->reply->err, GRANARY_ENOENT);
    table = ask(rig, "sessions", WORDS("s"), NULL, NULL);
    assert_int_equal(number(table, 0, "graphs"), 1);
    assert_int_equal(number(table, 0, "running"), 1);
    rig_destroy(rig);
}

static void
results_are_told_chunk_by_chunk(void **state)
{
    struct rig *rig = rig_create(1, 1000);
    char id[GRANARY_ID_TEXT + 1];
    const Granary__Table *table;

    (void)state;
    rig_submit(rig, "a/b", LINES("!x make", "!y make")); /* a key with a slash */
    rig_report(rig, GRANARY_OK);
    table = ask(rig, "chunks", WORDS("a/b"), NULL, NULL);
    assert_int_equal(table->n_rows, 2);
    granary_id_format(fake_plan_object("a/b", 0), id);
    assert_string_equal(text(table, 0, "id"), id);
    assert_string_equal(text(table, 0, "target"), "x");
    assert_int_equal(number(table, 0, "there"), 1);
    assert_int_equal(number(table, 0, "rows"), 10);
    assert_int_equal(number(table, 0, "band"), 1);
    assert_int_equal(number(table, 1, "there"), 0);
    table = ask(rig, "tileables", WORDS("a/b/x", "a/b/y"), NULL, NULL);
    assert_int_equal(table->n_rows, 2);
    assert_string_equal(text(table, 0, "key"), "a/b/x");
    assert_string_equal(text(table, 0, "dtypes"), "a:INT64");
    assert_string_equal(text(table, 0, "shape"), "10");
    assert_int_equal(number(table, 0, "complete"), 1);
    assert_string_equal(text(table, 1, "shape"), "?");
    assert_int_equal(number(table, 1, "complete"), 0);
    rig_report(rig, GRANARY_OK);
    table = ask(rig, "chunks", WORDS("a/b/y"), NULL, NULL);
    assert_int_equal(table->n_rows, 1);
    assert_int_equal(number(table, 0, "bytes"), 100);
    assert_null(ask(rig, "tileables", WORDS("a/b/z"), NULL, NULL));
    assert_int_equal(rig->reply->err, GRANARY_ENOENT);
    rig_destroy(rig);
}

/* Whatever a client asks, the answer is an error or a table, and soon there. */
static void
nonsense_is_answered(void **state)
{
    static const char *const subjects[] = {"schedulers", "executors", "bands",     "graphs",    "subtasks",
                                           "runs",       "chunks",    "tileables", "functions", "sessions"};
    static const uint64_t cursors[] = {1, 2, 0x7fffffff, 0x80000001, 0xffffffff, 1ull << 32, 1ull << 40, UINT64_MAX};
    struct rig *rig = rig_create(3, 1000);
    const char **many = calloc(5001, sizeof *many);

    (void)state;
    rig_submit(rig, "k", LINES("!a make", "!b make a"));
    rig_report(rig, GRANARY_OK);
    for (size_t s = 0; s < sizeof subjects / sizeof subjects[0]; s++) {
        for (size_t c = 0; c < sizeof cursors / sizeof cursors[0]; c++) {
            Granary__Info query = GRANARY__INFO__INIT;

            query.cursor = cursors[c];
            query.limit = UINT32_MAX;
            query.timeout_ms = INT64_MIN;
            assert_non_null(ask(rig, subjects[s], NULL, NULL, &query));
            query.ignore_missing = true;
            assert_non_null(
                ask(rig, subjects[s], WORDS("k", "1", "k/0", "", "/", "k/18446744073709551616"), NULL, &query));
        }
        assert_null(ask(rig, subjects[s], WORDS("\xff\xfe%s%n"), NULL, NULL));
        assert_int_equal(rig->reply->err, GRANARY_ENOENT);
    }
    for (size_t i = 0; i < 5000; i++) {
        many[i] = i < 40 ? "key" : "k";
    }
    assert_null(ask(rig, "subtasks", many, NULL, NULL));
    assert_int_equal(rig->reply->err, GRANARY_EINVAL);
    many[40] = NULL;
    assert_null(ask(rig, "graphs", NULL, many, NULL));
    assert_int_equal(rig->reply->err, GRANARY_EINVAL);
    free(many);
    rig_destroy(rig);
}

/* Between an answer and the next question nothing is missed; what does not change is not answered before its time. */
static void
a_change_is_waited_for(void **state)
{
    struct rig *rig = rig_create(1, 1000);
    Granary__Info since = GRANARY__INFO__INIT;
    const Granary__Table *table;
    uint64_t waiting;

    (void)state;
    table = ask(rig, "executors", NULL, NULL, NULL);
    since.since_version = table->version;
    since.timeout_ms = 50;
    assert_null(ask(rig, "executors", NULL, NULL, &since));
    waiting = rig->ticket;
    assert_int_equal(manager_deadline(rig->manager), rig->now_ns + 50000000);
    manager_executor_joined(rig->manager, 8, 0, 4242);
    rig_turn(rig);
    assert_int_equal(rig->answered, waiting);
    assert_int_equal(rig->reply->table->n_rows, 2);
    assert_true(rig->reply->table->version > since.since_version);
    /* With the old version again: there was a change since, so the answer comes at once. */
    assert_non_null(ask(rig, "executors", NULL, NULL, &since));

    since.since_version = rig->reply->table->version;
    assert_null(ask(rig, "executors", NULL, NULL, &since));
    waiting = rig->ticket;
    rig->now_ns += 60000000;
    manager_expire(rig->manager, rig->now_ns);
    rig_turn(rig);
    assert_int_equal(rig->answered, waiting);
    assert_int_equal(rig->reply->err, GRANARY_ETIMEDOUT);
    assert_int_equal(manager_deadline(rig->manager), INT64_MAX);
    /* One that still waits is let go with the manager. */
    assert_null(ask(rig, "executors", NULL, NULL, &since));
    rig_destroy(rig);
}

/* A later scheduler's versions are above an earlier one's, so nobody waits for a number that never comes. */
static void
versions_outlive_a_scheduler(void **state)
{
    struct rig *rig = rig_create(1, 1000);
    struct manager_options later = {.unix_offset_ns = DRIVE_UNIX_NS + 1000000};
    Granary__Info since = GRANARY__INFO__INIT;
    const Granary__Table *table;

    (void)state;
    table = ask(rig, "executors", NULL, NULL, NULL);
    since.since_version = table->version;
    since.timeout_ms = 1000;
    manager_destroy(rig->manager);
    rig->manager = manager_create(&later);
    assert_non_null(ask(rig, "executors", NULL, NULL, &since));
    rig_destroy(rig);
}

/* What is exported is told, and how it was used; the same name in another session is another function. */
static void
functions_are_told_with_what_they_took(void **state)
{
    struct rig *rig = rig_create(1, 1000);
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__Library library = GRANARY__LIBRARY__INIT;
    Granary__Symbol symbols[] = {GRANARY__SYMBOL__INIT, GRANARY__SYMBOL__INIT};
    Granary__Symbol *pointers[] = {&symbols[0], &symbols[1]};
    uint8_t id[16] = {1};
    const Granary__Table *table;

    (void)state;
    symbols[0].name = (char *)(uintptr_t) "halve";
    symbols[0].inputs_min = 1;
    symbols[0].inputs_max = 2;
    symbols[0].outputs = 1;
    symbols[0].summary = (char *)(uintptr_t) "half of it";
    symbols[1].name = (char *)(uintptr_t) "model";
    symbols[1].is_reusable = true;
    library.session = (char *)(uintptr_t) "s";
    library.name = (char *)(uintptr_t) "taxi";
    library.version = (char *)(uintptr_t) "00112233445566778899aabbccddeeff";
    library.object = (ProtobufCBinaryData){.len = sizeof id, .data = id};
    library.symbols = pointers;
    library.n_symbols = 2;
    message.body_case = GRANARY__REQUEST__BODY_EXPORT;
    message.export = &library;
    manager_request(rig->manager, ++rig->ticket, &message, rig->now_ns);
    rig_turn(rig);
    assert_int_equal(rig->reply->err, GRANARY_OK);

    table = ask(rig, "functions", NULL, NULL, NULL);
    assert_int_equal(table->n_rows, 2);
    assert_string_equal(text(table, 0, "name"), "taxi:halve");
    assert_string_equal(text(table, 0, "session"), "s");
    assert_string_equal(text(table, 0, "inputs"), "1-2");
    assert_string_equal(text(table, 0, "summary"), "half of it");
    assert_int_equal(number(table, 0, "calls"), 0);
    assert_string_equal(text(table, 1, "kind"), "reusable");
    table = ask(rig, "functions", WORDS("halve"), NULL, NULL);
    assert_int_equal(table->n_rows, 1);
    table = ask(rig, "functions", WORDS("taxi:model", "taxi"), NULL, NULL);
    assert_int_equal(table->n_rows, 3);
    assert_null(ask(rig, "functions", WORDS("taxi:nosuch"), NULL, NULL));
    assert_int_equal(rig->reply->err, GRANARY_ENOENT);
    rig_destroy(rig);
}

static void
calls_are_counted_by_function(void **state)
{
    struct function_stats *stats = function_stats_create();
    Granary__Subtask message = GRANARY__SUBTASK__INIT;
    Granary__ChunkOp op = GRANARY__CHUNK_OP__INIT;
    Granary__ChunkOp *ops[] = {&op};
    Granary__Attr *attrs[] = {gr_attr_new_string("library", "taxi"), gr_attr_new_string("version", "v"),
                              gr_attr_new_string("function", "halve")};
    const struct user_code code = {.function = 77};
    uint8_t packed[256];
    struct subtask subtask = {.packed = packed};
    struct function_count count;

    (void)state;
    op.op = (char *)(uintptr_t) "call";
    op.attrs = attrs;
    op.n_attrs = 3;
    message.ops = ops;
    message.n_ops = 1;
    subtask.packed_size = (uint32_t)granary__subtask__pack(&message, packed);
    function_stats_note(stats, "s", &subtask, &code, GRANARY_OK, 100);
    function_stats_note(stats, "s", &subtask, &code, GRANARY_EFAILED, 300);
    function_stats_note(stats, "other", &subtask, &code, GRANARY_OK, 5);
    count = function_stats_find(stats, "s", "taxi", "v", "halve");
    assert_int_equal(count.calls, 2);
    assert_int_equal(count.failures, 1);
    assert_int_equal(count.mean_ns, 200);
    assert_int_equal(function_stats_find(stats, "other", "taxi", "v", "halve").calls, 1);
    assert_int_equal(function_stats_find(stats, "s", "taxi", "w", "halve").calls, 0);
    for (size_t i = 0; i < 3; i++) {
        granary__attr__free_unpacked(attrs[i], NULL);
    }
    function_stats_destroy(stats);
}

/* The last ones are kept, and found by their place as long as they are there. */
static void
records_are_a_ring(void **state)
{
    enum { RECORDS = 1000 };
    struct records *records = records_create(RECORDS);
    uint32_t first = 0;

    (void)state;
    for (uint32_t i = 0; i <= RECORDS; i++) {
        struct record record = {.number = i + 1, .texts = record_texts(i % 2 == 0 ? "log" : "", "why")};
        uint32_t place = records_add(records, &record);

        first = i == 0 ? place : first;
        assert_non_null(records_get(records, place, i + 1));
        assert_string_equal(record_log(records_get(records, place, i + 1)), i % 2 == 0 ? "log" : "");
        assert_string_equal(record_message(records_get(records, place, i + 1)), "why");
    }
    assert_null(records_get(records, first, 1));
    assert_null(records_get(records, RECORD_NONE, 1));
    assert_int_equal(records_first(records), 1);
    assert_int_equal(records_end(records), RECORDS + 1);
    records_destroy(records);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_told_from_submission_to_its_end),
        cmocka_unit_test(fields_and_keys_are_chosen_and_checked),
        cmocka_unit_test(pages_give_every_row_once),
        cmocka_unit_test(a_subtask_is_told_with_its_moments),
        cmocka_unit_test(runs_are_told_after_the_graph_has_ended),
        cmocka_unit_test(executors_and_bands_are_told),
        cmocka_unit_test(results_are_told_chunk_by_chunk),
        cmocka_unit_test(nonsense_is_answered),
        cmocka_unit_test(a_change_is_waited_for),
        cmocka_unit_test(versions_outlive_a_scheduler),
        cmocka_unit_test(functions_are_told_with_what_they_took),
        cmocka_unit_test(calls_are_counted_by_function),
        cmocka_unit_test(records_are_a_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
