/* Teardown: a session's objects and files go in slices of turns, and its name is free when all have gone. */
#include "store/client/teardown.h"

#include <stdio.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "store/client/client.h"
#include "store/core/core.h"
#include "store/core/events.h"
#include "store/flow/move.h"
#include "store/flow/read/restore.h"
#include "store/flow/reclaim.h"
#include "store/object/session.h"
#include "store/segment/depot.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"

void
session_destroy_segments(struct session *session)
{
    struct store *store = session->store;

    list_each (struct segment, segment, &session->segments, in_session) {
        account_move(&store->account, GR_ACCOUNT_SEALED, GR_ACCOUNT_POOLED, segment->live);
        account_move(&store->account, GR_ACCOUNT_RETIRING, GR_ACCOUNT_POOLED, segment->deleting);
        store->account.clean -= segment->clean;
        segment->live = segment->deleting = segment->clean = 0;
        memory_abandon(store, segment);
    }
}

/* Nothing of its is candidate for anything any more; its clients learn that it is closed before they are dropped. */
void
session_delete(struct session *session)
{
    struct store *store = session->store;

    gr_log_info("SESSION-DELETED", "session=%s objects=%llu", session->name,
                (unsigned long long)session->index.objects);
    event_note(store, session, GR_EVENT_SESSION_GONE, NULL, 0, 0, 0);
    store->sessions.count--;
    list_append(&store->sessions.dying, &session->in_store);
    moves_forget(session);
    session_set_state(session, GR_CONTROL_CLOSED);
    list_each (struct client, client, &session->clients, in_session) {
        client_drop(client, NULL);
    }
    restore_forget(session);
    reclaim_forget(session);
    list_each (struct segment, segment, &session->segments, in_session) {
        if (!segment->is_idle) {
            list_remove(&segment->in_order);
        }
    }
}

static bool
is_busy(const struct session *session)
{
    if (session->jobs > 0) {
        return true;
    }
    list_each (const struct segment, segment, &session->segments, in_session) {
        if (segment->busy > 0) {
            return true;
        }
    }
    return false;
}

/* Copies on disk go with the objects, also those that were meant to outlive everything but this. */
static void
release_copies(struct session *session)
{
    struct account *account = &session->store->account;
    struct map_entry *copy;
    struct gr_slot *slot;
    uint64_t position = 0;
    size_t at = 0;

    while ((copy = map_next(&session->on_disk, &at)) != NULL) {
        file_release(session->store, (uint32_t)copy->value.numbers[0], 0);
    }
    at = 0;
    while ((copy = map_next(&session->on_remote, &at)) != NULL) {
        file_release(session->store, (uint32_t)copy->value.numbers[0], 0);
    }
    while ((slot = index_next(&session->index, &position)) != NULL) {
        struct index_object object = slot_object(slot);
        enum gr_slot_state state = GR_WORD_STATE(slot_word(slot));

        if (state == GR_SLOT_SPILLED) {
            account_take(account, GR_ACCOUNT_OBJECTS_SPILLED, 1);
            account_take(account, GR_ACCOUNT_SPILLED, object.data_size + object.meta_size);
            file_release(session->store, object.where, 0);
        }
        if ((state == GR_SLOT_SPILLED || state == GR_SLOT_SEALED) && (object.flags & GR_FLAG_SLICE) == 0) {
            account_take(account, GR_ACCOUNT_OBJECTS, 1);
        }
        if (GR_FLAGS_PINS(object.flags) > 0 && state == GR_SLOT_SEALED) {
            account->pinned -= slot_footprint(slot);
        }
    }
}

/* Its memory and files go: no worker needs them. */
static void
give_back(struct session *session)
{
    struct store *store = session->store;

    session->given_back = true;
    store->sessions.deleting -= session->deleting_count;
    release_copies(session);
    session_destroy_segments(session);
    store->serve_now = true;
}

static void
finish(struct session *session)
{
    struct store *store = session->store;

    account_take(&store->account, GR_ACCOUNT_INDEX, session->index_seen);
    list_remove(&session->in_store);
    restore_fini(session);
    session_destroy(session);
}

/* When a session without clients is idle for too long; INT64_MAX: never. */
static int64_t
idle_until_ns(const struct session *session)
{
    uint64_t idle_ms = atomic_load_explicit(&session->control->idle_ms, memory_order_relaxed);

    return idle_ms == 0 || session->client_count > 0 ? INT64_MAX : session->idle_since_ns + (int64_t)idle_ms * 1000000;
}

bool
teardown_turn(struct store *store, int64_t now_ns)
{
    list_each (struct session, session, &store->sessions.dying, in_store) {
        if (!is_busy(session) && !session->given_back) {
            give_back(session);
        }
        /* The control page tells the next store that this was not finished: it goes when the files are gone. */
        if (!is_busy(session)) {
            finish(session);
        }
    }
    if (now_ns < store->sessions.idle_check_ns) {
        return false;
    }
    store->sessions.idle_check_ns = INT64_MAX;
    list_each (struct session, session, &store->sessions.all, in_store) {
        int64_t until_ns = idle_until_ns(session);

        if (now_ns >= until_ns) {
            session_delete(session);
        } else if (until_ns < store->sessions.idle_check_ns) {
            store->sessions.idle_check_ns = until_ns;
        }
    }
    return false;
}

int64_t
teardown_next_ns(const struct store *store)
{
    /* A session that waits for a worker is finished after the worker's own event. */
    return store->sessions.idle_check_ns;
}
