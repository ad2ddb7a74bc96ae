/* Times of writes, given and told. */
#include "cli/mutable/writing.h"

#include "base/error.h"
#include "cli/mutable/moment.h"
#include "cli/mutable/table.h"
#include "cli/print/listing.h"

granary_err
writing_take_time(void *time, char *text)
{
    int64_t moment;
    granary_err err = moment_parse(text, &moment);

    if (err == GRANARY_OK && (moment == 0 || moment == GRANARY_NOW)) {
        err = gr_fail(GRANARY_EINVAL, "'%s' is no time of a write: without --time it is the clock's", text);
    }
    *(int64_t *)time = err == GRANARY_OK ? moment : 0;
    return err;
}

granary_err
writing_told(const granary_write_options *options, granary_err err)
{
    return err == GRANARY_ESTATE && options->time != 0 ? table_advise(err, "--forward moves it") : err;
}

granary_err
writing_print(const struct cli *cli, granary_err err, int64_t time, int64_t rows)
{
    struct written {
        const char *table;
        int64_t time;
        int64_t rows;
    } written = {cli->arguments[0], time, rows};
    static const struct column columns[] = {{"table", NULL, 0, COLUMN(struct written, table)},
                                            {"time", "", 0, COLUMN(struct written, time)},
                                            {"rows", NULL, 0, COLUMN(struct written, rows)},
                                            {0}};

    if (err == GRANARY_OK) {
        listing_one(columns, cli->json, &written);
    }
    return err;
}
