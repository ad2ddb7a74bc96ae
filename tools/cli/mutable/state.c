/* What tables and tensors that change have in common: list, info, snapshot, seal, watch. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/mutable/durable.h"
#include "cli/mutable/moment.h"
#include "cli/mutable/table.h"
#include "cli/print/listing.h"

struct state {
    int64_t time;   /* --at, --after */
    int timeout_ms; /* of watch */
};

/* A table or a tensor that is to be there. */
static granary_err
state_open(struct cli *cli, granary_mutable **ret_table)
{
    granary_err err = granary_mutable_open(cli->client, cli->arguments[0], ret_table);

    return err == GRANARY_ENOENT ? table_advise(err, "`granary table list` lists tables and tensors") : err;
}

/* ---- list, info ---- */

static const char *
show_kind(const void *row, char buffer[SHOW_TEXT])
{
    static const char *const kinds[] = {"?", "table", "sealed table", "tensor", "sealed tensor"};
    const unsigned kind = ((const granary_mutable_info *)row)->kind;

    (void)buffer;
    return kinds[kind < sizeof kinds / sizeof kinds[0] ? kind : 0];
}

static void
write_state(const void *row, struct json *json)
{
    const granary_mutable_info *info = row;

    json_text(json, "kind", show_kind(row, NULL));
    if (info->newest != INT64_MIN) {
        json_signed(json, "newest", info->newest);
    }
    if (info->final != INT64_MIN && info->final != INT64_MAX) { /* a sealed one is final as a whole */
        json_signed(json, "final", info->final);
    }
}

static const struct column info_columns[] = {{"name", "name", -20, COLUMN(granary_mutable_info, name)},
                                             {"kind", "kind", -13, .show = show_kind, .write = write_state},
                                             {"rows", "rows", 12, COLUMN(granary_mutable_info, rows)},
                                             {"parts", "parts", 8, COLUMN(granary_mutable_info, parts)},
                                             {"changes", "changes", 8, COLUMN(granary_mutable_info, changes)},
                                             {"writers", "writers", 8, COLUMN(granary_mutable_info, writers)},
                                             {"durable", "durable", -7, .show = durable_show, .write = durable_write},
                                             {"id", "id", 0, COLUMN(granary_mutable_info, id)},
                                             {0}};

static int
run_list(struct cli *cli)
{
    granary_mutable_info *infos = NULL;
    size_t count = 0;
    granary_err err = granary_mutable_list(cli->client, &infos, &count);

    if (err == GRANARY_OK) {
        listing_print(info_columns, cli->json, infos, count, sizeof *infos);
    }
    free(infos);
    return err;
}

const struct command state_list = {.access = &access_session, .run = run_list};

static int
run_info(struct cli *cli)
{
    granary_mutable_info info;
    granary_err err = granary_mutable_describe(cli->client, cli->arguments[0], &info);

    if (err == GRANARY_OK) {
        listing_print(info_columns, cli->json, &info, 1, sizeof info);
    }
    return err == GRANARY_ENOENT ? table_advise(err, "`granary table list` lists tables and tensors") : err;
}

const struct command state_info = {.access = &access_session, .plain = true, .run = run_info};

/* ---- snapshot, seal ---- */

static int
keep_state(struct cli *cli, bool seal)
{
    const struct state *state = cli->self;
    granary_mutable *table = NULL;
    granary_id id;
    granary_err err = state_open(cli, &table);

    if (err == GRANARY_OK) {
        err = seal ? granary_mutable_seal(table, state->time, &id)
                   : granary_mutable_snapshot(table, state->time, cli->arguments[1], &id);
    }
    if (err == GRANARY_OK) {
        cli_print_id(cli, id);
    }
    granary_mutable_close(table);
    return err == GRANARY_EEXIST ? table_advise(err, "choose another name") : err;
}

static int
run_snapshot(struct cli *cli)
{
    return keep_state(cli, false);
}

static int
run_seal(struct cli *cli)
{
    return keep_state(cli, true);
}

static const struct gr_option at_options[] = {{"at", 0, "TIME",
                                               "as it was at this time; default: that of the newest write",
                                               GR_OPTION_TAKE_INTO(struct state, time, moment_take)},
                                              {0}};

const struct command state_snapshot = {.options = at_options,
                                       .access = &access_session,
                                       COMMAND_SELF(struct state, .time = GRANARY_NOW),
                                       .plain = true,
                                       .run = run_snapshot};
const struct command state_seal = {.options = at_options,
                                   .access = &access_session,
                                   COMMAND_SELF(struct state, .time = GRANARY_NOW),
                                   .plain = true,
                                   .run = run_seal};

/* ---- watch ---- */

static int
run_watch(struct cli *cli)
{
    static const struct column columns[] = {{"time", "", 0, COLUMN(struct state, time)}, {0}};
    struct state state = *(const struct state *)cli->self;
    granary_mutable *table = NULL;
    granary_err err = state_open(cli, &table);

    err = err == GRANARY_OK ? granary_mutable_watch(table, state.time, state.timeout_ms, &state.time) : err;
    if (err == GRANARY_OK) {
        listing_one(columns, cli->json, &state);
    }
    granary_mutable_close(table);
    return err;
}

static const struct gr_option watch_options[] = {
    {"after", 0, "TIME", "wait for a write later than this; default: later than the newest",
     GR_OPTION_TAKE_INTO(struct state, time, moment_take)},
    {"timeout", 0, "DURATION", "give up after so long; default: never", GR_OPTION_MS(struct state, timeout_ms)},
    {0}};

const struct command state_watch = {.options = watch_options,
                                    .access = &access_session,
                                    COMMAND_SELF(struct state, .time = GRANARY_NOW, .timeout_ms = GRANARY_FOREVER),
                                    .plain = true,
                                    .run = run_watch};

/* ---- retain ---- */

struct keep {
    granary_retain retain;
    int age_ms;
};

static int
run_retain(struct cli *cli)
{
    static const struct column columns[] = {{"time", "", 0, COLUMN(struct state, time)}, {0}};
    struct keep keep = *(const struct keep *)cli->self;
    struct state state = {.time = 0};
    granary_mutable *table = NULL;
    granary_err err = state_open(cli, &table);

    keep.retain.age_ns = (int64_t)keep.age_ms * 1000000;
    err = err == GRANARY_OK ? granary_mutable_retain(table, &keep.retain, &state.time) : err;
    if (err == GRANARY_OK) {
        listing_one(columns, cli->json, &state);
    }
    granary_mutable_close(table);
    return err == GRANARY_EINVAL ? table_advise(err, "give --before TIME, --age DURATION or --writes N") : err;
}

static const struct gr_option retain_options[] = {
    {"before", 0, "TIME", "give up history before this time",
     GR_OPTION_TAKE_INTO(struct keep, retain.time, moment_take)},
    {"age", 0, "DURATION", "... before so long ago", GR_OPTION_MS(struct keep, age_ms)},
    {"writes", 0, "N", "... before the last N times of writes",
     GR_OPTION_NUMBER(struct keep, retain.writes, 1, INT64_MAX)},
    {0}};

const struct command state_retain = {
    .options = retain_options, .access = &access_session, COMMAND_ZERO(struct keep), .plain = true, .run = run_retain};
