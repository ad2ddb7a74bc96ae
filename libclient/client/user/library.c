/* The messages of exports, and the references that keep the files. */
#include "client/user/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "client/user/call.h"
#include "granary/call.h"
#include "granary/hold.h"
#include "granary/info.h"
#include "graph/user/function.h"
#include "object/object.h"

typedef char owner_text[GRANARY_TEXT_MAX + 1];

/* A protobuf string is not const, but packing only reads it. */
static char *
borrow(const char *text)
{
    return (char *)(uintptr_t)text;
}

static granary_err
owner_of(const char *name, owner_text ret_owner)
{
    int length = snprintf(ret_owner, sizeof(owner_text), "export:%s", name);

    return length > 0 && (size_t)length < sizeof(owner_text)
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "library '%.100s': its name is longer than %zu bytes", name,
                         sizeof(owner_text) - strlen("export:") - 1);
}

static granary_id
object_of(const Granary__Library *library)
{
    granary_id id = {{0}};

    if (library->object.len == sizeof id.bytes) {
        memcpy(id.bytes, library->object.data, sizeof id.bytes);
    }
    return id;
}

/* The scheduler has that file already. */
static void
give_up(granary_client *client, granary_id id, const char *owner)
{
    (void)granary_unreference(client, id, owner);
    (void)granary_object_delete(client, id, 0);
}

/* One request about libraries; ret_object: of the library in the answer. */
static granary_err
call_library(granary_client *client, Granary__Request *request, granary_id *ret_object)
{
    Granary__Reply *reply = NULL;
    granary_err err = call(client, request, CALL_TIMEOUT_MS, &reply);

    if (err == GRANARY_OK && reply->library == NULL) {
        err = gr_fail(GRANARY_EPROTO, "the scheduler's answer has no library");
    }
    if (err == GRANARY_OK) {
        *ret_object = object_of(reply->library);
    }
    if (reply != NULL) {
        granary__reply__free_unpacked(reply, NULL);
    }
    return err;
}

static granary_err
call_export(granary_client *client, Granary__Library *library, granary_id *ret_object)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    granary_err err;

    library->session = borrow(gr_client_session(client));
    request.body_case = GRANARY__REQUEST__BODY_EXPORT;
    request.export = library;
    err = call_library(client, &request, ret_object);
    library->session = borrow(protobuf_c_empty_string);
    return err;
}

static granary_err
call_unexport(granary_client *client, const char *session, const char *name, const char *version,
              granary_id *ret_object)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Unexport unexport = GRANARY__UNEXPORT__INIT;

    unexport.session = borrow(session);
    unexport.name = borrow(name);
    unexport.version = borrow(version == NULL ? "" : version);
    request.body_case = GRANARY__REQUEST__BODY_UNEXPORT;
    request.unexport = &unexport;
    return call_library(client, &request, ret_object);
}

granary_err
gr_export_send(granary_client *client, Granary__Library *library)
{
    granary_id id = object_of(library);
    granary_id known;
    owner_text owner;
    granary_err err = owner_of(library->name, owner);

    if (err == GRANARY_OK) {
        err = granary_reference(client, id, owner, NULL); /* first: what is known to others is kept */
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = call_export(client, library, &known);
    if (err == GRANARY_OK && !gr_id_equal(known, id) && !granary_object_contains(client, known)) {
        /* The file it knows went with an earlier session of the same name. */
        err = call_unexport(client, gr_client_session(client), library->name, library->version, &known);
        if (err == GRANARY_OK || err == GRANARY_ENOENT) {
            err = call_export(client, library, &known);
        }
    }
    if (err == GRANARY_OK && !gr_id_equal(known, id)) {
        give_up(client, id, owner);
    } else if (err != GRANARY_OK && err != GRANARY_EUNREACHABLE && err != GRANARY_ETIMEDOUT) {
        (void)granary_unreference(client, id, owner); /* refused; else it may have been accepted */
    }
    return err;
}

/* Every object that was kept for a library of that name. */
static granary_err
unreference_all(granary_client *client, const char *owner)
{
    granary_hold *holds = NULL;
    size_t count = 0;
    granary_err err = granary_holds(client, NULL, &holds, &count);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if (holds[i].kind == GRANARY_HOLD_REFERENCE && strcmp(holds[i].text, owner) == 0) {
            err = granary_unreference(client, holds[i].id, owner);
            err = err == GRANARY_ENOENT ? GRANARY_OK : err;
        }
    }
    free(holds);
    return err;
}

granary_err
granary_unexport(granary_client *client, const char *name, const char *version)
{
    granary_id object;
    owner_text owner;
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK) {
        err = name == NULL ? gr_fail(GRANARY_EINVAL, "library: NULL") : owner_of(name, owner);
    }
    if (err == GRANARY_OK) {
        err = call_unexport(client, gr_client_session(client), name, version, &object);
    }
    if (err == GRANARY_OK && version == NULL) {
        err = unreference_all(client, owner);
    } else if (err == GRANARY_OK) {
        err = granary_unreference(client, object, owner);
        err = err == GRANARY_ENOENT ? GRANARY_OK : err;
    }
    return err;
}

granary_err
gr_unexport_all(granary_client *client, const char *session)
{
    static const char *const fields[] = {"name", "session"};
    granary_query query = {.subject = "functions", .fields = fields, .field_count = 2};
    bool changed;
    granary_err err;

    do {
        granary_table *table;

        changed = false;
        err = granary_info(client, &query, &table);
        if (err != GRANARY_OK) {
            return err;
        }
        for (size_t row = 0; err == GRANARY_OK && row < granary_table_rows(table); row++) {
            const char *function = granary_table_text(table, row, "name"); /* LIBRARY:NAME */
            char name[GR_LIBRARY_MAX];
            owner_text owner;
            granary_id object;

            if (strcmp(granary_table_text(table, row, "session"), session) == 0) {
                (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(function, ":"), function);
                err = call_unexport(client, session, name, NULL, &object);
                changed = changed || err == GRANARY_OK;
                /* The client's own session may go on: then nobody could name the file any more. */
                if (err == GRANARY_OK && strcmp(session, gr_client_session(client)) == 0 &&
                    owner_of(name, owner) == GRANARY_OK) {
                    err = unreference_all(client, owner);
                }
                err = err == GRANARY_ENOENT ? GRANARY_OK : err; /* another function of the same library */
            }
        }
        query.cursor = changed ? 0 : granary_table_cursor(table); /* what is gone has moved the others */
        granary_table_free(table);
    } while (err == GRANARY_OK && (changed || query.cursor != 0));
    return err;
}
