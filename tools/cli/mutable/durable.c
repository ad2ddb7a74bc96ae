/* Durability as text, and `granary table recover`. */
#include "cli/mutable/durable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/mutable/table.h"
#include "mutable/durable/wish.h"

granary_err
durable_take(void *target, char *text)
{
    return durable_wish(text, target);
}

/* In the largest unit of which it is a multiple. */
static void
interval_format(int64_t ns, char buffer[SHOW_TEXT])
{
    static const struct {
        int64_t ns;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    size_t i = 0;

    while (ns % units[i].ns != 0) {
        i++;
    }
    (void)snprintf(buffer, SHOW_TEXT, "%" PRId64 "%s", ns / units[i].ns, units[i].name);
}

const char *
durable_show(const void *row, char buffer[SHOW_TEXT])
{
    const granary_mutable_info *info = row;

    if (info->durability == GRANARY_DURABLE_INTERVAL) {
        interval_format(info->interval_ns, buffer);
        return buffer;
    }
    return info->durability == GRANARY_DURABLE_COMMIT ? "commit" : "none";
}

void
durable_write(const void *row, struct json *json)
{
    char buffer[SHOW_TEXT];

    json_text(json, "durable", durable_show(row, buffer));
}

static int
run_recover(struct cli *cli)
{
    granary_err err = granary_mutable_recover(cli->client, cli->arguments[0]);

    return err == GRANARY_ENOENT ? table_advise(err, "`granary table list` lists tables and tensors") : err;
}

const struct command durable_recover_command = {.access = &access_session, .plain = true, .run = run_recover};
