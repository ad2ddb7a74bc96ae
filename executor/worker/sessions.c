/* A short array, looked through by name. */
#include "executor/worker/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "object/object.h"

struct session {
    char *name;
    granary_client *client;
};

void
sessions_init(struct sessions *sessions, const char *instance, int slot)
{
    *sessions = (struct sessions){.instance = instance};
    (void)snprintf(sessions->tag, sizeof sessions->tag, "executor %d", slot);
}

void
sessions_fini(struct sessions *sessions)
{
    for (size_t i = 0; i < sessions->count; i++) {
        granary_disconnect(sessions->entries[i].client);
        free(sessions->entries[i].name);
    }
    free(sessions->entries);
    sessions->entries = NULL;
    sessions->count = 0;
}

void
sessions_drop_ended(struct sessions *sessions)
{
    size_t kept = 0;

    for (size_t i = 0; i < sessions->count; i++) {
        struct session *entry = &sessions->entries[i];

        if (gr_client_is_over(entry->client)) {
            if (sessions->ended != NULL) {
                sessions->ended(sessions->context, entry->name);
            }
            granary_disconnect(entry->client);
            free(entry->name);
        } else {
            sessions->entries[kept++] = *entry;
        }
    }
    sessions->count = kept;
}

granary_err
sessions_client(struct sessions *sessions, const char *session, granary_client **ret_client)
{
    const char *name = session == NULL || session[0] == '\0' ? "default" : session;
    granary_connect_options options = {.instance = sessions->instance,
                                       .session = name,
                                       .tag = sessions->tag,
                                       .existing = strcmp(name, "default") != 0};
    struct session *entries;
    struct session entry;
    granary_err err;

    sessions_drop_ended(sessions);
    for (size_t i = 0; i < sessions->count; i++) {
        if (strcmp(sessions->entries[i].name, name) == 0) {
            *ret_client = sessions->entries[i].client;
            return GRANARY_OK;
        }
    }
    entries = realloc(sessions->entries, (sessions->count + 1) * sizeof *entries);
    if (entries == NULL) {
        return gr_fail(GRANARY_ENOMEM, "session '%s': out of memory", name);
    }
    sessions->entries = entries;
    entry.name = strdup(name);
    if (entry.name == NULL) {
        return gr_fail(GRANARY_ENOMEM, "session '%s': out of memory", name);
    }
    err = granary_connect(&options, &entry.client);
    if (err != GRANARY_OK) {
        free(entry.name);
        return err;
    }
    entries[sessions->count++] = entry;
    *ret_client = entry.client;
    return GRANARY_OK;
}
