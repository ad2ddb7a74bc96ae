/* granary table append: rows of files into a table, at one time. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/mutable/incoming.h"
#include "cli/mutable/table.h"
#include "cli/mutable/writing.h"
#include "cli/scheduler/scheduler.h"
#include "data/frame.h"

struct append {
    struct incoming incoming;
    granary_write_options options;
};

static granary_err
append_frame(const struct append *append, granary_mutable *table, const granary_frame *frame, int64_t *ret_time)
{
    granary_column *columns = calloc(frame->count, sizeof *columns);
    granary_err err = columns == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < frame->count; i++) {
        columns[i] = frame->columns[i].view;
    }
    if (err == GRANARY_OK) {
        err = granary_mutable_append(table, columns, frame->count, frame->rows, &append->options, ret_time);
    }
    free(columns);
    return writing_told(&append->options, err);
}

static int
run_append(struct cli *cli)
{
    struct append *append = cli->self;
    granary_mutable *table = NULL;
    granary_frame *frame = NULL;
    int64_t time = 0;
    granary_err err = table_open_frame(cli, &table);

    err = err == GRANARY_OK ? incoming_expect(&append->incoming, granary_mutable_schema(table)) : err;
    err = err == GRANARY_OK ? incoming_read(&append->incoming, cli, true, &frame) : err;
    err = err == GRANARY_OK ? append_frame(append, table, frame, &time) : err;
    err = writing_print(cli, err, time, frame == NULL ? 0 : frame->rows);
    gr_frame_destroy(frame);
    granary_mutable_close(table);
    return err;
}

static int
prepare_append(struct cli *cli)
{
    return incoming_prepare(cli->self, cli, "table append", cli->arguments + 1, cli->count - 1, NULL);
}

static void
end_append(struct cli *cli)
{
    incoming_end(cli->self);
}

static const struct gr_option append_options[] = {WRITING_OPTIONS(struct append, options), INCOMING_OPTIONS, {0}};

const struct command table_append = {.options = append_options,
                                     .access = &scheduler_session,
                                     COMMAND_SELF(struct append, .incoming = INCOMING_NONE),
                                     .plain = true,
                                     .prepare = prepare_append,
                                     .run = run_append,
                                     .end = end_append};
