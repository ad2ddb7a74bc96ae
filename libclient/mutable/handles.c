/*
 * Handles that rest. They are few, and a thread closes each that nobody has taken for a while: a table that is deleted
 * keeps its page and some memory as long as a handle is open. The thread ends when none rests.
 *
 * A resting handle that has written has a lane, so nobody else can write there. The lanes are taken from the first one on.
 * One in the upper half is given up at once: however many clients rest, half of the lanes are for those that write.
 */
#include "mutable/handles.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/thread.h"
#include "granary/hold.h"
#include "mutable/table.h"

#define RESTING_MOST 8u
#define REST_NS      ((int64_t)1000000000)

struct resting {
    granary_mutable *table;
    int64_t until_ns;
};

/* Of a client. */
struct handles {
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    pthread_t thread;
    bool is_made; /* and is to be joined */
    bool runs;    /* until it has found that none rests */
    bool stops;
    struct resting resting[RESTING_MOST]; /* who came first goes first */
    size_t count;
};

/* ---- those that rest; locked ---- */

static granary_mutable *
remove_at(struct handles *handles, size_t at)
{
    granary_mutable *table = handles->resting[at].table;

    handles->count--;
    memmove(&handles->resting[at], &handles->resting[at + 1], (handles->count - at) * sizeof handles->resting[0]);
    return table;
}

/* The handle of a table, taken out; NULL: none rests. */
static granary_mutable *
remove_of(struct handles *handles, granary_id id, const char *name)
{
    for (size_t i = 0; i < handles->count; i++) {
        const granary_mutable *table = handles->resting[i].table;

        if (gr_id_equal(table->id, id) && strcmp(table->name, name) == 0) {
            return remove_at(handles, i);
        }
    }
    return NULL;
}

/* ---- the thread ---- */

static void *
handles_run(void *context)
{
    struct handles *handles = context;

    (void)pthread_mutex_lock(&handles->lock);
    while (!handles->stops && handles->count > 0) {
        if (gr_now_ns() < handles->resting[0].until_ns) {
            (void)gr_cond_wait_ns(&handles->changed, &handles->lock, handles->resting[0].until_ns);
        } else {
            granary_mutable *table = remove_at(handles, 0);

            (void)pthread_mutex_unlock(&handles->lock);
            granary_mutable_close(table);
            (void)pthread_mutex_lock(&handles->lock);
        }
    }
    handles->runs = false;
    (void)pthread_mutex_unlock(&handles->lock);
    return NULL;
}

/* Of the thread that has ended; nothing when there is none. It has let go of the lock. */
static void
thread_join(struct handles *handles)
{
    if (handles->is_made) {
        (void)pthread_join(handles->thread, NULL);
        handles->is_made = false;
    }
}

/* It begins when the caller unlocks. False: there is no thread. */
static bool
thread_start(struct handles *handles)
{
    if (handles->runs) {
        return true;
    }
    thread_join(handles);
    handles->runs = handles->is_made = gr_thread_start(&handles->thread, handles_run, handles) == 0;
    return handles->runs;
}

/* ---- of a client ---- */

static granary_err
handles_create(granary_client *client, void **ret_extension)
{
    struct handles *handles = calloc(1, sizeof *handles);

    (void)client;
    if (handles == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    (void)pthread_mutex_init(&handles->lock, NULL);
    (void)pthread_cond_init(&handles->changed, NULL);
    *ret_extension = handles;
    return GRANARY_OK;
}

static void
handles_destroy(void *extension)
{
    struct handles *handles = extension;

    (void)pthread_mutex_lock(&handles->lock);
    handles->stops = true;
    (void)pthread_cond_signal(&handles->changed);
    (void)pthread_mutex_unlock(&handles->lock);
    thread_join(handles);
    while (handles->count > 0) {
        granary_mutable_close(remove_at(handles, 0));
    }
    (void)pthread_cond_destroy(&handles->changed);
    (void)pthread_mutex_destroy(&handles->lock);
    free(handles);
}

static granary_err
handles_of(granary_client *client, struct handles **ret_handles)
{
    void *extension = NULL;
    granary_err err = gr_client_extension(client, GR_CLIENT_ROOM_MUTABLE, handles_create, handles_destroy, &extension);

    *ret_handles = extension;
    return err;
}

/* ---- the door ---- */

granary_err
handles_take(granary_client *client, const char *name, granary_mutable **ret_table)
{
    struct handles *handles;
    granary_mutable *table = NULL;
    granary_id id;
    granary_err err = handles_of(client, &handles);

    if (err == GRANARY_OK && granary_name_get(client, name, &id) == GRANARY_OK) {
        (void)pthread_mutex_lock(&handles->lock);
        table = remove_of(handles, id, name);
        (void)pthread_mutex_unlock(&handles->lock);
    }
    if (table != NULL && table_check(table) != GRANARY_OK) {
        granary_mutable_close(table);
        table = NULL;
    }
    if (table != NULL) {
        *ret_table = table;
        return GRANARY_OK;
    }
    return err == GRANARY_OK ? granary_mutable_open(client, name, ret_table) : err;
}

static bool
may_rest(const granary_mutable *table)
{
    return table_check(table) == GRANARY_OK && (table->writer == NULL || table->writer->lane < GR_MUTABLE_LANES / 2);
}

void
handles_give(granary_mutable *table)
{
    granary_mutable *leaves = table; /* another one, if this one rests */
    struct handles *handles;

    if (table == NULL) {
        return;
    }
    if (may_rest(table) && handles_of(table->client, &handles) == GRANARY_OK) {
        (void)pthread_mutex_lock(&handles->lock);
        if (thread_start(handles)) {
            leaves = remove_of(handles, table->id, table->name);
            leaves = leaves == NULL && handles->count == RESTING_MOST ? remove_at(handles, 0) : leaves;
            handles->resting[handles->count++] = (struct resting){.table = table, .until_ns = gr_now_ns() + REST_NS};
            (void)pthread_cond_signal(&handles->changed);
        }
        (void)pthread_mutex_unlock(&handles->lock);
    }
    granary_mutable_close(leaves);
}
