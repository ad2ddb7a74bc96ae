/* granary events: the flight recorder. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"
#include "cli/look/look.h"
#include "cli/print/listing.h"

#define BATCH   256
#define POLL_NS 100000000

struct events {
    struct look look;
    const char *id; /* prefix of the ids to show, or NULL */
    bool follow;
    uint64_t newest; /* only so many of the newest; 0: all */
};

static granary_err
take_id(void *target, char *text)
{
    struct events *events = target;

    events->id = text;
    return strlen(text) <= GRANARY_ID_TEXT && strspn(text, "0123456789abcdefABCDEF") == strlen(text)
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "'%s' is no beginning of an object's id", text);
}

/* The word for a or b of an event, from "...; a: bytes, b: segment" of its sentence; false: it has no such value. */
static bool
label_of(const char *sentence, char which, char ret_label[64])
{
    const char pattern[] = {' ', which, ':', ' ', '\0'};
    const char *values = strchr(sentence, ';');
    const char *at = values == NULL ? NULL : strstr(values, pattern);

    if (at == NULL) {
        return false;
    }
    at += sizeof pattern - 1;
    (void)snprintf(ret_label, 64, "%.*s", (int)strcspn(at, ","), at);
    return true;
}

static void
print_event(const granary_flight_event *event)
{
    const char *sentence = granary_flight_event_text(event->kind);
    char label[64];
    char id[GRANARY_ID_TEXT + 1];
    char time[32];

    granary_id_format(event->id, id);
    (void)printf("%s.%06d  %-14s", show_time(event->time_ns / 1000000, time), (int)(event->time_ns / 1000 % 1000000),
                 granary_flight_event_name(event->kind));
    (void)printf("  %s", memcmp(&event->id, &(granary_id){{0}}, sizeof event->id) == 0
                             ? "-                               "
                             : id);
    if (event->session != 0) {
        (void)printf("  session %u", event->session);
    }
    if (event->client != 0) {
        (void)printf("  client %u", event->client);
    }
    if (label_of(sentence, 'a', label)) {
        (void)printf("  %s %" PRIu64, label, event->a);
    }
    if (label_of(sentence, 'b', label)) {
        (void)printf("  %s %" PRIu64, label, event->b);
    }
    (void)putchar('\n');
}

/* "an object was sealed: data bytes 12, segment 3" */
static const char *
event_text(const void *row, char buffer[SHOW_TEXT])
{
    const granary_flight_event *event = row;
    const char *sentence = granary_flight_event_text(event->kind);
    int length = snprintf(buffer, SHOW_TEXT, "%.*s", (int)strcspn(sentence, ";"), sentence);
    char label[64];

    for (int i = 0; i < 2; i++) {
        if (length < SHOW_TEXT && label_of(sentence, "ab"[i], label)) {
            length += snprintf(buffer + length, (size_t)(SHOW_TEXT - length), "%s %s %" PRIu64,
                               buffer[strcspn(buffer, ":")] == '\0' ? ":" : ",", label, i == 0 ? event->a : event->b);
        }
    }
    return buffer;
}

static void
write_id(const void *row, struct json *json)
{
    const granary_flight_event *event = row;

    if (memcmp(&event->id, &(granary_id){{0}}, sizeof event->id) != 0) {
        json_id(json, "id", event->id);
    }
}

static const char *
event_name(const void *row, char buffer[SHOW_TEXT])
{
    (void)buffer;
    return granary_flight_event_name(((const granary_flight_event *)row)->kind);
}

static const struct column columns[] = {{"sequence", NULL, 0, COLUMN(granary_flight_event, sequence)},
                                        {"time_ns", NULL, 0, COLUMN(granary_flight_event, time_ns)},
                                        {"event", NULL, 0, .show = event_name},
                                        {"session", NULL, 0, COLUMN(granary_flight_event, session)},
                                        {"client", NULL, 0, COLUMN(granary_flight_event, client)},
                                        {"id", NULL, 0, .write = write_id},
                                        {"a", NULL, 0, COLUMN(granary_flight_event, a)},
                                        {"b", NULL, 0, COLUMN(granary_flight_event, b)},
                                        {"text", NULL, 0, .show = event_text},
                                        {0}};

/* Print what is new; *last is the sequence number that was seen last, to tell of a gap. */
static granary_err
print_new(const struct events *events, uint64_t *next, uint64_t *last)
{
    granary_flight_event batch[BATCH];
    size_t count;
    granary_err err;

    while ((err = granary_inspect_events(events->look.inspector, next, BATCH, batch, &count)) == GRANARY_OK &&
           count > 0) {
        for (size_t i = 0; i < count; i++) {
            char id[GRANARY_ID_TEXT + 1];

            if (*last != 0 && batch[i].sequence > *last + 1) {
                (void)fprintf(stderr, "granary: events: %" PRIu64 " were overwritten before they were read\n",
                              batch[i].sequence - *last - 1);
            }
            *last = batch[i].sequence;
            granary_id_format(batch[i].id, id);
            if (events->id != NULL && strncasecmp(id, events->id, strlen(events->id)) != 0) {
                continue;
            }
            if (events->look.cli->json) {
                listing_one(columns, true, &batch[i]);
            } else {
                print_event(&batch[i]);
            }
        }
    }
    return err;
}

/* Where the newest ones begin: *next of granary_inspect_events(). Those that it passes over are not told of as lost. */
static granary_err
find_newest(const struct events *events, uint64_t *next)
{
    granary_flight_event batch[BATCH];
    uint64_t end = 0;
    size_t count;
    granary_err err;

    while ((err = granary_inspect_events(events->look.inspector, &end, BATCH, batch, &count)) == GRANARY_OK &&
           count > 0) {
    }
    *next = end > events->newest ? end - events->newest : 0;
    return err;
}

static int
run_events(struct cli *cli)
{
    static const struct timespec pause = {.tv_nsec = POLL_NS};
    const struct events *events = cli->self;
    uint64_t next = 0;
    uint64_t last = 0;
    granary_err err = events->newest > 0 ? find_newest(events, &next) : GRANARY_OK;

    err = err == GRANARY_OK ? print_new(events, &next, &last) : err;

    while (err == GRANARY_OK && events->follow && fflush(stdout) == 0) {
        (void)nanosleep(&pause, NULL);
        err = print_new(events, &next, &last);
    }
    return err == GRANARY_ENOENT && last != 0 ? GRANARY_OK /* the instance was taken down */ : err;
}

static const struct gr_option events_options[] = {
    {"follow", 'f', NULL, "continue until the instance ends", GR_OPTION_FLAG(struct events, follow)},
    {"last", 'n', "N", "print only the last N events", GR_OPTION_NUMBER(struct events, newest, 1, 1 << 30)},
    {"id", 'o', "ID", "print only events of this object; the beginning of its id is enough", GR_OPTION_TAKE(take_id)},
    {0}};

const struct command command_events = {
    .options = events_options, .access = &look_access, COMMAND_ZERO(struct events), .run = run_events};
