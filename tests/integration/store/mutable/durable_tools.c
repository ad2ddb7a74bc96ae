/* Durable tables of numbers, and the power that goes. */
#include "durable_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "integration/store/fixture.h"
#include "unit/data/frames.h"

const granary_mutable_options on_commit = {.durability = GRANARY_DURABLE_COMMIT};

granary_mutable *
make_durable(granary_client *client, const char *name, const granary_mutable_options *options)
{
    granary_mutable *table = NULL;

    assert_ok(granary_mutable_create_frame(client, name, &number_column, 1, options, &table));
    return table;
}

granary_err
append_numbers(granary_mutable *table, int64_t first, int64_t rows, int64_t time, int64_t *ret_time)
{
    int64_t *values = calloc((size_t)rows + 1, sizeof *values);
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = rows, .values = values};
    const granary_write_options options = {.time = time};
    granary_err err;

    for (int64_t i = 0; i < rows; i++) {
        values[i] = first + i;
    }
    err = granary_mutable_append(table, &column, 1, rows, &options, ret_time);
    free(values);
    return err;
}

/* The numbers at a time are from, from + 1, ... in any order. */
void
check_run(granary_mutable *table, int64_t time, int64_t from, int64_t count)
{
    granary_frame *frame = NULL;
    bool *seen = calloc((size_t)count + 1, sizeof *seen);

    assert_ok(granary_mutable_read_frame(table, time, &frame));
    assert_int_equal(granary_frame_rows(frame), count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t n = int_at(frame, "n", i) - from;

        assert_true(n >= 0 && n < count && !seen[n]);
        seen[n] = true;
    }
    granary_frame_close(frame);
    free(seen);
}

/* ---- power cuts ---- */

granary_client *
power_on(void **state, granary_client *client, granary_mutable *table)
{
    granary_mutable_close(table);
    granary_disconnect(client);
    fixture_power_on(state);
    return fixture_connect_briefly(state);
}

granary_client *
cut_power(void **state, granary_client *client, granary_mutable *table)
{
    fixture_power_off(state);
    return power_on(state, client, table);
}

/* The store ends in order, with all that it has to do. */
void
stop_orderly(void **state)
{
    struct daemon *daemon = *state;

    assert_int_equal(kill(daemon->pid, SIGTERM), 0);
    assert_int_equal(fixture_wait(daemon->pid), 0);
    daemon->pid = 0;
}

static int
count_files(void **state)
{
    const struct daemon *daemon = *state;
    char command[200];
    FILE *found;
    int count = -1;

    (void)snprintf(command, sizeof command, "find %s -name 'spill.*' | wc -l", daemon->directory);
    found = popen(command, "r");
    assert_non_null(found);
    assert_int_equal(fscanf(found, "%d", &count), 1);
    (void)pclose(found);
    return count;
}

/* Delete a persistent object, and wait until its file is gone. */
void
delete_from_disk(void **state, granary_client *client, granary_id id)
{
    const int before = count_files(state);

    assert_ok(granary_object_delete(client, id, 0));
    while (count_files(state) == before) {
    }
}
