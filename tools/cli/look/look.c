/* An instance is opened read-only from shared memory; what its store is at is said before anything is printed. */
#include "cli/look/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define PAGE_OBJECTS 256

const struct gr_option look_options[] = {
    {"copy", 0, "DIR", "look at a copy that `granary snapshot` made", GR_OPTION_TEXT(struct look, copy), .group = 9},
    {0}};

/* Whoever reads what follows must know that it may be old. */
static void
say_life(const granary_instance_info *info)
{
    switch (info->life) {
    case GRANARY_STORE_STOPPED:
        (void)fprintf(stderr,
                      "granary: store: pid %u is stopped and answers nobody: what follows is from shared memory\n",
                      info->pid);
        break;
    case GRANARY_STORE_DEAD:
        (void)fprintf(stderr,
                      "granary: store: pid %u is dead: what follows is what it left; the next store takes it over\n",
                      info->pid);
        break;
    case GRANARY_STORE_REBOOTED:
        (void)fprintf(stderr, "granary: store: the machine was restarted: what follows is of the time before\n");
        break;
    case GRANARY_STORE_ADOPTING:
        (void)fprintf(stderr, "granary: store: pid %u is taking the instance over\n", info->pid);
        break;
    default:
        break;
    }
}

static int
open_instance(struct look *look)
{
    granary_err err = look->copy != NULL ? granary_inspect_open_copy(look->copy, &look->inspector)
                                         : granary_inspect_open(look->cli->instance, &look->inspector);

    if (err != GRANARY_OK) {
        return cli_fail_plain(err);
    }
    if (granary_inspect_instance(look->inspector, &look->info) == GRANARY_OK) {
        say_life(&look->info);
    }
    return 0;
}

void
look_close(struct look *look)
{
    granary_disconnect(look->client);
    look->client = NULL;
    granary_inspect_close(look->inspector);
    look->inspector = NULL;
}

static int
open_look(struct cli *cli)
{
    struct look *look = cli->self;

    look->cli = cli;
    return open_instance(look);
}

static int
open_or_join(struct cli *cli)
{
    struct look *look = cli->self;
    const granary_connect_options options = {
        .instance = cli->instance, .session = cli->session, .tag = "granary", .existing = cli->session != NULL};

    look->cli = cli;
    if (look->copy == NULL && granary_inspect_open(cli->instance, &look->inspector) == GRANARY_EPERM) {
        granary_err err = granary_connect(&options, &look->client);

        return err == GRANARY_OK ? 0 : cli_fail_plain(err);
    }
    look_close(look);
    return open_instance(look);
}

static void
close_look(struct cli *cli)
{
    look_close(cli->self);
}

const struct access look_access = {.options = look_options, .open = open_look, .close = close_look};
const struct access look_access_or_join = {.options = look_options, .open = open_or_join, .close = close_look};

int
look_session(struct look *look, bool *ret_there)
{
    const char *name = look->cli->session != NULL ? look->cli->session : "default";
    granary_err err = look->client != NULL ? GRANARY_OK /* it has joined it */
                                           : granary_inspect_session_find(look->inspector, name, &look->session);

    *ret_there = err == GRANARY_OK;
    if (err == GRANARY_ENOENT && look->cli->session == NULL) {
        return 0;
    }
    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

/* An object by the name that is bound to it, or that its id was made of (`put --id-from`). */
static granary_err
find_name(struct look *look, const char *name, granary_id *ret_id)
{
    granary_hold *holds = NULL;
    size_t count = 0;
    char text[GRANARY_ID_TEXT + 1];
    granary_err err = granary_inspect_holds(look->inspector, look->session, NULL, &holds, &count);
    bool found = false;

    for (size_t i = 0; i < count; i++) {
        if (holds[i].kind == GRANARY_HOLD_NAME && strcmp(holds[i].text, name) == 0) {
            *ret_id = holds[i].id;
            found = true;
        }
    }
    free(holds);
    if (found || err != GRANARY_OK) {
        return err;
    }
    granary_id_format(granary_id_from_name(look->cli->session, name), text);
    return granary_inspect_object_find(look->inspector, look->session, text, ret_id) == GRANARY_OK
               ? GRANARY_OK
               : gr_fail(GRANARY_ENOENT, "name '%s': not found: `granary names` lists them", name);
}

int
look_find(struct look *look, const char *text, granary_id *ret_id)
{
    bool there;
    int status = look_session(look, &there);
    granary_err err;

    if (status != 0) {
        return status;
    }
    if (look->client != NULL) {
        return cli_find(look->client, text, ret_id);
    }
    if (!there) {
        err = gr_fail(GRANARY_ENOENT, "object %s: not found", text);
    } else if (strncmp(text, "name:", 5) == 0) {
        err = find_name(look, text + 5, ret_id);
    } else {
        err = granary_inspect_object_find(look->inspector, look->session, text, ret_id);
    }
    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

uint64_t
look_pinned(granary_inspector *inspector, uint64_t *ret_objects)
{
    const granary_object_filter filter = {.states = 1u << GRANARY_OBJECT_SEALED, .pinned = true};
    granary_inspect_session_info *sessions = NULL;
    granary_object_info infos[PAGE_OBJECTS];
    uint64_t bytes = 0;
    size_t session_count = 0;

    if (granary_inspect_sessions(inspector, &sessions, &session_count) != GRANARY_OK) {
        return 0;
    }
    for (size_t s = 0; s < session_count; s++) {
        uint64_t cursor = 0;
        size_t count;

        do {
            if (granary_inspect_objects(inspector, sessions[s].number, &filter, &cursor, PAGE_OBJECTS, infos, &count) !=
                GRANARY_OK) {
                break;
            }
            for (size_t i = 0; i < count; i++) {
                bytes += infos[i].data_size + infos[i].meta_size;
            }
            *ret_objects += count;
        } while (cursor != 0);
    }
    free(sessions);
    return bytes;
}

struct look_tables
look_tables(granary_inspector *inspector)
{
    struct look_tables all = {.tables = 0};
    granary_table_info *infos = NULL;
    size_t count = 0;

    if (granary_inspect_tables(inspector, &infos, &count) == GRANARY_OK) {
        for (size_t i = 0; i < count; i++) {
            all.tables += !infos[i].deleted;
            all.writers += infos[i].writers;
            all.bytes += infos[i].bytes;
            all.memory_bytes += infos[i].memory_bytes;
        }
    }
    free(infos);
    return all;
}
