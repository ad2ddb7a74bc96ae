/* Rings of events: one writer, an entry's number written last, readers that check it before and after. */
#include "store/core/events.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/barrier.h"
#include "base/fd.h"
#include "base/futex.h"
#include "base/id.h"
#include "store/base/shmfile.h"
#include "store/core/core.h"

static uint64_t
ring_bytes(uint64_t entries)
{
    return sizeof(struct gr_events) + entries * sizeof(struct gr_event);
}

/* The ring of that name, if there is one and it is what this release makes; else NULL. */
static struct gr_events *
ring_adopt(const char *name, uint32_t version, uint32_t session, uint64_t entries)
{
    int fd = gr_shm_open(name, O_RDWR | O_NONBLOCK);
    struct gr_events *ring = NULL;
    struct stat st;
    void *bytes;

    if (fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size == ring_bytes(entries) &&
        (bytes = mmap(NULL, ring_bytes(entries), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) != MAP_FAILED) {
        ring = bytes;
        if (atomic_load_explicit(&ring->magic, memory_order_acquire) != GR_EVENTS_MAGIC || ring->version != version ||
            ring->session != session || ring->entries != entries) {
            (void)munmap(bytes, ring_bytes(entries));
            ring = NULL;
        }
    }
    gr_fd_close(&fd);
    return ring;
}

static granary_err
ring_open(const char *name, uint32_t version, uint32_t session, uint64_t entries, struct gr_events **ret_ring)
{
    struct gr_events *ring = ring_adopt(name, version, session, entries);
    granary_err err = GRANARY_OK;
    void *bytes;
    int fd = -1;

    if (ring == NULL) {
        (void)shm_unlink(name);
        err = shmfile_create_mapped(name, ring_bytes(entries), &fd, &bytes);
        if (err == GRANARY_OK) {
            gr_fd_close(&fd);
            ring = bytes;
            ring->version = version;
            ring->session = session;
            ring->entries = entries;
            atomic_store_explicit(&ring->magic, GR_EVENTS_MAGIC, memory_order_release);
        }
    }
    if (err == GRANARY_OK) {
        *ret_ring = ring;
    }
    return err;
}

static void
ring_close(struct gr_events **ring, const char *name)
{
    if (*ring != NULL) {
        (void)munmap(*ring, ring_bytes((*ring)->entries));
        (void)shm_unlink(name);
        *ring = NULL;
    }
}

static void
name_of(const struct store *store, const struct session *session, char ret_name[96])
{
    if (session == NULL) {
        (void)snprintf(ret_name, 96, "%sevents", store->instance.shm_prefix);
    } else {
        shmfile_name(ret_name, store->instance.shm_prefix, session->number, "events", SHMFILE_NO_NUMBER);
    }
}

granary_err
events_open(struct store *store)
{
    char name[96];
    granary_err err;

    name_of(store, NULL, name);
    err = ring_open(name, store->root.shm->version, 0, GR_EVENTS_INSTANCE, &store->recorder.ring);
    if (err == GRANARY_OK) {
        account_add(&store->account, GR_ACCOUNT_INDEX, ring_bytes(GR_EVENTS_INSTANCE));
    }
    return err;
}

void
events_close(struct store *store)
{
    char name[96];

    name_of(store, NULL, name);
    ring_close(&store->recorder.ring, name);
}

granary_err
events_open_session(struct session *session)
{
    struct store *store = session->store;
    char name[96];
    granary_err err;

    if (session->events != NULL) {
        return GRANARY_OK;
    }
    name_of(store, session, name);
    err = ring_open(name, store->root.shm->version, session->number, GR_EVENTS_SESSION, &session->events);
    if (err == GRANARY_OK) {
        account_add(&store->account, GR_ACCOUNT_INDEX, ring_bytes(GR_EVENTS_SESSION));
    }
    return err;
}

void
events_adopt_session(struct session *session)
{
    char name[96];

    name_of(session->store, session, name);
    session->events = ring_adopt(name, session->store->root.shm->version, session->number, GR_EVENTS_SESSION);
    if (session->events != NULL) {
        account_add(&session->store->account, GR_ACCOUNT_INDEX, ring_bytes(GR_EVENTS_SESSION));
    }
}

uint64_t
events_bytes(const struct session *session)
{
    return session->events == NULL ? 0 : ring_bytes(session->events->entries);
}

void
events_close_session(struct session *session)
{
    char name[96];

    if (session->events != NULL) {
        account_take(&session->store->account, GR_ACCOUNT_INDEX, ring_bytes(GR_EVENTS_SESSION));
    }
    name_of(session->store, session, name);
    ring_close(&session->events, name);
}

/* An event but its number. */
struct note {
    uint64_t time_ns;
    uint64_t id[2];
    uint64_t a, b;
    uint64_t kind_session;
    uint64_t client;
};

/*
 * Readers come at any time. The sequence is 0 while the rest is written, and each store is a release. So a reader
 * that sees a new value of any field also sees that the old sequence is gone. `next` follows the entry: a store
 * killed in between writes the same number again.
 */
static void
ring_write(struct gr_events *ring, const struct note *note)
{
    uint64_t number = atomic_load_explicit(&ring->next, memory_order_relaxed);
    struct gr_event *place = &ring->ring[number & (ring->entries - 1)];

    atomic_store_explicit(&place->sequence, 0, memory_order_relaxed);
    atomic_store_explicit(&place->time_ns, note->time_ns, memory_order_release);
    atomic_store_explicit(&place->id[0], note->id[0], memory_order_release);
    atomic_store_explicit(&place->id[1], note->id[1], memory_order_release);
    atomic_store_explicit(&place->a, note->a, memory_order_release);
    atomic_store_explicit(&place->b, note->b, memory_order_release);
    atomic_store_explicit(&place->kind_session, note->kind_session, memory_order_release);
    atomic_store_explicit(&place->client, note->client, memory_order_release);
    atomic_store_explicit(&place->sequence, number + 1, memory_order_release);
    atomic_store_explicit(&ring->next, number + 1, memory_order_release);
    atomic_store_explicit(&ring->word, (uint32_t)(number + 1), memory_order_release);
}

void
event_note(struct store *store, struct session *session, enum gr_event_kind kind, const granary_id *id, uint64_t a,
           uint64_t b, uint32_t client)
{
    struct note note = {
        .a = a,
        .b = b,
        .kind_session = (uint64_t)kind << 32 | (session == NULL ? 0 : session->number),
        .client = client,
    };
    struct timespec now;

    if (store->recorder.ring == NULL) { /* a store that never opened its doors */
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    note.time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (id != NULL) {
        gr_id_words(*id, note.id);
    }
    ring_write(store->recorder.ring, &note);
    if (session != NULL && session->events != NULL && gr_event_is_told(kind)) {
        ring_write(session->events, &note);
        store->recorder.unsaid = session->events_unsaid = true;
    }
}

bool
events_wake(struct store *store, int64_t now_ns)
{
    (void)now_ns;
    if (!store->recorder.unsaid) {
        return false;
    }
    store->recorder.unsaid = false;
    /* Whoever counts itself in `waiting` after this reads the new word, and does not sleep. */
    barrier_full();
    list_each (struct session, session, &store->sessions.all, in_store) {
        bool waiting = false;

        if (!session->events_unsaid) {
            continue;
        }
        session->events_unsaid = false;
        list_each (struct client, client, &session->clients, in_session) {
            waiting = waiting || atomic_load_explicit(&client->page->waiting, memory_order_seq_cst) != 0;
        }
        if (waiting && session->events != NULL) {
            gr_futex_wake(&session->events->word);
        }
    }
    return false;
}
