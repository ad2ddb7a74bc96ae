/* granary rm, move, prefetch: what is done to objects. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/command/arguments.h"

/* The objects that are named; complains about those that are not there. Returns NULL when memory is short. */
static granary_id *
find_all(granary_client *client, char **names, int count, size_t *ret_found, int *status)
{
    granary_id *ids = calloc((size_t)count, sizeof *ids);
    size_t found = 0;

    if (ids == NULL) {
        *status = cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "%d objects", count);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        int one = cli_find(client, names[i], &ids[found]);

        found += one == 0;
        *status = *status == 0 ? one : *status;
    }
    *ret_found = found;
    return ids;
}

/* Do something to all of the named objects that are there. Returns the first failure's status. */
static int
with_all(struct cli *cli, char **names, int count,
         granary_err (*act)(granary_client *client, const granary_id *ids, size_t count))
{
    granary_client *client;
    granary_id *ids = NULL;
    size_t found = 0;
    granary_err err;
    int status = 0;

    client = cli_connect_existing(cli, &status);
    if (client != NULL) {
        ids = find_all(client, names, count, &found, &status);
        err = ids == NULL ? GRANARY_OK : act(client, ids, found);
        if (err != GRANARY_OK) {
            int failed = cli_fail_plain(err);

            status = status == 0 ? failed : status;
        }
    }
    free(ids);
    granary_disconnect(client);
    return status;
}

static granary_err
delete_all(granary_client *client, const granary_id *ids, size_t count)
{
    return granary_object_delete_many(client, ids, count, NULL);
}

int
command_rm(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {
        .usage = "ID...",
        .doc = "Delete objects. Processes that have them mapped keep them until they let go.",
        .least = 1,
        .most = ARGUMENTS_MANY};
    int first = arguments_read(&arguments, NULL, cli, argc, argv);

    return with_all(cli, argv + first, argc - first, delete_all);
}

int
command_prefetch(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {
        .usage = "ID...",
        .doc = "Bring spilled objects back before they are needed. Does not wait for them.",
        .least = 1,
        .most = ARGUMENTS_MANY};
    int first = arguments_read(&arguments, NULL, cli, argc, argv);

    return with_all(cli, argv + first, argc - first, granary_object_prefetch);
}

struct move {
    granary_levels to, from;
    int timeout_ms;
};

static granary_err
check_move(void *target)
{
    const struct move *move = target;

    return move->to == 0 && move->from == 0 ? gr_fail(GRANARY_EINVAL, "where to? --to LEVELS, --from LEVELS, or both")
                                            : GRANARY_OK;
}

int
command_move(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"to", 0, "LEVELS", "where copies are made: memory, disk, remote, or several: disk+remote",
         GR_OPTION_LEVELS(struct move, to)},
        {"from", 0, "LEVELS", "where copies are dropped then", GR_OPTION_LEVELS(struct move, from)},
        {"timeout", 0, "DURATION", "how long to wait for each; default 60; 0: do not wait",
         GR_OPTION_MS(struct move, timeout_ms)},
        {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "ID...",
        .doc = "Move objects between levels: `--to disk` makes a copy that survives the machine's "
               "restart, `--from memory` spills now.",
        .least = 1,
        .most = ARGUMENTS_MANY,
        .check = check_move};
    struct move move = {.timeout_ms = 60000};
    int first = arguments_read(&arguments, &move, cli, argc, argv);
    granary_client *client;
    int status = 0;

    client = cli_connect_existing(cli, &status);
    for (int i = first; client != NULL && i < argc; i++) {
        granary_id id;
        int one = cli_find(client, argv[i], &id);

        if (one == 0) {
            granary_err err = granary_object_move(client, id, move.to, move.from, move.timeout_ms);

            one = err == GRANARY_OK ? 0 : cli_fail(err, "move %s", argv[i]);
        }
        status = status == 0 ? one : status;
    }
    granary_disconnect(client);
    return status;
}
