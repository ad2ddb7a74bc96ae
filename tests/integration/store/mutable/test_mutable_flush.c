/* How durable tables come to disk: in pieces, on intervals, several writers at once; and disks that are full or damaged. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "durable_tools.h"
#include "integration/store/fixture.h"
#include "mutable/durable/flush.h"
#include "mutable/durable/piece.h"
#include "mutable/durable/root.h"
#include "mutable/table.h"

#define FULL_ROWS 1000

/* ---- pieces ---- */

/* How many pieces a table has. */
static int
count_pieces(granary_client *client, granary_id table)
{
    int count = 0;

    for (uint32_t level = 0; level < GR_PIECE_LEVELS; level++) {
        for (uint64_t i = 0; i < 2000; i++) {
            count += granary_object_contains(client, piece_id(table, level, i));
        }
    }
    return count;
}

static void
pieces_become_few(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);
    int64_t n = 0;

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100 + round; i++, n++) {
            assert_ok(append_number(table, n, 100 + n, NULL));
        }
        assert_true(count_pieces(client, table->id) <= 15 * 3);
        client = cut_power(state, client, table);
        table = open_table(client, "t");
        check_run(table, GRANARY_NOW, 0, n);
        check_run(table, 100 + n / 2, 0, n / 2 + 1);
    }
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* More than a piece takes, and than memory has at once; half of it in rows of chunks that are full. */
static void
large_writes_take_several_pieces(void **state)
{
    const int64_t rows = 6000000; /* 48 MB */
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);
    granary_id id;

    assert_ok(append_numbers(table, 0, rows, 10, NULL));
    assert_ok(append_number(table, rows, 20, NULL));
    assert_true(count_pieces(client, table->id) > 2);
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, rows + 1);
    assert_ok(append_number(table, rows + 1, 30, NULL));
    /* The second of its pieces is not there: then nothing of the write is. */
    id = piece_id(table->id, 0, 1);
    delete_from_disk(state, client, id);
    client = cut_power(state, client, table);
    table = NULL;
    assert_err(granary_mutable_open(client, "t", &table), GRANARY_ECORRUPT);
    assert_ok(granary_mutable_recover(client, "t"));
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 0);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* What an interval promises: in the end what was written is on disk, though nobody asks for it. */
static void
intervals_end(void **state)
{
    const granary_mutable_options options = {.durability = GRANARY_DURABLE_INTERVAL, .interval_ns = 2000000};
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &options);
    int64_t n = 0;

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 50; i++) {
            assert_ok(append_number(table, n++, 0, NULL));
        }
        while (flush_is_behind(table)) {
            (void)usleep(100);
        }
        client = cut_power(state, client, table);
        table = open_table(client, "t");
        check_run(table, GRANARY_NOW, 0, n);
    }
    assert_ok(append_number(table, n++, 0, NULL));
    assert_ok(granary_mutable_flush(table));
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, n);
    assert_ok(append_number(table, n++, 0, NULL));
    granary_mutable_close(table); /* which flushes */
    client = cut_power(state, client, NULL);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, n);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* ---- several at once ---- */

struct committer {
    void **state;
    int64_t first, count;
    pthread_t thread;
};

static void *
commit_some(void *context)
{
    const struct committer *committer = context;
    granary_client *client = fixture_connect_briefly(committer->state);
    granary_mutable *table = open_table(client, "t");

    for (int64_t i = 0; i < committer->count; i++) {
        assert_ok(append_number(table, committer->first + i, 0, NULL));
    }
    granary_mutable_close(table);
    granary_disconnect(client);
    return NULL;
}

static void
several_commit_together(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);
    struct committer committers[4];

    for (int64_t i = 0; i < 4; i++) {
        committers[i] = (struct committer){.state = state, .first = i * 50, .count = 50};
        assert_int_equal(pthread_create(&committers[i].thread, NULL, commit_some, &committers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(committers[i].thread, NULL), 0);
    }
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 200);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* Three have committed while somebody else was flushing: one of them flushes for all. */
static void
one_flush_serves_all_who_wait(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);
    struct gr_mutable *page = table->page.page;
    struct committer committers[3];
    uint32_t behind;

    assert_ok(page_enter(&table->page, GR_MUTABLE_LOCK_DISK));
    for (int64_t i = 0; i < 3; i++) {
        committers[i] = (struct committer){.state = state, .first = i, .count = 1};
        assert_int_equal(pthread_create(&committers[i].thread, NULL, commit_some, &committers[i]), 0);
    }
    do {
        behind = 0;
        for (uint32_t i = 0; i < 3; i++) {
            behind += GR_LANE_COUNT(atomic_load(&page->lane[i].word)) > 0;
        }
        (void)sched_yield();
    } while (behind < 3);
    assert_int_equal(atomic_load(&page->pieces), 0);
    page_leave(&table->page, GR_MUTABLE_LOCK_DISK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(committers[i].thread, NULL), 0);
    }
    assert_int_equal(atomic_load(&page->pieces), 1);
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 3);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* ---- disks ---- */

static void
a_full_disk_promises_nothing(void **state)
{
    static const char *const little_disk[] = {"--memory", "64M", "--disk-quota", "300K", NULL};
    struct daemon *daemon = *state;
    granary_client *client;
    granary_mutable *table;
    int64_t rows = 0, sum;
    granary_err err;

    fixture_power_off(state);
    assert_true(daemon_restart(daemon, little_disk));
    client = fixture_connect_briefly(state);
    table = make_durable(client, "t", &on_commit);
    while ((err = append_numbers(table, rows, FULL_ROWS, 10 + rows, NULL)) == GRANARY_OK) {
        rows += FULL_ROWS;
        assert_true(rows < 1000000);
    }
    assert_int_equal(err, GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), "visible to readers, but not on disk"));
    assert_int_equal(count_numbers(table, GRANARY_NOW, &sum), rows + FULL_ROWS);
    assert_err(append_number(table, 1000000, 1000000, NULL), GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), "nothing was written"));
    assert_int_equal(count_numbers(table, GRANARY_NOW, &sum), rows + FULL_ROWS);
    assert_err(granary_mutable_flush(table), GRANARY_EFULL);
    client = cut_power(state, client, table); /* with a disk that has room */
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, rows);
    assert_ok(append_number(table, rows, 2000000, NULL));
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, rows + 1);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* Flip a byte in the middle of the file of an object that lies on disk only. */
static void
damage(void **state, granary_client *client, granary_id id)
{
    const struct daemon *daemon = *state;
    granary_object_info info;
    char command[300];

    assert_ok(granary_object_info_get(client, id, &info));
    assert_int_equal(info.state, GRANARY_OBJECT_SPILLED);
    (void)snprintf(command, sizeof command,
                   "f=$(find %s -name 'spill.%u') && printf '\\377\\376' | dd of=\"$f\" bs=1 seek=200 conv=notrunc "
                   "2>/dev/null",
                   daemon->directory, info.segment);
    assert_int_equal(system(command), 0);
}

static void
a_damaged_piece_is_named(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);
    char text[GRANARY_ID_TEXT + 1];
    granary_id id;

    for (int i = 0; i < 10; i++) {
        assert_ok(append_number(table, i, 10 + i, NULL));
    }
    id = piece_id(table->id, 0, 6);
    granary_id_format(id, text);
    client = cut_power(state, client, table);
    damage(state, client, id);
    assert_err(granary_mutable_open(client, "t", &table), GRANARY_ECORRUPT);
    assert_non_null(strstr(granary_error_message(), text));
    assert_ok(granary_mutable_recover(client, "t"));
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 6);
    assert_err(granary_mutable_recover(client, "t"), GRANARY_ESTATE);
    assert_ok(append_number(table, 6, 50, NULL));
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 7);
    /* One that is missing is told of, too, while there are later ones. */
    delete_from_disk(state, client, piece_id(table->id, 0, 2));
    client = cut_power(state, client, table);
    assert_err(granary_mutable_open(client, "t", &table), GRANARY_ECORRUPT);
    assert_non_null(strstr(granary_error_message(), "missing"));
    assert_ok(granary_mutable_recover(client, "t"));
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 2);
    granary_mutable_close(table);
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pieces_become_few, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(large_writes_take_several_pieces, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(intervals_end, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(several_commit_together, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(one_flush_serves_all_who_wait, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_full_disk_promises_nothing, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_damaged_piece_is_named, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
