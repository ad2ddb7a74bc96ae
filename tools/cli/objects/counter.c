/* granary counter, counters: numbers that the processes of a session share. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/command.h"
#include "cli/print/listing.h"
#include "granary/session.h"

struct counting {
    int timeout_ms;
    const char *verb; /* NULL: get */
    int64_t number;
};

/* Whatever it is at the moment. Returns value. */
static int64_t
set(granary_counter *counter, int64_t value)
{
    int64_t seen = granary_counter_get(counter);

    while (!granary_counter_set_if(counter, &seen, value)) {
    }
    return value;
}

static granary_err
act(granary_counter *counter, const struct counting *counting, int64_t *ret_value)
{
    const char *verb = counting->verb;
    int64_t number = counting->number;

    if (verb == NULL) {
        *ret_value = granary_counter_get(counter);
    } else if (verb[0] == 'a') {
        *ret_value = granary_counter_add(counter, number);
    } else if (verb[0] == 's') {
        *ret_value = set(counter, number);
    } else {
        return granary_counter_wait(counter, number, counting->timeout_ms, ret_value);
    }
    return GRANARY_OK;
}

static int
run_counter(struct cli *cli)
{
    static const struct column columns[] = {{"value", "", 0, COLUMN(granary_counter_info, value)}, {0}};
    const struct counting *counting = cli->self;
    granary_counter *counter = NULL;
    granary_counter_info info = {.value = 0};
    granary_err err = granary_counter_open(cli->client, cli->arguments[0], &counter);

    if (err == GRANARY_OK) {
        err = act(counter, counting, &info.value);
    }
    granary_counter_close(counter);
    if (err != GRANARY_OK) {
        return cli_fail(err, "counter %s", cli->arguments[0]);
    }
    listing_one(columns, cli->json, &info);
    return 0;
}

/* Before a counter is made of a mistake. */
static int
read_verb(struct cli *cli)
{
    struct counting *counting = cli->self;
    const char *verb = cli->count > 1 ? cli->arguments[1] : NULL;

    counting->verb = verb;
    if (cli->count == 2 ||
        (verb != NULL && strcmp(verb, "add") != 0 && strcmp(verb, "set") != 0 && strcmp(verb, "wait") != 0) ||
        (verb != NULL && gr_option_number(cli->arguments[2], INT64_MIN, INT64_MAX, &counting->number) != GRANARY_OK)) {
        return gr_fail(GRANARY_EINVAL, "NAME, and add, set or wait with a number: `granary counter --help` tells more");
    }
    return 0;
}

static const struct gr_option counter_options[] = {{"timeout", 0, "DURATION",
                                                    "give up `wait` after this time; default: never",
                                                    GR_OPTION_MS(struct counting, timeout_ms)},
                                                   {0}};

const struct command command_counter = {.options = counter_options,
                                        .access = &access_storing,
                                        COMMAND_SELF(struct counting, .timeout_ms = GRANARY_FOREVER),
                                        .numbers = true,
                                        .prepare = read_verb,
                                        .run = run_counter};

static int
by_name(const void *left, const void *right)
{
    const granary_counter_info *a = left;
    const granary_counter_info *b = right;

    return strcmp(a->name, b->name);
}

static const struct column counter_columns[] = {{"name", NULL, 0, COLUMN(granary_counter_info, name)},
                                                {"value", "", 20, COLUMN(granary_counter_info, value)},
                                                {NULL, "", 0, COLUMN(granary_counter_info, name)},
                                                {"waiting", NULL, 0, COLUMN(granary_counter_info, waiting)},
                                                {0}};

static int
run_counters(struct cli *cli)
{
    granary_counter_info *infos = NULL;
    size_t count = 0;
    granary_err err = granary_counter_list(cli->client, &infos, &count);

    if (err == GRANARY_OK) {
        qsort(infos, count, sizeof *infos, by_name);
        listing_print(counter_columns, cli->json, infos, count, sizeof *infos);
    }
    free(infos);
    return err;
}

const struct command command_counters = {.access = &access_session, .plain = true, .run = run_counters};
