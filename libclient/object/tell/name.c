/* Names of objects. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "granary/hold.h"
#include "object/client.h"

/* Errors: EFORKED · EINVAL no name, or too long */
static granary_err
name_init(granary_client *client, const char *name, struct gr_name *ret_request)
{
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    if (name == NULL || name[0] == '\0' || strlen(name) > GRANARY_TEXT_MAX) {
        return gr_fail(GRANARY_EINVAL, "name '%.64s': 1 to %d bytes are expected", name == NULL ? "" : name,
                       GRANARY_TEXT_MAX);
    }
    *ret_request = (struct gr_name){.expect = GR_NAME_ANY};
    (void)snprintf(ret_request->name, sizeof ret_request->name, "%s", name);
    return GRANARY_OK;
}

granary_err
granary_name_set(granary_client *client, const char *name, granary_id id, granary_name_expect expect,
                 granary_id expected, granary_id *ret_previous)
{
    struct gr_name request, reply;
    granary_err err = name_init(client, name, &request);

    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(request.id, id.bytes, sizeof request.id);
    memcpy(request.expected, expected.bytes, sizeof request.expected);
    request.expect = (uint32_t)expect;
    request.request = request_next(client);
    err = socket_request(client, GR_STORE_NAME_SET, &request, sizeof request, &reply);
    if (err == GRANARY_OK && ret_previous != NULL) {
        memcpy(ret_previous->bytes, reply.id, sizeof reply.id);
    }
    return err;
}

granary_err
granary_name_get(granary_client *client, const char *name, granary_id *ret_id)
{
    struct gr_name request, reply;
    granary_err err = name_init(client, name, &request);

    if (err == GRANARY_OK) {
        err = socket_request(client, GR_STORE_NAME_GET, &request, sizeof request, &reply);
    }
    if (err == GRANARY_OK) {
        memcpy(ret_id->bytes, reply.id, sizeof reply.id);
    }
    return err;
}

/* One message: fills up to `most` names behind request->name. */
static granary_err
list_page(granary_client *client, struct gr_name *request, granary_name *names, size_t most, size_t *ret_count)
{
    struct gr_frame_in frame = {.fd_count = 0};
    granary_err err;
    size_t got;

    socket_take(client);
    err = socket_ask(client, GR_STORE_NAME_LIST, request, sizeof *request, REQUEST_TIMEOUT_MS, &frame);
    got = err == GRANARY_OK ? frame.head.size / sizeof *request : 0;
    got = got < most ? got : most;
    for (size_t i = 0; i < got; i++) {
        memcpy(request, (const char *)frame.body + i * sizeof *request, sizeof *request);
        request->name[sizeof request->name - 1] = '\0';
        memcpy(names[i].id.bytes, request->id, sizeof request->id);
        memcpy(names[i].name, request->name, sizeof request->name);
    }
    gr_frame_in_reset(&frame);
    socket_give(client);
    *ret_count = got;
    return err;
}

granary_err
granary_name_list_sized(granary_client *client, const char *after, granary_name *ret_names, size_t most,
                        size_t *ret_count, size_t name_size)
{
    struct gr_name request = {.expect = GR_NAME_ANY};
    granary_err err = gr_client_check(client);
    void *names = NULL;
    size_t count = 0;
    size_t got = 1;

    if (err == GRANARY_OK) {
        err = gr_sized_borrow(ret_names, name_size, sizeof *ret_names, most, &names);
    }
    if (err == GRANARY_OK && after != NULL && after[0] != '\0') {
        err = name_init(client, after, &request);
    }
    while (err == GRANARY_OK && got > 0 && count < most) {
        err = list_page(client, &request, (granary_name *)names + count, most - count, &got);
        count += got;
    }
    gr_sized_return(ret_names, name_size, names, sizeof *ret_names, count);
    if (err == GRANARY_OK) {
        *ret_count = count;
    }
    return err;
}
