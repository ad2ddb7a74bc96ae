/* Names, pins, references, holders; sessions. */
#include "extension.h"

#include <stdlib.h>
#include <string.h>

static PyObject *
id_or_none(const granary_id *id)
{
    static const granary_id none;

    if (memcmp(id, &none, sizeof none) == 0) {
        Py_RETURN_NONE;
    }
    return id_object(id);
}

static PyObject *
name_set(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    granary_id id, expected = {{0}}, previous = {{0}};
    const char *name;
    int expect = GRANARY_NAME_ANY;
    granary_err err;

    if (!PyArg_ParseTuple(args, "sO&|iO&", &name, id_convert_optional, &id, &expect, id_convert_optional, &expected) ||
        client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_name_set(self->client, name, id, (granary_name_expect)expect, expected, &previous);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? id_or_none(&previous) : fail(err);
}

static PyObject *
name_get(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    const char *name;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s", &name) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_name_get(self->client, name, &id);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? id_object(&id) : fail(err);
}

static PyObject *
name_wait(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    int timeout_ms = GRANARY_FOREVER;
    struct patience patience;
    bool signal = false;
    const char *name;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s|i", &name, &timeout_ms) || client_enter(self) == NULL) {
        return NULL;
    }
    patience = patience_begin(timeout_ms);
    do {
        const int slice_ms = patience_slice(&patience);

        Py_BEGIN_ALLOW_THREADS
        err = granary_name_wait(self->client, name, slice_ms, &id);
        Py_END_ALLOW_THREADS
    } while (err == GRANARY_ETIMEDOUT && patience_more(&patience, &signal));
    client_leave(self);
    return signal ? NULL : err == GRANARY_OK ? id_object(&id) : fail(err);
}

static PyObject *
list_names(PyObject *object, PyObject *none)
{
    enum { PAGE = 256 };
    Client *self = (Client *)object;
    PyObject *list = PyList_New(0);
    granary_name page[PAGE];
    char after[GRANARY_TEXT_MAX + 1];
    size_t count = PAGE;
    bool first = true;
    granary_err err = GRANARY_OK;

    (void)none;
    if (list == NULL || client_enter(self) == NULL) {
        Py_XDECREF(list);
        return NULL;
    }
    while (err == GRANARY_OK && list != NULL && count == PAGE) {
        Py_BEGIN_ALLOW_THREADS
        err = granary_name_list(self->client, first ? NULL : after, page, PAGE, &count);
        Py_END_ALLOW_THREADS
        for (size_t i = 0; err == GRANARY_OK && list != NULL && i < count; i++) {
            PyObject *item =
                Py_BuildValue("(sy#)", page[i].name, (const char *)page[i].id.bytes, (Py_ssize_t)GRANARY_ID_BYTES);

            if (item == NULL || PyList_Append(list, item) < 0) {
                Py_CLEAR(list);
            }
            Py_XDECREF(item);
        }
        if (err == GRANARY_OK && count > 0) {
            memcpy(after, page[count - 1].name, sizeof after);
            first = false;
        }
    }
    client_leave(self);
    if (err != GRANARY_OK) {
        Py_XDECREF(list);
        return fail(err);
    }
    return list;
}

static PyObject *
pin(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    const char *reason = "";
    int scope = GRANARY_PIN_CLIENT;
    uint64_t token;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTuple(args, "O&|is", id_convert, &id, &scope, &reason) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_pin(self->client, id, (granary_pin_scope)scope, reason, &token);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? PyLong_FromUnsignedLongLong(token) : fail(err);
}

static PyObject *
unpin(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    unsigned long long token;
    granary_err err;

    if (!PyArg_ParseTuple(args, "K", &token) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_unpin(self->client, token);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}

/* A call about an object and an owner, or none. */
static PyObject *
owner_call(PyObject *object, PyObject *args, granary_err (*call)(granary_client *, granary_id, const char *))
{
    Client *self = (Client *)object;
    const char *owner = NULL;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTuple(args, "O&|z", id_convert, &id, &owner) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = call(self->client, id, owner);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}

static granary_err
reference(granary_client *client, granary_id id, const char *owner)
{
    return granary_reference(client, id, owner, NULL);
}

static PyObject *
refer(PyObject *object, PyObject *args)
{
    return owner_call(object, args, reference);
}

static PyObject *
unrefer(PyObject *object, PyObject *args)
{
    return owner_call(object, args, granary_unreference);
}

static PyObject *
alias(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    granary_id id, target;
    granary_err err;

    if (!PyArg_ParseTuple(args, "O&O&", id_convert, &id, id_convert, &target) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_alias(self->client, id, target);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}

static PyObject *
hold_object(const void *of)
{
    static const char *const kinds[] = {"", "pin", "reference", "container", "name", "lease"};
    const granary_hold *hold = of;
    const unsigned kind = (unsigned)hold->kind;

    return Py_BuildValue("{s:s,s:y#,s:K,s:I,s:L,s:s}", "kind", kind < 6 ? kinds[kind] : "", "id",
                         (const char *)hold->id.bytes, (Py_ssize_t)GRANARY_ID_BYTES, "token",
                         (unsigned long long)hold->token, "pid", hold->pid, "since_ms", (long long)hold->since_ms,
                         "text", hold->text);
}

static PyObject *
holds(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    granary_hold *found = NULL;
    PyObject *given = Py_None;
    size_t count = 0;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTuple(args, "|O", &given) || (given != Py_None && !id_convert(given, &id)) ||
        client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_holds(self->client, given == Py_None ? NULL : &id, &found, &count);
    Py_END_ALLOW_THREADS
    client_leave(self);
    if (err != GRANARY_OK) {
        return fail(err);
    }
    return infos_object(found, count, sizeof *found, hold_object);
}

/* ---- sessions ---- */

static PyObject *
session_create(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"name", "quota_bytes", "idle_ms", "strict", "shared", "exist_ok", NULL};
    Client *self = (Client *)object;
    granary_session_options options = {.quota_bytes = 0};
    int strict = 0, shared = 0, exist_ok = 0;
    unsigned long long quota = 0;
    long long idle_ms = 0;
    const char *name;
    granary_err err;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|KLppp", names, &name, &quota, &idle_ms, &strict, &shared,
                                     &exist_ok) ||
        client_enter(self) == NULL) {
        return NULL;
    }
    options = (granary_session_options){quota, idle_ms, strict != 0, shared != 0, exist_ok != 0};
    Py_BEGIN_ALLOW_THREADS
    err = granary_session_create(self->client, name, &options);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}

static PyObject *
session_delete(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    const char *name;
    int missing_ok = 0;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s|p", &name, &missing_ok) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_session_delete(self->client, name, missing_ok != 0);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}

static PyObject *
session_object(const void *of)
{
    const granary_session_info *info = of;

    return Py_BuildValue("{s:s,s:I,s:K,s:K,s:K}", "name", info->name, "clients", info->clients, "objects",
                         (unsigned long long)info->objects, "used_bytes", (unsigned long long)info->used_bytes,
                         "quota_bytes", (unsigned long long)info->quota_bytes);
}

static PyObject *
session_list(PyObject *object, PyObject *none)
{
    Client *self = (Client *)object;
    granary_session_info *infos = NULL;
    size_t count = 0;
    granary_err err;

    (void)none;
    if (client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_session_list(self->client, &infos, &count);
    Py_END_ALLOW_THREADS
    client_leave(self);
    if (err != GRANARY_OK) {
        return fail(err);
    }
    return infos_object(infos, count, sizeof *infos, session_object);
}

PyMethodDef hold_methods[] = {
    {"name_set", name_set, METH_VARARGS, "name_set(name, id or None, expect=0, expected=None) -> what it was bound to"},
    {"name_get", name_get, METH_VARARGS, "name_get(name) -> id"},
    {"name_wait", name_wait, METH_VARARGS, "name_wait(name, timeout_ms=-1) -> id"},
    {"list_names", list_names, METH_NOARGS, "list_names() -> [(name, id)]"},
    {"pin", pin, METH_VARARGS, "pin(id, scope=0, reason='') -> token"},
    {"unpin", unpin, METH_VARARGS, "unpin(token)"},
    {"refer", refer, METH_VARARGS, "refer(id, owner=None)"},
    {"unrefer", unrefer, METH_VARARGS, "unrefer(id, owner=None)"},
    {"alias", alias, METH_VARARGS, "alias(id, target)"},
    {"holds", holds, METH_VARARGS, "holds(id=None) -> list of dicts"},
    METHOD("session_create", session_create, "session_create(name, quota_bytes=0, ...)"),
    {"session_delete", session_delete, METH_VARARGS, "session_delete(name, missing_ok=False)"},
    {"session_list", session_list, METH_NOARGS, "session_list() -> list of dicts"},
    {NULL, NULL, 0, NULL},
};
