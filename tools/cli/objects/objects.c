/* granary rm, evict, move, prefetch: what is done to objects. */
#include <stdlib.h>

#include "base/error.h"
#include "base/text/size.h"
#include "cli/command/command.h"
#include "cli/print/listing.h"

/* Do something to all of the named objects that are there, and complain about the others. Returns the first failure. */
static int
with_all(struct cli *cli, granary_err (*act)(granary_client *client, const granary_id *ids, size_t count))
{
    granary_id *ids = calloc((size_t)cli->count, sizeof *ids);
    size_t found = 0;
    int status = 0;
    granary_err err;

    if (ids == NULL) {
        return cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "%d objects", cli->count);
    }
    for (int i = 0; i < cli->count; i++) {
        int one = cli_find(cli->client, cli->arguments[i], &ids[found]);

        found += one == 0;
        status = status == 0 ? one : status;
    }
    err = act(cli->client, ids, found);
    free(ids);
    if (err != GRANARY_OK) {
        int failed = cli_fail_plain(err);

        status = status == 0 ? failed : status;
    }
    return status;
}

static granary_err
delete_all(granary_client *client, const granary_id *ids, size_t count)
{
    return granary_object_delete_many(client, ids, count, NULL);
}

static granary_err
delete_trees(granary_client *client, const granary_id *ids, size_t count)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        size_t deleted;

        err = granary_object_delete_tree(client, ids[i], &deleted);
    }
    return err;
}

struct rm {
    bool recursive;
};

static int
run_rm(struct cli *cli)
{
    return with_all(cli, ((const struct rm *)cli->self)->recursive ? delete_trees : delete_all);
}

static const struct gr_option rm_options[] = {
    {"recursive", 'r', NULL, "delete all that they contain, too", GR_OPTION_FLAG(struct rm, recursive)}, {0}};

const struct command command_rm = {
    .options = rm_options, .access = &access_session, COMMAND_ZERO(struct rm), .run = run_rm};

/* ---- evict ---- */

struct evict {
    int timeout_ms;
};

static int
run_evict(struct cli *cli)
{
    static const struct column columns[] = {
        {"bytes", "", 0, .kind = COLUMN_UNSIGNED, .size = sizeof(uint64_t), .as = COLUMN_AS_SIZE}, {0}};
    uint64_t wanted = 0;
    uint64_t freed = 0;
    granary_err err = gr_size_parse(cli->arguments[0], &wanted);

    err = err == GRANARY_OK ? granary_evict(cli->client, wanted, ((const struct evict *)cli->self)->timeout_ms, &freed)
                            : err;
    if (err != GRANARY_OK) {
        return cli_fail(err, "evict");
    }
    listing_one(columns, cli->json, &freed);
    return 0;
}

static const struct gr_option evict_options[] = {{"timeout", 0, "DURATION",
                                                  "give up after this time, with status 6; default: 60 s",
                                                  GR_OPTION_MS(struct evict, timeout_ms)},
                                                 {0}};

const struct command command_evict = {.options = evict_options,
                                      .access = &access_session,
                                      COMMAND_SELF(struct evict, .timeout_ms = 60000),
                                      .run = run_evict};

static int
run_prefetch(struct cli *cli)
{
    return with_all(cli, granary_object_prefetch);
}

const struct command command_prefetch = {.access = &access_session, .run = run_prefetch};

struct move {
    granary_levels to, from;
    int timeout_ms;
};

static granary_err
check_move(struct cli *cli)
{
    const struct move *move = cli->self;

    return move->to == 0 && move->from == 0 ? gr_fail(GRANARY_EINVAL, "where to? --to LEVELS, --from LEVELS, or both")
                                            : GRANARY_OK;
}

static int
move_object(struct cli *cli, char *argument)
{
    const struct move *move = cli->self;
    granary_id id;
    int status = cli_find(cli->client, argument, &id);
    granary_err err =
        status == 0 ? granary_object_move(cli->client, id, move->to, move->from, move->timeout_ms) : GRANARY_OK;

    return err == GRANARY_OK ? status : cli_fail(err, "move %s", argument);
}

static const struct gr_option move_options[] = {
    {"to", 0, "LEVELS", "make copies at these levels: memory, disk, remote, or several, as in disk+remote",
     GR_OPTION_LEVELS(struct move, to)},
    {"from", 0, "LEVELS", "drop the copies at these levels afterwards", GR_OPTION_LEVELS(struct move, from)},
    {"timeout", 0, "DURATION", "wait at most this long for each object; default: 60 s; 0: do not wait",
     GR_OPTION_MS(struct move, timeout_ms)},
    {0}};

const struct command command_move = {.options = move_options,
                                     .access = &access_session,
                                     COMMAND_SELF(struct move, .timeout_ms = 60000),
                                     .check = check_move,
                                     .each = move_object};
