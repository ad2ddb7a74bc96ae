/* What is refused of mutable frames, and how it is told. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "granary/session.h"
#include "integration/store/fixture.h"
#include "mutable_tools.h"

static void
mistakes_are_named(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "t"), *none = NULL;
    const granary_column text = {.name = "n", .dtype = GRANARY_STRING}, other = {.name = "m", .dtype = GRANARY_INT64};
    const granary_mutable_options options = {.flags = GRANARY_MUTABLE_OPEN};
    int64_t value = 1;

    assert_err(granary_mutable_create_frame(client, "t", &number_column, 1, NULL, &none), GRANARY_EEXIST);
    assert_err(granary_mutable_create_frame(client, "t", &text, 1, &options, &none), GRANARY_ETYPE);
    check_named("table 't': column 0 is 'n' of int64, not 'n' of string", "'t'");
    assert_ok(granary_mutable_create_frame(client, "t", &number_column, 1, &options, &none));
    granary_mutable_close(none);
    assert_err(granary_mutable_create_frame(client, "u", &number_column, 0, NULL, &none), GRANARY_EINVAL);
    assert_err(granary_mutable_create_frame(client, "", &number_column, 1, NULL, &none), GRANARY_EINVAL);
    assert_err(granary_mutable_open(client, "u", &none), GRANARY_ENOENT);
    assert_err(granary_mutable_append(table, &other, 1, 1, NULL, NULL), GRANARY_ETYPE);
    check_named("table 't': column 0 is 'n' of int64, not 'm'", "'t'");
    assert_err(granary_mutable_append(table, &number_column, 1, -1, NULL, NULL), GRANARY_EINVAL);
    check_named("table 't': -1 rows", "'t'");
    assert_err(granary_mutable_write(table, NULL, 0, &(granary_tensor){.dims = 0}, NULL, NULL), GRANARY_ETYPE);
    check_named("table 't': it is a frame", "'t'");
    assert_err(granary_mutable_append(table, &number_column, 1, 1, NULL, NULL), GRANARY_EINVAL); /* no values */
    assert_err(append_number(table, 1, INT64_MAX, NULL), GRANARY_EINVAL);
    assert_ok(granary_object_put(client, fixture_id(1), "x", 1, NULL, 0, 0));
    assert_ok(granary_name_set(client, "object", fixture_id(1), GRANARY_NAME_NEW, (granary_id){{0}}, NULL));
    assert_err(granary_mutable_open(client, "object", &none), GRANARY_ETYPE);
    assert_ok(append_number(table, value, 0, NULL));
    check_numbers(table, GRANARY_NOW, &value, 1);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* Whether a process of its own does not get the table's lock in so many seconds. */
static bool
is_locked(const struct daemon *daemon, unsigned seconds)
{
    const pid_t child = fork();
    granary_client *client;
    granary_mutable *table;
    int status;

    if (child == 0) {
        (void)alarm(seconds);
        _exit(granary_connect(&(granary_connect_options){.instance = daemon->directory}, &client) != GRANARY_OK ||
              granary_mutable_open(client, "t", &table) != GRANARY_OK || granary_mutable_lock(table) != GRANARY_OK);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
}

/* The child closes what is the parent's, and the parent's chunk, lane and lock stay what they are. */
static void
a_child_changes_nothing_of_its_parents(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "t");
    int64_t sum;
    int status;
    pid_t child;

    assert_ok(append_number(table, 0, 0, NULL));
    assert_ok(granary_mutable_lock(table));
    child = fork();
    if (child == 0) {
        const bool refused =
            granary_mutable_lock(table) == GRANARY_EFORKED && append_number(table, 1, 0, NULL) == GRANARY_EFORKED;

        granary_mutable_unlock(table);
        granary_mutable_close(table);
        granary_disconnect(client);
        _exit(!refused);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(is_locked(*state, 1));
    granary_mutable_unlock(table);
    assert_false(is_locked(*state, 60));
    for (int64_t i = 1; i <= 1000; i++) { /* more than the chunk has room for */
        assert_ok(append_number(table, i, 0, NULL));
    }
    assert_int_equal(count_numbers(table, GRANARY_NOW, &sum), 1001);
    assert_int_equal(sum, 500500);
    granary_mutable_close(table);
    granary_disconnect(client);
}

static void
a_strict_session_has_no_tables(void **state)
{
    const struct daemon *daemon = *state;
    const granary_session_options strict = {.strict = true};
    granary_client *maker = fixture_connect(state);
    granary_client *client = NULL;
    granary_mutable *table = NULL;

    assert_ok(granary_session_create(maker, "strict", &strict));
    assert_ok(granary_connect(&(granary_connect_options){.instance = daemon->directory, .session = "strict"}, &client));
    assert_ok(granary_mutable_create_frame(client, "t", &number_column, 1, NULL, &table));
    assert_err(append_number(table, 1, 0, NULL), GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "session 'strict' is strict"));
    granary_mutable_close(table);
    granary_disconnect(client);
    granary_disconnect(maker);
}

/* Memory is full of what others hold: the append says so, and the next one works. */
static void
an_append_without_room_is_nothing(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "full");
    const int64_t rows = 2000000; /* 16 MB */
    int64_t *values = calloc((size_t)rows, sizeof *values);
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = rows, .values = values};
    const granary_write_options options = {.timeout_ms = 50};
    granary_view held[2];
    int64_t sum = 0;

    assert_ok(append_number(table, 7, 0, NULL));
    for (uint64_t i = 0; i < 2; i++) {
        assert_ok(fixture_put(other, i, (uint64_t)30 << 20, 0));
        assert_ok(granary_object_get(other, fixture_id(i), 10000, &held[i]));
    }
    assert_err(granary_mutable_append(table, &column, 1, rows, &options, NULL), GRANARY_EFULL);
    assert_int_equal(count_numbers(table, GRANARY_NOW, &sum), 1);
    granary_object_release_many(other, held, 2);
    assert_ok(granary_mutable_append(table, &column, 1, rows, NULL, NULL));
    assert_ok(append_number(table, 7, 0, NULL));
    assert_int_equal(count_numbers(table, GRANARY_NOW, &sum), rows + 2);
    assert_int_equal(sum, 14);
    free(values);
    granary_mutable_close(table);
    granary_disconnect(client);
    granary_disconnect(other);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(mistakes_are_named, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_child_changes_nothing_of_its_parents, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_strict_session_has_no_tables, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(an_append_without_room_is_nothing, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
