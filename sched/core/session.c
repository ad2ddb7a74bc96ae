/* Sessions: their share, and what they have to free. */

#include "sched/core/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text/text.h"
#include "sched/core/manager.h"

#define SESSION_MAX 256 /* bytes of a name: more than a store takes */

granary_err
session_check(const char *name)
{
    size_t length = strlen(name);

    return length > SESSION_MAX
               ? gr_fail(GRANARY_EINVAL, "session '%.80s...': its name has %zu bytes, at most %d are possible", name,
                         length, SESSION_MAX)
               : gr_text_check(name, length, "a session's name");
}

struct session *
session_find(const struct manager *manager, const char *name)
{
    struct session *session;

    LIST_FOREACH(session, &manager->sessions.list, link)
    {
        if (strcmp(session->name, name) == 0) {
            return session;
        }
    }
    return NULL;
}

struct session *
session_get(struct manager *manager, const char *name)
{
    struct session *session = session_find(manager, name);

    if (session != NULL) {
        return session;
    }
    session = calloc(1, sizeof *session);
    if (session == NULL || (session->name = strdup(name)) == NULL) {
        free(session);
        return NULL;
    }
    session->weight = WEIGHT_DEFAULT;
    session->serial = ++manager->sessions.serials;
    LIST_INSERT_HEAD(&manager->sessions.list, session, link);
    return session;
}

bool
session_is_idle(const struct session *session)
{
    return session->graphs == 0 && session->orders == 0 && session->frees.size == 0 &&
           session->weight == WEIGHT_DEFAULT;
}

void
session_destroy(struct session *session)
{
    LIST_REMOVE(session, link);
    gr_buf_free(&session->frees);
    free(session->name);
    free(session);
}

void
sessions_fini(struct sessions *sessions)
{
    while (!LIST_EMPTY(&sessions->list)) {
        session_destroy(LIST_FIRST(&sessions->list));
    }
}

void
request_session(struct manager *manager, uint64_t ticket, const Granary__SessionSet *request)
{
    const char *name = request->session[0] != '\0' ? request->session : "default";
    granary_err err = session_check(name);
    struct session *session;

    if (err == GRANARY_OK && (request->weight < 1 || request->weight > WEIGHT_MAX)) {
        err = gr_fail(GRANARY_EINVAL, "session '%.80s': weight %u: from 1 to %d; %d is everybody's", name,
                      request->weight, WEIGHT_MAX, WEIGHT_DEFAULT);
    }
    if (err != GRANARY_OK) {
        reply_failure(manager, ticket, err);
        return;
    }
    session = session_get(manager, name);
    if (session == NULL) {
        reply_no_memory(manager, ticket);
        return;
    }
    session->weight = request->weight;
    if (request->weight == WEIGHT_DEFAULT) {
        entry_forget(manager, MANAGER_SESSIONS, name, strlen(name));
    } else {
        keep_message(manager, MANAGER_SESSIONS, name, strlen(name), &request->base);
    }
    reply_ok(manager, ticket);
}

void
manager_restore_session(struct manager *manager, const char *name, const void *set, size_t size)
{
    Granary__SessionSet *message = granary__session_set__unpack(NULL, size, set);
    struct session *session = message == NULL ? NULL : session_get(manager, name);

    if (session != NULL && message->weight >= 1 && message->weight <= WEIGHT_MAX) {
        session->weight = message->weight;
    } else {
        gr_log_warn("STATE-ENTRY", "session=%.80s the entry cannot be read, and was passed over", name);
    }
    granary__session_set__free_unpacked(message, NULL);
}
