/* granary table write: values of rows written over, by the rows' numbers: from files, or the same for all of them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "cli/mutable/incoming.h"
#include "cli/mutable/numbers.h"
#include "cli/mutable/table.h"
#include "cli/mutable/writing.h"
#include "cli/scheduler/scheduler.h"
#include "data/frame.h"

#define SETS_MOST 1024

struct write {
    struct incoming incoming;
    granary_write_options options;
    const char *numbers;   /* the files' column with the numbers of rows */
    char *sets[SETS_MOST]; /* "COLUMN=VALUE" */
    size_t set_count;      /* 0: there are files */
    struct gr_buf text;    /* the sets, as a CSV file */
};

/* ---- the same values for all ---- */

static granary_err
take_set(void *target, char *text)
{
    struct write *write = target;
    const char *equals = strchr(text, '=');

    if (equals == NULL || equals == text) {
        return gr_fail(GRANARY_EINVAL, "'%s' is not COLUMN=VALUE", text);
    }
    if (write->set_count == SETS_MOST) {
        return gr_fail(GRANARY_EINVAL, "more than %d columns", SETS_MOST);
    }
    write->sets[write->set_count++] = text;
    return GRANARY_OK;
}

/* A field of a CSV file; nothing is null. */
static void
add_field(struct gr_buf *text, const char *field, size_t length)
{
    if (length == 0) {
        return;
    }
    gr_buf_add(text, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        gr_buf_add(text, "\"\"", field[i] == '"' ? 2 : 0);
        gr_buf_add(text, &field[i], field[i] == '"' ? 0 : 1);
    }
    gr_buf_add(text, "\"", 1);
}

/* A heading and one row. */
static granary_err
sets_as_csv(struct write *write)
{
    for (int row = 0; row < 2; row++) {
        for (size_t i = 0; i < write->set_count; i++) {
            const char *set = write->sets[i], *equals = strchr(set, '=');

            gr_buf_add(&write->text, ",", i > 0);
            add_field(&write->text, row == 0 ? set : equals + 1,
                      row == 0 ? (size_t)(equals - set) : strlen(equals + 1));
        }
        gr_buf_add(&write->text, "\n", 1);
    }
    return gr_buf_ok(&write->text) ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "out of memory");
}

/* How many rows were named. Errors: ENOENT it does not have so many */
static granary_err
count_named(struct cli *cli, const granary_rows *rows, int64_t *ret_count)
{
    granary_mutable_info info;
    granary_err err = granary_mutable_describe(cli->client, cli->arguments[0], &info);

    *ret_count = rows->numbers != NULL ? (int64_t)rows->count : rows->to - rows->from;
    return err == GRANARY_OK && rows->numbers == NULL && *ret_count > info.rows
               ? gr_fail(GRANARY_ENOENT, "table '%s': it has %lld rows, and a range to be written names all its rows",
                         info.name, (long long)info.rows)
               : err;
}

/* The row of the sets, so many times. */
static granary_err
repeat_row(const granary_frame *row, int64_t count, granary_frame **ret_frame)
{
    int64_t *first = calloc((size_t)count + 1, sizeof *first);
    granary_err err = first == NULL ? gr_fail(GRANARY_ENOMEM, "values of %lld rows: out of memory", (long long)count)
                                    : gr_frame_take(row, first, count, ret_frame);

    free(first);
    return err;
}

static granary_err
write_sets(struct write *write, struct cli *cli, granary_mutable *table, granary_rows *rows, granary_frame **ret_frame)
{
    granary_frame *row = NULL;
    int64_t count;
    granary_err err = count_named(cli, rows, &count);

    err = err == GRANARY_OK ? incoming_expect(&write->incoming, granary_mutable_schema(table)) : err;
    err = err == GRANARY_OK ? incoming_read(&write->incoming, cli, false, &row) : err;
    err = err == GRANARY_OK ? repeat_row(row, count, ret_frame) : err;
    gr_frame_destroy(row);
    return err;
}

/* ---- from files ---- */

/* Take the numbers out of the frame of the files. */
static granary_err
take_numbers(const struct write *write, const char *table, const granary_frame *frame, granary_rows *rows)
{
    const granary_column *column = granary_frame_column_named(frame, write->numbers);

    if (column == NULL) {
        return gr_fail(GRANARY_ENOENT,
                       "table '%s': no file has a column '%s' with numbers of rows: --numbers names it, or --set "
                       "gives values",
                       table, write->numbers);
    }
    if (column->null_count > 0) {
        return gr_fail(GRANARY_EINVAL, "table '%s': column '%s': %lld numbers of rows are null", table, write->numbers,
                       (long long)column->null_count);
    }
    *rows = (granary_rows){.numbers = column->values, .count = (size_t)frame->rows};
    return GRANARY_OK;
}

static granary_err
write_files(struct write *write, struct cli *cli, granary_mutable *table, granary_rows *rows, granary_frame **ret_frame)
{
    struct gr_schema *schema = &write->incoming.schema;
    granary_err err = incoming_expect(&write->incoming, granary_mutable_schema(table));

    if (err == GRANARY_OK && gr_schema_find(schema, write->numbers) >= 0) {
        err = gr_fail(GRANARY_EEXIST,
                      "table '%s': it has a column '%s': name the one with numbers of rows with --numbers",
                      cli->arguments[0], write->numbers);
    }
    err = err == GRANARY_OK ? gr_schema_add(schema, write->numbers, GRANARY_INT64) : err;
    err = err == GRANARY_OK ? incoming_read(&write->incoming, cli, false, ret_frame) : err;
    return err == GRANARY_OK ? take_numbers(write, cli->arguments[0], *ret_frame, rows) : err;
}

/* ---- the command ---- */

/* All columns but that of the numbers. */
static granary_err
write_frame(const struct write *write, granary_mutable *table, const granary_rows *rows, const granary_frame *frame,
            int64_t *ret_time)
{
    granary_column *columns = calloc(frame->count + 1, sizeof *columns);
    granary_err err = columns == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    size_t count = 0;

    for (size_t i = 0; err == GRANARY_OK && i < frame->count; i++) {
        if (write->set_count > 0 || strcmp(frame->columns[i].view.name, write->numbers) != 0) {
            columns[count++] = frame->columns[i].view;
        }
    }
    if (err == GRANARY_OK) {
        err = writing_told(&write->options,
                           granary_mutable_write_rows(table, rows, columns, count, &write->options, ret_time));
    }
    free(columns);
    return err;
}

static int
run_write(struct cli *cli)
{
    struct write *write = cli->self;
    granary_mutable *table = NULL;
    granary_frame *frame = NULL;
    granary_rows rows = {.numbers = NULL};
    int64_t time = 0;
    granary_err err = table_open_frame(cli, &table);

    if (err == GRANARY_OK && write->set_count > 0) {
        err = numbers_parse(cli->arguments + 1, cli->count - 1, &rows);
        err = err == GRANARY_OK ? write_sets(write, cli, table, &rows, &frame) : err;
    } else if (err == GRANARY_OK) {
        err = write_files(write, cli, table, &rows, &frame);
    }
    err = err == GRANARY_OK ? write_frame(write, table, &rows, frame, &time) : err;
    err = writing_print(cli, err, time, frame == NULL ? 0 : frame->rows);
    if (write->set_count > 0) {
        free((void *)(uintptr_t)rows.numbers);
    }
    gr_frame_destroy(frame);
    granary_mutable_close(table);
    return err;
}

static int
prepare_write(struct cli *cli)
{
    struct write *write = cli->self;
    granary_err err;

    if (write->set_count == 0) {
        return incoming_prepare(&write->incoming, cli, "table write", cli->arguments + 1, cli->count - 1, NULL);
    }
    if (cli->count < 2) {
        return gr_fail(GRANARY_EINVAL, "table write: --set: name the rows that get these values, as 3 or 7:10");
    }
    err = sets_as_csv(write);
    return err == GRANARY_OK ? incoming_prepare(&write->incoming, cli, "table write", NULL, 0, &write->text) : err;
}

static void
end_write(struct cli *cli)
{
    struct write *write = cli->self;

    incoming_end(&write->incoming);
    gr_buf_free(&write->text);
}

static const struct gr_option write_options[] = {
    {"set", 0, "COLUMN=VALUE", "write this value, as in a CSV file, into the rows; may be given several times",
     GR_OPTION_TAKE(take_set)},
    {"numbers", 0, "NAME", "the column of the files with the numbers of rows; default: row",
     GR_OPTION_TEXT(struct write, numbers)},
    WRITING_OPTIONS(struct write, options),
    INCOMING_OPTIONS,
    {0}};

const struct command table_write = {.options = write_options,
                                    .access = &scheduler_session,
                                    COMMAND_SELF(struct write, .incoming = INCOMING_NONE, .numbers = "row"),
                                    .plain = true,
                                    .prepare = prepare_write,
                                    .run = run_write,
                                    .end = end_write};
