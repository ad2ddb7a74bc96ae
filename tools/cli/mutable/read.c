/* granary table read: the rows at a time, printed or as a file. */
#include "base/error.h"
#include "cli/mutable/moment.h"
#include "cli/mutable/table.h"
#include "cli/print/output.h"

struct reading {
    int64_t at;
    bool csv;
    const char *output; /* file; NULL: stdout */
    const struct gr_format *format;
};

static granary_err
take_at(void *target, char *text)
{
    return moment_parse(text, &((struct reading *)target)->at);
}

static granary_err
check_reading(struct cli *cli)
{
    struct reading *reading = cli->self;

    if (reading->csv && cli->json) {
        return gr_fail(GRANARY_EINVAL, "--csv and --json: name one of them");
    }
    reading->format = cli->json ? &output_json : reading->csv ? &gr_format_csv : &output_table;
    return reading->output == NULL ? GRANARY_OK : output_format_of(reading->output, &reading->format);
}

static int
run_read(struct cli *cli)
{
    const struct reading *reading = cli->self;
    granary_mutable *table = NULL;
    granary_frame *frame = NULL;
    struct gr_buf out = {0};
    granary_err err = table_open_to_read(cli->client, cli->arguments[0], &table);
    int status;

    if (err == GRANARY_OK) {
        err = granary_mutable_read_frame(table, reading->at, &frame);
        err = err == GRANARY_EINVAL ? gr_fail_in(err, "table '%s'", cli->arguments[0]) : err; /* the time */
    }
    err = err == GRANARY_OK ? output_add_frame(frame, reading->format, &out) : err;
    if (err == GRANARY_OK && !gr_buf_ok(&out)) {
        err = gr_fail(GRANARY_ENOMEM, "table '%s': out of memory for its rows", cli->arguments[0]);
    }
    status = err != GRANARY_OK ? (int)err
                               : cli_write_file(reading->output == NULL ? "-" : reading->output, out.bytes, out.size);
    gr_buf_free(&out);
    granary_frame_close(frame);
    granary_mutable_close(table);
    return status;
}

static const struct gr_option read_options[] = {
    {"at", 0, "TIME", "read the table as it was at this time; default: that of the newest write",
     GR_OPTION_TAKE(take_at)},
    {"csv", 0, NULL, "print CSV", GR_OPTION_FLAG(struct reading, csv)},
    {"output", 'o', "FILE", output_help, GR_OPTION_TEXT(struct reading, output)},
    {0}};

const struct command table_read = {.options = read_options,
                                   .access = &access_session,
                                   COMMAND_SELF(struct reading, .at = GRANARY_NOW),
                                   .plain = true,
                                   .check = check_reading,
                                   .run = run_read};
