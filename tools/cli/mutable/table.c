/* granary table create, cut, delete; and the list of what else `granary table` has. */
#include "cli/mutable/table.h"
#include "client/resolve.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/mutable/durable.h"
#include "cli/mutable/moment.h"
#include "cli/print/listing.h"
#include "graph/schema.h"

#define MESSAGE_MAX 1024

/* ---- what all have ---- */

granary_err
table_advise(granary_err err, const char *format, ...)
{
    char message[MESSAGE_MAX];
    char advice[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(advice, sizeof advice, format, args);
    va_end(args);
    (void)snprintf(message, sizeof message, "%s", granary_error_message());
    return gr_fail(err, "%s: %s", message, advice);
}

/* A table that is to be there. */
static granary_err
table_open(struct cli *cli, const char *name, granary_mutable **ret_table)
{
    granary_err err = granary_mutable_open(cli->client, name, ret_table);

    return err == GRANARY_ENOENT ? table_advise(err, "`granary table create %s COLUMN:DTYPE...` makes it", name) : err;
}

granary_err
table_open_frame(struct cli *cli, granary_mutable **ret_table)
{
    granary_err err = table_open(cli, cli->arguments[0], ret_table);

    return err == GRANARY_OK && granary_mutable_schema(*ret_table) == NULL
               ? gr_fail(GRANARY_ETYPE, "table '%s': it is a tensor, which has no rows", cli->arguments[0])
               : err;
}

granary_err
table_open_to_read(granary_client *client, const char *name, granary_mutable **ret_table)
{
    granary_err err = granary_table_open(client, name, ret_table);

    return err == GRANARY_ENOENT ? table_advise(err, "`granary table list` lists tables and tensors") : err;
}

/* ---- create ---- */

struct create {
    granary_mutable_options options;
    granary_column *columns;
    size_t count;
};

/* COLUMN:DTYPE, which is taken apart. */
static granary_err
parse_column(char *text, granary_column *ret_column)
{
    char *colon = strrchr(text, ':');
    granary_dtype dtype;

    if (colon == NULL || colon == text) {
        return gr_fail(GRANARY_EINVAL, "'%s' is not COLUMN:DTYPE, as in celsius:float64", text);
    }
    if (!gr_csv_dtype_parse(colon + 1, &dtype)) {
        return gr_fail(GRANARY_EINVAL, "'%s': there is no dtype '%s'; there are: " GR_CSV_DTYPES, text, colon + 1);
    }
    *colon = '\0';
    *ret_column = (granary_column){.name = text, .dtype = dtype};
    return GRANARY_OK;
}

static int
parse_columns(struct cli *cli)
{
    struct create *create = cli->self;
    granary_err err;

    create->count = (size_t)cli->count - 1;
    create->columns = calloc(create->count, sizeof *create->columns);
    err = create->columns == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    for (size_t i = 0; err == GRANARY_OK && i < create->count; i++) {
        err = parse_column(cli->arguments[1 + i], &create->columns[i]);
    }
    return err == GRANARY_OK ? 0 : cli_fail(err, "table '%s'", cli->arguments[0]);
}

static int
run_create(struct cli *cli)
{
    const struct create *create = cli->self;
    const char *name = cli->arguments[0];
    granary_mutable *table = NULL;
    granary_err err = gr_check_no_graph(cli->client, name);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_mutable_create_frame(cli->client, name, create->columns, create->count, &create->options, &table);
    granary_mutable_close(table);
    if (err == GRANARY_EEXIST) {
        err =
            gr_fail(err, "table '%s': the name is taken: choose another, or open the table with --if-not-exists", name);
    }
    return err;
}

static void
end_create(struct cli *cli)
{
    free(((struct create *)cli->self)->columns);
}

static const struct gr_option create_options[] = {
    {"durable", 0, "WHEN", DURABLE_HELP, GR_OPTION_TAKE_INTO(struct create, options, durable_take)},
    {"if-not-exists", 0, NULL, "succeed when a table of that name with these columns exists",
     GR_OPTION_SET(struct create, options.flags, GRANARY_MUTABLE_OPEN)},
    {0}};

static const struct command table_create = {.options = create_options,
                                            .access = &access_storing,
                                            COMMAND_ZERO(struct create),
                                            .plain = true,
                                            .prepare = parse_columns,
                                            .run = run_create,
                                            .end = end_create};

/* ---- cut ---- */

struct cut {
    int64_t at;
};

static granary_err
cut_tables(const struct cli *cli, granary_mutable *const *tables, int64_t *time)
{
    granary_err err = granary_cut(tables, (size_t)cli->count, time);

    return err == GRANARY_OK && *time == GRANARY_NOW
               ? gr_fail(GRANARY_ESTATE, "table '%s': nothing was written yet: --at TIME makes another time final",
                         cli->arguments[0])
               : err;
}

static int
run_cut(struct cli *cli)
{
    static const struct column columns[] = {{"time", "", 0, COLUMN(struct cut, at)}, {0}};
    struct cut cut = *(const struct cut *)cli->self;
    granary_mutable **tables = calloc((size_t)cli->count, sizeof(granary_mutable *));
    granary_err err = tables == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    int opened = 0;

    while (err == GRANARY_OK && opened < cli->count) {
        err = table_open(cli, cli->arguments[opened], &tables[opened]);
        opened += err == GRANARY_OK;
    }
    err = err == GRANARY_OK ? cut_tables(cli, tables, &cut.at) : err;
    if (err == GRANARY_OK) {
        listing_one(columns, cli->json, &cut);
    }
    for (int i = 0; i < opened; i++) {
        granary_mutable_close(tables[i]);
    }
    free(tables);
    return err;
}

static const struct gr_option cut_options[] = {{"at", 0, "TIME",
                                                "make this time final; default: that of the newest write",
                                                GR_OPTION_TAKE_INTO(struct cut, at, moment_take)},
                                               {0}};

static const struct command table_cut = {
    .options = cut_options, .access = &access_session, COMMAND_SELF(struct cut, .at = GRANARY_NOW), .run = run_cut};

/* ---- delete ---- */

static int
delete_table(struct cli *cli, char *name)
{
    granary_err err = granary_mutable_delete(cli->client, name);

    return err == GRANARY_ENOENT ? table_advise(err, "`granary names` lists names") : err;
}

const struct command table_delete = {.access = &access_session, .plain = true, .each = delete_table};

/* ---- all of them ---- */

static const struct command_row table_rows[] = {
    {"create", "NAME COLUMN:DTYPE...", "make a table with these columns",
     "Make a table that changes, with these columns and no rows."
     "\vDTYPE is one of those that `granary load --dtype` takes, such as int64, float64, string, timestamp or "
     "decimal(2).\n\n"
     "Example:\n"
     "  granary table create readings at:timestamp celsius:float64",
     &table_create},
    {"append", "NAME [FILE...]", "append the rows of files or of stdin; prints their time",
     "Append the rows of files, or of stdin, and print the time of that write."
     "\vFiles are CSV, JSON lines or Arrow; FILE - is stdin, and it is CSV unless --format says otherwise. Columns "
     "are matched by name. A column that a file does not have is null in its rows. All rows of one call become "
     "visible at one moment, or none of them.\n\n"
     "Examples:\n"
     "  granary table append readings readings.csv\n"
     "  granary table append readings --format ndjson <more.ndjson",
     &table_append},
    {"write", "NAME [FILE...]\nNAME ROWS... --set COLUMN=VALUE", "write over values of rows; prints the time",
     "Write over values of rows, all at one moment, and print the time of that write."
     "\vFiles are read as `granary table append` reads them. They have a column 'row' with the numbers of rows, and "
     "the "
     "columns that are written. Or ROWS are numbers and ranges, and all of these rows get the same values.\n\n"
     "Examples:\n"
     "  granary table read readings --numbers --csv >numbered.csv\n"
     "  granary table write readings numbered.csv\n"
     "  granary table write readings 0 --set celsius=22.5",
     &table_write},
    {"remove", "NAME ROWS...", "delete rows by their numbers; prints the time",
     "Delete rows by their numbers, all at one moment, and print the time of that write."
     "\vROWS are numbers, and ranges as 7:10 or 7: for all rows from 7 on. Rows that are not there are passed over. "
     "`granary table read --numbers` tells numbers, which never change.\n\n"
     "Example:\n"
     "  granary table remove readings 0 1:3",
     &table_remove},
    {"read", "NAME", "print the rows, now or as they were at a time",
     "Print the rows of a table, now or as they were at a time."
     "\vA time that was read is final: no write at or before it becomes visible any more. TIME is a number of "
     "nanoseconds since 1970, or a timestamp in UTC.\n\n"
     "Examples:\n"
     "  granary table read readings\n"
     "  granary table read readings --output readings.csv",
     &table_read},
    {"cut", "NAME...", "make one time final in several tables; prints it",
     "Make one time final in all of these tables, and print it. Reads of them at that time belong together."
     "\vExample:\n"
     "  granary table cut readings",
     &table_cut},
    {"delete", "NAME...", "delete tables",
     "Delete tables with all of their rows. Who has one open gets an error from now on."
     "\vExample:\n"
     "  granary table delete readings",
     &table_delete},
    {"list", "", "list tables and tensors", "List the tables and tensors of the session that change, and sealed ones.",
     &state_list},
    {"info", "NAME", "describe a table", "Describe a table: rows, newest write, writers. This makes no time final.",
     &state_info},
    {"snapshot", "NAME NEW", "keep a table as it is at a time",
     "Keep a table as it is at a time, under a new name. Prints the object's id; the table goes on.", &state_snapshot},
    {"retain", "NAME", "give up old history; prints since when it is kept",
     "Give up history, and free the memory that only old times need. Reads of those times are refused from now on. "
     "The command prints the earliest time that can be read.",
     &state_retain},
    {"seal", "NAME", "end all writing", "Make a table one that does not change. Prints the object's id.", &state_seal},
    {"recover", "NAME", "give up what is damaged on disk",
     "Bring a durable table back as it was before the first of its pieces on disk that is damaged or missing. Later "
     "writes are given up, for ever.",
     &durable_recover_command},
    {"watch", "NAME", "wait for a write; prints its time",
     "Wait until a later write has become visible, and print its time.", &state_watch},
    {0}};

const struct command command_table = {.rows = table_rows, .which = "which one?"};
