/* granary table read: the rows at a time, printed or as a file; on request with their numbers. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/mutable/moment.h"
#include "cli/mutable/reading.h"
#include "cli/mutable/table.h"
#include "data/frame.h"

struct read {
    struct reading reading;
    const char *numbers; /* the column that gets the rows' numbers; NULL: none */
    int64_t since;       /* rows that are later than it; GRANARY_NOW: all */
};

/* The numbers of all rows of a frame, which was read at a time that is final. */
static granary_err
numbers_column(granary_mutable *table, int64_t time, int64_t rows, struct gr_column *ret_column)
{
    struct gr_column column;
    granary_err err = gr_column_alloc(GRANARY_INT64, rows, 0, false, &column);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_mutable_numbers(table, time, 0, rows, (int64_t *)(uintptr_t)column.view.values);
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

/* The numbers before the columns of a frame, which are borrowed. */
static granary_err
add_numbers(const struct read *read, granary_mutable *table, int64_t time, const granary_frame *rows,
            granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(rows->count + 1, rows->rows);
    struct gr_column numbers;
    granary_err err = frame == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    if (err == GRANARY_OK && gr_frame_find(rows, read->numbers) >= 0) {
        err = gr_fail(GRANARY_EEXIST, "it has a column '%s': name another one with --numbers=NAME", read->numbers);
    }
    err = err == GRANARY_OK ? numbers_column(table, time, rows->rows, &numbers) : err;
    err = err == GRANARY_OK ? gr_frame_set(frame, 0, read->numbers, &numbers) : err;
    for (size_t i = 0; err == GRANARY_OK && i < rows->count; i++) {
        err = gr_frame_set_borrowed(frame, i + 1, rows->columns[i].view.name, &rows->columns[i].view);
    }
    return gr_frame_give(frame, err, ret_frame);
}

/* The rows, and their numbers, of one time. */
static granary_err
read_numbered(const struct read *read, granary_mutable *table, granary_frame **ret_rows, granary_frame **ret_frame)
{
    int64_t time = read->reading.at;
    granary_err err = granary_cut(&table, 1, &time);

    time = time == GRANARY_NOW ? time + 1 : time; /* nothing was written yet */
    err = err == GRANARY_OK ? granary_mutable_read_frame(table, time, ret_rows) : err;
    return err == GRANARY_OK ? add_numbers(read, table, time, *ret_rows, ret_frame) : err;
}

/* Whoever comes again gets the time to name then, and hears when earlier rows have changed. */
static granary_err
read_since(const struct cli *cli, granary_mutable *table, granary_frame **ret_rows)
{
    const struct read *read = cli->self;
    int64_t time;
    uint64_t changes;
    granary_err err = granary_mutable_read_since(table, read->since, read->reading.at, ret_rows, &time, &changes);

    if (err == GRANARY_OK && read->since != GRANARY_NOW) {
        cli_note("%s: next time --since %" PRId64 "%s", cli->name, time,
                 changes > 0 ? "; rows before these were changed or removed: read all of them again" : "");
    }
    return err;
}

static int
run_read(struct cli *cli)
{
    const struct read *read = cli->self;
    granary_mutable *table = NULL;
    granary_frame *rows = NULL, *numbered = NULL;
    struct gr_buf out = {0};
    granary_err err = table_open_to_read(cli->client, cli->arguments[0], &table);

    if (err == GRANARY_OK) {
        err = read->numbers != NULL ? read_numbered(read, table, &rows, &numbered) : read_since(cli, table, &rows);
    }
    err = err == GRANARY_OK ? output_add_frame(numbered != NULL ? numbered : rows, read->reading.format, &out) : err;
    gr_frame_destroy(numbered);
    granary_frame_close(rows);
    granary_mutable_close(table);
    return reading_end(&read->reading, err, cli->arguments[0], &out);
}

static granary_err
take_since(void *target, char *text)
{
    return moment_parse(text, &((struct read *)target)->since);
}

static granary_err
check_read(struct cli *cli)
{
    const struct read *read = cli->self;

    return read->since != GRANARY_NOW && read->numbers != NULL
               ? gr_fail(GRANARY_EINVAL, "--since and --numbers: numbers are told of all rows: name one of them")
               : reading_check(cli);
}

static granary_err
take_numbers(void *target, char *text)
{
    ((struct read *)target)->numbers = text == NULL ? "row" : text;
    return GRANARY_OK;
}

static const struct gr_option read_options[] = {
    READING_OPTIONS,
    {"since", 0, "TIME", "read only rows that were appended later than this time, as an earlier read has told it",
     GR_OPTION_TAKE(take_since)},
    {"csv", 0, NULL, "print CSV", GR_OPTION_FLAG(struct read, reading.csv)},
    {"mode", 0, "MODE", OUTPUT_MODE_HELP, GR_OPTION_TEXT(struct read, reading.mode)},
    {"numbers", 0, "NAME", "add a column with the numbers of the rows, before the others; default: row",
     GR_OPTION_TAKE(take_numbers), .optional = true},
    {0}};

const struct command table_read = {.options = read_options,
                                   .access = &access_session,
                                   COMMAND_SELF(struct read, .reading = {.at = GRANARY_NOW}, .since = GRANARY_NOW),
                                   .plain = true,
                                   .check = check_read,
                                   .run = run_read};
