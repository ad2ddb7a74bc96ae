/*
 * The parent's side of a fork. A child reads what it inherited on its parent's leases. So these end when the child can read no
 * more: it holds the other end of a pipe, which closes with it and when it executes another program.
 *
 * All of it is guarded by the interpreter's lock; a thread that forks has a pipe of its own.
 */
#include "extension.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* How often children are looked for. */
#define LOOK_NS 5000000

/* A fork whose children, and theirs, may live. */
struct birth {
    struct birth *next; /* an older one */
    uint64_t number;
    int fd; /* hung up: they have gone */
};

/* A lease that is not needed here any more. */
struct late {
    struct late *next;
    Client *client; /* kept */
    granary_view view;
    uint64_t born;
};

static bool watched; /* whether Python calls what is below */
static struct birth *births;
static struct late *lates;
static uint64_t forks; /* how many there were */
static uint64_t
    blind; /* the newest one whose children nobody can watch: there was no descriptor. Its leases never end */
static size_t leases; /* of this process, the late ones too */
static int64_t looked_ns;
static _Thread_local int pipe_fds[2] = {-1, -1};

/* ---- what Python calls ---- */

static PyObject *
before(PyObject *none, PyObject *nothing)
{
    (void)none;
    (void)nothing;
    lease_look();
    if (leases > 0 && pipe2(pipe_fds, O_CLOEXEC) < 0) {
        pipe_fds[0] = pipe_fds[1] = -1;
        blind = forks + 1;
    }
    Py_RETURN_NONE;
}

static PyObject *
after_in_parent(PyObject *none, PyObject *nothing)
{
    struct birth *birth = pipe_fds[0] < 0 ? NULL : malloc(sizeof *birth);

    (void)none;
    (void)nothing;
    forks++;
    if (birth != NULL) {
        *birth = (struct birth){births, forks, pipe_fds[0]};
        births = birth;
    } else if (pipe_fds[0] >= 0) {
        (void)close(pipe_fds[0]);
        blind = forks;
    }
    if (pipe_fds[1] >= 0) {
        (void)close(pipe_fds[1]);
    }
    pipe_fds[0] = pipe_fds[1] = -1;
    Py_RETURN_NONE;
}

/* Its end of the pipe stays open for the child's life. What the parent waits for is no concern of the child's. */
static PyObject *
after_in_child(PyObject *none, PyObject *nothing)
{
    (void)none;
    (void)nothing;
    if (pipe_fds[0] >= 0) {
        (void)close(pipe_fds[0]);
    }
    pipe_fds[0] = pipe_fds[1] = -1;
    while (births != NULL) {
        struct birth *birth = births;

        births = birth->next;
        (void)close(birth->fd);
        free(birth);
    }
    while (lates != NULL) { /* their clients are the parent's: they stay */
        struct late *late = lates;

        lates = late->next;
        free(late);
    }
    blind = 0;
    leases = 0;
    Py_RETURN_NONE;
}

/* os.register_at_fork(), once there is something to keep. */
static int
watch(void)
{
    static PyMethodDef functions[] = {
        {"before", before, METH_NOARGS, NULL},
        {"after_in_parent", after_in_parent, METH_NOARGS, NULL},
        {"after_in_child", after_in_child, METH_NOARGS, NULL},
    };
    PyObject *os = PyImport_ImportModule("os");
    PyObject *function = os == NULL ? NULL : PyObject_GetAttrString(os, "register_at_fork");
    PyObject *nothing = PyTuple_New(0), *given = PyDict_New(), *result = NULL;
    bool good = function != NULL && nothing != NULL && given != NULL;

    for (size_t i = 0; good && i < sizeof functions / sizeof functions[0]; i++) {
        PyObject *one = PyCFunction_NewEx(&functions[i], NULL, NULL);

        good = one != NULL && PyDict_SetItemString(given, functions[i].ml_name, one) == 0;
        Py_XDECREF(one);
    }
    if (good) {
        result = PyObject_Call(function, nothing, given);
    }
    watched = watched || result != NULL;
    Py_XDECREF(result);
    Py_XDECREF(given);
    Py_XDECREF(nothing);
    Py_XDECREF(function);
    Py_XDECREF(os);
    return watched ? 0 : -1;
}

/* ---- leases ---- */

static void
end_now(Client *client, granary_view *view)
{
    leases--;
    granary_object_release(client->client, view);
    client_drop(client);
}

/* Forget forks whose children have gone. Returns the newest of the others. */
static uint64_t
newest_fork(void)
{
    uint64_t newest = blind;

    for (struct birth **at = &births; *at != NULL;) {
        struct birth *birth = *at;
        struct pollfd polled = {.fd = birth->fd};

        if (poll(&polled, 1, 0) > 0) { /* nobody writes into it */
            *at = birth->next;
            (void)close(birth->fd);
            free(birth);
        } else {
            newest = birth->number > newest ? birth->number : newest;
            at = &birth->next;
        }
    }
    return newest;
}

void
lease_look(void)
{
    struct timespec now;
    struct late *ended = NULL;
    int64_t now_ns;
    uint64_t newest;

    if (births == NULL) {
        return;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    if (now_ns - looked_ns < LOOK_NS) {
        return;
    }
    looked_ns = now_ns;
    newest = newest_fork();
    for (struct late **at = &lates; *at != NULL;) {
        struct late *late = *at;

        if (newest > late->born) {
            at = &late->next;
            continue;
        }
        *at = late->next;
        late->next = ended;
        ended = late;
    }
    while (ended != NULL) { /* which may give up the interpreter's lock */
        struct late *late = ended;

        ended = late->next;
        end_now(late->client, &late->view);
        free(late);
    }
}

int
lease_begin(uint64_t *ret_born)
{
    if (!watched && watch() < 0) {
        return -1;
    }
    lease_look();
    leases++;
    *ret_born = forks;
    return 0;
}

void
lease_end(Client *client, granary_view *view, uint64_t born)
{
    struct late *late;

    if (!client_is_own(client)) { /* the parent's, which it ends */
        Py_DECREF((PyObject *)client);
        return;
    }
    lease_look();
    if ((births == NULL || births->number <= born) && blind <= born) {
        end_now(client, view);
        return;
    }
    late = malloc(sizeof *late);
    if (late != NULL) { /* else it stays until the process ends */
        *late = (struct late){lates, client, *view, born};
        lates = late;
    }
}
