#include "store/memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/client.h"
#include "store/events.h"
#include "store/evict.h"
#include "store/restore.h"

#define PAGE          4096u
#define RETRY_NS      20000000 /* leases end without a message: look again */
#define SCAN_NS       1000000  /* ... but not at every turn of a busy loop */
#define BACKGROUND_NS 50000000 /* after a look that found nothing to spill */
#define WARM_LOOKS    256u     /* idle segments looked at for one request */
#define HIGH_PERCENT  90u      /* dirty bytes, of the capacity: spilling begins */
#define LOW_PERCENT   75u      /* ... and ends */

static uint64_t
free_bytes(const struct store *store)
{
    return store->account.bytes[GR_ACCOUNT_FREE];
}

static uint64_t
capacity_bytes(const struct store *store)
{
    return store->account.bytes[GR_ACCOUNT_CAPACITY];
}

static void
set_idle(struct store *store, struct segment *segment, bool idle)
{
    if (segment->is_idle != idle) {
        segment->is_idle = idle;
        if (idle) {
            segment_note(segment, GR_SEGMENT_IDLE);
        }
        store->account.idle = idle ? store->account.idle + segment->size : store->account.idle - segment->size;
    }
}

static void
forget(struct store *store, struct segment *segment)
{
    struct map_entry *entry = map_find(&store->segments, map_key_number(segment->number));

    set_idle(store, segment, false);
    if (segment->writer != NULL && segment->writer->room == segment) {
        segment->writer->room = NULL;
    }
    map_remove(&store->segments, entry);
    segment_destroy(segment, &store->account, store->instance.shm_prefix, segment->session->number);
}

/* Truncated, it frees its pages even while somebody has it mapped. */
static void
destroy(struct store *store, struct segment *segment)
{
    (void)!ftruncate(segment->fd, 0);
    forget(store, segment);
}

void
memory_abandon(struct store *store, struct segment *segment)
{
    forget(store, segment);
}

/* What is kept warm at most: the oldest idle segments beyond it go back to the system. */
static void
bound_pool(struct store *store)
{
    while (store->account.idle > capacity_bytes(store) / 2 && !list_empty(&store->idle)) {
        destroy(store, list_owner(store->idle.next, struct segment, in_order));
    }
}

void
segment_settle(struct store *store, struct segment *segment)
{
    if (!segment->closed || segment->live > 0 || segment->deleting > 0 || segment->busy > 0 || segment->is_idle) {
        return;
    }
    store->serve_now = true;
    if (segment->punched > 0 || segment->spoiled || segment->proven) {
        destroy(store, segment);
        return;
    }
    list_append(&store->idle, &segment->in_order);
    set_idle(store, segment, true);
}

/* Most recently freed first, of the right size, never written by somebody else who is still there. */
static struct segment *
find_warm(struct store *store, struct session *session, struct client *client, uint64_t min, uint64_t want)
{
    uint64_t most = want > 2 * min ? want : 2 * min;
    struct segment *best = NULL;
    unsigned looks = 0;

    for (struct list *node = store->idle.prev; node != &store->idle && looks < WARM_LOOKS; node = node->prev, looks++) {
        struct segment *segment = list_owner(node, struct segment, in_order);

        if (segment->session != session || (segment->writer != NULL && segment->writer != client) ||
            segment->size < min || segment->size > most) {
            continue;
        }
        if (segment->size >= want) {
            return segment;
        }
        if (best == NULL || segment->size > best->size) {
            best = segment;
        }
    }
    return best;
}

static void
adopt(struct store *store, struct session *session, struct client *client, struct segment *segment)
{
    segment->session = session;
    segment_set_writer(segment, client, client == NULL ? 0 : client->number);
    list_append(&store->open, &segment->in_order);
}

static granary_err
create_segment(struct store *store, struct session *session, struct client *client, uint64_t size,
               struct segment **ret_segment)
{
    struct gr_segment_record *record;
    struct segment *segment;
    struct map_entry *entry;
    uint32_t number;
    granary_err err;

    err = root_take_segment(&store->root, &number, &record);
    if (err == GRANARY_OK) {
        err = segment_create(&store->account, store->instance.shm_prefix, session->number, number, size,
                             client == NULL ? GR_ACCOUNT_RESERVED : GR_ACCOUNT_WRITING, record, &segment);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    entry = map_add(&store->segments, map_key_number(segment->number));
    if (entry == NULL) {
        segment_destroy(segment, &store->account, store->instance.shm_prefix, session->number);
        return gr_fail(GRANARY_ENOMEM, "no memory for a segment");
    }
    entry->value.pointer = segment;
    list_append(&session->segments, &segment->in_session);
    adopt(store, session, client, segment);
    *ret_segment = segment;
    return GRANARY_OK;
}

static void
close_arenas(struct store *store)
{
    struct list *node, *next;

    list_each (node, next, &store->sessions) {
        struct session *session = list_owner(node, struct session, in_store);
        struct segment *arena = session->arena;

        if (arena != NULL && arena->busy == 0) {
            session->arena = NULL;
            segment_close(arena, &store->account);
            list_append(&store->closed, &arena->in_order);
            segment_settle(store, arena);
        }
    }
}

static void
reclaim_from(struct store *store, struct list *segments, uint64_t need)
{
    struct list *node, *next;

    list_each (node, next, segments) {
        struct segment *segment = list_owner(node, struct segment, in_order);

        if (free_bytes(store) >= need) {
            return;
        }
        if (segment->busy > 0) {
            continue;
        }
        (void)segment_drop_clean(store, segment);
        if (segment->closed && segment->live == 0 && segment->deleting == 0) {
            destroy(store, segment);
        } else if (segment->died_since_punch) {
            segment_punch_dead(store, segment);
        }
    }
}

/* Give back what can be given back at once until `need` bytes are free. */
static void
reclaim(struct store *store, uint64_t need)
{
    while (free_bytes(store) < need && !list_empty(&store->idle)) {
        destroy(store, list_owner(store->idle.next, struct segment, in_order));
    }
    if (free_bytes(store) >= need) {
        return;
    }
    store->blocked_bytes = 0;
    close_arenas(store);
    reclaim_from(store, &store->closed, need);
    reclaim_from(store, &store->open, need);
}

granary_err
memory_grant(struct store *store, struct session *session, struct client *client, uint64_t min, uint64_t want,
             struct segment **ret_segment, uint64_t *ret_warm)
{
    struct segment *segment;
    granary_err err;
    uint64_t size;

    min = (min + PAGE - 1) / PAGE * PAGE;
    want = want > min ? (want + PAGE - 1) / PAGE * PAGE : min;
    segment = find_warm(store, session, client, min, want);
    if (segment != NULL) {
        set_idle(store, segment, false);
        segment_reopen(segment, &store->account, client == NULL ? GR_ACCOUNT_RESERVED : GR_ACCOUNT_WRITING);
        adopt(store, session, client, segment);
        *ret_segment = segment;
        *ret_warm = segment_warm_bytes(segment);
        return GRANARY_OK;
    }
    if (free_bytes(store) < want) {
        reclaim(store, want);
    }
    size = free_bytes(store) < want ? free_bytes(store) / PAGE * PAGE : want;
    /* Crumbs make every object a segment of its own: better to wait, as long as a spill is on its way. */
    if (size < min || (size < want / 4 && (store->spill != NULL || spill_start(store, want, false)))) {
        return GRANARY_EBUSY;
    }
    *ret_warm = 0;
    err = create_segment(store, session, client, size, ret_segment);
    if (err == GRANARY_ENOMEM && !list_empty(&store->idle)) {
        /* Out of descriptors, or of memory: idle segments hold both. */
        while (!list_empty(&store->idle)) {
            destroy(store, list_owner(store->idle.next, struct segment, in_order));
        }
        err = create_segment(store, session, client, size, ret_segment);
    }
    return err;
}

void
memory_describe(const struct store *store, char *text, size_t size)
{
    const uint64_t *bytes = store->account.bytes;
    struct gr_buf buf = {0};
    struct list *node, *next;

    gr_buf_addf(&buf,
                "of %llu bytes %llu are free, %llu in objects (%llu pinned, %llu leased when last tried), %llu in "
                "deleted objects still leased, %llu in rooms being written",
                (unsigned long long)bytes[GR_ACCOUNT_CAPACITY], (unsigned long long)bytes[GR_ACCOUNT_FREE],
                (unsigned long long)bytes[GR_ACCOUNT_SEALED], (unsigned long long)store->account.pinned,
                (unsigned long long)store->blocked_bytes, (unsigned long long)bytes[GR_ACCOUNT_RETIRING],
                (unsigned long long)bytes[GR_ACCOUNT_WRITING]);
    list_each (node, next, &store->clients) {
        const struct client *client = list_owner(node, struct client, in_store);
        struct list *open, *open_next;
        uint64_t writing = 0;

        list_each (open, open_next, &store->open) {
            const struct segment *segment = list_owner(open, struct segment, in_order);

            writing += segment->writer == client ? segment->size - segment->sealed_total : 0;
        }
        if (writing > 0 && buf.size < 400) {
            gr_buf_addf(&buf, ", %llu by %s (pid %d)", (unsigned long long)writing, client->tag, (int)client->pid);
        }
    }
    (void)snprintf(text, size, "%s", gr_buf_ok(&buf) ? buf.bytes : "out of memory");
    gr_buf_free(&buf);
}

static void
room_fail(struct client *client, granary_err err)
{
    list_remove(&client->in_queue);
    client->waits = CLIENT_READY;
    count(client->session, GR_COUNTER_room_failures, 1);
    event_note(client->store, client->session, GR_EVENT_ROOM_FAILED, NULL, client->min_bytes, (uint32_t)-err,
               client->number);
    client_answer_error(client, &client->request, err);
}

static void
room_fail_full(struct client *client, const char *why)
{
    char holders[640];

    memory_describe(client->store, holders, sizeof holders);
    room_fail(client, gr_fail(GRANARY_EFULL, "no room for %llu bytes: %s%s%s", (unsigned long long)client->min_bytes,
                              why, why[0] == '\0' ? "" : "; ", holders));
}

/* One request: granted and answered (OK), or why not. */
static granary_err
room_try(struct client *client)
{
    struct store *store = client->store;
    struct segment *segment;
    struct gr_room_reply reply;
    uint64_t warm;
    granary_err err;

    err = memory_grant(store, client->session, client, client->min_bytes, client->want_bytes, &segment, &warm);
    if (err != GRANARY_OK) {
        return err;
    }
    list_remove(&client->in_queue);
    client->waits = CLIENT_READY;
    count(client->session, GR_COUNTER_rooms, 1);
    event_note(store, client->session, GR_EVENT_ROOM, NULL, segment->size, segment->number, client->number);
    if (warm > 0) {
        count(client->session, GR_COUNTER_rooms_warm, 1);
    }
    reply = (struct gr_room_reply){.segment = segment->number, .size_bytes = segment->size, .warm_bytes = warm};
    client_answer(client, &client->request, &reply, sizeof reply, &segment->fd, 1);
    return GRANARY_OK;
}

/*
 * First come, first served; but who fits in what is left may pass the first in line, until as many bytes have passed
 * it as it waits for: so a huge request holds nobody up, and is not starved.
 */
static struct client *
serve_rooms(struct store *store, int64_t now_ns, bool restores_wait)
{
    bool hopeful = store->spill != NULL;
    struct client *head = NULL;
    struct list *node, *next;

    list_each (node, next, &store->rooms) {
        struct client *client = list_owner(node, struct client, in_queue);
        uint64_t min = client->min_bytes;
        bool may_pass =
            head == NULL ? !(restores_wait && hopeful) : !hopeful || head->bypassed + min <= head->min_bytes;
        granary_err err;

        if (now_ns >= client->deadline_ns) { /* the last try takes what there is */
            client->want_bytes = min;
        }
        err = may_pass ? room_try(client) : GRANARY_EBUSY;
        if (err == GRANARY_OK && head != NULL) {
            head->bypassed += min;
        } else if (err != GRANARY_OK && err != GRANARY_EBUSY) {
            room_fail(client, err);
        } else if (err == GRANARY_EBUSY && store->disk_error[0] != '\0' && now_ns < store->disk_retry_ns) {
            room_fail_full(client, store->disk_error);
        } else if (err == GRANARY_EBUSY && now_ns >= client->deadline_ns) {
            room_fail_full(client, "");
        } else if (err == GRANARY_EBUSY && !client->counted_wait) {
            client->counted_wait = true;
            count(client->session, GR_COUNTER_room_waits, 1);
            event_note(store, client->session, GR_EVENT_ROOM_WAIT, NULL, min, 0, client->number);
        }
        head = head == NULL && err == GRANARY_EBUSY && client->waits == CLIENT_WAITS_ROOM ? client : head;
    }
    return head;
}

static bool
anybody_waits(const struct store *store)
{
    return !list_empty(&store->rooms) || !list_empty(&store->restores);
}

static void
serve(struct store *store, int64_t now_ns)
{
    bool restores_wait = !restore_serve(store, now_ns);
    struct client *head = serve_rooms(store, now_ns, restores_wait);
    uint64_t need = restores_wait ? restore_need(store) : head != NULL ? head->want_bytes : 0;

    if (need > 0 && store->spill == NULL && !spill_start(store, need, false)) {
        (void)spill_start(store, need, true);
    }
}

/* Write copies of the oldest objects ahead of demand, so that memory can be had at once when it is asked for. */
static void
clean_ahead(struct store *store, int64_t now_ns)
{
    const struct account *account = &store->account;
    uint64_t capacity = account->bytes[GR_ACCOUNT_CAPACITY];
    uint64_t dirty = capacity - account->bytes[GR_ACCOUNT_FREE] - account->idle - account->clean;

    if (dirty > capacity / 100 * HIGH_PERCENT) {
        store->cleaning = true;
    } else if (dirty < capacity / 100 * LOW_PERCENT) {
        store->cleaning = false;
    }
    if (store->cleaning && store->spill == NULL && now_ns >= store->background_ns && !spill_start(store, 0, false)) {
        store->background_ns = now_ns + BACKGROUND_NS;
    }
}

void
memory_turn(struct store *store, int64_t now_ns)
{
    if (anybody_waits(store)) {
        bool changed = store->account.changes != store->tried_changes && now_ns >= store->tried_ns + SCAN_NS;

        if (store->serve_now || changed || now_ns >= memory_next_ns(store, now_ns)) {
            store->serve_now = false;
            serve(store, now_ns);
            store->tried_ns = now_ns;
            store->tried_changes = store->account.changes;
        }
    }
    bound_pool(store);
    clean_ahead(store, now_ns);
}

int64_t
memory_next_ns(const struct store *store, int64_t now_ns)
{
    int64_t next_ns = INT64_MAX;
    struct list *node, *next;

    if (anybody_waits(store)) {
        next_ns = store->serve_now ? now_ns : store->tried_ns + RETRY_NS;
        list_each (node, next, &store->rooms) {
            const struct client *client = list_owner(node, struct client, in_queue);

            next_ns = client->deadline_ns < next_ns ? client->deadline_ns : next_ns;
        }
    }
    if (store->cleaning && store->spill == NULL && store->background_ns < next_ns) {
        next_ns = store->background_ns > now_ns ? store->background_ns : now_ns;
    }
    return next_ns;
}

void
memory_request_room(struct client *client, const struct gr_frame *request, const struct gr_room *room)
{
    struct store *store = client->store;
    uint64_t capacity = capacity_bytes(store) / PAGE * PAGE;
    uint64_t cap = capacity / 16;

    client->request = *request;
    client->waits = CLIENT_WAITS_ROOM;
    client->min_bytes = room->min_bytes == 0 ? GR_ALIGN : room->min_bytes;
    if (client->min_bytes > capacity) {
        room_fail(client, gr_fail(GRANARY_EFULL,
                                  "%llu bytes are more than the store's whole budget of %llu; start it with a larger "
                                  "--memory",
                                  (unsigned long long)client->min_bytes, (unsigned long long)capacity));
        return;
    }
    client->want_bytes = room->want_bytes > cap ? cap : room->want_bytes;
    if (client->want_bytes < client->min_bytes) {
        client->want_bytes = client->min_bytes;
    }
    client->deadline_ns = gr_deadline_ns(room->timeout_ms);
    client->bypassed = 0;
    client->counted_wait = false;
    list_append(&store->rooms, &client->in_queue);
    store->serve_now = true;
}

void
memory_writer_gone(struct client *client)
{
    struct store *store = client->store;
    struct list *node, *next;

    list_each (node, next, &client->session->segments) {
        struct segment *segment = list_owner(node, struct segment, in_session);

        if (segment->writer != client) {
            continue;
        }
        segment_set_writer(segment, NULL, 0);
        if (!segment->closed) {
            segment_close(segment, &store->account);
            list_append(&store->closed, &segment->in_order);
            segment_settle(store, segment);
            /* Settling bounds the pool and so may destroy any idle segment, the next one too. */
            next = client->session->segments.next;
        }
    }
    store->serve_now = true;
}
