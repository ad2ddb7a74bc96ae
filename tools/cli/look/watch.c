/* granary wait, watch: until something happens, and what does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/command/arguments.h"
#include "cli/print/listing.h"
#include "granary/hold.h"
#include "granary/stream.h"

/* ---- wait ---- */

struct wait {
    bool any;
    bool names;
    int timeout_ms;
    granary_id *ids;
    bool *there;
};

/* Whole ids: what is not there yet has no beginning that is unique. Returns the exit status. */
static int
parse_ids(struct cli *cli)
{
    struct wait *wait = cli->self;

    wait->ids = calloc((size_t)cli->count, sizeof *wait->ids);
    wait->there = calloc((size_t)cli->count, sizeof *wait->there);
    if (wait->ids == NULL || wait->there == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (int i = 0; i < cli->count && !wait->names; i++) {
        granary_err err = arguments_id(cli->arguments[i], &wait->ids[i]);

        if (err != GRANARY_OK) {
            return cli_fail(gr_fail(err,
                                    "no id of 32 hex digits, whose object is waited for: `granary ls` lists those that "
                                    "are there; `granary await` waits for graphs"),
                            "wait %s", cli->arguments[i]);
        }
    }
    return 0;
}

/* One after the other: all of them are waited for. */
static granary_err
wait_for_names(struct cli *cli)
{
    const struct wait *wait = cli->self;
    const int64_t deadline_ns = gr_deadline_ns(wait->timeout_ms);
    granary_err err = GRANARY_OK;

    for (int i = 0; i < cli->count && err == GRANARY_OK; i++) {
        const int64_t left_ns = deadline_ns - gr_now_ns();
        granary_id id;

        err = granary_name_wait(cli->client, cli->arguments[i],
                                wait->timeout_ms < 0 ? GRANARY_FOREVER
                                : left_ns > 0        ? (int)(left_ns / 1000000)
                                                     : 0,
                                &id);
        if (err == GRANARY_OK) {
            cli_print_id(cli, id);
        }
    }
    return err;
}

static int
run_wait(struct cli *cli)
{
    const struct wait *wait = cli->self;
    size_t count = (size_t)cli->count;
    granary_err err;

    if (wait->names) {
        return wait_for_names(cli);
    }
    err = granary_object_wait(cli->client, wait->ids, count, wait->any ? 1 : count, wait->timeout_ms, wait->there);

    for (size_t i = 0; i < count; i++) {
        if (wait->there[i]) {
            cli_print_id(cli, wait->ids[i]);
        }
    }
    return err;
}

static void
end_wait(struct cli *cli)
{
    struct wait *wait = cli->self;

    free(wait->ids);
    free(wait->there);
}

static const struct gr_option wait_options[] = {
    {"any", 0, NULL, "wait until one of them is there", GR_OPTION_FLAG(struct wait, any)},
    {"all", 0, NULL, "wait until all are there; this is the default", GR_OPTION_SET(struct wait, any, 0)},
    {"names", 0, NULL, "wait until these names are bound, and print their objects", GR_OPTION_FLAG(struct wait, names)},
    {"timeout", 0, "DURATION", "give up after this time, with status 6; default: never",
     GR_OPTION_MS(struct wait, timeout_ms)},
    {0}};

const struct command command_wait = {.options = wait_options,
                                     .access = &access_session,
                                     COMMAND_SELF(struct wait, .timeout_ms = GRANARY_FOREVER),
                                     .prepare = parse_ids,
                                     .run = run_wait,
                                     .end = end_wait};

/* ---- watch ---- */

static const char *const kind_names[] = {
    [GRANARY_EVENT_SEAL] = "seal",       [GRANARY_EVENT_DELETE] = "delete",   [GRANARY_EVENT_SPILL] = "spill",
    [GRANARY_EVENT_EVICT] = "evict",     [GRANARY_EVENT_RESTORE] = "restore", [GRANARY_EVENT_LOST] = "lost",
    [GRANARY_EVENT_RESTART] = "restart",
};

#define KINDS (sizeof kind_names / sizeof kind_names[0])

struct watch {
    unsigned kinds;
    bool existing;
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

static bool
has_id(const granary_event *event)
{
    return event->kind < GRANARY_EVENT_LOST;
}

static const char *
event_time(const void *row, char buffer[SHOW_TEXT])
{
    return show_time(((const granary_event *)row)->time_ns / 1000000, buffer);
}

static const char *
event_id(const void *row, char buffer[SHOW_TEXT])
{
    const granary_event *event = row;

    granary_id_format(event->id, buffer);
    return has_id(event) ? buffer : "-";
}

static void
write_subject(const void *row, struct json *json)
{
    const granary_event *event = row;

    if (has_id(event)) {
        json_id(json, "id", event->id);
    }
    json_unsigned(json, event->kind == GRANARY_EVENT_LOST ? "events" : "bytes", event->size);
}

static const struct column columns[] = {{NULL, "", 19, .show = event_time},
                                        {"event", "", -7, COLUMN(granary_event, kind), COLUMN_WORDS(kind_names)},
                                        {"id", NULL, 0, .write = write_subject},
                                        {NULL, "", -32, .show = event_id},
                                        {NULL, "", 12, COLUMN(granary_event, size)},
                                        {"time_ns", NULL, 0, COLUMN(granary_event, time_ns)},
                                        {0}};

static int
run_watch(struct cli *cli)
{
    const struct watch *watch = cli->self;
    granary_subscription *subscription = NULL;
    granary_err err = granary_subscribe(cli->client, watch->kinds | (watch->existing ? GRANARY_SUBSCRIBE_EXISTING : 0),
                                        &subscription);

    for (long n = 0; err == GRANARY_OK && (watch->count == 0 || n < watch->count) && !ferror(stdout); n++) {
        granary_event event;

        err = granary_subscription_next(subscription, GRANARY_FOREVER, &event);
        if (err == GRANARY_OK) {
            listing_one(columns, cli->json, &event);
            (void)fflush(stdout); /* who reads a pipe wants to know now */
        }
    }
    granary_unsubscribe(subscription);
    return err;
}

static const struct gr_option watch_options[] = {
    {"kinds", 0, "KIND,...", "print only these kinds: seal, delete, spill, evict, restore; default: all",
     GR_OPTION_TAKE(take_kinds)},
    {"existing", 0, NULL, "print what is there already first, as seal", GR_OPTION_FLAG(struct watch, existing)},
    {"count", 'n', "N", "end after N events", GR_OPTION_NUMBER(struct watch, count, 1, 1000000000)},
    {0}};

const struct command command_watch = {
    .options = watch_options, .access = &access_session, COMMAND_ZERO(struct watch), .run = run_watch};
