/* Sessions: create, has, delete, list. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "granary/session.h"
#include "object/client.h"

/* With the ticket held. */
static granary_err
ask(granary_client *client, enum gr_store_op op, struct gr_session_request *request, const char *name,
    struct gr_frame_in *ret_frame)
{
    if (strlen(name) >= sizeof request->name) {
        return gr_fail(GRANARY_EINVAL, "session '%.32s...': longer than %zu characters", name,
                       sizeof request->name - 1);
    }
    memcpy(request->name, name, strlen(name) + 1);
    return socket_ask(client, op, request, sizeof *request, REQUEST_TIMEOUT_MS, ret_frame);
}

static granary_err
ask_plain(granary_client *client, enum gr_store_op op, struct gr_session_request *request, const char *name)
{
    struct gr_frame_in frame = {.fd_count = 0};
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    socket_take(client);
    err = ask(client, op, request, name, &frame);
    gr_frame_in_reset(&frame);
    socket_give(client);
    return err;
}

granary_err
granary_session_create_sized(granary_client *client, const char *name, const granary_session_options *theirs,
                             size_t options_size)
{
    granary_session_options options;
    struct gr_session_request request = {.flags = 0};
    granary_err err = gr_sized_take(&options, sizeof options, theirs, options_size);

    if (err != GRANARY_OK) {
        return err;
    }
    if (name == NULL || name[0] == '\0' || options.idle_ms < 0) {
        return gr_fail(GRANARY_EINVAL, "session '%s': a name, and an idle time of 0 or more, are expected",
                       name == NULL ? "" : name);
    }
    request.flags = (options.if_not_exist ? GR_SESSION_IF_NOT_EXIST : 0) | (options.strict ? GR_SESSION_STRICT : 0) |
                    (options.shared ? GR_SESSION_SHARED : 0);
    request.quota_bytes = options.quota_bytes;
    request.idle_ms = (uint64_t)options.idle_ms;
    return ask_plain(client, GR_STORE_SESSION_CREATE, &request, name);
}

granary_err
granary_session_has(granary_client *client, const char *name, bool *ret_there)
{
    struct gr_session_request request = {.flags = 0};
    granary_err err = ask_plain(client, GR_STORE_SESSION_HAS, &request, name);

    if (err == GRANARY_OK || err == GRANARY_ENOENT) {
        *ret_there = err == GRANARY_OK;
        return GRANARY_OK;
    }
    return err;
}

granary_err
granary_session_delete(granary_client *client, const char *name, bool if_exist)
{
    struct gr_session_request request = {.flags = if_exist ? GR_SESSION_IF_EXIST : 0};

    return ask_plain(client, GR_STORE_SESSION_DELETE, &request, name);
}

static granary_session_info
info_of(const struct gr_session_info *from)
{
    granary_session_info info = {
        .number = from->number,
        .clients = from->clients,
        .uid = from->uid,
        .strict = (from->flags & GR_CONTROL_STRICT) != 0,
        .shared = (from->flags & GR_CONTROL_SHARED) != 0,
        .objects = from->objects,
        .used_bytes = from->used_bytes,
        .quota_bytes = from->quota_bytes,
        .idle_ms = (int64_t)from->idle_ms,
        .created_ms = (int64_t)from->created_ms,
        .last_used_ms = (int64_t)from->last_used_ms,
    };

    memcpy(info.name, from->name, sizeof info.name);
    info.name[sizeof info.name - 1] = '\0';
    return info;
}

granary_err
granary_session_list_sized(granary_client *client, granary_session_info **ret_infos, size_t *ret_count,
                           size_t info_size)
{
    granary_session_info *infos = NULL;
    char after[64] = "";
    size_t count = 0;
    size_t page = 0;
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    do {
        struct gr_session_request request = {.flags = 0};
        struct gr_frame_in frame = {.fd_count = 0};
        granary_session_info *more;

        socket_take(client); /* until the answer is copied */
        err = ask(client, GR_STORE_SESSION_LIST, &request, after, &frame);
        page = err == GRANARY_OK ? frame.head.size / sizeof(struct gr_session_info) : 0;
        more = realloc(infos, (count + page + 1) * sizeof *infos);
        if (more == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "list of sessions: out of memory");
            page = 0;
        } else {
            infos = more;
        }
        for (size_t i = 0; i < page; i++) {
            struct gr_session_info from;

            memcpy(&from, (const char *)frame.body + i * sizeof from, sizeof from);
            infos[count++] = info_of(&from);
        }
        if (page > 0) {
            memcpy(after, infos[count - 1].name, sizeof after);
        }
        gr_frame_in_reset(&frame);
        socket_give(client);
    } while (page > 0);
    return gr_sized_give_list(err, infos, sizeof *infos, count, ret_infos, info_size, ret_count);
}
