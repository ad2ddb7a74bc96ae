/* granary wait, watch: until something happens, and what does. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/arguments.h"
#include "cli/print/json.h"
#include "cli/print/show.h"
#include "granary/stream.h"

/* ---- wait ---- */

struct wait {
    bool any;
    int timeout_ms;
};

/* Whole ids: what is not there yet has no beginning that is unique. Returns the exit status. */
static int
parse_ids(char **texts, size_t count, granary_id *ids)
{
    for (size_t i = 0; i < count; i++) {
        granary_err err = granary_id_parse(texts[i], strlen(texts[i]), &ids[i]);

        if (err != GRANARY_OK) {
            return cli_fail(gr_fail(err,
                                    "no id of 32 hex digits, whose object is waited for: `granary ls` lists those that "
                                    "are there; `granary await` waits for graphs"),
                            "wait %s", texts[i]);
        }
    }
    return 0;
}

int
command_wait(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"any", 0, NULL, "until one of them is there", GR_OPTION_FLAG(struct wait, any)},
        {"all", 0, NULL, "until all are there; the default", GR_OPTION_SET(struct wait, any, 0)},
        {"timeout", 0, "DURATION", "give up after so long, with status 6; default: never",
         GR_OPTION_MS(struct wait, timeout_ms)},
        {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "ID...",
        .doc = "Wait until objects exist, and print the ids of those that do. Ids are given in full.",
        .least = 1,
        .most = ARGUMENTS_MANY};
    struct wait wait = {.timeout_ms = GRANARY_FOREVER};
    int first = arguments_read(&arguments, &wait, cli, argc, argv);
    size_t count = (size_t)(argc - first);
    granary_id *ids = calloc(count, sizeof *ids);
    bool *there = calloc(count, sizeof *there);
    granary_client *client = NULL;
    granary_err err = GRANARY_OK;
    int status = ids == NULL || there == NULL ? cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "wait")
                                              : parse_ids(argv + first, count, ids);

    if (status == 0 && (client = cli_connect_existing(cli, &status)) != NULL) {
        err = granary_object_wait(client, ids, count, wait.any ? 1 : count, wait.timeout_ms, there);
        for (size_t i = 0; i < count; i++) {
            if (there[i]) {
                cli_print_id(cli, ids[i]);
            }
        }
    }
    if (err != GRANARY_OK) {
        status = cli_fail(err, "wait");
    }
    granary_disconnect(client);
    free(ids);
    free(there);
    return status;
}

/* ---- watch ---- */

static const char *const kind_names[] = {
    [GRANARY_EVENT_SEAL] = "seal",       [GRANARY_EVENT_DELETE] = "delete",   [GRANARY_EVENT_SPILL] = "spill",
    [GRANARY_EVENT_EVICT] = "evict",     [GRANARY_EVENT_RESTORE] = "restore", [GRANARY_EVENT_LOST] = "lost",
    [GRANARY_EVENT_RESTART] = "restart",
};

#define KINDS (sizeof kind_names / sizeof kind_names[0])

struct watch {
    unsigned kinds;
    long count; /* 0: for ever */
};

static granary_err
take_kinds(void *target, char *text)
{
    struct watch *watch = target;

    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, ",");
        size_t kind = 1;

        while (kind < KINDS && (strlen(kind_names[kind]) != length || strncmp(kind_names[kind], at, length) != 0)) {
            kind++;
        }
        if (kind == KINDS) {
            return gr_fail(GRANARY_EINVAL, "'%.*s' is no kind of event: seal, delete, spill, evict, restore",
                           (int)length, at);
        }
        watch->kinds |= 1u << kind;
        at += length + (at[length] == ',');
    }
    return GRANARY_OK;
}

static void
print_event(const struct cli *cli, const granary_event *event)
{
    bool has_id = event->kind < GRANARY_EVENT_LOST;
    char id[GRANARY_ID_TEXT + 1] = "-";
    char time[32];

    if (cli->json) {
        struct json json = {0};

        json_open(&json, NULL, '{');
        json_text(&json, "event", kind_names[event->kind]);
        if (has_id) {
            json_id(&json, "id", event->id);
        }
        json_unsigned(&json, event->kind == GRANARY_EVENT_LOST ? "events" : "bytes", event->size);
        json_signed(&json, "time_ns", event->time_ns);
        json_close(&json);
    } else {
        if (has_id) {
            granary_id_format(event->id, id);
        }
        (void)printf("%s  %-7s  %-32s  %12" PRIu64 "\n", show_time(event->time_ns / 1000000, time),
                     kind_names[event->kind], id, event->size);
    }
    (void)fflush(stdout); /* who reads a pipe wants to know now */
}

int
command_watch(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"kinds", 0, "KIND,...", "of seal, delete, spill, evict, restore; default: all", GR_OPTION_TAKE(take_kinds)},
        {"count", 'n', "N", "end after so many", GR_OPTION_NUMBER(struct watch, count, 1, 1000000000)},
        {0}};
    static const struct arguments arguments = {
        .options = options,
        .doc = "Print what happens to the session's objects from now on. 'lost' counts events that came too fast, "
               "'restart' means that the store was started again."};
    struct watch watch = {.kinds = 0};
    granary_subscription *subscription = NULL;
    granary_client *client;
    granary_err err;
    int status = 0;

    (void)arguments_read(&arguments, &watch, cli, argc, argv);
    client = cli_connect_existing(cli, &status);
    if (client == NULL) {
        return status;
    }
    err = granary_subscribe(client, watch.kinds, &subscription);
    for (long n = 0; err == GRANARY_OK && (watch.count == 0 || n < watch.count) && !ferror(stdout); n++) {
        granary_event event;

        err = granary_subscription_next(subscription, GRANARY_FOREVER, &event);
        if (err == GRANARY_OK) {
            print_event(cli, &event);
        }
    }
    if (err != GRANARY_OK) {
        status = cli_fail(err, "watch");
    }
    granary_unsubscribe(subscription);
    granary_disconnect(client);
    return status;
}
