/* Requests about sessions: any client may make them, whatever its own session. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "store/client/request.h"
#include "store/client/teardown.h"
#include "store/object/session.h"

#define IDLE_MOST_MS 3155760000000ull /* a hundred years, which fit the clock */

/* named: a session is meant, and not the one a list goes on behind. */
static struct gr_session_request
request_of(const struct client *client, const struct gr_frame_in *frame, bool named)
{
    struct gr_session_request request;

    memcpy(&request, frame->body, sizeof request);
    request.name[sizeof request.name - 1] = '\0';
    if (named) {
        session_name_own(client, request.name);
    }
    return request;
}

static uint32_t
flags_of(const struct gr_session_request *request)
{
    return ((request->flags & GR_SESSION_STRICT) != 0 ? GR_CONTROL_STRICT : 0) |
           ((request->flags & GR_SESSION_SHARED) != 0 ? GR_CONTROL_SHARED : 0);
}

static uint64_t
idle_of(const struct gr_session_request *request)
{
    return request->idle_ms < IDLE_MOST_MS ? request->idle_ms : IDLE_MOST_MS;
}

/* One that is there is fine when it is what was asked for. */
static granary_err
check_same(const struct session *session, const struct gr_session_request *request)
{
    const struct gr_control *control = session->control;
    const char *what = NULL;

    if (((control->flags ^ flags_of(request)) & GR_CONTROL_STRICT) != 0) {
        what = "strict";
    } else if (((control->flags ^ flags_of(request)) & GR_CONTROL_SHARED) != 0) {
        what = "shared";
    } else if (atomic_load_explicit(&control->quota_bytes, memory_order_relaxed) != request->quota_bytes) {
        what = "quota";
    } else if (atomic_load_explicit(&control->idle_ms, memory_order_relaxed) != idle_of(request)) {
        what = "idle time";
    }
    return what == NULL ? GRANARY_OK
                        : gr_fail(GRANARY_EEXIST, "session '%s': exists with other settings (%s)", session->name, what);
}

static granary_err
create(struct client *client, const struct gr_session_request *request)
{
    struct session *session = session_find(client->store, request->name);
    granary_err err;

    if (session != NULL) {
        if ((request->flags & GR_SESSION_IF_NOT_EXIST) == 0) {
            return gr_fail(GRANARY_EEXIST, "session '%s': exists already", session->name);
        }
        err = session_check_user(session, client);
        return err == GRANARY_OK ? check_same(session, request) : err;
    }
    err = session_get(client->store, request->name, client->uid, &session);
    if (err != GRANARY_OK) {
        return err;
    }
    session->control->flags = flags_of(request);
    atomic_store_explicit(&session->control->quota_bytes, request->quota_bytes, memory_order_relaxed);
    atomic_store_explicit(&session->control->idle_ms, idle_of(request), memory_order_relaxed);
    session_used(session);
    return GRANARY_OK;
}

granary_err
on_session_create(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_session_request request = request_of(client, frame, true);

    return request_answer(client, frame, create(client, &request), NULL, 0);
}

granary_err
on_session_has(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_session_request request = request_of(client, frame, true);
    const struct session *session = session_find(client->store, request.name);

    granary_err err =
        session != NULL && session_check_user(session, client) == GRANARY_OK
            ? GRANARY_OK
            : gr_fail(GRANARY_ENOENT, "session '%s': not found: `granary sessions` lists them", request.name);

    return request_answer(client, frame, err, NULL, 0);
}

static granary_err delete (struct client *client, const struct gr_session_request *request)
{
    struct session *session = session_find(client->store, request->name);
    granary_err err;

    if (session == NULL) {
        return (request->flags & GR_SESSION_IF_EXIST) != 0
                   ? GRANARY_OK
                   : gr_fail(GRANARY_ENOENT, "session '%s': not found: `granary sessions` lists them", request->name);
    }
    if (session == client->session) {
        return gr_fail(GRANARY_EBUSY, "session '%s': it is the caller's own: delete it from another session",
                       session->name);
    }
    /* Whoever may only use a shared session may not delete it. */
    err = session_check_owner(session, client);
    if (err == GRANARY_OK) {
        session_delete(session);
    }
    return err;
}

granary_err
on_session_delete(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_session_request request = request_of(client, frame, true);

    return request_answer(client, frame, delete (client, &request), NULL, 0);
}

static struct gr_session_info
info_of(const struct session *session)
{
    const struct gr_control *control = session->control;
    struct gr_session_info info = {
        .number = session->number,
        .clients = session->client_count,
        .flags = control->flags,
        .uid = (uint32_t)atomic_load_explicit(&control->uid, memory_order_relaxed),
        .objects = session->index.objects,
        .used_bytes = atomic_load_explicit(&control->used_bytes, memory_order_relaxed),
        .quota_bytes = atomic_load_explicit(&control->quota_bytes, memory_order_relaxed),
        .idle_ms = atomic_load_explicit(&control->idle_ms, memory_order_relaxed),
        .created_ms = control->created_ms,
        .last_used_ms = atomic_load_explicit(&control->last_used_ms, memory_order_relaxed),
    };

    (void)snprintf(info.name, sizeof info.name, "%s", session->name);
    return info;
}

/* The session whose name is the next behind `after`, of those the client may use. */
static const struct session *
next_behind(const struct client *client, const char *after)
{
    const struct session *best = NULL;
    const struct list *sessions = &client->store->sessions.all;

    list_each (const struct session, session, sessions, in_store) {
        if (strcmp(session->name, after) > 0 && session_check_user(session, client) == GRANARY_OK &&
            (best == NULL || strcmp(session->name, best->name) < 0)) {
            best = session;
        }
    }
    return best;
}

#define LIST_MOST 64u

granary_err
on_session_list(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_session_request request = request_of(client, frame, false);
    struct gr_session_info infos[LIST_MOST];
    const struct session *session;
    size_t found = 0;

    session = next_behind(client, request.name);
    while (session != NULL && found < LIST_MOST) {
        infos[found++] = info_of(session);
        session = next_behind(client, session->name);
    }
    return request_answer(client, frame, GRANARY_OK, infos, found * sizeof infos[0]);
}
