/* A table of numbers, and what random operations share. */
#include "mutable_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "integration/store/fixture.h"
#include "unit/data/frames.h"

const granary_column number_column = {.name = "n", .dtype = GRANARY_INT64};

granary_mutable *
make_numbers(granary_client *client, const char *name)
{
    granary_mutable *table = NULL;

    assert_ok(granary_mutable_create_frame(client, name, &number_column, 1, NULL, &table));
    return table;
}

granary_mutable *
open_table(granary_client *client, const char *name)
{
    granary_mutable *table = NULL;

    assert_ok(granary_mutable_open(client, name, &table));
    return table;
}

granary_err
append_number(granary_mutable *table, int64_t value, int64_t time, int64_t *ret_time)
{
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = 1, .values = &value};
    const granary_write_options options = {.time = time};

    return granary_mutable_append(table, &column, 1, 1, &options, ret_time);
}

/* The numbers at a time are these. */
void
check_numbers(granary_mutable *table, int64_t time, const int64_t *numbers, int64_t count)
{
    granary_frame *frame = NULL;

    assert_ok(granary_mutable_read_frame(table, time, &frame));
    assert_int_equal(granary_frame_rows(frame), count);
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(int_at(frame, "n", i), numbers[i]);
    }
    granary_frame_close(frame);
}

int64_t
count_numbers(granary_mutable *table, int64_t time, int64_t *ret_sum)
{
    granary_frame *frame = NULL;
    int64_t rows;

    assert_ok(granary_mutable_read_frame(table, time, &frame));
    rows = granary_frame_rows(frame);
    *ret_sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        *ret_sum += int_at(frame, "n", i);
    }
    granary_frame_close(frame);
    return rows;
}

/* The message of the last error begins with the name of a table, and does not repeat it. */
void
check_named(const char *kind_and_name, const char *name)
{
    const char *message = granary_error_message();

    assert_memory_equal(message, kind_and_name, strlen(kind_and_name));
    assert_null(strstr(message + strlen(kind_and_name), name));
}

/* ---- this program as another process ---- */

pid_t
start_self(void **state, const char *what, const char *point, int *ret_said)
{
    const struct daemon *daemon = *state;
    char fault[80];
    int pipes[2];
    pid_t pid;

    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (pid == 0) {
        (void)dup2(pipes[1], STDOUT_FILENO);
        (void)close(pipes[0]);
        (void)close(pipes[1]);
        (void)snprintf(fault, sizeof fault, "%s:kill@1", point == NULL ? "" : point);
        if (point != NULL) {
            (void)setenv("GRANARY_FAULT", fault, 1);
        }
        (void)execl("/proc/self/exe", "self", what, daemon->directory, NULL);
        _exit(127);
    }
    (void)close(pipes[1]);
    *ret_said = pipes[0];
    return pid;
}

int64_t
drain(int said)
{
    char bytes[256];
    int64_t count = 0;
    ssize_t got;

    while ((got = read(said, bytes, sizeof bytes)) > 0) {
        count += got;
    }
    (void)close(said);
    return count;
}

granary_err
self_open(const char *directory, const char *name, granary_client **ret_client, granary_mutable **ret_table)
{
    const granary_connect_options options = {.instance = directory};
    const granary_err err = granary_connect(&options, ret_client);

    return err == GRANARY_OK ? granary_mutable_open(*ret_client, name, ret_table) : err;
}

/* ---- random operations ---- */

uint64_t
setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

uint64_t
draw(struct course *course, uint64_t below)
{
    course->seed = course->seed * 6364136223846793005u + 1442695040888963407u;
    return (course->seed >> 33) % below;
}

granary_mutable *
draw_handle(struct course *course)
{
    return course->handles[draw(course, course->handle_count)];
}

int64_t
draw_past(struct course *course)
{
    const int64_t time = course->frontier - (int64_t)draw(course, COURSE_BACK);

    return time < course->horizon ? course->horizon : time;
}

void
course_begin(struct course *course, granary_mutable *first)
{
    course->handles[0] = first;
    for (size_t i = 1; i < course->handle_count; i++) {
        course->handles[i] = open_table(course->client, course->name);
    }
    course->frontier = INT64_MIN / 4;
    course->newest = INT64_MIN;
    course->horizon = INT64_MIN;
}

void
course_end(struct course *course)
{
    for (size_t i = 0; i < course->handle_count; i++) {
        granary_mutable_close(course->handles[i]);
    }
    assert_ok(granary_mutable_delete(course->client, course->name));
}

bool
course_can_read(struct course *course, int64_t asked, int64_t *ret_time)
{
    int64_t time = asked == GRANARY_NOW ? course->newest : asked;

    if (asked == GRANARY_NOW && time < course->horizon) {
        time = course->horizon;
    }
    if (time < course->horizon) {
        return false;
    }
    course->frontier = time > course->frontier ? time : course->frontier;
    *ret_time = time;
    return true;
}

void
course_cut_power(struct course *course, void **state)
{
    granary_mutable_info info;

    fixture_power_off(state);
    for (size_t i = 0; i < course->handle_count; i++) {
        granary_mutable_close(course->handles[i]);
    }
    granary_disconnect(course->client);
    fixture_power_on(state);
    course->client = fixture_connect_briefly(state);
    for (size_t i = 0; i < course->handle_count; i++) {
        course->handles[i] = open_table(course->client, course->name);
    }
    assert_ok(granary_mutable_describe(course->client, course->name, &info));
    /* Times of writes that wrote nothing are forgotten, and so are those of reads behind the last write. */
    assert_true(info.newest <= course->newest && info.final >= info.newest);
    course->newest = info.newest;
    course->frontier = info.final > INT64_MIN / 4 ? info.final : INT64_MIN / 4;
}

void
course_reopen(struct course *course)
{
    granary_mutable **handle = &course->handles[draw(course, course->handle_count)];

    granary_mutable_close(*handle);
    *handle = NULL;
    assert_ok(granary_mutable_open(course->client, course->name, handle));
}

void
course_retain(struct course *course)
{
    const granary_retain retain = {.time = course->frontier - (int64_t)draw(course, COURSE_BACK * 2 / 3)};
    int64_t time = 0;

    assert_ok(granary_mutable_retain(draw_handle(course), &retain, &time));
    course->horizon = retain.time > course->horizon ? retain.time : course->horizon;
    assert_true(time == course->horizon);
}

/* ---- damage ---- */

void
garble(struct garbled *garbled, void *bytes, uint64_t size, struct course *course)
{
    static const unsigned char odd[] = {0, 1, 0x7f, 0x80, 0xff};

    garbled->bytes = bytes;
    garbled->count = 1 + (int)draw(course, GARBLED_MOST);
    for (int i = 0; i < garbled->count; i++) {
        garbled->at[i] = draw(course, size);
        garbled->old[i] = garbled->bytes[garbled->at[i]];
        garbled->bytes[garbled->at[i]] =
            draw(course, 2) == 0 ? (unsigned char)draw(course, 256) : odd[draw(course, sizeof odd)];
    }
}

void
restore(const struct garbled *garbled)
{
    for (int i = garbled->count; i-- > 0;) {
        garbled->bytes[garbled->at[i]] = garbled->old[i];
    }
}
