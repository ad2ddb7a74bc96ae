/* granary table remove: rows deleted by their numbers. */
#include <stdlib.h>

#include "cli/mutable/numbers.h"
#include "cli/mutable/table.h"
#include "cli/mutable/writing.h"

struct removal {
    granary_write_options options;
};

static int
run_remove(struct cli *cli)
{
    const struct removal *removal = cli->self;
    granary_mutable *table = NULL;
    granary_rows rows = {.numbers = NULL};
    int64_t count = 0, time = 0;
    granary_err err = numbers_parse(cli->arguments + 1, cli->count - 1, &rows);

    err = err == GRANARY_OK ? table_open_frame(cli, &table) : err;
    if (err == GRANARY_OK) {
        err = writing_told(&removal->options,
                           granary_mutable_delete_rows(table, &rows, &removal->options, &count, &time));
    }
    free((void *)(uintptr_t)rows.numbers);
    granary_mutable_close(table);
    return writing_print(cli, err, time, count);
}

static const struct gr_option remove_options[] = {WRITING_OPTIONS(struct removal, options), {0}};

const struct command table_remove = {.options = remove_options,
                                     .access = &access_session,
                                     COMMAND_ZERO(struct removal),
                                     .plain = true,
                                     .run = run_remove};
