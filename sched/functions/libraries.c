/* Libraries of user code: exported and unexported, bound to graphs, sent to executors ahead of what needs them. */

#include "sched/functions/libraries.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/log.h"
#include "sched/core/manager.h"
#include "sched/core/pack.h"
#include "sched/functions/exports.h"

/* What an executor was sent of a session. */
struct export_mark {
    const struct shelf *shelf;
    uint64_t sequence;
};

/* ---- kept across restarts ---- */

/* session NUL name NUL version */
static void
library_key(const Granary__Library *library, struct gr_buf *key)
{
    gr_buf_add(key, library->session, strlen(library->session) + 1);
    gr_buf_add(key, library->name, strlen(library->name) + 1);
    gr_buf_add(key, library->version, strlen(library->version));
}

static void
library_keep(struct manager *manager, const Granary__Library *library)
{
    struct gr_buf key = {0};

    library_key(library, &key);
    keep_message(manager, MANAGER_FUNCTIONS, key.bytes, key.size, &library->base);
    gr_buf_free(&key);
}

void
manager_restore_library(struct manager *manager, const void *library, size_t size)
{
    Granary__Library *message = granary__library__unpack(NULL, size, library);

    if (message == NULL || exports_restore(manager->exports, message) != GRANARY_OK) {
        gr_log_warn("STATE-ENTRY", "a library cannot be read, and was passed over");
    }
}

/* ---- requests ---- */

void
request_export(struct manager *manager, uint64_t ticket, Granary__Library *library)
{
    const struct exported *exported = NULL;
    bool changed = false;
    granary_id replaced;
    struct session *session;
    char *given = library->session;
    granary_err err;

    if (given[0] == '\0') {
        library->session = (char *)(uintptr_t) "default";
    }
    err = session_check(library->session);
    if (err == GRANARY_OK) {
        err = exports_add(manager->exports, library, &exported, &changed, &replaced);
    }
    library->session = given;
    if (err != GRANARY_OK) {
        reply_failure(manager, ticket, err);
        return;
    }
    if (changed) {
        library_keep(manager, exported->library);
        info_changed(manager, INFO_BIT(functions));
    }
    session = gr_id_is_zero(replaced) ? NULL : session_get(manager, exported->library->session);
    if (session != NULL) {
        pack_free(&session->frees, replaced);
    }
    reply_library(manager, ticket, exported->library);
}

/* A graph that may still run a function of the library. */
static bool
in_use(const struct manager *manager, const Granary__Library *library)
{
    const struct task_graph *graph;

    FOREACH_GRAPH(graph, manager)
    {

        if (graph->execution != NULL && graph->exports > 0 && strcmp(graph->session->name, library->session) == 0 &&
            gr_plan_uses(graph->plan, library->name, library->version)) {
            return true;
        }
    }
    return false;
}

/* Libraries of the session that are unexported, and that no graph needs any more, go with their objects. */
static void
shelf_sweep(struct manager *manager, struct shelf *shelf, struct session *session)
{
    const struct exported *exported;
    size_t position = 0;

    while ((exported = exports_next_left(shelf, &position)) != NULL) {
        struct gr_buf key = {0};
        granary_id id;

        if (in_use(manager, exported->library)) {
            continue;
        }
        library_key(exported->library, &key);
        entry_forget(manager, MANAGER_FUNCTIONS, key.bytes, key.size);
        gr_buf_free(&key);
        memcpy(id.bytes, exported->library->object.data, sizeof id.bytes);
        if (session != NULL) {
            pack_free(&session->frees, id);
        }
        exports_drop(manager->exports, shelf, exported);
        position--;
    }
}

void
exports_sweep(struct manager *manager, const char *session)
{
    struct shelf *shelf = exports_left(manager->exports) > 0 ? exports_of(manager->exports, session) : NULL;

    if (shelf != NULL) {
        shelf_sweep(manager, shelf, session_get(manager, session));
    }
}

void
request_unexport(struct manager *manager, uint64_t ticket, const Granary__Unexport *unexport)
{
    const char *session = unexport->session[0] != '\0' ? unexport->session : "default";
    struct shelf *shelf = exports_of(manager->exports, session);
    const struct exported *exported;
    const struct exported *last = NULL;

    while ((exported = exports_leave(manager->exports, shelf, unexport->name, unexport->version)) != NULL) {
        library_keep(manager, exported->library);
        last = exported;
    }
    if (last == NULL) {
        granary_err err = exports_no_library(shelf, session, unexport->name, unexport->version);

        reply_failure(manager, ticket, err);
        return;
    }
    reply_library(manager, ticket, last->library);
    exports_sweep(manager, session);
}

/* ---- graphs ---- */

granary_err
manager_find_function(void *context, const char *text, struct gr_function *ret_function)
{
    const struct function_scope *scope = context;

    return exports_find(exports_of(scope->manager->exports, scope->session), scope->session, text, ret_function);
}

/* The parameter of a node that names a function, or NULL. */
static Granary__Attr *
function_attr(const Granary__Node *node)
{
    for (size_t i = 0; i < node->n_attrs; i++) {
        if (strcmp(node->attrs[i]->name, "function") == 0 && node->attrs[i]->kind == GRANARY__ATTR__KIND__STRING &&
            node->attrs[i]->n_strings == 1) {
            return node->attrs[i];
        }
    }
    return NULL;
}

static granary_err
bind_node(struct function_scope *scope, const Granary__Node *node)
{
    Granary__Attr *attr = function_attr(node);
    char text[GR_FUNCTION_TEXT_MAX];
    struct gr_function function;
    granary_err err;
    char *bound;

    if (attr == NULL || (strcmp(node->op, "call") != 0 && strcmp(node->op, "map_chunk") != 0)) {
        return GRANARY_OK;
    }
    err = manager_find_function(scope, attr->strings[0], &function);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "node '%.100s' (%.40s)", node->name, node->op);
    }
    gr_function_format(&function.name, text);
    bound = strdup(text);
    if (bound == NULL) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    free(attr->strings[0]);
    attr->strings[0] = bound;
    return GRANARY_OK;
}

granary_err
graph_bind(struct manager *manager, const char *session, const Granary__Graph *message)
{
    struct function_scope scope = {.manager = manager, .session = session};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < message->n_nodes && err == GRANARY_OK; i++) {
        err = bind_node(&scope, message->nodes[i]);
    }
    return err;
}

/* ---- executors ---- */

static struct export_mark *
mark_of(struct executor *executor, const struct shelf *shelf)
{
    struct export_mark *grown;

    for (size_t i = 0; i < executor->mark_count; i++) {
        if (executor->marks[i].shelf == shelf) {
            return &executor->marks[i];
        }
    }
    grown = reallocarray(executor->marks, executor->mark_count + 1, sizeof *grown);
    if (grown == NULL) {
        return NULL;
    }
    executor->marks = grown;
    grown[executor->mark_count] = (struct export_mark){.shelf = shelf};
    return &grown[executor->mark_count++];
}

uint32_t
exports_executors(const struct manager *manager, const char *session, uint64_t sequence)
{
    const struct shelf *shelf = exports_of(manager->exports, session);
    uint32_t count = 0;

    for (size_t i = 0; shelf != NULL && i < manager->executors.count; i++) {
        const struct executor *executor = &manager->executors.items[i];

        for (size_t k = 0; k < executor->mark_count; k++) {
            count += executor->marks[k].shelf == shelf && executor->marks[k].sequence >= sequence;
        }
    }
    return count;
}

void
exports_send(struct manager *manager, uint32_t number, const struct task_graph *graph, struct gr_buf *message)
{
    struct executor *executor = executor_find(manager, number);
    const struct shelf *shelf = graph->exports == 0 ? NULL : exports_of(manager->exports, graph->session->name);
    struct export_mark *mark = executor == NULL || shelf == NULL ? NULL : mark_of(executor, shelf);

    if (mark != NULL && mark->sequence < graph->exports) {
        mark->sequence = exports_pack(shelf, mark->sequence, message);
    } else if (mark == NULL && shelf != NULL) {
        (void)exports_pack(shelf, 0, message); /* out of memory: what it has already it passes over */
    }
}
