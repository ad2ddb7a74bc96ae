/* granary events: the flight recorder. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"
#include "cli/look/look.h"
#include "cli/print/json.h"
#include "cli/print/show.h"

#define BATCH   256
#define POLL_NS 100000000

struct events {
    struct look look;
    const char *id; /* prefix of the ids to show, or NULL */
    bool follow;
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

static void
print_event_json(const granary_flight_event *event)
{
    struct json json = {0};

    json_open(&json, NULL, '{');
    json_unsigned(&json, "sequence", event->sequence);
    json_signed(&json, "time_ns", event->time_ns);
    json_text(&json, "event", granary_flight_event_name(event->kind));
    json_unsigned(&json, "session", event->session);
    json_unsigned(&json, "client", event->client);
    if (memcmp(&event->id, &(granary_id){{0}}, sizeof event->id) != 0) {
        json_id(&json, "id", event->id);
    }
    json_unsigned(&json, "a", event->a);
    json_unsigned(&json, "b", event->b);
    json_close(&json);
}

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
                print_event_json(&batch[i]);
            } else {
                print_event(&batch[i]);
            }
        }
    }
    return err;
}

int
command_events(struct cli *cli, int argc, char **argv)
{
    static const struct timespec pause = {.tv_nsec = POLL_NS};
    static const struct gr_option options[] = {
        {"follow", 'f', NULL, "go on until the instance ends", GR_OPTION_FLAG(struct events, follow)},
        {"id", 'o', "ID", "only those of this object; the beginning of its id is enough", GR_OPTION_TAKE(take_id)},
        {0}};
    static const struct arguments arguments = {.options = options,
                                               .doc = "Print the flight recorder: what the store did last, also when "
                                                      "it is dead. --json prints an object a line."};
    struct events events = {.look = {.cli = cli}};
    uint64_t next = 0;
    uint64_t last = 0;
    int status;
    granary_err err;

    (void)look_arguments(&arguments, &events, &events.look, argc, argv);
    status = look_open(&events.look);
    if (status != 0) {
        return status;
    }
    err = print_new(&events, &next, &last);
    while (err == GRANARY_OK && events.follow && fflush(stdout) == 0) {
        (void)nanosleep(&pause, NULL);
        err = print_new(&events, &next, &last);
    }
    if (err == GRANARY_ENOENT && last != 0) {
        err = GRANARY_OK; /* the instance was taken down */
    }
    if (err != GRANARY_OK) {
        status = cli_fail(err, "events");
    }
    look_close(&events.look);
    return status;
}
