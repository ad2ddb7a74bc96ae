/* The line for room: first come, first served, but a smaller request may pass within bounds. */
#include "store/flow/queue.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/text/size.h"
#include "store/base/node.h"
#include "store/core/admit.h"
#include "store/core/answer.h"
#include "store/core/core.h"
#include "store/core/events.h"
#include "store/flow/grant.h"
#include "store/flow/holders.h"
#include "store/flow/read/restore.h"
#include "store/flow/reclaim.h"
#include "store/segment/depot.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"

#define PAGE         4096u
#define TRIES        64u /* refused requests in one turn; nobody behind them is tried */
#define LARGEST_ROOM 16u /* room beyond the minimum: at most this part of the capacity */

void
queue_init(struct queue *queue)
{
    queue->deadline_ns = INT64_MAX;
    list_init(&queue->rooms);
    list_init(&queue->quota_waits);
}

/* ---- answers ---- */

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
    char holders[800];
    char size[GR_SIZE_TEXT];

    holders_describe(client->store, client->uid, holders, sizeof holders);
    room_fail(client, gr_fail(GRANARY_EFULL, "no room for %s: %s%s%s", gr_size_format(client->min_bytes, size), why,
                              why[0] == '\0' ? "" : "; ", holders));
}

granary_err
queue_fail_quota(const struct session *session, const char *what, uint64_t bytes)
{
    uint64_t quota = atomic_load_explicit(&session->control->quota_bytes, memory_order_relaxed);
    granary_err err = admit_segment(session);
    char size[3][GR_SIZE_TEXT];

    (void)gr_size_format(bytes, size[0]);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "no room %s %s", what, size[0]);
    }
    if (memory_user_left(session) < bytes) {
        return gr_fail(GRANARY_EFULL,
                       "no room %s %s: uid %u has what each user may have in memory, %s, and nothing of it can be "
                       "spilled now: release or unpin objects, or ask who runs the store for more (--user-memory)",
                       what, size[0], (unsigned)atomic_load_explicit(&session->control->uid, memory_order_relaxed),
                       gr_size_format(session->store->limits.user_bytes, size[1]));
    }
    return gr_fail(GRANARY_EFULL,
                   "no room %s %s: session '%s' has %s of its quota of %s in memory, and nothing of it can be spilled "
                   "now: release or unpin objects, or raise the quota",
                   what, size[0], session->name, gr_size_format(session->used_bytes, size[1]),
                   gr_size_format(quota, size[2]));
}

static void
room_answer(struct client *client, const struct segment *segment, uint64_t warm)
{
    struct gr_room_reply reply = {
        .segment = segment->number, .node = segment->node, .size_bytes = segment->size, .warm_bytes = warm};

    client_answer(client, &client->request, &reply, sizeof reply, &segment->fd, 1);
}

/* One request: granted and answered (OK), or why not. */
static granary_err
room_try(struct client *client)
{
    struct store *store = client->store;
    const struct memory_wish wish = {.session = client->session,
                                     .client = client,
                                     .min_bytes = client->min_bytes,
                                     .want_bytes = client->want_bytes,
                                     .node = client->node};
    struct segment *segment;
    uint64_t warm;
    granary_err err;

    err = memory_grant(store, &wish, &segment, &warm);
    if (err != GRANARY_OK) {
        return err;
    }
    FAULT_STEP(room_granted);
    list_remove(&client->in_queue);
    client->waits = CLIENT_READY;
    client->ticket = 0;
    count(client->session, GR_COUNTER_rooms, 1);
    event_note(store, client->session, GR_EVENT_ROOM, NULL, segment->size, segment->number, client->number);
    if (warm > 0) {
        count(client->session, GR_COUNTER_rooms_warm, 1);
    }
    room_answer(client, segment, warm);
    return GRANARY_OK;
}

/* ---- the line ---- */

static struct client *
first_in_line(const struct store *store)
{
    return list_empty(&store->queue->rooms) ? NULL : list_owner(store->queue->rooms.next, struct client, in_queue);
}

static void
begin_to_wait(struct client *client)
{
    if (!client->counted_wait) {
        client->counted_wait = true;
        count(client->session, GR_COUNTER_room_waits, 1);
        event_note(client->store, client->session, GR_EVENT_ROOM_WAIT, NULL, client->min_bytes, 0, client->number);
    }
}

/* The request was refused, err says why for now. Whether its time is over, and it was failed. */
static bool
give_up(struct client *client, granary_err err, int64_t now_ns)
{
    struct store *store = client->store;
    bool disk_failed = store->depots->error[0] != '\0' && now_ns < store->depots->retry_ns;

    bool waits = client->again ? err == GRANARY_EBUSY || err == GRANARY_ESTATE || err == GRANARY_EFULL
                               : err == GRANARY_ESTATE || (err == GRANARY_EBUSY && !disk_failed);

    if (waits && now_ns < client->deadline_ns) {
        begin_to_wait(client);
        return false;
    }
    if (err != GRANARY_EBUSY && err != GRANARY_ESTATE) {
        room_fail(client, err);
    } else if (err == GRANARY_ESTATE) {
        room_fail(client, queue_fail_quota(client->session, "for", client->min_bytes));
    } else {
        room_fail_full(client, store->depots->error); /* also while it is tried again */
    }
    return true;
}

void
queue_wait_quota(struct session *session, uint64_t bytes)
{
    if (list_empty(&session->in_quota_waits)) {
        list_append(&session->store->queue->quota_waits, &session->in_quota_waits);
        session->quota_need = bytes;
    }
}

void
queue_forget_quotas(struct store *store)
{
    list_each (struct session, session, &store->queue->quota_waits, in_quota_waits) {
        list_remove(&session->in_quota_waits);
    }
}

/* Returns the first who has to wait for memory; who waits for its session's quota holds nobody else up. Only smaller
 * requests pass it, and in all of less than it wants: memory may come back between its try and the next one's. */
static struct client *
serve_rooms(struct store *store, int64_t now_ns, bool restores_wait)
{
    bool hopeful = reclaim_hopeful(store);
    bool expire = now_ns >= store->queue->deadline_ns;
    int64_t deadline_ns = INT64_MAX;
    struct client *head = NULL;
    unsigned refused = 0;

    list_each (struct client, client, &store->queue->rooms, in_queue) {
        uint64_t min = client->min_bytes;
        bool over = now_ns >= client->deadline_ns;
        bool may_pass = head == NULL ? !(restores_wait && hopeful) : !hopeful || head->bypassed + min < head->min_bytes;
        granary_err err = GRANARY_EBUSY;

        if (refused >= TRIES && !expire) {
            break;
        }
        if (over) { /* the last try takes what there is */
            client->want_bytes = min;
        }
        if (may_pass && (refused < TRIES || over)) {
            err = room_try(client);
        }
        if (err == GRANARY_OK) {
            if (head != NULL) {
                head->bypassed += min;
            }
            continue;
        }
        refused++;
        if (give_up(client, err, now_ns)) {
            continue;
        }
        deadline_ns = client->deadline_ns < deadline_ns ? client->deadline_ns : deadline_ns;
        if (err == GRANARY_ESTATE) {
            queue_wait_quota(client->session, client->want_bytes);
        } else if (err == GRANARY_EBUSY && head == NULL) {
            head = client;
        }
    }
    if (expire) {
        store->queue->deadline_ns = deadline_ns;
    }
    return head;
}

/* A restore may pass a room that waits, as another room may. */
static bool
restores_may_pass(const struct store *store, struct client *head)
{
    uint64_t need = restore_first_bytes(store);

    if (head == NULL || !reclaim_hopeful(store)) {
        return true;
    }
    if (head->bypassed + need > head->min_bytes) {
        return false;
    }
    head->bypassed += need;
    return true;
}

void
queue_serve(struct store *store, int64_t now_ns)
{
    const struct client *first = first_in_line(store);
    bool restores_first =
        !list_empty(&store->restores->waiting) && (first == NULL || restore_ticket(store) < first->ticket);
    uint64_t restores_need = 0; /* of memory; 0: none waits for it */
    struct client *head;

    store->queue->need = 0;
    queue_forget_quotas(store);
    if (restores_first) {
        restores_need = restore_serve(store, now_ns);
    }
    head = serve_rooms(store, now_ns, restores_need > 0);
    if (!restores_first && !list_empty(&store->restores->waiting) && restores_may_pass(store, head)) {
        restores_need = restore_serve(store, now_ns);
    }
    if (restores_need > 0 && (restores_first || head == NULL)) {
        store->queue->need = restores_need + reclaim_reserve(store);
    } else if (head != NULL) {
        store->queue->need = head->want_bytes + reclaim_reserve(store);
    }
}

int64_t
queue_deadline_ns(const struct store *store)
{
    return list_empty(&store->queue->rooms) ? INT64_MAX : store->queue->deadline_ns;
}

/* By ticket: who asks again stands where it stood. */
static void
stand_in_line(struct store *store, struct client *client)
{
    struct list *before = store->queue->rooms.prev;

    while (before != &store->queue->rooms && list_owner(before, struct client, in_queue)->ticket > client->ticket) {
        before = before->prev;
    }
    list_insert(before, &client->in_queue);
}

void
queue_request(struct client *client, const struct gr_frame *request, const struct gr_room *room)
{
    struct store *store = client->store;
    uint64_t capacity = store->account.bytes[GR_ACCOUNT_CAPACITY] / PAGE * PAGE;
    uint64_t cap = capacity / LARGEST_ROOM;

    const struct segment *granted = room->request == 0 ? NULL : memory_granted(client, room->request);

    client->request = *request;
    if (granted != NULL) {
        room_answer(client, granted, 0);
        return;
    }
    client->room_request = room->request;
    client->waits = CLIENT_WAITS_ROOM;
    client->min_bytes = room->min_bytes == 0 ? GR_ALIGN : room->min_bytes;
    if (client->min_bytes > capacity) {
        room_fail(client, gr_fail(GRANARY_EFULL,
                                  "%llu bytes are more than the store's whole budget of %llu; start it with a larger "
                                  "--memory",
                                  (unsigned long long)client->min_bytes, (unsigned long long)capacity));
        return;
    }
    if (cap < client->min_bytes + client->min_bytes / 2) { /* who grows by pieces may ask ahead of its need */
        cap =
            client->min_bytes + client->min_bytes / 2 < capacity ? client->min_bytes + client->min_bytes / 2 : capacity;
    }
    client->want_bytes = room->want_bytes > cap ? cap : room->want_bytes;
    if (client->want_bytes < client->min_bytes) {
        client->want_bytes = client->min_bytes;
    }
    client->node = node_of(room->node);
    client->deadline_ns = gr_deadline_ns(room->timeout_ms);
    client->again = room->again != 0 && client->ticket != 0;
    if (!client->again) {
        client->ticket = ++store->queue->ticket;
        client->bypassed = 0;
        client->counted_wait = false;
    }
    stand_in_line(store, client);
    if (client->deadline_ns < store->queue->deadline_ns) {
        store->queue->deadline_ns = client->deadline_ns;
    }
    store->serve_now = true;
}
