/* Sleep and wakeups: the store tells by a word in shared memory that it sleeps, and clients ring only then. */
#include "store/client/doze.h"
#include "store/core/core.h"

#include "base/barrier.h"
#include "store/client/client.h"
#include "store/object/session.h"

#define ACTIVE_NS 5000000 /* a ring that was used lately is looked at in every turn */
#define PUBLISHED 32u     /* sessions that are not awake shown the account at a time */

static void
set_sleeping(struct session *session, uint32_t sleeping)
{
    atomic_store_explicit(&session->control->store_sleeping, sleeping, memory_order_relaxed);
}

/* A client's ring had entries: its session is awake from now on. */
static void
doze_wake(struct client *client, int64_t now_ns)
{
    struct session *session = client->session;

    client->active_ns = now_ns;
    list_append(&client->store->doze->active, &client->in_active);
    if (list_empty(&session->in_awake)) {
        list_append(&client->store->doze->awake, &session->in_awake);
        set_sleeping(session, 0);
    }
}

static unsigned
drain(struct client *client, int64_t now_ns)
{
    unsigned drained = client->session == NULL ? 0 : ring_drain(client, GR_RING_ENTRIES);

    if (drained > 0 && !client->gone) {
        doze_wake(client, now_ns);
    }
    return drained;
}

void
doze_init(struct doze *doze)
{
    list_init(&doze->awake);
    list_init(&doze->active);
}

void
doze_note_bell(struct store *store)
{
    store->doze->bell_rang = true;
}

static unsigned
drain_all(struct store *store, int64_t now_ns)
{
    unsigned entries = 0;

    store->doze->bell_rang = false;
    list_each (struct client, client, &store->clients.all, in_store) {
        entries += drain(client, now_ns);
    }
    return entries;
}

static unsigned
drain_lately(struct store *store, int64_t now_ns)
{
    unsigned entries = 0;

    list_each (struct client, client, &store->doze->active, in_active) {
        unsigned drained = ring_drain(client, GR_RING_ENTRIES);

        if (drained > 0) {
            client->active_ns = now_ns;
        } else if (now_ns - client->active_ns > ACTIVE_NS) {
            list_remove(&client->in_active);
        }
        entries += drained;
    }
    return entries;
}

static unsigned
drain_awake(struct store *store, int64_t now_ns)
{
    unsigned entries = 0;

    list_each (const struct session, session, &store->doze->awake, in_awake) {
        list_each (struct client, client, &session->clients, in_session) {
            entries += drain(client, now_ns);
        }
    }
    return entries;
}

unsigned
doze_drain(struct store *store, int64_t now_ns, bool lately)
{
    return store->doze->bell_rang ? drain_all(store, now_ns)
           : lately               ? drain_lately(store, now_ns)
                                  : drain_awake(store, now_ns);
}

unsigned
doze_sleep(struct store *store, int64_t now_ns)
{
    unsigned entries;

    list_each (struct session, session, &store->doze->awake, in_awake) {
        set_sleeping(session, 1);
    }
    /* Whoever filled its ring and read the word before this fence is seen below; everybody else rings. */
    barrier_full();
    entries = doze_drain(store, now_ns, false);
    list_each (struct session, session, &store->doze->awake, in_awake) {
        if (entries > 0) {
            set_sleeping(session, 0);
        } else {
            list_remove(&session->in_awake);
        }
    }
    return entries;
}

bool
doze_publish(struct store *store)
{
    unsigned shown = 0;

    list_each (struct session, session, &store->doze->awake, in_awake) {
        session_publish(session);
    }
    /* Who was shown it goes to the end. */
    list_each (struct session, session, &store->sessions.shown, in_shown) {
        session_publish(session);
        list_append(&store->sessions.shown, &session->in_shown);
        if (++shown == PUBLISHED || shown == store->sessions.count) {
            break;
        }
    }
    return shown == PUBLISHED && shown < store->sessions.count;
}
