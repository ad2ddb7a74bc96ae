/*
 * granary why: a sentence for each fact that explains where an object is, why it is there still, or what became of it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/look/pinners.h"
#include "cli/look/waits.h"
#include "cli/look/why_object.h"
#include "cli/print/show.h"
#include "cli/scheduler/scheduler.h"
#include "granary/info.h"

void
why_fact(struct why *why, const char *code, const char *format, ...)
{
    char sentence[SHOW_TEXT];
    char shown[SHOW_TEXT];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (why->look.cli->json) {
        json_open(&why->json, NULL, '{');
        json_text(&why->json, "code", code);
        json_text(&why->json, "text", sentence);
        json_close(&why->json);
    } else {
        (void)printf("%s%s\n", why->begun ? "  " : "", show_text(sentence, shown));
    }
    why->begun = true;
}

/* ---- what the scheduler knows ---- */

/* The last attempt to spill that failed, when none has worked since. */
static bool
find_disk_failure(const struct why *why, granary_flight_event *ret_event)
{
    granary_flight_event events[256];
    uint64_t next = 0;
    bool failed = false;
    size_t count;

    while (granary_inspect_events(why->look.inspector, &next, 256, events, &count) == GRANARY_OK && count > 0) {
        for (size_t i = 0; i < count; i++) {
            const char *name = granary_flight_event_name(events[i].kind);

            if (strcmp(name, "DISK_FAILED") == 0) {
                *ret_event = events[i];
                failed = true;
            } else if (strcmp(name, "SPILL") == 0) {
                failed = false;
            }
        }
    }
    return failed;
}

/* The directory where writing fails, of those that the instance has. */
static void
find_failing_directory(const struct why *why, char *ret_path, size_t size)
{
    granary_spill_dir_info *infos = NULL;
    size_t count = 0;

    (void)snprintf(ret_path, size, "%s", why->look.info.spill_dir);
    (void)granary_inspect_spill_dirs(why->look.inspector, &infos, &count);
    for (size_t i = count; i > 0; i--) {
        if (infos[i - 1].failed != GRANARY_OK) {
            (void)snprintf(ret_path, size, "%s", infos[i - 1].path);
        }
    }
    free(infos);
}

static void
tell_disk(struct why *why)
{
    granary_flight_event event;
    granary_err err;
    char age[32], path[sizeof why->look.info.spill_dir];

    if (find_disk_failure(why, &event)) {
        err = (granary_err) - (int)event.a;
        find_failing_directory(why, path, sizeof path);
        why_fact(why, "disk",
                 "nothing can be spilled: writing to disk, in %s, failed %s ago (%s)%s; the store's log says more",
                 path, show_age(event.time_ns / 1000000, age), granary_error_name(err),
                 err == GRANARY_EFULL ? ": make room on its file system" : "");
    }
}

/* Who holds the store's memory, when that is what somebody waits for. */
static void
tell_room(struct why *why)
{
    granary_store_stat stat;
    struct pinners pinners;
    char size[4][32];

    if (why->look.inspector != NULL &&
        granary_inspect_stat(why->look.inspector, why->look.session, &stat) == GRANARY_OK) {
        why_fact(
            why, "store-memory",
            "of the store's %s of memory %s are in objects, %s are being written or reserved, %s are free: `granary "
            "pins`, `granary leases` and `granary top` name who holds them",
            cli_format_size(stat.capacity_bytes, size[0]), cli_format_size(stat.sealed_bytes, size[1]),
            cli_format_size(stat.writing_bytes + stat.reserved_bytes, size[2]),
            cli_format_size(stat.free_bytes, size[3]));
        if (pinners_crowd(why->look.inspector, stat.capacity_bytes, &pinners)) {
            why_fact(why, "pinned", "the most is pinned, %s: %s", pinners.who, pinners.fix);
        }
        tell_disk(why);
    }
}

/* Errors: EUNREACHABLE, nobody who does not answer is asked */
static granary_err
connect_scheduler(const struct why *why, granary_client **ret_client)
{
    const granary_connect_options options = {.instance = why->look.cli->instance,
                                             .session = why->look.cli->session,
                                             .tag = "granary",
                                             .existing = why->look.cli->session != NULL};
    struct gr_instance instance;
    const char *trouble = NULL;
    granary_err err = gr_instance_resolve(why->look.cli->instance, &instance);

    if (err == GRANARY_OK && (why->look.copy != NULL || (trouble = scheduler_trouble(&instance)) != NULL)) {
        err = gr_fail(GRANARY_EUNREACHABLE, "instance %s: %s", instance.name, trouble != NULL ? trouble : "a copy");
    }
    return err == GRANARY_OK ? granary_connect(&options, ret_client) : err;
}

/* What graphs have to do with it: line by line, as the scheduler tells. ENOENT: nothing. */
static granary_err
tell_graphs(struct why *why, const char *subject)
{
    granary_client *client = NULL;
    char *text = NULL;
    char *rest = NULL;
    granary_err err = connect_scheduler(why, &client);

    if (err == GRANARY_OK) {
        err = granary_why(client, subject, &text);
    }
    for (char *sentence = err == GRANARY_OK ? strtok_r(text, "\n", &rest) : NULL; sentence != NULL;
         sentence = strtok_r(NULL, "\n", &rest)) {
        why_fact(why, "graph", "%s", sentence);
        if (strstr(sentence, "the store had no room") != NULL) {
            tell_room(why);
        }
    }
    granary_disconnect(client);
    free(text);
    return err;
}

/* No object: a graph or a subtask, or nothing that anybody knows. Returns the exit status. */
static int
tell_other(struct why *why, granary_err err)
{
    /* EINVAL: nothing an object could be called */
    granary_err other = err == GRANARY_ENOENT || err == GRANARY_EINVAL ? tell_graphs(why, why->text) : err;

    if (other == GRANARY_OK) {
        return 0;
    }
    if (why->look.inspector == NULL) {
        return cli_fail_plain(other);
    }
    if (other == GRANARY_EUNREACHABLE && !why->look.cli->json) {
        (void)fprintf(stderr, "granary: why: %s: only objects can be explained\n", granary_error_message());
    }
    if (err == GRANARY_EINVAL) {
        return cli_fail_plain(other);
    }
    (void)gr_fail(err, "object %s: not found", why->text);
    return why_missing(why, err);
}

/* ---- everybody who waits ---- */

/* Whether pins leave so little memory that puts may fail, though nobody waits just now. */
static bool
is_crowded(const struct why *why)
{
    granary_store_stat stat;
    struct pinners pinners;

    return why->look.inspector != NULL &&
           granary_inspect_stat(why->look.inspector, why->look.session, &stat) == GRANARY_OK &&
           pinners_crowd(why->look.inspector, stat.capacity_bytes, &pinners);
}

/* Clients of the store, as their lease pages say. Returns how many. *ret_room: some wait for room. */
static size_t
tell_clients(struct why *why, bool *ret_room)
{
    granary_wait_info *waits = NULL;
    char text[SHOW_TEXT];
    size_t count = 0;

    if (why->look.inspector == NULL || granary_inspect_waits(why->look.inspector, &waits, &count) != GRANARY_OK) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        why->begun = false;
        why_fact(why, "wait", "%s", waits_sentence(&why->look, &waits[i], text));
        *ret_room = *ret_room || waits[i].kind == GRANARY_WAIT_ROOM;
    }
    free(waits);
    if (*ret_room) {
        tell_room(why);
    }
    return count;
}

/* Graphs that run, and what they wait for. Returns how many; none, too, when no scheduler can tell. */
static size_t
tell_running(struct why *why)
{
    static const char *const fields[] = {"key", "state"};
    const granary_query query = {.subject = "graphs", .fields = fields, .field_count = 2};
    granary_client *client = NULL;
    granary_table *table = NULL;
    size_t count = 0;

    if (connect_scheduler(why, &client) == GRANARY_OK && granary_info(client, &query, &table) == GRANARY_OK) {
        for (size_t row = 0; row < granary_table_rows(table); row++) {
            if (strcmp(granary_table_text(table, row, "state"), "running") == 0) {
                why->begun = false;
                count += tell_graphs(why, granary_table_text(table, row, "key")) == GRANARY_OK;
            }
        }
    }
    granary_table_free(table);
    granary_disconnect(client);
    return count;
}

static void
tell_all(struct why *why)
{
    bool room = false;

    if (why->look.cli->json) {
        json_open(&why->json, NULL, '{');
        json_open(&why->json, "facts", '[');
    }
    if (tell_clients(why, &room) + tell_running(why) == 0) {
        why_fact(why, "nobody", "nobody waits");
    }
    if (!room && is_crowded(why)) {
        why->begun = false;
        tell_room(why);
    }
    if (why->json.depth > 0) {
        json_close(&why->json);
        json_close(&why->json);
    }
}

/* ---- the command ---- */

/* In the session that was named, else in any: the default one first. */
static granary_err
find_object(struct why *why, bool there, granary_object_info *ret_info)
{
    granary_inspect_session_info *sessions = NULL;
    size_t count = 0;
    granary_id id;
    granary_err err;

    if (why->look.inspector == NULL) { /* a member of a group: graphs alone are told of */
        return gr_fail(GRANARY_ENOENT, "object %s: not found", why->text);
    }
    if (there) {
        err = granary_inspect_object_find(why->look.inspector, why->look.session, why->text, &id);
    } else {
        err = gr_fail(GRANARY_ENOENT, "object %s: not found", why->text);
    }
    if (err == GRANARY_ENOENT && why->look.cli->session == NULL &&
        granary_inspect_sessions(why->look.inspector, &sessions, &count) == GRANARY_OK) {
        for (size_t i = 0; i < count && err == GRANARY_ENOENT; i++) {
            why->look.session = sessions[i].number;
            err = granary_inspect_object_find(why->look.inspector, sessions[i].number, why->text, &id);
        }
        free(sessions);
    }
    return err == GRANARY_OK ? granary_inspect_object(why->look.inspector, why->look.session, id, ret_info) : err;
}

/* Of one thing: where it is, as JSON begins with, and the facts. Returns the exit status. */
static int
explain(struct why *why, bool there)
{
    granary_object_info info;
    char id[GRANARY_ID_TEXT + 1];
    granary_err err = find_object(why, there, &info);
    int status = 0;

    if (why->look.cli->json && (err == GRANARY_OK || err == GRANARY_ENOENT || err == GRANARY_EINVAL)) {
        json_open(&why->json, NULL, '{');
        json_text(&why->json, "object", why->text);
        json_text(&why->json, "where", err == GRANARY_OK ? show_state(info.state) : "nowhere");
        json_open(&why->json, "facts", '[');
    }
    if (err == GRANARY_OK) {
        why_object(why, &info);
        granary_id_format(info.id, id);
        (void)tell_graphs(why, id);
    } else {
        status = tell_other(why, err);
    }
    if (why->json.depth > 0) {
        json_close(&why->json);
        json_close(&why->json);
    }
    return status;
}

static int
run_why(struct cli *cli)
{
    struct why *why = cli->self;
    bool there = false;
    int status = look_session(&why->look, &there);

    why->text = cli->count > 0 ? cli->arguments[0] : NULL;
    if (status == 0 && why->text == NULL) {
        tell_all(why);
    } else if (status == 0) {
        status = explain(why, there);
    }
    return status;
}

const struct command command_why = {.access = &look_access_or_join, COMMAND_ZERO(struct why), .run = run_why};
