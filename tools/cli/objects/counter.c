/* granary counter, counters: numbers that the processes of a session share. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/arguments.h"
#include "cli/print/json.h"
#include "cli/print/show.h"
#include "granary/session.h"

struct counting {
    int timeout_ms;
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

/* verb NULL: get */
static granary_err
act(granary_counter *counter, const char *verb, int64_t number, int timeout_ms, int64_t *ret_value)
{
    if (verb == NULL) {
        *ret_value = granary_counter_get(counter);
    } else if (verb[0] == 'a') {
        *ret_value = granary_counter_add(counter, number);
    } else if (verb[0] == 's') {
        *ret_value = set(counter, number);
    } else {
        return granary_counter_wait(counter, number, timeout_ms, ret_value);
    }
    return GRANARY_OK;
}

/* The arguments with "--" in front of the first negative number, which is no option. To be freed. */
static char **
guard_numbers(int *argc, char **argv)
{
    static char guard[] = "--";
    char **guarded = calloc((size_t)*argc + 2, sizeof *guarded);
    int count = 0;
    bool done = false;

    for (int i = 0; guarded != NULL && i < *argc; i++) {
        if (!done && argv[i][0] == '-' && isdigit((unsigned char)argv[i][1])) {
            guarded[count++] = guard;
            done = true;
        }
        guarded[count++] = argv[i];
    }
    *argc = count;
    return guarded;
}

static void
print_counter(const struct cli *cli, int64_t value)
{
    struct json json = {0};

    if (!cli->json) {
        (void)printf("%" PRId64 "\n", value);
        return;
    }
    json_open(&json, NULL, '{');
    json_signed(&json, "value", value);
    json_close(&json);
}

static int
counter_command(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {{"timeout", 0, "DURATION", "how long `wait` waits; default: for ever",
                                                GR_OPTION_MS(struct counting, timeout_ms)},
                                               {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "NAME [add NUMBER | set NUMBER | wait NUMBER]",
        .doc = "Print a counter of the session, which is made when it is not there; add to it or set it "
               "first, or wait until it is at least so much.",
        .least = 1,
        .most = 3};
    struct counting counting = {.timeout_ms = GRANARY_FOREVER};
    int first = arguments_read(&arguments, &counting, cli, argc, argv);
    const char *verb = argc > first + 1 ? argv[first + 1] : NULL;
    granary_counter *counter = NULL;
    granary_client *client;
    int64_t number = 0;
    int64_t value = 0;
    int status = 0;
    granary_err err;

    if (argc == first + 2 ||
        (verb != NULL && strcmp(verb, "add") != 0 && strcmp(verb, "set") != 0 && strcmp(verb, "wait") != 0) ||
        (verb != NULL && gr_option_number(argv[first + 2], INT64_MIN, INT64_MAX, &number) != GRANARY_OK)) {
        return cli_fail(
            gr_fail(GRANARY_EINVAL, "NAME, and add, set or wait with a number: `granary counter --help` tells more"),
            "counter");
    }
    client = cli_connect(cli, &status);
    if (client == NULL) {
        return status;
    }
    err = granary_counter_open(client, argv[first], &counter);
    if (err == GRANARY_OK) {
        err = act(counter, verb, number, counting.timeout_ms, &value);
    }
    if (err == GRANARY_OK) {
        print_counter(cli, value);
    } else {
        status = cli_fail(err, "counter %s", argv[first]);
    }
    granary_counter_close(counter);
    granary_disconnect(client);
    return status;
}

int
command_counter(struct cli *cli, int argc, char **argv)
{
    char **guarded = guard_numbers(&argc, argv);
    int status = guarded == NULL ? cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "counter")
                                 : counter_command(cli, argc, guarded);

    free(guarded);
    return status;
}

static int
by_name(const void *left, const void *right)
{
    const granary_counter_info *a = left;
    const granary_counter_info *b = right;

    return strcmp(a->name, b->name);
}

static void
print_counters(const struct cli *cli, const granary_counter_info *infos, size_t count)
{
    struct json json = {0};
    char text[SHOW_TEXT];

    if (!cli->json) {
        for (size_t i = 0; i < count; i++) {
            (void)printf("%20" PRId64 "  %s\n", infos[i].value, show_text(infos[i].name, text));
        }
        return;
    }
    json_open(&json, NULL, '[');
    for (size_t i = 0; i < count; i++) {
        json_open(&json, NULL, '{');
        json_text(&json, "name", infos[i].name);
        json_signed(&json, "value", infos[i].value);
        json_unsigned(&json, "waiting", infos[i].waiting);
        json_close(&json);
    }
    json_close(&json);
}

int
command_counters(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {.doc = "Print the counters of the session."};
    granary_counter_info *infos = NULL;
    granary_client *client;
    size_t count = 0;
    int status = 0;
    granary_err err;

    (void)arguments_read(&arguments, NULL, cli, argc, argv);
    client = cli_connect_existing(cli, &status);
    if (client == NULL) {
        return status;
    }
    err = granary_counter_list(client, &infos, &count);
    if (err != GRANARY_OK) {
        status = cli_fail_plain(err);
    } else {
        qsort(infos, count, sizeof *infos, by_name);
        print_counters(cli, infos, count);
    }
    free(infos);
    granary_disconnect(client);
    return status;
}
